"""The columns of CSV and Parquet files, read some rows at a time, and what is checked alike in both.

A column is numbers, with NaN for what is missing, if every value that is not missing is one, or if every one is a truth
value: 0 and 1. Otherwise it is text. That is for the whole column to say. Where rows read earlier seemed to be numbers
and later ones are not, the file is read again, with this column as text.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array, Indices
from . import labels
from .dataset import Chunk, Dataset, data_error, listed, quoted
from .delimited import CSV, open_csv
from .labels import MISSING, is_number, numbers_from_text
from .parquet import Parquet

if TYPE_CHECKING:
    from .tables import TableEncoder

TABLES = ("csv", "parquet")
#: Entries that are read at a time.
ENTRIES = 1 << 21


@dataclass(frozen=True)
class Table:
    """The columns of a file.

    Attributes
    ----------
    path : Path
        The file.
    format : str
        "csv", "parquet" or "frame".
    columns : dict
        By name, without those of labels and queries: arrays of numbers, with NaN for what is missing, or of text.
    y : ndarray or None
        The labels, as in :class:`Dataset`.
    n_rows : int
        Number of rows.
    lines : ndarray or None
        Lines of the rows, in a text, or their numbers, if these are not all rows.
    qid : ndarray or None
        The queries, as in :class:`Dataset`.
    first_row : int
        Rows of the file before these.
    """

    path: Path
    format: str
    columns: dict[str, NDArray[Any]]
    y: NDArray[Any] | None
    n_rows: int
    lines: NDArray[np.int64] | None
    qid: NDArray[Any] | None = None
    first_row: int = 0

    def numbers(self, name: str, remedy: str = " as in training") -> Array:
        """Return a column of numbers; words in it are an error."""
        column = self.columns[name]
        numbers = _numbers(column)
        if numbers is None:
            words = (pair for pair in enumerate(column.tolist()) if pair[1] not in MISSING and not is_number(pair[1]))
            row, text = next(words)
            raise self.error(row, f"column {name!r} holds {quoted(text)}, which is not a number{remedy}")
        return self.finite(name, numbers)

    def finite(self, name: str, numbers: Array) -> Array:
        """Return the numbers of a column; an infinite one is an error."""
        infinite = np.flatnonzero(np.isinf(numbers))
        if infinite.size:
            raise self.error(int(infinite[0]), f"column {name!r} holds {numbers[infinite[0]]}; remove or replace it")
        return numbers

    def words(self, name: str) -> NDArray[Any]:
        """Return a column as text, "" where it is missing."""
        texts = np.empty(self.n_rows, dtype=object)
        texts[:] = [_word(value) for value in self.columns[name].tolist()]
        return texts

    def error(self, row: int, reason: str) -> Exception:
        """Make the error for a row."""
        number = self.first_row + row + 1 if self.lines is None else int(self.lines[row])
        if self.format == "csv":
            return data_error(self.path, reason, line=number)
        return data_error(self.path, f"row {number}: {reason}")

    def encoded(self, encoder: Any) -> Dataset:
        """Return the numbers that an encoder makes of it."""
        X = encoder.transform(self)
        return Dataset(X, self.y, self.format, encoder.feature_names, self.path, encoder=encoder, qid=self.qid)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns."""
        return self.n_rows, len(self.columns)

    def __getitem__(self, numbers: Indices) -> Table:
        """Some of the rows, by number or as a mask; their labels and queries are not kept."""
        rows = np.arange(self.n_rows)[numbers]
        columns = {name: column[rows] for name, column in self.columns.items()}
        lines = rows + self.first_row + 1 if self.lines is None else self.lines[rows]
        return replace(self, columns=columns, y=None, qid=None, n_rows=rows.size, lines=lines)

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers, none of them missing."""
        return all(column.dtype.kind == "f" and not np.isnan(column).any() for column in self.columns.values())

    def plain(self, hint: str = "") -> Dataset:
        """Return the numbers as they are; a word, or a value that is missing, is an error."""
        X = np.empty((self.n_rows, len(self.columns)))
        for place, name in enumerate(self.columns):
            X[:, place] = self.numbers(name, f"; encode such columns first{hint}")
            missing = np.isnan(X[:, place])
            if missing.any():
                raise self.error(int(missing.argmax()), f"column {name!r} has no value; remove or fill such rows")
        return Dataset(X, self.y, self.format, list(self.columns), self.path, qid=self.qid)


def _numbers(column: NDArray[Any]) -> Array | None:
    """Return the numbers that a column holds; None if it holds words."""
    if column.dtype.kind == "O":
        return numbers_from_text(column.tolist())
    return column.astype(np.float64, copy=False)


def _word(value: Any) -> str:
    """Return a value as people write it, numbers that are whole without a point; "" for what is missing."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value)
    return "" if text in MISSING else text


def open_source(
    file: io.BufferedReader, path: Path, format: str, asked: Iterable[str | None]
) -> AbstractContextManager[CSV | Parquet]:
    """Open a table in a file that has been opened; columns ``asked`` for by name may be the index of a frame."""
    return open_csv(file, path) if format == "csv" else nullcontext(Parquet(file, path, set(asked)))


def read_columns(
    file: io.BufferedReader,
    path: Path,
    format: str,
    label: str | None,
    query: str | None,
    *,
    labelled: bool = True,
    encoder: TableEncoder | None = None,
) -> Table:
    """Read a whole table; with an encoder the columns that it knows, and those of words as they are written."""
    only = None if encoder is None else [column.name for column in encoder.columns]
    text = {column.name for column in encoder.columns if column.words is not None} if encoder is not None else set()
    begin = file.tell() if file.seekable() else None
    again: set[str] = set()
    while True:
        with open_source(file, path, format, (label, query, *(only or ()))) as source:
            # From a pipe, which cannot be read again, all rows come at once.
            n_entries = 1 << 62 if begin is None else ENTRIES
            parts = list(_parts(source, path, label, query, n_entries, labelled=labelled, only=only, text=text | again))
        names = list(parts[0].columns)
        again = {name for name in names if len({part.columns[name].dtype.kind for part in parts}) > 1} - text
        if begin is None or not again:
            break
        file.seek(begin)
    table = _joined(parts)
    for name in set(names) - text:
        numbers = _numbers(table.columns[name])
        if numbers is not None:
            table.columns[name] = numbers
    y, qid = table.y, table.qid
    return replace(
        table,
        y=None if y is None else labels.typed(y),
        qid=None if qid is None else labels.typed(qid, labels.keys_from_text),
    )


def table_chunks(
    file: io.BufferedReader,
    path: Path,
    format: str,
    share: Callable[[], float],
    label: str | None,
    query: str | None,
    n_entries: int,
) -> Iterator[Chunk]:
    """Yield the rows of a table of numbers, about so many entries at a time; labels and queries as they are written."""
    with open_source(file, path, format, (label, query)) as source:
        for table in _parts(source, path, label, query, n_entries):
            data = table.plain()
            read = share() if isinstance(source, CSV) else (table.first_row + table.n_rows) / source.n_rows
            yield Chunk(data.X, data.y, read, data.feature_names, qid=data.qid)


def _parts(
    source: CSV | Parquet,
    path: Path,
    label: str | None,
    query: str | None,
    n_entries: int,
    *,
    labelled: bool = True,
    only: list[str] | None = None,
    text: Collection[str] = (),
) -> Iterator[Table]:
    """Yield so many entries at a time, some columns as text; labels and queries come as they are written."""
    _check_names(source.names, label, query, path, labelled=labelled)
    features = [name for name in source.names if name not in (label, query)]
    if only is not None:
        check_names(only, features, path)
        features = [name for name in features if name in only]
    label = label if labelled else None
    beside = {name for name in (label, query) if name is not None}
    done = 0
    for columns, lines in source.parts(beside.union(features), beside.union(text), n_entries // len(source.names) or 1):
        y, qid = (None if name is None else columns.pop(name) for name in (label, query))
        part = Table(path, source.format, columns, None, len(columns[features[0]]), lines, first_row=done)
        if y is not None:
            y = _known(part, y, f"the label, column {label!r}, is missing", {""}, "its labels are")
        if qid is not None:
            subject = f"the queries, column {query!r}, are"
            qid = _known(part, qid, f"the query, column {query!r}, is missing", MISSING, subject)
        yield replace(part, y=y, qid=qid)
        done += part.n_rows
    if done == 0:
        raise data_error(path, "there are no examples in it")


def _known(table: Table, values: NDArray[Any], reason: str, missing: Collection[str], subject: str) -> NDArray[Any]:
    """Return labels or queries, none of them missing, text in NumPy's type for it."""
    for row, value in enumerate(values.tolist()):
        if value is None or value != value or (isinstance(value, str) and value in missing):
            raise table.error(row, reason)
    if all(isinstance(value, str) for value in values):
        values = values.astype(str)
    problem = labels.problem_of(values, table.n_rows, first_row=table.first_row + 1)
    if problem is not None:
        raise data_error(table.path, problem.replace("its labels are", subject))
    return values


def _joined(parts: list[Table]) -> Table:
    """Put the parts of a table together, one column after the other, so that there are never two of all."""
    first = parts[0]
    if len(parts) == 1:
        return first

    def whole(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        return None if arrays[0] is None else np.concatenate(arrays)

    return replace(
        first,
        columns={name: np.concatenate([part.columns.pop(name) for part in parts]) for name in list(first.columns)},
        y=whole("y"),
        n_rows=sum(part.n_rows for part in parts),
        lines=whole("lines"),
        qid=whole("qid"),
    )


def _check_names(names: list[str], label: str | None, query: str | None, path: Path, *, labelled: bool) -> None:
    """Refuse a table without the columns of labels and queries that are asked for, or with nothing beside them."""
    if labelled and label is None:
        raise data_error(path, f"say with label= or --label which column holds the labels; there are {listed(names)}")
    for name, what in ((label if labelled else None, "labels"), (query, "queries")):
        if name is not None and name not in names:
            raise data_error(path, f"there is no column {name!r} for the {what}; there are {listed(names)}")
    if query is not None and query == label:
        raise data_error(path, f"the column {query!r} cannot hold both the labels and the queries")
    if set(names) <= {label, query}:
        rest = f": {label!r} is the only column" if query is None else f" beside the queries, column {query!r}"
        raise data_error(path, f"there are no features{rest}")


def check_names(wanted: list[str], found: list[str], path: Path, known: Collection[str] = ()) -> None:
    """Refuse a table that lacks columns of training, and name them; known columns are not new, though not needed."""
    missing = [name for name in wanted if name not in set(found)]
    if not missing:
        return
    new = [name for name in found if name not in {*wanted, *known}]
    renamed = f"; new are {listed(new)}: rename those that are meant" if new else ""
    raise data_error(path, f"it lacks the column{'s' * (len(missing) > 1)} {listed(missing)} of training{renamed}")
