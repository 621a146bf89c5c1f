"""Methods and measures for labels of two kinds: ours, and scikit-learn's linear models."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from .._validation import whole_number
from ..estimators.classifier_cv import MeasureClassifierCV
from ..evaluation import Ranking, column_of, resamples, title_of
from ..measures import Examples, Measure, get_measure
from ..tasks.base import Rows
from .base import C_GRID, FOLDS, Array, Fitted, Judge, Method, Trained

#: The columns of every table; another one is added for each other measure that is trained for. F1 and accuracy are of
#: a decision, so they come with a chosen threshold.
COLUMNS = ("prbep", "roc_area", "average_precision", "f1", "accuracy")
DECISIONS = ("f1", "accuracy")


class LabelJudge(Judge[Examples]):
    """The usual measures of labels, and those that are trained for.

    Parameters
    ----------
    measures : sequence
        What to train for.
    """

    def __init__(self, measures: Sequence[str | Measure] = ("prbep", "roc_area")):
        self._trained_for = {column_of(measure): measure for measure in map(get_measure, measures)}
        self._own = {column: measure for column, measure in self._trained_for.items() if column not in COLUMNS}
        self.columns = [*COLUMNS, *self._own]
        self._rankings: dict[int, tuple[Array, Ranking]] = {}  # by the identity of scores, which are kept for that
        self._draw: Array | None = None
        self._measured: dict[tuple[Ranking, float], dict[str, float]] = {}

    def splits(self, rows: Rows[Examples], folds: int, seed: int = 0) -> Iterator[tuple[Any, Any]]:
        """Stratified folds; no more than there are rows of the rarer class."""
        positive = rows.judged.positive
        rarer = int(min(positive.sum(), (~positive).sum()))
        splitter = StratifiedKFold(
            min(whole_number("folds", folds, at_least=2), rarer), shuffle=True, random_state=seed
        )
        yield from splitter.split(positive, positive)

    def check(self, positive: NDArray[np.bool_], folds: int) -> None:
        """Refuse rows of which there are too few to be judged by so many folds."""
        rarer = int(min(positive.sum(), (~positive).sum()))
        if rarer < 2 * folds:
            raise ValueError(
                f"{folds} folds need {2 * folds} examples of each class, but one has {rarer}; use fewer folds."
            )

    def choose(self, column: str, held_out: Sequence[tuple[Examples, Array]]) -> tuple[float, float]:
        """The mean over folds; for decisions the best value for the scores of all, and its threshold."""
        measure = self._own.get(column)
        if not (column in DECISIONS if measure is None else measure.fits_bias):
            folds = [Ranking(known.positive, scores) for known, scores in held_out]
            return float(np.mean([self._score(column, fold, 0.0, None) for fold in folds])), 0.0
        labels, scores = zip(*held_out, strict=True)
        ranking = Ranking(np.concatenate([known.positive for known in labels]), np.concatenate(scores))
        if measure is not None:
            threshold = ranking.best_threshold(measure)
            return ranking.score(measure, threshold), threshold
        cuts = ranking.cuts()
        values = cuts.f1 if column == "f1" else cuts.accuracy
        at = int(values.argmax())
        return float(values[at]), ranking.threshold_at(at)

    def judged(self, column: str, known: Examples, scores: Array, threshold: float) -> Callable[[Array | None], float]:
        """The measure of a decision at a threshold, or of the order."""
        if id(scores) not in self._rankings:
            self._rankings[id(scores)] = scores, Ranking(known.positive, scores)
        ranking = self._rankings[id(scores)][1]
        return lambda draw: self._score(column, ranking, threshold, draw)

    def draws(self, known: Examples, number: int, seed: int) -> Iterator[Array]:
        """How often each row is drawn."""
        return resamples(known.positive, number, seed)

    def _score(self, column: str, ranking: Ranking, threshold: float, draw: Array | None) -> float:
        if (measure := self._own.get(column)) is not None:
            return ranking.score(measure, threshold, draw)
        if draw is not self._draw:  # the usual measures of a draw are found together
            self._draw, self._measured = draw, {}
        key = ranking, threshold
        if key not in self._measured:
            self._measured[key] = ranking.measures(threshold, draw)
        return self._measured[key][column]

    def methods(self, solvers: Sequence[str] = ("lbfgs",), **settings: Any) -> list[Method[Examples]]:
        """Return our methods, one for every measure and solver, and scikit-learn's two.

        Parameters
        ----------
        solvers : sequence of str
            Ours.
        **settings
            Of :class:`~smoothperf.MeasureClassifierCV`.

        Returns
        -------
        list of Method

        Examples
        --------
        >>> [method.name for method in LabelJudge(["prbep"]).methods(["lbfgs", "bmrm"])]
        ['for PRBEP, lbfgs', 'for PRBEP, bmrm', 'LogisticRegression', 'LinearSVC']
        """
        ours = [
            Method(
                f"for {title_of(measure.name)}" + (f", {solver}" if len(solvers) > 1 else ""),
                _chosen(MeasureClassifierCV(measure, cv=FOLDS, solver=solver, **settings)),
                column,
            )
            for column, measure in self._trained_for.items()
            for solver in solvers
        ]
        others = LogisticRegression(max_iter=1000, warm_start=True), LinearSVC(dual="auto", random_state=0)
        return [*ours, *(Method(type(each).__name__, self.cross_validated(_path_of(each))) for each in others)]


def _chosen(estimator: MeasureClassifierCV) -> Callable[[Rows[Examples]], list[Fitted[Examples]]]:
    """Our way: the one model that is chosen for the measure."""

    def train(rows: Rows[Examples]) -> list[Fitted[Examples]]:
        model = clone(estimator)
        held_out = model._fit(rows.X, rows.judged.positive)
        return [
            Fitted(
                f"{model.trained_for_}, alpha {model.alpha_:.2g}",
                _Linear(model.coef_[0]),
                held_out=[(Examples(held_out.positive), held_out.raw_scores)],
                threshold=-float(model.intercept_[0]),
                converged=bool(model.result_.reached <= model.tol),
            )
        ]

    return train


def _path_of(estimator: Any) -> Callable[[Rows[Examples]], Iterator[Trained]]:
    """The way of others: all strengths."""

    def train_all(rows: Rows[Examples]) -> Iterator[Trained]:
        model = clone(estimator)
        for C in C_GRID:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", ConvergenceWarning
                )  # their tolerance is no certificate; ours is counted
                model.set_params(C=C).fit(rows.X, rows.judged.positive)
            yield f"C {C:.2g}", _Linear(model.coef_[0].copy(), float(model.intercept_[0]))

    return train_all


class _Linear:
    """Scores ``X w + b``."""

    def __init__(self, coef: Array, intercept: float = 0.0):
        self._coef, self._intercept = coef, intercept

    def __call__(self, X: Any) -> Array:
        scores: Array = np.asarray(X @ self._coef) + self._intercept
        return scores
