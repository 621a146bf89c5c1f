"""Regularisation paths of classifiers: of the convex bound with its certificate, or of the tight one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from ..measures import Risk, ROCArea
from ..measures.shifted import Shifted
from ..objective import RegularizedRisk
from ..solvers import Callback
from ..solvers.continuation import Continuation, Solution
from ..solvers.penalised_path import PenalisedContinuation, continuation, largest_alpha
from .classifier import MeasureClassifier
from .linear import scores_of
from .problem import ACCEPTED, LabelledRows, Problem, known_labels, taken
from .tight import starting_solver
from .tight_path import SafeStart, TightContinuation, tight_labels

Array = NDArray[np.float64]
#: X, the mask of the positives, the weights or None, and scores to begin with, or 0.
_HeldOut = tuple[Any, NDArray[np.bool_], ArrayLike | None, Array | float]


class LabelPath:
    """Classifiers for falling alphas, with all parameters of an estimator but alpha."""

    def __init__(
        self,
        classifier: MeasureClassifier,
        X: Any,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        validation: Sequence[Any] | None,
        base_scores: ArrayLike | None = None,
    ):
        tight = classifier.bound == "tight"
        problem = Problem.of(classifier, X, y, sample_weight, tight=tight, base_scores=base_scores)
        self._problem = problem
        self.classes: NDArray[Any] = problem.rows.pair
        self._held_out = None
        if validation is not None:
            self._held_out = _checked_validation(validation, problem.rows, based=base_scores is not None)
        self._along: Continuation | PenalisedContinuation | TightContinuation
        if tight:
            self._along = _tight_along(problem)
        else:
            self._along = continuation(problem.design, problem.risk, problem.solver, problem.penalty)

    def largest_alpha(self, tolerance: float) -> float:
        """Where the path begins, with a tolerance for how much better than w = 0 a model must be to count."""
        if isinstance(self._along, TightContinuation):
            return self._along.largest_alpha(tolerance)
        return largest_alpha(self._along, tolerance)

    def solve(self, alpha: float, callback: Callback | None) -> Solution:
        """The solution for an alpha below the one before."""
        return self._along.solve(alpha, callback)

    def is_empty(self, solution: Solution) -> bool:
        """Whether w = 0 is optimal within tol; for a tight bound, whether it is as good as what was found."""
        problem = self._problem
        objective = RegularizedRisk(problem.design, problem.risk, problem.penalty.with_alpha(solution.alpha))
        return problem.bias.excess_of_zero(objective, solution) <= problem.solver.tol

    def judged(self, solution: Solution) -> tuple[Array, float, float, float | None]:
        """Weights of the features and intercept, and the measure on the training and the validation set."""
        measure, bias, examples = self._problem.measure, self._problem.bias, self._problem.rows.examples
        scores = self._problem.risk.whole_scores(solution.scores)
        coef, intercept = bias.cut(solution.coef, examples, scores)
        threshold = bias.split(solution.coef)[1] - intercept
        train_score = measure.score(examples.positive, scores - threshold, examples.weights)
        if self._held_out is None:
            return coef, intercept, train_score, None
        X, positive, weights, base = self._held_out
        return coef, intercept, train_score, measure.score(positive, base + scores_of(X, coef) + intercept, weights)


def _tight_along(problem: Problem) -> TightContinuation:
    """The tight bound of a problem along falling alphas, from the minimisers for ROC area of the features alone."""
    risk = problem.risk

    def roc_area() -> Risk:
        found = ROCArea().risk(problem.rows.examples)
        return risk.like(found) if isinstance(risk, Shifted) else found

    solver = starting_solver(problem.solver)
    ranking = SafeStart(problem.features, roc_area, solver, problem.penalty.with_bias(False))
    return tight_labels(
        problem.bias, problem.rows.examples, problem.design, risk, problem.solver, problem.penalty, ranking
    )


def _checked_validation(validation: Sequence[Any], rows: LabelledRows, *, based: bool) -> _HeldOut:
    """X, the mask of positives, the weights or None, and scores to begin with, which there must be if ``based``."""
    if not isinstance(validation, (tuple, list)) or len(validation) not in (2, 3, 4):
        raise ValueError(
            "validation must be (X, y), (X, y, sample_weight) or (X, y, sample_weight, base_scores), got "
            f"{type(validation).__name__}."
        )
    X, y, weights, base = (*validation, None, None)[:4]
    if based != (base is not None):
        raise ValueError(
            "validation must be (X, y, sample_weight, base_scores), as base_scores are given; weights may be None."
            if based
            else "validation has base_scores, but the rows to train on have none: give base_scores=, too."
        )
    given = taken(X, y, weights)
    y, weights = given.y, given.sample_weight
    X = check_array(given.X, input_name="validation X", **ACCEPTED)
    if X.shape[1] != rows.X.shape[1]:
        raise ValueError(f"validation X has {X.shape[1]} features but X has {rows.X.shape[1]}; they must match.")
    try:
        positive = known_labels(y, rows.pair, length=X.shape[0])
        found = replace(rows, X=X).base_scores(base)
        return X, positive, weights, 0.0 if found is None else found
    except ValueError as error:
        raise ValueError(f"validation: {error}") from error
