"""A dense matrix in C or Fortran order, in blocks of rows that fit the cache.

float64 blocks go to BLAS as they are. float32 blocks are widened one at a time, so sums are float64 without a
float64 copy of X. ``X^T g`` gathers the rows with a non-zero coefficient first where they are few. Cost: O(n d).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._arrays import Array
from .base import Design

#: Elements in a block: 512 KiB as float64, which stays in a core's second-level cache.
BLOCK = 1 << 16
#: Elements of a matrix from which on BLAS threads pay.
LARGE = 1 << 20
#: Gathering rows costs a copy; it pays when no more than this share of a block's rows is needed.
FEW = 0.25
#: If more than this share of all rows is needed, one product is quicker than a look at each block.
MOST = 0.75


class DenseDesign(Design):
    """A two-dimensional array, used where it is: any strides, float32 or float64.

    Parameters
    ----------
    matrix : ndarray of shape (n, d)
        The features.

    Examples
    --------
    >>> DenseDesign(np.eye(2, dtype=np.float32)).matvec(np.array([3.0, 4.0]))
    array([3., 4.])
    """

    gives_columns = True

    def __init__(self, matrix: NDArray[Any]):
        if matrix.dtype not in (np.float32, np.float64):
            matrix = matrix.astype(np.float64)
        self._matrix = matrix
        self.wants_blas_threads = matrix.size >= LARGE
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self.n_entries = int(matrix.size)
        squares = np.concatenate(
            [np.einsum("ij,ij->i", block, block, dtype=np.float64) for _, block in self._blocks()] or [np.zeros(1)]
        )
        self.row_norm = float(np.sqrt(squares.max(initial=0.0)))
        self.frobenius_norm = float(np.sqrt(squares.sum()))

    def matvec(self, w: Array, out: Array | None = None) -> Array:
        """``X w``."""
        result = np.empty(self.shape[0]) if out is None else out
        if self._matrix.dtype == np.float64:
            return np.matmul(self._matrix, w, out=result)
        for rows, block in self._blocks():
            np.matmul(block.astype(np.float64), w, out=result[rows])
        return result

    def rmatvec(self, g: Array, out: Array | None = None) -> Array:
        """``X^T g``; rows with ``g_i = 0`` are not read where they are the majority."""
        if g.shape != self.shape[:1]:
            raise ValueError(f"coefficients of shape {g.shape} do not fit {self.shape[0]} rows.")
        result = np.empty(self.shape[1]) if out is None else out
        if self._matrix.dtype == np.float64 and np.count_nonzero(g) > MOST * g.size:
            return np.matmul(g, self._matrix, out=result)
        result[:] = 0.0
        for coefficients, rows in self._needed(g):
            result += coefficients @ rows.astype(np.float64, copy=False)
        return result

    def columns(self, features: NDArray[np.intp]) -> Design:
        """Return some columns of X."""
        return DenseDesign(np.ascontiguousarray(self._matrix[:, features]))

    def column_squares(self) -> Array:
        """Number of entries of each column that are not zero, and the sum of their squares."""
        result = np.zeros((2, self.shape[1]))
        for _, block in self._blocks():
            result[0] += np.count_nonzero(block, axis=0)
            result[1] += np.einsum("ij,ij->j", block, block, dtype=np.float64)
        return result

    def gram(self, rows: NDArray[np.intp], weights: Array) -> Array:
        """``sum_i weights_i x_i x_i^T`` over some rows, copied in blocks; O(rows d^2)."""
        result = np.zeros((self.shape[1], self.shape[1]))
        step = max(1, BLOCK // max(1, self.shape[1]))
        for begin in range(0, rows.size, step):
            piece = slice(begin, begin + step)
            block = self._matrix[rows[piece]].astype(np.float64, copy=False)
            result += block.T @ (weights[piece, None] * block)
        return result

    def by_columns(self, rows: NDArray[np.intp]) -> sp.csc_array:
        """Some rows, column by column, without zeros."""
        return sp.csc_array(self._matrix[rows].astype(np.float64, order="C", copy=False))

    def _needed(self, g: Array) -> Iterator[tuple[Array, NDArray[Any]]]:
        """Rows that ``X^T g`` needs, and their coefficients: of a block where they are few, else whole blocks.

        Whole float64 blocks are joined with those next to them, as a product of each has its price. (Measured with a
        million rows of 136 numbers, a third of them needed: 101 ms one by one, 94 ms joined.)
        """
        joins = self._matrix.dtype == np.float64
        begin = end = 0  # rows that wait for more
        for rows, block in self._blocks():
            coefficients = g[rows]
            needed = np.flatnonzero(coefficients)
            is_whole = needed.size > FEW * coefficients.size
            if is_whole and joins:
                begin, end = begin if begin < end else rows.start, rows.stop
                continue
            if begin < end:
                yield g[begin:end], self._matrix[begin:end]
                begin = end
            if is_whole:
                yield coefficients, block
            elif needed.size > 0:
                yield coefficients[needed], block[needed]
        if begin < end:
            yield g[begin:end], self._matrix[begin:end]

    def _blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        n, d = self.shape
        step = max(1, BLOCK // max(1, d))
        for begin in range(0, n, step):
            rows = slice(begin, min(begin + step, n))
            yield rows, self._matrix[rows]
