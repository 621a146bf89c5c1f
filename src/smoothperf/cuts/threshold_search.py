"""Cuts of scores: the level that so much weight lies above, found without a sort.

Of values v with weights c the *level* of a wanted weight is the largest one with ``sum_{v_i >= level} c_i >= wanted``.
It is found by partitioning, in expected O(n).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from .weighted import filled, weighted_level

#: Rounding of sums of weights, relatively, for which a cut is not passed over.
SLACK = 1e-12
#: Distance of a cut beyond all scores, relative to the largest: further than rounding carries a score.
MARGIN = 1e-9


class Level(NamedTuple):
    """A level, the weight of the values above it, and of those equal to it."""

    at: float
    above: float
    tied: float


class Ordering:
    """Scores by size: their levels, neighbours and cuts.

    Parameters
    ----------
    values : ndarray
        The scores.
    weights : ndarray or None
        Weights; None for ones.

    Examples
    --------
    >>> scores = Ordering(np.array([0.0, 1.0, 2.0, 3.0]), None)
    >>> scores.threshold(1.0), scores.heaviest(1.5)
    (2.5, array([0. , 0. , 0.5, 1. ]))
    """

    def __init__(self, values: Array, weights: Array | None):
        self.values = values
        self.weights = weights

    def level(self, wanted: float) -> Level:
        """Return the level that a wanted weight lies above; the lowest value if there is less.

        Parameters
        ----------
        wanted : float
            A weight.

        Returns
        -------
        level : Level
            The level, and the weights above and at it.
        """
        values, weights = self.values, self.weights
        at = _partitioned(values, wanted) if weights is None else weighted_level(values, weights, wanted)
        return Level(at, self.weight(values > at), self.weight(values == at))

    def weight(self, chosen: NDArray[np.bool_]) -> float:
        """Return the weight of some values here."""
        return float(np.count_nonzero(chosen) if self.weights is None else self.weights[chosen].sum())

    def room(self, level: Level, wanted: float) -> float:
        """Return what weight of the values at a level fits."""
        room = wanted - level.above
        return math.inf if room >= level.tied else room

    def heaviest(self, wanted: float) -> Array:
        """Fill a wanted weight with the largest values: ``u`` in [0, 1] that maximises ``sum c u values``.

        At most one entry is fractional, and with unit weights and a whole number wanted none is. Of tied ones the first
        are taken. Expected O(n).

        Parameters
        ----------
        wanted : float
            A weight.

        Returns
        -------
        u : ndarray
            One number for each value here.
        """
        level = self.level(wanted)
        return filled(self.values, self.weights, level.at, self.room(level, wanted))

    def threshold(self, wanted: float) -> float:
        """Return a threshold such that the weight of the scores above it is as close to ``wanted`` as ties allow.

        It lies midway between two neighbouring scores, or a little beyond all of them, so that rounding in new scores
        of the same examples changes nothing. Of two that are equally close, but for rounding, it is the higher one.

        Parameters
        ----------
        wanted : float
            A weight.

        Returns
        -------
        threshold : float
            The same on all processes.
        """
        level = self.level(wanted)
        below, above, lowest, highest = self.neighbours(level.at, weighing=True)
        with_ties, without = abs(level.above + level.tied - wanted), abs(level.above - wanted)
        if level.tied > 0.0 and with_ties >= without - SLACK * wanted:
            below = level.at
        elif self.weights is None:
            above = level.at
        else:
            # The cut goes below neighbouring scores of weight 0, too.
            above = self.neighbours(below, weighing=True)[1] if below > -math.inf else lowest
        return between(below, above, lowest, highest)

    def neighbours(self, at: float, *, weighing: bool = False) -> tuple[float, float, float, float]:
        """Return the next score below, the next one above, and the lowest and the highest of all.

        The first may have to weigh something.
        """
        scores = self.values
        lower = (scores < at) & (self.weights > 0.0) if weighing and self.weights is not None else scores < at
        return (
            float(scores.max(where=lower, initial=-math.inf)),
            float(scores.min(where=scores > at, initial=math.inf)),
            float(scores.min(initial=math.inf)),
            float(scores.max(initial=-math.inf)),
        )

    def totals(self, columns: tuple[Array, ...]) -> tuple[float, ...]:
        """Return the sums of some columns."""
        return tuple(float(column.sum()) for column in columns)

    def tables(
        self, columns: tuple[Array, ...], matter: Callable[[Array, Array], NDArray[np.intp]]
    ) -> tuple[Array, Array, Array]:
        """Sum up columns for the different values that matter.

        Parameters
        ----------
        columns : tuple of ndarray
            Numbers to sum up for each value, such as weights.
        matter : callable
            Is given ``sums`` and ``beyond`` for all values, in ascending order, and says which matter.

        Returns
        -------
        values : ndarray
            Those that matter, in ascending order.
        sums : ndarray of shape (1 + number of columns, number of values)
            Count of each value, and the sums of the columns there.
        beyond : ndarray of the same shape
            The same of all larger values.
        """
        values, members = np.unique(self.values, return_inverse=True)
        sums = np.array([np.bincount(members, weights=column) for column in (None, *columns)], dtype=np.float64)
        beyond = np.insert(sums[:, :0:-1], 0, 0.0, axis=1).cumsum(axis=1)[:, ::-1]
        kept = matter(sums, beyond)
        return values[kept], sums[:, kept], beyond[:, kept]


def _partitioned(values: Array, wanted: float) -> float:
    """The level of values of weight 1."""
    n = values.shape[0]
    k = min(max(math.ceil(wanted), 1), n)
    return float(np.partition(values, n - k)[n - k])


def between(below: float, above: float, lowest: float, highest: float) -> float:
    """A number from ``below`` to less than ``above``: midway, or a little beyond the one that is finite.

    The lowest and the highest of all scores say how little.
    """
    if np.isinf(below) or np.isinf(above):
        outermost, away = (above, -1.0) if np.isinf(below) else (below, 1.0)
        beyond = outermost + away * MARGIN * max(abs(lowest), abs(highest))
        return beyond if beyond != outermost else float(np.nextafter(outermost, away * np.inf))
    middle = below + (above - below) / 2.0
    return middle if middle < above else below
