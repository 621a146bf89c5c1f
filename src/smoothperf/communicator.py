"""Sums over processes that run the same program, each on rows of its own.

Whatever a risk needs to know of rows elsewhere is a sum: a few numbers, a table of bins, or the d numbers of ``X^T g``.
So the members of a group all run the same code on arrays of their own rows, and ask a *communicator* where all rows
count. Weights and decisions are the same on every member, because they come from the same numbers: what a branch
compares has come out of the communicator. (Processors of different kinds round differently.) What needs no rows, such
as the next direction or a bound, is the first member's work, and the others are told.

Alone, which is the plain case, a communicator returns its argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ._arrays import Array


class Communicator(Protocol):
    """What the members of a group ask for, all of them in the same order; each call is a round.

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
        """How many members there are."""

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


class Alone:
    """A group of one.

    Examples
    --------
    >>> total(ALONE, 1.0, 2.0)
    (1.0, 2.0)
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


ALONE = Alone()


def total(communicator: Communicator, *numbers: float) -> tuple[float, ...]:
    """Sums of numbers over all members."""
    return numbers if communicator.size == 1 else tuple(communicator.allreduce(np.array(numbers)).tolist())


def agreed(communicator: Communicator, *numbers: float) -> tuple[float, ...]:
    """The numbers of the first member, for all to decide by."""
    return numbers if communicator.size == 1 else tuple(communicator.broadcast(np.array(numbers)).tolist())


def total_and_agreed(
    communicator: Communicator, numbers: tuple[float, ...], decided: tuple[float, ...]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Sums of some numbers, and the first member's of others, in one round."""
    if communicator.size == 1:
        return numbers, decided
    mine = decided if communicator.rank == 0 else (0.0,) * len(decided)
    sums = tuple(communicator.allreduce(np.array([*numbers, *mine])).tolist())
    return sums[: len(numbers)], sums[len(numbers) :]


def extremes(communicator: Communicator, lowest: float, highest: float) -> tuple[float, float]:
    """The lowest and the highest number of all members; those who have none say infinity and its negative."""
    if communicator.size == 1:
        return lowest, highest
    every = np.array(communicator.allgather(np.array([lowest, highest])))
    return float(every[:, 0].min()), float(every[:, 1].max())


def sum_and_extremes(
    communicator: Communicator, values: Array, lowest: float, highest: float
) -> tuple[Array, float, float]:
    """The sum of the arrays of all members, and what :func:`extremes` returns, in one round."""
    if communicator.size == 1:
        return values, lowest, highest
    ends = np.zeros((communicator.size, 2))  # each member has a place of its own, and adds zeros to those of the others
    ends[communicator.rank] = lowest, highest
    sums = communicator.allreduce(np.concatenate([values.ravel(), ends.ravel()]))
    ends = sums[values.size :].reshape(-1, 2)
    return sums[: values.size].reshape(values.shape), float(ends[:, 0].min()), float(ends[:, 1].max())


def decided(
    communicator: Communicator, decide: Callable[..., tuple[float, ...]], count: int, *columns: Array
) -> tuple[float, ...]:
    """Send columns of equal length to the first member; all get the ``count`` numbers that it makes of them."""
    parts = communicator.gather(np.concatenate(columns))
    numbers = np.zeros(count)
    if communicator.rank == 0:
        numbers[:] = decide(*np.concatenate([part.reshape(len(columns), -1) for part in parts], axis=1))
    return tuple(communicator.broadcast(numbers).tolist())
