"""Sums over all pairs of positives and negatives by bins, put together from the passes of ``_roc_bins``.

Cost: two passes over the scores, and O(bins); or three, of which one looks for the extremes, if they are outside a
guess of their range. Rows may be in blocks (:mod:`smoothperf.blocks`): moments of the bins come back, and lines go out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


class Span(NamedTuple):
    """What scores lie between."""

    lowest: float
    highest: float

    @classmethod
    def of(cls, parts: Iterable[tuple[float, float]]) -> Span:
        """What all of several parts lie between."""
        lowest, highest = zip(*parts, strict=True)
        return cls(min(lowest), max(highest))

    @property
    def length(self) -> float:
        """How far it is from one end to the other."""
        return self.highest - self.lowest

    def widened(self, share: float) -> Span:
        """By a share of its length, at both ends."""
        return Span(self.lowest - share * self.length, self.highest + share * self.length)

    def holds(self, other: Span) -> bool:
        """Whether it goes as far as another one."""
        return self.lowest <= other.lowest and other.highest <= self.highest


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
        """The lowest and the highest score; infinities if there are none."""
        return _roc_bins.extremes(scores, threads.pieces(scores.shape[0], least=LEAST_ROWS))

    def moments(
        self, scores: Array, grid: Grid, bins: int, span: tuple[float, float]
    ) -> tuple[tuple[float, float], Array | None]:
        """The extremes, and the moments of each bin and class if these are for the extremes, too."""
        tables = np.empty((2 * threads.pieces(scores.shape[0], least=max(LEAST_ROWS, bins)), bins, 2, MOMENTS))
        found = _roc_bins.bin_moments(scores, self.positive.view(np.uint8), self.weights, *grid, *span, tables)
        return found, tables[0] if Span(*span).holds(Span(*found)) else None

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
    span: Span,
    scale: float,
    direction: Vector | None,
    gradient: Vector,
) -> tuple[Span, PairSums | None]:
    """Fill ``gradient``: ``scale c_j sum_i c_i beta_ij`` for a negative j, minus the like for a positive.

    Returns what the scores lie between, and the sums. These are None if that is not within the span, and the gradient
    holds anything then.

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
    span : Span
        There are bins for scores between these.
    direction : Vector or None
        Along which the derivative is wanted.
    """
    # Negatives are moved by the margin, and all so that nothing lies left of 0.
    grid = Grid(margin - min(span.lowest, span.lowest + margin), -margin, kappa / per_ramp)
    bins = int((span.length + abs(margin)) / grid.width) + 2  # with one to spare for rounding
    extremes, tables = zip(*blocks.each("moments", scores, grid, bins, tuple(span)), strict=True)
    found = Span.of(extremes)
    parts = [table for table in tables if table is not None]
    if len(parts) < len(tables):
        return found, None
    moments = parts[0]
    for part in parts[1:]:
        moments += part
    lines = np.empty((bins, 2, LINES))
    squares, ceiling, cornered, crowd = _roc_bins.bin_lines(moments, grid.width, per_ramp, lines)
    sums = blocks.complete("follow_lines", scores, grid, lines, scale, direction, gradient)
    slopes, inner, along, gradient_squares = added(sums)
    return found, PairSums(slopes, squares, ceiling, inner, cornered, crowd, along, gradient_squares)
