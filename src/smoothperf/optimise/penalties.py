r"""The penalty of large weights: Omega in ``J(w) = Omega(w) + R(X w)``.

:class:`Quadratic` is ``(alpha/2) |w|^2``; :mod:`.elastic_net` has penalties with absolute values, and with bounds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from .._validation import positive_number

if TYPE_CHECKING:
    from .elastic_net import Separable


class Penalty(ABC):
    """A convex function of the weights, 0 at 0 and at least 0 everywhere.

    Attributes
    ----------
    alpha : float
        Its strength: all of it is in proportion to alpha, except bounds.
    is_quadratic : bool
        Whether it is ``(alpha/2) |w|^2``, so that inner products of weights are all that it asks for.
    has_absolute_values : bool
        Whether it makes weights exactly zero.
    """

    alpha: float
    is_quadratic: ClassVar[bool]

    @property
    @abstractmethod
    def has_absolute_values(self) -> bool:
        """Whether it makes weights exactly zero."""

    @abstractmethod
    def on(self, n_features: int) -> BoundPenalty:
        """Return the penalty of so many weights; a vector of another length is refused."""

    @abstractmethod
    def with_alpha(self, alpha: float) -> Penalty:
        """Return the same penalty in another strength."""

    @abstractmethod
    def with_bias(self, bias: bool) -> Penalty:
        """Return the same penalty for weights that end with that of a constant feature, or do not."""


@dataclass(frozen=True)
class Quadratic(Penalty):
    """``(alpha/2) |w|^2``, the penalty of support vector machines.

    Parameters
    ----------
    alpha : float
        Its strength, the paper's lambda; above 0.

    Examples
    --------
    >>> Quadratic(0.1).value(np.array([2.0, 0.0]), 4.0)
    0.2
    """

    alpha: float
    is_quadratic: ClassVar[Literal[True]] = True
    has_absolute_values: ClassVar[Literal[False]] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", checked_strength(self.alpha))

    def on(self, n_features: int) -> Quadratic:
        """Return itself: it is the same for any number of weights."""
        return self

    def with_alpha(self, alpha: float) -> Quadratic:
        """Return the same penalty in another strength."""
        return Quadratic(alpha)

    def with_bias(self, bias: bool) -> Quadratic:
        """Return itself: the weight of a constant feature is one like all others."""
        return self

    def value(self, coef: Array, square: float) -> float:
        """``(alpha/2) |w|^2``, given the square; in any space, as that is all that counts."""
        return self.alpha / 2.0 * square

    def clip(self, coef: Array) -> Array:
        """Return the weights themselves: there are no bounds."""
        return coef

    def held(self, coef: Array) -> NDArray[np.intp]:
        """None: every weight has its penalty."""
        return np.empty(0, dtype=np.intp)

    def radius(self, ceiling: float) -> float:
        """``sqrt(2 ceiling / alpha)``, which bounds ``|w|`` for all w with ``Omega(w) <= ceiling``."""
        return math.sqrt(2.0 * ceiling / self.alpha)

    def distance(self, excess: float) -> float:
        """``sqrt(2 excess / alpha)``, as J is alpha-strongly convex.

        It bounds ``|w - w*|`` for the minimiser w* of J, where ``J(w) <= J(w*) + excess``.
        """
        return math.sqrt(2.0 * excess / self.alpha)


#: A penalty of a given number of weights: what objectives, bounds and solvers work with.
BoundPenalty: TypeAlias = "Quadratic | Separable"


def capped(value: float, excess: float, ceiling: float) -> float:
    """``value + excess * ceiling``; an infinite ceiling that is not needed adds nothing."""
    return value + excess * ceiling if excess > 0.0 else value


def as_penalty(penalty: float | Penalty) -> Penalty:
    """A number is the alpha of a quadratic penalty.

    Examples
    --------
    >>> as_penalty(0.1)
    Quadratic(alpha=0.1)
    """
    return penalty if isinstance(penalty, Penalty) else Quadratic(penalty)


def checked_strength(alpha: Any) -> float:
    """Alpha as a number, which must be above 0."""
    return positive_number("alpha", alpha, hint="It is the strength of the regulariser; try 1e-4.")
