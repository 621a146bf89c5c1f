"""The columns of data frames, of pandas and Polars, and of arrays, as those of a table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dataset import Table
from .labels import MISSING

#: What stands for the name of a file in errors.
PATH = Path("X")


def table_of(columns: Mapping[str, Any]) -> Table:
    """Return a table of columns: numbers, dates and times, or text.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31, 47], "town": ["Rome", None]})
    >>> table_of({name: frame[name] for name in frame}).columns
    {'age': array([31., 47.]), 'town': array(['Rome', ''], dtype=object)}
    """
    found = {name: _values(column) for name, column in columns.items()}
    n_rows = len(next(iter(found.values()))) if found else 0
    return Table(PATH, "frame", found, None, n_rows, None)


def _values(column: Any) -> NDArray[Any]:
    values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64, copy=False)
    if values.dtype.kind == "M":
        return values.astype("datetime64[s]")
    import pandas as pd

    missing = pd.isna(values)
    texts = np.empty(values.size, dtype=object)
    texts[:] = ["" if absent else _text(value) for absent, value in zip(missing, values.tolist(), strict=True)]
    return texts


def _text(value: Any) -> str:
    if isinstance(value, (dict, list, tuple, set, bytes)):
        raise TypeError(
            f"a cell of a table must be a number, a string or a date, got {type(value).__name__}: {value!r}"
        )
    text = str(value).strip()
    return "" if text in MISSING else text
