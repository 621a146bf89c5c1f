"""Who takes part in a contest (:mod:`smoothperf.evaluation.comparison`): our models, and scikit-learn's linear ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from ..evaluation import column_of, title_of
from ..evaluation.comparison import Contender, Family, FittedModel, Labels
from ..measures import Measure, get_measure
from .classifier_cv import MeasureClassifierCV

Array = NDArray[np.float64]
#: Strengths of scikit-learn's models, as far apart as ours, which come from the data.
C_GRID = tuple(10.0**exponent for exponent in range(-4, 4))
#: Folds to choose by, as in training.
FOLDS = 5


def contenders(
    measures: Sequence[str | Measure] = ("prbep", "roc_area"),
    solvers: Sequence[str] = ("lbfgs",),
    *,
    bound: str = "auto",
    tol: float = 1e-3,
    max_iter: int = 1000,
    n_threads: int | None = None,
) -> list[Contender]:
    """Return our models, one for every measure and solver, and scikit-learn's two.

    Examples
    --------
    >>> [contender.name for contender in contenders(["prbep"], ["lbfgs", "bmrm"])]
    ['for PRBEP, lbfgs', 'for PRBEP, bmrm', 'LogisticRegression', 'LinearSVC']
    """
    settings = {"bound": bound, "tol": tol, "max_iter": max_iter, "n_threads": n_threads, "cv": FOLDS}
    ours = [
        Contender(
            f"for {title_of(measure.name)}" + (f", {solver}" if len(solvers) > 1 else ""),
            _chosen(measure, {**settings, "solver": solver}),
            column_of(measure),
            measure,
        )
        for measure in map(get_measure, measures)
        for solver in solvers
    ]
    return [
        *ours,
        Contender("LogisticRegression", _cross_validated(LogisticRegression(max_iter=1000, warm_start=True))),
        Contender("LinearSVC", _cross_validated(LinearSVC(dual="auto", random_state=0))),
    ]


def _chosen(measure: Measure, settings: dict[str, Any]) -> Family:
    """Our way: the one model that is chosen for the measure."""

    def train(X: Any, positive: Labels) -> list[FittedModel]:
        model = MeasureClassifierCV(measure, **settings)
        held_out = model._fit(X, positive)
        return [
            FittedModel(
                f"{model.trained_for_}, alpha {model.alpha_:.2g}",
                model.coef_[0],
                held_out=[(held_out.positive, held_out.raw_scores)],
                threshold=-float(model.intercept_[0]),
                converged=bool(model.result_.reached <= model.tol),
            )
        ]

    return train


def _cross_validated(model: Any) -> Family:
    """The way of others: all strengths, with the scores of rows held out."""

    def train(X: Any, positive: Labels) -> list[FittedModel]:
        rarer = int(min(positive.sum(), (~positive).sum()))
        folds = StratifiedKFold(min(FOLDS, rarer), shuffle=True, random_state=0)
        held_out: list[list[tuple[Labels, Array]]] = [[] for _ in C_GRID]
        for rows, others in folds.split(positive, positive):
            for pairs, (coef, intercept) in zip(held_out, _fit_all(model, X[rows], positive[rows]), strict=True):
                pairs.append((positive[others], np.asarray(X[others] @ coef) + intercept))
        return [
            FittedModel(f"C {C:.2g}", coef, intercept, pairs)
            for C, pairs, (coef, intercept) in zip(C_GRID, held_out, _fit_all(model, X, positive), strict=True)
        ]

    return train


def _fit_all(model: Any, X: Any, positive: Labels) -> list[tuple[Array, float]]:
    """Weights and intercept for every strength."""
    model, found = clone(model), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # their tolerance is no certificate; ours is counted
        for C in C_GRID:
            model.set_params(C=C).fit(X, positive)
            found.append((model.coef_[0].copy(), float(model.intercept_[0])))
    return found
