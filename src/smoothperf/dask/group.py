"""A group of processes over Dask's own connections: the client and some workers, as a tree.

Member 0 is the client, the others are on workers; the parent of member r is member (r - 1) // 2, who has connected to
it. A sum goes up the tree, each member adding its own array and those of its children, in this order, and comes down
again. So everyone has the same bits, and they do not depend on who was first. It takes about 2 log2(size) messages one
after the other, and a member deals with no more than three others. Short arrays that member 0 has for the others travel
with the next long one, or before member 0 waits for somebody: what costs time is the number of messages.

The connections are Dask's (``distributed.comm``), to the addresses that the workers have anyway; encryption and fast
networks are its business. They are made by the event loops, before a task of the group runs: a worker has an operation
(:func:`open_door`) by which it becomes a member, and connects to its children. A task on it then speaks for that member
(:func:`member_here`), from a thread of its own.

Connections are read all the time. When one ends, because a process has died or has left in the middle, a member
breaks all of its own, so that the whole tree falls at once: whoever waits, or asks later, gets a
:class:`GroupBrokenError`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from secrets import token_hex
from types import TracebackType
from typing import Any, Self

import numpy as np
from distributed import Client, Worker
from distributed.comm import Comm, connect
from distributed.core import Status

from .._arrays import Array
from ..communicator import P, T
from .connection import Connection, GroupBrokenError, Traffic
from .versions import version_for

#: Numbers in an array that member 0 keeps for a while, as others follow.
SHORT = 64
#: The handler of a worker for a parent that connects to it.
OPERATION = "smoothperf_join"


class Member:
    """A member of a group, as a :class:`~smoothperf.communicator.Communicator`. Its methods are called from one thread.

    Parameters
    ----------
    name : str
        Of the group.
    rank : int
        Of this member.
    addresses : sequence of str
        Of the workers of members 1, 2, ...
    loop : AbstractEventLoop
        The event loop of the client or of the worker.

    Attributes
    ----------
    name, rank, size
        Of the group, of this member, and of all.
    """

    def __init__(self, name: str, rank: int, addresses: Sequence[str], loop: asyncio.AbstractEventLoop):
        self.rank = rank
        self.size = len(addresses) + 1
        self.name = name
        self._addresses = list(addresses)
        self._loop = loop
        self._parent: Connection | None = None
        self._children: list[Connection] = []
        self._connections: list[Connection] = []  # all of these
        self._readers: set[asyncio.Task[None]] = set()
        self._rounds = 0
        self._said: deque[Array] = deque()  # arrays of member 0: those that wait to be sent, elsewhere to be asked for

    def allreduce(self, values: Array) -> Array:
        """Return the sum of the arrays of all members."""
        self._rounds += 1
        return self._wait(self._allreduce(np.asarray(values, dtype=np.float64)))

    def allgather(self, values: Array) -> list[Array]:
        """Return the vectors of all members, by rank."""
        self._rounds += 1
        return self._wait(self._allgather(np.asarray(values, dtype=np.float64)))

    def broadcast(self, values: Array) -> Array:
        """Return the array of member 0, who gets the argument itself and does not wait for the others."""
        values = np.asarray(values, dtype=np.float64)
        if self.rank == 0:
            if values.size > SHORT:
                self._said.append(values.reshape(-1))
                self._wait(self._say())  # in a copy
            else:
                self._said.append(values.reshape(-1).copy())
            return values
        if not self._said:
            self._wait(self._hear())
        # A copy: as it came it may begin anywhere between two numbers, and be on its way to the children still.
        return self._said.popleft().reshape(values.shape).copy()

    def gather(self, values: Array) -> list[Array]:
        """Return the vectors of all members, by rank, to member 0; the others do not wait for anybody above them."""
        self._rounds += 1
        return self._wait(self._gather(np.asarray(values, dtype=np.float64)))

    def reduce(self, values: Array) -> Array:
        """Return the sum of the arrays of all members to member 0; the others do not wait for anybody above them.

        Nobody may write to the arrays that were given afterwards: they may be on their way still.
        """
        self._rounds += 1
        total = self._wait(self._reduce("reduce", np.asarray(values, dtype=np.float64)))
        return total if self.rank == 0 else values

    def version(self, algorithm: Callable[P, T]) -> Callable[P, T]:
        """Return what the members run in place of an algorithm for rows in memory."""
        return version_for(self, algorithm)

    def traffic(self) -> Traffic:
        """Traffic over the connections to the children."""
        return Traffic(
            sum(child.sent for child in self._children),
            sum(child.received for child in self._children),
            self._rounds,
            max((child.largest for child in self._children), default=0),
        )

    def leave(self) -> None:
        """Break the group, unless it has ended; from any thread."""
        with suppress(RuntimeError):  # the loop is closed, and the connections with it
            self._loop.call_soon_threadsafe(self._break)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Member 0 ends the connections when all others have said that they are done.
        try:
            if error is None:
                self._wait(self._finish())
        finally:
            if error is not None or self.rank == 0:
                self.leave()

    async def join(self, parent: Comm | None, connection_args: dict[str, Any], seconds: float) -> None:
        """Connect to the children, who do likewise, and wait until all below are there."""
        try:
            if parent is not None:
                self._parent = self._watched(parent)
            async with asyncio.timeout(seconds):
                for rank in (2 * self.rank + 1, 2 * self.rank + 2):
                    if rank < self.size:
                        self._children.append(await self._connected(rank, connection_args, seconds))
                for child in self._children:
                    await child.receive("ready")
            if self._parent is not None:
                await self._parent.send("ready", np.empty(0))
        except (OSError, TimeoutError) as error:
            self._break()
            raise GroupBrokenError(f"a member of the group cannot be reached: {error}") from error
        except BaseException:
            self._break()
            raise

    async def ended(self) -> None:
        """Wait until the connections have ended."""
        await asyncio.wait(set(self._readers))

    async def _connected(self, rank: int, connection_args: dict[str, Any], seconds: float) -> Connection:
        comm = await connect(self._addresses[rank - 1], **connection_args)
        connection = self._watched(comm)
        await comm.write(
            {"op": OPERATION, "name": self.name, "rank": rank, "addresses": self._addresses, "seconds": seconds}
        )
        return connection

    def _watched(self, comm: Comm) -> Connection:
        """A connection that is read, and whose end breaks the group."""
        connection = Connection(comm)
        self._connections.append(connection)

        async def watch() -> None:
            try:
                await connection.read_on()
            finally:
                self._break()

        reader = asyncio.create_task(watch())
        self._readers.add(reader)
        reader.add_done_callback(self._readers.discard)
        return connection

    def _break(self) -> None:
        for connection in self._connections:
            connection.cut()

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Have the event loop do something; whatever fails, or interrupts, breaks the group."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            self.leave()
            raise
        finally:
            del future  # which holds the error, which holds this frame, and with it all that its callers have

    async def _allreduce(self, values: Array) -> Array:
        total = (await self._reduce("allreduce", values)).reshape(-1)
        if self._parent is not None:
            total, _ = await self._parent.receive("allreduce")
        await self._tell_children("allreduce", total)
        return total.reshape(values.shape).copy()

    async def _reduce(self, kind: str, values: Array) -> Array:
        """The sum of the arrays of this member and of all below it, which the parent gets as well."""
        await self._say()
        total = values
        for child in self._children:
            part, _ = await child.receive(kind)
            if part.size != total.size:
                raise RuntimeError(f"members of the group have parted ways: {total.size} and {part.size} numbers")
            part = part.reshape(values.shape)
            total = total + part if total is values else np.add(total, part, out=total)
        if self._parent is not None:
            await self._parent.send(kind, total)
        return total

    async def _allgather(self, values: Array) -> list[Array]:
        every, lengths = await self._up("allgather", values)
        if self._parent is not None:
            every, lengths = await self._parent.receive("allgather")
        await self._tell_children("allgather", every, lengths)
        return self._by_rank(every, lengths)

    async def _gather(self, values: Array) -> list[Array]:
        every, lengths = await self._up("gather", values)
        return self._by_rank(every, lengths) if self._parent is None else []

    async def _up(self, kind: str, values: Array) -> tuple[Array, list[int]]:
        """The vectors of this member and of all below it, one after the other, which the parent gets as well."""
        await self._say()
        parts, lengths = [values], [values.size]
        for child in self._children:
            part, below = await child.receive(kind)
            parts.append(part)
            lengths += below
        every = np.concatenate(parts)
        if self._parent is not None:
            await self._parent.send(kind, every, lengths)
        return every, lengths

    def _by_rank(self, every: Array, lengths: list[int]) -> list[Array]:
        """The vectors of all members."""
        in_order = dict(zip(_downwards(0, self.size), np.split(every, np.cumsum(lengths)[:-1]), strict=True))
        return [in_order[rank].copy() for rank in range(self.size)]

    async def _say(self) -> None:
        """Before member 0 waits for others: send them what it has for them. They must have asked for all of it."""
        if not self._said:
            return
        if self._parent is not None:
            raise RuntimeError("members of the group have parted ways: member 0 says more than is asked for")
        self._rounds += 1
        every, lengths = np.concatenate(self._said), [each.size for each in self._said]
        self._said.clear()
        await self._tell_children("broadcast", every, lengths)

    async def _tell_children(self, kind: str, values: Array, lengths: Sequence[int] = ()) -> None:
        """Send all children the same."""
        for child in self._children:  # one after the other: Dask takes a message, and does not wait until it is there
            await child.send(kind, values, lengths)

    async def _hear(self) -> None:
        """Wait for what member 0 says; the children hear it as well."""
        assert self._parent is not None
        every, lengths = await self._parent.receive("broadcast")
        self._rounds += 1
        await self._tell_children("broadcast", every, lengths)
        self._said.extend(np.split(every, np.cumsum(lengths)[:-1]))

    async def _finish(self) -> None:
        """Tell the parent that this member and all below it are done."""
        await self._say()
        for child in self._children:
            await child.receive("done")
        if self._parent is not None:
            await self._parent.send("done", np.empty(0))


def _downwards(rank: int, size: int) -> Iterator[int]:
    """The members from one downwards, in the order in which arrays are gathered.

    >>> list(_downwards(0, 6))
    [0, 1, 3, 4, 2, 5]
    """
    if rank < size:
        yield rank
        yield from _downwards(2 * rank + 1, size)
        yield from _downwards(2 * rank + 2, size)


def lead(client: Client, addresses: Sequence[str], *, seconds: float = 60.0) -> Member:
    """Make a group of this client and workers with an open door; a worker may be several members.

    Returns member 0, to be used in a ``with`` statement, when all are connected; ``member.name`` is for their tasks.
    """
    loop = client.loop.asyncio_loop
    member = Member(token_hex(8), 0, addresses, loop)
    member._wait(member.join(None, client.connection_args, seconds))
    return member


#: Members on workers of this process, by the group and their rank.
_here: dict[tuple[str, int], Member] = {}


def member_here(name: str, rank: int) -> Member:
    """The member of a group that is here, for its task, to be used in a ``with`` statement."""
    try:
        return _here[name, rank]
    except KeyError:
        raise GroupBrokenError("the group has ended before a task of it began") from None


def open_door(worker: Worker) -> None:
    """Have a worker become a member of a group when somebody connects to it for that."""

    async def join(comm: Comm, name: str, rank: int, addresses: list[str], seconds: float) -> Status:
        member = Member(name, rank, addresses, asyncio.get_running_loop())
        _here[name, rank] = member
        try:
            with suppress(GroupBrokenError):
                await member.join(comm, worker.connection_args, seconds)
            await member.ended()
        finally:
            del _here[name, rank]
        return Status.dont_reply

    worker.handlers.setdefault(OPERATION, join)
