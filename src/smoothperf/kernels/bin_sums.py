"""Sums over all pairs of positives and negatives by bins, put together from the passes of ``_roc_bins``.

Cost: three passes over the scores, of which one looks for the extremes, and O(bins). Rows may be in blocks
(:mod:`smoothperf.blocks`): moments of the bins come back, and lines go out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import threads
from . import _roc_bins
from .selection import added

if TYPE_CHECKING:
    from ..blocks import Blocks, Vector

Array = NDArray[np.float64]

#: Rows for which a thread pays.
LEAST_ROWS = 1 << 13
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
    along, gradient_squares : float
        ``<gradient, direction>``, 0 without a direction, and ``|gradient|^2``.
    """

    slopes: float
    squares: float
    ceiling: float
    inner: float
    cornered: float
    crowd: float
    along: float
    gradient_squares: float


class Grid(NamedTuple):
    """Bins: an example lies at ``f + shift + shift_step [positive]``, from 0 on."""

    shift: float
    shift_step: float
    width: float


class BinBlock:
    """The part of the sums that has rows.

    Parameters
    ----------
    positive : ndarray of bool or uint8
        The positives.
    weights : array or None
        Of all rows; None for ones.
    """

    positive: NDArray[np.bool_]
    weights: Array | None

    def __init__(self, positive: NDArray[np.bool_], weights: Array | None):
        self.positive = positive
        self.weights = weights

    def extremes(self, scores: Array) -> tuple[float, float]:
        """The lowest and the highest score."""
        if scores.shape[0] == 0:
            return math.inf, -math.inf
        return _roc_bins.extremes(scores, threads.pieces(scores.shape[0], least=LEAST_ROWS))

    def moments(self, scores: Array, grid: Grid, bins: int) -> Array:
        """Moments of each bin and class."""
        tables = np.empty((2 * threads.pieces(scores.shape[0], least=max(LEAST_ROWS, bins)), bins, 2, MOMENTS))
        _roc_bins.bin_moments(scores, self.positive.view(np.uint8), self.weights, *grid, tables)
        moments: Array = tables[0]
        return moments

    def follow_lines(
        self, scores: Array, grid: Grid, lines: Array, scale: float, direction: Array | None, gradient: Array
    ) -> Sequence[float]:
        """Fill the gradient, and return the sums of ``_roc_bins.bin_gradient``."""
        pieces = threads.pieces(scores.shape[0], least=LEAST_ROWS)
        positive = self.positive.view(np.uint8)
        return _roc_bins.bin_gradient(scores, positive, self.weights, *grid, lines, scale, direction, gradient, pieces)


def binned_pairs(
    blocks: Blocks,
    scores: Vector,
    margin: float,
    kappa: float,
    per_ramp: int,
    lowest: float,
    highest: float,
    scale: float,
    direction: Vector | None,
    gradient: Vector,
) -> PairSums:
    """Fill ``gradient``: ``scale c_j sum_i c_i beta_ij`` for a negative j, minus the like for a positive.

    Parameters
    ----------
    blocks : Blocks
        Of :class:`BinBlock`.
    margin : float
        Margin at which a pair is no longer violated; ``z = margin + score`` for negatives.
    kappa : float
        Width of the ramp of beta, above 0.
    per_ramp : int
        ``r``: bins per ramp.
    lowest, highest : float
        Bounds of the scores.
    direction : Vector or None
        Along which the derivative is wanted.
    """
    # Negatives are moved by the margin, and all so that nothing lies left of 0.
    grid = Grid(margin - min(lowest, lowest + margin), -margin, kappa / per_ramp)
    bins = int((highest - lowest + abs(margin)) / grid.width) + 2  # with one to spare for rounding
    parts = blocks.each("moments", scores, grid, bins)
    moments = parts[0] if len(parts) == 1 else np.sum(parts, axis=0)
    lines = np.empty((bins, 2, LINES))
    squares, ceiling, cornered, crowd = _roc_bins.bin_lines(moments, grid.width, per_ramp, lines)
    sums = blocks.each("follow_lines", scores, grid, lines, scale, direction, gradient)
    slopes, inner, along, gradient_squares = added(sums)
    return PairSums(slopes, squares, ceiling, inner, cornered, crowd, along, gradient_squares)
