"""The files of :func:`~smoothperf.io.read_data`, a chunk of rows at a time: memory does not depend on their size."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .columns import TABLES, table_chunks
from .dataset import Chunk, data_error
from .npz_stream import npz_chunks
from .read import format_of
from .store import open_store
from .streams import opened
from .svmlight import svmlight_chunks


@contextmanager
def open_chunks(
    path: str | os.PathLike[str],
    *,
    n_entries: int,
    label: str | None = None,
    query: str | None = None,
    format: str | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
) -> Iterator[tuple[str, Iterator[Chunk]]]:
    r"""Open a file of labelled examples to read it a chunk of rows at a time.

    Parameters
    ----------
    path : path-like
        The file.
    n_entries : int
        Entries (zeros of tables included) in a chunk, about; at least one row.
    label, query, format, n_features, zero_based
        As in :func:`~smoothperf.io.read_data`.

    Yields
    ------
    format : str
        "svmlight", "npz", "csv", "parquet" or "store".
    chunks : iterator of Chunk
        The rows.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "train.csv")
    >>> _ = file.write_text("age,income,bought\n31,2.5,yes\n47,1.0,no\n52,3.5,no\n")
    >>> with open_chunks(file, n_entries=6, label="bought") as (_, chunks):
    ...     [(chunk.X.shape, chunk.feature_names) for chunk in chunks]
    [((2, 2), ['age', 'income']), ((1, 2), ['age', 'income'])]
    """
    path = Path(path)
    with opened(path) as (file, share):
        format = format_of(file, path, format, label, query)
        if format == "svmlight":
            yield (
                format,
                svmlight_chunks(file, path, share, n_entries=n_entries, n_features=n_features, zero_based=zero_based),
            )
            return
        if format in TABLES:
            chunks = table_chunks(file, path, format, share, label, query, n_entries)
        elif format == "npz":
            chunks = npz_chunks(file, path, n_entries)
        else:
            chunks = _store_chunks(path)
        yield format, _with_columns(chunks, path, n_features)


def _store_chunks(path: Path) -> Iterator[Chunk]:
    store = open_store(path)
    y, qid = store.labels(), store.qid()
    for number, block in enumerate(store.blocks):
        rows = slice(block.first_row, block.first_row + block.n_rows)
        share = rows.stop / store.shape[0]
        queries = None if qid is None else qid[rows]
        yield Chunk(store.read_block(number), y[rows], share, store.feature_names, qid=queries)


def _with_columns(chunks: Iterator[Chunk], path: Path, n_features: int | None) -> Iterator[Chunk]:
    """Check the number of columns, if one is expected."""
    for chunk in chunks:
        found = chunk.X.shape[1]
        if n_features is not None and found != n_features:
            raise data_error(path, f"it has {found} features where {n_features} are expected")
        yield chunk
