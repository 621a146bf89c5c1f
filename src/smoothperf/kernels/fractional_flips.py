"""Flips of examples that maximise a linear-fractional loss less their margins, by sorting both classes.

Sorting *values* is several times faster than finding the order, and nothing here needs the order: what the best flips
are is decided by thresholds and ramps on the margin, and one pass over the unsorted examples applies these
(:mod:`smoothperf.kernels._fractional`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..recycling import Recycler
from ._fractional import best_flips, flip_exact, flip_smoothed, level_sets, prefix_sums

Array = NDArray[np.float64]


class FractionalLoss(NamedTuple):
    """``delta(B, C) = (p B + C) / (M - r B + C)`` of the weight B of missed positives and C of false ones."""

    p: float
    r: float
    M: float

    def at(self, b: float, c: float) -> float:
        """The loss."""
        return (self.p * b + c) / (self.M - self.r * b + c)


class BestFlips(NamedTuple):
    """The maximum of ``delta(B, C) - slope sum c x beta``, how many positives are flipped, and the flipped weights."""

    value: float
    positives: int
    missed: float
    false: float
    visited: int


class SmoothedFlips(NamedTuple):
    """The soft maximum over levels; see :func:`smoothperf.kernels._fractional.level_sets`."""

    value: float
    offset: float
    wobble: float
    error: float
    tables: tuple[Array, Array]

    @property
    def levels(self) -> int:
        """How many levels make up the soft maximum."""
        return int(self.tables[0].shape[1]) // 2

    @property
    def reach(self) -> float:
        """How far from 0 the knots of the ramps are, at most."""
        return largest_knot(*self.tables)


def largest_knot(*tables: Array) -> float:
    """How far from 0 the knots of some tables are, at most; they are sorted."""
    return max(float(np.abs(table[0, [0, -1]]).max()) for table in tables)


class _Side:
    """One class: its margins sorted, its weights in that order, and prefix sums."""

    def __init__(self, margins: Array, weights: Array | None, first: Array, second: Array):
        self.mass: Array | None = None
        if weights is None:
            margins.sort()
        else:
            order = np.argsort(margins)
            margins, weights = margins[order], weights[order]
            self.mass = np.empty(margins.shape[0] + 1)
        self.x, self.first, self.second = margins, first, second
        prefix_sums(margins, weights, self.mass, first, second)

    def share_at(self, position: int, weight: float) -> tuple[float, float]:
        """The margin at a position, and which share of those with that margin completes a given weight below it."""
        cut = float(self.x[position])
        below, up_to = (int(np.searchsorted(self.x, cut, side)) for side in ("left", "right"))
        begin, end = (float(k if self.mass is None else self.mass[k]) for k in (below, up_to))
        return cut, min(max((weight - begin) / (end - begin), 0.0), 1.0) if end > begin else 0.0

    def position(self, weight: float) -> int:
        """Where the example is that contains the last part of a weight above 0."""
        if self.mass is None:
            return min(int(np.ceil(weight)), self.x.size) - 1
        return min(int(np.searchsorted(self.mass, weight)), self.x.size) - 1


class SortedMargins:
    """Margins ``y f`` of both classes, sorted, ready for both kinds of maximum.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        ``f``.
    positive : ndarray of uint8
        1 for the positives.
    rows : tuple of two ndarrays of int
        The rows of the positives and of the negatives.
    weights : ndarray of shape (n,) or None
        The sample weights.
    memory : Recycler
        Vectors of length 3 n + 4.
    """

    def __init__(
        self,
        scores: Array,
        positive: NDArray[np.uint8],
        rows: tuple[NDArray[np.intp], NDArray[np.intp]],
        weights: Array | None,
        memory: Recycler,
    ):
        self._scores, self._positive, self._weights = scores, positive, weights
        space = memory.take()
        n, m = scores.shape[0], rows[0].shape[0]
        ends = np.cumsum([m, n - m, m + 1, m + 1, n - m + 1])
        x_p, x_n, first_p, second_p, first_n, second_n = np.split(space, ends)
        scores.take(rows[0], out=x_p, mode="clip")
        scores.take(rows[1], out=x_n, mode="clip")
        np.negative(x_n, out=x_n)
        ordered = (None, None) if weights is None else (weights[rows[0]], weights[rows[1]])
        self._p = _Side(x_p, ordered[0], first_p, second_p)
        self._n = _Side(x_n, ordered[1], first_n, second_n)

    def best(self, loss: FractionalLoss, slope: float) -> BestFlips:
        """``max delta(B, C) - slope sum c x beta`` over ``beta`` in [0, 1]^n."""
        p, n = self._p, self._n
        return BestFlips(*best_flips(p.x, p.mass, p.first, n.x, n.mass, n.first, *loss, slope))

    def apply_best(self, flips: BestFlips, slope: float, gradient: Array) -> float:
        """Fill in the gradient of the best flips; returns ``sum c x beta``. Equal margins share what is left."""
        cuts, shares = np.full(2, -np.inf), np.zeros(2)
        if flips.false > 0.0:
            cuts[0], shares[0] = self._n.share_at(self._n.position(flips.false), flips.false)
        if flips.positives > 0:
            cuts[1], shares[1] = self._p.share_at(flips.positives - 1, flips.missed)
        return flip_exact(self._scores, self._positive, self._weights, cuts, shares, slope, gradient)

    def smoothed(self, loss: FractionalLoss, slope: float, width: float, nu: float, count: int) -> SmoothedFlips:
        """Soft maximum over the levels ``k / count`` of what the best flips of that level, with ramps, achieve."""
        p, n = self._p, self._n
        found = level_sets(
            p.x, p.mass, p.first, p.second, n.x, n.mass, n.first, n.second, *loss, slope, width, nu, count
        )
        return SmoothedFlips(*found)

    def apply_smoothed(self, flips: SmoothedFlips, slope: float, gradient: Array) -> float:
        """Fill in the gradient of smoothed flips; returns ``sum c x beta``."""
        return flip_smoothed(self._scores, self._positive, self._weights, *flips.tables, slope, gradient)
