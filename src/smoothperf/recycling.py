"""Vectors that are used again when nobody refers to them any more.

A solver makes and drops several vectors of length n in every iteration. The C library returns such blocks to the
system and gets them back as untouched pages, which costs several times as much as filling them. (Measured with 600,000
numbers: 2.9 ms for a sum of two vectors into fresh memory, 0.33 ms into used one.)
"""

from __future__ import annotations

import sys
import threading

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _references_when_idle() -> int:
    """Count the references to an object that only a list knows, from a loop over the list: interpreters differ."""
    for thing in [object()]:
        return sys.getrefcount(thing)
    raise AssertionError("a list of one holds something")


IDLE = _references_when_idle()


class Recycler:
    """Hands out vectors of one length. A vector, or a view of it, that is still referred to is never handed out again.

    Examples
    --------
    >>> vectors = Recycler(3)
    >>> a, b = vectors.take(), vectors.take()
    >>> a is b
    False
    >>> address = a.ctypes.data
    >>> del a
    >>> vectors.take().ctypes.data == address
    True
    """

    def __init__(self, length: int):
        self.length = length
        self._vectors: list[Array] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many vectors there are, in use or not."""
        return len(self._vectors)

    def take(self) -> Array:
        """Return a vector that holds anything."""
        with self._lock:
            for vector in self._vectors:
                if sys.getrefcount(vector) == IDLE:
                    return vector
            vector = np.empty(self.length)
            self._vectors.append(vector)
            return vector


class Workspace:
    """Hands out vectors of any length, to be used again as long as the length stays the same.

    Examples
    --------
    >>> workspace = Workspace()
    >>> address = workspace.take(3).ctypes.data
    >>> workspace.take(3).ctypes.data == address
    True
    >>> workspace.take(4).shape
    (4,)
    """

    def __init__(self) -> None:
        self._vectors = Recycler(0)

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        return Workspace, ()  # what is in it does not matter

    def take(self, length: int) -> Array:
        """Return a vector that holds anything."""
        vectors = self._vectors  # another thread may want another length meanwhile
        if vectors.length != length:
            vectors = self._vectors = Recycler(length)
        return vectors.take()
