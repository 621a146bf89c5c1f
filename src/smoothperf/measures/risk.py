"""A convex function of the scores to train with, which every measure binds to labels.

Every evaluation of a :class:`Risk` ``R``, exact or smoothed, is a cutting plane (docs/maths.md, eq. plane):

    R(f') >= <gradient, f'> + offset      for EVERY f'

Cutting-plane solvers use the planes as they are; smooth solvers use them as a lower bound of the optimum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .._arrays import Array
from .curvature import Curvature
from .examples import Supervision

#: Spacing of the numbers of the kernels next to 1, for rounding bounds.
EPS = float(np.finfo(np.float64).eps)
LONG_EPS = float(np.finfo(np.longdouble).eps)


class Plane(NamedTuple):
    """``R(f') >= <gradient, f'> + offset - rounding * (1 + max|f'|)`` for every f', rigorously.

    Attributes
    ----------
    gradient : ndarray
        A subgradient of R, or the gradient of R_mu, of the examples of this process.
    offset : float
        ``b`` of the plane.
    rounding : float
        Floating-point error of the plane.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf import PRBEP
    >>> risk = PRBEP().bind([1, 1, -1, -1])
    >>> plane = risk.exact(np.array([2.0, -1.0, 0.5, 0.0])).plane
    >>> other = np.array([0.0, 1.0, 0.0, -2.0])
    >>> bool(plane.gradient @ other + plane.offset <= risk.exact_value(other))   # below the risk everywhere
    True
    """

    gradient: Array
    offset: float
    rounding: float


class Interval(NamedTuple):
    """Bounds of a number, up to rounding.

    Parameters
    ----------
    low, high : float
        The bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf import PRBEP
    >>> risk, scores = PRBEP().bind([1, 1, -1, -1]), np.array([2.0, -1.0, 0.5, 0.0])
    >>> low, high = risk.smoothed(scores, mu=0.1).exact
    >>> low <= risk.exact_value(scores) <= high
    True
    """

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RiskValue:
    """A risk at one score vector: the plane there, and what came with it.

    Attributes
    ----------
    plane : Plane
        Below the exact risk everywhere.
    value : float
        ``R(f)``, or ``R_mu(f)`` or a little less if smoothed.
    height : float
        ``<gradient, f> + offset``: the plane at the scores it was made at. Equals ``value`` if exact;
        if smoothed, ``R(f) - height`` is how far the plane stays below the exact risk there.
    exact : Interval or None
        Bounds of ``R(f)`` itself, where they are a by-product.
    hint : object or None
        A start of the search at nearby scores; pass it to the next :meth:`Risk.smoothed`.
    derivative : float or None
        ``<gradient, direction>`` of all examples, where a direction was given and it is a by-product.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf import PRBEP
    >>> risk, scores = PRBEP().bind([1, 1, -1, -1]), np.array([2.0, -1.0, 0.5, 0.0])
    >>> exact, smoothed = risk.exact(scores), risk.smoothed(scores, mu=0.1)
    >>> exact.value == exact.height, exact.value - 0.1 * risk.diameter <= smoothed.value <= exact.value
    (True, True)
    """

    plane: Plane
    value: float
    height: float
    exact: Interval | None = None
    hint: object | None = None
    derivative: float | None = None


class Risk(ABC):
    """A convex function of the scores: the maximum of many planes, one for each way of being wrong.

    In a group of processes (:mod:`smoothperf.communicator`) score vectors and gradients are those of the examples of
    this process; values, offsets and derivatives are those of all, the same on every member.

    Parameters
    ----------
    examples : Supervision
        Labels and weights.

    Attributes
    ----------
    examples : Supervision
        The same.
    diameter : float
        ``D``, the largest value of the prox-function: ``R - mu D <= R_mu <= R``. 0 if R is smooth: ``R_mu = R``.
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

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf import ROCArea
    >>> risk = ROCArea().bind([1, 1, -1])
    >>> risk.exact_value(np.array([1.0, 0.0, -1.0]))   # both pairs have the right order, by a margin of 1 at least
    0.0
    >>> risk.exact_value(np.zeros(3)), risk.shift_invariant
    (1.0, True)
    """

    examples: Supervision
    diameter: float
    shift_invariant: ClassVar[bool]
    has_curvature: bool = False
    has_loss_free: ClassVar[bool] = True
    score_scale: float = 1.0
    sums_over_examples: ClassVar[bool] = False
    extra_rounding: float = 0.0

    def __init__(self, examples: Supervision):
        self.examples = examples

    @abstractmethod
    def exact(self, scores: Array) -> RiskValue:
        """``R`` and a subgradient.

        Parameters
        ----------
        scores : ndarray of shape (n,)
            Those of the examples of this process.

        Returns
        -------
        value : RiskValue
            The plane there, and what came with it.
        """

    @abstractmethod
    def exact_value(self, scores: Array) -> float:
        """``R`` alone, which is cheaper than :meth:`exact`.

        Parameters
        ----------
        scores : ndarray of shape (n,)
            Those of the examples of this process.

        Returns
        -------
        value : float
            ``R(f)``.
        """

    @abstractmethod
    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """``R_mu`` and its gradient. ``hint`` (from an earlier result) saves time and changes only rounding.

        If a direction is given, ``RiskValue.derivative`` is a by-product, for risks that can do it on the way. The
        gradient is written to ``out`` if that is given.

        Parameters
        ----------
        scores : ndarray of shape (n,)
            Those of the examples of this process.
        mu : float
            The smoothing, above 0 unless R is smooth.
        hint : object, optional
            ``RiskValue.hint`` of an earlier result.
        direction : ndarray of shape (n,), optional
            Along which the derivative is wanted.
        out : ndarray of shape (n,), optional
            Memory for the gradient.

        Returns
        -------
        value : RiskValue
            The plane there, and what came with it.
        """

    @abstractmethod
    def lipschitz(self, mu: float) -> float:
        """``L`` with ``R_mu(f + h) <= R_mu(f) + <gradient, h> + (L/2) sum_i c_i h_i^2``: the weighted curvature.

        Parameters
        ----------
        mu : float
            The smoothing.

        Returns
        -------
        bound : float
            L.
        """

    def loss_free(self, scores: Array) -> RiskValue:
        """``R0(f) = max_z <z - t, f>``: the same maximum without the loss, attained by the labeling that f chooses.

        Its gradient is ``z* - t``, its offset 0; see :mod:`smoothperf.optimise.retargeting`.

        Parameters
        ----------
        scores : ndarray of shape (n,)
            Those of the examples of this process.

        Returns
        -------
        value : RiskValue
            The plane there, and what came with it.
        """
        raise NotImplementedError(f"{type(self).__name__} is no maximum over labelings, so it has no tight bound.")

    def closer_bound(self) -> Risk | None:
        """The same R with a tight bound that is closer to the loss, for where its own is least at zero weights.

        None if there is no other.

        Returns
        -------
        risk : Risk or None
            The same R.
        """
        return None

    def weighed(self, scores: Array) -> Array:
        """``C f``, from which the weighted mean of the scores was taken first if a shift changes nothing.

        Parameters
        ----------
        scores : ndarray of shape (n,)
            Those of the examples of this process.

        Returns
        -------
        weighed : ndarray of shape (n,)
            For the same examples.
        """
        f = scores - self.examples.mean(scores) if self.shift_invariant else scores
        return f if self.examples.weights is None else f * self.examples.weights

    def curvature(self, scores: Array, smoothed: RiskValue, mu: float, following: float) -> Curvature:
        """Second derivative at scores where ``smoothed`` was found with ``mu``, for the mu to follow.

        Parameters
        ----------
        scores : ndarray of shape (n,)
            Those of the examples of this process.
        smoothed : RiskValue
            The result there.
        mu : float
            The smoothing of that result.
        following : float
            The smoothing of the next one.

        Returns
        -------
        curvature : Curvature
            On the examples where it is not 0.
        """
        raise NotImplementedError(f"{type(self).__name__} has no second derivatives of the form that Curvature has.")
