"""Cells of text as numbers and as dates: whether a column holds such, and which cell of it does not.

A column most of whose cells are numbers, or dates, is meant as one of these. So a cell of it that is neither is an
error, with what to do about it, where it would otherwise make a column of words of it in silence.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from ..io.dataset import Table, quoted
from ..io.labels import TRUTH, is_number

#: Numbers as they are written in other places, with what says so.
ELSEWHERE = (
    (re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?"), "--thousands ,", 'thousands=","'),
    (re.compile(r"[+-]?\d*,\d+"), "--decimal ,", 'decimal=","'),
    (re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d*"), "--decimal , --thousands .", 'decimal=",", thousands="."'),
    (re.compile(r"[+-]?\d{1,3}( \d{3})+(\.\d*)?"), '--thousands " "', 'thousands=" "'),
    (re.compile(r"[+-]?\d{1,3}('\d{3})+(\.\d*)?"), '--thousands "\'"', 'thousands="\'"'),
)
#: Forms of dates, as pandas knows them; with times of day in the first one, and perhaps in others.
DATES = ("ISO8601", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y")
TIMES = ("", " %H:%M", " %H:%M:%S")
LIKE_A_DATE = re.compile(r"(\d{4}[-/]\d{1,2}([-/]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([T ].*)?")


def numbers_in(cells: NDArray[Any], decimal: str = ".", thousands: str | None = None) -> tuple[Array, bool]:
    """Numbers that cells hold, NaN for others and for "", and whether they are meant to be numbers: most look like it.

    Examples
    --------
    >>> numbers_in(np.array(["1.5", "", "2", "3", "about 4"], dtype=object))
    (array([1.5, nan, 2. , 3. , nan]), True)
    >>> numbers_in(np.array(["yes", "7"], dtype=object))
    (array([nan,  7.]), False)
    """
    texts, codes, counts = _distinct(cells)
    present = set(texts) - {""}
    if any(present <= words for words in TRUTH):
        found = [np.nan if text == "" else float(text.lower() == "true") for text in texts]
    else:
        found = [_number(text, decimal, thousands) for text in texts]
    numbers = np.array(found, dtype=np.float64)
    alike = [is_number(text) or any(form.fullmatch(text) for form, *_ in ELSEWHERE) for text in texts]
    like = ~np.isnan(numbers) | np.array(alike, dtype=bool)
    return numbers[codes], bool(2 * counts[like].sum() > counts.sum())


def _number(text: str, decimal: str, thousands: str | None) -> float:
    """The number that a text is, NaN if it is none."""
    if thousands and thousands in text:
        whole, point, rest = text.partition(decimal)
        first, *groups = whole.lstrip("+-").split(thousands)
        if not (first.isdigit() and len(first) <= 3 and all(len(each) == 3 and each.isdigit() for each in groups)):
            return np.nan
        text = whole.replace(thousands, "") + point + rest
    if decimal != ".":
        text = "" if "." in text else text.replace(decimal, ".", 1)
    return float(text) if is_number(text) else np.nan


def dates_in(cells: NDArray[Any], form: str | None = None) -> tuple[NDArray[Any], str, bool]:
    """Dates that cells hold, in the one form that most have, or in the given one, and whether most of them are dates.

    Examples
    --------
    >>> dates_in(np.array(["31.12.2024", "", "1.2.2025"], dtype=object))
    (array(['2024-12-31T00:00:00', 'NaT', '2025-02-01T00:00:00'],
          dtype='datetime64[s]'), '%d.%m.%Y', True)
    """
    texts, codes, counts = _distinct(cells)
    best, most = np.full(len(texts), "NaT", dtype="datetime64[s]"), 0
    for each in [form] if form else _forms(texts):
        found = _parsed(texts, each)
        if (known := counts[~np.isnat(found)].sum()) > most:
            best, most, form = found, known, each
    return best[codes], form or "", bool(2 * most > counts.sum())


def _forms(texts: Sequence[str]) -> list[str]:
    like = [bool(LIKE_A_DATE.fullmatch(text)) for text in texts if text]
    if 2 * sum(like) <= len(like):
        return []
    return ["ISO8601", *(date + time for date in DATES[1:] for time in TIMES)]


def _parsed(texts: Sequence[str], form: str) -> NDArray[Any]:
    import pandas as pd

    with warnings.catch_warnings(action="ignore"):
        found = pd.to_datetime(pd.Series(texts, dtype=object), format=form, errors="coerce", utc=True)
    dates: NDArray[Any] = found.dt.tz_localize(None).to_numpy("datetime64[s]")
    return dates


def _distinct(cells: NDArray[Any]) -> tuple[list[str], NDArray[np.intp], NDArray[np.intp]]:
    """The texts of cells, which of them each cell is, and in how many cells each is, 0 for ""."""
    import pandas as pd

    codes, found = pd.factorize(cells)
    texts = [str(text) for text in found]
    counts = np.bincount(codes, minlength=len(texts))
    counts[[place for place, text in enumerate(texts) if text == ""]] = 0
    return texts, codes, counts


def bad_number(table: Table, name: str, row: int, cells: NDArray[Any]) -> Exception:
    """The error for a cell of a column of numbers, with what to do about it."""
    if is_number(cells[row]):
        reason = f"column {name!r} holds {quoted(cells[row])}, which is no number with such decimals and thousands"
        return table.error(row, f"{reason}; leave out --decimal and --thousands, or set them right")
    others = [text for text in set(cells.tolist()) if not is_number(text)]
    for form, option, argument in ELSEWHERE:
        like = [text for text in others if form.fullmatch(text)]
        if cells[row] in like and 2 * len(like) > len(others):
            return table.error(
                row, f"column {name!r} holds {quoted(cells[row])}, which is no number as it is; {option} or {argument}"
            )
    return table.error(row, f"column {name!r} holds {quoted(cells[row])}, which is not a number; {_remedy(cells[row])}")


def bad_date(table: Table, name: str, row: int, cells: NDArray[Any]) -> Exception:
    """The error for a cell of a column of dates."""
    what = f"column {name!r} holds {quoted(cells[row])}, which is not a date like the others"
    return table.error(row, f"{what}; {_remedy(cells[row])}, or leave the column out with --drop")


def _remedy(text: str) -> str:
    return f'if that is a missing value, say --missing "{text}" or missing=[{text!r}]'
