"""Data sets as files give them, and errors of one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array, Indices
from . import labels
from .labels import MISSING, is_number, numbers_from_text

#: The name that pandas gives a first column without one, which often is the index of a frame.
INDEX = "Unnamed: 0"


@dataclass(frozen=True)
class Dataset:
    r"""Features and labels, and where they come from.

    Attributes
    ----------
    X : csr_matrix or ndarray of shape (n, d)
        Features, finite numbers; CSR from svmlight and sparse .npz files, an array otherwise. Those of a store are
        mapped into memory.
    y : ndarray of shape (n,) or None
        Labels as they are in the file: whole numbers as int64, other numbers as float64, truth values as bool, text as
        str. None if the file was read without labels.
    format : str
        "svmlight", "npz", "csv", "parquet", "xlsx" or "store".
    feature_names : list of str or None
        Names of the columns of X, if the file has them.
    path : Path
        The file.
    zero_based : bool or None
        Whether the indices of an svmlight file were taken to count from 0; None for other formats.
    encoder : transformer or None
        The encoder that makes numbers of the columns, where X is a :class:`~smoothperf.io.columns.Table`.
    qid : ndarray of shape (n,) or None
        The query of each row: whole numbers as int64, other numbers as float64, anything else as str. None if the file
        has none.
    sample_weight : ndarray of shape (n,) or None
        The weight of each row; None if there are none, which only stores may have.
    made_by : transformer or None
        The encoder that has made X of a table, which a store may have.

    Examples
    --------
    >>> import tempfile
    >>> from smoothperf.io import read_data
    >>> file = Path(tempfile.mkdtemp(), "two.svm")
    >>> _ = file.write_text("+1 1:0.5 3:2\n-1 2:1\n")
    >>> data = read_data(file)
    >>> data.X.shape, data.y, data.format
    ((2, 3), array([ 1, -1]), 'svmlight')
    """

    X: Any
    y: Any
    format: str
    feature_names: list[str] | None
    path: Path
    zero_based: bool | None = None
    encoder: Any = None
    qid: Any = None
    sample_weight: Any = None
    made_by: Any = None

    def chunk(self, rows: slice, share: float) -> Chunk:
        """Return some of the rows.

        Parameters
        ----------
        rows : slice
            Their places.
        share : float
            Share of the file up to their end.

        Returns
        -------
        Chunk
            These rows.
        """
        y, qid, weights = (None if each is None else each[rows] for each in (self.y, self.qid, self.sample_weight))
        return Chunk(self.X[rows], y, share, self.feature_names, self.zero_based, qid=qid, sample_weight=weights)


@dataclass(frozen=True)
class Chunk:
    """Some rows of a file, in the order of the file.

    Attributes
    ----------
    X : csr_matrix or ndarray of shape (m, width)
        Features, finite numbers; of text in svmlight format as many columns as have occurred. The last chunk has all.
    y : ndarray of shape (m,)
        Labels as they were read, before :func:`~smoothperf.io.labels.tidy` or, of tables,
        :func:`~smoothperf.io.labels.typed` has seen all of them.
    share : float
        Share of the file that has been read, up to the end of this chunk.
    feature_names : list of str or None
        Names of the columns.
    zero_based : bool or None
        Whether the indices of an svmlight file count from 0, as far as is known; None for other formats.
    moved : bool
        Whether all chunks before have their columns one too far to the left: only now it is known that indices count
        from 0.
    qid : ndarray of shape (m,) or None
        The query of each row, as it was read; None if the file has none.
    sample_weight : ndarray of shape (m,) or None
        The weight of each row; None if the file has none.
    """

    X: Any
    y: Any
    share: float
    feature_names: list[str] | None = None
    zero_based: bool | None = None
    moved: bool = False
    qid: Any = None
    sample_weight: Any = None


@dataclass(frozen=True)
class Table:
    """The columns of a file.

    Attributes
    ----------
    path : Path
        The file.
    format : str
        "csv", "parquet", "xlsx" or "frame".
    columns : dict
        By name, without those of labels and queries: arrays of numbers, with NaN for what is missing, of dates, or of
        text.
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
        numbers = numbers_in(column)
        if numbers is None:
            cells = ((row, str(cell)) for row, cell in enumerate(column.tolist()))
            words = (pair for pair in cells if pair[1] not in MISSING and not is_number(pair[1]))
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
        if self.format in ("csv", "xlsx"):
            return data_error(self.path, reason, line=number)
        return data_error(self.path, f"row {number}: {reason}")

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

    def stacked(self, others: Table) -> Table:
        """Other rows below these; a column that the others lack has no values there."""
        columns = {}
        for name, column in self.columns.items():
            more = others.columns.get(name)
            if more is None or column.dtype.kind != more.dtype.kind:
                more = np.full(others.n_rows, "", dtype=object) if more is None else others.words(name)
                column = self.words(name)
            columns[name] = np.concatenate([column, more])
        return replace(self, columns=columns, y=None, qid=None, n_rows=self.n_rows + others.n_rows, lines=None)

    def with_encoder(self, encoder: Any) -> Dataset:
        """Return a data set of these columns, as they are, and what is to make numbers of them."""
        return Dataset(self, self.y, self.format, None, self.path, encoder=encoder, qid=self.qid)

    def plain(self, hint: str = "") -> Dataset:
        """Return the numbers as they are; a word, or a value that is missing, is an error."""
        X = np.empty((self.n_rows, len(self.columns)))
        try:
            for place, name in enumerate(self.columns):
                if name == INDEX:
                    reason = "column 1 has no name; name it, or leave it out if it only counts the rows"
                    raise data_error(self.path, reason)
                X[:, place] = self.numbers(name, f"; encode such columns first{hint}")
                missing = np.isnan(X[:, place])
                if missing.any():
                    raise self.error(int(missing.argmax()), f"column {name!r} has no value; remove or fill such rows")
        except DataError as error:
            raise NotNumbersError(*error.args) from error
        return Dataset(X, self.y, self.format, list(self.columns), self.path, qid=self.qid)

    def typed(self) -> Table:
        """Return the same with labels and queries in the types that all of them tell."""
        y, qid = self.y, self.qid
        return replace(
            self,
            y=None if y is None else labels.typed(y),
            qid=None if qid is None else labels.typed(qid, labels.keys_from_text),
        )


def joined(parts: list[Table]) -> Table:
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


def numbers_in(column: NDArray[Any]) -> Array | None:
    """Return the numbers that a column holds; None if it holds words or dates."""
    if column.dtype.kind == "O":
        return numbers_from_text(column.tolist())
    if column.dtype.kind == "M":
        return None
    return column.astype(np.float64, copy=False)


def _word(value: Any) -> str:
    """Return a value as people write it, numbers that are whole without a point; "" for what is missing."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value)
    return "" if text in MISSING else text


class DataError(ValueError):
    """A data file cannot be used; one line says which file, which line of it if one is to blame, and why.

    Examples
    --------
    >>> from smoothperf.io import read_data
    >>> try:
    ...     read_data("nowhere.svm")
    ... except DataError as error:
    ...     print(error)
    nowhere.svm: it cannot be read: No such file or directory
    """


class NotNumbersError(DataError):
    """A table has more than numbers."""


def data_error(path: str | os.PathLike[str], reason: str, *, line: int | None = None) -> DataError:
    """Make the error for a file and, where one is to blame, its line (counted from 1)."""
    where = os.fspath(path) if line is None else f"{os.fspath(path)}, line {line}"
    return DataError(f"{' '.join(where.split())}: {one_line(reason)}")


@contextmanager
def damage_as_data_error(path: Path, what: str) -> Iterator[None]:
    """Turn into one line whatever a damaged file makes a library raise that reads it, which nobody can list."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        raise data_error(path, f"{what}: {error}") from error


def one_line(text: str) -> str:
    r"""Return what a message says as one line of at most 400 characters, all of them printable.

    Messages of libraries quote files, in which anything may be.

    Examples
    --------
    >>> print(one_line("on two\nlines, with \x1b in it"))
    on two lines, with \x1b in it
    >>> len(one_line("9" * 1_000_000))
    400
    """
    shown = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in " ".join(text.split()))
    return shown if len(shown) <= 400 else f"{shown[:295]} ... {shown[-100:]}"


def check_column(name: str, found: list[str], path: Path) -> None:
    """Refuse a name that no column has."""
    if name not in found:
        raise data_error(path, f"there is no column {name!r}; there are {listed(found)}")


def listed(names: list[str]) -> str:
    """Return the first names, quoted."""
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")


def quoted(text: str | bytes, limit: int = 40) -> str:
    r"""Show text from a file in an error: quoted, printable, and not longer than a person wants to read.

    Examples
    --------
    >>> print(quoted(b"1:x" + bytes([0, 255])))
    '1:x\x00\xff'
    >>> print(quoted("9" * 1000, limit=5))
    '99999'... (1000 characters)
    """
    beginning = text[:limit]
    shown = ascii(beginning.decode("latin-1")) if isinstance(beginning, bytes) else repr(beginning)
    return shown if len(text) <= limit else f"{shown}... ({len(text)} characters)"
