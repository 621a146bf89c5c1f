"""One candidate on some rows: models for one alpha after another, each from where the last one ended.

A convex risk follows its path (:mod:`smoothperf.solvers.continuation`), a tight one its own
(:mod:`smoothperf.estimators.tight_path`), with starts that all candidates on the same rows share.

Alphas of candidates are compared as *levels*: with scores that are s times as large where loss and margins balance
(``Risk.score_scale``), the same strength of the regulariser is ``alpha = level / s^2``. Where the penalty has absolute
values, what matters is how far alpha is below the one at which all weights are zero, and weights come in within a few
powers of ten: there ``alpha = STRONGEST * largest alpha * sqrt(level / first level)``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..design import Design, as_design
from ..measures import Measure, Risk, ROCArea
from ..measures.examples import Examples
from ..measures.shifted import Shifted
from ..objective import RegularizedRisk
from ..penalties import Penalty, Quadratic
from ..solvers import Callback, ConvexSolver, Result, Solver
from ..solvers.continuation import Continuation, Solution
from ..solvers.penalised_path import PenalisedContinuation, continuation
from .bias import Bias
from .candidates import Candidate
from .linear import scores_of
from .tight import retargeting, starting_solver
from .tight_path import SafeStart, TightContinuation, tight_labels

Array = NDArray[np.float64]
#: Tolerance for risks that are sums over examples, as a share of that for others: their values are small where
#: positives are rare.
FINER = 0.2
#: The first alpha for a penalty with absolute values, as a share of the one at which all weights are zero.
STRONGEST = 0.3


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to train, whatever the candidate: parameters of the estimator."""

    solver: ConvexSolver
    low_memory: bool
    #: Whether levels are alphas, as a user has given them, whatever the candidate.
    literal: bool
    fit_intercept: bool = False
    intercept_scaling: float = 1.0
    #: Penalties in strength 1, by their l1_ratio.
    penalties: Mapping[float, Penalty] = field(default_factory=lambda: {0.0: Quadratic(1.0)})
    #: The level that candidates begin with.
    first_level: float = 1.0


class Rows:
    """Rows to train on, and what candidates share there.

    Parameters
    ----------
    X : matrix
        The features.
    examples : Examples
        Their labels and weights.
    settings : Settings
        How to train.
    base_scores : ndarray, optional
        Scores to begin with, higher for the positive label.
    """

    def __init__(self, X: Any, examples: Examples, settings: Settings, base_scores: Array | None = None):
        self.examples = examples
        self.settings = settings
        self._base_scores = base_scores
        self.design = as_design(X, low_memory=settings.low_memory)
        self.rankings = {
            l1_ratio: SafeStart(self.design, lambda: self.risk(ROCArea()), starting_solver(settings.solver), penalty)
            for l1_ratio, penalty in settings.penalties.items()
        }

    def risk(self, measure: Measure) -> Risk:
        """The risk of a measure, for what is added to the scores to begin with, if there are any."""
        risk = measure.risk(self.examples)
        return risk if self._base_scores is None else Shifted(risk, self._base_scores)


class Trail(ABC):
    """Models of one candidate for falling levels.

    Parameters
    ----------
    design, risk : Design and Risk
        What to train with.
    settings : Settings
        How to train.
    penalty : Penalty, optional
        Of the weights, in any strength; quadratic by default.
    tight : bool
        Whether it is the tight bound that is trained.
    """

    def __init__(self, design: Design, risk: Risk, settings: Settings, penalty: Penalty | None = None, *, tight: bool):
        self._settings = settings
        self._design = design
        self._risk = risk
        self._penalty = Quadratic(1.0) if penalty is None else penalty
        self._tight = tight
        self.solver = solver_for(risk, settings.solver)
        self._weights: Array | None = None

    @cached_property
    def _convex(self) -> Continuation | PenalisedContinuation:
        return continuation(self._design, self._risk, self.solver, self._penalty)

    @cached_property
    def _along(self) -> Continuation | PenalisedContinuation | TightContinuation:
        return self._tight_along() if self._tight else self._convex

    def alpha(self, level: float) -> float:
        """The alpha of a level."""
        if self._settings.literal:
            return level
        if not self._penalty.has_absolute_values:
            return level / self._risk.score_scale**2
        return STRONGEST * self._largest_alpha * math.sqrt(level / self._settings.first_level)

    @cached_property
    def _largest_alpha(self) -> float:
        return self._convex.largest_alpha(self.solver.tol)

    def at(self, level: float) -> Array:
        """The weights at a level, no higher than the one before; those of a bias last."""
        return self.solve(self.alpha(level)).coef

    def solve(self, alpha: float, callback: Callback | None = None) -> Solution:
        """The model for an alpha, no larger than the one before."""
        solution = self._along.solve(alpha, callback)
        self._weights = solution.coef
        return solution

    def scores(self, X: Any, weights: Array) -> Array:
        """Scores of other rows for the weights of a model."""
        return scores_of(X, weights)

    def finish(self, level: float, solver: ConvexSolver, callback: Callback | None) -> Result:
        """The model at the last level, solved further: with the iterations of a solver, and its tolerance if finer.

        Its scores are whole ones.
        """
        assert self._weights is not None
        objective = RegularizedRisk(self._design, self._risk, self._penalty.with_alpha(self.alpha(level)))
        method: Solver = retargeting(self.solver) if self._tight else self.solver
        method = replace(method, tol=min(solver.tol, method.tol), max_iter=solver.max_iter)
        result = method.run(objective, self._weights, callback)
        assert result.scores is not None
        return replace(result, scores=self._risk.whole_scores(result.scores))

    @abstractmethod
    def _tight_along(self) -> TightContinuation:
        """The tight bound along falling alphas."""


class LabelTrail(Trail):
    """Models of a candidate for labels of two kinds.

    Parameters
    ----------
    candidate : Candidate
        What to train with.
    rows : Rows
        What to train on.
    """

    def __init__(self, candidate: Candidate, rows: Rows):
        settings = rows.settings
        self._rows = rows
        self.bias = Bias(candidate.measure, settings.fit_intercept, settings.intercept_scaling)
        risk = rows.risk(candidate.measure)
        design = self.bias.design(rows.design, low_memory=settings.low_memory)
        self._ranking = rows.rankings[candidate.l1_ratio]
        penalty = settings.penalties[candidate.l1_ratio].with_bias(self.bias.trained)
        super().__init__(design, risk, settings, penalty, tight=candidate.bound == "tight")

    def scores(self, X: Any, weights: Array) -> Array:
        """Scores of other rows for the weights of a model, bias included."""
        coef, bias = self.bias.split(weights)
        return scores_of(X, coef) + bias

    def _tight_along(self) -> TightContinuation:
        return tight_labels(
            self.bias,
            self._rows.examples,
            self._design,
            self._risk,
            self.solver,
            self._penalty,
            self._ranking,
            strength=self._risk.score_scale**2,
            thorough=False,
        )


def solver_for(risk: Risk, solver: ConvexSolver) -> ConvexSolver:
    """The solver, with a tolerance that suits the size of the risk."""
    return replace(solver, tol=FINER * solver.tol) if risk.sums_over_examples else solver
