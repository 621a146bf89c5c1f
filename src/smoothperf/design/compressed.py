"""A block of compressed rows: three arrays in a form that the kernels take, and products with them.

A CSR matrix in memory is one block, a matrix in a file is many, and the columns of a CSC matrix are the rows of its
transpose: all of them go through the same two functions. Rows *gather* from a vector, or *scatter* into one, which
skips zero coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels, threads
from ..buffers import Scratch
from .base import Array

#: Entries for which a thread pays.
LEAST_ENTRIES = 1 << 16
#: And so many for each number that threads have to add up at the end.
ENTRIES_PER_SUM = 1
#: Entries of a row, on average, for which it pays to read one number instead.
ENTRIES_PER_LEVEL = 4


@dataclass(frozen=True, slots=True)
class CompressedRows:
    """Rows A in compressed form; nothing is copied.

    Attributes
    ----------
    indptr, indices, data : ndarray
        Row i has the entries ``data[indptr[i]:indptr[i+1]]`` in the columns ``indices[indptr[i]:indptr[i+1]]``; the
        first two of one type, int32 or int64, the last float32 or float64. Or indices are uint16.
    n_columns : int
        All indices are below it: products trust them, so whoever makes such an object has looked (:meth:`are_sound`).
    ones : bool
        Whether all entries are known to be 1, so that they need not be read.
    levels : ndarray or None
        The one value that all entries of a row have, so that they need not be read, if that is so in all rows.
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any]
    n_columns: int
    ones: bool = False
    levels: Array | None = None

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
        # As numbers without sign, those below 0 are above all columns.
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
        kernels.gather(self.indptr, self.indices, self.data, self.ones, self.levels, x, out, pieces)

    def scatter(self, g: Array, out: Array, scratch: Scratch, *, clear: bool) -> None:
        """``out += A^T g``, or ``=`` if it is to be cleared; rows with ``g_i = 0`` are not read."""
        _check_columns(out, self.n_columns)
        # Each further thread has a sum of its own, which must be cleared and added up: that pays for long ranges only.
        pieces = threads.pieces(self.n_entries, least=max(LEAST_ENTRIES, ENTRIES_PER_SUM * out.shape[0]))
        room = scratch.take(kernels.room_for_sums(out.shape[0], pieces))
        kernels.scatter(self.indptr, self.indices, self.data, self.ones, self.levels, g, out, clear, pieces, room)

    def surveyed(self, *, distinct: bool = True) -> tuple[CompressedRows, float, float]:
        """Return the same rows with what can be known of their values, the largest norm of a row, and the norm of all.

        Norms are bounds if columns are not distinct. Ones are common, and so are rows of one value: sets of words or of
        categories, scaled to unit length.
        """
        row_norm, norm, ones, level = kernels.row_norms(self.indptr, self.data, distinct)
        levels = None
        if level and not ones and self.n_entries >= ENTRIES_PER_LEVEL * self.n_rows:
            levels = self.data[np.minimum(self.indptr[:-1], self.n_entries - 1)].astype(np.float64)
        return replace(self, ones=ones, levels=levels), row_norm, norm

    def with_short_indices(self) -> CompressedRows:
        """Return the same rows with a copy of the indices, of two bytes each, if columns are so few."""
        if self.n_columns > 1 << 16 or self.indices.dtype == np.uint16:
            return self
        return replace(self, indices=self.indices.astype(np.uint16))


def _check_columns(vector: Array, n_columns: int) -> None:
    if vector.shape != (n_columns,):
        raise ValueError(f"a vector of shape {vector.shape} does not fit rows of {n_columns} columns.")
