"""Flips of examples that maximise a linear-fractional loss less their margins: the words for it, and sorted sides.

Sorting *values* is several times faster than finding the order, and nothing here needs the order: what the best flips
are is decided by thresholds and ramps on the margin, and one pass over the unsorted examples applies these
(:mod:`smoothperf.kernels._fractional`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._fractional import prefix_sums

Array = NDArray[np.float64]

LONG_EPS = float(np.finfo(np.longdouble).eps)


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
    """The soft maximum over levels; see :func:`smoothperf.kernels._fractional.mixture`."""

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


class Side(NamedTuple):
    """Margins of one class, sorted, and the sums over the first 0, 1, ..., m of them.

    ``mass`` sums the weights (None: ones), ``first`` the weights times the margins, ``second`` times their squares.
    """

    x: Array
    mass: Array | None
    first: Array
    second: Array
    #: Sum of the weights times the margins below 0.
    lowest: float
    #: Relative error of the sums, other than being rounded once.
    drift: float
    #: Highest margin.
    top: float


def sorted_side(margins: Array, weights: Array | None, first: Array, second: Array) -> Side:
    """Sort margins, in place if there are no weights, and fill in the sums.

    Examples
    --------
    >>> side = sorted_side(np.array([2.0, -1.0]), None, np.empty(3), np.empty(3))
    >>> side.x, side.first, side.second, side.lowest
    (array([-1.,  2.]), array([ 0., -1.,  1.]), array([0., 1., 5.]), -1.0)
    """
    mass = None
    if weights is None:
        margins.sort()
    else:
        order = np.argsort(margins)
        margins, weights = margins[order], weights[order]
        mass = np.empty(margins.size + 1)
    prefix_sums(margins, weights, mass, first, second)
    lowest = float(first[np.searchsorted(margins, 0.0, side="right")])
    top = float(margins[-1]) if margins.size else -np.inf
    return Side(margins, mass, first, second, lowest, 2 * margins.size * LONG_EPS, top)
