"""A fit of the tight bound: first a convex risk that does not collapse, then steps with ever better targets.

The first is ROC area, with a bias, where one is trained, that takes as many for positive as there are. For a sum over
examples (error rates) it is the convex risk of the measure itself. Newton's method, which has no second derivatives of
ROC area, leaves the start to L-BFGS. Both runs are one to the user: the callback sees the rows of both, and the limit
of iterations and the counts are those of both together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..measures import PRBEP, Examples, Risk, ROCArea
from ..measures.shifted import Shifted
from ..objective import RegularizedRisk
from ..solvers import LBFGS, Callback, ConvexSolver, Newton, Result, Retargeting
from ..solvers.continuation import Solution
from ..solvers.monitor import Observer
from ..solvers.story import Sequel
from .bias import Bias

Array = NDArray[np.float64]


def fit_tight(
    first: Result,
    start: Array,
    objective: RegularizedRisk,
    solver: ConvexSolver,
    callback: Callback | None,
    observer: Observer | None,
) -> Result:
    """Minimise the tight bound of an objective after a first run; the observer sees the second one."""
    sequel = Sequel(first, callback)
    return sequel.join(retargeting(solver, after=first).run(objective, start, sequel.add, observer=observer))


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
    result = starting_solver(solver).run(ranking, callback=callback)
    of_features = replace(result, coef=bias.split(result.coef)[0])
    return result, LabelStart(bias, examples, objective.risk).weights(of_features)


def starting_solver(solver: ConvexSolver) -> ConvexSolver:
    """What finds the minimiser for ROC area, given what is asked for."""
    return LBFGS(tol=solver.tol, max_iter=solver.max_iter) if isinstance(solver, Newton) else solver


@dataclass(frozen=True)
class LabelStart:
    """Weights to start the tight bound of a risk from, given what minimises the convex one that it begins with.

    That is ROC area, of the features alone; for a sum over examples the risk itself, with the bias if one is trained.

    Parameters
    ----------
    bias, examples, risk : Bias, Examples and Risk
        Of the tight bound.
    """

    bias: Bias
    examples: Examples
    risk: Risk

    def weights(self, convex: Result | Solution) -> Array:
        """The weights; with a bias, where one is trained, that takes as many for positive as there are."""
        if self.risk.sums_over_examples or not self.bias.trained:
            return convex.coef
        assert convex.scores is not None
        threshold = PRBEP().cut(self.examples, self.risk.whole_scores(convex.scores))
        return self.bias.with_threshold(np.append(convex.coef, 0.0), threshold)


def retargeting(solver: ConvexSolver, *, after: Result | None = None) -> Retargeting:
    """The method that takes its convex steps with a solver, to the same tolerance; ``after`` a run for the start."""
    before = 0 if after is None else len(after.trace)
    return Retargeting(tol=solver.tol, max_iter=max(0, solver.max_iter - before), convex=solver)
