"""Labels or queries of rows that come some at a time: numbers as they are, and words by number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import labels as label_types

#: Whole numbers up to here are the same as fractions.
EXACT = 1 << 53


class Column:
    """A number or a word for each row.

    Parameters
    ----------
    one, many : str
        The words for one of its numbers or words, and for several, in errors.

    Attributes
    ----------
    tidy : callable
        Makes of different words that were read as text what they are: numbers, truth values or words.

    Examples
    --------
    >>> column = Column("label", "labels")
    >>> column.add(np.array(["b", "b", "a"]), 3)
    >>> column.add(np.array(["b"]), 1)
    >>> column.finish()
    (array([0, 0, 1, 0], dtype=int32), ['b', 'a'])
    """

    def __init__(self, one: str, many: str) -> None:
        self._one, self._many = one, many
        self._parts: list[NDArray[Any]] = []
        self._places: dict[str, int] = {}
        self.tidy: Callable[[list[str]], NDArray[Any]] = np.array

    def add(self, values: NDArray[Any], n_rows: int, first_row: int = 1) -> None:
        """Append those of some rows."""
        if n_rows == 0:
            return
        if values.dtype.kind == "O":  # as strings come from pandas
            values = np.array(values.tolist())
        problem = label_types.problem_of(values, n_rows, first_row=first_row)
        if problem is not None:
            raise ValueError(problem.replace("labels", self._many).replace("label", self._one))
        if self._parts and (values.dtype.kind == "U") != bool(self._places):
            raise ValueError(f"some of its {self._many} are words and others are numbers; use one")
        self._parts.append(self._numbered(values) if values.dtype.kind == "U" else values)

    def finish(self) -> tuple[NDArray[Any], list[str] | None]:
        """The column, and the words that its numbers stand for, if they do."""
        column = np.concatenate(self._parts)
        if not self._places:
            if column.dtype.kind == "f" and any(
                part.dtype.kind in "iu" and max(-int(part.min()), int(part.max())) > EXACT for part in self._parts
            ):
                raise ValueError(f"its {self._many} are fractions and whole numbers beyond 2^53; use one")
            return label_types.tidy(column), None
        found = self.tidy(list(self._places))
        return (column, found.tolist()) if found.dtype.kind == "U" else (label_types.tidy(found)[column], None)

    def _numbered(self, words: NDArray[Any]) -> NDArray[np.int32]:
        """Numbers of words, which often follow one another."""
        heads = np.flatnonzero(np.append(True, words[1:] != words[:-1]))
        numbers = [self._places.setdefault(word, len(self._places)) for word in words[heads].tolist()]
        return np.repeat(np.array(numbers, dtype=np.int32), np.diff(heads, append=words.shape[0]))
