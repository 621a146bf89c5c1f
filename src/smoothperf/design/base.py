"""A design matrix as a linear operator: what the solvers may ask of X, whatever its format."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._arrays import Array

#: Share of the entries of the fullest column from which on others have a size.
FULL = 0.1


class Design(ABC):
    """``X`` as an operator. It refers to the user's arrays, never writes to them, and sums in float64.

    Attributes
    ----------
    wants_blas_threads : bool
        Whether products with X are BLAS calls large enough for threads to pay.
    gives_columns : bool
        Whether there is :meth:`columns`.
    shape : tuple of int
        ``(n, d)``.
    n_entries : int
        Numbers that a product with X reads.
    row_norm : float
        Largest Euclidean norm of a row, or an upper bound; the certificate's rounding bound needs it.
    frobenius_norm : float
        Square root of the sum of all squares, or an upper bound, for the same purpose.

    Examples
    --------
    >>> from smoothperf.design import as_design
    >>> X = as_design(np.array([[1.0, 2.0], [0.0, 3.0]]))
    >>> X.matvec(np.array([1.0, 1.0])), X.rmatvec(np.array([1.0, 0.0])), X.row_norm
    (array([3., 3.]), array([1., 2.]), 3.0)
    """

    wants_blas_threads: bool
    gives_columns: bool = False
    shape: tuple[int, int]
    n_entries: int
    row_norm: float
    frobenius_norm: float
    _column_sizes: Array | None = None

    @abstractmethod
    def matvec(self, w: Array, out: Array | None = None) -> Array:
        """``X w``; ``out`` is overwritten if given.

        Parameters
        ----------
        w : ndarray of shape (d,)
            Weights.
        out : ndarray of shape (n,), optional
            Memory for the result.

        Returns
        -------
        scores : ndarray of shape (n,)
            One for each row.
        """

    @abstractmethod
    def rmatvec(self, g: Array, out: Array | None = None) -> Array:
        """``X^T g``; ``out`` is overwritten if given.

        Parameters
        ----------
        g : ndarray of shape (n,)
            Coefficients of the rows.
        out : ndarray of shape (d,), optional
            Memory for the result.

        Returns
        -------
        sums : ndarray of shape (d,)
            One for each column.
        """

    def columns(self, features: NDArray[np.intp]) -> Design:
        """Return some columns of X, in ascending order, as a copy; for about a pass over X.

        Parameters
        ----------
        features : ndarray of int
            Which columns.

        Returns
        -------
        design : Design
            With these columns only.
        """
        raise NotImplementedError(f"{type(self).__name__} gives no columns.")

    def by_columns(self, rows: NDArray[np.intp]) -> sp.csc_array:
        """Return some rows, in the order given, with their entries column by column; where columns can be had.

        Parameters
        ----------
        rows : ndarray of int
            Which rows.

        Returns
        -------
        entries : csc_array of shape (len(rows), d)
            In float64.
        """
        raise NotImplementedError(f"{type(self).__name__} gives no columns.")

    def column_sizes(self) -> Array:
        """Root mean squares of the entries of each column that are not zero. A pass over X the first time.

        NaN where squares are next to nothing, or so large that they overflow, and for columns with a tenth of the
        entries of the fullest one, or fewer.

        Returns
        -------
        sizes : ndarray of shape (d,)
            NaN where they are not known.
        """
        if self._column_sizes is None:
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                counts, squares = self.column_squares()
                means = squares / counts
                known = (means > 1e-200) & (means < 1e200) & (counts > FULL * counts.max(initial=0.0))
                self._column_sizes = np.where(known, np.sqrt(means), np.nan)
        return self._column_sizes

    @abstractmethod
    def column_squares(self) -> Array:
        """Number of entries of each column that are not zero, and the sum of their squares: two rows; a pass over X.

        Returns
        -------
        counts_and_squares : ndarray of shape (2, d)
            Numbers of entries, and sums of squares.
        """

    @abstractmethod
    def gram(self, rows: NDArray[np.intp], weights: Array) -> Array:
        """``sum_i weights_i x_i x_i^T`` over some rows: d by d numbers.

        Parameters
        ----------
        rows : ndarray of int
            Which rows.
        weights : ndarray of shape (len(rows),)
            Their weights.

        Returns
        -------
        gram : ndarray of shape (d, d)
            A symmetric matrix.
        """
