"""Tables as people have them: columns of words, values that are missing, columns in any order.

A :class:`TableEncoder` learns from the training table how to make numbers of it, and does the same to every later one:

    numbers     as they are; a missing one becomes the median of the column, and where some were missing in training, a
                column "NAME missing" says so by a 1
    words       a column "NAME=word" of 0 and 1 for each word of the training table, "NAME missing" for no word; words
                that were not in it are 0 everywhere

scikit-learn finds medians and words. What is learnt are numbers and text, which a model file keeps. Columns are found
by their names, and those that the training table did not have are not looked at. The result is sparse if there are
words.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from . import labels
from .dataset import Dataset, data_error, listed, quoted
from .delimited import DELIMITERS, Lines, label_column, missing_query, names_of, query_column
from .labels import MISSING
from .parquet import columns_of
from .read import format_of
from .streams import DECODING_ERRORS, explain, uncompressed

Array = NDArray[np.float64]
TABLES = ("csv", "parquet")


@dataclass(frozen=True)
class Table:
    """The columns of a file.

    Attributes
    ----------
    path : Path
        The file.
    format : str
        "csv" or "parquet".
    columns : dict
        By name, without those of labels and queries: arrays of numbers, with NaN for what is missing, or of text.
    y : ndarray or None
        The labels, as in :class:`Dataset`.
    n_rows : int
        How many rows there are.
    lines : list of int or None
        Lines of the rows, in a text.
    qid : ndarray or None
        The queries, as in :class:`Dataset`.
    """

    path: Path
    format: str
    columns: dict[str, NDArray[Any]]
    y: NDArray[Any] | None
    n_rows: int
    lines: list[int] | None
    qid: NDArray[Any] | None = None

    def numbers(self, name: str) -> Array:
        """Return a column of numbers; words in it are an error."""
        column = self.columns[name]
        if column.dtype.kind == "f":
            numbers: Array = column
        else:
            at, text = _first_word(column)
            if text is not None:
                raise self.error(at, f"column {name!r} holds {quoted(text)}, which is not a number as in training")
            numbers = _numbers(column)
        infinite = np.flatnonzero(np.isinf(numbers))
        if infinite.size:
            raise self.error(int(infinite[0]), f"column {name!r} holds {numbers[infinite[0]]}; remove or replace it")
        return numbers

    def texts(self, name: str) -> NDArray[np.str_]:
        """Return a column as text, as it is written."""
        column = self.columns[name]
        if column.dtype.kind == "f":
            return np.array(["" if np.isnan(value) else _shortest(value) for value in column.tolist()])
        return column

    def words(self, name: str) -> NDArray[np.str_]:
        """Return a column as text, "" where it is missing."""
        texts = self.texts(name)
        return np.where(np.isin(texts, list(MISSING)), "", texts)

    def error(self, row: int, reason: str) -> Exception:
        """Make the error for a row."""
        if self.lines is None:
            return data_error(self.path, f"row {row + 1}: {reason}")
        return data_error(self.path, reason, line=self.lines[row])

    def encoded(self, encoder: TableEncoder) -> Dataset:
        """Return the numbers that an encoder makes of it."""
        X = encoder.transform(self)
        return Dataset(X, self.y, self.format, encoder.feature_names, self.path, encoder=encoder, qid=self.qid)


@dataclass(frozen=True)
class TableColumn:
    """What was learnt about a column.

    Attributes
    ----------
    name : str
        Its name.
    median : float or None
        Of its numbers; None for words, and where missing numbers are an error.
    words : list of str or None
        In order; None for numbers.
    has_missing : bool
        Whether some values were missing.
    """

    name: str
    median: float | None = None
    words: list[str] | None = None
    has_missing: bool = False

    def __post_init__(self) -> None:
        words = self.words or []
        sound = (
            isinstance(self.name, str)
            and (self.median is None or (isinstance(self.median, float) and bool(np.isfinite(self.median))))
            and isinstance(words, list)
            and all(isinstance(word, str) for word in words)
            and words == sorted(set(words))
            and isinstance(self.has_missing, bool)
        )
        if not sound:
            raise ValueError(f"the column {self.name!r} of a table is not described as one")

    @property
    def feature_names(self) -> list[str]:
        """Names of the features that it becomes."""
        values = [self.name] if self.words is None else [f"{self.name}={word}" for word in self.words]
        return [*values, f"{self.name} missing"] if self.has_missing else values

    def features(self, table: Table) -> Any:
        """Return the features: an array for numbers, a sparse matrix for words."""
        if self.words is not None:
            return self._indicators(table.words(self.name))
        numbers = table.numbers(self.name)
        missing = np.isnan(numbers)
        if self.median is None:
            if missing.any():
                reason = f"column {self.name!r} has no value, and none was missing in training; fill it"
                raise table.error(int(missing.argmax()), reason)
            return numbers[:, None]
        filled = np.where(missing, self.median, numbers)
        return np.column_stack([filled, missing] if self.has_missing else [filled])

    def _indicators(self, texts: NDArray[np.str_]) -> Any:
        known = np.array([*(self.words or []), *([""] if self.has_missing else [])])
        order = np.argsort(known)
        place = order[np.minimum(np.searchsorted(known, texts, sorter=order), known.size - 1)]
        rows = np.flatnonzero(known[place] == texts)
        return sp.csr_matrix((np.ones(rows.size), (rows, place[rows])), shape=(texts.size, known.size))


@dataclass(frozen=True)
class TableEncoder:
    r"""How the columns of a table become features.

    Attributes
    ----------
    columns : list of TableColumn
        In the order of the features.
    left_out : list of str
        Columns of the training table that tell nothing: without any value, or with another word in each row.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "train.csv")
    >>> _ = file.write_text("age,town,bought\n31,Rome,yes\n,Oslo,no\n47,Rome,no\n")
    >>> table = read_table(file, label="bought")
    >>> encoder = TableEncoder.fit(table)
    >>> encoder.feature_names
    ['age', 'age missing', 'town=Oslo', 'town=Rome']
    >>> encoder.transform(table).toarray()
    array([[31.,  0.,  0.,  1.],
           [39.,  1.,  1.,  0.],
           [47.,  0.,  0.,  1.]])
    """

    columns: list[TableColumn]
    left_out: list[str]

    def __post_init__(self) -> None:
        if not self.columns or not all(isinstance(column, TableColumn) for column in self.columns):
            raise ValueError("a TableEncoder needs columns")

    @classmethod
    def fit(cls, table: Table) -> TableEncoder:
        """Learn from a training table."""
        found = {name: _learnt(table, name) for name in table.columns}
        columns = [column for column in found.values() if column is not None]
        left_out = [name for name, column in found.items() if column is None]
        if not columns:
            raise data_error(table.path, "no column has values that occur in more than one row")
        return cls(columns, left_out)

    @classmethod
    def of_numbers(cls, names: Iterable[str]) -> TableEncoder:
        """Return one that takes columns of numbers as they are."""
        return cls([TableColumn(name) for name in names], [])

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return [name for column in self.columns for name in column.feature_names]

    def transform(self, table: Table) -> Any:
        """Return the features of a table that has all columns; others are not looked at."""
        check_names([column.name for column in self.columns], list(table.columns), table.path)
        parts = [column.features(table) for column in self.columns]
        if any(column.words is not None for column in self.columns):
            return sp.csr_matrix(sp.hstack(parts, format="csr"))
        return np.ascontiguousarray(np.hstack(parts))


def check_names(wanted: list[str], found: list[str], path: Path) -> None:
    """Refuse a table that lacks columns, and name them."""
    missing = [name for name in wanted if name not in set(found)]
    if not missing:
        return
    new = [name for name in found if name not in set(wanted)]
    renamed = f"; new are {listed(new)}: rename those that are meant" if new else ""
    raise data_error(path, f"it lacks the column{'s' * (len(missing) > 1)} {listed(missing)} of training{renamed}")


def read_table(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    query: str | None = None,
    labelled: bool = True,
    format: str | None = None,
    only: Collection[str] | None = None,
) -> Table:
    r"""Read a CSV or Parquet file with columns of any kind; the parameters are those of :func:`read_data`.

    Of a Parquet file, ``only`` the columns with these names, labels and queries need to hold numbers or text.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp(), "people.csv")
    >>> _ = file.write_text("age,town,bought\n31,Rome,yes\n,Oslo,no\n47,Rome,no\n")
    >>> table = read_table(file, label="bought")
    >>> table.y.tolist(), TableEncoder.fit(table).feature_names
    (['yes', 'no', 'no'], ['age', 'age missing', 'town=Oslo', 'town=Rome'])
    """
    path = Path(path)
    with uncompressed(path) as file:
        format = format_of(file, path, format, label, query)
        if format not in TABLES:
            raise data_error(path, f"a file of the {format} format has no named columns; CSV and Parquet have")
        lines: list[int] | None = None
        if format == "csv":
            columns, lines = _csv_columns(file, path)
        else:
            columns = columns_of(file, path, None if only is None else {*only, label, query}, {label, query})
    at = label_column(list(columns), label, path, labelled=labelled)
    query_column(list(columns), query, label, path)
    y = None if at is None else columns.pop(list(columns)[at])
    n_rows = next((column.shape[0] for column in (*columns.values(), y) if column is not None), 0)
    if n_rows == 0:
        raise data_error(path, "there are no examples in it")
    table = Table(path, format, columns, None, n_rows, lines)
    if query is not None:
        table = replace(table, qid=_queries(table, query))
    if y is None or not labelled:
        return table
    missing = np.isnan(y) if y.dtype.kind == "f" else y == ""
    if missing.any():
        raise table.error(int(missing.argmax()), f"the label, column {label!r}, is missing")
    if y.dtype.kind == "f":
        y = labels.whole_if_possible(y)
    else:
        texts, codes = np.unique(y, return_inverse=True)
        y = labels.from_text(texts.tolist())[codes]
    return replace(table, y=y)


def _queries(table: Table, query: str) -> NDArray[Any]:
    """Take the column of the queries out of a table, none of them missing."""
    column = table.columns.pop(query)
    missing = np.isnan(column) if column.dtype.kind == "f" else np.isin(column, list(MISSING))
    if missing.any():
        raise table.error(int(missing.argmax()), missing_query(query))
    if column.dtype.kind == "f":
        return labels.whole_if_possible(column)
    texts, codes = np.unique(column, return_inverse=True)
    return labels.queries_from_text(texts.tolist())[codes]


def is_table(path: Path, format: str | None) -> bool:
    """Whether a file has named columns of any kind."""
    with uncompressed(path) as file:
        return format_of(file, path, format, None) in TABLES


def _csv_columns(file: io.BufferedReader, path: Path) -> tuple[dict[str, NDArray[Any]], list[int]]:
    """Columns of text, and the lines of the rows."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    lines = Lines(text)
    try:
        rows = iter(lines)
        header = next(rows, "")
        delimiter = max(DELIMITERS, key=header.count)
        names = names_of(header, delimiter, path, lines.number)
        values: list[list[str]] = []
        places: list[int] = []
        for fields in csv.reader(rows, delimiter=delimiter):
            if len(fields) != len(names):
                reason = f"{len(fields)} fields where the first line names {len(names)} columns"
                raise data_error(path, reason, line=lines.number)
            values.append([field.strip() for field in fields])
            places.append(lines.number)
    except UnicodeDecodeError as error:
        raise data_error(path, f"it is not UTF-8 text: {error.reason}", line=lines.number + 1) from error
    except (csv.Error, *DECODING_ERRORS) as error:
        reason = str(error) if isinstance(error, csv.Error) else explain(error)
        raise data_error(path, f"it cannot be read further: {reason}", line=lines.number) from error
    finally:
        text.detach()  # whoever opened the file closes it
    columns = zip(*values, strict=True) if values else [()] * len(names)
    return {name: np.array(column, dtype=str) for name, column in zip(names, columns, strict=True)}, places


def _shortest(number: float) -> str:
    """A number as people write it: whole ones without a point."""
    return str(int(number)) if number.is_integer() else repr(number)


def _first_word(column: NDArray[Any]) -> tuple[int, str | None]:
    """Where the first text is that is no number, and the text; None if there is none."""
    for row, text in enumerate(column.tolist()):
        if text not in MISSING:
            try:
                float(text)
            except ValueError:
                return row, text
    return 0, None


def _numbers(column: NDArray[Any]) -> Array:
    return np.array([np.nan if text in MISSING else float(text) for text in column.tolist()])


def _learnt(table: Table, name: str) -> TableColumn | None:
    """What a column of the training table tells; None for nothing."""
    column = table.columns[name]
    if column.dtype.kind == "f" or _first_word(column)[1] is None:
        numbers = table.numbers(name)
        missing = np.isnan(numbers)
        if missing.all():
            return None
        imputer = SimpleImputer(strategy="median").fit(numbers[:, None])
        return TableColumn(name, median=float(imputer.statistics_[0]), has_missing=bool(missing.any()))
    texts = table.words(name)
    present = texts[texts != ""]
    words = OneHotEncoder().fit(present[:, None]).categories_[0].tolist()
    if len(words) == table.n_rows:
        return None
    return TableColumn(name, words=words, has_missing=present.size < table.n_rows)
