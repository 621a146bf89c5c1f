r"""The second derivative of the smoothed risk of pairs: the Laplacian of a graph.

Of the Huber hinges ``(c_q / M_q) H(1 - (f_i - f_j))`` those on the ramp, ``0 < 1 - (f_i - f_j) < mu``, have a second
derivative, ``k = c_q / (M_q mu)``. With an edge of weight k for each such pair, the derivative is the Laplacian

    C = sum_ij k_ij (e_i - e_j) (e_i - e_j)^T,      X^T C X = sum_ij k_ij (x_i - x_j) (x_i - x_j)^T     (pairs-hessian)

Pairs are never formed: half of ``C X`` is found by sums of rows that move along the scores
(:func:`smoothperf.kernels.ramp_products`), O(n d) for n documents that have a pair on the ramp, and the product with
X^T is O(n d^2). Both are done for some queries at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import ramp_products
from .base import Curvature, RowsOfX
from .queries import Queries

Array = NDArray[np.float64]
#: Numbers of rows of X that are copied at a time.
BLOCK = 1 << 18
MARGIN = 1.0


class PairCurvature(Curvature):
    """(pairs-hessian) at some scores.

    Parameters
    ----------
    queries : Queries
        Which documents belong together.
    levels : ndarray of intp
        The grades of each query numbered upwards, by document.
    coefficients : ndarray
        What every pair of a query counts.
    scores : ndarray
        f, by row.
    mu, following : float
        The width of the ramps, and the width that follows: derivatives are for that one, pairs are those on the ramp
        of the first.
    """

    def __init__(
        self,
        queries: Queries,
        levels: NDArray[np.intp],
        coefficients: Array,
        scores: Array,
        mu: float,
        following: float,
    ):
        f = queries.by_document(scores)
        self._mu, self._pieces = mu, queries.pieces()
        _, degrees, slopes = self._products(f, queries.starts, levels, coefficients, np.empty((f.size, 0)))
        # Documents without a pair on the ramp contribute nothing.
        active = np.flatnonzero(degrees)
        ratio = mu / following
        self.rows = active if queries.rows is None else queries.rows[active]
        self.change = (ratio - 1.0) * slopes[active]
        self._scores, self._levels = f[active], levels[active]
        self._starts = np.searchsorted(active, queries.starts).astype(np.intp)
        self._coefficients = ratio * coefficients

    def hessian(self, X: RowsOfX) -> tuple[Array, float]:
        """``X^T C X``, and the trace of ``X^T diag(C) X``; O(rows d^2)."""
        starts, d = self._starts, X.shape[1]
        half, trace = np.zeros((d, d)), 0.0
        first, end = 0, starts.size - 1
        while first < end:
            last = int(np.searchsorted(starts, starts[first] + BLOCK // d, "right")) - 1
            last = min(max(last, first + 1), end)  # whole queries, one at least
            here = slice(starts[first], starts[last])
            rows = X.dense(self.rows[here])
            product, degrees, _ = self._products(
                self._scores[here],
                starts[first : last + 1] - starts[first],
                self._levels[here],
                self._coefficients[first:last],
                rows,
            )
            half += rows.T @ product
            trace += float(degrees @ np.einsum("ij,ij->i", rows, rows))
            first = last
        return half + half.T, trace

    def _products(
        self, scores: Array, starts: NDArray[np.intp], levels: NDArray[np.intp], coefficients: Array, matrix: Array
    ) -> tuple[Array, Array, Array]:
        """Product, degrees and slopes of :func:`smoothperf.kernels.ramp_products`."""
        product, degrees, slopes = np.empty_like(matrix), np.empty_like(scores), np.empty_like(scores)
        ramp_products(
            scores, starts, levels, coefficients, MARGIN, self._mu, matrix, product, degrees, slopes, self._pieces
        )
        return product, degrees, slopes
