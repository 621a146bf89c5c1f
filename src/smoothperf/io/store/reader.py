"""Opening a store, and reading its blocks; everything is checked before it is used."""

from __future__ import annotations

import json
import math
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import __version__
from ...design.sparse import CompressedRows
from ...design.stored import StoredDesign
from ..streams import explain
from .layout import (
    CHECKED_PART_OF_TRAILER,
    FORMAT,
    HEADER,
    MAGIC,
    TRAILER,
    VERSION,
    Block,
    StoreError,
    Types,
    aligned,
    store_error,
)
from .queries import COLUMN_TYPES

INDEX_TYPES = ("<i4", "<i8")
VALUE_TYPES = ("<f4", "<f8")
LABEL_TYPES = ("bool", "int64", "uint64", "float64", "str")


def open_store(path: str | os.PathLike[str]) -> Store:
    """Open a store: reads its index, and nothing else.

    Parameters
    ----------
    path : path-like
        A file that :func:`~smoothperf.io.convert` or :class:`~smoothperf.io.StoreWriter` has written.

    Raises
    ------
    StoreError
        If there is no such file, or it is truncated, damaged, of another kind, or of a later version.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from smoothperf.io import StoreWriter
    >>> file = Path(tempfile.mkdtemp(), "made.store")
    >>> with StoreWriter(file) as writer:
    ...     writer.add([[0.0, 1.0], [2.0, 0.0]], [0, 1])
    >>> store = open_store(file)
    >>> store.shape, store.labels()
    ((2, 2), array([0, 1]))
    """
    return Store(path)


class Store:
    """A file of labelled rows in blocks.

    Parameters
    ----------
    path : path-like
        The file.

    Attributes
    ----------
    path : Path
        The file.
    shape : tuple of int
        Rows and columns.
    n_entries : int
        Entries of all rows.
    types : Types
        Types of indices and values.
    row_norm, frobenius_norm : float
        As in :class:`~smoothperf.design.Design`.
    classes : ndarray
        The different labels, in sorted order.
    feature_names : list of str or None
        Names of the columns.
    zero_based : bool or None
        How indices counted in the svmlight file that it was made from.
    has_queries : bool
        Whether rows are documents of queries.
    source : dict
        Name and format of the file that it was made from.
    blocks : list of Block
        Where the rows are.

    Examples
    --------
    >>> import tempfile
    >>> from smoothperf.io import StoreWriter
    >>> file = Path(tempfile.mkdtemp(), "two.store")
    >>> with StoreWriter(file) as writer:
    ...     writer.add([[1.0, 0.0], [0.0, 2.0]], ["ham", "spam"])
    >>> store = Store(file)
    >>> store.shape, store.labels(), len(store.blocks)
    ((2, 2), array(['ham', 'spam'], dtype='<U4'), 1)
    >>> store.read_block(0).toarray()
    array([[1., 0.],
           [0., 2.]])
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        try:
            with open(self.path, "rb", buffering=0) as file:
                self._stamp = _stamp(file)
                index, end = _read_index(file, self.path)
            self._understand(index, end)
        except OSError as error:
            raise store_error(self.path, f"cannot be read: {explain(error)}") from error
        except StoreError:
            raise
        except Exception as error:  # whatever an index can lead to, it is the file that is wrong
            raise store_error(
                self.path, f"its index is damaged, or written by another version of smoothperf: {error!r}"
            ) from error
        self._intact: set[int] = set()

    def _understand(self, index: dict[str, Any], end: int) -> None:
        n, d = index["shape"]
        self.shape = n, d = _count(n), _count(d)
        self.n_entries = _count(index["n_entries"])
        if index["index_type"] not in INDEX_TYPES or index["value_type"] not in VALUE_TYPES:
            raise ValueError("unknown types of numbers")
        self.types = Types(np.dtype(index["index_type"]), np.dtype(index["value_type"]))
        self.row_norm = float(index["row_norm"])
        self.frobenius_norm = float(index["frobenius_norm"])
        if not (0.0 <= self.row_norm < math.inf and 0.0 <= self.frobenius_norm < math.inf):
            raise ValueError("norms are not finite")
        if n < 1 or not 1 <= d <= np.iinfo(self.types.index).max:
            raise ValueError(f"a matrix of {n} rows and {d} columns cannot be")
        self.feature_names: list[str] | None = index["feature_names"]
        self.zero_based: bool | None = index["zero_based"]
        self.source: dict[str, str] = index["source"]
        if self.feature_names is not None and not (_are_words(self.feature_names) and len(self.feature_names) == d):
            raise ValueError("names of features are not as many words as there are columns")
        if self.zero_based not in (None, True, False) or not _are_words(list(self.source.values())):
            raise ValueError("what it says of its source is of another kind")
        self.blocks = [Block(**{name: _count(number) for name, number in block.items()}) for block in index["blocks"]]
        rows = entries = 0
        at = HEADER.size
        for block in self.blocks:
            if (block.offset, block.first_row) != (at, rows) or block.n_rows < 1:
                raise ValueError("blocks do not follow one another")
            at += block.places(self.types)[-1]
            rows += block.n_rows
            entries += block.n_entries
        labels = index["labels"]
        if labels["type"] not in LABEL_TYPES or labels["code_type"] not in ("|u1", "<u2"):
            raise ValueError("unknown type of labels")
        self.classes = np.array(labels["classes"], dtype=labels["type"])
        self._code_type = np.dtype(labels["code_type"])
        self._codes_at, self._codes_crc32 = _count(labels["offset"]), _count(labels["crc32"])
        if self.classes.ndim != 1 or self.classes.size == 0:
            raise ValueError("labels are not a list")
        size = aligned(rows * self._code_type.itemsize)
        self._queries: dict[str, Any] | None = index.get("queries")  # version 1 has none
        if self._queries is not None:
            end -= aligned(rows * 8)
            if self._queries["type"] not in COLUMN_TYPES or _count(self._queries["offset"]) != end:
                raise ValueError("what it says of queries is of another kind")
            if (self._queries["type"] == "str") != _are_words(self._queries["names"]):
                raise ValueError("names of queries are not words")
            _count(self._queries["crc32"])
        if (rows, entries) != (n, self.n_entries) or (self._codes_at, self._codes_at + size) != (at, end):
            raise ValueError("its numbers contradict one another")

    @property
    def has_queries(self) -> bool:
        """Whether rows are documents of queries."""
        return self._queries is not None

    def codes(self) -> NDArray[Any]:
        """Places of the labels of all rows in ``classes``."""
        return self._column("the labels", self._code_type, self._codes_at, self._codes_crc32, self.classes.size)

    def qid(self) -> NDArray[Any] | None:
        """The query of each row; None if there are none."""
        told = self._queries
        if told is None:
            return None
        names = None if told["names"] is None else np.array(told["names"])
        kind = np.dtype(COLUMN_TYPES[told["type"]])
        column = self._column("the queries", kind, told["offset"], told["crc32"], None if names is None else names.size)
        ids: NDArray[Any] = column if names is None else names[column]
        return ids

    def _column(self, name: str, kind: np.dtype[Any], offset: int, crc32: int, n_places: int | None) -> NDArray[Any]:
        """A number for each row, which is a place among so many if that is given."""
        size = self.shape[0] * kind.itemsize
        content = np.empty(aligned(size), dtype=np.uint8)
        self._read_into(content, offset, name)
        column: NDArray[Any] = content[:size].view(kind)
        outside = n_places is not None and not 0 <= int(column.min()) <= int(column.max()) < n_places
        if zlib.crc32(content.data) != crc32 or outside:
            raise store_error(self.path, f"{name} are damaged: their checksum is wrong; convert the data again")
        return column

    def labels(self) -> NDArray[Any]:
        """Labels of all rows."""
        labels: NDArray[Any] = self.classes[self.codes()]
        return labels

    def design(self) -> StoredDesign:
        """X as an operator that reads the file block by block."""
        return StoredDesign(self)

    def read_block(self, number: int) -> sp.csr_matrix:
        """Return the rows of a block, counted from 0, as a matrix."""
        rows = self.load(number, np.empty(self.block_bytes(number), dtype=np.uint8))
        arrays = rows.data, rows.indices, rows.indptr
        return sp.csr_matrix(arrays, shape=(rows.n_rows, self.shape[1]))

    def read(self) -> sp.csr_matrix:
        """Return all rows as a matrix, which must fit into memory."""
        return sp.csr_matrix(sp.vstack([self.read_block(number) for number in range(len(self.blocks))], format="csr"))

    def block_bytes(self, number: int) -> int:
        """Bytes of a block."""
        return self.blocks[number].places(self.types)[-1]

    def load(self, number: int, buffer: NDArray[np.uint8]) -> CompressedRows:
        """Read a block into a buffer that is large enough, and refer to it.

        Its checksum is compared when it is read the first time. Whether starts and indices stay inside the matrix is
        looked at every time, as the kernels trust them and a file may be written to while it is read.
        """
        block = self.blocks[number]
        starts, indices, values, end = block.places(self.types)
        content = buffer[:end]
        name = f"block {number} (rows {block.first_row + 1} to {block.first_row + block.n_rows})"
        self._read_into(content, block.offset, name)
        index, value = self.types.index, self.types.value

        def array(place: int, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
            return content[place : place + count * dtype.itemsize].view(dtype)

        rows = CompressedRows(
            array(starts, block.n_rows + 1, index),
            array(indices, block.n_entries, index),
            array(values, block.n_entries, value),
            self.shape[1],
        )
        if number not in self._intact:
            if zlib.crc32(content.data) != block.crc32:
                raise store_error(self.path, f"{name} is damaged: its checksum is wrong; convert the data again")
            self._intact.add(number)
        if not rows.are_sound() or rows.indptr[-1] != block.n_entries:
            raise store_error(self.path, f"{name} is not a sound matrix; convert the data again")
        return rows

    def _read_into(self, content: NDArray[np.uint8], offset: int, name: str) -> None:
        """Fill an array from the file, which must be the one that was opened; by several threads at once if need be."""
        try:
            # Each with a file of its own, as a file has one position only.
            with open(self.path, "rb", buffering=0) as file:
                if _stamp(file) != self._stamp:
                    raise store_error(self.path, "it has changed since it was opened; begin again")
                file.seek(offset)
                rest = memoryview(content.data)
                while rest:
                    count = file.readinto(rest)
                    if not count:
                        raise store_error(self.path, f"it ends in {name}")
                    rest = rest[count:]
        except OSError as error:
            raise store_error(self.path, f"{name} cannot be read: {explain(error)}") from error


def _count(number: Any) -> int:
    """A whole number, not below 0, that 63 bits hold; as JSON has it, and nothing that may pass for one."""
    if type(number) is not int or not 0 <= number < 1 << 63:
        raise ValueError(f"{str(number)[:40]!r} where a count should be")
    return number


def _are_words(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _stamp(file: Any) -> tuple[int, ...]:
    """What tells this file from another one that takes its name."""
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _read_index(file: Any, path: Path) -> tuple[dict[str, Any], int]:
    """The index, and where it begins."""
    size = os.fstat(file.fileno()).st_size
    header = file.read(HEADER.size)
    if header[: len(MAGIC)] != MAGIC:
        raise store_error(path, "not a store of smoothperf; make one with 'smoothperf convert'")
    if size < HEADER.size + TRAILER.size:
        raise store_error(path, "truncated: it ends before its index")
    version = HEADER.unpack(header)[1]
    if header != HEADER.pack(MAGIC, version):
        raise store_error(path, "its header is damaged; convert the data again")
    if version > VERSION:
        raise store_error(
            path, f"written in version {version} of the format; smoothperf {__version__} reads up to version {VERSION}"
        )
    file.seek(size - TRAILER.size)
    last = file.read(TRAILER.size)
    offset, length, crc32, own_crc32, magic = TRAILER.unpack(last)
    if magic != MAGIC or own_crc32 != zlib.crc32(last[:CHECKED_PART_OF_TRAILER]):
        raise store_error(path, "truncated or damaged: it does not end as a store does")
    if offset + length + TRAILER.size != size:
        raise store_error(path, "truncated or damaged: parts are missing, or there are too many")
    file.seek(offset)
    text = file.read(length)
    if zlib.crc32(text) != crc32:
        raise store_error(path, "its index is damaged: the checksum is wrong; convert the data again")
    index: dict[str, Any] = json.loads(text)
    if index["format"] != FORMAT or index["version"] != version:
        raise ValueError("it contradicts the header")
    return index, offset
