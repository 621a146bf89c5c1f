"""From one alpha to the next smaller one, for penalties that are not quadratic.

What carries over is less than for the quadratic penalty (:mod:`smoothperf.solvers.continuation`): the weights, as they
are, to start from; the planes, which hold for every penalty, so that the bound at a new alpha is known at once, and
nothing is run where it certifies the last weights; and the curvature of the risk.

A path starts where no feature that pays for absolute values has a weight yet (:mod:`smoothperf.solvers.first_alpha`).
"""

from __future__ import annotations

import math
import time

import numpy as np

from ..certificate import Planes
from ..design import Design
from ..design.base import Array
from ..measures import Risk
from ..objective import StartingWithScores
from ..penalties import Penalty, Separable
from ..shifted import Shifted
from .base import Solver
from .continuation import Continuation, Solution, planes_to_keep
from .first_alpha import FirstAlpha, where_they_vanish
from .monitor import Callback
from .result import Pairs, Start, Status
from .smoothing import mu_for

#: Smoothing of the first plane, as a share of tol, at most.
FIRST_SLACK = 0.5, 0.03
#: Share of the tolerance that is left for rounding at the largest alpha.
MARGIN = 1e-3
#: Below this l1_ratio weights come in so slowly that a path would begin with many alphas at which nothing happens.
LEAST_RATIO = 1e-3


class PenalisedContinuation:
    """Minimises J for one alpha after another, each smaller than the one before; see :class:`Continuation`.

    Parameters
    ----------
    design, risk : Design and Risk
        The data.
    solver : Solver
        What to run where the certificate of the neighbour does not do.
    penalty : Penalty
        The penalty, in any strength.
    offset : ndarray of shape (n,), optional
        Scores to begin with.
    """

    def __init__(self, design: Design, risk: Risk, solver: Solver, penalty: Penalty, offset: Array | None = None):
        bound = penalty.on(design.shape[1])
        assert not bound.is_quadratic
        self._design, self._solver, self._penalty = design, solver, bound
        self._risk = risk if offset is None else Shifted(risk, offset)
        self._coef = np.zeros(design.shape[1])
        self._scores = np.zeros(design.shape[0])
        self._planes: Planes | None = None
        self._pairs: Pairs | None = None
        self._first = math.nan, -math.inf  # an alpha, and a bound that is known for it
        self._spent_passes, self._spent_seconds = 0, 0.0

    def first_alpha(self) -> float | None:
        """Where the first weight that pays for an absolute value comes in; to begin the path there.

        None if none pays, or next to nothing. See :class:`FirstAlpha` for how exact it is.
        """
        penalty = self._penalty
        paying = penalty.l1 > 0.0
        if not paying.any() or (penalty.l1 < LEAST_RATIO * (penalty.l1 + penalty.l2))[paying].any():
            return None
        begin = time.perf_counter()
        first = FirstAlpha(self._design, self._risk, self._solver, penalty)
        found = first.find()
        self._coef, self._scores, self._planes = first.null.coef, first.null.scores, first.planes
        self._first = found, first.bound
        self._spent_passes += first.passes
        self._spent_seconds += time.perf_counter() - begin
        return found

    def largest_alpha(self, tolerance: float) -> float:
        """Smallest alpha for which the plane of no features shows them to be none within a tolerance, or tol if larger.

        1 if no feature helps at all.
        """
        begin = time.perf_counter()
        tolerance = (1.0 - MARGIN) * max(tolerance, self._solver.tol)
        penalty, scores = self._penalty, self._scores
        paying = penalty.l1 > 0.0
        slope, slack = self._plane(scores)
        if paying.any() and not paying.all():
            # The others may have weights of their own before any of these has one. Their strength is about what the
            # largest alpha will be.
            first = FirstAlpha(self._design, self._risk, self._solver, penalty)
            null = first.null_model(where_they_vanish(penalty, slope) or 1.0)
            self._spent_passes += first.passes
            slope, slack = self._plane(null.scores)
        counted = paying if paying.any() else np.ones_like(paying)
        some = penalty.some(np.flatnonzero(counted))
        left = max(tolerance - slack, 0.5 * tolerance)
        found = _smallest_alpha(some, -slope[counted], self._risk.exact_value(scores), left)
        self._spent_seconds += time.perf_counter() - begin
        return found

    def start(self, alpha: float) -> Array:
        """Weights to start from at an alpha: those of the last one."""
        return self._coef

    def solve(self, alpha: float, callback: Callback | None = None) -> Solution:
        """Minimise J for an alpha below the one before."""
        begin = time.perf_counter() - self._spent_seconds
        n_passes = self._spent_passes
        self._spent_passes, self._spent_seconds = 0, 0.0
        penalty = self._penalty.with_alpha(alpha)
        square = float(self._coef @ self._coef)
        value = penalty.value(self._coef, square) + self._risk.exact_value(self._scores)
        first, bound = self._first
        if alpha != first:
            bound = -math.inf
        if value - bound > self._solver.tol and self._planes is not None:
            bound = self._planes.lower_bound(self._design, penalty, value, math.sqrt(square))
        status = Status.CONVERGED
        if value - bound > self._solver.tol:
            result = self._solver.run(
                StartingWithScores(self._design, self._risk, penalty, self._coef, self._scores),
                Start(self._coef, self._planes, pairs=self._pairs),
                callback,
                keep_planes=planes_to_keep(self._coef.size),
            )
            assert result.scores is not None
            self._planes, self._pairs = result.planes, result.pairs
            self._coef, self._scores = result.coef, result.scores
            value, bound, status = result.objective, result.lower_bound, result.status
            n_passes += result.n_matvec + result.n_rmatvec
        seconds = time.perf_counter() - begin
        return Solution(alpha, self._coef, self._scores, value, bound, n_passes, seconds, status)

    def _plane(self, scores: Array) -> tuple[Array, float]:
        """The slope of a plane at some scores, and how far it is below the risk there."""
        share, most = FIRST_SLACK
        smoothed = self._risk.smoothed(scores, mu_for(min(share * self._solver.tol, most), self._risk))
        self._spent_passes += 1
        below = max(0.0, self._risk.exact_value(scores) - smoothed.height)
        return self._design.rmatvec(smoothed.plane.gradient), below


def continuation(
    design: Design, risk: Risk, solver: Solver, penalty: Penalty | None = None, offset: Array | None = None
) -> Continuation | PenalisedContinuation:
    """Return what follows falling alphas for a penalty, whose own alpha does not matter; by default the quadratic."""
    if penalty is None or penalty.is_quadratic:
        return Continuation(design, risk, solver, offset)
    return PenalisedContinuation(design, risk, solver, penalty, offset)


def largest_alpha(along: Continuation | PenalisedContinuation, tolerance: float) -> float:
    """Where the first weight comes in, if the penalty has absolute values; else where w = 0 is best within tol."""
    first = along.first_alpha() if isinstance(along, PenalisedContinuation) else None
    return along.largest_alpha(tolerance) if first is None else first


def _smallest_alpha(penalty: Separable, v: Array, ceiling: float, tolerance: float) -> float:
    """Smallest alpha whose ``Omega*(v)`` is within a tolerance, by bisection: it falls as alpha grows."""

    def within(alpha: float) -> bool:
        value, excess = penalty.with_alpha(alpha).conjugate(v, ceiling)
        return value + excess * ceiling <= tolerance

    if not v.any() or within(1e-300):
        return 1.0
    low, high = 1e-300, 1e300
    while high > 1.0001 * low:
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (low, middle) if within(middle) else (middle, high)
    return high
