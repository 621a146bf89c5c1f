r"""Linear-fractional measures: F-beta and the Jaccard index.

A *flip* ``beta`` in [0, 1]^n says how much of each example is on the wrong side. With weights ``c`` (ones without
sample weights), total N and positive weight N+, ``B`` the flipped weight of the positives (missed) and ``C`` that of
the negatives (false), one less the measure is

    delta(B, C) = (p B + C) / (M - r B + C)                                                  (fractional-loss)

    F-beta, q = beta^2     p = q,  r = 1,  M = (1 + q) N+
    Jaccard                p = 1,  r = 0,  M = N+

and with the margins ``x = y f``

    R(f)    = max over beta of  delta(B, C) - (2/N) sum_i c_i x_i beta_i                      (fractional-risk)

With unit weights that is the maximum over labelings, except that of one negative example a fraction may be flipped,
which raises it by no more than a small multiple of ``1/N+^2`` (docs/maths.md, eq. labelings). For a fixed level t the
set ``delta >= t`` is a half-space of (B, C), so the best flips on it are found with one multiplier, smoothed or not.
Over a grid of levels

    V_mu(t) = max { sum_i c_i (-(2/N) x_i beta_i - (mu/2) (beta_i - 1/2)^2) : delta(B, C) >= t }
    R_mu(f) = nu log mean_k exp((t_k + V_mu(t_k)) / nu),     t_k = k/K,  k = 0, ..., K        (fractional-smoothed)

with nu and K a function of mu N. After a sort of the margins of each class, everything takes O(log n) for each level
that matters, and one pass for the gradient.

The paper names the F-measure as future work; SVM-perf and BMRM search all pairs (B, C).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validation import binary_labels, positive_number, vector, weights_of
from ..blocks import Blocks, LocalVectors, OneBlock, Vector
from ..kernels._fractional import flip_exact, flip_smoothed
from ..kernels.fractional_flips import FractionalLoss
from ..kernels.fractional_search import (
    FoundFlips,
    Question,
    Search,
    SortedMargins,
    Summaries,
    groups_of_a_block,
    search_best,
    search_smoothed,
)
from ..kernels.fractional_summary import Window
from ..recycling import Recycler
from .base import EPS, LONG_EPS, Array, Measure, RiskValue
from .cuts import Cuts
from .best_cut import CutBlock, best_cut
from .in_blocks import BlockRisk
from .row_block import RiskBlock, Totals

#: What the levels may cost of ``mu D``, relative to what the squares cost.
LEVELS_SHARE = 0.5
#: The grid's step is at most this part of what the levels may cost; the rest is for the soft maximum.
STEP_SHARE = 0.5
#: Fewest levels, and the logarithm to base 2 of the most: a finer grid would be a matter of rounding.
FEWEST_LEVELS, MOST_DOUBLINGS = 64, 44


class FractionalBlock(CutBlock, RiskBlock):
    """The rows of a risk that are in one place: labels, weights, and their margins, sorted.

    Parameters
    ----------
    positive : ndarray of bool
        The labels.
    weights : ndarray of float64 or None
        The sample weights; None for ones.
    """

    def __init__(self, positive: NDArray[np.bool_], weights: Array | None):
        RiskBlock.__init__(self, positive, weights)
        self._positive = positive.view(np.uint8)
        self._rows = np.flatnonzero(positive), np.flatnonzero(~positive)
        self._ordered = (None, None) if weights is None else (weights[self._rows[0]], weights[self._rows[1]])
        self._memory = Recycler(3 * positive.size + 4)
        self._margins: SortedMargins | None = None

    def sample_weight(self) -> Array | None:
        """The weights of the rows."""
        return self.weights

    def sort(self, scores: Array, most: int | None) -> tuple[Any, Any]:
        """Sort the margins, which questions are about from now on.

        Returns both sides: at most so many groups of each, or, with None, the sorted margins themselves.
        """
        self._margins = None  # its memory is used again
        self._margins = SortedMargins(scores, self._rows, self._ordered, self._memory)
        return self._margins.sides if most is None else self._margins.groups((Window(), Window()), most)

    def answer(self, questions: list[Question]) -> list[Any]:
        """Answers to questions about the sorted margins; see :class:`~smoothperf.kernels.fractional_search.Search`."""
        return [getattr(self._margins, method)(*arguments) for method, *arguments in questions]

    def flip_exact(self, scores: Array, cuts: Array, shares: Array, slope: float, gradient: Array) -> float:
        """Fill in the gradient of flips below thresholds; returns ``sum c x beta``."""
        return flip_exact(scores, self._positive, self.weights, cuts, shares, slope, gradient)

    def flip_smoothed(self, scores: Array, tables: tuple[Array, Array], slope: float, gradient: Array) -> float:
        """Fill in the gradient of flips along ramps; returns ``sum c x beta``."""
        return flip_smoothed(scores, self._positive, self.weights, *tables, slope, gradient)


class FractionalRisk(BlockRisk):
    """The risk (fractional-risk) of rows in blocks; made by :meth:`FBeta.bind` and :meth:`Jaccard.bind`."""

    shift_invariant: ClassVar[bool] = False

    def __init__(self, blocks: Blocks, p: float, r: float):
        super().__init__(blocks)
        totals = self._totals
        self._total = totals.weight
        self._loss = FractionalLoss(p, r, (p + r) * totals.positive_weight)
        self._slope = 2.0 / self._total
        self.score_scale = self._total / (2.0 * totals.positive_weight)
        self._groups = groups_of_a_block(self._n_blocks)
        [self.weights] = [None] if blocks.far else blocks.each("sample_weight")
        self.diameter = (1.0 + LEVELS_SHARE) * self._total / 8.0
        # Relative errors of B and C change delta by at most this much (docs/maths.md, rounding).
        self._rounding = (64 * EPS + 4 * self.n_examples * LONG_EPS) * (2.0 + r / p)

    def exact(self, scores: Vector) -> RiskValue:
        """``R`` and a subgradient: two sorts, a search and a pass."""
        found = self._best(scores)
        gradient = self._blocks.vectors.take()
        inner = math.fsum(self._blocks.each("flip_exact", scores, *found.cuts(), self._slope, gradient))
        offset = self._loss.at(found.flips.missed, found.flips.false)
        value = offset - self._slope * inner
        return RiskValue(value, gradient, offset, value, self._rounding)

    def loss_free(self, scores: Vector) -> RiskValue:
        """``R0`` and its gradient: examples on the wrong side of 0 are flipped. One pass."""
        gradient = self._blocks.vectors.take()
        sums = self._blocks.each("flip_exact", scores, np.zeros(2), np.zeros(2), self._slope, gradient)
        value = -self._slope * math.fsum(sums)
        return RiskValue(value, gradient, 0.0, value, self._rounding)

    def exact_value(self, scores: Vector) -> float:
        """``R``: two sorts and a search."""
        return self._best(scores).flips.value

    def smoothed(self, scores: Vector, mu: float, hint: Any = None, direction: Vector | None = None) -> RiskValue:
        """``R_mu`` and its gradient: two sorts, searches and a pass. ``hint`` is not used."""
        width = mu * self._total / 2.0
        count, nu = levels(LEVELS_SHARE * width / 4.0)
        summaries = self._sorted(scores)
        best, flips = self._found(
            search_best(summaries, self._loss, self._slope, self._groups),
            search_smoothed(summaries, self._loss, self._slope, width, nu, count, self._groups),
        )
        gradient = self._blocks.vectors.take()
        inner = math.fsum(self._blocks.complete("flip_smoothed", scores, flips.tables, self._slope, gradient))
        # Of beta, whose ramps begin and end at rounded knots; it enters sums with a total weight of 2.
        ramps = (16 * EPS + 16 * flips.levels * LONG_EPS) * (1.0 + flips.reach / width)
        return RiskValue(
            flips.value - width / 4.0,
            gradient,
            flips.offset,
            flips.offset - self._slope * inner,
            self._rounding + flips.wobble + ramps,
            ceiling=best.flips.value,
            looseness=0.0,
            error=flips.error,
        )

    def lipschitz(self, mu: float) -> float:
        """``(4/N^2) (1/mu + N/(4 nu))``: of the best flips of a level, and of the shares of the levels."""
        _, nu = levels(LEVELS_SHARE * mu * self._total / 8.0)
        return self._slope**2 * (1.0 / mu + self._total / (4.0 * nu))

    def _sorted(self, scores: Vector) -> Summaries:
        return Summaries.of(self._blocks.each("sort", scores, self._groups if self._blocks.far else None))

    def _best(self, scores: Vector) -> FoundFlips:
        found: FoundFlips
        [found] = self._found(search_best(self._sorted(scores), self._loss, self._slope, self._groups))
        return found

    def _found(self, *searches: Search[Any]) -> list[Any]:
        """What searches find, which share rounds of questions."""
        found: list[Any] = [None] * len(searches)
        answers: dict[int, list[Any] | None] = dict.fromkeys(range(len(searches)))
        while answers:
            questions = {}
            for i, answer in answers.items():
                try:
                    questions[i] = searches[i].send(answer) if answer is not None else next(searches[i])
                except StopIteration as end:
                    found[i] = end.value
            replies = self._blocks.each("answer", list(questions.values())) if questions else []
            answers = {i: [reply[place] for reply in replies] for place, i in enumerate(questions)}
        return found


def levels(deviation: float) -> tuple[int, float]:
    """Number K of levels, a power of 2, and nu, so that the step and the soft maximum cost no more than a deviation.

    Examples
    --------
    >>> count, nu = levels(0.01)
    >>> count, round(float(1 / count + nu * np.log(count + 1)), 12)
    (256, 0.01)
    """
    doublings = math.ceil(-math.log2(min(STEP_SHARE * deviation, 1.0)))
    count = max(FEWEST_LEVELS, 1 << min(doublings, MOST_DOUBLINGS))
    return count, max(deviation - 1.0 / count, deviation * (1.0 - STEP_SHARE)) / math.log(count + 1)


class FractionalMeasure(Measure):
    """What F-beta and the Jaccard index share: a linear-fractional loss of missed and false positives."""

    fits_bias: ClassVar[bool] = True

    @property
    @abstractmethod
    def _coefficients(self) -> tuple[float, float]:
        """``p`` and ``r`` of (fractional-loss)."""

    def bind(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> FractionalRisk:
        """Return the convex risk (fractional-risk) for given labels; see :meth:`Measure.bind`."""
        positive = binary_labels(y)
        block = self.block(positive, weights_of(sample_weight, positive))
        return self.bind_blocks(OneBlock(block, LocalVectors(positive.size)))

    def block(self, positive: NDArray[np.bool_], weights: Array | None) -> FractionalBlock:
        """Return the part of a risk that has some of the rows; see :meth:`Measure.block`."""
        return FractionalBlock(positive, weights)

    def bind_blocks(self, blocks: Blocks) -> FractionalRisk:
        """Return the risk of rows in blocks; see :meth:`Measure.bind_blocks`."""
        return FractionalRisk(blocks, *self._coefficients)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the measure of the predictions ``scores > 0``."""
        positive = binary_labels(y)
        f = vector("scores", scores, length=positive.shape[0])
        weights = weights_of(sample_weight, positive)
        c = np.ones(f.shape[0]) if weights is None else weights
        predicted = f > 0.0
        hits, false = float(c[predicted & positive].sum()), float(c[predicted & ~positive].sum())
        return float(self.of_counts(hits, false, float(c[positive].sum())))

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return where to cut these scores so that the measure is highest; of equally good cuts the lowest."""
        positive = binary_labels(y)
        f = vector("scores", scores, length=positive.shape[0])
        weights = weights_of(sample_weight, positive)
        cuts = Cuts(f)
        c = np.ones(f.shape[0]) if weights is None else weights
        hits, false = cuts.above(c * positive), cuts.above(c * ~positive)
        return cuts.threshold(int(self.of_counts(hits, false, float(c[positive].sum())).argmax()))

    def threshold_of_blocks(self, blocks: Blocks, scores: Vector) -> float:
        """Return :meth:`threshold` for rows in blocks, which :meth:`block` has made."""
        positives = Totals.of(blocks.each("totals")).positive_weight
        return best_cut(blocks, scores, lambda hits, false: self.of_counts(hits, false, positives))

    def of_counts(self, hits: Any, false: Any, positives: float) -> Any:
        """``1 - delta``, from the weights of true and of false positives: numbers or arrays."""
        p, r = self._coefficients
        return (p + r) * hits / (p * positives + r * hits + false)


@dataclass(frozen=True)
class FBeta(FractionalMeasure):
    """Weighted harmonic mean of precision and recall, of the examples with a score above 0.

    Parameters
    ----------
    beta : float, default=1.0
        How many times as important recall is as precision.

    Examples
    --------
    >>> from smoothperf import FBeta
    >>> y, scores = [1, 1, -1, -1, -1], [0.9, -0.2, 0.7, -0.1, -0.5]
    >>> FBeta().score(y, scores)
    0.5
    >>> FBeta().threshold(y, scores)
    -0.35
    >>> FBeta(beta=2).name
    'f2'
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", positive_number("beta", self.beta, hint="F1 has beta=1."))

    @property
    def name(self) -> str:
        """``f`` and the beta."""
        return f"f{self.beta:g}"

    @property
    def _coefficients(self) -> tuple[float, float]:
        return self.beta**2, 1.0


@dataclass(frozen=True)
class Jaccard(FractionalMeasure):
    """Jaccard index of the positives and of the examples with a score above 0: their intersection over their union.

    Examples
    --------
    >>> from smoothperf import Jaccard
    >>> Jaccard().score([1, 1, -1, -1, -1], [0.9, 0.2, 0.7, -0.1, -0.5])
    0.6666666666666666
    """

    @property
    def name(self) -> str:
        """The name that :func:`~smoothperf.measures.get_measure` knows."""
        return "jaccard"

    @property
    def _coefficients(self) -> tuple[float, float]:
        return 1.0, 0.0
