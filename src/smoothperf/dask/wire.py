"""Messages between the client and a thread of a worker: a socket, and nothing in between.

An iteration of a solver is a handful of rounds, each a few numbers or a vector of d numbers both ways, so the time of a
round decides. Measured by ``python -m benchmarks.dask_rounds`` on two cores, one round to two workers and back:

    way                                           one number     100,000 doubles back
    Dask actors                                       4.5 ms                   6.2 ms
    distributed.comm, through both event loops        1.9 ms                   2.5 ms
    multiprocessing.connection                        0.4 ms                   4.4 ms    (copies, pickled)
    this module                                      0.09 ms                  0.33 ms

What the first two respect, and the third does not, are the cluster's security settings; here the socket is wrapped
with the TLS contexts of the client and of the worker, where they have such. Whoever connects must know a key that went
through Dask, so a worker runs for strangers no more than Dask itself does. The key is never sent: each end shows with a
message authentication code that it has it,

    worker to client    N_w, a random number
    client to worker    N_c, another one, and HMAC(key, "client" N_w N_c)
    worker to client    HMAC(key, "worker" N_w N_c)

Strangers can connect as well, and be silent. So everybody is heard at the same time, and not for long.

What a message looks like is the business of :mod:`smoothperf.dask._messages`; arrays of some size travel beside it as
they are, from and into memory without a copy in between.
Messages that nobody waits for go with the next one that somebody does: handing something to the system takes longer
than all else that a small message needs (a tenth of a millisecond, measured on a virtual machine).
A worker waits for a message awake for a while, and then asleep. The client sleeps at once: what it waits for are the
workers, which may need its processor. It wakes up every few seconds to see whether Dask still knows the worker, in case
its machine is gone without a word.
"""

from __future__ import annotations

import hmac
import math
import os
import queue
import secrets
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from . import _messages
from ._waiting import wait_awake

#: Bytes from which on an array travels beside the message.
LARGE = 1 << 12
#: Bytes that are read ahead.
BUFFER = 1 << 14
#: Bytes up to which parts are copied to go as one.
TOGETHER = 1 << 16
#: Seconds after which a silent worker is looked for.
SILENCE = 5.0
#: Seconds that somebody who connects has to show the key, and how many are heard at a time; the first go then.
HEARING = 10.0
MOST_CALLERS = 64
#: Seconds after which it is seen that nobody else is waited for.
LOOK = 0.1
#: Bytes of a random number, and of a message authentication code.
NONCE = 32


class LinkClosedError(ConnectionError):
    """The other end is gone."""


class WorkerError(RuntimeError):
    """A method failed on a worker; the text has the worker's address and traceback."""


class Link:
    """Messages in order, both ways.

    Parameters
    ----------
    connection : socket
        Connected. It belongs to the link.
    is_alive : callable, optional
        Asked every few seconds of silence; if it says no, the other end counts as gone.
    awake : float, default=0.0
        Seconds for which to wait for a message awake, before falling asleep.

    Attributes
    ----------
    sent, received : int
        Bytes so far.
    largest : int
        Bytes of the largest message received.

    Examples
    --------
    >>> import numpy as np
    >>> here, there = (Link(end) for end in socket.socketpair())
    >>> here.send(("scores", np.arange(3.0)))
    >>> there.receive()
    ('scores', array([0., 1., 2.]))
    >>> here.close()
    >>> there.receive()
    Traceback (most recent call last):
    ...
    smoothperf.dask.wire.LinkClosedError: the other end has closed the connection
    >>> there.close()
    """

    def __init__(self, connection: socket.socket, *, is_alive: Callable[[], bool] | None = None, awake: float = 0.0):
        self._socket = connection
        self._is_alive = is_alive
        # (What has arrived encrypted may have been read already.)
        self._awake = 0.0 if isinstance(connection, ssl.SSLSocket) else awake
        self._buffer = memoryview(bytearray(BUFFER))
        self._ahead = self._buffer[:0]
        self._waiting: list[memoryview] = []
        self.sent = 0
        self.received = 0
        self.largest = 0
        if connection.family != getattr(socket, "AF_UNIX", None):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.settimeout(None)
        if is_alive is not None:
            _wake_up_every(SILENCE, connection)

    def send(self, message: Any) -> None:
        """Send a message; returns when the system has taken it."""
        self.send_parts(encode(message))

    def send_parts(self, parts: list[memoryview], *, later: bool = False) -> None:
        """Send a message that :func:`encode` has made, perhaps for several links; or with the next message."""
        self._waiting += parts
        if later:
            return
        waiting, self._waiting = self._waiting, []
        if sum(part.nbytes for part in waiting) <= TOGETHER:
            waiting = [memoryview(b"".join(waiting))]
        for part in waiting:
            self._write(part)

    def receive(self) -> Any:
        """Wait for a message."""
        if self._awake and not self._ahead:
            wait_awake(self._socket.fileno(), self._awake)
        before = self.received
        length = _messages.length_of(self._read(_messages.HEADER))
        message, arrays = _messages.decode(self._read(length))
        for array in arrays:
            self._read_into(array)
        self.largest = max(self.largest, self.received - before)
        return message

    def close(self) -> None:
        """Close the connection, which the other end notices."""
        with suppress(OSError):  # not connected any more
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _write(self, rest: memoryview) -> None:
        self.sent += rest.nbytes
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except (TimeoutError, BlockingIOError):
                self._look()
            except OSError as error:
                raise LinkClosedError(f"the connection broke: {error}") from error

    def _read(self, length: int) -> bytearray:
        content = bytearray(length)
        self._read_into(memoryview(content))
        return content

    def _read_into(self, rest: memoryview) -> None:
        self.received += rest.nbytes
        if self._ahead:
            rest = self._fill(rest, self._ahead)
        while rest:
            large = rest.nbytes >= len(self._buffer)
            try:
                # What is small comes with what follows it: a message without arrays is read by one call.
                count = self._socket.recv_into(rest if large else self._buffer)
            except (TimeoutError, BlockingIOError):
                self._look()
                continue
            except OSError as error:
                raise LinkClosedError(f"the connection broke: {error}") from error
            if count == 0:
                raise LinkClosedError("the other end has closed the connection")
            rest = rest[count:] if large else self._fill(rest, self._buffer[:count])

    def _fill(self, rest: memoryview, available: memoryview) -> memoryview:
        """Fill as much as possible; return what is left to fill, and keep what is left over."""
        count = min(rest.nbytes, available.nbytes)
        rest[:count] = available[:count]
        self._ahead = available[count:]
        return rest[count:]

    def _look(self) -> None:
        if self._is_alive is not None and not self._is_alive():
            raise LinkClosedError("Dask does not know the worker any more")


def _wake_up_every(seconds: float, connection: socket.socket) -> None:
    """Have calls that wait end with an error after so many seconds; where possible, by the system.

    Python asks the system whether it would have to wait before each call: a call more for every message.
    """
    if os.name != "posix" or isinstance(connection, ssl.SSLSocket):
        connection.settimeout(seconds)
        return
    whole, part = divmod(seconds, 1.0)
    interval = struct.pack("@ll", int(whole), int(1e6 * part))
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, option, interval)


def encode(message: Any) -> list[memoryview]:
    """The bytes of a message, which refer to its large arrays."""
    content, beside = _messages.encode(message, LARGE)
    return [memoryview(content), *beside]


def listening(host: str) -> socket.socket:
    """A socket that waits for a client on this host, or on all interfaces if the host does not know its own name."""
    for name in (host, ""):
        try:
            family = socket.AF_INET6 if ":" in name else socket.AF_INET
            return socket.create_server((name, 0), family=family, backlog=128)
        except OSError as error:
            problem = error
    raise problem


def accept(listener: socket.socket, key: bytes, context: ssl.SSLContext | None, *, seconds: float) -> socket.socket:
    """Wait for whoever knows the key, and nobody else; a ``TimeoutError`` if nobody comes within so many seconds.

    The listener is closed then.
    """
    friends: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()
    over = threading.Event()
    door = threading.Thread(target=_open_door, args=(listener, key, context, friends, over), daemon=True)
    door.start()
    try:
        return friends.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"nobody who knows the key has connected within {seconds:g} s") from None
    finally:
        over.set()


def _open_door(
    listener: socket.socket,
    key: bytes,
    context: ssl.SSLContext | None,
    friends: queue.SimpleQueue[socket.socket],
    over: threading.Event,
) -> None:
    """Hear everybody who connects, each in a thread, until it is over; whoever takes long is cut off."""
    until: dict[socket.socket, float] = {}  # those who are heard, in their order

    def hear(caller: socket.socket) -> None:
        with suppress(OSError):  # one that went away, or was cut off
            if isinstance(caller, ssl.SSLSocket):
                caller.do_handshake()
            if _has_shown_key(caller, key) and until.pop(caller, None) is not None:
                friends.put(caller)
                return
        until.pop(caller, None)
        caller.close()

    with listener:
        listener.settimeout(LOOK)
        while not over.is_set():
            try:
                caller, _ = listener.accept()
                if context is not None:
                    caller = context.wrap_socket(caller, server_side=True, do_handshake_on_connect=False)
                until[caller] = time.monotonic() + HEARING
                threading.Thread(target=hear, args=(caller,), daemon=True).start()
            except TimeoutError:
                pass  # nobody is there
            except OSError:
                over.wait(LOOK)  # somebody is gone already, or the process has no file left to open
            heard = list(until)
            late = [caller for caller in heard if until.get(caller, math.inf) < time.monotonic()]
            for caller in {*late, *heard[:-MOST_CALLERS]}:
                _cut_off(caller, until)
    for caller in list(until):
        _cut_off(caller, until)


def _cut_off(caller: socket.socket, until: dict[socket.socket, float]) -> None:
    """End what somebody says; the thread that listens to him notices, and closes the connection."""
    if until.pop(caller, None) is not None:
        with suppress(OSError):  # gone already
            socket.socket.shutdown(caller, socket.SHUT_RDWR)  # (that of an SSLSocket is not for two threads)


def connect(address: tuple[str, int], key: bytes, context: ssl.SSLContext | None, *, seconds: float) -> socket.socket:
    """Connect to a listener; both ends show that they have the key."""
    connection = socket.create_connection(address, timeout=seconds)
    try:
        if context is not None:
            connection = context.wrap_socket(connection)
        _show_key(connection, key)
    except BaseException:
        connection.close()
        raise
    return connection


def _has_shown_key(caller: socket.socket, key: bytes) -> bool:
    """The worker's part: ask a caller to show the key, and show it in turn."""
    challenge = secrets.token_bytes(NONCE)
    caller.sendall(challenge)
    said = challenge + _received(caller, NONCE)
    if not hmac.compare_digest(_received(caller, NONCE), _proof(key, b"client", said)):
        return False
    caller.sendall(_proof(key, b"worker", said))
    return True


def _show_key(connection: socket.socket, key: bytes) -> None:
    """The client's part."""
    challenge, nonce = _received(connection, NONCE), secrets.token_bytes(NONCE)
    said = challenge + nonce
    connection.sendall(nonce + _proof(key, b"client", said))
    if not hmac.compare_digest(_received(connection, NONCE), _proof(key, b"worker", said)):
        raise LinkClosedError("the other end does not know the key of the fit: it is not the worker")


def _proof(key: bytes, who: bytes, said: bytes) -> bytes:
    return hmac.digest(key, who + said, "sha256")


def _received(connection: socket.socket, length: int) -> bytes:
    content = b""
    while len(content) < length:
        more = connection.recv(length - len(content))
        if not more:
            raise LinkClosedError("the other end has closed the connection")
        content += more
    return content
