"""Documents of queries side by side: our rankers, pairs, scikit-learn's models of grades, and LightGBM's trees."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold

from .._arrays import Array
from ..estimators.choice import strengths_for
from ..estimators.ranker import MeasureRanker
from ..estimators.ranker_cv import MeasureRankerCV
from ..evaluation import QueryScores, multiplicities, title_of
from ..measures import NDCG, Queries, QueryMeasure, get_query_measure
from ..tasks.base import HeldOut
from ..tasks.queries import QueryRows, QueryTask
from .table import (
    C_GRID,
    FOLDS,
    LEARNING_RATE,
    MODEL,
    TREES,
    Compared,
    DrawnWorth,
    Fitted,
    Method,
    Model,
    linear_models,
)

#: The columns of every table; another one is added for each other measure that is trained for.
COLUMNS = ("ndcg@10", "average_precision", "reciprocal_rank", "roc_area")
#: Strengths of pairs, each a tenth of the one before.
N_ALPHAS = 8
#: LightGBM has gains for whole grades up to this.
HIGHEST_GRADE = 30


class ComparedRankings(Compared[Queries]):
    """Documents of queries, judged by the measures that are trained for, and the usual ones of rankings.

    Parameters
    ----------
    measures : sequence
        Goals of training.
    judged : sequence of Queries
        All that is judged: measures by which no query counts, or that do not take the grades, are no columns.

    Examples
    --------
    >>> [method.name for method in ComparedRankings(["ndcg@10"]).methods(trees=False)]
    ['for NDCG@10', 'pairs', 'Ridge', 'LogisticRegression']
    """

    def __init__(self, measures: Sequence[str | QueryMeasure] = ("ndcg@10",), judged: Sequence[Queries] = ()):
        self._goals = list(map(get_query_measure, measures))
        columns = {each.name: each for each in (*self._goals, *map(get_query_measure, COLUMNS))}
        self.tasks = {
            name: QueryTask(measure=measure)
            for name, measure in columns.items()
            if all(measure.takes(known.grades) and measure.counted(known).size for known in judged)
        }

    def splits(self, rows: Any, folds: int, seed: int = 0) -> list[tuple[Any, Any]]:
        """Folds of the queries that have documents of two grades; the others are never held out."""
        queries = rows.judged
        counted = NDCG(gain="linear").counted(queries)
        if counted.size < folds:
            raise ValueError(
                f"{folds} folds need {folds} queries with documents of two grades, but there are {counted.size}; "
                "use fewer folds."
            )
        folded = KFold(folds, shuffle=True, random_state=seed).split(counted)
        held_out = [np.isin(queries.numbers, counted[test]) for _, test in folded]
        return [(np.flatnonzero(~mask), np.flatnonzero(mask)) for mask in held_out]

    def choose(self, column: str, held_out: Sequence[HeldOut[Queries, Any]]) -> tuple[float, float]:
        """The mean over folds in which some query counts."""
        means = self.tasks[column].judge_together(held_out, MODEL)
        return (float(np.nanmean(means)) if np.isfinite(means).any() else -np.inf), 0.0

    def worth(self, column: str, judged: Queries, scores: Array, threshold: float) -> DrawnWorth:
        """The mean over queries; where none was drawn that counts, that of all."""
        found = QueryScores.of(self.tasks[column].measure, judged, scores)

        def mean(draw: Array | None) -> float:
            value = found.mean(draw)
            return found.mean() if np.isnan(value) else value

        return mean

    def draws(self, judged: Queries, number: int, seed: int) -> Iterator[Array]:
        """Draw queries, as multiplicities."""
        return multiplicities(judged.sizes.size, number, seed)

    def methods(self, solvers: Sequence[str] = ("lbfgs",), *, trees: bool = True, **settings: Any) -> list[Method]:
        """Those of :class:`~smoothperf.MeasureRankerCV`, pairs, scikit-learn's, and LightGBM's if it is installed."""
        found = [
            Method(
                f"for {title_of(measure.full_name)}" + (f", {solver}" if len(solvers) > 1 else ""),
                partial(_chosen, MeasureRankerCV(measure, cv=FOLDS, solver=solver, **settings)),
                measure.name,
            )
            for measure in self._goals
            for solver in solvers
        ]
        limits = {name: settings[name] for name in ("tol", "max_iter", "n_threads") if name in settings}
        found += [
            self.tuned("pairs", partial(_pairs, estimator=MeasureRanker("pairs", warm_start=True, **limits))),
            self.tuned("Ridge", _ridge),
            self.tuned("LogisticRegression", _logistic),
        ]
        if trees and importlib.util.find_spec("lightgbm") is not None:
            boosted = partial(_lambdarank, n_threads=settings.get("n_threads") or 1)
            found.append(self.tuned("LightGBM", boosted, trees=True))
        return found


def rows_of(documents: Any) -> QueryRows:
    """Return the rows of graded documents, as files hold them."""
    return QueryRows(documents.X, Queries.of(documents.y, documents.qid))


def suits_lambdarank(grades: Array) -> bool:
    """Whether LightGBM has gains for all these grades."""
    return bool(np.all(grades == np.rint(grades)) and grades.max() <= HIGHEST_GRADE)


def _chosen(estimator: MeasureRankerCV, rows: Any) -> list[Fitted]:
    """Our way: the one model that is chosen for the measure."""
    model = clone(estimator).set_params(features=rows.features if estimator.features is None else estimator.features)
    model.fit(rows.X, _grades(rows), qid=rows.known.numbers)
    others = len(model.averaged_) - 1
    averaged = f", averaged with {others} more" if others else ""
    strength = f"{model.trained_for_}{averaged}, alpha {model.alpha_:.2g}"
    return [Fitted(strength, model.predict, [], converged=bool(model.result_.reached <= model.tol))]


def _grades(rows: Any) -> Array:
    grades: Array = rows.known.by_row(rows.known.grades)
    return grades


def _pairs(rows: Any, estimator: MeasureRanker) -> list[Model]:
    """Pairs, along falling alphas."""
    model, found = clone(estimator), []
    for alpha in strengths_for(rows.X, None, None, N_ALPHAS).tolist():
        fitted = deepcopy(model.set_params(alpha=alpha).fit(rows.X, _grades(rows), qid=rows.known.numbers))
        found.append((f"alpha {alpha:.2g}", fitted.predict))
    return found


def _ridge(rows: Any) -> list[Model]:
    """Least squares on grades."""
    return [(f"alpha {1.0 / C:.2g}", Ridge(alpha=1.0 / C).fit(rows.X, _grades(rows)).predict) for C in C_GRID]


def _logistic(rows: Any) -> list[Model]:
    """Relevant, which is a grade above 0, or not; where all are relevant, above the lowest grade."""
    grades = _grades(rows)
    return linear_models(LogisticRegression(max_iter=1000, warm_start=True), rows.X, grades > max(0.0, grades.min()))


def _lambdarank(rows: Any, *, n_threads: int) -> list[Model]:
    """LightGBM's lambdarank, which wants the rows of a query one after the other."""
    lightgbm = importlib.import_module("lightgbm")
    queries, found = rows.known, []
    order = slice(None) if queries.rows is None else queries.rows
    for leaves, trees in TREES:
        model = lightgbm.LGBMRanker(
            num_leaves=leaves,
            learning_rate=LEARNING_RATE,
            n_estimators=trees,
            n_jobs=n_threads,  # on a busy machine more of its threads wait for one another than work
            verbose=-1,
        ).fit(rows.X[order], queries.grades.astype(int), group=queries.sizes)
        found.append((f"{leaves} leaves, {trees} trees", model.predict))
    return found
