"""A column of a table as an encoder knows it: what it was taken for, and the features that it becomes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from ..io.model_file import kept_in_files

#: What columns are taken for.
KINDS = ("number", "words", "date", "dropped", "id", "text")
DAY = np.timedelta64(1, "D")


@kept_in_files
@dataclass(frozen=True)
class EncodedColumn:
    """A column of a table, and what has become of it.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"number", "words", "date", "dropped", "id", "text"}
        What it is taken for.
    reason : str
        Why it is dropped, or anything else to say of it.
    median : float
        Of its numbers, or, of dates, of the days since the first.
    words : list of str or None
        Those with a feature of their own, in order.
    rare : list of str
        Those that share a feature.
    has_missing : bool
        Whether values were missing.
    form, first : str or None
        Form of dates, and the first one.
    shift, scale : list of float
        Subtracted from the numbers, and what they are divided by then; empty for none.
    idf : list of float
        Of texts, what each of the words weighs by how rare it is.
    settings : dict
        Of texts, those of the TfidfVectorizer.

    Examples
    --------
    >>> EncodedColumn("town", "words", words=["Oslo", "Rome"]).feature_names
    ['town=Oslo', 'town=Rome']
    """

    name: str
    kind: str
    reason: str = ""
    median: float = 0.0
    words: list[str] | None = None
    rare: list[str] = field(default_factory=list)
    has_missing: bool = False
    form: str | None = None
    first: str | None = None
    shift: list[float] = field(default_factory=list)
    scale: list[float] = field(default_factory=list)
    idf: list[float] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        words, n = self.words or [], self.n_numbers
        sound = (
            self.kind in KINDS
            and (self.words is not None) == (self.kind in ("words", "text"))
            and bool(np.isfinite(self.median))
            and (self.kind != "date" or not np.isnat(np.datetime64(self.first or "NaT")))
            and words == sorted(set(words))
            and not set(words) & set(self.rare)
            and {len(self.shift), len(self.scale)} <= {0, n}
            and len(self.idf) == (len(words) if self.kind == "text" else 0)
            and bool(np.isfinite([*self.shift, *self.scale, *self.idf]).all())
            and 0.0 not in self.scale
        )
        if not sound:
            raise ValueError(f"the column {self.name!r} of a table is not described as one")

    @property
    def n_numbers(self) -> int:
        """Count of its features that are numbers."""
        return {"number": 1, "date": 4}.get(self.kind, 0)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features that it becomes."""
        values = {
            "number": [self.name],
            "date": [f"{self.name} {part}" for part in ("year", "month", "weekday", "days")],
            "words": [f"{self.name}={word}" for word in [*(self.words or []), *(["other"] if self.rare else [])]],
            "text": [f"{self.name}: {word}" for word in self.words or []],
        }.get(self.kind, [])
        return [*values, f"{self.name} missing"] if self.has_missing and self.kind in KINDS[:3] else values


def numbers_of(column: EncodedColumn, values: NDArray[Any]) -> Array:
    """Return numbers of a column of numbers or dates, not scaled, and where one was missing."""
    missing = np.isnat(values) if column.kind == "date" else np.isnan(values)
    if column.kind == "number":
        parts = [np.where(missing, column.median, values)]
    else:
        first = np.datetime64(column.first, "s")
        dates = np.where(missing, first + np.timedelta64(round(column.median * 86400), "s"), values)
        months = dates.astype("datetime64[M]").astype(np.int64)
        days = dates.astype("datetime64[D]").astype(np.int64)
        parts = [1970 + months // 12, 1 + months % 12, (days + 3) % 7, (dates - first) / DAY]
    return np.column_stack([*parts, missing] if column.has_missing else parts).astype(np.float64)


def places_of(column: EncodedColumn, words: NDArray[Any]) -> NDArray[np.intp]:
    """Return the feature of each word, -1 for none."""
    known = {word: place for place, word in enumerate(column.words or [])}
    other = len(known) if column.rare else -1
    known[""] = len(known) + bool(column.rare) if column.has_missing else -1
    return np.array([known.get(word, other) for word in words.tolist()], dtype=np.intp)
