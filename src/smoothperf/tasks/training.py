"""A candidate on some rows: the objective, and a single fit of it."""

from __future__ import annotations

from typing import Generic

from .._arrays import Array
from ..measures import Risk
from ..optimise import Callback, ConvexSolver, Newton, Observer, Result, Solver
from ..optimise.objective import RegularizedRisk
from ..optimise.path import Solution
from ..optimise.penalties import Penalty
from .base import C, Candidate, Ending, K, Rows, Task
from .tight import fit_tight


class Training(Generic[K, C]):
    """A candidate on some rows.

    Parameters
    ----------
    task : Task
        The task.
    candidate : Candidate
        The candidate.
    rows : Rows
        The rows to train on.
    solver : ConvexSolver
        The solver.
    """

    def __init__(self, task: Task[K, C], candidate: C, rows: Rows[K], solver: ConvexSolver):
        self.task = task
        self.candidate = candidate
        self.rows = rows
        self.risk = task.risk(candidate, rows.known)
        self.design = task.design(candidate, rows.design)
        self.penalty = task.penalty(candidate)
        self.tight = candidate.bound == "tight"
        self.solver = solver

    def check(self) -> None:
        """Say before the work begins that it cannot be done."""
        check_suits(self.candidate, self.risk, self.penalty, self.solver)

    def objective(self, alpha: float) -> RegularizedRisk:
        """J, with the convex risk."""
        return RegularizedRisk(self.design, self.risk, self.penalty.with_alpha(alpha), self.rows.offset)

    def fit(
        self,
        alpha: float,
        start: Array | None = None,
        callback: Callback | None = None,
        observer: Observer | None = None,
    ) -> Result:
        """Minimise J, or the tight bound; the observer does not see the run for the start of the latter."""
        objective = self.objective(alpha)
        if not self.tight:
            return self.solver.run(objective, start, callback, observer=observer)
        known = self.rows.known
        return fit_tight(self.task, self.candidate, known, objective, self.solver, start, callback, observer)

    def ending(self, alpha: float, found: Result | Solution) -> Ending:
        """The model that a run has led to."""
        return self.task.ending(self.candidate, self.rows.known, self.objective(alpha), found, self.solver.tol)


def check_suits(candidate: Candidate, risk: Risk, penalty: Penalty, solver: Solver) -> None:
    """Say before the work begins that a solver, a bound or a penalty cannot train for a measure."""
    name = candidate.measure.name
    if candidate.bound == "tight" and not risk.has_loss_free:
        raise ValueError(
            f'bound="tight" is for measures whose risk is a maximum over labelings, which that of {name!r} is not; '
            'use bound="convex".'
        )
    if isinstance(solver, ConvexSolver) and solver.quadratic_only and not penalty.is_quadratic:
        method = type(solver).__name__.lower()
        raise ValueError(f'solver "{method}" knows the quadratic penalty only; use "lbfgs" with others.')
    if isinstance(solver, Newton) and not risk.has_curvature:
        raise ValueError(
            f'solver "newton" needs second derivatives of a form that {name!r} lacks and that "prbep", '
            '"precision@k", "recall@k", "error_rate", "log_loss" and "squared_hinge" have; use "lbfgs".'
        )
