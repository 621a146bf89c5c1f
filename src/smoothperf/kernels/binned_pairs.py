"""Sums over all pairs of positives and negatives by bins, put together from the passes of ``_roc_bins``.

Cost: three passes over the scores, of which one looks for the extremes, and O(bins).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import threads
from . import _roc_bins

Array = NDArray[np.float64]

#: Rows for which a thread pays.
LEAST_ROWS = 1 << 15
#: Numbers for each bin and class: moments and their count; a line.
MOMENTS, LINES = 4, 2


class PairSums(NamedTuple):
    """Sums over all pairs with the beta of (roc-bins), weighted with the weights of both examples.

    Attributes
    ----------
    slopes, squares : float
        Of beta and of beta^2.
    ceiling : float
        Of the hinge ``max(0, z - a)``, or a little more.
    inner : float
        ``<gradient, scores>``.
    cornered : float
        Weight of the pairs whose beta is not exact.
    crowd : float
        Most examples of one class in a bin, on which the rounding of the moments depends.
    """

    slopes: float
    squares: float
    ceiling: float
    inner: float
    cornered: float
    crowd: float


def binned_pairs(
    scores: Array,
    positive: NDArray[np.uint8],
    weights: Array | None,
    margin: float,
    kappa: float,
    per_ramp: int,
    lowest: float,
    highest: float,
    scale: float,
    gradient: Array,
) -> PairSums:
    """Fill ``gradient``: ``scale c_j sum_i c_i beta_ij`` for a negative j, minus the like for a positive.

    Parameters
    ----------
    margin : float
        Margin at which a pair is no longer violated; ``z = margin + score`` for negatives.
    kappa : float
        Width of the ramp of beta, above 0.
    per_ramp : int
        ``r``: bins per ramp.
    lowest, highest : float
        Bounds of the scores.
    """
    width = kappa / per_ramp
    # Negatives are moved by the margin, and all so that nothing lies left of 0.
    shifts = margin - min(lowest, lowest + margin), -margin
    bins = int((highest - lowest + abs(margin)) / width) + 2  # with one to spare for rounding
    ranges = threads.even_ranges(scores.shape[0], least=max(LEAST_ROWS, bins))
    moments = np.zeros((len(ranges), bins, 2, MOMENTS))
    tables = {begin: moments[i] for i, (begin, _) in enumerate(ranges)}
    threads.over_ranges(
        lambda begin, end: _roc_bins.bin_moments(scores, positive, weights, *shifts, width, tables[begin], begin, end),
        ranges,
    )
    moments[0] = moments.sum(axis=0) if len(ranges) > 1 else moments[0]
    lines = np.zeros((bins, 2, LINES))  # bins without weight get no line, but examples without weight read it
    squares, ceiling, cornered = _roc_bins.bin_lines(moments[0], width, per_ramp, lines)
    sums = threads.over_ranges(
        lambda begin, end: _roc_bins.bin_gradient(
            scores, positive, weights, *shifts, width, lines, scale, gradient, begin, end
        ),
        ranges,
    )
    slopes, inner = (math.fsum(column) for column in zip(*sums, strict=True))
    crowd = float(moments[0, :, :, 0 if weights is None else 3].max())
    return PairSums(slopes, squares, ceiling, inner, cornered, crowd)
