"""A design matrix with one more column, which is constant: the feature whose weight is the bias.

Nothing is copied. The column counts as little as it costs: products with X read as many numbers as before.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._arrays import Array
from .base import Design


class BiasedDesign(Design):
    """``[X, h 1]`` for any design X.

    Parameters
    ----------
    design : Design
        X, n by d.
    height : float
        h, the value of the last column.

    Examples
    --------
    >>> from smoothperf.design import as_design
    >>> X = BiasedDesign(as_design(np.eye(2)), height=10.0)
    >>> X.shape, X.matvec(np.array([1.0, 2.0, 0.5]))
    ((2, 3), array([6., 7.]))
    """

    def __init__(self, design: Design, height: float):
        n, d = design.shape
        self._design = design
        self._height = height
        self.wants_blas_threads = design.wants_blas_threads
        self.gives_columns = design.gives_columns
        self.shape = (n, d + 1)
        self.n_entries = design.n_entries
        self.row_norm = math.hypot(design.row_norm, height)
        self.frobenius_norm = math.hypot(design.frobenius_norm, math.sqrt(n) * height)

    def matvec(self, w: Array, out: Array | None = None) -> Array:
        """``X w[:-1] + h w[-1]``."""
        scores: Array = self._design.matvec(w[:-1], out=out)
        scores += self._height * w[-1]
        return scores

    def rmatvec(self, g: Array, out: Array | None = None) -> Array:
        """``X^T g`` followed by ``h sum(g)``."""
        result = np.empty(self.shape[1]) if out is None else out
        self._design.rmatvec(g, out=result[:-1])
        result[-1] = self._height * g.sum()
        return result

    def columns(self, features: NDArray[np.intp]) -> Design:
        """Return some columns of X, with the constant one if that is the last of them."""
        last = self.shape[1] - 1
        some = self._design.columns(features[features != last])
        return BiasedDesign(some, self._height) if (features == last).any() else some

    def by_columns(self, rows: NDArray[np.intp]) -> sp.csc_array:
        """Some rows, column by column, with the constant one."""
        constant = sp.csc_array(np.full((rows.size, 1), self._height))
        return sp.csc_array(sp.hstack([self._design.by_columns(rows), constant], format="csc"))

    def column_squares(self) -> Array:
        """Those of X, and of the constant column."""
        n = self.shape[0]
        return np.column_stack([self._design.column_squares(), [n, n * self._height**2]])

    def gram(self, rows: NDArray[np.intp], weights: Array) -> Array:
        """``sum_i weights_i x_i x_i^T`` over some rows; one more pass over X than without the column."""
        result = np.empty((self.shape[1], self.shape[1]))
        result[:-1, :-1] = self._design.gram(rows, weights)
        coefficients = np.zeros(self.shape[0])
        np.add.at(coefficients, rows, weights)
        result[-1] = result[:, -1] = self._height * self.rmatvec(coefficients)
        return result
