"""Mean of a hinge over all pairs of positives and negatives, by sorting the smaller class.

The smaller class is sorted, and every example of the larger one looks up two positions in it, O(n log n_min); the steps
are those of :mod:`smoothperf.kernels._roc_area`. In a group everybody is given the scores of the smaller class
(:func:`smoothperf.dask.versions.ordering.sorted_scores`), and what the examples of the larger one put between these is
summed: two rounds for a hinge, three for a smoothed one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from ..kernels._roc_area import RampTable, sweep_bins
from .examples import Examples
from .risk import EPS, LONG_EPS, Interval, Plane, RiskValue

#: Numbers in a bin: weight and excess, of z and of z - kappa.
BIN = 4


@dataclass(frozen=True, slots=True)
class Pairs:
    """Examples that make pairs.

    Attributes
    ----------
    examples : Examples
        All examples, with or without pairs.
    rows : pair of arrays
        The positives and the negatives among the examples here.
    weights : ndarray or None
        Of all examples here; None for ones.
    counts, mass : pairs
        Numbers of the positives and negatives that make pairs, and their weights; of all members.
    """

    examples: Examples
    rows: tuple[NDArray[np.intp], NDArray[np.intp]]
    weights: Array | None
    counts: tuple[int, int]
    mass: tuple[float, float]

    @property
    def small(self) -> int:
        """The class that is sorted, 0 for the positives.

        A pair is violated by z - a, where a = f_i sorted and z = margin + f_j; or, when there are fewer negatives, a =
        -f_j sorted and z = margin - f_i.
        """
        return 0 if self.counts[0] <= self.counts[1] else 1

    @property
    def sign(self) -> float:
        """Of the scores in a and z."""
        return 1.0 if self.small == 0 else -1.0


class RampSums(NamedTuple):
    """Sums over all pairs, with the weights of both examples.

    Attributes
    ----------
    value, height, hinges, slopes : float
        Of ``H(z - a)``, of ``beta (z - a)``, of the hinge itself, and of ``beta``.
    reach : float
        The largest violation plus the largest ``|z|``: how long ramps are, for the rounding bound.
    crowd : float
        Most weight in one bin, and
    excess : float
        the sum of all excesses: what the rounding of the bins depends on.
    """

    value: float
    height: float
    hinges: float
    slopes: float
    reach: float
    crowd: float
    excess: float


def mean_over_pairs(
    pairs: Pairs, scores: Array, *, margin: float, kappa: float, gradient: Array, direction: Array | None = None
) -> RiskValue:
    """Weighted mean of the Huber hinge of ``margin - (f_i - f_j)`` over pairs, the hinge itself for ``kappa = 0``.

    The gradient is filled at the rows of the pairs, and nowhere else.
    """
    mass = pairs.mass[0] * pairs.mass[1]
    sums = pair_ramps(pairs, scores, margin, kappa, pairs.sign / mass, gradient)
    excess, along = sums.excess, None
    if kappa > 0.0:
        here = 0.0 if direction is None else float(gradient @ direction)
        (along,), (excess,) = pairs.examples.total_and_agreed((here,), (excess,))
    # Rounding (docs/maths.md). A slope is a difference of two ramps divided by kappa. Ramps are at most ``reach`` long;
    # they are summed in long double and stored in double. The bins hold up to ``crowd`` terms each, summed in double:
    # their weight, which is a whole number without sample weights, and an ``excess`` whose mean is small where scores
    # are dense.
    large = 1 - pairs.small
    weighted = pairs.weights is not None
    crowd = float(pairs.counts[large]) if weighted else sums.crowd  # a weight does not tell the number of terms
    sums_rounding = 4 * pairs.examples.count * LONG_EPS
    bins_rounding = 2 * crowd * EPS if weighted else 0.0
    rounding = 256 * EPS + sums_rounding + bins_rounding
    if kappa > 0.0:
        mean_excess = excess / pairs.mass[large]
        rounding += (
            (16 * EPS + sums_rounding + bins_rounding) * sums.reach + 2 * (crowd + 2) * EPS * mean_excess
        ) / kappa
    return RiskValue(
        Plane(gradient, margin * sums.slopes / mass, rounding),
        sums.value / mass,
        sums.height / mass,
        exact=Interval(sums.hinges / mass, sums.hinges / mass),
        derivative=None if direction is None else along,
    )


def pair_ramps(pairs: Pairs, scores: Array, margin: float, kappa: float, scale: float, gradient: Array) -> RampSums:
    """Sum over all pairs, and fill the gradient at their rows.

    It is ``scale c_l sum_s c_s beta(z_l - a_s)`` for the larger class, ``-scale c_s sum_l c_l beta(z_l - a_s)`` for the
    smaller.
    """
    sign, weights = pairs.sign, pairs.weights
    centre, ordered, ordered_weights = _sorted_class(pairs, scores)
    table = RampTable(ordered, ordered_weights)
    bins = np.zeros((ordered.shape[0] + 2, BIN))  # with a row for the four sums
    others = pairs.rows[1 - pairs.small]
    *sums, low, high = table.ramps(scores, weights, others, sign, centre, margin, kappa, scale, gradient, bins[:-1])
    bins[-1] = sums
    bins, low, high = pairs.examples.sum_and_extremes(bins, low, high)
    slopes = np.empty(ordered.shape[0])
    crowd, excess = sweep_bins(ordered, bins[:-1], kappa, slopes)
    table.look_up(scores, weights, pairs.rows[pairs.small], sign, centre, scale, slopes, gradient)
    reach = max(high - float(ordered[0]), 0.0) + max(high, -low)
    value, height, hinges, slope = bins[-1].tolist()
    return RampSums(value, height, hinges, slope, reach, crowd, excess)


def _sorted_class(pairs: Pairs, scores: Array) -> tuple[float, Array, Array | None]:
    """About the mean of the scores; ``a``, less that and sorted; and the weights that belong to it."""
    rows = pairs.rows[pairs.small]
    return pairs.examples.version(sorted_scores)(scores, rows, pairs.weights, sum(pairs.mass), pairs.sign)


def sorted_scores(
    scores: Array, rows: NDArray[np.intp], weights: Array | None, whole: float, sign: float
) -> tuple[float, Array, Array | None]:
    """Sort the scores of some rows.

    Returns about the mean of all scores, of weight ``whole``; the sorted ones, less that and times the sign; and the
    weights that belong to them. Centring keeps the sums of squares small.
    """
    centre = mean_here(scores, weights, whole)
    return centre, *in_order(sign * (scores[rows] - centre), None if weights is None else weights[rows])


def mean_here(scores: Array, weights: Array | None, whole: float) -> float:
    """The weighted sum of the scores of this process, as a share of the whole weight."""
    return float(scores.sum() if weights is None else weights @ scores) / whole


def in_order(a: Array, weights: Array | None) -> tuple[Array, Array | None]:
    """Numbers in ascending order, and the weights that belong to them."""
    if weights is None or weights.min() == weights.max():
        a.sort()
        return a, weights
    order = np.argsort(a)
    return a[order], weights[order]
