r"""Spaces that the vectors of a run live in: weight space, or the space spanned by the rows of X.

Solvers add and scale vectors, and ask for their inner products and scores. With ``d`` weights far more numerous than
``n`` examples even that is expensive: an L-BFGS step touches 80 vectors of length d, two products with X two. But
every iterate, gradient and plane is a combination of rows, ``v = X^T c``. Then

    <u, v> = <c_u, X v>                                                                    (row-inner)

so it is enough to carry the pair ``(c, X v)``, 2n numbers, and a vector of length d is written and read only in
products with X. A run that starts at weights ``w0`` which need not be a combination of rows, carries one more
coefficient, as if ``w0`` were another row.

In both spaces a vector is a one-dimensional array, and the inner product of u and v is ``u[:terms] .
v[shift:shift+terms]``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from .._arrays import Array
from ..kernels import sum_and_squares

#: Rows are the smaller space when there are so many times as many columns.
MANY_COLUMNS = 2


def along(start: Array, step: float, direction: Array, out: Array) -> None:
    """``out = start + step * direction``.

    (Measured with 500 to 300,000 rows: a compiled loop takes half to three quarters of the time of these two passes,
    but fits with it take no less processor time.)
    """
    np.multiply(direction, step, out=out)
    np.add(start, out, out=out)


class Products(Protocol):
    """Products with X; an objective also counts them."""

    def matvec(self, w: Array, /, out: Array | None = None) -> Array:
        """``X w``; ``out`` is overwritten if given."""

    def rmatvec(self, g: Array, /, out: Array | None = None) -> Array:
        """``X^T g``; ``out`` is overwritten if given."""


class Buffers:
    """Vectors with a number for each row, for one run: memory that is used again.

    A solver makes and drops several in every iteration. Beyond 32 MiB the C library returns such blocks to the system
    and gets them back as untouched pages, which costs more than filling them. (Measured in processor time of fits:
    without this, PRBEP takes 1.13 and log loss 1.25 times as long with 5 million rows, and 0.96 to 1.04 times on a9a,
    w8a, rcv1 and covtype. Vectors of weights are seldom so long, and have fresh memory.)

    Whoever takes a vector may give it back once nothing refers to it. Forgetting to costs only time; giving back one
    in use, or twice, is a bug that nothing here detects.

    Examples
    --------
    >>> buffers = Buffers(3)
    >>> vector = buffers.take()
    >>> buffers.give(vector)
    >>> buffers.take() is vector
    True
    """

    def __init__(self, length: int):
        self._length = length
        self._free: list[Array] = []

    def take(self) -> Array:
        """Return a vector that holds anything."""
        return self._free.pop() if self._free else np.empty(self._length)

    def give(self, vector: Array) -> None:
        """Take a vector back. Views are left alone: they belong to another one."""
        if vector.base is None:
            self._free.append(vector)


class Space(ABC):
    """Vectors as arrays of one length, with an inner product.

    Parameters
    ----------
    length, terms, shift, plane_length : int
        See the attributes.

    Attributes
    ----------
    length : int
        Numbers in a vector.
    terms, shift : int
        ``<u, v> = u[:terms] . v[shift:shift+terms]``.
    plane_length : int
        Numbers in a vector as :meth:`for_later` returns it.
    """

    def __init__(self, *, length: int, terms: int, shift: int, plane_length: int):
        self.length = length
        self.terms = terms
        self.shift = shift
        self.plane_length = plane_length

    def combine(self, u: Array, a: float, v: Array) -> Array:
        """``u + a v``."""
        result = np.empty(self.length)
        along(u, a, v, result)
        return result

    def combine_and_square(self, u: Array, a: float, v: Array) -> tuple[Array, float, float]:
        """``u + a v``, ``|v|^2`` and ``|u + a v|^2``, in one pass."""
        result = np.empty(self.length)
        v_square, square = sum_and_squares(u, a, v, self.terms, self.shift, result)
        return result, max(v_square, 0.0), max(square, 0.0)

    def inner(self, u: Array, v: Array) -> float:
        """``<u, v>``."""
        return float(u[: self.terms].dot(v[self.shift : self.shift + self.terms]))

    def square(self, v: Array) -> float:
        """``|v|^2``; where the terms of (row-inner) cancel, rounding could make it negative."""
        return max(self.inner(v, v), 0.0)

    def inners(self, rows: Array, others: Array) -> Array:
        """Inner products of two lists of vectors."""
        products: Array = rows[:, : self.terms] @ others[:, self.shift : self.shift + self.terms].T
        return products

    @abstractmethod
    def vector(self, start: Array | None) -> Array:
        """Return the vector of the weights that the run starts at; zero for None."""

    @abstractmethod
    def weights(self, vector: Array) -> Array:
        """Return the weights, of length d."""

    @abstractmethod
    def scores(self, vector: Array, buffers: Buffers | None = None) -> Array:
        """``X v``, in memory of the buffers if it is computed; else a view."""

    @abstractmethod
    def slope(self, gradient: Array) -> Array:
        """``X^T g`` as a vector."""

    @abstractmethod
    def vector_of(self, gradient: Array, weights: Array, scores: Array) -> Array:
        """Return the vector of ``X^T g``, given as weights and as scores."""

    @abstractmethod
    def size(self, slope: Array, gradient_norm: float) -> float:
        """A bound of the size of the terms in inner products with a slope, for their rounding."""

    @abstractmethod
    def for_later(self, slopes: Array) -> Array:
        """Slopes in a form that does not depend on where this run started."""

    @abstractmethod
    def from_before(self, slopes: Array) -> Array:
        """Slopes of an earlier run as vectors of this space."""


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
        self._d = n_features
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


def smaller_space(
    products: Products, shape: tuple[int, int], frobenius_norm: float, start: Array | None = None
) -> Space:
    """The space with fewer numbers to a vector, for a run that starts at given weights."""
    n, d = shape
    if d > MANY_COLUMNS * n:
        return RowSpace(products, n, d, frobenius_norm, start if start is not None and np.any(start) else None)
    return WeightSpace(products, d)
