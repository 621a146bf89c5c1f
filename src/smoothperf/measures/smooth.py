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

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import threads
from .._validation import binary_labels, vector, weights_of
from ..blocks import Blocks, Vector
from ..kernels import logistic_losses, squared_hinges
from ..kernels.selection import added
from .base import EPS, LONG_EPS, Array, Curvature, Measure, RiskValue
from .in_blocks import BlockRisk
from .row_block import RiskBlock

#: Rows for which a thread pays.
LEAST_ROWS = 1 << 16


class SmoothBlock(RiskBlock):
    """The rows of a :class:`SmoothRisk`, or some of them.

    The methods named for losses fill the gradient and return sums: of losses, of offsets, of ``gradient_i^2`` and of
    ``gradient_i direction_i``. A direction may be None.
    """

    def logistic(self, scores: Array, scale: float, direction: Array | None, gradient: Array) -> Sequence[float]:
        """Logistic losses."""
        np.abs(scores, out=gradient)
        np.negative(gradient, out=gradient)
        np.exp(gradient, out=gradient)  # at most 1, so it never overflows
        logs = None if self.weights is None else np.log1p(gradient)
        label = self.positive.view(np.uint8)
        return logistic_losses(
            scores,
            label,
            self.weights,
            logs,
            scale,
            direction,
            gradient,
            threads.pieces(scores.shape[0], least=LEAST_ROWS),
        )

    def logistic_curvature(self, gradient: Array, total: float) -> tuple[NDArray[np.intp], Array]:
        """Rows with second derivatives, and these: ``c p (1 - p) / N`` where the gradient is ``c p / N``."""
        rows = np.flatnonzero(gradient)
        slopes = np.abs(gradient[rows])
        chances = slopes * total if self.weights is None else slopes * total / self.weights[rows]
        return rows, slopes * np.maximum(0.0, 1.0 - chances)

    def squared_hinge_curvature(self, gradient: Array, total: float) -> tuple[NDArray[np.intp], Array]:
        """The same for squared hinges: ``2 c / N`` where there is any gradient."""
        rows = np.flatnonzero(gradient)
        return rows, np.full(rows.size, 2.0 / total) if self.weights is None else 2.0 / total * self.weights[rows]

    def squared_hinge(self, scores: Array, scale: float, direction: Array | None, gradient: Array) -> Sequence[float]:
        """Squared hinges."""
        pieces = threads.pieces(scores.shape[0], least=LEAST_ROWS)
        label = self.positive.view(np.uint8)
        return squared_hinges(scores, label, self.weights, scale, direction, gradient, pieces)


class SmoothRisk(BlockRisk):
    """A weighted mean of losses that are smooth.

    Parameters
    ----------
    blocks : Blocks
        Of :class:`SmoothBlock`.
    """

    shift_invariant: ClassVar[bool] = False
    sums_over_examples: ClassVar[bool] = True
    has_loss_free: ClassVar[bool] = False
    diameter = 0.0
    #: The method of the blocks, and the largest second derivative of the loss.
    method: ClassVar[str]
    largest_curvature: ClassVar[float]

    def __init__(self, blocks: Blocks):
        super().__init__(blocks)
        self.has_curvature = not blocks.far
        # Of sums blocked by 512, relative to the terms; docs/maths.md, rounding.
        self._rounding = 1024 * EPS + self.n_examples * LONG_EPS

    def exact(self, scores: Vector) -> RiskValue:
        """``R``, its gradient and the tangent plane, O(n)."""
        return self.smoothed(scores, 0.0)

    def exact_value(self, scores: Vector) -> float:
        """``R``, O(n)."""
        # With a gradient that nobody wants: the loop is faster with it than NumPy is without.
        total = self._totals.weight
        sums = self._blocks.each(self.method, scores, 1.0 / total, None, self._blocks.vectors.take())
        return added(sums)[0] / total

    def smoothed(self, scores: Vector, mu: float, hint: Any = None, direction: Vector | None = None) -> RiskValue:
        """The same as :meth:`exact`, whatever mu is; ``hint`` is not used."""
        gradient = self._blocks.vectors.take()
        total = self._totals.weight
        losses, offsets, squares, along = added(
            self._blocks.complete(self.method, scores, 1.0 / total, direction, gradient)
        )
        value = losses / total
        return RiskValue(
            value,
            gradient,
            offsets / total,
            value,
            self._rounding * self._size(value),
            ceiling=value,
            looseness=0.0,
            gradient_norm=math.sqrt(squares),
            derivative=math.nan if direction is None else along,
        )

    def lipschitz(self, mu: float) -> float:
        """The largest second derivative over N: the Hessian is diagonal."""
        return self.largest_curvature / self._totals.weight

    def curvature(self, smoothed: RiskValue, mu: float, following: float) -> Curvature:
        """The Hessian, which is diagonal and does not depend on mu; O(n)."""
        if not self.has_curvature:
            return super().curvature(smoothed, mu, following)
        ((rows, weights),) = self._blocks.each(f"{self.method}_curvature", smoothed.gradient, self._totals.weight)
        return Curvature(rows, weights, np.zeros(rows.size), centred=False)

    @abstractmethod
    def _size(self, value: float) -> float:
        """Of the terms of a plane, given R there: their sum, for the offset as for the gradient, is at most this."""


class LogRisk(SmoothRisk):
    """The risk (log-risk); made by :meth:`LogLoss.bind`."""

    method = "logistic"
    largest_curvature = 0.25

    def _size(self, value: float) -> float:
        return 1.0  # chances are at most 1, and the offset is a mean of entropies


class SquaredHingeRisk(SmoothRisk):
    """The risk (squared-hinge-risk); made by :meth:`SquaredHinge.bind`."""

    method = "squared_hinge"
    largest_curvature = 2.0

    def _size(self, value: float) -> float:
        return 1.0 + 2.0 * value  # at least the mean of 2 x + x^2


class SmoothMeasure(Measure):
    """What log loss and squared hinge share: minus the risk is the score, and scores are cut at 0."""

    fits_bias: ClassVar[bool] = True
    judges_decisions: ClassVar[bool] = False

    def block(self, positive: NDArray[np.bool_], weights: Array | None) -> SmoothBlock:
        """Return the part of the risk that has some of the rows."""
        return SmoothBlock(positive, weights)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Minus the mean loss: at most 0, higher is better."""
        positive = binary_labels(y)
        f = vector("scores", scores, length=positive.shape[0])
        return 0.0 - self.bind(positive, weights_of(sample_weight, positive)).exact_value(f)

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return 0: the bias has been trained."""
        return 0.0

    def threshold_of_blocks(self, blocks: Blocks, scores: Vector) -> float:
        """Return 0 as well."""
        return 0.0


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

    def bind_blocks(self, blocks: Blocks) -> LogRisk:
        """Return the convex risk (log-risk) for blocks of rows."""
        return LogRisk(blocks)


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

    def bind_blocks(self, blocks: Blocks) -> SquaredHingeRisk:
        """Return the convex risk (squared-hinge-risk) for blocks of rows."""
        return SquaredHingeRisk(blocks)
