"""The curvature that L-BFGS remembers: the last pairs (s, y), and the direction that they give."""

from __future__ import annotations

import numpy as np

from ..kernels import two_loop
from ..space import Array, Space

#: A pair shows curvature if ``<s, y>`` is above rounding.
ROUNDING = 1e-14


class CurvatureMemory:
    """The last pairs of steps s and changes of gradient y.

    Parameters
    ----------
    size : int
        Most pairs.
    space : Space
        Where the vectors live.
    """

    def __init__(self, size: int, space: Space):
        self._space = space
        self._steps = np.empty((size, space.length))  # memory is taken up only as pairs come in
        self._changes = np.empty((size, space.length))
        self._curvatures = np.empty(size)
        self._order: list[int] = []  # rows in use, oldest first
        self._scale = 1.0

    def __len__(self) -> int:
        return len(self._order)

    def clear(self) -> None:
        """Forget all pairs: the next direction is the negative gradient."""
        self._order.clear()

    def push(self, s: Array, y: Array) -> None:
        """Remember a pair if it shows positive curvature beyond rounding."""
        inner = self._space.inner
        curvature, squared_change = inner(s, y), inner(y, y)
        if not curvature > ROUNDING * np.sqrt(max(inner(s, s), 0.0) * max(squared_change, 0.0)):
            return
        size = self._curvatures.shape[0]
        row = self._order.pop(0) if len(self._order) == size else min(set(range(size)) - set(self._order))
        self._steps[row] = s
        self._changes[row] = y
        self._curvatures[row] = curvature
        self._scale = curvature / squared_change
        self._order.append(row)

    def direction(self, gradient: Array) -> Array:
        """``-H gradient``."""
        p = -gradient
        if self._order:
            space = self._space
            order = np.array(self._order, dtype=np.intp)
            two_loop(self._steps, self._changes, self._curvatures, order, self._scale, space.terms, space.shift, p)
        return p
