"""What all solvers share: the best point so far, the certificate, the trace and the decision to stop.

Every solver stops on one criterion, ``gap <= tol``, where ``gap`` is the best exact objective less the certified
bound.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Protocol

import numpy as np

from ..blocks import Vector
from ..certificate import Bundle, Planes
from ..design.base import Array
from ..measures import RiskValue
from ..objective import RegularizedRisk
from .curvature import CurvatureMemory, Pairs
from .result import Result, Status, Trace, TraceRow, check_gap

#: Called after every iteration; a true return value stops the run.
Callback = Callable[[TraceRow], bool | None]
#: Called after every iteration, before the callback, with a function that returns the weights of the iterate.
Observer = Callable[[TraceRow, Callable[[], Array]], None]


class Keeper(Protocol):
    """Keeps the state of a run somewhere, for a run that goes on from there."""

    def due(self) -> bool:
        """Whether the state is to be kept now."""

    def most_planes(self, length: int) -> int:
        """How many planes of a length to keep."""

    def keep(self, coef: Array, objective: float, planes: Planes, mu: float) -> None:
        """Keep the best weights so far, the objective there, planes, and the last mu."""


class Monitor:
    """Watches one run. The solver reports planes and iterates; the monitor says when to stop and builds the result."""

    def __init__(
        self,
        objective: RegularizedRisk,
        *,
        tol: float,
        max_iter: int,
        max_planes: int,
        callback: Callback | None,
        observer: Observer | None = None,
        keeper: Keeper | None = None,
        planes: Planes | None = None,
        pairs: Pairs | None = None,
        keep_planes: int = 0,
    ):
        self._begin = time.perf_counter()
        self._objective = objective
        self._tol = tol
        self._max_iter = max_iter
        self._callback = callback
        self._observer = observer
        self._keeper = keeper
        self._keep_planes = keep_planes
        self._passes_before = objective.n_matvec, objective.n_rmatvec
        self.bundle = Bundle(
            objective.design,
            objective.alpha,
            # A plane for each iterate, beside those of an earlier run, is all there can be.
            max_planes=min(max_planes, max_iter + 1 + (0 if planes is None else len(planes))),
            tolerance=1e-3 * tol,
            space=objective.space,
            extra_rounding=objective.risk.extra_rounding,
        )
        if planes is not None:
            self.bundle.adopt(planes)
        self.pairs = pairs
        self._trace = Trace()
        self._coef: Array = objective.space.vector(None)
        self._coef_square = 0.0
        self._best = np.inf
        self._mu = 0.0
        self.gap = np.inf

    def add_plane(self, slope: Array, risk: RiskValue, *, at_once: bool = False) -> None:
        """Report a cutting plane, and improve the bound with it at once or when it is cheap."""
        gradient_norm = risk.gradient_norm
        if math.isnan(gradient_norm):
            gradient_norm = self._objective.vectors.norm(risk.gradient)
        self.bundle.add(slope, risk.offset, rounding=risk.rounding, gradient_norm=gradient_norm)
        if at_once or self.bundle.overdue:
            self.bundle.solve()

    def catch_up(self) -> None:
        """Improve the bound with all planes that wait, before something is decided on the gap."""
        if self.bundle.waiting:
            self.bundle.solve()
            self._certify()

    def record(self, coef: Array, coef_square: float, exact: float, smoothed: float, mu: float) -> Status | None:
        """Report an iterate, with the square of its length; returns how the run ended if it is to end."""
        if exact < self._best:
            self._best, self._coef, self._coef_square = exact, coef, coef_square
        self._mu = mu
        bound = self._certify()
        if self.gap < 0.0:  # by rounding that scores have gathered, or because the bound is false
            self._evaluate_again()
            bound = self._certify()
            check_gap(self._best, bound)
        row = TraceRow(
            iteration=len(self._trace),
            seconds=time.perf_counter() - self._begin,
            passes=sum(self._passes()),
            objective=exact,
            smoothed_objective=smoothed,
            lower_bound=bound,
            gap=self.gap,
            mu=mu,
        )
        self._trace.rows.append(row)
        if self._observer is not None:
            self._observer(row, lambda: self._weights_of(coef))
        if self._keeper is not None and self._keeper.due():
            self._keep(self._keeper, self._weights_of(self._coef))
        stop = self._callback(row) if self._callback is not None else False
        if self.gap <= self._tol:
            return Status.CONVERGED
        if stop:
            return Status.STOPPED
        if len(self._trace) > self._max_iter:
            return Status.ITERATION_LIMIT
        return None

    @property
    def limit(self) -> Status:
        """What keeps the gap open where the smoothed objective is solved: smoothing, or rounding if there is none."""
        return Status.SMOOTHING_LIMIT if self._objective.risk.diameter > 0.0 else Status.PRECISION_LIMIT

    def result(self, status: Status, memory: CurvatureMemory | None = None) -> Result:
        """Finish. The scores are computed once more from the weights, so that no drift of updates is left in J."""
        objective = self._objective
        self.catch_up()
        coef, scores = self._evaluate_again()
        bound = self._certify()
        if status is Status.CONVERGED and self.gap > self._tol:
            status = Status.PRECISION_LIMIT
        elif status is not Status.STOPPED and self.gap <= self._tol:
            status = Status.CONVERGED  # thanks to the planes that waited
        if self._keeper is not None:
            self._keep(self._keeper, coef)
        n_matvec, n_rmatvec = self._passes()
        return Result(
            coef=coef,
            objective=self._best,
            lower_bound=bound,
            gap=self.gap,
            smoothing=self._mu,
            n_iter=len(self._trace) - 1,
            n_matvec=n_matvec,
            n_rmatvec=n_rmatvec,
            seconds=time.perf_counter() - self._begin,
            status=status,
            trace=self._trace,
            scores=scores,
            planes=self.bundle.heaviest(self._keep_planes) if self._keep_planes else None,
            pairs=memory.pairs(objective.alpha) if self._keep_planes and memory is not None else None,
        )

    def _evaluate_again(self) -> tuple[Array, Vector]:
        """Weights and scores of the best point, and J from these; one pass over the data."""
        objective = self._objective
        coef = objective.space.weights(self._coef)
        scores = objective.matvec(coef)
        self._coef_square = float(coef @ coef)
        self._best = objective.alpha / 2.0 * self._coef_square + objective.risk.exact_value(scores)
        return coef, scores

    def _keep(self, keeper: Keeper, coef: Array) -> None:
        limit = keeper.most_planes(self._objective.space.plane_length)
        keeper.keep(coef, self._best, self.bundle.heaviest(limit), self._mu)

    def _weights_of(self, coef: Array) -> Array:
        """Weights for an observer, who must not change what is counted."""
        objective = self._objective
        counts = objective.n_matvec, objective.n_rmatvec
        weights = objective.space.weights(coef)
        objective.n_matvec, objective.n_rmatvec = counts
        return weights

    def _certify(self) -> float:
        bound = self.bundle.lower_bound(self._best, math.sqrt(max(self._coef_square, 0.0)))
        self.gap = self._best - bound
        return bound

    def _passes(self) -> tuple[int, int]:
        before = self._passes_before
        return self._objective.n_matvec - before[0], self._objective.n_rmatvec - before[1]
