r"""Measures with a fixed number of predicted positives: break-even point, precision@k, recall@k.

A labeling is ``u`` in [0, 1]^n, 1 for predicted positive, with weights ``c`` (ones without sample weights), total
weight ``N = sum c``, positive weight ``N+``. Exactly the weight k is predicted positive, ``sum c u = k``, so a measure
is a matter of the weight of missed positives, ``m(u) = sum_P c (1 - u)``:

    recall@k       loss = m / N+
    precision@k    loss = (k - N+ + m) / k
    PRBEP          both, for k = N+

The *target* t is the average of the best labelings with k positives: ``k/N+`` on positives and 0 on negatives for k
<= N+, 1 on positives and ``(k - N+)/N-`` on negatives for k > N+; for PRBEP the true labeling. With ``s = 1/N+`` (or
1/k for precision) the loss is ``s sum_P c (t - u)`` beyond that of the target, and

    R(f)    = loss(t) + max_u  s sum_P c (t - u) + (2/N) sum_i c_i f_i (u_i - t_i)            (top-k-risk)
    R_mu(f) = the same less  (mu/2) sum_i c_i (u_i - t_i)^2  under the maximum             (top-k-smoothed)

over the capped simplex ``{u in [0,1]^n : sum c u = k}``. The first maximum selects the k largest of
``(2/N) f_i - s [i positive]``: O(n). The second projects onto the capped simplex: a root in one variable, two
O(n) passes (:mod:`smoothperf.kernels.capped_simplex`), where the paper sorts. The second pass bounds the exact risk on
the way (``RiskValue.ceiling``). For PRBEP these are (prbep-risk) and (prbep-smoothed).

Departures from the paper: no sort, and the exact diameter instead of the bound n/2. For PRBEP it is ``D = min(N+,
N-)``, which allows a mu that is n/(2 n+) times larger when positives are rare.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validation import binary_labels, count_or_share, vector, weights_of
from ..blocks import Blocks, Vector
from ..kernels.capped_simplex import ProjectionBlock, project
from ..kernels.selection import Candidates, added, filled, level_of, level_of_blocks, most_from_each, rooms_at
from .base import EPS, LONG_EPS, Array, Curvature, Measure, RiskValue
from .in_blocks import BlockRisk
from .row_block import RiskBlock, Totals

#: Share of the weight that is far more than rounding can displace.
SPARE = 1e-9


def heaviest(values: Array, weights: Array | None, total: float) -> Array:
    """Fill weight ``total`` with the largest values: ``u`` in [0, 1] that maximises ``sum c u values``. Expected O(n).

    At most one entry is fractional, and with unit weights and a whole total none is. Of tied ones the first are taken.
    """
    level = level_of(values, weights, total)
    return filled(values, weights, level.at, total - level.above)


class TopKBlock(ProjectionBlock, RiskBlock):
    """The rows of a :class:`TopKRisk`, or some of them."""

    def begin_filling(self, scores: Array, slope: float, gain: float, gains: Array, most: float) -> Candidates:
        """Fill in the gains per unit of weight for predicting an example positive, and begin to select the largest."""
        np.multiply(scores, slope, out=gains)
        gains[self.positive] -= gain
        return self.begin_selection(gains, most)

    def class_sums(self, gains: Array) -> tuple[float, float]:
        """Sums of the gains over the positives and over the negatives."""
        return float(gains[self.positive].sum()), float(gains[~self.positive].sum())

    def fill(
        self,
        scores: Array,
        gains: Array,
        level: float,
        rooms: float | dict[str, float],
        slope: float,
        targets: tuple[float, float],
        gradient: Array,
    ) -> tuple[float, float]:
        """Give places to the gains above a level, and to those at it as far as there is room.

        Returns the sum of ``c (u - t)`` over the positives, and ``<gradient, scores>``.
        """
        change = filled(gains, self.weights, level, self.room(rooms))
        change -= self._target(targets)
        if self.weights is not None:
            change *= self.weights
        np.multiply(change, slope, out=gradient)
        return float(change[self.positive].sum()), float(gradient @ scores)

    def active(
        self, gradient: Array, slope: float, targets: tuple[float, float]
    ) -> tuple[NDArray[np.intp], Array | None, Array]:
        """The rows with 0 < u < 1, their weights, and the gradient there."""
        # The gradient where u is 0 and where it is 1, moved inwards by its rounding where that is not exactly 0.
        largest = (1.0 - 4.0 * EPS) * slope * (1.0 if self.weights is None else self.weights)
        target = self._target(targets)
        rows = np.flatnonzero((gradient > -largest * target) & (gradient < largest * (1.0 - target)))
        return rows, None if self.weights is None else self.weights[rows], gradient[rows]

    def _target(self, targets: tuple[float, float]) -> Array:
        """t, one for each example."""
        return np.where(self.positive, *targets)


class TopKRisk(BlockRisk):
    """The risk (top-k-risk) for given labels and weights; made by the measures' ``bind``.

    Parameters
    ----------
    blocks : Blocks
        Of :class:`TopKBlock`.
    places : float, optional
        ``k``, above 0 and below N; N+ by default.
    per_place : bool
        Whether the loss is relative to k (precision) or to N+ (recall).
    """

    shift_invariant: ClassVar[bool] = True

    def __init__(self, blocks: Blocks, places: float | None = None, *, per_place: bool = False):
        super().__init__(blocks)
        self.has_curvature = not blocks.far
        total, positives, negatives = self._totals.weight, self._totals.positive_weight, self._totals.negative_weight
        self._places = positives if places is None else places
        self._slope = 2.0 / total
        within = min(self._places, positives)
        unit = self._places if per_place else positives
        self._gain = 1.0 / unit
        self.score_scale = self._gain / self._slope
        self._least_loss = (unit - within) / unit
        self._targets = within / positives, (self._places - within) / negatives
        # What places too many or too few cost; where negatives can make up for them, no positive need be missed.
        spare = min(self._places - positives, negatives - self._places)
        self._excess_cost = self._slope if spare > SPARE * total else max(self._gain, self._slope)
        # Of the kernel's sums, blocked by 512 and relative to k; docs/maths.md, rounding.
        self._rounding = (1024 * EPS + self.n_examples * LONG_EPS) * max(1.0, self._places * self._excess_cost)
        # (diameter-top-k): as many negatives as possible get a place.
        on_positives, on_negatives = self._targets
        false = min(self._places, negatives)
        if self._places <= positives:
            self.diameter = 0.5 * self._places * (1.0 - on_positives) + on_positives * false
        else:
            self.diameter = 0.5 * (1.0 - on_negatives) * (false + (false - (self._places - positives)))

    def exact(self, scores: Vector) -> RiskValue:
        """``R`` and a subgradient: select the largest, O(n)."""
        missed, inner, gradient = self._largest(scores, self._gain)
        offset = self._least_loss - self._gain * missed
        value = offset + inner
        return RiskValue(value, gradient, offset, value, self._rounding)

    def loss_free(self, scores: Vector) -> RiskValue:
        """``R0`` and its gradient: the places go to the highest scores. O(n)."""
        _, inner, gradient = self._largest(scores, 0.0)
        return RiskValue(inner, gradient, 0.0, inner, self._rounding)

    def exact_value(self, scores: Vector) -> float:
        """``R``: the sum of the largest values, less that of the target. O(n)."""
        if self._blocks.far or self._totals.weighted or not self._places.is_integer():
            return self.exact(scores).value
        gains, _ = self._gains(scores, self._gain)
        ((positive_sum, negative_sum),) = self._blocks.each("class_sums", gains)
        first = self.n_examples - int(self._places)
        on_positives, on_negatives = self._targets
        target = on_positives * positive_sum
        if on_negatives > 0.0:
            target += on_negatives * negative_sum
        largest = np.partition(gains, first)[first:].sum()
        return float(largest - target) + self._least_loss

    def smoothed(self, scores: Vector, mu: float, hint: Any = None, direction: Vector | None = None) -> RiskValue:
        """``R_mu`` and its gradient: a projection onto the capped simplex, O(n)."""
        gradient = self._blocks.vectors.take()
        found = project(
            self._blocks,
            self._n_blocks,
            self._totals.weight,
            scores,
            self._places,
            self._slope,
            self._gain,
            self._targets,
            mu,
            hint,
            direction,
            gradient,
        )
        offset = self._least_loss + self._gain * found.missed
        height = offset + self._slope * found.inner
        # The labeling u sums to k but for the excess: one that does so exactly differs by that much in the 1-norm.
        rounding = self._rounding + abs(found.excess) * self._excess_cost
        value = height - mu * found.prox
        ceiling = self._least_loss + found.ceiling
        return RiskValue(
            value,
            gradient,
            offset,
            height,
            rounding,
            hint=found.roots,
            ceiling=ceiling,
            looseness=found.looseness,
            gradient_norm=math.sqrt(found.squares),
            derivative=math.nan if direction is None else found.along,
        )

    def lipschitz(self, mu: float) -> float:
        """``4 / (N^2 mu)``: the Hessian is that times the centred diagonal matrix of active weights."""
        return self._slope**2 / mu

    def curvature(self, smoothed: RiskValue, mu: float, following: float) -> Curvature:
        """(hessian-prbep) on the examples with 0 < u < 1, for the mu to follow; O(n)."""
        if not self.has_curvature:
            return super().curvature(smoothed, mu, following)
        ((rows, row_weights, gradient),) = self._blocks.each("active", smoothed.gradient, self._slope, self._targets)
        weights = np.full(rows.shape, self.lipschitz(following))
        if row_weights is not None:
            weights *= row_weights
        total = float(weights.sum())
        change = gradient if total == 0.0 else gradient - weights * (float(gradient.sum()) / total)
        return Curvature(rows, weights, (mu / following - 1.0) * change)

    def _largest(self, scores: Vector, gain: float) -> tuple[float, float, Vector]:
        """Give the places to the largest ``(2/N) f - gain [positive]``.

        Returns the sum of ``c (u - t)`` over the positives, for PRBEP that of ``-c (1 - u)`` and exact for unit
        weights; ``<gradient, f>``; and the gradient ``(2/N) c (u - t)``.
        """
        gains, candidates = self._gains(scores, gain)
        level = level_of_blocks(self._blocks, candidates, self._places)
        rooms = rooms_at(self._blocks, gains, level, self._places)
        gradient = self._blocks.vectors.take()
        sums = self._blocks.each("fill", scores, gains, level.at, rooms, self._slope, self._targets, gradient)
        missed, inner = added(sums)
        return missed, inner, gradient

    def _gains(self, scores: Vector, gain: float) -> tuple[Vector, list[Candidates]]:
        """``(2/N) f - gain [positive]``, per unit of weight for predicting an example positive: the candidates."""
        gains = self._blocks.vectors.take()
        most = most_from_each(self._blocks, self._n_blocks)
        return gains, self._blocks.each("begin_filling", scores, self._slope, gain, gains, most)


def hits_of_top(positive: NDArray[np.bool_], scores: Array, weights: Array | None, places: float) -> float:
    """Weight of the positives among the ``places`` with the highest scores; examples tied for the last ones share."""
    n = scores.shape[0]
    if weights is None:
        c = np.ones(n)
        last = n - min(max(math.ceil(places * (1 - 1e-12)), 1), n)
        threshold = np.partition(scores, last)[last]
    else:
        c = weights
        order = np.argsort(-scores, kind="stable")
        total = np.cumsum(c[order])
        threshold = scores[order[min(int(np.searchsorted(total, places * (1 - 1e-12))), n - 1)]]
    above, tied = scores > threshold, scores == threshold
    left = places - float(c[above].sum())
    share = float(c[tied & positive].sum()) / float(c[tied].sum())
    return float(c[above & positive].sum()) + left * share


@dataclass(frozen=True)
class PRBEP(Measure):
    """Precision/recall break-even point: precision (= recall) when as many are predicted positive as there are.

    Examples
    --------
    >>> from smoothperf import PRBEP
    >>> PRBEP().score([1, 1, -1, -1, -1], [0.9, 0.2, 0.7, 0.1, 0.0])
    0.5
    >>> risk = PRBEP().bind([1, 1, -1, -1, -1])
    >>> risk.diameter
    2.0
    """

    name: ClassVar[str] = "prbep"

    def block(self, positive: NDArray[np.bool_], weights: Array | None) -> TopKBlock:
        """Return the part of the risk that has some of the rows."""
        return TopKBlock(positive, weights)

    def bind_blocks(self, blocks: Blocks) -> TopKRisk:
        """Return the convex risk (prbep-risk) for blocks of rows."""
        return TopKRisk(blocks)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Precision of the top N+; examples tied at the threshold share the places that are left."""
        positive = binary_labels(y)
        f = vector("scores", scores, length=positive.shape[0])
        weights = weights_of(sample_weight, positive)
        places = self.predicted_positive(positive, weights)
        return hits_of_top(positive, f, weights, places) / places


@dataclass(frozen=True)
class _AtK(Measure):
    """What precision@k and recall@k share: k, a count or a share of the examples.

    A share is taken as it is: 5 % of 30 examples are one and a half places, of which the second is a half one.
    """

    k: int | float

    def __post_init__(self) -> None:
        count_or_share("k", self.k)

    def block(self, positive: NDArray[np.bool_], weights: Array | None) -> TopKBlock:
        """Return the part of the risk that has some of the rows."""
        return TopKBlock(positive, weights)

    def places(self, totals: Totals) -> float:
        """Return k as a weight: the count itself, or the share of the total weight."""
        total = totals.weight
        if not isinstance(self.k, (int, np.integer)):
            return float(self.k) * total
        if self.k > total:
            what = "is the weight of all examples" if totals.weighted else "examples are there"
            raise ValueError(
                f"{self.name} needs at least {self.k} examples, but {total:g} {what}; "
                f"use a smaller k, or a share such as {type(self).__name__}(0.05)."
            )
        return float(self.k)

    def as_share(self, total: float) -> Measure:
        """Return the measure with k as a share."""
        return replace(self, k=min(self.k / total, 1.0)) if isinstance(self.k, (int, np.integer)) else self

    def _bound(self, blocks: Blocks, *, per_place: bool) -> TopKRisk:
        totals = Totals.of(blocks.each("totals"))
        places = self.places(totals)
        if places >= totals.weight:
            raise ValueError(
                f"{self.name} of {places:g} examples leaves nothing to choose, as all are predicted positive; "
                "use a smaller k."
            )
        return TopKRisk(blocks, places, per_place=per_place)

    def _hits(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None) -> tuple[float, float, float]:
        """Weight of the hits among the top k, k, and the weight of all positives."""
        positive = binary_labels(y)
        f = vector("scores", scores, length=positive.shape[0])
        weights = weights_of(sample_weight, positive)
        totals = RiskBlock(positive, weights).totals()
        places = self.places(totals)
        return hits_of_top(positive, f, weights, places), places, totals.positive_weight


@dataclass(frozen=True)
class PrecisionAtK(_AtK):
    """Precision of the k examples with the highest scores.

    Parameters
    ----------
    k : int or float
        How many: an int is a count (with sample weights, a weight), a float between 0 and 1 a share of all examples.
        A count means the same on other data; where they have more or fewer examples a share is what you want.

    Examples
    --------
    >>> from smoothperf import PrecisionAtK
    >>> y, scores = [1, 1, -1, -1, 1], [0.9, 0.2, 0.7, 0.1, 0.8]
    >>> PrecisionAtK(2).score(y, scores), round(PrecisionAtK(0.6).score(y, scores), 4)
    (1.0, 0.6667)
    >>> PrecisionAtK(2).name
    'precision@2'
    """

    @property
    def name(self) -> str:
        """``precision@100`` or ``precision@0.05``."""
        return f"precision@{self.k}"

    def bind_blocks(self, blocks: Blocks) -> TopKRisk:
        """Return the convex risk (top-k-risk) for blocks of rows."""
        return self._bound(blocks, per_place=True)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Precision of the top k; examples tied at the threshold share the places that are left."""
        hits, places, _ = self._hits(y, scores, sample_weight)
        return hits / places


@dataclass(frozen=True)
class RecallAtK(_AtK):
    """Share of all positives that are among the k examples with the highest scores.

    Parameters
    ----------
    k : int or float
        As in :class:`PrecisionAtK`.

    Examples
    --------
    >>> from smoothperf import RecallAtK
    >>> y, scores = [1, 1, -1, -1, 1], [0.9, 0.2, 0.7, 0.1, 0.8]
    >>> round(RecallAtK(2).score(y, scores), 4)
    0.6667
    """

    @property
    def name(self) -> str:
        """``recall@100`` or ``recall@0.05``."""
        return f"recall@{self.k}"

    def bind_blocks(self, blocks: Blocks) -> TopKRisk:
        """Return the convex risk (top-k-risk) for blocks of rows."""
        return self._bound(blocks, per_place=False)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Recall of the top k; examples tied at the threshold share the places that are left."""
        hits, _, positives = self._hits(y, scores, sample_weight)
        return hits / positives
