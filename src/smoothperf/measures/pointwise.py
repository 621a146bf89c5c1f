r"""Error rate, balanced error rate and class costs: measures in which every example counts by itself.

With weights ``c``, costs of the two classes, ``q_i = c_i cost(y_i)`` and ``Q = sum q``,

    R(f)    = (1/Q) sum_i q_i max(0, 1 - 2 y_i f_i)                                          (error-risk)
    R_mu(f) = (1/Q) sum_i q_i H(1 - 2 y_i f_i)                                             (error-smoothed)

H is the Huber hinge of width ``kappa = mu Q``. The prox-function is half the sum of ``q_i beta_i^2``, so ``D = Q/2``
and ``R - kappa/2 <= R_mu <= R``. One pass over the scores, O(n) (:mod:`smoothperf.kernels._pointwise`).

This is the structural risk of a loss that is a sum over examples: each of them decides for itself whether its label is
flipped. The margin is 1/2, so it is the risk of an ordinary support vector machine at twice the scores: with unit
costs, ``C = 4 / (alpha n)`` in scikit-learn's ``LinearSVC(loss="hinge")`` gives twice the weights. These measures cut
at score 0, so a bias is fitted with the weights.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .. import threads
from .._arrays import Array
from .._validation import positive_number
from ..cuts.steady import steady_cut
from ..cuts.threshold_search import Ordering
from ..kernels import pointwise_hinges
from .base import Measure
from .curvature import Curvature
from .examples import Examples
from .risk import EPS, LONG_EPS, Interval, Plane, Risk, RiskValue

#: Rows for which a thread pays.
LEAST_ROWS = 1 << 16


class PointwiseRisk(Risk):
    """The risk (error-risk) for given labels, weights and costs; made by :meth:`ErrorRate.risk`.

    Parameters
    ----------
    examples : Examples
        Labels and weights.
    positive_cost, negative_cost : float
        Costs of a missed positive, and of a negative that is taken for a positive.
    """

    examples: Examples
    shift_invariant: ClassVar[bool] = False
    sums_over_examples: ClassVar[bool] = True

    def __init__(self, examples: Examples, positive_cost: float = 1.0, negative_cost: float = 1.0):
        super().__init__(examples)
        self.has_curvature = examples.alone
        self._costs = positive_cost, negative_cost
        self._total = positive_cost * examples.positive_weight + negative_cost * examples.negative_weight
        # Of sums blocked by 512, relative to Q, with a surplus for those over members; docs/maths.md, rounding.
        self._rounding = 1024 * EPS + examples.count * LONG_EPS
        self.diameter = self._total / 2.0

    def exact(self, scores: Array) -> RiskValue:
        """``R`` and a subgradient, O(n)."""
        return self._hinges(scores, margin=1.0)

    def loss_free(self, scores: Array) -> RiskValue:
        """``R0`` and its gradient: every example goes where its score is. O(n)."""
        return self._hinges(scores, margin=0.0)

    def exact_value(self, scores: Array) -> float:
        """``R``: the mean hinge. O(n)."""
        x = np.where(self.examples.positive, -2.0, 2.0) * scores
        x += 1.0
        np.maximum(x, 0.0, out=x)
        (hinges,) = self.examples.total(float(self._weighted_costs() @ x))
        return hinges / self._total

    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """``R_mu`` and its gradient: the mean Huber hinge, O(n). ``hint`` is not used."""
        gradient = np.empty_like(scores) if out is None else out
        kappa, scale = mu * self._total, 2.0 / self._total
        pieces = threads.pieces(scores.shape[0], least=LEAST_ROWS)
        label = self.examples.positive.view(np.uint8)
        sums = pointwise_hinges(scores, label, self.examples.weights, *self._costs, kappa, scale, gradient, pieces)
        along = 0.0 if direction is None else float(gradient @ direction)
        slopes, squares, hinges, inner, along = self.examples.total(*sums, along)
        offset, exact = slopes / self._total, hinges / self._total
        height = offset + inner
        return RiskValue(
            Plane(gradient, offset, self._rounding),
            height - mu / 2.0 * squares,
            height,
            exact=Interval(exact, exact),
            derivative=None if direction is None else along,
        )

    def lipschitz(self, mu: float) -> float:
        """``4 cost / (Q^2 mu)`` with the larger cost: the Hessian is diagonal."""
        return 4.0 * max(self._costs) / (self._total**2 * mu)

    def curvature(self, scores: Array, smoothed: RiskValue, mu: float, following: float) -> Curvature:
        """``4 q_i / (Q^2 mu)`` for the examples on the ramp of the Huber hinge, for the mu to follow; O(n)."""
        if not self.has_curvature:
            return super().curvature(scores, smoothed, mu, following)
        q, gradient = self._weighted_costs(), smoothed.plane.gradient
        # The gradient beyond the ramp is 2 q_i / Q up to its rounding.
        rows = np.flatnonzero((gradient != 0.0) & (np.abs(gradient) < (1.0 - 4.0 * EPS) * 2.0 / self._total * q))
        weights = 4.0 / (self._total**2 * following) * q[rows]
        return Curvature(rows, weights, (mu / following - 1.0) * gradient[rows], centred=False)

    def _hinges(self, scores: Array, *, margin: float) -> RiskValue:
        """Mean of ``max(0, margin - 2 y f)``."""
        y = np.where(self.examples.positive, 1.0, -1.0)
        x = margin - 2.0 * y * scores
        flips = np.where(x > 0.0, self._weighted_costs(), 0.0)
        hinges, flipped = self.examples.total(float(flips @ x), float(flips.sum()))
        value = hinges / self._total
        plane = Plane(-2.0 / self._total * y * flips, margin * flipped / self._total, self._rounding)
        return RiskValue(plane, value, value)

    def _weighted_costs(self) -> Array:
        q = np.where(self.examples.positive, *self._costs)
        return q if self.examples.weights is None else q * self.examples.weights


class CostMeasure(Measure):
    """Base of error rate and balanced error rate: costs of the errors of each class."""

    fits_bias: ClassVar[bool] = True

    @abstractmethod
    def _costs(self, examples: Examples) -> tuple[float, float]:
        """Of a missed positive, and of a negative that is taken for a positive."""

    def score_of(self, examples: Examples, scores: Array) -> float:
        """1 less the costs of "positive where the score is above 0", as a share of those of being wrong everywhere."""
        of_positives, of_negatives = self._costs(examples)
        positive, above = examples.positive, scores > 0.0
        right = of_positives * examples.here(positive & above) + of_negatives * examples.here(~positive & ~above)
        return right / (of_positives * examples.positive_weight + of_negatives * examples.negative_weight)

    def tuned_cut(self, examples: Examples, scores: Array) -> float:
        """Return where to cut scores: amid the cuts with almost the lowest costs."""
        of_positives, of_negatives = self._costs(examples)
        of_all = of_positives * examples.positive_weight

        def loss(hits: Array, false: Array) -> Array:
            return of_all - of_positives * hits + of_negatives * false

        return steady_cut(examples.version(Ordering)(scores, examples.weights), examples.positive, loss)


@dataclass(frozen=True)
class ErrorRate(CostMeasure):
    """Share of the examples that are on the right side, with costs of the two kinds of error.

    The *score* is 1 less the error rate, the accuracy, so that higher is better. With costs it is 1 less the costs of
    the errors as a share of what it would cost to be wrong everywhere; only the ratio of the costs matters.

    Parameters
    ----------
    positive_cost, negative_cost : float, default=1.0
        Costs of a missed positive, and of a negative that is taken for a positive.

    Examples
    --------
    >>> from smoothperf import ErrorRate
    >>> y, scores = [1, 1, -1, -1], [0.9, -0.3, -0.5, -0.1]
    >>> ErrorRate().score(y, scores)
    0.75
    >>> ErrorRate(positive_cost=4.0).score(y, scores)
    0.6
    """

    positive_cost: float = 1.0
    negative_cost: float = 1.0

    def __post_init__(self) -> None:
        positive_number("positive_cost", self.positive_cost)
        positive_number("negative_cost", self.negative_cost)

    @property
    def name(self) -> str:
        """``error_rate``, with costs ``error_rate@4:1``."""
        costs = f"@{self.positive_cost:.15g}:{self.negative_cost:.15g}"
        return "error_rate" if self.positive_cost == self.negative_cost else f"error_rate{costs}"

    def risk(self, examples: Examples) -> PointwiseRisk:
        """Return the convex risk (error-risk)."""
        return PointwiseRisk(examples, *self._costs(examples))

    def _costs(self, examples: Examples) -> tuple[float, float]:
        return float(self.positive_cost), float(self.negative_cost)


@dataclass(frozen=True)
class BalancedErrorRate(CostMeasure):
    """Mean of the shares of the positives and of the negatives that are on the right side.

    The *score* is 1 less the balanced error rate, which is called balanced accuracy: higher is better.

    Examples
    --------
    >>> from smoothperf import BalancedErrorRate
    >>> BalancedErrorRate().score([1, -1, -1, -1, -1], [-0.5, -1.0, -1.0, -1.0, 0.5])
    0.375
    """

    name: ClassVar[str] = "balanced_error_rate"

    def risk(self, examples: Examples) -> PointwiseRisk:
        """Return the convex risk (error-risk), with costs that make the classes count the same."""
        half = examples.weight / 2.0
        return PointwiseRisk(examples, half / examples.positive_weight, half / examples.negative_weight)

    def _costs(self, examples: Examples) -> tuple[float, float]:
        return 1.0 / examples.positive_weight, 1.0 / examples.negative_weight
