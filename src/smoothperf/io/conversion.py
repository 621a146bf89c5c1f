"""From any data file to a store, in memory that does not depend on the size of the file."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import chain
from pathlib import Path

from .chunks import open_chunks
from .columns import TABLES
from .labels import from_text, keys_from_text
from .named import Named
from .store.writer import StoreWriter

#: Entries of a chunk of rows, which are in memory together.
ENTRIES = 1 << 20


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    label: str | None = None,
    query: str | None = None,
    format: str | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
    encoding: str | None = None,
    dtype: str = "float64",
    progress: Callable[[float, int], None] | None = None,
) -> Path:
    r"""Write the examples of a file to a store, which models can be trained from without reading it into memory.

    Memory is that of some rows, the labels and queries, and what belongs to columns; except for NumPy archives, which
    are read whole.

    Parameters
    ----------
    source : path-like
        A file that :func:`~smoothperf.io.read_data` reads.
    target : path-like
        The store, a folder; written under another name in the same place, and renamed when it is complete. A store of
        this name is replaced then; anything else of this name is an error.
    label, query, format, n_features, zero_based, encoding
        As in :func:`~smoothperf.io.read_data`.
    dtype : {"float64", "float32"}, default="float64"
        Type of the values. float32 takes half the space of each; sums are float64 anyway.
    progress : callable, optional
        Called with the share of the file that has been read and the number of rows so far.

    Returns
    -------
    Path
        The store.

    Raises
    ------
    DataError
        If the source cannot be used, or the target not be written (a StoreError); a store that was there before is as
        it was then.

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
    n_rows = 0
    with open_chunks(
        source,
        Named(label, query),
        n_entries=ENTRIES,
        format=format,
        n_features=n_features,
        zero_based=zero_based,
        encoding=encoding,
    ) as (found, chunks):
        first = next(chunks)
        with StoreWriter(target, dtype=dtype) as writer:
            for chunk in chain([first], chunks):
                if chunk.moved:
                    writer.move_columns()
                writer.add_rows(chunk)
                n_rows += chunk.y.shape[0]
                if progress is not None:
                    progress(chunk.share, n_rows)
            writer.feature_names, writer.zero_based = chunk.feature_names, chunk.zero_based
            if found in TABLES:
                writer.labels.tidy, writer.queries.tidy = from_text, keys_from_text
            writer.source = {"name": Path(source).name, "format": found}
    return Path(target)
