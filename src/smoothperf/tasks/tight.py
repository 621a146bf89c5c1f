"""A single fit of the tight bound.

It has two runs: for a convex risk that does not collapse, and for the bound itself, from there. Both are one to the
user: the callback sees the rows of both, and the limit of iterations and the counts are those of both together.
Newton's method, which has no second derivatives of ROC area, leaves the first to L-BFGS.
"""

from __future__ import annotations

from dataclasses import replace

from .._arrays import Array
from ..optimise import LBFGS, Callback, ConvexSolver, Newton, Observer, Result, Retargeting
from ..optimise.joined_runs import FollowingRun
from ..optimise.objective import RegularizedRisk
from .base import C, K, Task


def fit_tight(
    task: Task[K, C],
    candidate: C,
    known: K,
    objective: RegularizedRisk,
    solver: ConvexSolver,
    start: Array | None,
    callback: Callback | None,
    observer: Observer | None,
) -> Result:
    """Minimise the tight bound, from weights or from the minimiser of a convex risk, whose run no observer sees."""
    if start is not None and start.any():
        return Retargeting.with_steps_of(solver).run(objective, start, callback, observer=observer)
    first, start = first_run(task, candidate, known, objective, solver, callback)
    following = FollowingRun(first, callback)
    method = Retargeting.with_steps_of(solver, after=first)
    return following.join(method.run(objective, start, following.add, observer=observer))


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
