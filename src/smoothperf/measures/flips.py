"""Flips of examples that maximise a linear-fractional loss less their margins: the words for it, and sorted sides.

Sorting *values* is several times faster than finding the order, and nothing here needs the order: what the best flips
are is decided by thresholds and ramps on the margin, and one pass over the unsorted examples applies these
(:mod:`smoothperf.kernels._flips`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from .._arrays import Array, Numbers
from ..kernels._best_flips import best_flips, prefix_sums
from ..kernels._flips import flip_along, ramp_table
from ..kernels._levels import level_sets
from .examples import Examples
from .risk import LONG_EPS, Plane, Risk, RiskValue

#: The cost allowed for a soft maximum over levels or tables, a share of ``mu D``, relative to what the squares cost.
SOFT_SHARE = 0.5


class FractionalLoss(NamedTuple):
    """``delta(B, C) = (p B + C) / (M - r B + C)`` of the weight B of missed positives and C of false ones."""

    p: float
    r: float
    M: float

    def at(self, b: Numbers, c: Numbers) -> Numbers:
        """The loss, of numbers or of arrays."""
        return (self.p * b + c) / (self.M - self.r * b + c)


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

    def threshold(self, weight: float) -> tuple[float, float]:
        """The margin below which there is a given weight, and which share of those with that margin completes it."""
        if not weight > 0.0:
            return -math.inf, 0.0
        x, mass = self.x, self.mass
        last = math.ceil(weight) if mass is None else int(np.searchsorted(mass, weight))
        at = float(x[min(last, x.size) - 1])
        places = np.searchsorted(x, at, side="left"), np.searchsorted(x, at, side="right")
        begin, end = (float(k if mass is None else mass[k]) for k in places)
        return at, min(max((weight - begin) / (end - begin), 0.0), 1.0) if end > begin else 0.0


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
    return Side(margins, mass, first, second, lowest, 2 * margins.size * LONG_EPS)


class BestFlips(NamedTuple):
    """The maximum of ``delta(B, C) - slope sum c x beta``, the flipped weights, and how many B were looked at."""

    value: float
    missed: float
    false: float
    visited: int

    @classmethod
    def of(cls, sides: tuple[Side, Side], loss: FractionalLoss, slope: float) -> BestFlips:
        """Those of sorted sides, the positives first; see :func:`smoothperf.kernels._best_flips.best_flips`."""
        return cls(*best_flips(*sides, loss, slope))


class SmoothedFlips(NamedTuple):
    """The soft maximum over levels, and those that matter; see :func:`smoothperf.kernels._levels.level_sets`."""

    value: float
    offset: float
    wobble: float
    levels: Array
    steps: int

    @classmethod
    def of(
        cls, sides: tuple[Side, Side], loss: FractionalLoss, slope: float, width: float, nu: float, count: int
    ) -> SmoothedFlips:
        """Those of sorted sides, the positives first."""
        return cls(*level_sets(*sides, loss, slope, width, nu, count))

    @property
    def shares(self) -> Array:
        """The share of each level in the soft maximum."""
        shares: Array = self.levels[2]
        return shares

    @property
    def places(self) -> tuple[Array, Array]:
        """In the middle of the ramp of each level: of the negatives, and of the positives."""
        return self.levels[3], self.levels[4]

    def tables(self, width: float) -> tuple[Array, Array]:
        """The mixture of the ramps, for negatives and positives; see :func:`smoothperf.kernels._flips.ramp_table`."""
        of_negatives, of_positives = self.places
        return ramp_table(of_negatives, self.shares, width), ramp_table(of_positives, self.shares, width)


def step_table(cut: float, share: float, end: float | None = None) -> Array:
    """Table for :func:`smoothperf.kernels._flips.flip_along`: 1 below a threshold, and a share from it to the end.

    That is the next number by default, so that margins have the share that are equal to the threshold.
    """
    return np.array([[cut, np.nextafter(cut, math.inf) if end is None else end], [1.0, share], [0.0, 0.0]])


def largest_knot(*tables: Array) -> float:
    """Largest distance from 0 of the knots of some tables, which are sorted."""
    return max(float(np.abs(table[0, [0, -1]]).max()) for table in tables)


class FlipRisk(Risk):
    """A risk that is ``max over beta of loss(beta) - (2/N) sum_i c_i x_i beta_i``, with the margins ``x = y f``.

    Parameters
    ----------
    examples : Examples
        Labels and weights.
    rounding : float
        Of planes without ramps.
    """

    examples: Examples
    shift_invariant: ClassVar[bool] = False

    def __init__(self, examples: Examples, rounding: float):
        super().__init__(examples)
        self._total = examples.weight
        self._slope = 2.0 / self._total
        self._rounding = rounding
        self.diameter = (1.0 + SOFT_SHARE) * self._total / 8.0
        self._labels = examples.positive.view(np.uint8)
        self._rows = np.flatnonzero(examples.positive), np.flatnonzero(~examples.positive)

    @abstractmethod
    def _nu(self, mu: float) -> float:
        """Width of the soft maximum."""

    def loss_free(self, scores: Array) -> RiskValue:
        """``R0`` and its gradient: examples on the wrong side of 0 are flipped. One pass."""
        return self._flipped(scores, (0.0, 0.0), (0.0, 0.0), 0.0)

    def lipschitz(self, mu: float) -> float:
        """``(4/N^2) (1/mu + N/(4 nu))``: of the best flips of a level, and of the shares of the levels."""
        return self._slope**2 * (1.0 / mu + self._total / (4.0 * self._nu(mu)))

    def _flipped(
        self, scores: Array, of_negatives: tuple[float, float], of_positives: tuple[float, float], offset: float
    ) -> RiskValue:
        """The plane of flips below thresholds, and of shares of the examples at these."""
        gradient = np.empty_like(scores)
        inner = self._flip_along((step_table(*of_negatives), step_table(*of_positives)), scores, gradient)
        value = offset - self._slope * self.examples.total(inner)[0]
        return RiskValue(Plane(gradient, offset, self._rounding), value, value)

    def _flip_along(self, tables: tuple[Array, Array], scores: Array, gradient: Array) -> float:
        """Fill the gradient of the flips that tables describe, of negatives and positives; return ``sum c x beta``."""
        return flip_along(scores, self._labels, self.examples.weights, *tables, self._slope, gradient)
