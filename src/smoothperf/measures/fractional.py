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
from ..kernels.fractional_flips import FractionalLoss, SortedMargins
from ..operating_point import Cuts
from ..recycling import Recycler
from .base import EPS, LONG_EPS, Array, Measure, Risk, RiskValue

#: What the levels may cost of ``mu D``, relative to what the squares cost.
LEVELS_SHARE = 0.5
#: The grid's step is at most this part of what the levels may cost; the rest is for the soft maximum.
STEP_SHARE = 0.5
#: Fewest levels, and the logarithm to base 2 of the most: a finer grid would be a matter of rounding.
FEWEST_LEVELS, MOST_DOUBLINGS = 64, 44


class FractionalRisk(Risk):
    """The risk (fractional-risk) for given labels and weights; made by :meth:`FBeta.bind` and :meth:`Jaccard.bind`."""

    shift_invariant: ClassVar[bool] = False

    def __init__(self, positive: NDArray[np.bool_], weights: Array | None, p: float, r: float):
        n = self.n_examples = positive.shape[0]
        self._positive = positive.view(np.uint8)
        self._rows = np.flatnonzero(positive), np.flatnonzero(~positive)
        self.weights = weights
        self._vectors, self._memory = Recycler(n), Recycler(3 * n + 4)
        positives = float(self._rows[0].size if weights is None else weights[positive].sum())
        self._total = float(n if weights is None else weights.sum())
        self._loss = FractionalLoss(p, r, (p + r) * positives)
        self._slope = 2.0 / self._total
        self.diameter = (1.0 + LEVELS_SHARE) * self._total / 8.0
        # Relative errors of B and C change delta by at most this much (docs/maths.md, rounding).
        self._rounding = (64 * EPS + 4 * n * LONG_EPS) * (2.0 + r / p)

    def exact(self, scores: Array) -> RiskValue:
        """``R`` and a subgradient: two sorts, a search and a pass."""
        margins = self._sorted(scores)
        flips = margins.best(self._loss, self._slope)
        gradient = self._vectors.take()
        inner = margins.apply_best(flips, self._slope, gradient)
        offset = self._loss.at(flips.missed, flips.false)
        value = offset - self._slope * inner
        return RiskValue(value, gradient, offset, value, self._rounding)

    def exact_value(self, scores: Array) -> float:
        """``R``: two sorts and a search."""
        return self._sorted(scores).best(self._loss, self._slope).value

    def smoothed(self, scores: Array, mu: float, hint: Any = None) -> RiskValue:
        """``R_mu`` and its gradient: two sorts, searches and a pass. ``hint`` is not used."""
        width = mu * self._total / 2.0
        count, nu = levels(LEVELS_SHARE * width / 4.0)
        margins = self._sorted(scores)
        flips = margins.smoothed(self._loss, self._slope, width, nu, count)
        gradient = self._vectors.take()
        inner = margins.apply_smoothed(flips, self._slope, gradient)
        # Of beta, whose ramps begin and end at rounded knots; it enters sums with a total weight of 2.
        ramps = (16 * EPS + 16 * flips.levels * LONG_EPS) * (1.0 + flips.reach / width)
        return RiskValue(
            flips.value - width / 4.0,
            gradient,
            flips.offset,
            flips.offset - self._slope * inner,
            self._rounding + flips.wobble + ramps,
            ceiling=margins.best(self._loss, self._slope).value,
            error=flips.error,
        )

    def lipschitz(self, mu: float) -> float:
        """``(4/N^2) (1/mu + N/(4 nu))``: of the best flips of a level, and of the shares of the levels."""
        _, nu = levels(LEVELS_SHARE * mu * self._total / 8.0)
        return self._slope**2 * (1.0 / mu + self._total / (4.0 * nu))

    def _sorted(self, scores: Array) -> SortedMargins:
        return SortedMargins(scores, self._positive, self._rows, self.weights, self._memory)


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
        return FractionalRisk(positive, weights_of(sample_weight, positive), *self._coefficients)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the measure of the predictions ``scores > 0``."""
        positive = binary_labels(y)
        f = vector("scores", scores, length=positive.shape[0])
        weights = weights_of(sample_weight, positive)
        c = np.ones(f.shape[0]) if weights is None else weights
        predicted = f > 0.0
        hits, false = float(c[predicted & positive].sum()), float(c[predicted & ~positive].sum())
        return float(self._measure(hits, false, float(c[positive].sum())))

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return where to cut these scores so that the measure is highest; of equally good cuts the lowest."""
        positive = binary_labels(y)
        f = vector("scores", scores, length=positive.shape[0])
        weights = weights_of(sample_weight, positive)
        cuts = Cuts(f)
        c = np.ones(f.shape[0]) if weights is None else weights
        hits, false = cuts.above(c * positive), cuts.above(c * ~positive)
        return cuts.threshold(int(self._measure(hits, false, float(c[positive].sum())).argmax()))

    def _measure(self, hits: Any, false: Any, positives: float) -> Any:
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
