"""Sums over processes that run the same program, each on rows of its own.

Whatever a risk needs to know of rows elsewhere is a sum: a few numbers, a table of bins, or the d numbers of ``X^T g``.
So the members of a group all run the same code on arrays of their own rows, and ask a *collective* where all rows
count. Weights and decisions are the same on every member, because they come from the same numbers: what a branch
compares has come out of the collective. (Processors of different kinds round differently.) What needs no rows, such as
the next direction or a bound, is the first member's work, and the others are told.

Alone, which is the plain case, a collective returns its argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Collective(Protocol):
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

    def sum(self, values: Array) -> Array:
        """Return the sum of the arrays of all members, with the same bits on each. It may be the argument itself."""

    def gather(self, values: Array) -> list[Array]:
        """Return the arrays of all members, by rank; their lengths may differ."""

    def first(self, values: Array) -> Array:
        """Return the array of the member with rank 0, who gets the argument itself; the others give one like it."""

    def to_first(self, values: Array) -> list[Array]:
        """Return what :meth:`gather` does to the member with rank 0; the others get an empty list, and do not wait."""

    def sum_to_first(self, values: Array) -> Array:
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

    def sum(self, values: Array) -> Array:
        """Return the argument."""
        return values

    def gather(self, values: Array) -> list[Array]:
        """Return the argument, in a list."""
        return [values]

    def first(self, values: Array) -> Array:
        """Return the argument."""
        return values

    def to_first(self, values: Array) -> list[Array]:
        """Return the argument, in a list."""
        return [values]

    def sum_to_first(self, values: Array) -> Array:
        """Return the argument."""
        return values


ALONE = Alone()


def total(together: Collective, *numbers: float) -> tuple[float, ...]:
    """Sums of numbers over all members."""
    return numbers if together.size == 1 else tuple(together.sum(np.array(numbers)).tolist())


def agreed(together: Collective, *numbers: float) -> tuple[float, ...]:
    """The numbers of the first member, for all to decide by."""
    return numbers if together.size == 1 else tuple(together.first(np.array(numbers)).tolist())


def total_and_agreed(
    together: Collective, numbers: tuple[float, ...], decided: tuple[float, ...]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Sums of some numbers, and the first member's of others, in one round."""
    if together.size == 1:
        return numbers, decided
    mine = decided if together.rank == 0 else (0.0,) * len(decided)
    sums = tuple(together.sum(np.array([*numbers, *mine])).tolist())
    return sums[: len(numbers)], sums[len(numbers) :]


def extremes(together: Collective, lowest: float, highest: float) -> tuple[float, float]:
    """The lowest and the highest number of all members; those who have none say infinity and its negative."""
    if together.size == 1:
        return lowest, highest
    every = np.array(together.gather(np.array([lowest, highest])))
    return float(every[:, 0].min()), float(every[:, 1].max())


def sum_and_extremes(together: Collective, values: Array, lowest: float, highest: float) -> tuple[Array, float, float]:
    """The sum of the arrays of all members, and what :func:`extremes` returns, in one round."""
    if together.size == 1:
        return values, lowest, highest
    ends = np.zeros((together.size, 2))  # each member has a place of its own, and adds zeros to those of the others
    ends[together.rank] = lowest, highest
    sums = together.sum(np.concatenate([values.ravel(), ends.ravel()]))
    ends = sums[values.size :].reshape(-1, 2)
    return sums[: values.size].reshape(values.shape), float(ends[:, 0].min()), float(ends[:, 1].max())


def decided(
    together: Collective, decide: Callable[..., tuple[float, ...]], count: int, *columns: Array
) -> tuple[float, ...]:
    """Send columns of equal length to the first member; all get the ``count`` numbers that it makes of them."""
    parts = together.to_first(np.concatenate(columns))
    numbers = np.zeros(count)
    if together.rank == 0:
        numbers[:] = decide(*np.concatenate([part.reshape(len(columns), -1) for part in parts], axis=1))
    return tuple(together.first(numbers).tolist())
