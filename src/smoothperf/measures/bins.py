"""Sums over all pairs of positives and negatives by bins, put together from the passes of ``_roc_bins``.

Cost: two passes over the scores, and O(bins); a third one looks for the extremes if they are not known to be within a
span. In a group the moments of the bins are summed, and everybody makes the same lines of them: two rounds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .. import threads
from .._arrays import Array
from ..kernels import _roc_bins
from .examples import Examples

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
    along : float
        ``<gradient, direction>``, 0 without a direction.
    """

    slopes: float
    squares: float
    ceiling: float
    inner: float
    cornered: float
    crowd: float
    along: float


class Span(NamedTuple):
    """The lowest and the highest score, or numbers beyond them."""

    lowest: float
    highest: float

    @classmethod
    def of(cls, examples: Examples, scores: Array) -> Span:
        """The span of the scores of all members."""
        here = float(scores.min(initial=math.inf)), float(scores.max(initial=-math.inf))
        return cls(*examples.extremes(*here))

    @property
    def length(self) -> float:
        """The distance from one end to the other."""
        return self.highest - self.lowest

    def widened(self, share: float) -> Span:
        """By a share of its length, at both ends."""
        return Span(self.lowest - share * self.length, self.highest + share * self.length)

    def holds(self, other: Span) -> bool:
        """Whether it goes as far as another one."""
        return self.lowest <= other.lowest and other.highest <= self.highest


def binned_pairs(
    examples: Examples,
    scores: Array,
    margin: float,
    kappa: float,
    per_ramp: int,
    span: Span,
    scale: float,
    direction: Array | None,
    gradient: Array,
) -> tuple[Span, PairSums | None]:
    """Fill ``gradient``: ``scale c_j sum_i c_i beta_ij`` for a negative j, minus such a sum for a positive.

    Returns what the scores lie between, and the sums. These are None if that is not within the span, and the gradient
    is left as it was then.

    Parameters
    ----------
    margin : float
        Margin at which a pair is no longer violated; ``z = margin + score`` for negatives.
    kappa : float
        Width of the ramp of beta, above 0.
    per_ramp : int
        ``r``: bins per ramp.
    span : Span
        There are bins for scores between these.
    direction : ndarray or None
        Along which the derivative is wanted.
    """
    n = scores.shape[0]
    rows = scores, examples.positive.view(np.uint8), examples.weights
    # An example lies at ``f + shift + shift_step [positive]``: negatives are moved by the margin, and all so that
    # nothing lies left of 0.
    width = kappa / per_ramp
    grid = margin - min(span.lowest, span.lowest + margin), -margin, width
    bins = int((span.length + abs(margin)) / width) + 2  # with one to spare for rounding
    tables = np.empty((2 * threads.pieces(n, least=max(LEAST_ROWS, bins)), bins, 2, MOMENTS))
    here = _roc_bins.bin_moments(*rows, *grid, *span, tables)
    moments, *ends = examples.sum_and_extremes(tables[0], *here)
    found = Span(*ends)
    if not span.holds(found):
        return found, None
    lines = np.empty((bins, 2, LINES))
    of_lines = _roc_bins.bin_lines(moments, width, per_ramp, lines)
    of_rows = _roc_bins.bin_gradient(
        *rows, *grid, lines, scale, direction, gradient, threads.pieces(n, least=LEAST_ROWS)
    )
    (slopes, inner, along), (squares, ceiling, cornered, crowd) = examples.total_and_agreed(of_rows, of_lines)
    return found, PairSums(slopes, squares, ceiling, inner, cornered, crowd, along)
