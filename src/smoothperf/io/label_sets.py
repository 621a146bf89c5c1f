"""Rows with any number of labels, in files: "oil;gas" in a cell, columns of 0 and 1, "3,17 1:0.5" in svmlight.

They are kept as an array of tuples of labels, sorted and each once, of which some may be empty.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dataset import data_error, quoted
from .labels import MISSING, whole_if_possible

#: Between the labels of a cell.
SEPARATOR = ";"
#: What cells of columns of 0 and 1 may hold, in small letters.
IS_ONE = {"0": False, "0.0": False, "false": False, "1": True, "1.0": True, "true": True}
#: Bytes of lines that are read at a time.
PIECE = 1 << 18


def array_of(sets: Iterable[Iterable[Any]]) -> NDArray[Any]:
    """Return rows of labels as an array of tuples, sorted and each label once.

    Examples
    --------
    >>> array_of([["oil", "gas", "oil"], []])
    array([('gas', 'oil'), ()], dtype=object)
    """
    rows = [tuple(sorted(set(labels))) for labels in sets]
    found = np.empty(len(rows), dtype=object)
    found[:] = rows
    return found


def are_sets(y: Any) -> bool:
    """Tell whether labels are sets of them."""
    return y is not None and y.dtype.kind == "O"


def sets_of_cells(cells: Iterable[Any], separator: str) -> NDArray[Any]:
    """Return the labels of cells: texts with a sign between labels, or, of Parquet files, lists.

    Examples
    --------
    >>> sets_of_cells(["oil; gas", "", "oil"], ";")
    array([('gas', 'oil'), (), ('oil',)], dtype=object)
    """

    def labels_of(cell: Any) -> Iterable[str]:
        parts = cell.split(separator) if isinstance(cell, str) else map(str, np.atleast_1d(cell).tolist())
        return (part.strip() for part in parts if part.strip() not in MISSING)

    return array_of(map(labels_of, cells))


def sets_of_columns(columns: Mapping[str, NDArray[Any]], error: Callable[[int, str], Exception]) -> NDArray[Any]:
    """Return the names of the columns that hold 1 in each row; anything but 0 and 1 is an error of its row."""
    members = []
    for name, column in columns.items():
        cells = [str(cell).lower() for cell in column.tolist()]
        for row, cell in enumerate(cells):
            if cell not in IS_ONE:
                raise error(
                    row, f"column {name!r} holds {quoted(cell)}, where 0 or 1 says whether a row has this label"
                )
        members.append([IS_ONE[cell] for cell in cells])
    names = np.array(list(columns))
    return array_of(names[np.flatnonzero(row)].tolist() for row in np.column_stack(members))


class SeveralLabels:
    r"""The lines of an svmlight file with 0 for a label, and the labels that they had, with commas between.

    A line that begins with ``index:value``, or with a space before it, has none.

    Parameters
    ----------
    file : binary file
        The text, uncompressed.
    path : path-like
        Its name in errors.

    Examples
    --------
    >>> import io
    >>> lines = SeveralLabels(io.BytesIO(b"3,17 1:0.5\n 2:1\n# a comment\n4 1:1"), "example")
    >>> buffer = bytearray(100)
    >>> print(buffer[: lines.readinto(memoryview(buffer))].decode())
    0 1:0.5
    0 2:1
    # a comment
    0 1:1
    >>> lines.labels()
    array([(3, 17), (), (4,)], dtype=object)
    """

    def __init__(self, file: Any, path: str | os.PathLike[str]):
        self._file, self._path = file, path
        self._rest, self._line = b"", 0
        self._numbers: list[float] = []
        self._sizes: list[int] = []

    @property
    def at_most_one(self) -> bool:
        """Whether no line had more than one label."""
        return max(self._sizes, default=0) <= 1

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer and return the number of bytes, 0 at the end."""
        if not self._rest:
            self._rest = b"".join(map(self._without_labels, self._file.readlines(PIECE)))
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count

    def labels(self) -> NDArray[Any]:
        """Return the labels of the lines read, whole numbers if all are."""
        numbers = whole_if_possible(np.array(self._numbers)).tolist()
        ends = np.cumsum(self._sizes)
        return array_of(numbers[end - size : end] for end, size in zip(ends.tolist(), self._sizes, strict=True))

    def _without_labels(self, line: bytes) -> bytes:
        self._line += 1
        first = line.partition(b"#")[0].split(None, 1)[:1]
        if not first:
            return line  # blank, or a comment
        if b":" in first[0]:
            self._sizes.append(0)
            return b"0 " + line.lstrip()
        texts = first[0].split(b",")
        self._numbers += map(self._number, texts)
        self._sizes.append(len(texts))
        return b"0" + line.lstrip()[len(first[0]) :]

    def _number(self, text: bytes) -> float:
        try:
            number = float(text)
        except ValueError:
            number = np.nan
        if not np.isfinite(number):
            raise data_error(self._path, f"the label {quoted(text)} is not a number", line=self._line)
        return number
