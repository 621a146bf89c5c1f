"""CSV: names of the columns in the first line, then numbers, with the labels in one of the columns.

The numbers are read by ``numpy.loadtxt``, which rounds like Python's ``float``, complains about ragged lines and needs
no further library. Of comma, semicolon and tab, the most frequent in the first line separates the fields.
"""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import labels
from .dataset import Chunk, DataError, NotNumbersError, data_error, quoted
from .streams import DECODING_ERRORS, explain

DELIMITERS = ",;\t"
#: Features, places of labels and of queries among those found so far or None, and names of the features.
_Part = tuple[NDArray[np.float64], NDArray[np.intp] | None, NDArray[np.intp] | None, list[str]]


class Lines:
    """The lines of a text that are not blank; ``number`` is that of the last one, counted from 1."""

    def __init__(self, text: io.TextIOBase):
        self._text = text
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._text:
            self.number += 1
            if not line.isspace():
                yield line


class Codes(dict[str, int]):
    """Texts of a column by number, as they came: numbers that NumPy can keep beside the features."""

    def number(self, text: str) -> int:
        """The number of a text."""
        return self.setdefault(text.strip(), len(self))

    def first_of(self, members: NDArray[np.intp], texts: Iterable[str]) -> int | None:
        """The first row with one of some texts; None if there is none."""
        wanted = [self[text] for text in texts if text in self]
        rows = np.flatnonzero(np.isin(members, wanted))
        return int(rows[0]) if rows.size else None


def read_csv(
    file: io.BufferedReader, path: Path, label: str | None, query: str | None = None, *, labelled: bool
) -> tuple[NDArray[np.float64], NDArray[Any] | None, list[str], NDArray[Any] | None]:
    """Read features, labels, the names of the features, and queries; see :func:`~smoothperf.io.read_data`."""
    known, queries = Codes(), Codes()
    [(X, members, of_query, names)] = _parts(file, path, label, query, known, queries, labelled=labelled)
    y = None if members is None else labels.from_text(list(known))[members]
    return X, y, names, None if of_query is None else labels.queries_from_text(list(queries))[of_query]


def csv_chunks(
    file: io.BufferedReader,
    path: Path,
    share: Callable[[], float],
    label: str | None,
    query: str | None,
    n_entries: int,
) -> Iterator[Chunk]:
    """Yield the same, about so many entries at a time; labels and queries as they are written in the file."""
    known, queries = Codes(), Codes()
    first_line = file.peek().partition(b"\n")[0].decode("latin-1")
    n_columns = 1 + max(map(first_line.count, DELIMITERS))
    n_rows = max(1, n_entries // n_columns)
    for X, members, of_query, names in _parts(file, path, label, query, known, queries, labelled=True, n_rows=n_rows):
        qid = None if of_query is None else np.array(list(queries))[of_query]
        yield Chunk(X, np.array(list(known))[members], share(), names, qid=qid)


def _parts(
    file: io.BufferedReader,
    path: Path,
    label: str | None,
    query: str | None,
    known: Codes,
    queries: Codes,
    *,
    labelled: bool,
    n_rows: int | None = None,
) -> Iterator[_Part]:
    """Yield so many rows at a time, or all of them at once for None; labels and queries are noted on the way."""
    text = io.TextIOWrapper(file, encoding="utf-8")
    lines = Lines(text)
    try:
        yield from _Table(lines, path, label, query, known, queries, labelled=labelled).parts(n_rows)
    except UnicodeDecodeError as error:
        # Text is decoded before it is split into lines.
        reason = f"it is not UTF-8 text: {error.reason} at or after this line"
        raise data_error(path, reason, line=lines.number + 1) from error
    except DECODING_ERRORS as error:
        raise data_error(path, f"it cannot be read further: {explain(error)}", line=lines.number) from error
    finally:
        text.detach()  # whoever opened the file closes it


class _Table:
    """A text with named columns, of which one may hold labels and one queries; read some rows at a time."""

    def __init__(
        self,
        lines: Lines,
        path: Path,
        label: str | None,
        query: str | None,
        known: Codes,
        queries: Codes,
        *,
        labelled: bool,
    ):
        self._lines, self._path = lines, path
        self._label, self._query = label, query
        self._known, self._queries = known, queries
        self._labelled = labelled
        self._rows = iter(lines)
        header = next(self._rows, None)
        if header is None:
            raise data_error(path, "it is empty")
        self._delimiter = max(DELIMITERS, key=header.count)
        self._names = names = names_of(header, self._delimiter, path, lines.number)
        self._at = label_column(names, label, path, labelled=labelled)
        self._by_query = query_column(names, query, label, path)
        self._beside = [place for place in (self._at, self._by_query) if place is not None]
        self._feature_names = [name for place, name in enumerate(names) if place not in self._beside]
        self._line_of_row = array("q")
        self._converters = self._text_converters()

    def parts(self, n_rows: int | None) -> Iterator[_Part]:
        """Yield so many rows at a time, or all of them at once for None."""
        first = next(self._rows, None)
        if first is None:
            raise data_error(self._path, "there are no examples in it")
        while first is not None:
            yield self._checked(self._load(chain([first], self._rows), n_rows))
            del self._line_of_row[:]
            first = next(self._rows, None)

    def _text_converters(self) -> dict[int | str, Callable[[str], int]]:  # NumPy's type; all of them are places
        """Make numbers of labels and queries; the last of them notes the line of each row on the way."""
        converters: dict[int | str, Callable[[str], int]] = {}
        if self._by_query is not None:
            converters[self._by_query] = self._queries.number
        if self._at is not None:
            converters[self._at] = self._known.number
        if converters:
            place, number = converters.popitem()

            def noted(text: str) -> int:
                self._line_of_row.append(self._lines.number)
                return number(text)

            converters[place] = noted
        return converters

    def _noted(self, texts: Iterable[str]) -> Iterator[str]:
        """Note the lines where there is no converter to do it."""
        for text in texts:
            self._line_of_row.append(self._lines.number)
            yield text

    def _load(self, examples: Iterable[str], n_rows: int | None) -> NDArray[np.float64]:
        """The fields of so many rows, all of them numbers."""
        try:
            return np.loadtxt(
                examples if self._converters else self._noted(examples),
                delimiter=self._delimiter,
                comments=None,
                quotechar='"',
                converters=self._converters or None,
                encoding=None,
                ndmin=2,
                max_rows=n_rows,
            )
        except UnicodeDecodeError:
            raise
        except ValueError as error:
            reason = _reason(str(error), self._names, labelled=self._labelled or self._at is not None)
            kind = NotNumbersError if reason.startswith("column") else DataError
            raise data_error(self._path, reason, line=self._lines.number, kind=kind) from error

    def _checked(self, table: NDArray[np.float64]) -> _Part:
        """Take a table apart; nothing may be missing in it."""
        if table.shape[1] != len(self._names):
            reason = f"{table.shape[1]} fields where the first line names {len(self._names)} columns"
            raise data_error(self._path, reason, line=self._line_of_row[0])
        members = table[:, self._at].astype(np.intp) if self._at is not None and self._labelled else None
        of_query = None if self._by_query is None else table[:, self._by_query].astype(np.intp)
        if members is not None and (row := self._known.first_of(members, {""})) is not None:
            reason = f"the label, column {self._label!r}, is missing"
            raise data_error(self._path, reason, line=self._line_of_row[row])
        if of_query is not None and (row := self._queries.first_of(of_query, labels.MISSING)) is not None:
            raise data_error(self._path, missing_query(self._query), line=self._line_of_row[row])
        X = np.delete(table, self._beside, axis=1) if self._beside else table
        self._check_finite(X)
        return X, members, of_query, self._feature_names

    def _check_finite(self, X: NDArray[np.float64]) -> None:
        if not np.isfinite(X).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(X))[0])
            name, value = self._feature_names[column], X[row, column]
            reason = f"column {name!r} holds {value}; remove or replace values that are not finite"
            kind = NotNumbersError if np.isnan(value) else DataError
            raise data_error(self._path, reason, line=self._line_of_row[row], kind=kind)


def query_column(names: list[str], query: str | None, label: str | None, path: Path) -> int | None:
    """Return the position of the queries among the columns of a table; None if none are asked for."""
    if query is None:
        return None
    if query not in names:
        columns = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
        raise data_error(path, f"there is no column {query!r} for the queries; there are {columns}")
    if query == label:
        raise data_error(path, f"the column {query!r} cannot hold both the labels and the queries")
    if set(names) <= {query, label}:
        raise data_error(path, f"there are no features beside the queries, column {query!r}")
    return names.index(query)


def missing_query(query: str | None) -> str:
    """Say that a row has no query."""
    return f"the query, column {query!r}, is missing"


def label_column(names: list[str], label: str | None, path: Path, *, labelled: bool) -> int | None:
    """Return the position of the labels among the columns of a table; None if there are none and none are needed."""
    if not labelled and label not in names:
        return None
    columns = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
    if label is None:
        raise data_error(path, f"say with label= or --label which column holds the labels; there are {columns}")
    if label not in names:
        raise data_error(path, f"there is no column {label!r} for the labels; there are {columns}")
    if len(names) == 1:
        raise data_error(path, f"there are no features: {label!r} is the only column")
    return names.index(label)


def remedy(*, labelled: bool) -> str:
    """Say what to do about a column that is not of numbers; without labels, it may be theirs."""
    return "encode such columns first" + ("" if labelled else ", or say so if it holds the labels")


def names_of(header: str, delimiter: str, path: Path, line: int) -> list[str]:
    """Return the names of the columns, which the first line has."""
    try:
        names = [name.strip() for name in next(csv.reader([header], delimiter=delimiter))]
    except csv.Error as error:
        raise data_error(path, f"the names of the columns cannot be read: {error}", line=line) from error
    if "" in names:
        reason = f"column {names.index('') + 1} has no name; name it, or leave it out if it only counts the rows"
        raise data_error(path, reason, line=line)
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise data_error(path, f"the column {twice!r} occurs twice", line=line)
    return names


def _reason(message: str, names: list[str], *, labelled: bool) -> str:
    """Turn NumPy's complaint, which counts rows and columns, into one that names the column."""
    found = re.match(r"could not convert string '(.*)' to float64 at row \d+, column (\d+)", message, re.DOTALL)
    if found is not None and int(found[2]) <= len(names):
        name, text = names[int(found[2]) - 1], found[1]
        what = f"holds {quoted(text)}, which is not a number; {remedy(labelled=labelled)}" if text else "is missing"
        return f"column {name!r} {what}"
    if found is not None:
        return f"more fields than the first line names columns, which are {len(names)}"
    ragged = re.match(r"(?:the number of columns changed from \d+ to|converter .* the number of fields) (\d+)", message)
    return message if ragged is None else f"{ragged[1]} fields where the first line names {len(names)} columns"
