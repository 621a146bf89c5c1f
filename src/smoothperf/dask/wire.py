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
through Dask, so a worker runs for strangers no more than Dask itself does.

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
import os
import socket
import ssl
import struct
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
    time = struct.pack("@ll", int(whole), int(1e6 * part))
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, option, time)


def encode(message: Any) -> list[memoryview]:
    """The bytes of a message, which refer to its large arrays."""
    content, beside = _messages.encode(message, LARGE)
    return [memoryview(content), *beside]


def listening(host: str) -> socket.socket:
    """A socket that waits for a client on this host, or on all interfaces if the host does not know its own name."""
    for name in (host, ""):
        try:
            family = socket.AF_INET6 if ":" in name else socket.AF_INET
            return socket.create_server((name, 0), family=family, backlog=4)
        except OSError as error:
            problem = error
    raise problem


def accept(listener: socket.socket, key: bytes, context: ssl.SSLContext | None, *, seconds: float) -> socket.socket:
    """Wait for whoever knows the key, and nobody else; a ``TimeoutError`` if nobody comes within so many seconds."""
    listener.settimeout(seconds)
    while True:
        connection, _ = listener.accept()
        try:
            connection.settimeout(seconds)
            if context is not None:
                connection = context.wrap_socket(connection, server_side=True)
            proof = b""
            while len(proof) < len(key) and (more := connection.recv(len(key) - len(proof))):
                proof += more
            if hmac.compare_digest(proof, key):
                return connection
        except OSError:
            pass  # a stranger, or one that went away
        connection.close()


def connect(address: tuple[str, int], key: bytes, context: ssl.SSLContext | None, *, seconds: float) -> socket.socket:
    """Connect to a listener, and show the key."""
    connection = socket.create_connection(address, timeout=seconds)
    try:
        if context is not None:
            connection = context.wrap_socket(connection)
        connection.sendall(key)
    except BaseException:
        connection.close()
        raise
    return connection
