r"""Space spanned by the rows of X.

With ``d`` weights far more numerous than ``n`` examples even additions and inner products of weights are expensive: an
L-BFGS step touches 80 vectors of length d, two products with X two. But every iterate, gradient and plane is a
combination of rows, ``v = X^T c``. Then

    <u, v> = <c_u, X v>                                                                    (row-inner)

so it is enough to carry the pair ``(c, X v)``, 2n numbers, and a vector of length d is written and read only in
products with X. A run that starts at weights ``w0`` which need not be a combination of rows, carries one more
coefficient, as if ``w0`` were another row.
"""

from __future__ import annotations

import numpy as np

from .._arrays import Array
from .space import Buffers, Products, Space


class RowSpace(Space):
    """Vectors are ``(c, X v)`` with ``v = X^T c``; after a start ``w0``, ``(c, t, X v, <w0, v>)`` with ``+ t w0``.

    Made for one run.

    Parameters
    ----------
    products : Products
        X.
    n_examples, n_features : int
        n and d.
    frobenius_norm : float
        Of X, for the rounding of inner products.
    start : ndarray of shape (d,), optional
        The weights that the run starts at.
    """

    def __init__(
        self, products: Products, n_examples: int, n_features: int, frobenius_norm: float, start: Array | None
    ):
        terms = n_examples + (start is not None)
        super().__init__(length=2 * terms, terms=terms, shift=terms, plane_length=2 * n_examples)
        self._products = products
        self._n = n_examples
        self._frobenius_norm = frobenius_norm
        self._start = start
        self._start_scores = None if start is None else np.array(products.matvec(start))
        self._weights = np.empty(n_features)

    def vector(self, start: Array | None) -> Array:
        """Return the start, which is the one that the space was made for."""
        vector = np.zeros(self.length)
        if self._start is not None and self._start_scores is not None:
            vector[self._n] = 1.0
            vector[self.shift : -1] = self._start_scores
            vector[-1] = float(self._start @ self._start)
        return vector

    def weights(self, vector: Array) -> Array:
        """``X^T c + t w0``; one pass over the data."""
        weights = self._products.rmatvec(np.ascontiguousarray(vector[: self._n]))
        return weights if self._start is None else weights + vector[self._n] * self._start

    def scores(self, vector: Array, buffers: Buffers | None = None) -> Array:
        """``X v``, which is part of the vector."""
        return vector[self.shift : self.shift + self._n]

    def slope(self, gradient: Array) -> Array:
        """``X^T g``, with its scores; two passes over the data."""
        weights = self._products.rmatvec(gradient, out=self._weights)
        return self.vector_of(gradient, weights, self._products.matvec(weights))

    def vector_of(self, gradient: Array, weights: Array, scores: Array) -> Array:
        """``(g, X X^T g)``, with the parts that refer to the start."""
        vector: Array = self.from_before(np.concatenate([gradient, scores]).reshape(1, -1))[0]
        return vector

    def size(self, slope: Array, gradient_norm: float) -> float:
        """``|X|_F |g|``: products and sums with X come in."""
        return self._frobenius_norm * gradient_norm

    def for_later(self, slopes: Array) -> Array:
        """Without the parts that refer to the start."""
        n = self._n
        return slopes if self._start is None else np.hstack([slopes[:, :n], slopes[:, self.shift : self.shift + n]])

    def from_before(self, slopes: Array) -> Array:
        """With ``t = 0`` and ``<w0, X^T g> = <X w0, g>``."""
        if self._start_scores is None:
            return slopes
        coefficients, scores = slopes[:, : self._n], slopes[:, self._n :]
        along_start = coefficients @ self._start_scores
        return np.column_stack([coefficients, np.zeros(len(slopes)), scores, along_start])
