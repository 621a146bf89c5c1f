"""The curvature that L-BFGS remembers: the last pairs (s, y), and the direction that they give.

Pairs of the first steps, far from the solution, mislead later ones. So of k pairs seen no more than ``k // 3 + 3`` are
kept, whatever the memory. Measured on seven data sets, that takes 9% fewer iterations than 20 pairs from the start and
6% fewer than 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..kernels import along, differences, two_loop
from ..row_space import Array, Space, WeightSpace

#: A pair shows curvature if ``<s, y>`` is above rounding.
ROUNDING = 1e-14


@dataclass(frozen=True)
class Pairs:
    """Curvature of the risk to hand from one run to the next on the same design and risk, whatever alpha is.

    Attributes
    ----------
    steps, changes : ndarray of shape (m, d)
        Steps s, and changes of the gradient of ``J_mu``, some of which are meant.
    order : list of int
        Which, oldest first.
    alpha : float
        The alpha of J; for another one the changes differ by the difference times s.
    """

    steps: Array
    changes: Array
    order: list[int]
    alpha: float


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
        self._seen = 0

    def __len__(self) -> int:
        return len(self._order)

    def clear(self) -> None:
        """Forget all pairs: the next direction is the negative gradient."""
        self._order.clear()

    def push(self, coef: Array, previous_coef: Array, gradient: Array, previous_gradient: Array) -> None:
        """Remember the pair of two points if it shows positive curvature beyond rounding."""
        size = self._curvatures.shape[0]
        free = set(range(size)).difference(self._order)
        row = min(free) if free else self._order[0]
        space = self._space
        inner_products = differences(
            coef,
            previous_coef,
            gradient,
            previous_gradient,
            space.terms,
            space.shift,
            self._steps[row],
            self._changes[row],
        )
        if not free:
            del self._order[0]  # its place is taken, whatever comes of the new pair
        self._accept(row, *inner_products)
        self._seen += 1
        del self._order[: max(0, len(self._order) - (self._seen // 3 + 3))]

    def _accept(self, row: int, curvature: float, squared_change: float, squared_step: float) -> None:
        """Make a pair that has been written the youngest one, if it shows curvature."""
        if min(squared_step, squared_change) <= 0.0:
            return  # nothing but rounding, which can be so in row space
        if curvature > ROUNDING * math.sqrt(squared_step * squared_change):
            self._curvatures[row] = curvature
            self._scale = curvature / squared_change
            self._order.append(row)

    def pairs(self, alpha: float) -> Pairs | None:
        """Return what is remembered, for a later run; None in row space, whose vectors depend on the start."""
        if not isinstance(self._space, WeightSpace):
            return None
        return Pairs(self._steps, self._changes, self._order, alpha)

    def adopt(self, pairs: Pairs, alpha: float) -> None:
        """Begin with the pairs of an earlier run, as many as there is room for."""
        chosen = pairs.order[-self._curvatures.shape[0] :]
        self._seen = 3 * max(0, len(chosen) - 3)  # so many are kept
        for row, earlier in enumerate(chosen):
            s, y, inner = self._steps[row], self._changes[row], self._space.inner
            s[:] = pairs.steps[earlier]
            along(pairs.changes[earlier], alpha - pairs.alpha, s, y)
            self._accept(row, inner(s, y), inner(y, y), inner(s, s))

    def direction(self, gradient: Array) -> Array:
        """``-H gradient``."""
        p = np.negative(gradient, out=self._space.buffers.take())
        if self._order:
            space = self._space
            order = np.array(self._order, dtype=np.intp)
            two_loop(self._steps, self._changes, self._curvatures, order, self._scale, space.terms, space.shift, p)
        return p
