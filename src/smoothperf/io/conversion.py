"""From any data file to a store, in memory that does not depend on the size of the file."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import chain
from pathlib import Path

from .._validation import whole_number
from .chunks import open_chunks
from .columns import TABLES
from .labels import queries_from_text, typed
from .store.writer import BLOCK_SIZE, StoreWriter

#: Bytes of an entry in a table of numbers, which chunks of rows are before they become sparse.
ENTRY = 8
#: So many chunks have the bytes of a block; but a chunk has no fewer than so many entries.
CHUNKS_OF_BLOCK = 4
LEAST_ENTRIES = 1 << 12
#: Columns from which on 32 bits do not do.
WIDE = 1 << 31


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    label: str | None = None,
    query: str | None = None,
    format: str | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
    dtype: str = "float64",
    block_size: int = BLOCK_SIZE,
    progress: Callable[[float, int], None] | None = None,
) -> Path:
    r"""Write the examples of a file to a store, which models can be trained from without reading it into memory.

    Memory is that of a few blocks, the labels and queries, and what belongs to columns; except for NumPy archives whose
    matrix is not stored row by row (neither CSR nor an array in C order), which are read whole.

    Parameters
    ----------
    source : path-like
        A file that :func:`~smoothperf.io.read_data` reads.
    target : path-like
        The store; written under another name in the same folder, and renamed when it is complete.
    label, query, format, n_features, zero_based
        As in :func:`~smoothperf.io.read_data`.
    dtype : {"float64", "float32"}, default="float64"
        Type of the values. float32 takes two thirds of the space and of the time to read it; sums are float64 anyway.
    block_size : int, optional
        Most bytes of a block, 32 MiB by default. Training keeps three blocks in memory.
    progress : callable, optional
        Called with the share of the file that has been read and the number of rows so far.

    Returns
    -------
    Path
        The store.

    Raises
    ------
    DataError
        If the source cannot be used, or the target not be written (a StoreError); a file that was there before is as it
        was then.

    Examples
    --------
    >>> import tempfile
    >>> from smoothperf import MeasureClassifier
    >>> from smoothperf.io import convert
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "train.svm").write_text("+1 1:2\n-1 2:1\n+1 1:1 2:0.5\n-1 1:-1\n")
    >>> store = convert(folder / "train.svm", folder / "train.store")
    >>> clf = MeasureClassifier(alpha=0.1).fit(store)
    >>> clf.predict(store)
    array([ 1, -1,  1, -1])
    """
    whole_number("block_size", block_size, at_least=1)
    n_entries = max(LEAST_ENTRIES, block_size // (ENTRY * CHUNKS_OF_BLOCK))
    n_rows = 0
    with open_chunks(
        source,
        n_entries=n_entries,
        label=label,
        query=query,
        format=format,
        n_features=n_features,
        zero_based=zero_based,
    ) as (found, chunks):
        first = next(chunks)
        wide = first.X.shape[1] >= WIDE
        with StoreWriter(target, dtype=dtype, block_size=block_size, wide=wide) as writer:
            for chunk in chain([first], chunks):
                if chunk.moved:
                    writer.move_columns()
                writer.add(chunk.X, chunk.y, chunk.qid)
                n_rows += chunk.y.shape[0]
                if progress is not None:
                    progress(chunk.share, n_rows)
            writer.feature_names, writer.zero_based = chunk.feature_names, chunk.zero_based
            if found in TABLES:
                writer.tidy = typed
                writer.queries.tidy = queries_from_text
            writer.source = {"name": Path(source).name, "format": found}
    return Path(target)
