"""Compressed sparse rows, used as they are.

Rows *gather* from a vector, or *scatter* into one. Scattering skips zero coefficients, which makes ``X^T g``
nearly free when g has few non-zeros (rare positives) and X is CSR. Cost: O(nnz).
"""

from __future__ import annotations

import math
import threading
from abc import abstractmethod
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import kernels, threads
from .._arrays import Array
from .base import Design

#: Products with X before its indices are copied. (Measured: the copy takes as long as one to three products, or ten
#: where memory is fresh, and products with it 4 to 20% less than without.)
PRODUCTS_BEFORE_COPY = 16
#: Entries for which a thread pays.
LEAST_ENTRIES = 1 << 16
#: And so many for each number that threads have to add up at the end.
ENTRIES_PER_SUM = 1
#: Entries that are looked at together, where there is no kernel: no temporary of the size of X.
PIECE = 1 << 20
#: Entries of a row, on average, for which it pays to read one number instead.
ENTRIES_PER_VALUE = 4


class Scratch(threading.local):
    """One vector for each thread, for what is forgotten before the call ends.

    Examples
    --------
    >>> scratch = Scratch()
    >>> scratch.take(3).shape, scratch.take(2).shape
    ((3,), (2,))
    """

    def __init__(self) -> None:
        self._vector = np.empty(0)

    def __reduce__(self) -> tuple[type[Scratch], tuple[()]]:
        return Scratch, ()  # what is in it does not matter

    def take(self, length: int) -> Array:
        """Return a vector that holds anything, the same memory every time."""
        if self._vector.shape[0] < length:
            self._vector = np.empty(length)
        return self._vector[:length]


@dataclass(frozen=True, slots=True)
class CompressedRows:
    """Rows A in compressed form; nothing is copied.

    Attributes
    ----------
    indptr, indices, data : ndarray
        Row i has the entries ``data[indptr[i]:indptr[i+1]]`` in the columns ``indices[indptr[i]:indptr[i+1]]``; the
        first two of one type, int32 or int64, the last float32 or float64. Or indices are uint16.
    n_columns : int
        All indices are below it. Products trust them, so they are checked (:meth:`are_sound`) when the object is made.
    ones : bool
        Whether all entries are known to be 1, so that they need not be read.
    row_values : ndarray or None
        The one value that all entries of a row have, so that they need not be read, if that is so in all rows.
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any]
    n_columns: int
    ones: bool = False
    row_values: Array | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.indptr.shape[0]) - 1

    @property
    def n_entries(self) -> int:
        """Number of entries."""
        return int(self.data.shape[0])

    def are_sound(self) -> bool:
        """Whether starts ascend from 0 to no more than the entries, and indices are columns; one pass over both."""
        starts, indices = self.indptr, self.indices
        # Taken as unsigned numbers, negative indices are larger than any column.
        highest = int(indices.view(f"u{indices.itemsize}").max()) if indices.size else -1
        return bool(
            starts.size > 0
            and starts[0] == 0
            and starts[-1] <= min(indices.size, self.data.size)
            and (starts[1:] >= starts[:-1]).all()
            and highest < self.n_columns
        )

    def gather(self, x: Array, out: Array) -> None:
        """``out = A x``."""
        _check_columns(x, self.n_columns)
        pieces = threads.pieces(self.n_entries, least=LEAST_ENTRIES)
        kernels.gather(self.indptr, self.indices, self.data, self.ones, self.row_values, x, out, pieces)

    def scatter(self, g: Array, out: Array, scratch: Scratch, *, clear: bool) -> None:
        """``out += A^T g``, or ``=`` if it is to be cleared; rows with ``g_i = 0`` are not read."""
        _check_columns(out, self.n_columns)
        # Each further thread has a sum of its own, which must be cleared and added up: that pays for long ranges only.
        pieces = threads.pieces(self.n_entries, least=max(LEAST_ENTRIES, ENTRIES_PER_SUM * out.shape[0]))
        room = scratch.take(kernels.room_for_sums(out.shape[0], pieces))
        kernels.scatter(self.indptr, self.indices, self.data, self.ones, self.row_values, g, out, clear, pieces, room)

    def surveyed(self, *, distinct: bool = True) -> tuple[CompressedRows, float, float]:
        """Return the same rows with what can be known of their values, the largest norm of a row, and the norm of all.

        Norms are bounds if columns are not distinct. Ones are common, and so are rows of one value: sets of words or of
        categories, scaled to unit length.
        """
        row_norm, norm, ones, alike = kernels.row_norms(self.indptr, self.data, distinct)
        row_values = None
        if alike and not ones and self.n_entries >= ENTRIES_PER_VALUE * self.n_rows:
            row_values = self.data[np.minimum(self.indptr[:-1], self.n_entries - 1)].astype(np.float64)
        return replace(self, ones=ones, row_values=row_values), row_norm, norm

    def with_short_indices(self) -> CompressedRows:
        """Return the same rows with a copy of the indices, of two bytes each, if columns are so few.

        Not of indices in a file: those may be there because there is no room for a copy in memory.
        """
        if self.n_columns > 1 << 16 or self.indices.dtype == np.uint16 or _is_mapped(self.indices):
            return self
        return replace(self, indices=self.indices.astype(np.uint16))


def _is_mapped(array: Any) -> bool:
    """Whether an array, or that of which it is a view, is mapped from a file."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


def _check_columns(vector: Array, n_columns: int) -> None:
    if vector.shape != (n_columns,):
        raise ValueError(f"a vector of shape {vector.shape} does not fit rows of {n_columns} columns.")


class RowBlocks(Design):
    """X as blocks of compressed rows, one below the other, at least one."""

    wants_blas_threads = False

    def __init__(self) -> None:
        self._scratch = Scratch()

    @abstractmethod
    def _blocks(self) -> Iterator[tuple[slice, CompressedRows]]:
        """Yield the rows of X that a block has, and its :class:`CompressedRows`."""

    def matvec(self, w: Array, out: Array | None = None) -> Array:
        """``X w``."""
        result = np.empty(self.shape[0]) if out is None else out
        for rows, block in self._blocks():
            block.gather(w, result[rows])
        return result

    def rmatvec(self, g: Array, out: Array | None = None) -> Array:
        """``X^T g``; rows with ``g_i = 0`` are not read. Blocks are added in their order: sums are always the same."""
        if g.shape != self.shape[:1]:
            raise ValueError(f"coefficients of shape {g.shape} do not fit {self.shape[0]} rows.")
        result = np.empty(self.shape[1]) if out is None else out
        fresh = True
        for rows, block in self._blocks():
            block.scatter(g[rows], result, self._scratch, clear=fresh)
            fresh = False
        return result

    def column_squares(self) -> Array:
        """Number of entries of each column that are not zero, and the sum of their squares."""
        result = np.zeros((2, self.shape[1]))
        for _, block in self._blocks():
            for begin in range(0, block.n_entries, PIECE):
                values = block.data[begin : begin + PIECE].astype(np.float64)
                columns = block.indices[begin : begin + PIECE]
                result += [np.bincount(columns, each, self.shape[1]) for each in (values != 0.0, values * values)]
        return result

    def gram(self, rows: NDArray[np.intp], weights: Array) -> Array:
        """``sum_i weights_i x_i x_i^T`` over some rows; O(sum of the squares of their numbers of entries)."""
        half = np.zeros((self.shape[1], self.shape[1]))
        for inside, block in self._blocks():
            here = (rows >= inside.start) & (rows < inside.stop)
            kernels.half_gram(block.indptr, block.indices, block.data, rows[here] - inside.start, weights[here], half)
        return half + half.T


class CSRDesign(RowBlocks):
    """Rows are stored together: ``X w`` gathers, ``X^T g`` scatters the rows with a non-zero coefficient.

    Products wait for memory. So after a few of them the indices are copied, to two bytes each, if columns are few
    enough: products are the same, and take less time.

    Parameters
    ----------
    matrix : sparse matrix
        In CSR format.
    low_memory : bool, default=False
        Do without the copy.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> CSRDesign(sp.csr_matrix([[0.0, 2.0], [1.0, 0.0]])).matvec(np.array([1.0, 10.0]))
    array([20.,  1.])
    """

    gives_columns = True

    def __init__(self, matrix: Any, *, low_memory: bool = False):
        super().__init__()
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        rows = compressed(matrix, self.shape[1])
        self.n_entries = rows.n_entries
        distinct = bool(matrix.has_canonical_format)
        self._rows, self.row_norm, self.frobenius_norm = rows.surveyed(distinct=distinct)
        self._products_left = math.inf if low_memory else PRODUCTS_BEFORE_COPY

    def columns(self, features: NDArray[np.intp]) -> Design:
        """Return some columns of X; O(nnz), with a copy of what they have."""
        rows = self._rows
        place = np.full(self.shape[1], -1, dtype=np.int32)
        place[features] = np.arange(features.size, dtype=np.int32)
        chosen, columns, values = [np.zeros(0, dtype=np.intp)], [place[:0]], [rows.data[:0]]
        for begin in range(0, rows.n_entries, PIECE):
            there = place[rows.indices[begin : begin + PIECE]]
            inside = np.flatnonzero(there >= 0)
            chosen.append(begin + inside)
            columns.append(there[inside])
            values.append(rows.data[begin : begin + PIECE][inside])
        starts = np.searchsorted(np.concatenate(chosen), rows.indptr)
        entries = np.concatenate(values), np.concatenate(columns), starts
        return CSRDesign(sp.csr_array(entries, shape=(self.shape[0], features.size)))

    def by_columns(self, rows: NDArray[np.intp]) -> sp.csc_array:
        """Some rows, column by column; as many entries are read as they have."""
        X = self._rows
        begins = X.indptr[rows].astype(np.intp)
        starts = np.append(0, np.cumsum(X.indptr[rows + 1] - begins))
        places = np.repeat(begins - starts[:-1], np.diff(starts)) + np.arange(starts[-1])
        entries = X.data[places].astype(np.float64), X.indices[places].astype(np.int32), starts
        return sp.csr_array(entries, shape=(rows.size, self.shape[1])).tocsc()

    def with_short_indices(self) -> CSRDesign:
        """Return the same matrix with a copy of the indices at once.

        Where several processes of a machine read their rows at the same time, they wait for memory, and this pays.

        Returns
        -------
        CSRDesign
            The matrix with indices of its own.
        """
        short = copy(self)
        short._rows = self._rows.with_short_indices()
        return short

    def _blocks(self) -> Iterator[tuple[slice, CompressedRows]]:
        self._products_left -= 1
        if self._products_left == 0:
            self._rows = self._rows.with_short_indices()
        yield slice(0, self.shape[0]), self._rows


def compressed(matrix: Any, length: int) -> CompressedRows:
    """The arrays of a CSR or CSC matrix whose indices must be below ``length``, without copying the values."""
    data = matrix.data
    if data.dtype not in (np.float32, np.float64):
        data = data.astype(np.float64)
    indices = matrix.indices
    if indices.dtype not in (np.int32, np.int64):
        indices = indices.astype(np.int64)
    rows = CompressedRows(
        np.ascontiguousarray(matrix.indptr, dtype=indices.dtype),
        np.ascontiguousarray(indices),
        np.ascontiguousarray(data),
        length,
    )
    if not rows.are_sound():
        raise ValueError(
            f"X has column or row indices outside 0..{length - 1}, or pointers that fall; call X.check_format()."
        )
    return rows
