"""The penalty that an estimator's parameters describe, feature by feature: ``positive``, bounds and factors.

Numbers for single features come as a vector in the order of the columns, as a dict by name or position, or as a Series
of pandas, which is read by its index, as a dict is: its order means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np

from .._arrays import Array
from .._validation import shown
from ..optimise.elastic_net import ElasticNet
from ..optimise.penalties import Penalty, Quadratic
from ..tasks.features import Columns
from ..threads import cached_property

#: Longest text of a value that an error shows.
LONGEST = 60


def penalty_by_feature(
    l1_ratio: float,
    positive: Any,
    coef_bounds: Any,
    penalty_factors: Any,
    n_features: int,
    columns: Columns,
) -> Penalty:
    """The penalty that an estimator's parameters describe, in strength 1, for features without a bias.

    Examples
    --------
    >>> penalty_by_feature(0.5, False, (None, 1.0), {"income": 3.0}, 2, Columns(["age", "income"]))
    ElasticNet(alpha=1.0, l1_ratio=0.5, factors=array([1., 3.]), lower=None, upper=array([1., 1.]), bias=False)
    """
    features = Features(n_features, columns.names)
    nonnegative = _checked_positive(positive)
    factors = _factors(penalty_factors, features)
    lower, upper = _bounds(coef_bounds, features)
    _check_bounds(lower, upper, features)
    if nonnegative:
        lower = np.maximum(lower, 0.0)
    if columns.bounds is not None:
        lower, upper = np.maximum(lower, columns.bounds[0]), np.minimum(upper, columns.bounds[1])
    if not (lower.any() or upper.any()):
        both = "positive=True with these coef_bounds leaves" if nonnegative else "coef_bounds leave"
        raise ValueError(f"{both} no weight but 0 to any feature: nothing can be trained. Allow some weights.")
    low, high = (None if np.isinf(side).all() else side for side in (lower, upper))
    if l1_ratio == 0.0 and factors is None and low is None and high is None:
        return Quadratic(1.0)
    return ElasticNet(1.0, l1_ratio, factors, low, high)


def _checked_positive(positive: Any) -> bool:
    """Whether no weight may be negative, for all features or for none."""
    if not isinstance(positive, (bool, np.bool_)):
        raise ValueError(
            f"positive must be True or False, for all features, got {_brief(positive)}; for some of them use "
            "coef_bounds={feature: (0, None)}."
        )
    return bool(positive)


@dataclass(frozen=True)
class Features:
    """Columns of X, with their names in messages.

    Examples
    --------
    >>> features = Features(2, ["age", "income"])
    >>> features.named(1), Features(2).named(1)
    ("feature 'income'", 'feature 1')
    >>> features.numbers("penalty_factors", {"income": 2.0}, 1.0)
    array([1., 2.])
    """

    count: int
    names: Any = None

    def named(self, place: int) -> str:
        """Name of a feature in a message."""
        return f"feature {place}" if self.names is None else f"feature {str(self.names[place])!r}"

    def place(self, argument: str, key: Any) -> int:
        """Position of a feature that a user names, or whose position is given."""
        if isinstance(key, str) and key in self._places:
            return self._places[key]
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and 0 <= key < self.count:
            return int(key)
        known = "none has a name" if self.names is None else f"such as {', '.join(list(self._places)[:3])}"
        near = get_close_matches(key, self._places, n=1) if isinstance(key, str) else []
        remedy = f"Did you mean {near[0]!r}?" if near else f"Positions are from 0 to {self.count - 1}."
        raise ValueError(f"{argument} has no feature {shown(key)} to speak of: X has {self.count}, {known}. {remedy}")

    @cached_property
    def _places(self) -> dict[str, int]:
        return {} if self.names is None else {str(name): place for place, name in enumerate(self.names)}

    def numbers(self, argument: str, given: Any, default: float) -> Array:
        """One number for each feature; a single number is for all, and what a dict or a Series leaves out is default.

        ``argument`` is what messages call it.
        """
        if _has_index(given):
            index = list(given.index)
            if len(set(index)) < len(index):
                twice = next(key for key in index if index.count(key) > 1)
                raise ValueError(f"{argument} has {shown(twice)} more than once in its index; give each feature once.")
            given = dict(zip(index, given.to_numpy(), strict=True))
        if isinstance(given, Mapping):
            values = np.full(self.count, default)
            for key, value in given.items():
                place = self.place(argument, key)
                values[place] = _number(f"{argument} of {self.named(place)}", value)
            return values
        wanted = f"{argument} must be a number, one for each of {self.count} features in their order, or a dict"
        if isinstance(given, (str, bytes)):
            raise ValueError(f"{wanted}; got {_brief(given)}.")
        try:
            raw = np.asarray(given)
            array = raw.astype(np.float64) if raw.dtype.kind in "biufO" else None
        except (TypeError, ValueError):
            array = None
        if array is None:
            raise ValueError(f"{wanted}; got {_brief(given)}.")
        if array.shape not in ((), (self.count,)):
            raise ValueError(
                f"{argument} must have one number for each of {self.count} features, got shape {array.shape}."
            )
        return np.broadcast_to(array, (self.count,)).copy()


def _factors(given: Any, features: Features) -> Array | None:
    if given is None:
        return None
    factors = features.numbers("penalty_factors", given, 1.0)
    if (bad := np.flatnonzero(~((factors >= 0.0) & np.isfinite(factors)))).size:
        raise ValueError(
            f"penalty_factors must be finite and at least 0, got {factors[bad[0]]} for {features.named(bad[0])}."
        )
    return factors


def _bounds(given: Any, features: Features) -> tuple[Array, Array]:
    """Lower and upper bounds of the weights, infinite where there are none."""
    open_ends = np.full(features.count, -np.inf), np.full(features.count, np.inf)
    if given is None:
        return open_ends
    if isinstance(given, Mapping):
        for key, pair in given.items():
            place = features.place("coef_bounds", key)
            for side, value in enumerate(_pair(features.named(place), pair)):
                open_ends[side][place] = value
        return open_ends
    # Of two features an array of numbers may be lower and upper bounds, or a pair for each.
    is_rows = isinstance(given, np.ndarray) and given.shape == (2, features.count) and features.count != 2
    if not is_rows and (not isinstance(given, (tuple, list)) or len(given) != 2):
        raise ValueError(
            "coef_bounds must be (lower, upper), each None, a number or one for each feature, or a dict of such pairs "
            f"by feature; got {_brief(given)}."
        )
    lower, upper = (
        ends if side is None else features.numbers(f"coef_bounds ({name})", side, ends[0])
        for name, side, ends in zip(("lower", "upper"), given, open_ends, strict=True)
    )
    return lower, upper


def _pair(feature: str, pair: Any) -> tuple[float, float]:
    """The bounds of one feature."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ValueError(f"coef_bounds of {feature} must be (lower, upper), each a number or None, got {_brief(pair)}.")
    lower, upper = (
        end if value is None else _number(f"coef_bounds of {feature}", value)
        for value, end in zip(pair, (-np.inf, np.inf), strict=True)
    )
    return lower, upper


def _check_bounds(lower: Array, upper: Array, features: Features) -> None:
    """Refuse bounds between which there is nothing, or not 0, which every weight may be."""
    for bad, problem in (
        (np.isnan(lower) | np.isnan(upper), "a bound that is not a number; -inf or inf, or None, is no bound"),
        (lower > upper, "a lower bound above the upper one; swap them"),
        (
            lower > 0.0,
            "a lower bound above 0, which must be allowed; a lower bound is at most 0, an upper one at least 0",
        ),
        (
            upper < 0.0,
            "an upper bound below 0, which must be allowed; a lower bound is at most 0, an upper one at least 0",
        ),
    ):
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            pair = f"({lower[at]:g}, {upper[at]:g})"
            raise ValueError(f"coef_bounds of {features.named(at)} are {pair}: {problem}.")


def _number(what: str, value: Any) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise ValueError(f"{what} must be a number, got {_brief(value)}.")
    return float(value)


def _has_index(values: Any) -> bool:
    """Whether values are a Series of pandas, or similar, whose index says what they belong to."""
    return hasattr(values, "index") and hasattr(values, "to_numpy") and not hasattr(values, "columns")


def _brief(value: Any) -> str:
    """A value for a message: of many numbers what they are and how many."""
    if hasattr(value, "shape") and getattr(value, "ndim", 0) > 0:
        return f"a {type(value).__name__} of shape {tuple(value.shape)}"
    text = shown(value)
    if len(text) <= LONGEST:
        return text
    if isinstance(value, (list, tuple, dict, set)):
        return f"a {type(value).__name__} of {len(value)} entries"
    return f"{text[:LONGEST]}..."
