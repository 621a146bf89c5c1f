r"""Log loss and squared hinge: the risks of logistic regression and of the usual linear support vector machine.

With weights ``c`` and ``N = sum c``,

    R(f) = (1/N) sum_i c_i log(1 + exp(-y_i f_i))                                                    (log-risk)
    R(f) = (1/N) sum_i c_i max(0, 1 - y_i f_i)^2                                           (squared-hinge-risk)

They are smooth as they are: ``R_mu = R`` for every mu, ``D = 0``, and every evaluation is a tangent plane. One pass
over the scores, O(n) (:mod:`smoothperf.kernels._pointwise`), after NumPy's exponentials.

The minimiser of J is that of scikit-learn's ``LogisticRegression`` and ``LinearSVC(loss="squared_hinge")`` with
``C = 1 / (alpha N)``. These measures cut at score 0, so a bias is fitted with the weights, as in ``LinearSVC``.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import threads
from .._arrays import Array
from ..kernels import logistic_losses, squared_hinges
from .base import Measure
from .curvature import Curvature
from .examples import Examples
from .risk import EPS, LONG_EPS, Interval, Plane, Risk, RiskValue

#: Rows for which a thread pays.
LEAST_ROWS = 1 << 16


class SmoothRisk(Risk):
    """A weighted mean of losses that are smooth.

    Parameters
    ----------
    examples : Examples
        Labels and weights.
    """

    examples: Examples
    shift_invariant: ClassVar[bool] = False
    sums_over_examples: ClassVar[bool] = True
    has_loss_free: ClassVar[bool] = False
    diameter = 0.0
    #: The largest second derivative of the loss.
    largest_curvature: ClassVar[float]

    def __init__(self, examples: Examples):
        super().__init__(examples)
        self.has_curvature = examples.alone
        # Of sums blocked by 512, relative to the terms, with a surplus for those over members; docs/maths.md, rounding.
        self._rounding = 1024 * EPS + examples.count * LONG_EPS

    def exact(self, scores: Array) -> RiskValue:
        """``R``, its gradient and the tangent plane, O(n)."""
        return self.smoothed(scores, 0.0)

    def exact_value(self, scores: Array) -> float:
        """``R``, O(n). The gradient is computed and dropped: the loop is faster with it than NumPy is without."""
        return self.exact(scores).value

    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """The same as :meth:`exact`, whatever mu is; ``hint`` is not used."""
        gradient = np.empty_like(scores) if out is None else out
        losses, offsets, along = self.examples.total(*self._losses(scores, direction, gradient))
        value = losses / self.examples.weight
        return RiskValue(
            Plane(gradient, offsets / self.examples.weight, self._rounding * self._size(value)),
            value,
            value,
            exact=Interval(value, value),
            derivative=None if direction is None else along,
        )

    def lipschitz(self, mu: float) -> float:
        """The largest second derivative over N: the Hessian is diagonal."""
        return self.largest_curvature / self.examples.weight

    def curvature(self, scores: Array, smoothed: RiskValue, mu: float, following: float) -> Curvature:
        """The Hessian, which is diagonal and does not depend on mu; O(n)."""
        if not self.has_curvature:
            return super().curvature(scores, smoothed, mu, following)
        gradient = smoothed.plane.gradient
        rows = np.flatnonzero(gradient)
        weights = 1.0 if self.examples.weights is None else self.examples.weights[rows]
        return Curvature(rows, self._second(np.abs(gradient[rows]), weights), np.zeros(rows.size), centred=False)

    @abstractmethod
    def _losses(self, scores: Array, direction: Array | None, gradient: Array) -> tuple[float, float, float]:
        """Fill the gradient of the examples here; return sums of losses, offsets and ``gradient_i direction_i``."""

    @abstractmethod
    def _second(self, slopes: Array, weights: Array | float) -> Array:
        """Second derivatives of R by the scores of some examples, given ``|gradient|`` there and their weights."""

    @abstractmethod
    def _size(self, value: float) -> float:
        """Of the terms of a plane, given R there: their sum, for the offset as for the gradient, is at most this."""

    def _arguments(self, scores: Array) -> tuple[Array, NDArray[np.uint8], Array | None]:
        """The first arguments of the loops."""
        return scores, self.examples.positive.view(np.uint8), self.examples.weights


class LogRisk(SmoothRisk):
    """The risk (log-risk); made by :meth:`LogLoss.risk`."""

    largest_curvature = 0.25

    def _losses(self, scores: Array, direction: Array | None, gradient: Array) -> tuple[float, float, float]:
        np.abs(scores, out=gradient)
        np.negative(gradient, out=gradient)
        np.exp(gradient, out=gradient)  # at most 1, so it never overflows
        logs = None if self.examples.weights is None else np.log1p(gradient)
        pieces = threads.pieces(scores.shape[0], least=LEAST_ROWS)
        return logistic_losses(*self._arguments(scores), logs, 1.0 / self.examples.weight, direction, gradient, pieces)

    def _second(self, slopes: Array, weights: Array | float) -> Array:
        # ``c p (1 - p) / N`` where the gradient is ``c p / N``.
        return slopes * np.maximum(0.0, 1.0 - slopes * self.examples.weight / weights)

    def _size(self, value: float) -> float:
        return 1.0  # chances are at most 1, and the offset is a mean of entropies


class SquaredHingeRisk(SmoothRisk):
    """The risk (squared-hinge-risk); made by :meth:`SquaredHinge.risk`."""

    largest_curvature = 2.0

    def _losses(self, scores: Array, direction: Array | None, gradient: Array) -> tuple[float, float, float]:
        pieces = threads.pieces(scores.shape[0], least=LEAST_ROWS)
        return squared_hinges(*self._arguments(scores), 1.0 / self.examples.weight, direction, gradient, pieces)

    def _second(self, slopes: Array, weights: Array | float) -> Array:
        return np.full(slopes.size, 2.0 / self.examples.weight) * weights  # where there is any slope

    def _size(self, value: float) -> float:
        return 1.0 + 2.0 * value  # at least the mean of 2 x + x^2


class SmoothMeasure(Measure):
    """Base of log loss and squared hinge: minus the risk is the score, and scores are cut at 0."""

    fits_bias: ClassVar[bool] = True
    judges_decisions: ClassVar[bool] = False

    def score_of(self, examples: Examples, scores: Array) -> float:
        """Minus the mean loss: at most 0, higher is better."""
        return 0.0 - self.risk(examples).exact_value(scores)


@dataclass(frozen=True)
class LogLoss(SmoothMeasure):
    """Log loss of the chance ``1 / (1 + exp(-f))`` of a positive, with the natural logarithm: logistic regression.

    The *score* is minus the mean loss, as scikit-learn's ``neg_log_loss`` for these chances: higher is better.

    Examples
    --------
    >>> from smoothperf import LogLoss
    >>> round(LogLoss().score([1, -1], [0.0, 0.0]), 4)
    -0.6931
    >>> round(LogLoss().score([1, -1, -1], [2.0, -1.0, 0.5]), 4)
    -0.4714
    """

    name: ClassVar[str] = "log_loss"

    def risk(self, examples: Examples) -> LogRisk:
        """Return the convex risk (log-risk)."""
        return LogRisk(examples)


@dataclass(frozen=True)
class SquaredHinge(SmoothMeasure):
    """Squared hinge, ``max(0, 1 - y f)^2``: the loss of scikit-learn's ``LinearSVC`` by default.

    The *score* is minus the mean loss: higher is better.

    Examples
    --------
    >>> from smoothperf import SquaredHinge
    >>> SquaredHinge().score([1, -1, -1], [2.0, -1.0, 0.5])
    -0.75
    """

    name: ClassVar[str] = "squared_hinge"

    def risk(self, examples: Examples) -> SquaredHingeRisk:
        """Return the convex risk (squared-hinge-risk)."""
        return SquaredHingeRisk(examples)
