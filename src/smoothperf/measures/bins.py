"""Mean of a hinge over all pairs by bins of scores, put together from the passes of ``_roc_bins``.

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
from .risk import EPS, LONG_EPS, Interval, Plane, RiskValue

#: Score difference from which on a pair costs nothing.
MARGIN = 1.0
#: Most and fewest bins per ramp of beta. Six change gradients by about 1e-4, relatively.
MOST_BINS, FEWEST_BINS = 6, 4
#: Ramps that are so many times as long as the range of the scores are left to sorting.
LONGEST_RAMP = 1e9
#: A bin costs as much as so many examples; no more bins than that are used.
BIN_COST = 8
#: A guess of the span of scores is that of nearby ones, and so much of it more at both ends. (Measured on seven data
#: sets: nine of ten are within that.)
SPARE = 0.25
#: Of millions of examples no more bins are used than a cache holds, or so many for each example of the smaller class,
#: which can be sorted instead: bins have to travel if rows are on several machines.
LARGE_TABLE, BINS_PER_EXAMPLE = 1 << 17, 2
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


def binned_hinges(
    examples: Examples, scores: Array, kappa: float, hint: object, direction: Array | None, gradient: Array
) -> RiskValue | None:
    """Mean over all pairs of the Huber hinge of ``1 - (f_i - f_j)``, of width kappa; None if bins do not pay.

    Parameters
    ----------
    hint : object
        The span of nearby scores, if it is one.
    direction : ndarray or None
        Along which the derivative is wanted.
    gradient : ndarray
        Is filled.
    """
    span = None
    # Nearby scores have nearly the same span: mostly no look for the extremes is needed.
    guess = hint.widened(SPARE) if isinstance(hint, Span) else None
    if guess is not None and (per_ramp := _bins_per_ramp(examples, guess, kappa)) > 0:
        span, value = _hinges_within(examples, scores, kappa, per_ramp, guess, direction, gradient)
        if value is not None:
            return value
    if span is None:
        span = Span.of(examples, scores)
    if (per_ramp := _bins_per_ramp(examples, span, kappa)) == 0:
        return None
    _, value = _hinges_within(examples, scores, kappa, per_ramp, span, direction, gradient)
    assert value is not None
    return value


def _bins_per_ramp(examples: Examples, span: Span, kappa: float) -> int:
    """Number of bins in a ramp; 0 if bins do not pay."""
    ramps = (span.length + MARGIN) / kappa
    count = examples.count
    smaller = min(examples.positives, count - examples.positives)
    affordable = min(count / BIN_COST, max(LARGE_TABLE, BINS_PER_EXAMPLE * smaller)) / ramps
    # (Negated, so that NaN also means no bins.)
    if not (affordable >= FEWEST_BINS and ramps * LONGEST_RAMP >= 1.0):
        return 0
    # A ramp that is longer than the span of the scores has more bins, so that they still tell scores apart.
    return int(min(affordable, MOST_BINS / min(ramps, 1.0)))


def _hinges_within(
    examples: Examples,
    scores: Array,
    kappa: float,
    per_ramp: int,
    span: Span,
    direction: Array | None,
    gradient: Array,
) -> tuple[Span, RiskValue | None]:
    """The span of the scores, and the value if it is within the one given."""
    mass = examples.positive_weight * examples.negative_weight
    found, sums = binned_pairs(examples, scores, MARGIN, kappa, per_ramp, span, 1.0 / mass, direction, gradient)
    if sums is None:
        return found, None
    offset = MARGIN * sums.slopes / mass
    height = offset + sums.inner
    reach = span.length + MARGIN
    ceiling = sums.ceiling / mass
    # A chord of the hinge over two widths of a bin. (A beta that is not exact loses at most h^2 / (6 kappa) of the
    # maximum that R_mu is (bin-loss), so the value is nearer to that by a factor 3 r.)
    looseness = kappa / (2.0 * per_ramp) * sums.cornered / mass
    return found, RiskValue(
        Plane(gradient, offset, _rounding(examples, kappa, reach, per_ramp * reach / kappa, sums.crowd)),
        height - kappa / 2.0 * sums.squares / mass,
        height,
        exact=Interval(ceiling - looseness, ceiling),
        hint=found,
        derivative=None if direction is None else sums.along,
    )


def _rounding(examples: Examples, kappa: float, reach: float, bins: float, crowd: float) -> float:
    """Rounding bound (bins-rounding) of a plane that came from bins, with a surplus."""
    shared = 2048 * EPS + 4 * (bins + crowd) * EPS + 4 * examples.count * LONG_EPS
    return shared + 16 * EPS * reach / kappa


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
