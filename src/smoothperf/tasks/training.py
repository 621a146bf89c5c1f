"""A candidate on some rows: what is minimised, once or for one alpha after another.

A fit of the tight bound has two runs: for a convex risk that does not collapse, and for the bound itself, from there.
Both are one to the user: the callback sees the rows of both, and the limit of iterations and the counts are those of
both together. Newton's method, which has no second derivatives of ROC area, leaves the first to L-BFGS.

Along falling alphas a convex risk hands on its planes, a tight one its weights (:mod:`smoothperf.optimise.path`), with
starts that all candidates on the same rows share.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Generic

from ..measures import Risk
from ..optimise import LBFGS, Callback, ConvexSolver, Newton, Observer, Result, Retargeting, Solver
from ..optimise.objective import RegularizedRisk
from ..optimise.path import ConvexPath, ConvexStart, Solution, TightPath, convex_path
from ..optimise.penalties import Penalty
from ..optimise.story import Sequel
from ..threads import cached_property
from .base import Array, C, Candidate, Ending, K, Rows, Task

#: Tolerance for risks that are sums over examples, as a share of that for others: their values are small where
#: positives are rare.
FINER = 0.2


class Training(Generic[K, C]):
    """A candidate on some rows.

    Parameters
    ----------
    task : Task
        What is trained for.
    candidate : Candidate
        What is trained with.
    rows : Rows
        On what.
    solver : ConvexSolver
        How.
    choosing : bool, default=False
        Whether candidates are compared: tolerances suit the size of the risks, and starts their strengths.
    """

    def __init__(self, task: Task[K, C], candidate: C, rows: Rows[K], solver: ConvexSolver, *, choosing: bool = False):
        self.task = task
        self.candidate = candidate
        self.rows = rows
        self.risk = task.risk(candidate, rows.known)
        self.design = task.design(candidate, rows.design)
        self.penalty = task.penalty(candidate)
        self.tight = candidate.bound == "tight"
        self.solver = solver
        if choosing and self.risk.sums_over_examples:
            self.solver = replace(solver, tol=FINER * solver.tol)
        self._first_solver = first_solver(solver)
        self._choosing = choosing

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
            result = self.solver.run(objective, start, callback, observer=observer)
        elif start is not None and start.any():
            result = Retargeting.with_steps_of(self.solver).run(objective, start, callback, observer=observer)
        else:
            known = self.rows.known
            first, start = first_run(self.task, self.candidate, known, objective, self.solver, callback)
            sequel = Sequel(first, callback)
            method = Retargeting.with_steps_of(self.solver, after=first)
            result = sequel.join(method.run(objective, start, sequel.add, observer=observer))
        return result

    def finish(self, alpha: float, start: Array, solver: ConvexSolver, callback: Callback | None) -> Result:
        """The model at an alpha of a path, solved further: with the iterations of a solver, and its tolerance if finer.

        Its scores are whole ones.
        """
        method: Solver = Retargeting.with_steps_of(self.solver) if self.tight else self.solver
        method = replace(method, tol=min(solver.tol, self.solver.tol), max_iter=solver.max_iter)
        objective = self.objective(alpha)
        result = method.run(objective, start, callback)
        assert result.scores is not None
        return replace(result, scores=objective.whole_scores(result.scores))

    def ending(self, alpha: float, found: Result | Solution) -> Ending:
        """The model that a run has led to."""
        return self.task.ending(self.candidate, self.rows.known, self.objective(alpha), found, self.solver.tol)

    @cached_property
    def convex_path(self) -> ConvexPath:
        """The convex risk along falling alphas."""
        return convex_path(self.design, self.risk, self.solver, self.penalty, self.rows.offset)

    @cached_property
    def largest_convex_alpha(self) -> float:
        """Where the path of the convex risk begins; found before anything is solved on it, and kept."""
        return self.convex_path.largest_alpha(self.solver.tol)

    @cached_property
    def path(self) -> ConvexPath | TightPath:
        """What is minimised along falling alphas."""
        return self._tight_path() if self.tight else self.convex_path

    def largest_alpha(self, tolerance: float) -> float:
        """Where a path begins, with a tolerance for how much better than w = 0 a model must be to count."""
        return self.path.begin(tolerance)

    def _tight_path(self) -> TightPath:
        task, candidate, known = self.task, self.candidate, self.rows.known

        def weights(found: Result | Solution) -> Array:
            assert found.scores is not None
            found = replace(found, scores=self.rows.whole_scores(found.scores))
            return task.first_weights(candidate, known, self.risk, found)

        return TightPath(
            self.design,
            self.risk,
            self.solver,
            self.penalty,
            self._own_start() if self.risk.sums_over_examples else self._shared_start(),
            None if self.risk.sums_over_examples else weights,
            offset=self.rows.offset,
            strength=self.risk.score_scale**2 if self._choosing else task.first_strength(self.risk),
            thorough=not self._choosing,
        )

    def _own_start(self) -> ConvexStart:
        """Minimisers of the candidate's own convex risk, bias included."""
        return ConvexStart(self.design, lambda: self.risk, self.solver, self.penalty, self.rows.offset)

    def _shared_start(self) -> ConvexStart:
        """Minimisers of the convex risk that the tight bound starts from, of the features alone."""
        task, candidate, rows = self.task, self.candidate, self.rows

        def risk() -> Risk:
            found = task.first_risk(candidate, rows.known, self.risk)
            assert found is not None
            return found

        def make() -> ConvexStart:
            return ConvexStart(rows.design, risk, self._first_solver, task.first_penalty(candidate), rows.offset)

        return rows.start(task.first_key(candidate), make)


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


def first_run(
    task: Task[K, C],
    candidate: C,
    known: K,
    objective: RegularizedRisk,
    solver: ConvexSolver,
    callback: Callback | None = None,
) -> tuple[Result, Array]:
    """The run for a convex risk, and the weights to start the tight bound of an objective from."""
    risk = task.first_risk(candidate, known, objective.risk)
    if risk is None:
        own = solver.run(objective, callback=callback)
        return own, own.coef
    penalty = objective.penalty.with_alpha(objective.alpha * task.first_strength(objective.risk))
    begin = RegularizedRisk(objective.design, risk, penalty, objective.offset)
    result = first_solver(solver).run(begin, callback=callback)
    assert result.scores is not None
    of_features = replace(result, coef=task.coef(candidate, result.coef), scores=objective.whole_scores(result.scores))
    return result, task.first_weights(candidate, known, objective.risk, of_features)


def first_solver(solver: ConvexSolver) -> ConvexSolver:
    """The method for the convex risk that a tight bound starts from, given what is asked for."""
    return LBFGS(tol=solver.tol, max_iter=solver.max_iter) if isinstance(solver, Newton) else solver
