"""Where things are in a store; docs/store-files.md says the same byte by byte.

::

    header (64 bytes) | block | block | ... | codes of labels | queries | index (JSON) | trailer (32 bytes)

All parts but the last two begin at multiples of 64 bytes. A block is the CSR matrix of its rows: starts of rows,
column indices and values, each of which begins at a multiple of 64 bytes from the block's beginning. A checksum covers
each block, the codes of the labels, the queries, the index and the trailer; the header is constant. Files without
queries, as version 1 wrote them all, lack that part.
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from ..dataset import DataError

MAGIC = b"\x93SPSTORE"
FORMAT = "smoothperf store"
#: Raised when a reader of the version before would misunderstand a file.
VERSION = 2
ALIGNMENT = 64
HEADER = struct.Struct("<8sI52x")
#: Offset and length of the index, its CRC-32, that of these 20 bytes, and the magic once more.
TRAILER = struct.Struct("<QQII8s")
CHECKED_PART_OF_TRAILER = 20


class StoreError(DataError):
    """A store cannot be written or used; one line says which file, which block if one is to blame, and why.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
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
    return StoreError(" ".join(f"{os.fspath(path)}: {reason}".split()))


def is_store(path: str | os.PathLike[str], format: str | None = None) -> bool:
    """Whether a file is a store, by its first bytes, or said to be one; False if it cannot be read."""
    if format is not None:
        return format == "store"
    try:
        with open(path, "rb") as file:
            return begins_as_store(file)
    except OSError:
        return False


def begins_as_store(file: BinaryIO) -> bool:
    """Whether the first bytes of a file, which was opened just now, are those of a store."""
    return file.read(len(MAGIC)) == MAGIC


def aligned(size: int) -> int:
    """The next multiple of 64.

    Examples
    --------
    >>> aligned(1), aligned(64)
    (64, 64)
    """
    return -(-size // ALIGNMENT) * ALIGNMENT


def trailer(offset: int, index: bytes) -> bytes:
    """The last 32 bytes of a file whose index begins at ``offset``."""
    place = TRAILER.pack(offset, len(index), zlib.crc32(index), 0, MAGIC)[:CHECKED_PART_OF_TRAILER]
    return place + struct.pack("<I8s", zlib.crc32(place), MAGIC)


@dataclass(frozen=True)
class Types:
    """Types of the numbers in blocks: of starts and column indices, and of values; both little-endian."""

    index: np.dtype[Any]
    value: np.dtype[Any]


@dataclass(frozen=True)
class Block:
    """Where a block is and what it must be.

    Attributes
    ----------
    offset : int
        Where in the file it begins.
    first_row, n_rows, n_entries : int
        Its rows, the first of them counted from 0, and its entries.
    crc32 : int
        Of all its bytes.
    """

    offset: int
    first_row: int
    n_rows: int
    n_entries: int
    crc32: int

    def places(self, types: Types) -> tuple[int, int, int, int]:
        """Return where starts, indices and values begin, and where the block ends, from its beginning."""
        indices = aligned((self.n_rows + 1) * types.index.itemsize)
        values = indices + aligned(self.n_entries * types.index.itemsize)
        return 0, indices, values, values + aligned(self.n_entries * types.value.itemsize)
