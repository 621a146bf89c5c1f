"""Parquet files, through pyarrow, which is imported when the first one is read."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import labels
from .dataset import Chunk, DataError, NotNumbersError, check_column, damage_as_data_error, data_error
from .delimited import label_column, missing_query, query_column, remedy

#: What is said of a file that cannot be read.
DAMAGED = "it is not a sound Parquet file"


def read_parquet(
    file: io.BufferedReader, path: Path, label: str | None, query: str | None = None, *, labelled: bool
) -> tuple[NDArray[np.float64], NDArray[Any] | None, list[str], NDArray[Any] | None]:
    """Read features, labels, the names of the features, and queries; see :func:`~smoothperf.io.read_data`."""
    with damage_as_data_error(path, DAMAGED):
        table = _table(file, path)
        table, qid = _without_queries(_without_index(table, {label, query}), path, label, query)
        X, y, names = _arrays(table, path, label, labelled=labelled)
    return X, None if y is None else labels.tidy(y), names, qid


def parquet_chunks(
    file: io.BufferedReader, path: Path, label: str | None, query: str | None, n_entries: int
) -> Iterator[Chunk]:
    """Yield the same, about so many entries at a time; labels as they are in the file."""
    pa, pq = _pyarrow(path)
    done = 0
    with damage_as_data_error(path, DAMAGED):
        whole = pq.ParquetFile(file, pre_buffer=False)  # a buffer would keep the whole file in memory
        for batch in whole.iter_batches(batch_size=max(1, n_entries // len(whole.schema_arrow.names))):
            table = _without_index(pa.Table.from_batches([batch]), {label, query})
            table, qid = _without_queries(table, path, label, query, first_row=done + 1)
            X, y, names = _arrays(table, path, label, labelled=True, first_row=done + 1)
            done += table.num_rows
            yield Chunk(X, y, done / whole.metadata.num_rows, names, qid=qid)
    if done == 0:
        raise data_error(path, "there are no examples in it")


def _pyarrow(path: Path) -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise data_error(path, "Parquet files need pyarrow: pip install 'smoothperf[parquet]'") from error
    return pa, pq


def _table(file: io.BufferedReader, path: Path) -> Any:
    return _pyarrow(path)[1].read_table(file)


def _without_index(table: Any, wanted: Collection[str | None]) -> Any:
    """A table without what was the index of a pandas frame, which is no feature; what was asked for by name stays."""
    about = table.schema.pandas_metadata or {}
    index = [name for name in about.get("index_columns", ()) if isinstance(name, str) and name not in wanted]
    return table.drop_columns([name for name in index if name in table.column_names])


def _arrays(
    table: Any, path: Path, label: str | None, *, labelled: bool, first_row: int = 1
) -> tuple[NDArray[np.float64], NDArray[Any] | None, list[str]]:
    """Features, labels and names of a table whose rows count from ``first_row``."""
    pa, _ = _pyarrow(path)
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
            row = column.is_null().index(True).as_py() + first_row
            reason = f"column {name!r} has no value in row {row}; remove or fill such rows"
            raise data_error(path, reason, kind=NotNumbersError)
    y = None
    if at is not None:
        y = _labels(table.column(at))
        problem = labels.problem_of(y, table.num_rows, first_row=first_row)
        if problem is not None:
            raise data_error(path, problem)
        del names[at]
    X = np.empty((table.num_rows, len(names)))
    for position, name in enumerate(names):
        kind = table.schema.field(name).type
        if not _is_number(pa, kind):
            reason = f"column {name!r} holds {kind}, not numbers; {remedy(labelled=labelled or skipped)}"
            raise data_error(path, reason, kind=NotNumbersError)
        X[:, position] = table.column(name).to_numpy()
        if not np.isfinite(X[:, position]).all():
            row = int(np.flatnonzero(~np.isfinite(X[:, position]))[0])
            reason = f"column {name!r} holds {X[row, position]} in row {row + first_row}; remove or replace it"
            raise data_error(path, reason, kind=NotNumbersError if np.isnan(X[row, position]) else DataError)
    return X, y, names


def _without_queries(
    table: Any, path: Path, label: str | None, query: str | None, *, first_row: int = 1
) -> tuple[Any, NDArray[Any] | None]:
    """A table without the column of queries, and these, if there are any."""
    place = query_column(list(table.column_names), query, label, path)
    if place is None:
        return table, None
    return table.remove_column(place), _queries(table.column(place), path, query, first_row)


def _queries(column: Any, path: Path, query: str | None, first_row: int) -> NDArray[Any]:
    """The query of each row, none of them missing."""
    missing = column.is_null(nan_is_null=True)
    if missing.index(True).as_py() >= 0:
        raise data_error(path, f"row {missing.index(True).as_py() + first_row}: {missing_query(query)}")
    ids = _labels(column)
    problem = labels.problem_of(ids, len(column))
    if problem is not None:
        raise data_error(path, problem.replace("its labels are", f"the queries, column {query!r}, are"))
    return labels.tidy(ids)


def columns_of(
    file: io.BufferedReader,
    path: Path,
    only: Collection[str | None] | None = None,
    also: Collection[str | None] = (),
) -> dict[str, NDArray[Any]]:
    """Read columns of numbers, with NaN for what is missing, and of text, with "" for that; ``only`` those named.

    The index of a pandas frame is left out, unless it is ``also`` asked for.
    """
    pa, _ = _pyarrow(path)
    columns: dict[str, NDArray[Any]] = {}
    with damage_as_data_error(path, DAMAGED):
        table = _without_index(_table(file, path), {*also, *(only or ())})
        if only is not None:
            table = table.select([name for name in table.column_names if name in only])
        for name, column in zip(table.column_names, table.columns, strict=True):
            kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
            if _is_number(pa, kind):
                # Whole numbers beyond 2^53 are rounded, as those of a text are.
                values = column.cast(pa.int8()) if pa.types.is_boolean(kind) else column.cast(pa.float64(), safe=False)
                columns[name] = np.array(
                    [np.nan if value is None else value for value in values.to_pylist()], dtype=float
                )
            elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
                columns[name] = np.array([value or "" for value in column.to_pylist()], dtype=str)
            else:
                raise data_error(path, f"column {name!r} holds {kind}; use numbers, truth values or text")
    return columns


def texts_of(file: io.BufferedReader, path: Path, name: str) -> list[str]:
    """Read one column as text, whatever it holds, exactly; "" for what is missing."""
    with damage_as_data_error(path, DAMAGED):
        table = _table(file, path)
        check_column(name, list(table.column_names), path)
        return ["" if value is None else str(value) for value in table.column(name).to_pylist()]


def _is_number(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _labels(column: Any) -> NDArray[Any]:
    values: NDArray[Any] = column.to_numpy()
    if values.dtype.kind == "O" and all(isinstance(value, str) for value in values):
        return values.astype(str)
    return values
