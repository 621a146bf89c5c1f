"""Whoever finds a worker's port is heard for a moment, disturbs nobody, and learns nothing of the key."""

import socket
import threading
from contextlib import ExitStack

import pytest
from distributed.security import Security

import smoothperf
from smoothperf.dask import MeasureClassifier, server, wire

KEY = bytes(range(32))


@pytest.fixture
def waiting():
    """A listener that waits for a friend: its address, and a function that returns the friend's connection."""
    listener = wire.listening("127.0.0.1")
    address = listener.getsockname()
    accepted = []
    thread = threading.Thread(target=lambda: accepted.append(wire.accept(listener, KEY, None, seconds=30.0)))
    thread.start()

    def friend():
        thread.join(10.0)
        return accepted[0]

    yield address, friend
    if not accepted:
        wire.connect(address, KEY, None, seconds=10.0).close()
    friend().close()


def trickle(stranger, until):
    """Send a byte now and then, for as long as somebody listens."""
    try:
        while not until.wait(0.5):
            stranger.sendall(b"x")
    except OSError:
        pass


class Strangers:
    """Connections that say nothing, or little by little, from the moment that a port is there."""

    def __init__(self, stack, count):
        self._stack = stack
        self._count = count
        self._over = threading.Event()
        stack.callback(self._over.set)

    def come(self, address, *, trickling=True):
        """Connect them all; the first of them may trickle."""
        each = [self._stack.enter_context(socket.create_connection(address, timeout=10.0)) for _ in range(self._count)]
        if trickling:
            threading.Thread(target=trickle, args=(each[0], self._over), daemon=True).start()
        return each


def talk(one, other):
    """Whether messages go through."""
    link, far = wire.Link(one), wire.Link(other)
    link.send("hello")
    heard = far.receive()
    link.close()
    far.close()
    return heard == "hello"


@pytest.mark.parametrize(("count", "trickling"), [(1, False), (1, True), (20, True), (2 * wire.MOST_CALLERS, True)])
def test_strangers_who_say_nothing_keep_nobody_out(waiting, count, trickling):
    address, friend = waiting
    with ExitStack() as stack:
        Strangers(stack, count).come(address, trickling=trickling)
        connection = wire.connect(address, KEY, None, seconds=10.0)
        assert talk(connection, friend())


def test_strangers_keep_nobody_out_where_all_is_encrypted():
    pytest.importorskip("cryptography", reason="makes the certificates of the test")
    security = Security.temporary()
    listener = wire.listening("127.0.0.1")
    address = listener.getsockname()
    accepted = []
    context = security.get_listen_args("worker")["ssl_context"]
    thread = threading.Thread(target=lambda: accepted.append(wire.accept(listener, KEY, context, seconds=10.0)))
    thread.start()
    with ExitStack() as stack:
        Strangers(stack, 20).come(address)
        context = security.get_connection_args("client")["ssl_context"]
        connection = wire.connect(address, KEY, context, seconds=10.0)
        thread.join(10.0)
        assert talk(connection, accepted[0])


def test_a_stranger_is_cut_off_however_he_speaks(waiting, monkeypatch):
    """The time to show the key is one for all that is said, and not for each byte."""
    monkeypatch.setattr(wire, "HEARING", 1.2)
    address, friend = waiting
    with ExitStack() as stack:
        for stranger in Strangers(stack, 2).come(address):
            with pytest.raises(OSError, match=r"reset|closed|Broken pipe"):
                wire._received(stranger, 10_000)
        connection = wire.connect(address, KEY, None, seconds=10.0)  # others are waited for still
        assert talk(connection, friend())


def test_who_cannot_show_the_key_is_turned_away(waiting):
    address, friend = waiting
    for answer in (b"x" * 64, KEY + KEY, b"", b"x" * 40):
        with socket.create_connection(address, timeout=10.0) as stranger:
            wire._received(stranger, wire.NONCE)
            stranger.sendall(answer)
            stranger.shutdown(socket.SHUT_WR)
            assert stranger.recv(1) == b""
    with pytest.raises(ConnectionError):
        wire.connect(address, b"another key" * 3, None, seconds=10.0)
    connection = wire.connect(address, KEY, None, seconds=10.0)
    assert talk(connection, friend())


def test_an_answer_opens_once(waiting):
    """What a client has shown to one worker is worth nothing to another, or later."""
    address, _ = waiting
    near, far = socket.socketpair()
    shown = []
    thread = threading.Thread(target=lambda: shown.append(_shows_key(near)))
    thread.start()
    far.sendall(bytes(wire.NONCE))
    answer = wire._received(far, 2 * wire.NONCE)
    far.sendall(bytes(wire.NONCE))  # not a proof, so the client has nothing more to do with it
    thread.join(10.0)
    assert shown == [False]
    with socket.create_connection(address, timeout=10.0) as stranger:
        wire._received(stranger, wire.NONCE)
        stranger.sendall(answer)
        assert stranger.recv(1) == b""
    near.close()
    far.close()


def _shows_key(connection):
    try:
        wire._show_key(connection, KEY)
    except wire.LinkClosedError:
        return False
    return True


def test_the_key_does_not_travel(waiting):
    """A relay between both ends sees all bytes of the handshake."""
    address, friend = waiting
    seen = [bytearray(), bytearray()]
    with socket.create_server(("127.0.0.1", 0)) as relay:

        def pass_on(source, target, record):
            while content := source.recv(1 << 12):
                record.extend(content)
                target.sendall(content)

        def stand_between():
            client, _ = relay.accept()
            worker = socket.create_connection(address)
            back = threading.Thread(target=pass_on, args=(worker, client, seen[1]))
            back.start()
            pass_on(client, worker, seen[0])
            worker.shutdown(socket.SHUT_WR)
            back.join(10.0)
            client.close()
            worker.close()

        thread = threading.Thread(target=stand_between)
        thread.start()
        connection = wire.connect(relay.getsockname(), KEY, None, seconds=10.0)
        far = friend()
        connection.close()
        far.close()
        thread.join(10.0)
    assert len(seen[0]) == len(seen[1]) == 2 * wire.NONCE
    for part in (KEY, KEY[:8], KEY[-8:]):
        assert all(part not in content for content in seen)


def test_nobody_comes():
    with pytest.raises(TimeoutError, match=r"nobody who knows the key has connected within 0\.05 s"):
        wire.accept(wire.listening("127.0.0.1"), b"key", None, seconds=0.05)


def test_a_fit_takes_no_notice(client, data, monkeypatch):
    """Twenty of them are at each port before the client is, and the workers have little patience."""
    monkeypatch.setattr(server, "PATIENCE", 8.0)
    X, y = data(n=80, d=6)
    settings = {"measure": "prbep", "alpha": 1e-2, "tol": 1e-4}
    listening, connect, keys = wire.listening, wire.connect, []
    with ExitStack() as stack:
        strangers = Strangers(stack, 20)

        def with_strangers(name):
            listener = listening(name)
            strangers.come(listener.getsockname())
            return listener

        def noted(address, key, *arguments, **options):
            keys.append(key)
            return connect(address, key, *arguments, **options)

        monkeypatch.setattr(wire, "listening", with_strangers)
        monkeypatch.setattr(wire, "connect", noted)
        model = MeasureClassifier(client=client, **settings).fit([(X[:40], y[:40]), (X[40:], y[40:])])
    assert len(keys) == len(set(keys)) == 2  # at the first attempt, and no worker knows the key of another
    alone = smoothperf.MeasureClassifier(**settings).fit(X, y)
    assert model.gap_ <= 1e-4
    assert abs(model.objective_ - alone.objective_) <= 1e-4
