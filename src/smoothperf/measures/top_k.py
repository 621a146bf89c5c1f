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
O(n) passes (:mod:`smoothperf.measures.projection`), where the paper sorts. The second pass bounds the exact risk on
the way (``RiskValue.exact``). For PRBEP the first is (prbep-risk).

Departures from the paper: no sort, and the exact diameter instead of the bound n/2. For PRBEP it is ``D = min(N+,
N-)``, which allows a mu that is n/(2 n+) times larger when positives are rare.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arrays import Array
from ..cuts.threshold_search import Ordering
from .base import Measure
from .curvature import Curvature
from .examples import Examples
from .projection import CappedSimplex, Roots
from .risk import EPS, LONG_EPS, Interval, Plane, Risk, RiskValue

#: Share of the weight that is far more than rounding can displace.
SPARE = 1e-9


class TopKRisk(Risk):
    """The risk (top-k-risk) for given labels and weights; made by the measures' ``risk``.

    Parameters
    ----------
    examples : Examples
        Labels and weights.
    places : float
        ``k``, above 0 and below N.
    per_place : bool
        Whether the loss is relative to k (precision) or to N+ (recall).
    """

    examples: Examples
    shift_invariant: ClassVar[bool] = True

    def __init__(self, examples: Examples, places: float, *, per_place: bool = False):
        super().__init__(examples)
        self.has_curvature = examples.alone
        self._places = places
        self._scratch: Array | None = None
        weight, positives, negatives = examples.weight, examples.positive_weight, examples.negative_weight
        self._slope = 2.0 / weight
        within = min(places, positives)
        unit = places if per_place else positives
        self._gain = 1.0 / unit
        self.score_scale = self._gain / self._slope
        self._least_loss = (unit - within) / unit
        self._targets = within / positives, (places - within) / negatives
        # What places too many or too few cost; where negatives can make up for them, no positive need be missed.
        spare = min(places - positives, negatives - places)
        self._excess_cost = self._slope if spare > SPARE * weight else max(self._gain, self._slope)
        # Of the kernel's sums, blocked by 512 and relative to k; docs/maths.md, rounding.
        self._rounding = (1024 * EPS + examples.count * LONG_EPS) * max(1.0, places * self._excess_cost)
        # (diameter-top-k): as many negatives as possible get a place.
        on_positives, on_negatives = self._targets
        false = min(places, negatives)
        if places <= positives:
            self.diameter = 0.5 * places * (1.0 - on_positives) + on_positives * false
        else:
            self.diameter = 0.5 * (1.0 - on_negatives) * (false + (false - (places - positives)))
        self._simplex = CappedSimplex(examples, places, self._slope, self._gain, self._targets)

    def exact(self, scores: Array) -> RiskValue:
        """``R`` and a subgradient: select the largest, O(n)."""
        missed, inner, gradient = self._largest(scores, self._gain)
        offset = self._least_loss - self._gain * missed
        value = offset + inner
        return RiskValue(Plane(gradient, offset, self._rounding), value, value)

    def loss_free(self, scores: Array) -> RiskValue:
        """``R0`` and its gradient: the places go to the highest scores. O(n)."""
        _, inner, gradient = self._largest(scores, 0.0)
        return RiskValue(Plane(gradient, 0.0, self._rounding), inner, inner)

    def exact_value(self, scores: Array) -> float:
        """``R``: the sum of the largest values, less that of the target. O(n)."""
        examples = self.examples
        if not examples.alone or examples.weights is not None or not self._places.is_integer():
            return self.exact(scores).value
        gains = self._gains(scores, self._gain)
        first = examples.count - int(self._places)
        on_positives, on_negatives = self._targets
        target = on_positives * float(gains[examples.positive].sum())
        if on_negatives > 0.0:
            target += on_negatives * float(gains[~examples.positive].sum())
        gains.partition(first)
        return float(gains[first:].sum() - target) + self._least_loss

    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """``R_mu`` and its gradient: a projection onto the capped simplex, O(n)."""
        gradient = np.empty(scores.shape) if out is None else out
        nearby = hint if isinstance(hint, Roots) else None
        found = self._simplex.project(scores, mu, nearby, direction, gradient)
        offset = self._least_loss + self._gain * found.missed
        height = offset + self._slope * found.inner
        # The labeling u sums to k but for the excess: one that does so exactly differs by that much in the 1-norm.
        rounding = self._rounding + abs(found.excess) * self._excess_cost
        ceiling = self._least_loss + found.ceiling
        return RiskValue(
            Plane(gradient, offset, rounding),
            value=height - mu * found.prox,
            height=height,
            exact=Interval(min(max(height, ceiling - found.looseness), ceiling), ceiling),
            hint=found.roots,
            derivative=None if direction is None else found.along,
        )

    def lipschitz(self, mu: float) -> float:
        """``4 / (N^2 mu)``: the Hessian is that times the centred diagonal matrix of active weights."""
        return self._slope**2 / mu

    def curvature(self, scores: Array, smoothed: RiskValue, mu: float, following: float) -> Curvature:
        """(hessian-prbep) on the examples with 0 < u < 1, for the mu to follow; O(n)."""
        if not self.has_curvature:
            return super().curvature(scores, smoothed, mu, following)
        c = self.examples.weights
        # The gradient where u is 0 and where it is 1, moved inwards by its rounding where that is not exactly 0.
        largest = (1.0 - 4.0 * EPS) * self._slope * (1.0 if c is None else c)
        target, gradient = self._target(), smoothed.plane.gradient
        rows = np.flatnonzero((gradient > -largest * target) & (gradient < largest * (1.0 - target)))
        gradient = gradient[rows]
        weights = np.full(rows.shape, self.lipschitz(following))
        if c is not None:
            weights *= c[rows]
        mass = float(weights.sum())
        change = gradient if mass == 0.0 else gradient - weights * (float(gradient.sum()) / mass)
        return Curvature(rows, weights, (mu / following - 1.0) * change)

    def _largest(self, scores: Array, gain: float) -> tuple[float, float, Array]:
        """Give the places to the largest ``(2/N) f - gain [positive]``.

        Returns the sum of ``c (u - t)`` over the positives, for PRBEP that of ``-c (1 - u)`` and exact for unit
        weights; ``<gradient, f>``; and the gradient ``(2/N) c (u - t)``.
        """
        examples = self.examples
        change = examples.version(Ordering)(self._gains(scores, gain), examples.weights).heaviest(self._places)
        change -= self._target()
        if examples.weights is not None:
            change *= examples.weights
        missed = float(change[examples.positive].sum())
        gradient = np.multiply(change, self._slope, out=change)
        missed, inner = examples.total(missed, float(gradient @ scores))
        return missed, inner, gradient

    def _gains(self, scores: Array, gain: float) -> Array:
        """``(2/N) f - gain [positive]``, per unit of weight for predicting an example positive; in a scratch array."""
        if self._scratch is None:
            self._scratch = np.empty(scores.shape)
        gains = np.multiply(scores, self._slope, out=self._scratch)
        gains[self.examples.positive] -= gain
        return gains

    def _target(self) -> Array:
        """t, one for each example."""
        return np.where(self.examples.positive, *self._targets)


def hits_of_top(examples: Examples, scores: Array, places: float) -> float:
    """Weight of the positives among the ``places`` with the highest scores; examples tied for the last ones share."""
    level = Ordering(scores, examples.weights).level(places * (1 - 1e-12))
    share = examples.here((scores == level.at) & examples.positive) / level.tied
    return examples.here((scores > level.at) & examples.positive) + (places - level.above) * share


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

    def risk(self, examples: Examples) -> TopKRisk:
        """Return the convex risk (prbep-risk) for examples."""
        return TopKRisk(examples, examples.positive_weight)

    def score_of(self, examples: Examples, scores: Array) -> float:
        """Precision of the top N+; examples tied at the threshold share the places that are left."""
        return hits_of_top(examples, scores, examples.positive_weight) / examples.positive_weight
