"""Writing a store, some rows at a time: blocks go to the file as they fill up, and the index last."""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ... import __version__, kernels
from ..._files import written_whole
from ..._validation import choice, whole_number
from .. import labels as label_types
from ..streams import explain
from .layout import (
    FORMAT,
    HEADER,
    MAGIC,
    VERSION,
    Block,
    StoreError,
    Types,
    aligned,
    store_error,
    trailer,
)
from .queries import QueryColumn

#: Bytes of a block: enough for disks and threads to be at their best, little beside the memory that anybody has.
BLOCK_SIZE = 1 << 25
LARGEST_BLOCK_SIZE = 1 << 33
#: Kinds of labels that a store can hold.
MOST_CLASSES = 1 << 16


class StoreWriter:
    """Writes a store, whole or not at all; to be used in a ``with`` statement.

    Parameters
    ----------
    path : path-like
        Where to; the file appears under this name when all is written.
    dtype : {"float64", "float32"}, default="float64"
        Type of the values.
    block_size : int, optional
        Most bytes of a block, unless a single row has more; 32 MiB by default.
    wide : bool, default=False
        Whether columns are counted in 64 bits; needed for 2^31 or more.

    Examples
    --------
    >>> import tempfile
    >>> from smoothperf.io import open_store
    >>> file = Path(tempfile.mkdtemp(), "two.store")
    >>> with StoreWriter(file) as writer:
    ...     writer.add([[1.0, 0.0], [0.0, 2.0]], ["ham", "spam"])
    ...     writer.add([[3.0, 4.0]], ["ham"])
    >>> open_store(file).shape
    (3, 2)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        dtype: str = "float64",
        block_size: int = BLOCK_SIZE,
        wide: bool = False,
    ):
        self._path = Path(path)
        choice("dtype", dtype, ("float64", "float32"))
        self._block_size = min(whole_number("block_size", block_size, at_least=1), LARGEST_BLOCK_SIZE)
        self._types = Types(np.dtype("<i8" if wide else "<i4"), np.dtype(dtype).newbyteorder("<"))
        self._pending: list[Any] = []
        self._room = self._block_size
        self._blocks: list[Block] = []
        self._norms: list[tuple[float, float]] = []
        self._codes: dict[Any, int] = {}
        self._label_type: np.dtype[Any] | None = None
        self._code_parts: list[NDArray[np.uint16]] = []
        self.queries = QueryColumn()
        self._n_rows = 0
        self._width = 0
        #: What only the source of the data knows.
        self.n_features: int | None = None
        self.feature_names: list[str] | None = None
        self.zero_based: bool | None = None
        self.source: dict[str, str] = {}
        self.tidy: Callable[[NDArray[Any]], NDArray[Any]] = label_types.tidy

    def __enter__(self) -> Self:
        try:
            with ExitStack() as stack:
                # Without a buffer: nothing is left to write, and to fail, when the file is closed after an error.
                self._file = stack.enter_context(written_whole(self._path, buffering=0))
                stack.push(self._finish)
                self._write(HEADER.pack(MAGIC, VERSION))
                self._ending = stack.pop_all()
        except OSError as error:
            raise self._cannot_write(error) from error
        return self

    def __exit__(self, *failure: Any) -> None:
        try:
            self._ending.__exit__(*failure)
        except OSError as error:
            raise self._cannot_write(error) from error

    def add(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> None:
        """Append rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, d)
            Features, finite numbers. Zeros of an array are left out, those of a sparse matrix are kept.
        y : array-like of shape (m,)
            Their labels: numbers, truth values or text.
        qid : array-like of shape (m,), optional
            The query of each, for rankings, whose labels are grades: numbers or words. For all rows or for none.
        """
        rows: Any = sp.csr_matrix(X)
        with np.errstate(over="ignore"):  # what overflows is not finite, and noticed below
            values = rows.data.astype(self._types.value, copy=False)
        if not np.isfinite(values).all():
            at = int(np.flatnonzero(~np.isfinite(values))[0])
            row = self._n_rows + int(np.searchsorted(rows.indptr, at, side="right"))
            raise store_error(
                self._path, f"row {row} holds {rows.data[at]!s}, which is not a finite number as {self._types.value}"
            )
        rows = sp.csr_matrix((values, rows.indices, rows.indptr), shape=rows.shape)
        self._add_labels(np.asarray(y), rows.shape[0])
        try:
            self.queries.add(None if qid is None else np.asarray(qid), int(rows.shape[0]))
        except ValueError as error:
            raise store_error(self._path, f"rows from {self._n_rows + 1} on: {error}") from error
        self._width = max(self._width, int(rows.shape[1]))
        self._n_rows += int(rows.shape[0])
        self._fill_blocks(rows)

    def move_columns(self) -> None:
        """Move the columns of all rows so far by one to the right, in the file as well."""
        for piece in self._pending:
            piece.resize((piece.shape[0], piece.shape[1] + 1))
            piece.indices += 1
        self._width += 1
        for number, block in enumerate(self._blocks):
            _, start, stop, size = block.places(self._types)
            content = np.empty(size, dtype=np.uint8)
            self._file.seek(block.offset)
            if self._file.readinto(content.data) != size:  # type: ignore[attr-defined]
                raise store_error(self._path, "what was written cannot be read again")
            content[start:stop].view(self._types.index)[: block.n_entries] += 1
            self._file.seek(block.offset)
            self._write(content.data)
            self._blocks[number] = replace(block, crc32=zlib.crc32(content.data))
        self._file.seek(0, os.SEEK_END)

    def _add_labels(self, y: NDArray[Any], n_rows: int) -> None:
        if y.dtype.kind == "O":  # as strings come from pandas
            y = np.array(y.tolist())
        problem = label_types.problem_of(y, n_rows, first_row=self._n_rows + 1)
        if problem is not None:
            raise store_error(self._path, f"y cannot be written: {problem}")
        self._label_type = y.dtype if self._label_type is None else np.result_type(self._label_type, y.dtype)
        found, members = np.unique(y, return_inverse=True)
        codes = [self._codes.setdefault(label, len(self._codes)) for label in found.tolist()]
        if len(self._codes) > MOST_CLASSES:
            raise store_error(
                self._path, f"there are more than {MOST_CLASSES} different labels; a store is for classes or grades"
            )
        self._code_parts.append(np.array(codes, dtype=np.uint16)[members])

    def _fill_blocks(self, rows: Any) -> None:
        """Share out rows among blocks, as many to each as there is room for."""
        index, value = self._types.index.itemsize, self._types.value.itemsize
        costs = index * np.arange(rows.shape[0] + 1) + (index + value) * (rows.indptr - rows.indptr[0]).astype(np.int64)
        start = 0
        while start < rows.shape[0]:
            stop = int(np.searchsorted(costs, costs[start] + self._room, side="right")) - 1
            if stop <= start and self._pending:
                self._end_block()
                continue
            stop = max(stop, start + 1)  # a row that is longer than a block has one for itself
            # A copy: the pieces wait for their block, and the caller may use the arrays for something else.
            self._pending.append(rows[start:stop].copy())
            self._room -= int(costs[stop] - costs[start])
            start = stop

    def _end_block(self) -> None:
        pieces, self._pending, self._room = self._pending, [], self._block_size
        width = max(piece.shape[1] for piece in pieces)
        for piece in pieces:
            piece.resize((piece.shape[0], width))
        rows: Any = sp.vstack(pieces, format="csr") if len(pieces) > 1 else pieces[0]
        index, value = self._types.index, self._types.value
        indptr, indices = rows.indptr.astype(index, copy=False), rows.indices.astype(index, copy=False)
        norms = kernels.row_norms(indptr, rows.data, bool(rows.has_canonical_format))[:2]
        first_row = self._blocks[-1].first_row + self._blocks[-1].n_rows if self._blocks else 0
        if not math.isfinite(norms[1]):
            raise store_error(
                self._path,
                f"rows {first_row + 1} to {first_row + rows.shape[0]} hold numbers too large to square; scale them",
            )
        block = Block(self._file.tell(), first_row, int(rows.shape[0]), int(rows.nnz), 0)
        places = block.places(self._types)
        content = np.zeros(places[-1], dtype=np.uint8)
        for place, array, dtype in zip(places, (indptr, indices, rows.data), (index, index, value), strict=False):
            content[place : place + array.size * dtype.itemsize].view(dtype)[:] = array
        self._write(content.data)
        self._norms.append(norms)
        self._blocks.append(replace(block, crc32=zlib.crc32(content.data)))

    def _finish(self, kind: type[BaseException] | None, *_: Any) -> None:
        """Write what follows the blocks, unless something has failed."""
        if kind is not None:
            return
        if self._pending:
            self._end_block()
        if not self._blocks:
            raise store_error(self._path, "there are no examples to write")
        n_features = self._width if self.n_features is None else whole_number("n_features", self.n_features, at_least=1)
        if self._width > n_features:
            raise store_error(self._path, f"there are rows of {self._width} features where {n_features} are expected")
        codes, label_type, classes = self._labels()
        labels_place = self._write_column(codes)
        queries = self.queries.finish()
        if queries is not None:
            column, query_type, names = queries
        index = {
            "format": FORMAT,
            "version": VERSION,
            "smoothperf": __version__,
            "shape": [self._n_rows, n_features],
            "n_entries": sum(block.n_entries for block in self._blocks),
            "index_type": self._types.index.str,
            "value_type": self._types.value.str,
            # Not by squares: hypot neither overflows nor loses digits, and leaves the norm of a single block as it is.
            "row_norm": max(largest for largest, _ in self._norms),
            "frobenius_norm": math.hypot(*(total for _, total in self._norms)),
            "labels": {
                "type": label_type,
                "classes": classes,
                "code_type": codes.dtype.str,
                **labels_place,
            },
            "queries": None if queries is None else {"type": query_type, "names": names, **self._write_column(column)},
            "feature_names": self.feature_names,
            "zero_based": self.zero_based,
            "source": self.source,
            "blocks": [asdict(block) for block in self._blocks],
        }
        text = json.dumps(index, allow_nan=False, separators=(",", ":")).encode()
        self._write(text + trailer(self._file.tell(), text))
        os.fsync(self._file.fileno())

    def _write_column(self, numbers: NDArray[Any]) -> dict[str, int]:
        """Write a number for each row, and return where that is and its checksum."""
        offset = self._file.tell()
        content = np.zeros(aligned(numbers.nbytes), dtype=np.uint8)
        content[: numbers.nbytes].view(numbers.dtype)[:] = numbers
        self._write(content.data)
        return {"offset": offset, "crc32": zlib.crc32(content.data)}

    def _labels(self) -> tuple[NDArray[Any], str, list[Any]]:
        """Codes of the labels, their type, and the labels in sorted order, of which the codes are the places."""
        tidied = self.tidy(np.array(list(self._codes), dtype=self._label_type))
        classes, members = np.unique(tidied, return_inverse=True)
        codes = members.astype(np.uint8 if classes.size <= 256 else np.dtype("<u2"))[np.concatenate(self._code_parts)]
        return codes, "str" if classes.dtype.kind == "U" else str(classes.dtype), classes.tolist()

    def _write(self, content: bytes | memoryview) -> None:
        rest = memoryview(content)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise self._cannot_write(error) from error

    def _cannot_write(self, error: OSError) -> StoreError:
        before = "; the file that was there is as it was" if self._path.exists() else ""
        return store_error(self._path, f"cannot be written: {explain(error)}{before}")
