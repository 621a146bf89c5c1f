"""Checks of what users pass in. Every message names the argument, the value that came and what to do about it."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import Array

#: Most weight of a class: pairs have the product of two such weights, which is squared.
HEAVIEST = 1e70


def shown(label: Any) -> str:
    """Return a label as people write it in Python: no NumPy around it.

    Examples
    --------
    >>> shown(np.str_("yes")), shown(np.int64(1))
    ("'yes'", '1')
    """
    return repr(label.item() if isinstance(label, np.generic) else label)


def positive_number(name: str, value: Any, *, hint: str = "") -> float:
    """A finite number above zero, as float."""
    if isinstance(value, bool) or not isinstance(value, Real) or not (0.0 < float(value) < math.inf):
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}.{' ' + hint if hint else ''}")
    return float(value)


def share(name: str, value: Any) -> float:
    """A number from 0 to 1, as float."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
        raise ValueError(f"{name} must lie between 0 and 1, got {value!r}.")
    return float(value)


def whole_number(name: str, value: Any, *, at_least: int) -> int:
    """An integer that is not below ``at_least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, got {value!r}.")
    return int(value)


def choice(name: str, value: Any, known: tuple[str, ...]) -> str:
    """One of a few words."""
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}.")
    return str(value)


def vector(name: str, values: ArrayLike, *, length: int | None = None) -> Array:
    """A finite float64 vector, contiguous, of the given length; not copied if it already is one."""
    try:
        if np.iscomplexobj(values := np.asarray(values)):
            raise ValueError("they are complex; give their real parts, if these are meant")
        array = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a vector of numbers: {error}.") from error
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, got shape {np.shape(values)}; use .ravel() if that is meant."
        )
    if length is not None and array.shape[0] != length:
        raise ValueError(f"{name} has {array.shape[0]} entries but there are {length} examples; they must match.")
    if not np.isfinite(array).all():
        at = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite, got {array[at]} at position {at}; remove or replace such entries.")
    return array


def binary_labels(y: ArrayLike) -> NDArray[np.bool_]:
    """Mask of the positives of labels in {-1, +1}, {0, 1} or {False, True}; both classes must occur."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {labels.shape}; use .ravel() if that is meant.")
    if labels.shape[0] == 0:
        raise ValueError("y is empty: at least one positive and one negative example are needed.")
    if labels.dtype == np.bool_ and labels.any() and not labels.all():
        return np.ascontiguousarray(labels)
    try:
        values = np.unique(labels).tolist()
    except TypeError:  # of several kinds, such as None among numbers
        values = list(dict.fromkeys(labels.tolist()))
    if not (set(values) <= {-1, 1} or set(values) <= {0, 1}):
        shown = ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")
        raise ValueError(
            f"y must hold labels in {{-1, +1}} or {{0, 1}}, got the values {shown}; map your labels first."
        )
    if len(values) < 2:
        raise ValueError(f"y has one class only, all {values[0]!r}: a measure needs positive and negative examples.")
    positive: NDArray[np.bool_] = np.ascontiguousarray(labels > 0)
    return positive


def weights_of(sample_weight: ArrayLike | None, positive: NDArray[np.bool_]) -> Array | None:
    """Checked sample weights, or None; both classes must keep some weight."""
    if sample_weight is None:
        return None
    weights = vector("sample_weight", sample_weight, length=positive.shape[0])
    if weights.min() < 0.0:
        at = int(weights.argmin())
        raise ValueError(f"sample_weight must not be negative, got {weights[at]} at position {at}.")
    for name, members in (("positive", positive), ("negative", ~positive)):
        if not weights[members].any():
            # The second sentence is scikit-learn's wording for weights that are all zero, which its checks look for.
            more = "" if weights.any() else " Sample weights must contain at least one non-zero number."
            raise ValueError(f"sample_weight is 0 for every {name} example; each class needs some weight.{more}")
        with np.errstate(over="ignore"):
            check_mass(name, float(weights[members].sum()))
    return weights


def check_mass(name: str, mass: float) -> None:
    """Refuse the weight of a class if squares of what is made of it, and of the other one, cannot be held."""
    if not 1.0 / HEAVIEST <= mass <= HEAVIEST:
        raise ValueError(
            f"sample_weight adds up to {mass:g} for the {name} examples, which is not between {1.0 / HEAVIEST:g} and "
            f"{HEAVIEST:g}; multiply all weights by one constant, which changes nothing else."
        )
