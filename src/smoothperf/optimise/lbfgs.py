"""L-BFGS on the smoothed objective, with a line search that never touches the data.

The direction is ``-H g`` with H from the last m pairs ``s = w' - w``, ``y = grad' - grad`` by the two-loop
recursion (Nocedal and Wright, algorithm 7.4). One iteration costs one product with X (the scores of the direction),
one with its transpose (the gradient, which is also the certificate's plane), O(n) per line-search trial and O(m d).

Departures from the paper: memory up to 20 instead of 6 and a more accurate line search, both of which save passes; mu
adapts; the stopping rule is the certified gap of the exact objective.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from .._arrays import Array
from .._validation import whole_number
from ..kernels import differences, two_loop
from . import proximal, working_set
from .base import ConvexSolver
from .line_search import check_flatness, first_step, flat_point
from .monitor import Descent, Monitor
from .objective import Run
from .result import CurvaturePairs, Result, Status
from .segments import PenalisedRun
from .smoothing import Adaptive, Smoothing
from .space import Space, along
from .weight_space import WeightSpace

#: Bounds of the number of pairs by default.
FEWEST_PAIRS, MOST_PAIRS = 8, 20
#: Numbers in a vector up to which pairs cost next to nothing.
SHORT = 1000
#: Iterations without visible progress after which there will be none.
PATIENCE = 30
#: A pair shows curvature if ``<s, y>`` is above rounding.
ROUNDING = 1e-14


@dataclass(frozen=True, kw_only=True)
class LBFGS(ConvexSolver):
    """Limited-memory quasi-Newton method on the smoothed objective: the practical choice.

    Parameters
    ----------
    tol : float, default=1e-3
        Stop when the certified gap of the exact objective is at most this.
    max_iter : int, default=1000
        Most iterations.
    smoothing : Smoothing, default=Adaptive()
        The rule for mu.
    memory : int, optional
        Number of curvature pairs; the paper uses 6. By default 20, or fewer, but at least 8, where they would cost more
        than the products with X.
    flatness : float, default=0.5
        The line search ends where the slope is at most this fraction of the initial slope.
    max_planes : int, optional
        Most planes kept for the certificate; 40 by default, with which nothing is lost.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf import ROCArea
    >>> from smoothperf.design import as_design
    >>> from smoothperf.optimise.objective import RegularizedRisk
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), np.repeat([1, -1], 100)
    >>> X[:100] += 1.0
    >>> result = LBFGS(tol=1e-6).run(RegularizedRisk(as_design(X), ROCArea().bind(y), 1e-2))
    >>> result.status.name, result.gap <= 1e-6
    ('CONVERGED', True)
    """

    max_iter: int = 1000
    smoothing: Smoothing = field(default_factory=Adaptive)
    memory: int | None = None
    flatness: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory is not None:
            whole_number("memory", self.memory, at_least=1)
        check_flatness(self.flatness)

    def _minimise(self, run: Run, monitor: Monitor) -> Result:
        if isinstance(run, PenalisedRun):
            minimise = working_set.minimise if working_set.pays(run) else proximal.minimise
            return minimise(self, run, monitor, self.memory or default_memory(run))
        memory = CurvatureMemory(self.memory or default_memory(run), run.space)
        if monitor.pairs is not None:
            memory.adopt(monitor.pairs, run.alpha)
        status = self._descend(run, monitor, memory)
        return monitor.result(status, memory.pairs(run.alpha))

    def _descend(self, run: Run, monitor: Monitor, memory: CurvatureMemory) -> Status:
        """Go downhill until the monitor is content or nothing helps."""
        leads = run.leads
        descent = Descent(run, monitor, self.smoothing, tol=self.tol, patience=PATIENCE)
        point = run.starting_point(descent.mu)
        while True:
            status = descent.status(point)
            if status is not None:
                return status
            if descent.is_stuck(point):
                return Status.PRECISION_LIMIT

            # In a group all take the first member's direction, so that the others need none of their own.
            direction = memory.direction(point.gradient) if leads else point.gradient
            line = run.along(point, direction)
            origin = line.origin(descent.mu)
            if origin.derivative >= 0.0:
                # Downhill for the old mu but not for the new one: stay, and take the new gradient here.
                # (Or rounding has spoilt the direction.)
                trial = origin
                memory.clear()
            else:
                # The curvature is alpha at least: no minimiser along the negative gradient is farther than 1 / alpha.
                first = first_step(point, origin, farthest=1.0 / run.alpha)
                found = flat_point(line, origin, flatness=self.flatness, first=first)
                if found is None:
                    if run.agreed(len(memory)) == (0.0,):
                        return Status.PRECISION_LIMIT
                    memory.clear()
                trial = found or origin
            following = line.point(trial)
            if leads and following.mu == point.mu and trial.step > 0.0:
                memory.push(following.coef, point.coef, following.gradient, point.gradient)
            run.give_back(point, but=following)
            point = following


class CurvatureMemory:
    """The last pairs of steps s and changes of gradient y, and the direction that they give.

    Pairs of the first steps, far from the solution, mislead later ones. So of k pairs seen no more than ``k // 3 + 3``
    are kept, whatever the memory. Measured on seven data sets, that takes 9% fewer iterations than 20 pairs from the
    start and 6% fewer than 8.

    Parameters
    ----------
    size : int
        Most pairs.
    space : Space
        The space of the vectors.
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

    def pairs(self, alpha: float) -> CurvaturePairs | None:
        """Return what is remembered, for a later run; None in row space, whose vectors depend on the start."""
        if not isinstance(self._space, WeightSpace):
            return None
        return CurvaturePairs(self._steps, self._changes, self._order, alpha)

    def adopt(self, pairs: CurvaturePairs, alpha: float) -> None:
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
        p = np.negative(gradient)
        if self._order:
            space = self._space
            order = np.array(self._order, dtype=np.intp)
            two_loop(self._steps, self._changes, self._curvatures, order, self._scale, space.terms, space.shift, p)
        return p


def default_memory(run: Run) -> int:
    """Pairs that are worth their cost: 4 vectors each are read in an iteration, and X twice.

    Measured: with 8 instead of 20 pairs, a9a and w8a take 10 to 20% more iterations, text with many features none.
    Where vectors are short it does not matter, and runs should not depend on how often a row is repeated.
    """
    length = run.space.length
    if length <= SHORT:
        return MOST_PAIRS
    return int(np.clip(run.design.n_entries // (5 * length), FEWEST_PAIRS, MOST_PAIRS))
