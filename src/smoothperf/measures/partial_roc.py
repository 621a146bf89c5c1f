r"""Partial ROC area: how high the ROC curve is where few negatives are taken for positives.

Only the negatives with the highest scores count, up to the weight ``K = max_fpr N-``. With ``z_j`` in [0, 1] the share
in which a negative is one of them, ``sum_j c_j z_j = K``,

    R(f) = max_z (1 / (N+ K)) sum_{i in P, j in N} c_i c_j z_j max(0, 1 - (f_i - f_j))                (partial-risk)

For fixed z it is convex, and it is largest for the top-scoring negatives, whose hinges are. Smoothed twice, with
``kappa = mu N+ K``: the hinges become Huber hinges H of width kappa, and z pays for leaving its mean ``p = K / N-``,

    R_mu(f) = max_z (1/K) sum_j c_j z_j h_j - (mu N+ / 2) sum_j c_j (z_j - p)^2                     (partial-smoothed)
    h_j     = (1/N+) sum_i c_i H(1 - (f_i - f_j))

so ``z_j = clip(p + h_j / kappa - tau, 0, 1)``: the ramp of z is as wide as that of the pairs. The deviation is at most
``kappa/2 + kappa (1 - p)/2``, so ``D = N+ K (2 - p) / 2``. Steps: sort the positives and look up ``h_j`` for every
negative; project onto the capped simplex; sum over the pairs of positives and those negatives with ``z_j > 0``, of
weight ``c_j z_j``: O(n log n) in all. For ``max_fpr = 1`` it is the risk of :class:`~smoothperf.ROCArea`.

In a group every member is given the scores of all positives, with which it looks up the ``h_j`` of its own negatives;
projection and pairs are sums, as those of PRBEP and ROC area are (:mod:`.projection_group`, :mod:`.pairs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arrays import Array
from .._validation import positive_number
from ..cuts.sorted_scores import SortedScores, partial_roc_area
from ..cuts.threshold_search import Ordering
from ..kernels import huber_sums
from .base import Measure
from .examples import Examples
from .pairs import Pairs, mean_over_pairs, sorted_scores
from .projection import CappedSimplex, Projection, Roots
from .risk import EPS, Plane, Risk, RiskValue
from .roc_area import ROCArea


class PartialROCAreaRisk(Risk):
    """The risk (partial-risk) for given labels and weights; made by :meth:`PartialROCArea.risk`.

    Parameters
    ----------
    examples : Examples
        Labels and weights.
    max_fpr : float
        Below 1.
    """

    examples: Examples
    shift_invariant: ClassVar[bool] = True

    def __init__(self, examples: Examples, max_fpr: float):
        super().__init__(examples)
        positive, weights = examples.positive, examples.weights
        self._rows = np.flatnonzero(positive), np.flatnonzero(~positive)
        self._weight = np.ones(examples.here_count) if weights is None else weights
        negative_weight = None if weights is None else weights[self._rows[1]]
        nobody = np.zeros(self._rows[1].size, dtype=bool)
        self._negatives = examples.others(nobody, negative_weight)
        self._share = max_fpr
        self._mass = examples.positive_weight, max_fpr * examples.negative_weight
        self._simplex = CappedSimplex(self._negatives, self._mass[1], 1.0 / self._mass[1], 0.0, (max_fpr, max_fpr))
        self._pairs = self._mass[0] * self._mass[1]
        self.diameter = self._pairs * (1.0 + (1.0 - max_fpr)) / 2.0

    def exact(self, scores: Array) -> RiskValue:
        """``R`` and a subgradient: the negatives with the highest scores, and their pairs; O(n log n)."""
        return self._pairs_with(scores, self._highest_negatives(scores), margin=1.0, kappa=0.0)

    def loss_free(self, scores: Array) -> RiskValue:
        """``R0`` and its gradient: the hinge without its margin, of the pairs with the highest negatives."""
        return self._pairs_with(scores, self._highest_negatives(scores), margin=0.0, kappa=0.0)

    def exact_value(self, scores: Array) -> float:
        """``R``; the gradient is a by-product."""
        return self.exact(scores).value

    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """``R_mu`` and its gradient, O(n log n)."""
        positives, room = self._mass
        kappa = mu * self._pairs
        found, taken = self._top_negatives(scores, kappa, mu * positives, hint if isinstance(hint, Roots) else None)
        pairs = self._pairs_with(scores, taken, margin=1.0, kappa=kappa, out=out)
        # The weight taken is K but for the excess: one that is K exactly makes a plane that differs by so much.
        rounding = pairs.plane.rounding + 4.0 * abs(found.excess) / room + 64 * EPS
        return RiskValue(
            Plane(pairs.plane.gradient, pairs.plane.offset, rounding),
            pairs.value - mu * positives * found.prox,
            pairs.height,
            hint=found.roots,
        )

    def lipschitz(self, mu: float) -> float:
        """``(2 N+ + K + N-) / (mu (N+ K)^2)``: of the pairs, and of the choice of the negatives."""
        positives, room = self._mass
        return (2.0 * positives + room + self.examples.negative_weight) / (mu * self._pairs**2)

    def _highest_negatives(self, scores: Array) -> Array:
        """``c z`` for all negatives, where z chooses those with the highest scores."""
        weights = self._negatives.weights
        taken = self.examples.version(Ordering)(scores[self._rows[1]], weights).heaviest(self._mass[1])
        return taken if weights is None else taken * weights

    def _top_negatives(self, scores: Array, kappa: float, mu: float, nearby: Roots | None) -> tuple[Projection, Array]:
        """The projection that finds z, and ``c z`` for all negatives."""
        positives, room = self._mass
        examples = self.examples
        centre, ordered, ordered_weights = examples.version(sorted_scores)(
            scores, self._rows[0], examples.weights, examples.weight, 1.0
        )
        hinges = np.empty(self._rows[1].size)
        huber_sums(ordered, ordered_weights, scores[self._rows[1]] + (1.0 - centre), kappa, hinges)
        hinges /= positives
        taken = np.empty_like(hinges)
        found = self._simplex.project(hinges, mu, nearby, None, taken)
        # What comes back is c (z - p) / K.
        taken *= room
        most = 1.0 if self._negatives.weights is None else self._negatives.weights
        taken += self._share * most
        return found, np.clip(taken, 0.0, most, out=taken)

    def _pairs_with(
        self, scores: Array, taken: Array, *, margin: float, kappa: float, out: Array | None = None
    ) -> RiskValue:
        """Mean over the pairs of positives and negatives, the latter with the weights ``taken``."""
        positives, negatives = self._rows
        weights = self._weight.copy()
        weights[negatives] = taken
        chosen = negatives[np.flatnonzero(taken)]
        examples = self.examples
        (count,) = examples.total(chosen.size)
        counts = examples.positives, int(count)
        pairs = Pairs(examples, (positives, chosen), weights, counts, self._mass)
        gradient = np.empty_like(scores) if out is None else out
        gradient[:] = 0.0
        return mean_over_pairs(pairs, scores, margin=margin, kappa=kappa, gradient=gradient)


@dataclass(frozen=True)
class PartialROCArea(Measure):
    """Mean height of the ROC curve over false positive rates from 0 to ``max_fpr``: a partial ROC area in [0, 1].

    It is how often a positive scores above one of the highest-scoring negatives, of which there are the share
    ``max_fpr``; 1 for a perfect ranking and ``max_fpr / 2`` for random scores. scikit-learn's
    ``roc_auc_score(max_fpr=p)`` reports the same area on another scale, ``(1 + (s - p/2) / (1 - p/2)) / 2`` for our
    score s.

    Parameters
    ----------
    max_fpr : float
        Above 0, at most 1; 1 is :class:`~smoothperf.ROCArea`.

    Examples
    --------
    >>> from smoothperf import PartialROCArea
    >>> PartialROCArea(0.5).score([1, 1, -1, -1], [0.9, 0.3, 0.5, 0.1])
    0.5
    """

    max_fpr: float

    def __post_init__(self) -> None:
        if positive_number("max_fpr", self.max_fpr) > 1.0:
            raise ValueError(f"max_fpr must lie above 0 and not above 1, got {self.max_fpr!r}.")

    @property
    def name(self) -> str:
        """``roc_area@0.1``."""
        return f"roc_area@{float(self.max_fpr)}"

    def risk(self, examples: Examples) -> Risk:
        """Return the convex risk (partial-risk)."""
        return ROCArea().risk(examples) if self.max_fpr == 1.0 else PartialROCAreaRisk(examples, float(self.max_fpr))

    def score_of(self, examples: Examples, scores: Array) -> float:
        """Mean height of the ROC curve from 0 to ``max_fpr``, with straight lines across tied scores."""
        return partial_roc_area(SortedScores(examples.positive, scores).cuts(examples.weights), float(self.max_fpr))
