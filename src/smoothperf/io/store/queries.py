"""The query of each row, as a column of a store: eight bytes a row, numbers as they are and words by number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import labels as label_types

#: Types of queries, and of the numbers that stand for them in the file.
COLUMN_TYPES = {"int64": "<i8", "float64": "<f8", "str": "<i8"}


class QueryColumn:
    """Queries of rows that come some at a time.

    Attributes
    ----------
    tidy : callable
        Makes of different queries that were read as text what they are.

    Examples
    --------
    >>> column = QueryColumn()
    >>> column.add(np.array(["b", "b", "a"]), 3)
    >>> column.add(np.array(["b"]), 1)
    >>> column.finish()
    (array([0, 0, 1, 0]), 'str', ['b', 'a'])
    """

    def __init__(self) -> None:
        self._parts: list[NDArray[Any]] = []
        self._kind: str | None = None
        self._codes: dict[str, int] = {}
        self._rows = 0
        self.tidy: Callable[[list[str]], NDArray[Any]] = np.array

    def add(self, qid: NDArray[Any] | None, n_rows: int) -> None:
        """Append the queries of rows, or none; either all rows have them or none has."""
        first, self._rows = self._rows == 0, self._rows + n_rows
        if n_rows == 0:
            return
        if not first and (qid is None) != (self._kind is None):
            raise ValueError("some rows have a query and others have none; give it for all of them, or for none")
        if qid is None:
            return
        if qid.dtype.kind == "O":  # as strings come from pandas
            qid = np.array(qid.tolist())
        if qid.dtype.kind in "SOcmM" or label_types.problem_of(qid, n_rows) is not None:
            raise ValueError(
                f"queries must be a finite number or a word for each of {n_rows} rows, got shape {qid.shape} and type "
                f"{qid.dtype}"
            )
        kind = "str" if qid.dtype.kind == "U" else "float64" if qid.dtype.kind == "f" else "int64"
        if self._kind not in (None, kind):
            raise ValueError(f"queries are of the types {self._kind} and {kind}; use one")
        self._kind = kind
        self._parts.append(self._encoded(qid) if kind == "str" else _numbers(qid, COLUMN_TYPES[kind]))

    def finish(self) -> tuple[NDArray[Any], str, list[str] | None] | None:
        """The column, the type of the queries and the words that numbers stand for; None if there are no queries."""
        if self._kind is None:
            return None
        column = np.concatenate(self._parts)
        if self._kind != "str":
            return column, self._kind, None
        found = self.tidy(list(self._codes))
        if found.dtype.kind != "U":
            kind = "float64" if found.dtype.kind == "f" else "int64"
            return _numbers(found, COLUMN_TYPES[kind])[column], kind, None
        return column, "str", found.tolist()

    def _encoded(self, words: NDArray[Any]) -> NDArray[np.int64]:
        """Numbers of words; rows of a query mostly follow one another."""
        heads = np.flatnonzero(np.append(True, words[1:] != words[:-1]))
        numbers = [self._codes.setdefault(word, len(self._codes)) for word in words[heads].tolist()]
        return np.repeat(np.array(numbers, dtype=np.int64), np.diff(heads, append=words.shape[0]))


def _numbers(qid: NDArray[Any], kind: str) -> NDArray[Any]:
    """Queries as numbers of a type, none of which is changed by that."""
    if qid.dtype.kind == "u" and qid.size and int(qid.max()) >= 1 << 63:
        raise ValueError(f"the query {int(qid.max())} has more digits than 64 bits with a sign can hold")
    return qid.astype(kind)
