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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validation import binary_labels, positive_number, vector, weights_of
from ..blocks import LocalVectors, OneBlock
from ..kernels import huber_sums
from ..kernels.capped_simplex import ProjectionBlock, project
from ..kernels.pair_sums import PairBlock
from .base import EPS, Array, Measure, Risk, RiskValue
from .roc_area import ROCArea, mean_over_pairs
from .sorted_scores import SortedScores, partial_roc_area
from .top_k import heaviest


class PartialROCAreaRisk(Risk):
    """The risk (partial-risk) for given labels and weights; made by :meth:`PartialROCArea.bind`."""

    shift_invariant: ClassVar[bool] = True

    def __init__(self, positive: NDArray[np.bool_], weights: Array | None, max_fpr: float):
        self.n_examples = positive.shape[0]
        self.weights = weights
        self._vectors = LocalVectors(self.n_examples)
        self._positives, self._negatives = np.flatnonzero(positive), np.flatnonzero(~positive)
        self._weight = np.ones(self.n_examples) if weights is None else weights
        self._negative_weight = None if weights is None else weights[self._negatives]
        no_label = np.zeros(self._negatives.size, dtype=bool)
        self._negative_blocks = OneBlock(
            ProjectionBlock(no_label, self._negative_weight), LocalVectors(self._negatives.size)
        )
        self._share = max_fpr
        positives = float(self._weight[self._positives].sum())
        self._all_negatives = float(self._weight[self._negatives].sum())
        self._mass = positives, max_fpr * self._all_negatives
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

    def smoothed(self, scores: Array, mu: float, hint: Any = None, direction: Array | None = None) -> RiskValue:
        """``R_mu`` and its gradient, O(n log n)."""
        positives, room = self._mass
        kappa = mu * self._pairs
        found, taken = self._top_negatives(scores, kappa, mu * positives, hint)
        pairs = self._pairs_with(scores, taken, margin=1.0, kappa=kappa)
        # The weight taken is K but for the excess: one that is K exactly makes a plane that differs by so much.
        rounding = pairs.rounding + 4.0 * abs(found.excess) / room + 64 * EPS
        return RiskValue(
            pairs.value - mu * positives * found.prox,
            pairs.gradient,
            pairs.offset,
            pairs.height,
            rounding,
            hint=found.roots,
        )

    def lipschitz(self, mu: float) -> float:
        """``(2 N+ + K + N-) / (mu (N+ K)^2)``: of the pairs, and of the choice of the negatives."""
        positives, room = self._mass
        return (2.0 * positives + room + self._all_negatives) / (mu * self._pairs**2)

    def _highest_negatives(self, scores: Array) -> Array:
        """``c z`` for all negatives, where z chooses those with the highest scores."""
        taken = heaviest(scores[self._negatives], self._negative_weight, self._mass[1])
        return taken if self._negative_weight is None else taken * self._negative_weight

    def _top_negatives(self, scores: Array, kappa: float, mu: float, hint: Any) -> tuple[Any, Array]:
        """The projection that finds z, and ``c z`` for all negatives."""
        positives, room = self._mass
        centre = float(scores.mean())
        ordered = scores[self._positives] - centre
        ordered_weights = None
        if self.weights is None:
            ordered.sort()
        else:
            order = np.argsort(ordered)
            ordered, ordered_weights = ordered[order], self.weights[self._positives[order]]
        hinges = np.empty(self._negatives.size)
        huber_sums(ordered, ordered_weights, scores[self._negatives] + (1.0 - centre), kappa, hinges)
        hinges /= positives
        taken = np.empty_like(hinges)
        blocks, targets = self._negative_blocks, (self._share, self._share)
        found = project(blocks, 1, self._all_negatives, hinges, room, 1.0 / room, 0.0, targets, mu, hint, None, taken)
        # What comes back is c (z - p) / K.
        taken *= room
        most = 1.0 if self._negative_weight is None else self._negative_weight
        taken += self._share * most
        return found, np.clip(taken, 0.0, most, out=taken)

    def _pairs_with(self, scores: Array, taken: Array, *, margin: float, kappa: float) -> RiskValue:
        """Mean over the pairs of positives and negatives, the latter with the weights ``taken``."""
        chosen = np.flatnonzero(taken)
        weights = self._weight.copy()
        weights[self._negatives] = taken
        gradient = self._vectors.take()
        gradient[:] = 0.0
        rows = self._positives, self._negatives[chosen]
        return mean_over_pairs(
            OneBlock(PairBlock(rows, weights), self._vectors),
            scores,
            (rows[0].size, rows[1].size),
            self._mass,
            centre=float(np.average(scores, weights=weights)),
            margin=margin,
            kappa=kappa,
            weighted=True,
            gradient=gradient,
        )


@dataclass(frozen=True)
class PartialROCArea(Measure):
    """Mean height of the ROC curve over false positive rates from 0 to ``max_fpr``: a partial ROC area in [0, 1].

    It is how often a positive scores above one of the highest-scoring negatives, of which there are the share
    ``max_fpr``; 1 for a perfect ranking and ``max_fpr / 2`` for scores that tell nothing. scikit-learn's
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

    def bind(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Risk:
        """Return the convex risk (partial-risk) for given labels; see :meth:`Measure.bind`."""
        positive = binary_labels(y)
        weights = weights_of(sample_weight, positive)
        if self.max_fpr == 1.0:
            return ROCArea().bind(positive, weights)
        return PartialROCAreaRisk(positive, weights, float(self.max_fpr))

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Mean height of the ROC curve from 0 to ``max_fpr``, with straight lines across tied scores."""
        positive = binary_labels(y)
        f = vector("scores", scores, length=positive.shape[0])
        return partial_roc_area(
            SortedScores(positive, f).cuts(weights_of(sample_weight, positive)), float(self.max_fpr)
        )
