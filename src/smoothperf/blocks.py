"""Rows in blocks: the rows, and every vector that has a number for each of them, stay where they are.

A *block* is an object that has some of the rows of the data. The blocks may be one, in this process, or many in
others. Whoever works with them knows only small things about far-away rows:

    Blocks.each(method, ...)    calls a method of every block and returns the replies, in the order of the blocks
    Vectors                     arithmetic on vectors with a number for each row, which nobody but a block looks into

A method of a block is given its own part of each vector among the arguments. In memory there is one block, the parts
are the vectors themselves, plain arrays, and a call is a call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import threads
from .kernels import along
from .recycling import Recycler

#: A vector with a number for each row: an array of float64 in memory, and otherwise something that stands for one.
Vector: TypeAlias = Any
#: Numbers for which a thread pays, when two vectors are added.
LEAST_NUMBERS = 1 << 15


class Vectors(ABC):
    """Vectors with a number for each row, and what solvers do with them.

    Attributes
    ----------
    length : int
        Number of rows, of all blocks together.
    """

    length: int

    @abstractmethod
    def take(self) -> Vector:
        """Return a vector that holds anything. It may be handed out again when nobody refers to it any more."""

    @abstractmethod
    def constant(self, value: float) -> Vector:
        """Return a vector of equal numbers."""

    @abstractmethod
    def along(self, start: Vector, step: float, direction: Vector) -> Vector:
        """``start + step * direction``."""

    @abstractmethod
    def inner(self, u: Vector, v: Vector) -> float:
        """``<u, v>``."""

    def norm(self, u: Vector) -> float:
        """``|u|``."""
        return float(np.sqrt(self.inner(u, u)))


class LocalVectors(Vectors):
    """Vectors in this process: arrays.

    Examples
    --------
    >>> vectors = LocalVectors(3)
    >>> vectors.along(vectors.constant(1.0), 2.0, vectors.constant(0.5))
    array([2., 2., 2.])
    """

    def __init__(self, length: int):
        self.length = length
        self._memory = Recycler(length)

    def __reduce__(self) -> tuple[type[LocalVectors], tuple[int]]:
        return LocalVectors, (self.length,)  # arrays that are free need not travel, and locks cannot

    def take(self) -> NDArray[np.float64]:
        """Return an array that holds anything."""
        return self._memory.take()

    def constant(self, value: float) -> NDArray[np.float64]:
        """Return an array of equal numbers."""
        return np.full(self.length, value)

    def along(self, start: NDArray[np.float64], step: float, direction: NDArray[np.float64]) -> NDArray[np.float64]:
        """``start + step * direction``, in one pass."""
        result = self.take()
        along(start, step, direction, result, threads.pieces(self.length, least=LEAST_NUMBERS))
        return result

    def inner(self, u: NDArray[np.float64], v: NDArray[np.float64]) -> float:
        """``<u, v>``."""
        return float(u @ v)


class Blocks(ABC):
    """Blocks of rows, in a fixed order.

    Attributes
    ----------
    vectors : Vectors
        The vectors that go with these rows.
    far : bool
        Whether replies travel: what is large should stay with the rows then, at the price of another round.
    """

    vectors: Vectors
    far: bool

    @abstractmethod
    def each(self, method: str, /, *arguments: Any) -> list[Any]:
        """Call a method of every block, and return what it returned, in the order of the blocks.

        Arguments are small things, the same for all blocks, or vectors, of which each block is given its part.
        """

    def complete(self, method: str, /, *arguments: Any) -> list[Any]:
        """``each`` for the last call of an evaluation: it fills in the gradient, which is the last argument.

        Where a round costs something, the gradient may be multiplied at once with the transpose of X.
        """
        return self.each(method, *arguments)

    def tell(self, method: str, /, *arguments: Any) -> None:
        """Call a method of every block whose reply nobody waits for."""
        self.each(method, *arguments)


class OneBlock(Blocks):
    """All rows in this process.

    Examples
    --------
    >>> class Scores:
    ...     def largest(self, scores):
    ...         return float(scores.max())
    >>> blocks = OneBlock(Scores(), LocalVectors(3))
    >>> blocks.each("largest", blocks.vectors.constant(2.0))
    [2.0]
    """

    far = False

    def __init__(self, block: Any, vectors: LocalVectors):
        self.vectors = vectors
        self._block = block

    def each(self, method: str, /, *arguments: Any) -> list[Any]:
        """Call the method."""
        return [getattr(self._block, method)(*arguments)]
