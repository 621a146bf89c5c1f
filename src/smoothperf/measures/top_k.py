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
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validation import binary_labels, count_or_share, vector, weights_of
from ..kernels import top_k_smoothed
from ..recycling import Recycler
from .base import EPS, LONG_EPS, Array, Curvature, Measure, Risk, RiskValue

#: Share of the weight that is far more than rounding can displace.
SPARE = 1e-9


def heaviest(values: Array, weights: Array | None, total: float) -> Array:
    """Fill weight ``total`` with the largest values: ``u`` in [0, 1] that maximises ``sum c u values``. Expected O(n).

    At most one entry is fractional, and with unit weights and a whole total none is.
    """
    n = values.shape[0]
    u = np.zeros(n)
    if weights is None:
        whole = min(int(total), n)
        last = n - whole - 1  # where the largest of those that get no full place lands
        if last < 0:
            u[:] = 1.0
            return u
        order = np.argpartition(values, last)
        u[order[last + 1 :]] = 1.0
        u[order[last]] = total - whole
        return u
    undecided = np.arange(n)
    room = total
    # Quickselect on weights: each round decides half of the examples that are left.
    while undecided.size > 1:
        half = undecided.size // 2
        order = np.argpartition(values[undecided], undecided.size - half)
        lower, upper = undecided[order[:-half]], undecided[order[-half:]]
        upper_weight = weights[upper].sum()
        if upper_weight <= room:
            u[upper] = 1.0
            room -= upper_weight
            undecided = lower
        else:
            undecided = upper
    last_one = undecided[0]
    u[last_one] = min(1.0, max(0.0, room / weights[last_one])) if weights[last_one] > 0.0 else 0.0
    return u


class TopKRisk(Risk):
    """The risk (top-k-risk) for given labels and weights; made by the measures' ``bind``.

    Parameters
    ----------
    positive : ndarray of bool
        The positives.
    weights : ndarray or None
        The sample weights.
    places : float, optional
        ``k``, above 0 and below N; N+ by default.
    per_place : bool
        Whether the loss is relative to k (precision) or to N+ (recall).
    """

    shift_invariant: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True

    def __init__(
        self,
        positive: NDArray[np.bool_],
        weights: Array | None,
        places: float | None = None,
        *,
        per_place: bool = False,
    ):
        self.n_examples = positive.shape[0]
        self._positive = positive
        self.weights = weights
        self._vectors = Recycler(self.n_examples)
        weight = np.ones(self.n_examples) if weights is None else weights
        total = float(weight.sum())
        positives = float(weight[positive].sum())
        self._places = positives if places is None else places
        self._slope = 2.0 / total
        within = min(self._places, positives)
        unit = self._places if per_place else positives
        self._gain = 1.0 / unit
        self._least_loss = (unit - within) / unit
        self._targets = within / positives, (self._places - within) / (total - positives)
        # What places too many or too few cost; where negatives can make up for them, no positive need be missed.
        spare = min(self._places - positives, total - positives - self._places)
        self._excess_cost = self._slope if spare > SPARE * total else max(self._gain, self._slope)
        # Of the kernel's sums, blocked by 512 and relative to k; docs/maths.md, rounding.
        self._rounding = (1024 * EPS + self.n_examples * LONG_EPS) * max(1.0, self._places * self._excess_cost)
        # (diameter-top-k): as many negatives as possible get a place.
        on_positives, on_negatives = self._targets
        false = min(self._places, total - positives)
        if self._places <= positives:
            self.diameter = 0.5 * self._places * (1.0 - on_positives) + on_positives * false
        else:
            self.diameter = 0.5 * (1.0 - on_negatives) * (false + (false - (self._places - positives)))

    def exact(self, scores: Array) -> RiskValue:
        """``R`` and a subgradient: select the largest, O(n)."""
        u = heaviest(self._values(scores), self.weights, self._places)
        change = u - self._target
        if self.weights is not None:
            change *= self.weights
        # For PRBEP the sum is over -c (1 - u), and exact for unit weights.
        offset = self._least_loss - self._gain * float(change[self._positive].sum())
        gradient = self._slope * change
        value = offset + float(gradient @ scores)
        return RiskValue(value, gradient, offset, value, self._rounding)

    def exact_value(self, scores: Array) -> float:
        """``R``: the sum of the largest values, less that of the target. O(n)."""
        if self.weights is not None or not self._places.is_integer():
            return self.exact(scores).value
        values = self._values(scores)
        first = self.n_examples - int(self._places)
        on_positives, on_negatives = self._targets
        target = on_positives * values[self._positive].sum()
        if on_negatives > 0.0:
            target += on_negatives * values[~self._positive].sum()
        largest = np.partition(values, first)[first:].sum()
        return float(largest - target) + self._least_loss

    def smoothed(self, scores: Array, mu: float, hint: Any = None) -> RiskValue:
        """``R_mu`` and its gradient: a projection onto the capped simplex, O(n)."""
        gradient = self._vectors.take()
        found = top_k_smoothed(
            scores,
            self._positive.view(np.uint8),
            self.weights,
            self._places,
            self._slope,
            self._gain,
            *self._targets,
            mu,
            hint,
            gradient,
        )
        offset = self._least_loss + self._gain * found.missed
        height = offset + self._slope * found.inner
        # The labeling u sums to k but for the excess: one that does so exactly differs by that much in the 1-norm.
        rounding = self._rounding + abs(found.excess) * self._excess_cost
        value = height - mu * found.prox
        ceiling = self._least_loss + found.ceiling
        return RiskValue(value, gradient, offset, height, rounding, hint=found.roots, ceiling=ceiling)

    def lipschitz(self, mu: float) -> float:
        """``4 / (N^2 mu)``: the Hessian is that times the centred diagonal matrix of active weights."""
        return self._slope**2 / mu

    def curvature(self, smoothed: RiskValue, mu: float, following: float) -> Curvature:
        """(hessian-prbep) on the examples with 0 < u < 1, for the mu to follow; O(n)."""
        lowest, highest = self._gradient_range
        rows = np.flatnonzero((smoothed.gradient > lowest) & (smoothed.gradient < highest))
        weights = np.full(rows.shape, self.lipschitz(following))
        if self.weights is not None:
            weights *= self.weights[rows]
        gradient = smoothed.gradient[rows]
        total = float(weights.sum())
        change = gradient if total == 0.0 else gradient - weights * (float(gradient.sum()) / total)
        return Curvature(rows, weights, (mu / following - 1.0) * change)

    @cached_property
    def _target(self) -> Array:
        """t, one for each example."""
        return np.where(self._positive, *self._targets)

    @cached_property
    def _gradient_range(self) -> tuple[Array, Array]:
        """The gradient where u is 0 and where it is 1, moved inwards by its rounding where that is not exactly 0."""
        largest = (1.0 - 4.0 * EPS) * self._slope * (1.0 if self.weights is None else self.weights)
        return -largest * self._target, largest * (1.0 - self._target)

    def _values(self, scores: Array) -> Array:
        """Gain per unit of weight for predicting an example positive: ``(2/N) f - s [positive]``."""
        values = self._slope * scores
        values[self._positive] -= self._gain
        return values


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

    def bind(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> TopKRisk:
        """Return the convex risk (prbep-risk) for given labels; see :meth:`Measure.bind`."""
        positive = binary_labels(y)
        return TopKRisk(positive, weights_of(sample_weight, positive))

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

    def predicted_positive(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return k as a weight: the count itself, or the share of the total weight."""
        positive = binary_labels(y)
        return self._places(positive, weights_of(sample_weight, positive))

    def _places(self, positive: NDArray[np.bool_], weights: Array | None) -> float:
        total = float(positive.shape[0] if weights is None else weights.sum())
        if not isinstance(self.k, (int, np.integer)):
            return float(self.k) * total
        if self.k > total:
            what = "examples are there" if weights is None else "is the weight of all examples"
            raise ValueError(
                f"{self.name} needs at least {self.k} examples, but {total:g} {what}; "
                f"use a smaller k, or a share such as {type(self).__name__}(0.05)."
            )
        return float(self.k)

    def _bound(self, y: ArrayLike, sample_weight: ArrayLike | None, *, per_place: bool) -> TopKRisk:
        positive = binary_labels(y)
        weights = weights_of(sample_weight, positive)
        places = self._places(positive, weights)
        if places >= (positive.shape[0] if weights is None else weights.sum()):
            raise ValueError(
                f"{self.name} of {places:g} examples leaves nothing to choose, as all are predicted positive; "
                "use a smaller k."
            )
        return TopKRisk(positive, weights, places, per_place=per_place)

    def _hits(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None) -> tuple[float, float, float]:
        """Weight of the hits among the top k, k, and the weight of all positives."""
        positive = binary_labels(y)
        f = vector("scores", scores, length=positive.shape[0])
        weights = weights_of(sample_weight, positive)
        places = self._places(positive, weights)
        positives = float(positive.sum() if weights is None else weights[positive].sum())
        return hits_of_top(positive, f, weights, places), places, positives


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

    def bind(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> TopKRisk:
        """Return the convex risk (top-k-risk) for given labels; see :meth:`Measure.bind`."""
        return self._bound(y, sample_weight, per_place=True)

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

    def bind(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> TopKRisk:
        """Return the convex risk (top-k-risk) for given labels; see :meth:`Measure.bind`."""
        return self._bound(y, sample_weight, per_place=False)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Recall of the top k; examples tied at the threshold share the places that are left."""
        hits, _, positives = self._hits(y, scores, sample_weight)
        return hits / positives
