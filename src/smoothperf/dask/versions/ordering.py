"""Scores of a group by size: they stay where they are, and levels, cuts and pairs take a few rounds.

Floating-point numbers have the order of their bits (read as an integer, with those of negative ones reversed), so the
leading 13 bits of a value are the number of a cell. Members add up the weight of each cell, cells that cannot matter
are dropped, and the next bits count. Whatever the scale of the values and however they are tied, after five rounds each
cell is one number.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..._arrays import Array
from ...communicator import Communicator, Shared
from ...cuts.threshold_search import Level, Ordering
from ...measures.pairs import in_order, mean_here

#: Bits of a value that a round of a group looks at, if it looks into one cell; and if it looks into many.
BITS = 13
FEWEST_BITS = 4


class GroupOrdering(Ordering, Shared):
    """The scores of all members; see :class:`~smoothperf.cuts.threshold_search.Ordering`.

    Parameters
    ----------
    values, weights : ndarray
        Those of this member; weights are None for ones.
    communicator : Communicator
        The group.
    """

    def __init__(self, values: Array, weights: Array | None, communicator: Communicator):
        super().__init__(values, weights)
        self.communicator = communicator

    def level(self, wanted: float) -> Level:
        """Return the level of the values of all members, in five rounds."""

        def holds_level(sums: Array, beyond: Array) -> NDArray[np.intp]:
            """The highest cell from which on there is as much as is wanted, or else the lowest."""
            enough = np.flatnonzero(beyond[-1] + sums[-1] >= wanted)
            return enough[-1:] if enough.size else np.array([0])

        at, sums, beyond = self.tables(() if self.weights is None else (self.weights,), holds_level)
        return Level(float(at[0]), float(beyond[-1, 0]), float(sums[-1, 0]))

    def room(self, level: Level, wanted: float) -> float:
        """Return what weight of the values at a level fits this member: the first members get all that is left."""
        room = super().room(level, wanted)
        if 0.0 < room < math.inf:
            tied = self.communicator.allgather(np.array([self.weight(self.values == level.at)]))
            room -= sum(float(each[0]) for each in tied[: self.communicator.rank])
        return room

    def neighbours(self, at: float, *, weighing: bool = False) -> tuple[float, float, float, float]:
        """Return the neighbours of a score among those of all members."""
        below, above, lowest, highest = super().neighbours(at, weighing=weighing)
        every = self.communicator.allgather(np.array([-below, above, lowest, -highest]))
        below, above, lowest, highest = np.min(every, axis=0).tolist()
        return -below, above, lowest, -highest

    def totals(self, columns: tuple[Array, ...]) -> tuple[float, ...]:
        """Return the sums of some columns over all members."""
        return self.total(*super().totals(columns))

    def tables(
        self, columns: tuple[Array, ...], matter: Callable[[Array, Array], NDArray[np.intp]]
    ) -> tuple[Array, Array, Array]:
        """Look into cells, and into those that matter again, until each is one number."""
        keys = _keys(self.values)
        cells = np.zeros(keys.shape, dtype=np.intp)
        # The bits that values of a cell share, and how many they do not.
        leading, bits = np.zeros(1, dtype=np.uint64), 64
        sums = beyond = np.zeros((1 + len(columns), 1))
        while bits > 0:
            more = min(bits, max(FEWEST_BITS, BITS - (leading.size - 1).bit_length()))
            bits -= more
            finer = 1 << more
            cells = cells * finer + ((keys >> np.uint64(bits)) & np.uint64(finer - 1)).astype(np.intp)
            count = leading.size * finer
            here = [np.bincount(cells, weights=column, minlength=count) for column in (None, *columns)]
            sums = self.communicator.allreduce(np.array(here, dtype=np.float64))
            # From what lies beyond a former cell downwards.
            inside = sums.reshape(*beyond.shape, finer)[:, :, :0:-1]
            downwards = np.concatenate([beyond[:, :, None], inside], axis=2).cumsum(axis=2)
            beyond = downwards[:, :, ::-1].reshape(sums.shape)
            occupied = np.flatnonzero(sums[0])
            kept = occupied[matter(sums[:, occupied], beyond[:, occupied])]
            sums, beyond = sums[:, kept], beyond[:, kept]
            leading = leading[kept // finer] << np.uint64(more) | (kept % finer).astype(np.uint64)
            places = np.full(count, -1)
            places[kept] = np.arange(kept.size)
            cells = places[cells]
            left = cells >= 0
            cells, keys, columns = cells[left], keys[left], tuple(column[left] for column in columns)
        return _values(leading), sums, beyond


def sorted_scores(
    scores: Array, rows: NDArray[np.intp], weights: Array | None, whole: float, sign: float, communicator: Communicator
) -> tuple[float, Array, Array | None]:
    """Sort the scores of some rows of all members, in one round, as that in :mod:`smoothperf.measures.pairs` does."""
    here = [np.array([mean_here(scores, weights, whole)]), scores[rows]]
    if weights is not None:
        here.append(weights[rows])
    gathered = communicator.allgather(np.concatenate(here))
    centre = math.fsum(float(part[0]) for part in gathered)
    found = np.concatenate([part[1:].reshape(len(here) - 1, -1) for part in gathered], axis=1)
    return centre, *in_order(sign * (found[0] - centre), None if weights is None else found[1])


def _keys(values: Array) -> NDArray[np.uint64]:
    """Whole numbers in the order of some values; zeros of either sign have the same."""
    bits = (values + 0.0).view(np.uint64)
    sign = np.uint64(1 << 63)
    return np.where(bits >= sign, ~bits, bits | sign)


def _values(keys: NDArray[np.uint64]) -> Array:
    """The values of keys."""
    sign = np.uint64(1 << 63)
    return np.where(keys >= sign, keys ^ sign, ~keys).view(np.float64)
