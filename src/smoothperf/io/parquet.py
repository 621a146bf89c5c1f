"""Parquet files, through pyarrow, which is imported when the first one is read."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dataset import damage_as_data_error, data_error
from .delimited import TablePart, as_text

#: The message for a file that cannot be read.
DAMAGED = "it is not a sound Parquet file"


class Parquet:
    """A Parquet file with named columns; the index of a pandas frame is none of them, but for what is ``asked`` for."""

    format = "parquet"

    def __init__(self, file: io.BufferedReader, path: Path, asked: Collection[str | None] = ()):
        self._path = path
        try:
            import pyarrow.parquet
        except ModuleNotFoundError as error:
            raise data_error(path, "Parquet files need pyarrow: pip install 'smoothperf[parquet]'") from error
        with damage_as_data_error(path, DAMAGED):
            # A buffer would keep the whole file in memory.
            self._file = pyarrow.parquet.ParquetFile(file, pre_buffer=False)
            self._schema = self._file.schema_arrow
            index = (self._schema.pandas_metadata or {}).get("index_columns", [])
            self.names = [name for name in self._schema.names if name in asked or name not in index]
            self.n_rows: int = self._file.metadata.num_rows
        twice = next((name for name in self.names if self.names.count(name) > 1), None)
        if twice is not None:
            raise data_error(path, f"the column {twice!r} occurs twice")

    def parts(self, columns: Collection[str], kept: Collection[str], n_rows: int) -> Iterator[TablePart]:
        """Yield columns, so many rows at a time: in the type that they have in the file of those that are ``kept``.

        Of the others, numbers and truth values come as numbers, with NaN for what is missing, text and dates as such.
        """
        wanted = [name for name in self.names if name in columns]
        for name in wanted:
            kind = self._kind(name)
            if name not in kept and not (_is_number(kind) or _is_text(kind) or _is_date(kind)):
                raise data_error(self._path, f"column {name!r} holds {kind}; use numbers, truth values, text or dates")
        with damage_as_data_error(self._path, DAMAGED):
            for batch in self._file.iter_batches(batch_size=n_rows, columns=wanted):
                yield {name: self._values(batch.column(name), name in kept) for name in wanted}, None

    def texts(self, name: str) -> list[str]:
        """Return a column as text, whatever it holds, exactly; "" for what is missing."""
        with damage_as_data_error(self._path, DAMAGED):
            batches = self._file.iter_batches(columns=[name])
            values = [value for batch in batches for value in batch.column(name).to_pylist()]
            return ["" if value is None else str(value) for value in values]

    def _kind(self, name: str) -> Any:
        import pyarrow as pa

        kind = self._schema.field(name).type
        return kind.value_type if pa.types.is_dictionary(kind) else kind

    def _values(self, column: Any, kept: bool) -> NDArray[Any]:
        import pyarrow as pa

        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if _is_text(column.type):
            return as_text(column.to_pylist())
        if _is_date(column.type):
            return np.asarray(column.to_numpy(zero_copy_only=False)).astype("datetime64[s]")
        if kept:
            return np.asarray(column.to_numpy(zero_copy_only=False))
        if not _is_float_or_whole(column.type):
            column = column.cast(pa.int8())
        # Whole numbers beyond 2^53 are rounded, as those of a text are.
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _is_float_or_whole(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind))


def _is_number(kind: Any) -> bool:
    import pyarrow.types as types

    return _is_float_or_whole(kind) or bool(types.is_boolean(kind) or types.is_null(kind))


def _is_date(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_timestamp(kind) or types.is_date(kind))


def _is_text(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_string(kind) or types.is_large_string(kind))
