"""The files of :func:`~smoothperf.io.read_data`, a chunk of rows at a time: memory does not depend on their size."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import labels
from .dataset import Chunk, data_error
from .delimited import CsvTable
from .npz_stream import NpzChunks
from .parquet import parquet_chunks
from .read import format_of
from .store import open_store
from .streams import opened
from .svmlight import SvmlightChunks


@dataclass
class ChunkedData:
    """A file that is being read; what is not known before its end is there after the last chunk.

    Attributes
    ----------
    format : str
        "svmlight", "npz", "csv", "parquet" or "store".
    chunks : iterator of Chunk
        The rows.
    tidy : callable
        Turns the distinct labels of all chunks into the type that :func:`~smoothperf.io.read_data` would give them.
    n_features : callable
        Number of columns; after the last chunk.
    feature_names : list of str or None
        After the first chunk.
    zero_based : callable
        Whether the indices of an svmlight file count from 0, None for other formats; after the last chunk.
    """

    format: str
    chunks: Iterator[Chunk]
    tidy: Callable[[NDArray[Any]], NDArray[Any]] = labels.tidy
    n_features: Callable[[], int] = int
    zero_based: Callable[[], bool | None] = lambda: None
    feature_names: list[str] | None = None


@contextmanager
def open_chunks(
    path: str | os.PathLike[str],
    *,
    n_entries: int,
    label: str | None = None,
    format: str | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
) -> Iterator[ChunkedData]:
    r"""Open a file of labelled examples to read it a chunk of rows at a time.

    Parameters
    ----------
    path : path-like
        The file.
    n_entries : int
        Entries (zeros of tables included) in a chunk, about; at least one row.
    label, format, n_features, zero_based
        As in :func:`~smoothperf.io.read_data`.

    Yields
    ------
    ChunkedData

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "train.csv")
    >>> _ = file.write_text("age,income,bought\n31,2.5,yes\n47,1.0,no\n52,3.5,no\n")
    >>> with open_chunks(file, n_entries=6, label="bought") as data:
    ...     [chunk.X.shape for chunk in data.chunks], data.feature_names
    ([(2, 2), (1, 2)], ['age', 'income'])
    """
    path = Path(path)
    with opened(path) as (file, share):
        format = format_of(file, path, format, label)
        if format == "svmlight":
            text = SvmlightChunks(file, path, share, n_entries=n_entries, n_features=n_features, zero_based=zero_based)
            yield ChunkedData(
                format, iter(text), n_features=lambda: text.n_features, zero_based=lambda: text.zero_based
            )
            return
        data = ChunkedData(format, iter(()))
        data.chunks = _with_columns(_rows_of(data, file, path, share, label, n_entries), data, path, n_features)
        yield data


def _rows_of(
    data: ChunkedData, file: Any, path: Path, share: Callable[[], float], label: str | None, n_entries: int
) -> Iterator[Chunk]:
    if data.format == "csv":
        table = CsvTable(path, label, labelled=True)
        data.tidy = lambda found: labels.from_text([str(text) for text in found])
        width = max(file.peek().partition(b"\n")[0].count(mark) for mark in (b",", b";", b"\t")) + 1
        for X, codes in table.parts(file, max(1, n_entries // width)):
            assert codes is not None
            data.feature_names = table.feature_names
            yield Chunk(X, table.texts(codes), share())
    elif data.format == "npz":
        archive = NpzChunks(file, path, n_entries=n_entries)
        for chunk in archive:
            data.feature_names = archive.feature_names
            yield chunk
    elif data.format == "parquet":
        for chunk, names in parquet_chunks(file, path, label, n_entries):
            data.feature_names = names
            yield chunk
    else:
        store = open_store(path)
        data.feature_names = store.feature_names
        y = store.labels()
        for number, block in enumerate(store.blocks):
            rows = slice(block.first_row, block.first_row + block.n_rows)
            yield Chunk(store.read_block(number), y[rows], rows.stop / store.shape[0])


def _with_columns(chunks: Iterator[Chunk], data: ChunkedData, path: Path, n_features: int | None) -> Iterator[Chunk]:
    """Check and keep the number of columns, which the first chunk tells."""
    for chunk in chunks:
        found = int(chunk.X.shape[1])
        data.n_features = lambda found=found: found  # type: ignore[misc]
        if n_features is not None and found != n_features:
            raise data_error(path, f"it has {found} features where {n_features} are expected")
        yield Chunk(_as_numbers(chunk.X), chunk.y, chunk.share)


def _as_numbers(X: Any) -> Any:
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
