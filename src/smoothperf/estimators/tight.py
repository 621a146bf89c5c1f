"""A fit of the tight bound: first a convex risk that does not collapse, then steps with ever better targets.

The first is ROC area, with a bias, where one is trained, that takes as many for positive as there are. For a sum over
examples (error rates) it is the convex risk of the measure itself. Newton's method, which has no second derivatives of
ROC area, leaves the start to L-BFGS. Both runs are one to the user: the callback sees the rows of both, and the limit
of iterations and the counts are those of both together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..measures import PRBEP, Examples, Risk, ROCArea
from ..measures.shifted import Shifted
from ..objective import RegularizedRisk
from ..solvers import LBFGS, Callback, ConvexSolver, Newton, Result, Retargeting
from ..solvers.monitor import Keeper
from ..solvers.story import Sequel
from .bias import Bias

Array = NDArray[np.float64]


def fit_tight(
    first: Result,
    start: Array,
    objective: RegularizedRisk,
    solver: ConvexSolver,
    callback: Callback | None,
    keeper: Keeper | None,
) -> Result:
    """Minimise the tight bound of an objective after a first run; the keeper keeps states of the second one."""
    sequel = Sequel(first, callback)
    return sequel.join(retargeting(solver, after=first).run(objective, start, sequel.add, keeper=keeper))


def convex_start(
    bias: Bias, examples: Examples, objective: RegularizedRisk, solver: ConvexSolver, callback: Callback | None
) -> tuple[Result, Array]:
    """The run for a convex risk, and the weights to start the tight bound from."""
    if objective.risk.sums_over_examples:
        own = solver.run(objective, callback=callback)
        return own, own.coef
    risk: Risk = ROCArea().risk(examples)
    if isinstance(objective.risk, Shifted):
        risk = objective.risk.like(risk)
    ranking = RegularizedRisk(objective.design, risk, objective.penalty)
    starting = LBFGS(tol=solver.tol, max_iter=solver.max_iter) if isinstance(solver, Newton) else solver
    result = starting.run(ranking, callback=callback)
    if not bias.trained:
        return result, result.coef
    assert result.scores is not None
    return result, bias.with_threshold(result.coef, PRBEP().cut(examples, risk.whole_scores(result.scores)))


def retargeting(solver: ConvexSolver, *, after: Result | None = None) -> Retargeting:
    """The method that takes its convex steps with a solver, to the same tolerance; ``after`` a run for the start."""
    before = 0 if after is None else len(after.trace)
    return Retargeting(tol=solver.tol, max_iter=max(0, solver.max_iter - before), convex=solver)
