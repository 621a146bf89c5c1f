r"""Area under the ROC curve: the fraction of (positive, negative) pairs in the right order.

    R(f)    = (1/M) sum_{i in P, j in N} c_i c_j max(0, 1 - (f_i - f_j)),    M = N+ N-            (roc-risk)
    R_mu(f) = (1/M) sum_{i in P, j in N} c_i c_j H(1 - (f_i - f_j))                             (roc-smoothed)

H is the Huber hinge of width ``kappa = mu M``: quadratic on [0, kappa], linear beyond. The prox-function is half the
weighted sum of ``beta^2``, so ``D = M/2`` and ``R - kappa/2 <= R_mu <= R``. Pairs are never formed:

- Exactly: the smaller class is sorted, every example of the larger one looks up two positions in it
  (:mod:`smoothperf.kernels._roc_area`): O(n log n_min).
- Smoothed, if examples are many and ramps not too short: all scores are put into bins a fraction of kappa wide
  (:mod:`smoothperf.kernels._roc_bins`): O(n). The planes are as true as the others; the value is a lower bound of
  R_mu, and how far below it may be is known (``RiskValue.error``).

Departures from the paper: equation (3) as printed charges ``max(d, 1 - d)`` per pair with ``d = f_i - f_j``, which
grows with a *correct* margin; the hinge is what is meant (docs/maths.md, slips). ``ROCArea(as_printed=True)`` keeps
the printed form for reproduction. The paper sorts both classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validation import binary_labels, vector, weights_of
from ..blocks import Blocks, Vector
from ..kernels import sorted_hinges
from ..kernels.bin_sums import BinBlock, Span, binned_pairs
from ..kernels.pair_sums import Frame, PairBlock, pair_ramps
from .base import EPS, LONG_EPS, Array, Measure, Risk, RiskValue
from .in_blocks import BlockRisk
from .row_block import RiskBlock

#: Most and fewest bins per ramp of beta. Six change gradients by about 1e-4, relatively.
MOST_BINS, FEWEST_BINS = 6, 4
#: Ramps that are so many times as long as the range of the scores are left to sorting.
LONGEST_RAMP = 1e9
#: With fewer examples sorting takes next to no time.
LEAST_EXAMPLES = 1 << 12
#: A bin costs as much as so many examples; no more bins than that are used.
BIN_COST = 8
#: A guess of the span of scores is that of nearby ones, and so much of it more at both ends. (Measured on seven data
#: sets: nine of ten are within that.)
SPARE = 0.25
#: Of millions of examples no more bins are used than a cache holds, or so many for each example of the smaller class,
#: which can be sorted instead: bins have to travel if rows are far away.
LARGE_TABLE, BINS_PER_EXAMPLE = 1 << 17, 2


def mean_over_pairs(
    blocks: Blocks,
    scores: Vector,
    counts: tuple[int, int],
    mass: tuple[float, float],
    *,
    centre: float,
    margin: float,
    kappa: float,
    weighted: bool,
    gradient: Vector,
) -> RiskValue:
    """Weighted mean of the Huber hinge of ``margin - (f_i - f_j)`` over pairs, the hinge itself for ``kappa = 0``.

    Parameters
    ----------
    blocks : Blocks
        Of :class:`~smoothperf.kernels.pair_sums.PairBlock`.
    counts, mass : pairs
        Numbers of the positives and negatives that make the pairs, and their weights to divide by.
    centre : float
        About the mean of the scores: centring keeps the sums of squares small.
    gradient : vector
        Filled at these rows, and nowhere else.
    """
    # A pair is violated by z - a, where a = f_i sorted and z = margin + f_j; or, when there are fewer negatives,
    # a = -f_j sorted and z = margin - f_i.
    small, large = (0, 1) if counts[0] <= counts[1] else (1, 0)
    pairs = mass[0] * mass[1]
    frame = Frame(small, centre, margin, kappa, (1.0 if small == 0 else -1.0) / pairs)
    sums = pair_ramps(blocks, scores, frame, gradient)
    # Rounding (docs/maths.md). A slope is a difference of two ramps divided by kappa. Ramps are at most ``reach`` long;
    # they are summed in long double and stored in double. The bins hold up to ``crowd`` terms each, summed in double:
    # their weight, which is a whole number without sample weights, and an ``excess`` whose mean is small where scores
    # are dense.
    crowd = float(counts[large]) if weighted else sums.crowd  # a weight does not tell the number of terms
    sums_rounding = 4 * blocks.vectors.length * LONG_EPS
    bins_rounding = 2 * crowd * EPS if weighted else 0.0
    rounding = 256 * EPS + sums_rounding + bins_rounding
    if kappa > 0.0:
        mean_excess = sums.excess / mass[large]
        rounding += (
            (16 * EPS + sums_rounding + bins_rounding) * sums.reach + 2 * (crowd + 2) * EPS * mean_excess
        ) / kappa
    return RiskValue(
        sums.value / pairs,
        gradient,
        margin * sums.slopes / pairs,
        sums.height / pairs,
        rounding,
        ceiling=sums.hinges / pairs,
        looseness=0.0,
    )


class ROCAreaBlock(PairBlock, BinBlock, RiskBlock):
    """The rows of a :class:`ROCAreaRisk`, or some of them."""

    def __init__(self, positive: NDArray[np.bool_], weights: Array | None):
        RiskBlock.__init__(self, positive, weights)
        self.rows = np.flatnonzero(positive), np.flatnonzero(~positive)

    def overview(self, scores: Array, with_sum: bool) -> tuple[float, float, float]:
        """Lowest and highest score, and their weighted sum if it is wanted."""
        return *self.extremes(scores), self.weighted_sum(scores) if with_sum else math.nan

    def sorted_classes(self, scores: Array) -> tuple[Array, Array]:
        """Scores of the positives and of the negatives, sorted."""
        return np.sort(scores[self.rows[0]]), np.sort(scores[self.rows[1]])


class ROCAreaRisk(BlockRisk):
    """The risk (roc-risk) for given labels and weights; made by :meth:`ROCArea.bind`.

    Parameters
    ----------
    blocks : Blocks
        Of :class:`ROCAreaBlock`.
    """

    shift_invariant: ClassVar[bool] = True

    def __init__(self, blocks: Blocks):
        super().__init__(blocks)
        totals = self._totals
        self._counts = totals.positives, totals.rows - totals.positives
        self._mass = totals.positive_weight, totals.negative_weight
        self._pairs = self._mass[0] * self._mass[1]
        self.diameter = self._pairs / 2.0

    def exact(self, scores: Vector) -> RiskValue:
        """``R`` and a subgradient, O(n log n_min)."""
        return self._hinges(scores, margin=1.0, kappa=0.0)

    def loss_free(self, scores: Vector) -> RiskValue:
        """``R0`` and its gradient: the hinge without its margin, of the pairs in the wrong order."""
        return self._hinges(scores, margin=0.0, kappa=0.0)

    def exact_value(self, scores: Vector) -> float:
        """``R``; for unit weights and rows in memory by a sweep over both classes, sorted."""
        if self._blocks.far or self._totals.weighted:
            return self.exact(scores).value
        ((positives, negatives),) = self._blocks.each("sorted_classes", scores)
        return sorted_hinges(positives, 1.0 + negatives) / self._pairs

    def smoothed(self, scores: Vector, mu: float, hint: Any = None, direction: Vector | None = None) -> RiskValue:
        """``R_mu`` and its gradient: O(n) by bins where these pay, else O(n log n_min). A hint is a span nearby."""
        return self._smoothed_hinges(scores, margin=1.0, kappa=mu * self._pairs, near=hint, direction=direction)

    def lipschitz(self, mu: float) -> float:
        """``N / (kappa M)``: the Hessian is 1 / (kappa M) times the Laplacian of the active pairs, at most N."""
        return sum(self._mass) / (mu * self._pairs**2)

    def _smoothed_hinges(
        self,
        scores: Vector,
        *,
        margin: float,
        kappa: float,
        near: Span | None = None,
        direction: Vector | None = None,
    ) -> RiskValue:
        """Mean over pairs of the Huber hinge, by bins unless they would be too many for the number of examples."""
        span: Span | None = None
        if near is not None:
            # Nearby scores have nearly the same span: mostly no look for the extremes is needed.
            guess = near.widened(SPARE)
            per_ramp = self._bins_per_ramp(guess, margin, kappa)
            if per_ramp > 0:
                span, value = self._binned_hinges(scores, margin, kappa, per_ramp, guess, direction)
                if value is not None:
                    return value
        centre = None
        if span is None:
            # Where a round costs something, the sum comes along in case that the mean will be needed.
            with_sum = self._blocks.far
            lows, highs, sums = zip(*self._blocks.each("overview", scores, with_sum), strict=True)
            span = Span.of(zip(lows, highs, strict=True))
            centre = math.fsum(sums) / self._totals.weight if with_sum else None
        per_ramp = self._bins_per_ramp(span, margin, kappa)
        if per_ramp > 0:
            _, value = self._binned_hinges(scores, margin, kappa, per_ramp, span, direction)
            assert value is not None
            return value
        return self._hinges(scores, margin=margin, kappa=kappa, centre=centre)

    def _bins_per_ramp(self, span: Span, margin: float, kappa: float) -> int:
        """How many bins a ramp has; 0 if bins do not pay."""
        ramps = (span.length + abs(margin)) / kappa
        most = min(self.n_examples / BIN_COST, max(LARGE_TABLE, BINS_PER_EXAMPLE * min(self._counts)))
        affordable = most / ramps
        # (Not the other way round: NaN is no number of bins.)
        if self.n_examples < LEAST_EXAMPLES or not (affordable >= FEWEST_BINS and ramps * LONGEST_RAMP >= 1.0):
            return 0
        # A ramp that is longer than the span of the scores has more bins, so that they still tell scores apart.
        return int(min(affordable, MOST_BINS / min(ramps, 1.0)))

    def _binned_hinges(
        self, scores: Vector, margin: float, kappa: float, per_ramp: int, span: Span, direction: Vector | None
    ) -> tuple[Span, RiskValue | None]:
        """What the scores lie between, and the value if that is within the span."""
        gradient = self._blocks.vectors.take()
        found, sums = binned_pairs(
            self._blocks, scores, margin, kappa, per_ramp, span, 1.0 / self._pairs, direction, gradient
        )
        if sums is None:
            return found, None
        offset = margin * sums.slopes / self._pairs
        height = offset + sums.inner
        reach = span.length + abs(margin)
        # A beta that is not exact loses at most h^2 / (6 kappa) of the maximum that R_mu is (bin-loss).
        error = kappa / (6.0 * per_ramp**2) * sums.cornered / self._pairs
        return found, RiskValue(
            height - kappa / 2.0 * sums.squares / self._pairs,
            gradient,
            offset,
            height,
            self._binned_rounding(kappa, reach, per_ramp * reach / kappa, sums.crowd),
            ceiling=sums.ceiling / self._pairs,
            # A chord of the hinge over two widths of a bin.
            looseness=kappa / (2.0 * per_ramp) * sums.cornered / self._pairs,
            error=error,
            hint=found,
            gradient_norm=math.sqrt(sums.gradient_squares),
            derivative=math.nan if direction is None else sums.along,
        )

    def _binned_rounding(self, kappa: float, reach: float, bins: float, crowd: float) -> float:
        """Rounding bound (bins-rounding) of a plane that came from bins, with a surplus."""
        shared = 2048 * EPS + 4 * (bins + crowd) * EPS + 4 * self.n_examples * LONG_EPS
        return shared + 16 * EPS * reach / kappa

    def _hinges(self, scores: Vector, *, margin: float, kappa: float, centre: float | None = None) -> RiskValue:
        """Mean over pairs of the (Huber) hinge of ``margin - (f_i - f_j)``."""
        return mean_over_pairs(
            self._blocks,
            scores,
            self._counts,
            self._mass,
            centre=self._mean(scores) if centre is None else centre,
            margin=margin,
            kappa=kappa,
            weighted=self._totals.weighted,
            gradient=self._blocks.vectors.take(),
        )


class PrintedROCAreaRisk(ROCAreaRisk):
    """Equation (3) as the paper prints it: ``max(d, 1 - d) = 1/2 + max(0, d - 1/2) + max(0, 1/2 - d)`` per pair.

    Both hinges are those of :class:`ROCAreaRisk` with margins 1/2 and -1/2, the second on the negated scores. For
    reproduction only: it pulls every pair to the margin 1/2 instead of rewarding a larger one.
    """

    has_loss_free: ClassVar[bool] = False

    def loss_free(self, scores: Vector) -> RiskValue:
        """Not for this one."""
        return Risk.loss_free(self, scores)

    def exact(self, scores: Vector) -> RiskValue:
        """``R`` as printed, and a subgradient."""
        return self._two_sided(scores, kappa=0.0)

    def exact_value(self, scores: Vector) -> float:
        """``R`` as printed; the gradient is a by-product."""
        return self.exact(scores).value

    def smoothed(self, scores: Vector, mu: float, hint: Any = None, direction: Vector | None = None) -> RiskValue:
        """``R_mu`` of the printed form: ``beta_ij`` in [-1, 1] as in the paper's section 3.2."""
        return self._two_sided(scores, kappa=mu * self._pairs)

    def _two_sided(self, scores: Vector, *, kappa: float) -> RiskValue:
        vectors = self._blocks.vectors
        below = self._hinges(scores, margin=0.5, kappa=kappa)
        above = self._hinges(vectors.along(scores, -2.0, scores), margin=-0.5, kappa=kappa)
        return RiskValue(
            0.5 + below.value + above.value,
            vectors.along(below.gradient, -1.0, above.gradient),
            0.5 + below.offset + above.offset,
            0.5 + below.height + above.height,
            below.rounding + above.rounding,
            ceiling=0.5 + below.ceiling + above.ceiling,
        )


@dataclass(frozen=True)
class ROCArea(Measure):
    """Area under the ROC curve: how often a positive scores above a negative.

    Parameters
    ----------
    as_printed : bool, default=False
        Train with equation (3) of the paper as it is printed, for reproduction only (docs/maths.md says what is
        wrong with it).

    Examples
    --------
    >>> from smoothperf import ROCArea
    >>> ROCArea().score([1, 1, -1, -1], [0.9, 0.3, 0.5, 0.1])
    0.75
    >>> import numpy as np
    >>> round(ROCArea().bind([1, 1, -1, -1]).exact(np.array([0.9, 0.3, 0.5, 0.1])).value, 6)
    0.7
    """

    as_printed: bool = False
    name: ClassVar[str] = "roc_area"

    def block(self, positive: NDArray[np.bool_], weights: Array | None) -> ROCAreaBlock:
        """Return the part of the risk that has some of the rows."""
        return ROCAreaBlock(positive, weights)

    def bind_blocks(self, blocks: Blocks) -> ROCAreaRisk:
        """Return the convex risk (roc-risk) for blocks of rows."""
        return (PrintedROCAreaRisk if self.as_printed else ROCAreaRisk)(blocks)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Area under the ROC curve; a tied pair counts one half."""
        positive = binary_labels(y)
        f = vector("scores", scores, length=positive.shape[0])
        weights = weights_of(sample_weight, positive)
        above, below = f[positive], f[~positive]
        if weights is None:
            above.sort()
            below.sort()
            ordered = sum(int(np.searchsorted(below, above, side).sum()) for side in ("left", "right"))
            return ordered / (2 * above.size * below.size)
        order = np.argsort(below)
        below = below[order]
        lighter = np.append(0.0, np.cumsum(weights[~positive][order]))
        ordered_weights = sum(lighter[np.searchsorted(below, above, side)] for side in ("left", "right"))
        return float(weights[positive] @ ordered_weights / (2.0 * weights[positive].sum() * lighter[-1]))
