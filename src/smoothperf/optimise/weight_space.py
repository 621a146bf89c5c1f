"""Space of weights, and the choice between it and that of rows."""

from __future__ import annotations

import math

import numpy as np

from .._arrays import Array
from .row_space import RowSpace
from .space import Buffers, Products, Space

#: Rows are the smaller space when there are so many times as many columns.
MANY_COLUMNS = 2


class WeightSpace(Space):
    """Vectors are weights.

    Parameters
    ----------
    products : Products
        X.
    n_features : int
        d.
    """

    def __init__(self, products: Products, n_features: int):
        super().__init__(length=n_features, terms=n_features, shift=0, plane_length=n_features)
        self._products = products

    def vector(self, start: Array | None) -> Array:
        """Return a copy of the start, or zeros."""
        return np.zeros(self.length) if start is None else np.array(start, dtype=np.float64)

    def weights(self, vector: Array) -> Array:
        """Return the vector itself."""
        return vector

    def scores(self, vector: Array, buffers: Buffers | None = None) -> Array:
        """``X v``; one pass over the data."""
        return self._products.matvec(vector, None if buffers is None else buffers.take())

    def slope(self, gradient: Array) -> Array:
        """``X^T g``; one pass over the data."""
        return self._products.rmatvec(gradient)

    def vector_of(self, gradient: Array, weights: Array, scores: Array) -> Array:
        """Return the weights themselves."""
        return weights

    def size(self, slope: Array, gradient_norm: float) -> float:
        """``|v|``."""
        return math.sqrt(slope.dot(slope))

    def for_later(self, slopes: Array) -> Array:
        """Return the slopes themselves."""
        return slopes

    def from_before(self, slopes: Array) -> Array:
        """Return the slopes themselves."""
        return slopes


def smaller_space(
    products: Products, shape: tuple[int, int], frobenius_norm: float, start: Array | None = None
) -> Space:
    """The space with fewer numbers to a vector, for a run that starts at given weights."""
    n, d = shape
    if d > MANY_COLUMNS * n:
        return RowSpace(products, n, d, frobenius_norm, start if start is not None and np.any(start) else None)
    return WeightSpace(products, d)
