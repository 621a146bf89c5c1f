r"""Penalties other than the quadratic one: sums over features, each with a cost and bounds of its own.

    Omega(w) = sum_i  s_i |w_i| + (q_i/2) w_i^2,      l_i <= w_i <= u_i                           (separable-penalty)

:class:`ElasticNet` has ``s_i = alpha rho c_i`` and ``q_i = alpha (1 - rho) c_i`` for an l1_ratio rho and factors c_i; 0
is always allowed. :class:`Separable` is the same for so many weights, and one place for all that the rest asks of it:

* its value, and the weights within its bounds;
* its conjugate ``Omega*(v) = max_w <v, w> - Omega(w)`` for the certificate, and the w that attains it. Without a
  quadratic part it is infinite as soon as some ``|v_i| > s_i``. But no minimiser of J costs more than ``ceiling``, a
  value of J that is known, so it is enough to look at the w with ``Omega(w) <= ceiling`` (docs/maths.md,
  capped-conjugate):

      Omega*(v) <= sum_{i bounded} max_w_i [v_i w_i - ...]  +  ceiling * max_{other i} (|v_i| / s_i - 1)_+

* how long w can be at most, and how far apart two w of similar J (for rounding bounds).

Everything costs O(d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arrays import Array
from .._validation import share
from ..threads import cached_property
from .penalties import Penalty, checked_strength

#: No weight of a feature without any penalty is larger, if its user gives no bounds. The certificate needs one, and
#: holds for weights within it. (:meth:`Separable.held` tells whether it mattered.)
UNPENALISED = 1e3


class Conjugate(NamedTuple):
    """``Omega*(v) <= value + ceiling * excess`` on all w with ``Omega(w) <= ceiling``."""

    value: float
    excess: float


@dataclass(frozen=True, eq=False)
class ElasticNet(Penalty):
    """``alpha sum_i c_i (rho |w_i| + (1 - rho)/2 w_i^2)`` within bounds: few features, signs that make sense.

    Parameters
    ----------
    alpha : float
        Its strength; above 0.
    l1_ratio : float, default=0.5
        rho, from 0 (no weight becomes zero by itself) to 1 (as few features as possible).
    factors : array-like of shape (d,), optional
        c, at least 0: how much the weight of each feature costs, 1 by default. A feature with factor 0 costs nothing;
        its weight stays within 1000 in size, unless it has bounds of its own.
    lower, upper : float or array-like of shape (d,), optional
        Bounds of the weights, at most 0 and at least 0; ``lower=0`` allows no negative weights. None by default.
    bias : bool, default=False
        Whether one more weight follows, that of a constant feature. It costs ``(alpha/2) w^2``, whatever is said about
        the others, and has no bounds.

    Examples
    --------
    >>> penalty = ElasticNet(0.1, l1_ratio=0.5, lower=0.0).on(2)
    >>> penalty.value(np.array([2.0, 0.0]), 4.0)
    0.2
    """

    alpha: float
    l1_ratio: float = 0.5
    factors: ArrayLike | None = None
    lower: ArrayLike | None = None
    upper: ArrayLike | None = None
    bias: bool = False
    is_quadratic: ClassVar[Literal[False]] = False

    @property
    def has_absolute_values(self) -> bool:
        """Whether the l1_ratio is above 0."""
        return self.l1_ratio > 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", checked_strength(self.alpha))
        share("l1_ratio", self.l1_ratio)

    def with_alpha(self, alpha: float) -> ElasticNet:
        """Return the same penalty in another strength."""
        return replace(self, alpha=alpha)

    def with_bias(self, bias: bool) -> ElasticNet:
        """Return the same penalty with one more weight, that of a constant feature, or without."""
        return replace(self, bias=bias)

    def on(self, n_features: int) -> Separable:
        """Return the penalty of so many weights, the bias among them."""
        d = n_features - self.bias
        factors = _numbers("penalty_factors", self.factors, 1.0, d)
        lower, upper = _numbers("lower", self.lower, -np.inf, d), _numbers("upper", self.upper, np.inf, d)
        for name, values, bad, rule in (
            ("penalty_factors", factors, ~((factors >= 0.0) & np.isfinite(factors)), "finite and at least 0"),
            ("lower", lower, ~(lower <= 0.0), "at most 0, as 0 must be allowed"),
            ("upper", upper, ~(upper >= 0.0), "at least 0, as 0 must be allowed"),
        ):
            if bad.any():
                at = int(np.flatnonzero(bad)[0])
                raise ValueError(f"{name} must be {rule}, got {values[at]} for feature {at}.")
        free = factors == 0.0
        implicit = np.where(free & np.isinf(lower) | free & np.isinf(upper), UNPENALISED, np.inf)
        lower, upper = np.maximum(lower, -implicit), np.minimum(upper, implicit)
        l1, l2 = self.l1_ratio * factors, (1.0 - self.l1_ratio) * factors
        if self.bias:
            l1, l2 = np.append(l1, 0.0), np.append(l2, 1.0)
            lower, upper = np.append(lower, -np.inf), np.append(upper, np.inf)
        return Separable(self.alpha, l1, l2, lower, upper)


@dataclass(frozen=True, eq=False)
class Separable(Penalty):
    """(separable-penalty) with ``s = alpha l1`` and ``q = alpha l2``.

    Parameters
    ----------
    alpha : float
        Its strength.
    l1, l2, lower, upper : ndarray of shape (d,)
        For each weight; where l1 and l2 are both 0, the bounds are finite.
    """

    alpha: float
    l1: Array
    l2: Array
    lower: Array
    upper: Array
    is_quadratic: ClassVar[Literal[False]] = False

    @property
    def has_absolute_values(self) -> bool:
        """Whether any weight pays for its absolute value."""
        return bool(self.l1.any())

    @property
    def has_free_weights(self) -> bool:
        """Whether any weight costs nothing within its bounds."""
        return bool(((self.l1 == 0.0) & (self.l2 == 0.0)).any())

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", checked_strength(self.alpha))

    @cached_property
    def s(self) -> Array:
        """The cost of a unit of ``|w_i|``."""
        return self.alpha * self.l1

    @cached_property
    def q(self) -> Array:
        """The curvature."""
        return self.alpha * self.l2

    def on(self, n_features: int) -> Separable:
        """Return itself, if it is that of so many weights."""
        if self.l1.shape != (n_features,):
            raise ValueError(f"the penalty is for {self.l1.shape[0]} weights, but X has {n_features} columns.")
        return self

    def with_alpha(self, alpha: float) -> Separable:
        """Return the same penalty in another strength."""
        return replace(self, alpha=alpha)

    def with_bias(self, bias: bool) -> Separable:
        """Return itself: which weights there are is settled."""
        return self

    def some(self, features: NDArray[np.intp]) -> Separable:
        """Return the penalty of some of the weights."""
        return Separable(self.alpha, *(each[features] for each in (self.l1, self.l2, self.lower, self.upper)))

    def in_units(self, sizes: Array) -> Separable:
        """Return the same penalty of weights that are measured in other units, ``v_i = sizes_i w_i``."""
        l1, l2 = self.l1 / sizes, self.l2 / sizes**2
        return Separable(self.alpha, l1, l2, sizes * self.lower, sizes * self.upper)

    def value(self, coef: Array, square: float) -> float:
        """``sum_i s_i |w_i| + (q_i/2) w_i^2``; infinite outside of bounds. The square is not needed."""
        support = np.flatnonzero(coef)
        w = coef[support]
        if (w < self.lower[support]).any() or (w > self.upper[support]).any():
            return math.inf
        return float(self.s[support] @ np.abs(w) + 0.5 * (self.q[support] @ (w * w)))

    def conjugate(self, v: Array, ceiling: float) -> Conjugate:
        """``Omega*(v)`` on all w with ``Omega(w) <= ceiling`` (capped-conjugate).

        Where there is a quadratic part it does not depend on the ceiling. Where there is none, a bound that is closer
        than the ceiling limits the weight.
        """
        beyond = np.flatnonzero(np.abs(v) > self.s)  # elsewhere w_i = 0
        size, s, q = np.abs(v[beyond]), self.s[beyond], self.q[beyond]
        reach = np.where(v[beyond] > 0.0, self.upper[beyond], -self.lower[beyond])
        excess = size - s
        curved = q > 0.0
        w = np.minimum(excess[curved] / q[curved], reach[curved])
        value = float(w @ (excess[curved] - 0.5 * q[curved] * w))
        flat = ~curved
        if not flat.any():
            return Conjugate(value, 0.0)
        size, s, reach, excess = size[flat], s[flat], reach[flat], excess[flat]
        near = s * reach <= ceiling
        value += float(reach[near] @ excess[near])
        return Conjugate(value, float((excess[~near] / s[~near]).max(initial=0.0)))

    def minimiser(self, slope: Array) -> Array:
        """``argmin_w Omega(w) + <a, w>``, which is the gradient of the conjugate at -a; there must be curvature."""
        return self.proximal(-slope, 0.0)

    def proximal(self, v: Array, curvature: float) -> Array:
        """``argmin_w Omega(w) - <v, w> + (curvature/2) |w|^2``: soft thresholds, within bounds."""
        w: Array = np.sign(v) * np.maximum(np.abs(v) - self.s, 0.0)
        with np.errstate(over="ignore"):
            w /= self.q + curvature
        return self.clip(w)

    def clip(self, coef: Array) -> Array:
        """The weights within the bounds that are closest."""
        within: Array = np.clip(coef, self.lower, self.upper)
        return within

    def softened(self, softness: float, ceiling: float) -> Separable:
        """Return the penalty with a little curvature where there is none.

        It adds ``softness`` to Omega(w) for weights as large as ``ceiling``, or their bounds, allow.
        """
        flat = self.l2 == 0.0
        if not flat.any():
            return self
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.minimum(np.maximum(-self.lower, self.upper), ceiling / self.s)
            extra = 2.0 * softness / self.alpha / np.clip(reach, 1e-50, 1e50) ** 2
        return replace(self, l2=np.where(flat, extra, self.l2))

    def radius(self, ceiling: float) -> float:
        """Of each kind of weight what its quadratic part, its absolute values or its bounds allow."""
        squares = 0.0
        for q, s, length in self._kinds:
            limits = [length]
            limits += [math.sqrt(2.0 * ceiling / q)] if q > 0.0 else []
            limits += [ceiling / s] if s > 0.0 else []
            squares += min(limits) * min(limits)  # infinite if it is too large, where a power would be an error
        return math.sqrt(squares)

    @cached_property
    def _kinds(self) -> list[tuple[float, float, float]]:
        """Of each kind of weight the smallest q and s, and the length of w if all were on their farther bounds."""
        reach = np.maximum(-self.lower, self.upper)
        curved = self.q > 0.0
        kinds = [kind for kind in (curved, ~curved & (self.s > 0.0), ~curved & (self.s == 0.0)) if kind.any()]
        return [(float(self.q[kind].min()), float(self.s[kind].min()), _length(reach[kind])) for kind in kinds]

    def distance(self, excess: float) -> float:
        """``sqrt(2 excess / min q)``; infinite if some weight has no curvature."""
        return math.sqrt(2.0 * excess / self._least_curvature) if self._least_curvature > 0.0 else math.inf

    @cached_property
    def _least_curvature(self) -> float:
        return float(self.q.min())

    def held(self, coef: Array) -> NDArray[np.intp]:
        """Weights without any penalty that lie on a bound of 1000, which is probably not the user's own."""
        free = (self.l1 == 0.0) & (self.l2 == 0.0)
        found: NDArray[np.intp] = np.flatnonzero(free & (np.abs(coef) == UNPENALISED))
        return found


def _length(vector: Array) -> float:
    """``|v|``, the same bits on processors of all kinds: the sum is exact, so that its order does not matter."""
    largest = float(np.abs(vector).max(initial=0.0))
    if not 0.0 < largest < math.inf:
        return largest
    return largest * math.sqrt(math.fsum(np.square(vector / largest).tolist()))


def _numbers(name: str, values: ArrayLike | None, default: float, length: int) -> Array:
    """One number for each feature; a single one is for all."""
    try:
        array = np.asarray(default if values is None else values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}.") from error
    if array.shape not in ((), (length,)):
        raise ValueError(f"{name} must have one number for each of {length} features, got shape {array.shape}.")
    return np.broadcast_to(array, (length,)).copy()
