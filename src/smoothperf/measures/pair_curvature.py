r"""The second derivative of the smoothed risk of pairs: the Laplacian of a graph.

Of the Huber hinges ``(c_q / M_q) H(1 - (f_i - f_j))`` those on the ramp, ``0 < 1 - (f_i - f_j) < mu``, have a second
derivative, ``k = c_q / (M_q mu)``. With an edge of weight k for each such pair, the derivative is the Laplacian

    C = sum_ij k_ij (e_i - e_j) (e_i - e_j)^T,      X^T C X = sum_ij k_ij (x_i - x_j) (x_i - x_j)^T     (pairs-hessian)

Pairs are never formed: half of ``C X`` is found by sums of rows that move along the scores
(:func:`smoothperf.kernels.ramp_products`), O(n d) for n documents that have a pair on the ramp, and the product with
X^T is O(n d^2). Both are done for some queries at a time.

Where all scores are equal every pair is one margin away from its hinge, and on no ramp of a mu below 1. There the ramp
is taken to be two margins wide, with all pairs in the middle of it. Of many documents some of each query, spread evenly
by grade, tell as well where to begin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import ramp_products
from .base import Curvature, RowsOfX
from .queries import Queries

Array = NDArray[np.float64]
Places = NDArray[np.intp]
#: Numbers of rows of X that are copied at a time: 128 KiB, which stay in a cache, and for which the C library has
#: memory at hand. (Measured with 5,600 rows of 45 numbers: 1.5 ms; with 2 MiB 4 ms, most of it for fresh pages.)
BLOCK = 1 << 14
#: Rows at least, so that adding up d^2 numbers is little beside the product.
LEAST_ROWS = 128
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
        f, by document.
    mu : float
        The width of the ramps.
    documents : ndarray of intp
        Those to look at, in rising order: all that have a pair on the ramp, or some.
    change : ndarray
        See :class:`Curvature`; for each of these.
    """

    def __init__(
        self,
        queries: Queries,
        levels: Places,
        coefficients: Array,
        scores: Array,
        mu: float,
        documents: Places,
        change: Array,
    ):
        self.rows = documents if queries.rows is None else queries.rows[documents]
        self.change = change
        self._mu, self._coefficients = mu, coefficients
        self._scores, self._levels = scores[documents], levels[documents]
        self._starts = np.searchsorted(documents, queries.starts).astype(np.intp)

    @classmethod
    def at(
        cls, queries: Queries, levels: Places, coefficients: Array, scores: Array, mu: float, following: float
    ) -> PairCurvature:
        """At scores by row. Pairs are those on the ramp of mu, derivatives are for the mu that follows."""
        f = queries.by_document(scores)
        _, degrees, slopes = _products(
            f, queries.starts, levels, coefficients, mu, np.empty((f.size, 0)), queries.pieces()
        )
        # Documents without a pair on the ramp contribute nothing.
        active = np.flatnonzero(degrees)
        ratio = mu / following
        return cls(queries, levels, ratio * coefficients, f, mu, active, (ratio - 1.0) * slopes[active])

    @classmethod
    def at_zero(
        cls, queries: Queries, levels: Places, coefficients: Array, by_grade: Places, enough: int
    ) -> PairCurvature:
        """About what it is where all scores are equal, from a given number of documents or a few more.

        ``by_grade`` are the documents of each query by grade.
        """
        n = queries.here_count
        taken = queries.places % max(1, n // enough) == 0
        taken[queries.starts[1:] - 1] = True  # with the first and the last there is a pair of each query
        is_here = np.zeros(n, dtype=bool)
        is_here[by_grade[taken]] = True
        some, zeros = np.flatnonzero(is_here), np.zeros(n)
        others = (n / max(some.size, 1)) ** 2  # pairs that each of these stands for, about
        return cls(queries, levels, others * coefficients, zeros, 2.0 * MARGIN, some, zeros[some])

    def hessian(self, X: RowsOfX) -> tuple[Array, float]:
        """``X^T C X``, and the trace of ``X^T diag(C) X``; O(rows d^2)."""
        starts, d = self._starts, X.shape[1]
        half, trace = np.zeros((d, d)), 0.0
        first, end = 0, starts.size - 1
        while first < end:
            last = int(np.searchsorted(starts, starts[first] + max(BLOCK // d, LEAST_ROWS), "right")) - 1
            last = min(max(last, first + 1), end)  # whole queries, one at least
            here = slice(starts[first], starts[last])
            rows = X.dense(self.rows[here])
            product, degrees, _ = _products(
                self._scores[here],
                starts[first : last + 1] - starts[first],
                self._levels[here],
                self._coefficients[first:last],
                self._mu,
                rows,
                1,
            )
            half += rows.T @ product
            trace += float(degrees @ np.einsum("ij,ij->i", rows, rows))
            first = last
        return half + half.T, trace


def _products(
    scores: Array, starts: Places, levels: Places, coefficients: Array, mu: float, matrix: Array, pieces: int
) -> tuple[Array, Array, Array]:
    """Product, degrees and slopes of :func:`smoothperf.kernels.ramp_products`."""
    product, degrees, slopes = np.empty_like(matrix), np.empty_like(scores), np.empty_like(scores)
    ramp_products(scores, starts, levels, coefficients, MARGIN, mu, matrix, product, degrees, slopes, pieces)
    return product, degrees, slopes
