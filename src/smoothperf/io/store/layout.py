"""Names and types of what is in a store; docs/store-files.md says the same to users."""

from __future__ import annotations

import os
from pathlib import Path

from ..dataset import DataError, one_line
from .former import begins_as_former_store

FORMAT = "smoothperf store"
#: Raised when a reader of the version before would misunderstand a store; 1 and 2 were single files.
VERSION = 3
#: The description of the arrays; written last.
INDEX = "store.json"
#: Arrays and the types that they may have. Sparse rows are the first three, as in CSR, and dense ones the fourth.
ARRAYS = {
    "indptr": ("<i4", "<i8"),
    "indices": ("<i4", "<i8"),
    "values": ("<f4", "<f8"),
    "rows": ("<f4", "<f8"),
    "labels": ("|b1", "<i8", "<u8", "<f8", "<i4"),
    "queries": ("|b1", "<i8", "<u8", "<f8", "<i4"),
    "weights": ("<f8",),
}
#: What has made the features of a table, as a model file.
ENCODER = "encoder.model"
FILES = {INDEX, ENCODER, *(f"{name}.npy" for name in ARRAYS)}


class StoreError(DataError):
    """A store cannot be written or used; one line says which file, and why.

    Examples
    --------
    >>> import tempfile
    >>> from smoothperf.io import open_store
    >>> file = Path(tempfile.mkdtemp(), "notes.txt")
    >>> _ = file.write_text("no store")
    >>> try:
    ...     open_store(file)
    ... except StoreError as error:
    ...     print(error.args[0].partition("notes.txt")[1])
    notes.txt
    """


def store_error(path: str | os.PathLike[str], reason: str) -> StoreError:
    """Make the error for a file."""
    return StoreError(f"{' '.join(os.fspath(path).split())}: {one_line(reason)}")


def is_store(path: str | os.PathLike[str], format: str | None = None) -> bool:
    """Whether there is a store, also one of an earlier version, or a file is said to be one."""
    if format is not None:
        return format == "store"
    return Path(path, INDEX).is_file() or begins_as_former_store(path)
