"""A connection between two members of a group, over Dask's own communication layer, and what goes over it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed.comm import Comm
from distributed.protocol import to_serialize

from .._arrays import Array

#: Bytes of an array that is a part of its message, which is copied but made and read faster than a frame of its own.
INSIDE = 1 << 15
#: Seconds that a member waits for another before it says so, and the kind of the message that does.
PATIENCE = 10.0
WAITING = "waiting"
#: The end, after the last message.
_END = object()


class GroupBrokenError(RuntimeError):
    """A member of the group is gone."""


@dataclass(frozen=True)
class Traffic:
    """Traffic over the connections of the client, who has one or two; a worker has up to three.

    Attributes
    ----------
    sent, received : int
        Bytes of arrays from the client to workers, and from them.
    rounds : int
        Times that the members met.
    largest : int
        Bytes of the largest array.
    iterations : int
        Of the solver.

    Examples
    --------
    >>> print(Traffic(sent=4_000_000, received=2_000_000, rounds=500, largest=8_100, iterations=100))
    an iteration: 40.0 kB sent, 20.0 kB received, 5.0 rounds
    """

    sent: int = 0
    received: int = 0
    rounds: int = 0
    largest: int = 0
    iterations: int = 0

    @property
    def bytes_per_iteration(self) -> float:
        """Both ways."""
        return (self.sent + self.received) / max(1, self.iterations)

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(
            self.sent + other.sent,
            self.received + other.received,
            self.rounds + other.rounds,
            max(self.largest, other.largest),
            self.iterations + other.iterations,
        )

    def __str__(self) -> str:
        n = max(1, self.iterations)
        return (
            f"an iteration: {self.sent / n / 1e3:.1f} kB sent, {self.received / n / 1e3:.1f} kB received, "
            f"{self.rounds / n:.1f} rounds"
        )


class Connection:
    """A connection to another member, and what has come over it. Belongs to the event loop."""

    def __init__(self, comm: Comm):
        # Dask measures the size of every message, to make long ones in another thread: that takes longer than to make
        # a short one, and arrays are sent as they are.
        comm.allow_offload = False
        self._comm = comm
        self._messages: asyncio.Queue[Any] = asyncio.Queue()
        self._is_cut = False
        self._messages_sent = self._messages_received = 0
        self.sent = self.received = self.largest = 0

    async def read_on(self) -> None:
        """Take what comes, until the connection ends."""
        with suppress(OSError):
            while True:
                self._messages.put_nowait(_unpacked(await self._comm.read()))

    def cut(self) -> None:
        """Close the connection, and wake whoever waits for a message from it."""
        if not self._is_cut:
            self._is_cut = True
            self._comm.abort()
            self._messages.put_nowait(_END)

    async def send(self, kind: str, values: Array, lengths: Sequence[int] = ()) -> None:
        """Send an array that nobody writes to any more; several, one after the other, if there are lengths."""
        self._count("sent", values.nbytes)
        self._messages_sent += kind != WAITING
        content = values.tobytes() if values.nbytes <= INSIDE else to_serialize(values)
        try:
            await self._comm.write({"kind": kind, "lengths": list(lengths), "values": content})
        except OSError as error:
            raise GroupBrokenError("a member of the group is gone") from error

    async def receive(self, kind: str) -> tuple[Array, list[int]]:
        """Return the next array, which must not be written to, with lengths; it must be of the kind that is due."""
        message = await self._next()
        if message is _END:
            self._messages.put_nowait(_END)  # for the next caller
            raise GroupBrokenError("a member of the group is gone")
        if not isinstance(message, dict) or "kind" not in message:
            raise GroupBrokenError(f"the worker {self._comm.peer_address} is no member of a group: it says {message}")
        if message["kind"] != kind:
            raise RuntimeError(f"members of the group have parted ways: {kind} was due, and {message['kind']} came")
        self._messages_received += 1
        self._count("received", message["values"].nbytes)
        return message["values"], list(message["lengths"])

    async def _next(self) -> Any:
        """Wait for a message; after PATIENCE seconds tell the peer, so that two that wait for each other notice."""
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._next_but_waiting()
        except TimeoutError:
            await self.send(WAITING, np.array([float(self._messages_received)]))
            return await self._next_but_waiting()

    async def _next_but_waiting(self) -> Any:
        while True:
            message = await self._messages.get()
            if not isinstance(message, dict) or message.get("kind") != WAITING:
                return message
            if message["values"][0] == self._messages_sent:  # it has had all of them, and waits for another one
                raise RuntimeError("members of the group have parted ways: two of them wait for one another")

    def _count(self, way: str, n_bytes: int) -> None:
        setattr(self, way, getattr(self, way) + n_bytes)
        self.largest = max(self.largest, n_bytes)


def _unpacked(message: Any) -> Any:
    """A message whose values are an array in any case."""
    if isinstance(message, dict) and isinstance(message.get("values"), bytes):
        message["values"] = np.frombuffer(message["values"])
    return message
