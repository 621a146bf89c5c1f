"""Whether objects are what their classes say: for those that are made of what somebody's file says."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np


def check_attributes(thing: Any) -> None:
    """Refuse an object with an attribute that is not of the type that its class says.

    Examples
    --------
    >>> from smoothperf import QueryROCArea
    >>> check_attributes(QueryROCArea())
    >>> measure = QueryROCArea()
    >>> object.__setattr__(measure, "weighting", ["queries"])
    >>> check_attributes(measure)
    Traceback (most recent call last):
    ...
    ValueError: weighting of a QueryROCArea cannot be the list that is there
    """
    kind: Any = type(thing)
    for name, value in vars(thing).items():
        if not fits(value, _hints(kind).get(name, Any)):
            raise ValueError(f"{name} of a {kind.__name__} cannot be the {type(value).__name__} that is there")


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type, with all that is in it.

    A whole number is a number, as usual, and NumPy's are as good as Python's.

    Examples
    --------
    >>> fits(1, float), fits(np.int64(1), int), fits(True, int), fits(None, int | None), fits([1, "a"], list[int])
    (True, True, False, True, False)
    """
    kind, inside = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return any(fits(value, each) for each in inside)
    if kind is Any:
        return True
    if kind is float:
        return isinstance(value, (float, np.floating)) or fits(value, int)
    if kind is int:
        return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and abs(int(value)) < 1 << 63
    if kind is bool:
        return isinstance(value, (bool, np.bool_))
    if not isinstance(value, kind):
        return False
    if kind is np.ndarray:
        [number] = get_args(inside[1])
        return number is Any or value.dtype == number
    if kind is dict:
        return all(fits(key, inside[0]) and fits(each, inside[1]) for key, each in value.items())
    if kind in (list, Sequence) or inside[1:] == (...,):
        return all(fits(each, inside[0]) for each in value)
    return True


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
