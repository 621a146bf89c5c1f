"""CSV: names of the columns in the first line, then numbers, with the labels in one of the columns.

The numbers are read by ``numpy.loadtxt``, which rounds like Python's ``float``, complains about ragged lines and needs
no further library. Of comma, semicolon and tab, the most frequent in the first line separates the fields.
"""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import labels
from .dataset import DataError, NotNumbersError, data_error, quoted
from .streams import DECODING_ERRORS, explain

DELIMITERS = ",;\t"


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


def read_csv(
    file: io.BufferedReader, path: Path, label: str | None, *, labelled: bool
) -> tuple[NDArray[np.float64], NDArray[Any] | None, list[str]]:
    """Read features, labels and the names of the features; see :func:`~smoothperf.io.read_data`."""
    table = CsvTable(path, label, labelled=labelled)
    (X, texts), *_ = table.parts(file, None)
    return X, None if texts is None else table.classes[texts], table.feature_names


class CsvTable:
    """A table as it is read, all at once or some rows at a time.

    Parameters
    ----------
    path, label, labelled
        As in :func:`~smoothperf.io.read_data`.

    Attributes
    ----------
    feature_names : list of str
        Names of the columns without that of the labels; known with the first part.
    """

    feature_names: list[str]

    def __init__(self, path: Path, label: str | None, *, labelled: bool):
        self._path = path
        self._label = label
        self._labelled = labelled
        self._codes: dict[str, int] = {}

    @property
    def classes(self) -> NDArray[Any]:
        """The labels found so far, in the most telling type; codes of labels are places in it."""
        return labels.from_text(list(self._codes))

    def texts(self, codes: NDArray[np.intp]) -> NDArray[Any]:
        """Labels as they are written in the file."""
        return np.array(list(self._codes))[codes]

    def parts(
        self, file: io.BufferedReader, n_rows: int | None
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.intp] | None]]:
        """Features and codes of labels, so many rows at a time; all of them at once for None."""
        text = io.TextIOWrapper(file, encoding="utf-8")
        lines = Lines(text)
        try:
            yield from self._read(iter(lines), lines, n_rows)
        except UnicodeDecodeError as error:
            # Decoding runs ahead of the lines.
            raise data_error(
                self._path, f"it is not UTF-8 text: {error.reason} at or after this line", line=lines.number + 1
            ) from error
        except DECODING_ERRORS as error:
            raise data_error(self._path, f"it cannot be read further: {explain(error)}", line=lines.number) from error
        finally:
            text.detach()  # the file is closed by whoever opened it

    def _read(
        self, rows: Iterator[str], lines: Lines, n_rows: int | None
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.intp] | None]]:
        path, labelled = self._path, self._labelled
        header = next(rows, None)
        if header is None:
            raise data_error(path, "it is empty")
        delimiter = max(DELIMITERS, key=header.count)
        names = names_of(header, delimiter, path, lines.number)
        at = label_column(names, self._label, path, labelled=labelled)
        self.feature_names = [name for place, name in enumerate(names) if place != at]
        first = next(rows, None)
        if first is None:
            raise data_error(path, "there are no examples in it")

        codes = self._codes
        line_of_row = array("q")

        def encode(text: str) -> float:
            """Note the line, and replace the label by a number that NumPy can keep beside the features."""
            line_of_row.append(lines.number)
            return codes.setdefault(text.strip(), len(codes))

        def noted(texts: Iterable[str]) -> Iterator[str]:
            """Note the lines where there are no labels to do it."""
            for text in texts:
                line_of_row.append(lines.number)
                yield text

        while first is not None:
            examples = chain([first], rows)
            try:
                table = np.loadtxt(
                    noted(examples) if at is None else examples,
                    delimiter=delimiter,
                    comments=None,
                    quotechar='"',
                    converters=None if at is None else {at: encode},
                    encoding=None,
                    ndmin=2,
                    max_rows=n_rows,
                )
            except UnicodeDecodeError:
                raise
            except ValueError as error:
                reason = _reason(str(error), names, labelled=labelled or at is not None)
                kind = NotNumbersError if reason.startswith("column") else DataError
                raise data_error(path, reason, line=lines.number, kind=kind) from error
            if table.shape[1] != len(names):
                reason = f"{table.shape[1]} fields where the first line names {len(names)} columns"
                raise data_error(path, reason, line=line_of_row[0])
            yield self._part(table, at, names, line_of_row)
            del line_of_row[:]
            first = next(rows, None)

    def _part(
        self, table: NDArray[np.float64], at: int | None, names: list[str], line_of_row: array[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.intp] | None]:
        """Check what was read, and take the labels out of it."""
        X, members = table, None
        if at is not None:
            X = np.delete(table, at, axis=1)
            if self._labelled:
                members = table[:, at].astype(np.intp)
        if members is not None and "" in self._codes:
            row = int(np.flatnonzero(members == self._codes[""])[0])
            raise data_error(self._path, f"the label, column {names[at or 0]!r}, is missing", line=line_of_row[row])
        if not np.isfinite(X).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(X))[0])
            reason = (
                f"column {self.feature_names[column]!r} holds {X[row, column]}; "
                "remove or replace values that are not finite"
            )
            kind = NotNumbersError if np.isnan(X[row, column]) else DataError
            raise data_error(self._path, reason, line=line_of_row[row], kind=kind)
        return X, members


def label_column(names: list[str], label: str | None, path: Path, *, labelled: bool) -> int | None:
    """Return the position of the labels among the columns of a table; None if there are none and none are needed."""
    if not labelled and label not in names:
        return None
    columns = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
    if label is None:
        raise data_error(path, f"say which column holds the labels; there are {columns}")
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
