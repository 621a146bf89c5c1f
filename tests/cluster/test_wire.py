"""Messages over a socket: whole, in order, with arrays as they are; and an end that is gone is noticed."""

import socket
import threading
import time

import numpy as np
import pytest

from smoothperf.dask import wire


@pytest.fixture
def ends():
    """Two ends of a connection; the first sees whether the other lives by asking a list."""
    listener = wire.listening("127.0.0.1")
    here = socket.create_connection(listener.getsockname())
    there, _ = listener.accept()
    listener.close()
    links = wire.Link(here), wire.Link(there)
    yield links
    for link in links:
        link.close()


@pytest.mark.parametrize("length", [0, 1, wire.LARGE // 8 - 1, wire.LARGE // 8, 100_000])
def test_messages_arrive_as_they_were(ends, length):
    here, there = ends
    array = np.arange(float(length))
    columns = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    message = ("method", (array, 1.5, None), {"key": [array, columns]}, b"\0" * length)
    sender = threading.Thread(target=here.send, args=(message,))
    sender.start()
    method, (first, number, nothing), named, content = there.receive()
    sender.join()
    assert (method, number, nothing, content) == ("method", 1.5, None, b"\0" * length)
    np.testing.assert_array_equal(first, array)
    np.testing.assert_array_equal(named["key"][0], array)
    np.testing.assert_array_equal(named["key"][1], columns)
    first[:] = 0.0  # what arrives may be written to
    assert here.sent == there.received > 8 * length
    assert there.largest == there.received


def test_messages_keep_their_order(ends):
    here, there = ends
    for number in range(100):
        here.send(number)
    assert [there.receive() for _ in range(100)] == list(range(100))


@pytest.mark.parametrize("length", [1, 3 * wire.TOGETHER // 8])
def test_what_nobody_waits_for_goes_with_the_next_message(ends, length):
    here, there = ends
    first, second = np.arange(float(length)), np.ones(length)
    here.send_parts(wire.encode(first), later=True)
    here.send_parts(wire.encode(second), later=True)
    assert here.sent == 0
    sender = threading.Thread(target=here.send, args=("now",))
    sender.start()
    np.testing.assert_array_equal(there.receive(), first)
    np.testing.assert_array_equal(there.receive(), second)
    assert there.receive() == "now"
    sender.join()
    assert here.sent == there.received


def test_a_closed_end_is_noticed(ends):
    here, there = ends
    there.close()
    with pytest.raises(wire.LinkClosedError):
        here.receive()
    with pytest.raises(wire.LinkClosedError):
        here.send(np.zeros(10_000_000))


def test_an_end_that_closes_in_the_middle_of_a_message(ends):
    here, there = ends
    here._socket.sendall(wire.encode("all of this")[0][:-5])
    here.close()
    with pytest.raises(wire.LinkClosedError, match="closed"):
        there.receive()


@pytest.mark.parametrize("act", ["receive", "send"])
def test_a_silent_end_is_looked_for(monkeypatch, act):
    monkeypatch.setattr(wire, "SILENCE", 0.05)
    looks = []

    def is_alive():
        looks.append(time.monotonic())
        return len(looks) < 3

    near, far = socket.socketpair()
    link = wire.Link(near, is_alive=is_alive)
    with pytest.raises(wire.LinkClosedError, match="does not know"):
        link.receive() if act == "receive" else link.send(np.zeros(10_000_000))
    assert len(looks) == 3
    link.close()
    far.close()


def test_a_slow_answer_is_waited_for(monkeypatch):
    monkeypatch.setattr(wire, "SILENCE", 0.05)
    near, far = socket.socketpair()
    link, other = wire.Link(near, is_alive=lambda: True), wire.Link(far)

    def answer():
        content = b"".join(wire.encode(np.arange(100_000.0)))
        for begin in range(0, len(content), 300_000):
            time.sleep(0.1)
            far.sendall(content[begin : begin + 300_000])

    thread = threading.Thread(target=answer)
    thread.start()
    np.testing.assert_array_equal(link.receive(), np.arange(100_000.0))
    thread.join()
    link.close()
    other.close()


@pytest.mark.parametrize("awake", [1e-6, 60.0])
def test_a_message_is_waited_for_awake_and_asleep(awake):
    near, far = socket.socketpair()
    link, other = wire.Link(near, awake=awake), wire.Link(far)
    other.send("one")
    other.send("two")  # comes along with the first, and is there already when it is asked for
    assert [link.receive(), link.receive()] == ["one", "two"]
    thread = threading.Timer(0.1, other.send, args=[np.arange(100_000.0)])
    thread.start()
    np.testing.assert_array_equal(link.receive(), np.arange(100_000.0))
    thread.join()
    thread = threading.Timer(0.1, other.close)
    thread.start()
    with pytest.raises(wire.LinkClosedError, match="closed"):
        link.receive()
    thread.join()
    link.close()


def test_a_host_that_does_not_know_its_name_listens_everywhere():
    with wire.listening("no-such-host.invalid") as listener:
        socket.create_connection(("127.0.0.1", listener.getsockname()[1])).close()
