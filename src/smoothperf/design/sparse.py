"""Compressed sparse rows and columns, used as they are.

The arrays of a CSC matrix are the CSR arrays of its transpose, so both formats share the two kernels: rows (or
columns) *gather* from a vector, or *scatter* into one. Scattering skips zero coefficients, which makes ``X^T g``
nearly free when g has few non-zeros (rare positives) and X is CSR. Cost: O(nnz).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import kernels, threads
from .base import Array, Design

#: Entries for which a thread pays.
LEAST_ENTRIES = 1 << 19


class _Compressed(Design):
    """What CSR and CSC share: three arrays in a form that the kernels take, without copying the values."""

    def __init__(self, matrix: Any):
        self.wants_blas_threads = False
        n, d = matrix.shape
        self.shape = (int(n), int(d))
        major, minor = (n, d) if matrix.format == "csr" else (d, n)
        data = matrix.data
        if data.dtype not in (np.float32, np.float64):
            data = data.astype(np.float64)
        indices = matrix.indices
        if indices.dtype not in (np.int32, np.int64):
            indices = indices.astype(np.int64)
        if indices.size and not (indices.min() >= 0 and indices.max() < minor):
            raise ValueError(f"X has column or row indices outside 0..{minor - 1}; call X.check_format().")
        self._data = np.ascontiguousarray(data)
        self._indices = np.ascontiguousarray(indices)
        self._indptr = np.ascontiguousarray(matrix.indptr, dtype=indices.dtype)
        self._major = int(major)
        self.n_entries = int(self._data.shape[0])
        self._distinct = bool(matrix.has_canonical_format)

    def _gather(self, x: Array, out: Array | None) -> Array:
        result = np.empty(self._major) if out is None else out
        threads.over_ranges(
            lambda start, stop: kernels.gather(self._indptr, self._indices, self._data, x, result, start, stop),
            self._ranges(LEAST_ENTRIES),
        )
        return result

    def _scatter(self, g: Array, length: int, out: Array | None) -> Array:
        result = np.zeros(length) if out is None else out
        if out is not None:
            result[:] = 0.0
        # Each further thread has a sum of its own, which must be cleared and added up: that pays for long ranges only.
        ranges = self._ranges(max(LEAST_ENTRIES, 4 * length))
        sums = {start: result if i == 0 else np.zeros(length) for i, (start, _) in enumerate(ranges)}
        threads.over_ranges(
            lambda start, stop: kernels.scatter(self._indptr, self._indices, self._data, g, sums[start], start, stop),
            ranges,
        )
        for start, _ in ranges[1:]:
            result += sums[start]
        return result

    def _ranges(self, least: int) -> list[threads.Range]:
        """Rows for each thread, with as many entries for one as for another, but at least so many."""
        pieces = len(threads.even_ranges(self.n_entries, least=least))
        if pieces == 1:
            return [(0, self._major)]
        wanted = [self.n_entries * i // pieces for i in range(1, pieces)]
        bounds = [0, *(int(row) for row in np.searchsorted(self._indptr, wanted)), self._major]
        return [(start, stop) for start, stop in itertools.pairwise(bounds) if start < stop]


class CSRDesign(_Compressed):
    """Rows are stored together: ``X w`` gathers, ``X^T g`` scatters the rows with a non-zero coefficient."""

    def __init__(self, matrix: Any):
        super().__init__(matrix)
        self.row_norm, self.frobenius_norm = kernels.row_norms(self._indptr, self._data, self._distinct)

    def matvec(self, w: Array, out: Array | None = None) -> Array:
        """``X w``."""
        return self._gather(w, out)

    def rmatvec(self, g: Array, out: Array | None = None) -> Array:
        """``X^T g``; rows with ``g_i = 0`` are not read."""
        return self._scatter(g, self.shape[1], out)

    def gram(self, rows: NDArray[np.intp], weights: Array) -> Array:
        """``sum_i weights_i x_i x_i^T`` over some rows; O(sum of the squares of their numbers of entries)."""
        half = np.zeros((self.shape[1], self.shape[1]))
        kernels.half_gram(self._indptr, self._indices, self._data, rows, weights, half)
        return half + half.T


class CSCDesign(_Compressed):
    """Columns are stored together: ``X w`` scatters the columns with a non-zero weight, ``X^T g`` gathers."""

    def __init__(self, matrix: Any):
        super().__init__(matrix)
        sums = np.zeros(self.shape[0])
        for begin in range(0, self._data.shape[0], 1 << 20):  # in pieces: no temporary of the size of X
            rows = self._indices[begin : begin + (1 << 20)]
            values = self._data[begin : begin + (1 << 20)].astype(np.float64)
            np.add.at(sums, rows, values**2 if self._distinct else np.abs(values))
        squares = sums if self._distinct else sums**2
        self.row_norm = float(np.sqrt(squares.max(initial=0.0)))
        self.frobenius_norm = float(np.sqrt(squares.sum()))

    def matvec(self, w: Array, out: Array | None = None) -> Array:
        """``X w``; columns with ``w_j = 0`` are not read."""
        return self._scatter(w, self.shape[0], out)

    def rmatvec(self, g: Array, out: Array | None = None) -> Array:
        """``X^T g``."""
        return self._gather(g, out)

    def gram(self, rows: NDArray[np.intp], weights: Array) -> Array:
        """``sum_i weights_i x_i x_i^T`` over some rows, which are copied; that takes a pass over X."""
        some = sp.csc_array((self._data, self._indices, self._indptr), shape=self.shape)[rows]
        return CSRDesign(some.tocsr()).gram(np.arange(rows.size), weights)
