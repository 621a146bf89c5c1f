"""What every measure promises: a score to report, and a convex risk to train with.

A :class:`Measure` knows no data. Bound to labels it becomes a :class:`Risk`, a convex function ``R`` of the score
vector ``f``. Every evaluation of a risk, exact or smoothed, is a cutting plane (docs/maths.md, eq. plane):

    R(f') >= <gradient, f'> + offset      for EVERY f'

Cutting-plane solvers use the planes as they are; smooth solvers use them as a lower bound of the optimum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validation import binary_labels, vector, weights_of
from ..blocks import Blocks, LocalVectors, OneBlock, Vector
from ..operating_point import threshold_for_weight, threshold_of_blocks
from .row_block import RiskBlock, Totals

Array = NDArray[np.float64]
#: Measures that :meth:`Measure.bind_blocks` works for, for messages.
IN_BLOCKS = (
    "prbep, precision@k, recall@k, roc_area, f1 and f-beta, jaccard, error_rate, balanced_error_rate, "
    "log_loss, squared_hinge, and goals such as average_precision and recall@precision=0.9"
)
#: Spacing of the numbers of the kernels next to 1, for rounding bounds.
EPS = float(np.finfo(np.float64).eps)
LONG_EPS = float(np.finfo(np.longdouble).eps)


@dataclass(frozen=True, slots=True)
class RiskValue:
    """A risk at one score vector, and the plane that goes with it.

    Attributes
    ----------
    value : float
        ``R(f)``, or ``R_mu(f)`` if smoothed, from below and up to ``error``.
    gradient : vector
        A subgradient of R, or the gradient of R_mu; where ``error > 0``, only about that.
    offset : float
        ``b`` of the plane.
    height : float
        ``<gradient, f> + b``: the plane at the scores it was made at. Equals ``value`` if exact;
        if smoothed, ``R(f) - height`` is how far the plane stays below the exact risk there.
    rounding : float
        Floating-point error of the plane: ``R(f') >= <gradient, f'> + b - rounding * (1 + max|f'|)`` holds
        rigorously.
    hint : object
        Where to start looking at nearby scores; pass it to the next :meth:`Risk.smoothed`. None if there is none.
    ceiling : float
        An upper bound of ``R(f)`` that is a by-product, up to rounding, and close; NaN if there is none.
    looseness : float
        ``ceiling - R(f)`` is at most this, up to rounding.
    error : float
        ``R_mu(f) - value`` is at most this, where a smoothed evaluation trades accuracy for speed.
    gradient_norm, derivative : float
        ``|gradient|``, and ``<gradient, direction>`` where a direction was given, if they are by-products; else NaN.
    """

    value: float
    gradient: Vector
    offset: float
    height: float
    rounding: float
    hint: Any = None
    ceiling: float = float("nan")
    looseness: float = float("inf")
    error: float = 0.0
    gradient_norm: float = float("nan")
    derivative: float = float("nan")


@dataclass(frozen=True, slots=True)
class Curvature:
    """The second derivative of a smoothed risk: ``diag(k) - k k^T / sum(k)``, or ``diag(k)``.

    Attributes
    ----------
    rows : ndarray of int
        The examples with ``k_i > 0``.
    weights : ndarray of float64
        ``k`` on these rows.
    change : ndarray of float64
        How the gradient changes on these rows when mu does, at the same scores and as long as the rows stay the same.
    centred : bool
        Whether it has the second term: labels are exchanged for one another, so that a shift changes nothing.
    """

    rows: NDArray[np.intp]
    weights: Array
    change: Array
    centred: bool = True


class Risk(ABC):
    """A convex function of the scores: the maximum of many planes, one for each way of being wrong.

    Attributes
    ----------
    n_examples : int
        Length of the score vectors.
    diameter : float
        ``D``, the largest value of the prox-function: ``R - mu D <= R_mu <= R``. 0 if R is smooth: ``R_mu = R``.
    weights : ndarray of shape (n,) or None
        The sample weights c, where the rows are in this process; None for ones.
    shift_invariant : bool
        Whether adding a constant to all scores changes nothing.
    has_curvature : bool
        Whether there is :meth:`curvature`.
    has_loss_free : bool
        Whether there is :meth:`loss_free`, and with it a tight bound.
    score_scale : float
        About how large scores are where loss and margins balance; weights are in proportion to it.
    sums_over_examples : bool
        Whether every example counts by itself, so that R is an ordinary mean.
    extra_rounding : float
        Values are off by as much times ``1 + max|f|``, beyond what is usual for a sum over examples.
    """

    n_examples: int
    diameter: float
    weights: Array | None
    shift_invariant: ClassVar[bool]
    has_curvature: bool = False
    has_loss_free: ClassVar[bool] = True
    score_scale: float = 1.0
    sums_over_examples: ClassVar[bool] = False
    extra_rounding: float = 0.0

    @abstractmethod
    def exact(self, scores: Vector) -> RiskValue:
        """``R`` and a subgradient."""

    @abstractmethod
    def exact_value(self, scores: Vector) -> float:
        """``R`` alone, which is cheaper than :meth:`exact`."""

    @abstractmethod
    def smoothed(self, scores: Vector, mu: float, hint: Any = None, direction: Vector | None = None) -> RiskValue:
        """``R_mu`` and its gradient. ``hint`` (from an earlier result) saves time and changes only rounding.

        If a direction is given, ``RiskValue.derivative`` is a by-product, for risks that can do it on the way.
        """

    @abstractmethod
    def lipschitz(self, mu: float) -> float:
        """``L`` with ``R_mu(f + h) <= R_mu(f) + <gradient, h> + (L/2) sum_i c_i h_i^2``: the weighted curvature."""

    def loss_free(self, scores: Vector) -> RiskValue:
        """``R0(f) = max_z <z - t, f>``: the same maximum without the loss, attained by the labeling that f chooses.

        Its gradient is ``z* - t``, its offset 0; see :mod:`smoothperf.solvers.retargeting`.
        """
        raise NotImplementedError(f"{type(self).__name__} is no maximum over labelings, so it has no tight bound.")

    def weighed(self, scores: Vector) -> Vector:
        """``C f``, from which the weighted mean of the scores was taken first if a shift changes nothing."""
        f = scores - np.average(scores, weights=self.weights) if self.shift_invariant else scores
        return f if self.weights is None else f * self.weights

    def curvature(self, smoothed: RiskValue, mu: float, following: float) -> Curvature:
        """Second derivative where ``smoothed`` was evaluated with ``mu``, for the mu to follow."""
        raise NotImplementedError(f"{type(self).__name__} has no second derivatives of the form that Curvature has.")


class Measure(ABC):
    """What to be good at; higher is better. Immutable, comparable and hashable.

    Attributes
    ----------
    fits_bias : bool
        Whether the measure cuts at score 0, so that a bias is fitted with the weights. The others only compare scores.
    """

    fits_bias: ClassVar[bool] = False

    @property
    def judges_decisions(self) -> bool:
        """Whether the score depends on which scores are above 0, and on nothing else."""
        return self.fits_bias

    @property
    @abstractmethod
    def name(self) -> str:
        """What :func:`~smoothperf.measures.get_measure` knows it by."""

    def bind(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Risk:
        """Return the convex risk of this measure for given labels.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels in {-1, +1} or {0, 1}; both classes must occur.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; an integer weight c stands for c copies of an example.
        """
        positive = binary_labels(y)
        block = self.block(positive, weights_of(sample_weight, positive))
        return self.bind_blocks(OneBlock(block, LocalVectors(positive.shape[0])))

    def block(self, positive: NDArray[np.bool_], weights: Array | None) -> RiskBlock:
        """Return the part of a risk that has some of the rows, to live where they are.

        Parameters
        ----------
        positive : ndarray of bool
            The positives among these rows; there may be none, or nothing else.
        weights : ndarray or None
            Their weights, checked; None for ones, and then in all blocks.
        """
        raise NotImplementedError(self._only_in_memory())

    def bind_blocks(self, blocks: Blocks) -> Risk:
        """Return the convex risk of this measure for blocks that :meth:`block` has made."""
        raise NotImplementedError(self._only_in_memory())

    def _only_in_memory(self) -> str:
        return f"{self.name} needs all rows in memory; the measures that work on rows in blocks are {IN_BLOCKS}."

    @abstractmethod
    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the measure itself, as one would report it for these scores."""

    def predicted_positive(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the weight of examples that the measure wants predicted positive: here, as much as is positive."""
        positive = binary_labels(y)
        return self.places(RiskBlock(positive, weights_of(sample_weight, positive)).totals())

    def places(self, totals: Totals) -> float:
        """Return the same, given what is known about the rows."""
        return totals.positive_weight

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return where the measure wants these scores cut: here, so that :meth:`predicted_positive` lies above."""
        positive = binary_labels(y)
        f = vector("scores", scores, length=positive.shape[0])
        weights = weights_of(sample_weight, positive)
        return threshold_for_weight(f, weights, self.predicted_positive(positive, weights))

    def tuned_threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return where scores of rows that were not trained on are best cut, whatever they were trained for."""
        return self.threshold(y, scores, sample_weight)

    def as_share(self, total: float) -> Measure:
        """Return the measure for parts of data with a given weight: a count becomes a share. Most have none."""
        return self

    def threshold_of_blocks(self, blocks: Blocks, scores: Vector) -> float:
        """Return :meth:`threshold` for rows in blocks, which :meth:`block` has made."""
        if type(self).threshold is not Measure.threshold:
            raise NotImplementedError(f"{self.name} needs all rows in memory to say where to cut their scores.")
        return threshold_of_blocks(blocks, scores, self.places(Totals.of(blocks.each("totals"))))
