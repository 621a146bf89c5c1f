"""The files of :func:`~smoothperf.io.read_data`, a chunk of rows at a time: memory does not depend on their size.

NumPy archives are read whole, and then handed out in chunks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .columns import TABLES, table_chunks
from .dataset import Chunk, Dataset, data_error
from .named import NONE, Named
from .read import format_of, read_data
from .store import is_store
from .store.former import begins_as_former_store, former_chunks
from .streams import opened
from .svmlight import svmlight_chunks


@contextmanager
def open_chunks(
    path: str | os.PathLike[str],
    named: Named = NONE,
    *,
    n_entries: int,
    format: str | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
    encoding: str | None = None,
) -> Iterator[tuple[str, Iterator[Chunk]]]:
    r"""Open a file of labelled examples to read it a chunk of rows at a time.

    Parameters
    ----------
    path : path-like
        The file.
    named : Named
        The columns of a table that are no features.
    n_entries : int
        Entries (zeros of tables included) in a chunk, about; at least one row.
    format, n_features, zero_based, encoding
        As in :func:`~smoothperf.io.read_data`.

    Yields
    ------
    format : str
        "svmlight", "npz", "csv", "parquet", "xlsx" or "store".
    chunks : iterator of Chunk
        The rows.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "train.csv")
    >>> _ = file.write_text("age,income,bought\n31,2.5,yes\n47,1.0,no\n52,3.5,no\n")
    >>> with open_chunks(file, n_entries=6, named=Named("bought")) as (_, chunks):
    ...     [(chunk.X.shape, chunk.feature_names) for chunk in chunks]
    [((2, 2), ['age', 'income']), ((1, 2), ['age', 'income'])]
    """
    path = Path(path)
    if is_store(path, format):
        former = begins_as_former_store(path)
        chunks = former_chunks(path) if former else _pieces(read_data(path, **named._asdict()), n_entries)
        yield "store", _with_columns(chunks, path, n_features)
        return
    with opened(path) as (file, share):
        format = format_of(file, path, format, named)
        if format == "svmlight":
            yield (
                format,
                svmlight_chunks(file, path, share, n_entries=n_entries, n_features=n_features, zero_based=zero_based),
            )
            return
        if format in TABLES:
            chunks = table_chunks(file, path, format, share, named, n_entries, encoding)
        else:
            chunks = _pieces(read_data(path, format=format), n_entries)
        yield format, _with_columns(chunks, path, n_features)


def _pieces(data: Dataset, n_entries: int) -> Iterator[Chunk]:
    """Yield the rows of data that have been read, or are mapped into memory."""
    n, d = data.X.shape
    step = max(1, n_entries * n // max(1, getattr(data.X, "nnz", n * d)))
    for begin in range(0, n, step):
        rows = slice(begin, min(begin + step, n))
        yield data.chunk(rows, rows.stop / n)


def _with_columns(chunks: Iterator[Chunk], path: Path, n_features: int | None) -> Iterator[Chunk]:
    """Check the number of columns, if one is expected."""
    for chunk in chunks:
        found = chunk.X.shape[1]
        if n_features is not None and found != n_features:
            raise data_error(path, f"it has {found} features where {n_features} are expected")
        yield chunk
