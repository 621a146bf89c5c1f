"""Parquet files, through pyarrow, which is imported when the first one is read."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import labels
from .dataset import data_error
from .delimited import label_column, remedy


def read_parquet(
    file: io.BufferedReader, path: Path, label: str | None, *, labelled: bool
) -> tuple[NDArray[np.float64], NDArray[Any] | None, list[str]]:
    """Read features, labels and the names of the features; see :func:`~smoothperf.io.read_data`."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise data_error(path, "Parquet files need pyarrow: pip install 'smoothperf[parquet]'") from error
    try:
        table = pq.read_table(file)
    except (pa.ArrowException, OSError, MemoryError) as error:
        raise data_error(path, f"it is not a sound Parquet file: {error}") from error
    names: list[str] = list(table.column_names)
    at = label_column(names, label, path, labelled=labelled)
    skipped = at is not None and not labelled
    if skipped:
        table, at = table.remove_column(at), None
        names = list(table.column_names)
    if table.num_rows == 0:
        raise data_error(path, "there are no examples in it")
    for name, column in zip(names, table.columns, strict=True):
        if column.null_count:
            row = column.is_null().index(True).as_py() + 1
            raise data_error(path, f"column {name!r} has no value in row {row}; remove or fill such rows")
    y = None
    if at is not None:
        y = _labels(table.column(at))
        problem = labels.problem_of(y, table.num_rows)
        if problem is not None:
            raise data_error(path, problem)
        y = labels.tidy(y)
        del names[at]
    X = np.empty((table.num_rows, len(names)))
    for position, name in enumerate(names):
        kind = table.schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise data_error(path, f"column {name!r} holds {kind}, not numbers; {remedy(labelled=labelled or skipped)}")
        X[:, position] = table.column(name).to_numpy()
        if not np.isfinite(X[:, position]).all():
            row = int(np.flatnonzero(~np.isfinite(X[:, position]))[0])
            raise data_error(path, f"column {name!r} holds {X[row, position]} in row {row + 1}; remove or replace it")
    return X, y, names


def _labels(column: Any) -> NDArray[Any]:
    values: NDArray[Any] = column.to_numpy()
    if values.dtype.kind == "O" and all(isinstance(value, str) for value in values):
        return values.astype(str)
    return values
