"""One program on rows of several processes: each member of a group has rows of its own, and asks for sums over all.

Whatever a risk needs to know of rows elsewhere is a sum: a few numbers, a table of bins, or the d numbers of ``X^T g``.
So the members of a group all run the same code on arrays of their own rows, and ask a *communicator* where all rows
count. Weights and decisions are the same on every member, because they come from the same numbers: what a branch
compares has come out of the communicator. (Processors of different kinds round differently.) What needs no rows, such
as the next direction or a bound, is the first member's work, and the others are told. The few algorithms that look for
something among all rows, such as the largest scores, have another version for groups; the communicator knows it.

Alone, which is the plain case, all sums are those of the rows here, and an algorithm is itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

import numpy as np

from ._arrays import Array

P = ParamSpec("P")
T = TypeVar("T")


class Communicator(Protocol):
    """Questions of the members of a group, which all of them ask in the same order; each call but the last is a round.

    Attributes
    ----------
    rank, size : int
        The number of this member, from 0 on, and how many there are.
    """

    @property
    def rank(self) -> int:
        """The number of this member."""

    @property
    def size(self) -> int:
        """Number of members."""

    def allreduce(self, values: Array) -> Array:
        """Return the sum of the arrays of all members, with the same bits on each. It may be the argument itself."""

    def allgather(self, values: Array) -> list[Array]:
        """Return the arrays of all members, by rank; their lengths may differ."""

    def broadcast(self, values: Array) -> Array:
        """Return the array of the member with rank 0, who gets the argument itself; the others give one like it."""

    def gather(self, values: Array) -> list[Array]:
        """Return what :meth:`gather` does to the member with rank 0; the others get an empty list, and do not wait."""

    def reduce(self, values: Array) -> Array:
        """Return the sum to the member with rank 0; the others get their argument, and do not wait.

        As it may be on its way still, nobody is to write to it afterwards.
        """

    def version(self, algorithm: Callable[P, T]) -> Callable[P, T]:
        """Return what the members run in place of a function or class for rows in memory, with the same parameters."""


class Alone:
    """A group of one.

    Examples
    --------
    >>> ALONE.allreduce(np.array([1.0, 2.0]))
    array([1., 2.])
    """

    rank = 0
    size = 1

    def allreduce(self, values: Array) -> Array:
        """Return the argument."""
        return values

    def allgather(self, values: Array) -> list[Array]:
        """Return the argument, in a list."""
        return [values]

    def broadcast(self, values: Array) -> Array:
        """Return the argument."""
        return values

    def gather(self, values: Array) -> list[Array]:
        """Return the argument, in a list."""
        return [values]

    def reduce(self, values: Array) -> Array:
        """Return the argument."""
        return values

    def version(self, algorithm: Callable[P, T]) -> Callable[P, T]:
        """Return the argument."""
        return algorithm


ALONE = Alone()


class Shared:
    """Base of what each member of a group has a part of: the examples, the objective and its run.

    Parameters
    ----------
    communicator : Communicator
        The communicator of the group; alone by default.

    Examples
    --------
    >>> Shared(ALONE).total(1.0, 2.0)
    (1.0, 2.0)
    """

    def __init__(self, communicator: Communicator = ALONE):
        self.communicator = communicator

    @property
    def alone(self) -> bool:
        """Whether all of it is here, which is the plain case."""
        return self.communicator.size == 1

    @property
    def leads(self) -> bool:
        """Whether this is the first member, who decides."""
        return self.communicator.rank == 0

    @property
    def members(self) -> int:
        """Number of processes that have a part of it."""
        return self.communicator.size

    def version(self, algorithm: Callable[P, T]) -> Callable[P, T]:
        """Return what to run in place of an algorithm for rows in memory: itself, if they are all here."""
        return self.communicator.version(algorithm)

    def total(self, *numbers: float) -> tuple[float, ...]:
        """Sums of numbers over all members."""
        return numbers if self.alone else tuple(self.communicator.allreduce(np.array(numbers)).tolist())

    def agreed(self, *numbers: float) -> tuple[float, ...]:
        """The numbers of the first member, for all to decide by."""
        return numbers if self.alone else tuple(self.communicator.broadcast(np.array(numbers)).tolist())

    def agreed_vector(self, vector: Array) -> Array:
        """The vector of the first member."""
        return self.communicator.broadcast(vector)

    def total_and_agreed(
        self, numbers: tuple[float, ...], decided: tuple[float, ...]
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Sums of some numbers, and the first member's of others, in one round."""
        if self.alone:
            return numbers, decided
        sums = self.total(*numbers, *(decided if self.leads else (0.0,) * len(decided)))
        return sums[: len(numbers)], sums[len(numbers) :]

    def extremes(self, lowest: float, highest: float) -> tuple[float, float]:
        """The lowest and the highest number of all members; those who have none say infinity and its negative."""
        if self.alone:
            return lowest, highest
        every = np.array(self.communicator.allgather(np.array([lowest, highest])))
        return float(every[:, 0].min()), float(every[:, 1].max())

    def sum_and_extremes(self, values: Array, lowest: float, highest: float) -> tuple[Array, float, float]:
        """The sum of the arrays of all members, and what :meth:`extremes` returns, in one round."""
        if self.alone:
            return values, lowest, highest
        ends = np.zeros((self.members, 2))  # each member has a place of its own, and adds zeros to those of the others
        ends[self.communicator.rank] = lowest, highest
        sums = self.communicator.allreduce(np.concatenate([values.ravel(), ends.ravel()]))
        ends = sums[values.size :].reshape(-1, 2)
        return sums[: values.size].reshape(values.shape), float(ends[:, 0].min()), float(ends[:, 1].max())

    def of_all(self, *columns: Array) -> tuple[Array, ...]:
        """Columns of equal length, with those of the other members below."""
        if self.alone:
            return columns
        parts = self.communicator.allgather(np.concatenate(columns))
        return tuple(np.hstack([part.reshape(len(columns), -1) for part in parts]))
