"""Labels as users write them, in the most telling type: whole numbers, numbers, truth values or text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Words for a value that is missing.
MISSING = frozenset(["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>", "?"])
TRUTH = ({"True", "False"}, {"true", "false"}, {"TRUE", "FALSE"})


def whole_if_possible(labels: NDArray[np.floating[Any]]) -> NDArray[Any]:
    """Turn labels that are all whole numbers into int64; others stay.

    Examples
    --------
    >>> whole_if_possible(np.array([-1.0, 1.0]))
    array([-1,  1])
    """
    if bool(np.all((np.rint(labels) == labels) & (np.abs(labels) <= 2.0**53))):
        return labels.astype(np.int64)
    return labels


def from_text(texts: list[str]) -> NDArray[Any]:
    """Find the type of labels that were read as text.

    Examples
    --------
    >>> from_text(["1", "-1"]), from_text(["ham", "spam"]), from_text(["false", "true"])
    (array([ 1, -1]), array(['ham', 'spam'], dtype='<U4'), array([False,  True]))
    """
    if any(set(texts) <= words for words in TRUTH):
        return np.array([text.lower() == "true" for text in texts])
    try:
        numbers = np.array([float(text) for text in texts])
    except ValueError:
        return np.array(texts)
    return whole_if_possible(numbers) if np.isfinite(numbers).all() else np.array(texts)


def numbers_from_text(texts: list[str]) -> NDArray[np.float64] | None:
    """Find the numbers in a column of text, NaN where one is missing, 0 and 1 for truth values; None if it has words.

    Examples
    --------
    >>> numbers_from_text(["1", "", "2.5"]), numbers_from_text(["true", "false", "NA"]), numbers_from_text(["1", "b"])
    (array([1. , nan, 2.5]), array([ 1.,  0., nan]), None)
    """
    present = set(texts) - MISSING
    if any(present <= words for words in TRUTH):
        value = {text: float(text.lower() == "true") for text in present}
    elif all(map(is_number, present)):
        value = {text: float(text) for text in present}
    else:
        return None
    return np.array([value.get(text, np.nan) for text in texts])


def is_number(text: str) -> bool:
    """Whether a text is a number; underscores, which Python allows, are for words."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def keys_from_text(texts: list[str]) -> NDArray[Any]:
    """Find the type of keys that were read as text: numbers if all of them are, as other files may write them.

    Examples
    --------
    >>> keys_from_text(["7", "12"]), keys_from_text(["12", "true love"])
    (array([ 7, 12]), array(['12', 'true love'], dtype='<U9'))
    """
    found = from_text(texts)
    return np.array(texts) if found.dtype.kind == "b" else found


def typed(values: NDArray[Any], of_text: Callable[[list[str]], NDArray[Any]] = from_text) -> NDArray[Any]:
    """Bring labels of a table into their type: those that are text into the one that the text tells."""
    if values.dtype.kind != "U":
        return tidy(values)
    texts, codes = np.unique(values, return_inverse=True)
    return of_text(texts.tolist())[codes]


def problem_of(y: NDArray[Any], n_rows: int, *, first_row: int = 1) -> str | None:
    """Say what is wrong with an array of labels that a file brought; None if nothing is. Rows count from the first."""
    if y.shape != (n_rows,):
        return f"its labels have the shape {y.shape} where {n_rows} rows need ({n_rows},)"
    if y.dtype.kind not in "biufU":
        return f"its labels are of the type {y.dtype}; use numbers, truth values or text"
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        return f"its label of row {int(np.flatnonzero(~np.isfinite(y))[0]) + first_row} is missing or not finite"
    return None


def tidy(y: NDArray[Any]) -> NDArray[Any]:
    """Bring sound labels into the four types: bool, int64, float64, str."""
    if y.dtype.kind == "f":
        return whole_if_possible(y.astype(np.float64))
    return y.astype(np.int64) if y.dtype.kind == "i" or (y.dtype.kind == "u" and y.dtype.itemsize < 8) else y
