"""Tables as people have them: columns of words, values that are missing, columns in any order.

A :class:`TableEncoder` learns from the training table how to make numbers of it, and does the same to every later one:

    numbers     as they are; a missing one becomes the median of the column, and where some were missing in training, a
                column "NAME missing" says so by a 1
    words       a column "NAME=word" of 0 and 1 for each word of the training table, "NAME missing" for no word; words
                that were not in it are 0 everywhere

What is learnt are numbers and text, which a model file keeps. Columns are found
by their names, and those that the training table did not have are not looked at. The result is sparse if there are
words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .columns import check_names
from .dataset import Table, data_error


@dataclass(frozen=True)
class TableColumn:
    """A column of the training table.

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

    def _indicators(self, texts: NDArray[Any]) -> Any:
        places = {word: place for place, word in enumerate([*(self.words or []), *([""] if self.has_missing else [])])}
        place = np.array([places.get(text, -1) for text in texts.tolist()])
        rows = np.flatnonzero(place >= 0)
        return sp.csr_matrix((np.ones(rows.size), (rows, place[rows])), shape=(texts.size, len(places)))


@dataclass(frozen=True)
class TableEncoder:
    r"""Encoder of the columns of a table as features.

    Attributes
    ----------
    columns : list of TableColumn
        In the order of the features.
    left_out : list of str
        Columns of the training table that are left out: without any value, or with another word in each row.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from smoothperf.io.read import read_table
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
        """Learn from a training table.

        Parameters
        ----------
        table : Table
            A training table.

        Returns
        -------
        TableEncoder
            The encoder.
        """
        found = {name: _learnt(table, name) for name in table.columns}
        columns = [column for column in found.values() if column is not None]
        left_out = [name for name, column in found.items() if column is None]
        if not columns:
            raise data_error(table.path, "no column has values that occur in more than one row")
        return cls(columns, left_out)

    @classmethod
    def of_numbers(cls, names: Iterable[str]) -> TableEncoder:
        """Return one that takes columns of numbers as they are.

        Parameters
        ----------
        names : iterable of str
            Names of the columns.

        Returns
        -------
        TableEncoder
            The encoder.
        """
        return cls([TableColumn(name) for name in names], [])

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return [name for column in self.columns for name in column.feature_names]

    def transform(self, table: Table) -> Any:
        """Return the features of a table that has all columns; others are not looked at.

        Parameters
        ----------
        table : Table
            A table.

        Returns
        -------
        sparse matrix or ndarray of shape (n, d)
            The features.
        """
        check_names([column.name for column in self.columns], list(table.columns), table.path)
        parts = [column.features(table) for column in self.columns]
        if any(column.words is not None for column in self.columns):
            return sp.csr_matrix(sp.hstack(parts, format="csr"))
        return np.ascontiguousarray(np.hstack(parts))


def _learnt(table: Table, name: str) -> TableColumn | None:
    """The description of a column of the training table; None if it is left out."""
    if table.columns[name].dtype.kind == "f":
        numbers = table.numbers(name)
        missing = np.isnan(numbers)
        if missing.all():
            return None
        return TableColumn(name, median=float(np.median(numbers[~missing])), has_missing=bool(missing.any()))
    texts = set(table.words(name).tolist())
    words = sorted(texts - {""})
    return None if len(words) == table.n_rows else TableColumn(name, words=words, has_missing="" in texts)
