"""Compressed sparse columns, used as they are: their arrays are the CSR arrays of the transpose. Cost: O(nnz)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._arrays import Array
from .base import Design
from .sparse import PIECE, CSRDesign, Scratch, compressed


class CSCDesign(Design):
    """Columns are stored together: ``X w`` scatters the columns with a non-zero weight, ``X^T g`` gathers.

    Parameters
    ----------
    matrix : csc_matrix or csc_array of shape (n, d)
        The features.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> CSCDesign(sp.csc_matrix([[0.0, 2.0], [1.0, 0.0]])).rmatvec(np.array([1.0, 10.0]))
    array([10.,  2.])
    """

    wants_blas_threads = False
    gives_columns = True

    def __init__(self, matrix: Any):
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self._scratch = Scratch()
        columns = compressed(matrix, self.shape[0])
        self._columns, _, _ = columns.surveyed()
        self.n_entries = columns.n_entries
        distinct = bool(matrix.has_canonical_format)
        sums = np.zeros(self.shape[0])
        for begin in range(0, columns.n_entries, PIECE):
            rows = columns.indices[begin : begin + PIECE]
            values = columns.data[begin : begin + PIECE].astype(np.float64)
            np.add.at(sums, rows, values**2 if distinct else np.abs(values))
        squares = sums if distinct else sums**2
        self.row_norm = float(np.sqrt(squares.max(initial=0.0)))
        self.frobenius_norm = float(np.sqrt(squares.sum()))

    def matvec(self, w: Array, out: Array | None = None) -> Array:
        """``X w``; columns with ``w_j = 0`` are not read."""
        result = np.empty(self.shape[0]) if out is None else out
        self._columns.scatter(w, result, self._scratch, clear=True)
        return result

    def rmatvec(self, g: Array, out: Array | None = None) -> Array:
        """``X^T g``."""
        result = np.empty(self.shape[1]) if out is None else out
        self._columns.gather(g, result)
        return result

    def columns(self, features: NDArray[np.intp]) -> Design:
        """Return some columns of X; as many entries are read as they have."""
        columns = self._columns
        whole = sp.csc_array((columns.data, columns.indices, columns.indptr), shape=self.shape)
        return CSRDesign(whole[:, features].tocsr())

    def by_columns(self, rows: NDArray[np.intp]) -> sp.csc_array:
        """Some rows, column by column; one pass over X."""
        columns = self._columns
        whole = sp.csc_array((columns.data, columns.indices, columns.indptr), shape=self.shape)
        return whole[rows].astype(np.float64)

    def column_squares(self) -> Array:
        """Number of entries of each column that are not zero, and the sum of their squares."""
        starts, values = self._columns.indptr, self._columns.data
        some = np.flatnonzero(np.diff(starts))  # columns without entries would get those of the next
        result = np.zeros((2, self.shape[1]))
        for sums, entries in zip(result, (values != 0.0, values), strict=True):
            if some.size:
                sums[some] = np.add.reduceat(np.square(entries, dtype=np.float64), starts[some])
        return result

    def gram(self, rows: NDArray[np.intp], weights: Array) -> Array:
        """``sum_i weights_i x_i x_i^T`` over some rows, which are copied; that takes a pass over X."""
        columns = self._columns
        some = sp.csc_array((columns.data, columns.indices, columns.indptr), shape=self.shape)[rows]
        return CSRDesign(some.tocsr()).gram(np.arange(rows.size), weights)
