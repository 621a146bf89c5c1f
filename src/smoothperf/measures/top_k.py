r"""Measures with a fixed number of predicted positives: the precision/recall break-even point.

A labeling is ``u`` in [0, 1]^n, 1 for predicted positive, with weights ``c`` (ones without sample weights), total
weight ``N = sum c``, positive weight ``N+``. Exactly as much weight is predicted positive as there is: ``sum c u =
N+``. Then precision equals recall, and the loss is the weight of missed positives, ``delta(u) = (1/N+) sum_P c (1 -
u)``. With the true labeling ``t`` (1 on positives, 0 on negatives)

    R(f)    = max_u  delta(u) + (2/N) sum_i c_i f_i (u_i - t_i)                               (prbep-risk)
    R_mu(f) = max_u  delta(u) + (2/N) sum_i c_i f_i (u_i - t_i) - (mu/2) sum_i c_i (u_i - t_i)^2  (prbep-smoothed)

over the capped simplex ``{u in [0,1]^n : sum c u = N+}``. The first maximum selects the N+ largest of
``(2/N) f_i - [i positive]/N+``: O(n). The second projects onto the capped simplex: a root in one variable, two
O(n) passes (:mod:`smoothperf.kernels.capped_simplex`), where the paper sorts. The second pass bounds the exact risk on
the way (``RiskValue.ceiling``).

Departures from the paper: no sort, and the diameter ``D = min(N+, N-)`` instead of the bound n/2, which allows a
mu that is n/(2 n+) times larger when positives are rare.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validation import binary_labels, vector, weights_of
from ..kernels import top_k_smoothed
from ..recycling import Recycler
from .base import EPS, LONG_EPS, Array, Curvature, Measure, Risk, RiskValue


def heaviest(values: Array, weights: Array | None, total: float) -> Array:
    """Fill weight ``total`` with the largest values: ``u`` in [0, 1] that maximises ``sum c u values``. Expected O(n).

    At most one entry is fractional, and with unit weights and a whole total none is.
    """
    n = values.shape[0]
    u = np.zeros(n)
    if weights is None:
        k = round(total)
        u[np.argpartition(values, n - k)[n - k :] if k < n else slice(None)] = 1.0
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
    last = undecided[0]
    u[last] = min(1.0, max(0.0, room / weights[last])) if weights[last] > 0.0 else 0.0
    return u


class PRBEPRisk(Risk):
    """The risk (prbep-risk) for given labels and weights; made by :meth:`PRBEP.bind`."""

    shift_invariant: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True

    def __init__(self, positive: NDArray[np.bool_], weights: Array | None):
        self.n_examples = positive.shape[0]
        self._positive = positive
        self.weights = weights
        self._vectors = Recycler(self.n_examples)
        weight = np.ones(self.n_examples) if weights is None else weights
        self._total = float(weight.sum())
        self._positives = float(weight[positive].sum())
        self._slope = 2.0 / self._total
        # Of the kernel's sums, blocked by 512 and relative to N+; docs/maths.md, rounding.
        self._rounding = 1024 * EPS + self.n_examples * LONG_EPS
        self.diameter = min(self._positives, self._total - self._positives)

    def exact(self, scores: Array) -> RiskValue:
        """``R`` and a subgradient: select the largest, O(n)."""
        u = heaviest(self._values(scores), self.weights, self._positives)
        change = u - self._positive
        if self.weights is not None:
            change *= self.weights
        # The missed positives, where change = -c (1 - u); the sum is exact for unit weights.
        offset = -float(change[self._positive].sum()) / self._positives
        gradient = self._slope * change
        value = offset + float(gradient @ scores)
        return RiskValue(value, gradient, offset, value, self._rounding)

    def exact_value(self, scores: Array) -> float:
        """``R``: the sum of the largest values, less that of the true labeling. O(n)."""
        values = self._values(scores)
        if self.weights is None:
            k = round(self._positives)
            n = self.n_examples
            true = values[self._positive].sum()
            largest = np.partition(values, n - k)[n - k :].sum()
            return float(largest - true)
        return self.exact(scores).value

    def smoothed(self, scores: Array, mu: float, hint: Any = None) -> RiskValue:
        """``R_mu`` and its gradient: a projection onto the capped simplex, O(n)."""
        gradient = self._vectors.take()
        found = top_k_smoothed(
            scores,
            self._positive.view(np.uint8),
            self.weights,
            self._positives,
            self._slope,
            1.0 / self._positives,
            1.0,
            0.0,
            mu,
            hint,
            gradient,
        )
        offset = found.missed / self._positives
        height = offset + self._slope * found.inner
        # The labeling u sums to N+ but for the excess: one that does so exactly differs by that much in the 1-norm.
        rounding = self._rounding + abs(found.excess) * max(1.0 / self._positives, self._slope)
        value = height - mu * found.prox
        return RiskValue(value, gradient, offset, height, rounding, hint=found.roots, ceiling=found.ceiling)

    def lipschitz(self, mu: float) -> float:
        """``4 / (N^2 mu)``: the Hessian is that times the centred diagonal matrix of active weights."""
        return self._slope**2 / mu

    def curvature(self, smoothed: RiskValue, mu: float, following: float) -> Curvature:
        """(hessian-prbep) on the examples with 0 < u < 1, for the mu to follow; O(n)."""
        flipped = np.abs(smoothed.gradient)
        largest = self._slope if self.weights is None else self._slope * self.weights
        # Where u is 0 or 1 the gradient is 0 or, up to rounding, as large as it can be.
        rows = np.flatnonzero((flipped > 0.0) & (flipped < (1.0 - 4.0 * EPS) * largest))
        weights = np.full(rows.shape, self.lipschitz(following))
        if self.weights is not None:
            weights *= self.weights[rows]
        gradient = smoothed.gradient[rows]
        total = float(weights.sum())
        change = gradient if total == 0.0 else gradient - weights * (float(gradient.sum()) / total)
        return Curvature(rows, weights, (mu / following - 1.0) * change)

    def _values(self, scores: Array) -> Array:
        """Gain per unit of weight for predicting an example positive: ``(2/N) f - [positive]/N+``."""
        values = self._slope * scores
        values[self._positive] -= 1.0 / self._positives
        return values


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

    def bind(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> PRBEPRisk:
        """Return the convex risk (prbep-risk) for given labels; see :meth:`Measure.bind`."""
        positive = binary_labels(y)
        return PRBEPRisk(positive, weights_of(sample_weight, positive))

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Precision of the top N+; examples tied at the threshold share the places that are left."""
        positive = binary_labels(y)
        f = vector("scores", scores, length=positive.shape[0])
        weights = weights_of(sample_weight, positive)
        if weights is None:
            c = np.ones(f.shape[0])
            places = float(np.count_nonzero(positive))
            last = f.shape[0] - int(places)
            threshold = np.partition(f, last)[last]
        else:
            c = weights
            order = np.argsort(-f, kind="stable")
            total = np.cumsum(c[order])
            places = float(c[positive].sum())
            threshold = f[order[min(int(np.searchsorted(total, places * (1 - 1e-12))), f.shape[0] - 1)]]
        above, tied = f > threshold, f == threshold
        left = places - float(c[above].sum())
        share = float(c[tied & positive].sum()) / float(c[tied].sum())
        return (float(c[above & positive].sum()) + left * share) / places
