"""Contract of the spaces that the vectors of a run live in: weight space, or the space spanned by the rows of X.

Solvers add and scale vectors, and ask for their inner products and scores. In both spaces a vector is a one-dimensional
array, and the inner product of u and v is ``u[:terms] . v[shift:shift+terms]``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from .._arrays import Array
from ..kernels import sum_and_squares


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
