"""Gains of documents by their grades of relevance, and other functions that users may choose."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..._arrays import Array
from ..._validation import HEAVIEST

Function = Callable[[Array], ArrayLike]
#: Documents of higher grades would gain too much to be counted, if that is exponential.
HIGHEST_GRADE = math.log2(HEAVIEST)


def checked_function(
    name: str, value: str | Function | Sequence[float], known: tuple[str, ...]
) -> str | Function | tuple[float, ...]:
    """One of a few words, a function, or a tuple of numbers."""
    if callable(value) or (isinstance(value, str) and value in known):
        return value
    try:
        numbers = () if isinstance(value, str) else tuple(float(entry) for entry in value)
    except (TypeError, ValueError):
        numbers = ()
    if not numbers or not np.isfinite(numbers).all():
        words = ", ".join(map(repr, known))
        raise ValueError(f"{name} must be {words}, a function or a sequence of finite numbers, got {value!r}.")
    return numbers


def checked_gain(gain: str | Function | Sequence[float]) -> str | Function | tuple[float, ...]:
    """A gain that :func:`document_gains` takes."""
    return checked_function("gain", gain, ("exponential", "linear"))


def document_gains(gain: str | Function | Sequence[float], grades: Array) -> Array:
    """Gains of documents of some grades; see :class:`~smoothperf.measures.queries.ndcg.NDCG`.

    Examples
    --------
    >>> document_gains("exponential", np.array([0.0, 1.0, 4.0])).tolist()
    [0.0, 1.0, 15.0]
    """
    if gain == "linear":
        gains = grades
    elif gain == "exponential":
        with np.errstate(over="ignore"):
            gains = np.exp2(grades) - 1.0
    elif callable(gain):
        gains = numbers_of("gain", gain(grades), grades.shape)
    else:
        assert not isinstance(gain, str)
        gains = _entries(np.array(gain), grades)
    if gains.size and not 0.0 <= gains.min() <= gains.max() <= HEAVIEST:
        at = int(gains.argmax() if gains.max() > HEAVIEST else gains.argmin())
        hint = "use gain='linear', or smaller grades" if gain == "exponential" else "mend gain or y"
        raise ValueError(
            f"a document of grade {grades[at]:g} would gain {gains[at]:g}, which is not between 0 and "
            f"{HEAVIEST:g}; {hint}."
        )
    return gains


def can_gain(gain: str | Function | Sequence[float], grades: Array) -> bool:
    """Whether documents of these grades do not gain too much, where gains grow so that they could.

    Examples
    --------
    >>> can_gain("exponential", np.array([0.0, 2000.0])), can_gain("linear", np.array([0.0, 2000.0]))
    (False, True)
    """
    return gain != "exponential" or bool(grades.max(initial=0.0) <= HIGHEST_GRADE)


def unusual_gain(gain: str | Function | Sequence[float]) -> str:
    """Addition to the name of a measure whose gains are not the usual ones; nothing for these.

    Examples
    --------
    >>> unusual_gain("exponential"), unusual_gain("linear"), unusual_gain((0, 1, 3))
    ('', ', linear gains', ', other gains')
    """
    return {"exponential": "", "linear": ", linear gains"}.get(gain if isinstance(gain, str) else "", ", other gains")


def numbers_of(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Numbers that a function of the user's has returned, as new ones."""
    array = np.array(values, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"{name} must return a finite number for each entry of an array of shape {shape}.")
    return array


def _entries(table: Array, grades: Array) -> Array:
    """The entries of a table for grades that are whole numbers."""
    places = grades.astype(np.intp)
    wrong = (places != grades) | (places >= table.shape[0])
    if wrong.any():
        grade = grades[wrong][0]
        raise ValueError(f"gain has entries for the grades 0 to {table.shape[0] - 1}, but there is grade {grade:g}.")
    gains: Array = table[places]
    return gains
