"""Methods and measures for documents of queries: ours, pairs, scikit-learn's models of grades, and LightGBM's trees."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold

from ..design import as_design
from ..estimators.choice import levels_for
from ..estimators.ranker_cv import MeasureRankerCV
from ..evaluation import QueryScores, query_resamples, title_of
from ..measures import NDCG, Queries, QueryMeasure, QueryROCArea, get_query_measure
from ..optimise import LBFGS
from ..optimise.path import QuadraticPath
from ..tasks.base import Rows, scores_of
from ..threads import use_threads
from .base import C_GRID, FOLDS, Array, Fitted, Judge, Method, Trained

#: The columns of every table; another one is added for each other measure that is trained for.
COLUMNS = ("ndcg@10", "average_precision", "reciprocal_rank", "roc_area")
#: Strengths of pairs, each a tenth of the one before; leaves and numbers of LightGBM's trees.
N_ALPHAS, LEAVES, TREES = 8, (4, 8, 16), (20, 50, 100, 200)
#: LightGBM has gains for whole grades up to this.
HIGHEST_GRADE = 30


class QueryJudge(Judge[Queries]):
    """Those that are trained for, and the usual measures of rankings.

    Parameters
    ----------
    measures : sequence
        What to train for.
    judged : sequence of Queries
        What is judged: measures by which no query counts, or that do not take the grades, are no columns.
    """

    def __init__(self, measures: Sequence[str | QueryMeasure] = ("ndcg@10",), judged: Sequence[Queries] = ()):
        self._trained_for = list(map(get_query_measure, measures))
        columns = {each.name: each for each in (*self._trained_for, *map(get_query_measure, COLUMNS))}
        self._measures = {
            name: measure
            for name, measure in columns.items()
            if all(measure.takes(known.grades) and measure.counted(known).size for known in judged)
        }
        self.columns = list(self._measures)

    def splits(self, rows: Rows[Queries], folds: int, seed: int = 0) -> Iterator[tuple[Any, Any]]:
        """Folds of the queries that have documents of two grades; the others are never held out."""
        queries = rows.judged
        counted = NDCG(gain="linear").counted(queries)
        if counted.size < folds:
            raise ValueError(
                f"{folds} folds need {folds} queries with documents of two grades, but there are {counted.size}; "
                "use fewer folds."
            )
        for _, test in KFold(folds, shuffle=True, random_state=seed).split(counted):
            held_out = np.isin(queries.numbers, counted[test])
            yield np.flatnonzero(~held_out), np.flatnonzero(held_out)

    def choose(self, column: str, held_out: Sequence[tuple[Queries, Array]]) -> tuple[float, float]:
        """The mean over folds in which some query counts."""
        means = [QueryScores.of(self._measures[column], *part).mean() for part in held_out]
        return (float(np.nanmean(means)) if np.isfinite(means).any() else -np.inf), 0.0

    def judged(self, column: str, known: Queries, scores: Array, threshold: float) -> Callable[[Array | None], float]:
        """The mean over queries; where none was drawn that counts, that of all."""
        found = QueryScores.of(self._measures[column], known, scores)

        def mean(draw: Array | None) -> float:
            value = found.mean(draw)
            return found.mean() if np.isnan(value) else value

        return mean

    def draws(self, known: Queries, number: int, seed: int) -> Iterator[Array]:
        """How often each query is drawn."""
        return query_resamples(known.sizes.size, number, seed)

    def methods(
        self, solvers: Sequence[str] = ("lbfgs",), *, trees: bool = True, **settings: Any
    ) -> list[Method[Queries]]:
        """Return our methods, one for every measure and solver, and the others.

        Parameters
        ----------
        solvers : sequence of str
            Ours.
        trees : bool
            Whether LightGBM's are among the others, if it is installed.
        **settings
            Of :class:`~smoothperf.MeasureRankerCV`.

        Returns
        -------
        list of Method

        Examples
        --------
        >>> [method.name for method in QueryJudge(["ndcg@10"]).methods(trees=False)]
        ['for NDCG@10', 'pairs', 'Ridge', 'LogisticRegression']
        """
        ours = [
            Method(
                f"for {title_of(measure.full_name)}" + (f", {solver}" if len(solvers) > 1 else ""),
                _chosen(MeasureRankerCV(measure, cv=FOLDS, solver=solver, **settings)),
                measure.name,
            )
            for measure in self._trained_for
            for solver in solvers
        ]
        limits = {name: settings[name] for name in ("tol", "max_iter", "n_threads") if name in settings}
        others: dict[str, Callable[[Rows[Queries]], Iterator[Trained]]] = {
            "pairs": partial(_pairs, **limits),
            "Ridge": _ridge,
            "LogisticRegression": _logistic,
        }
        if trees and importlib.util.find_spec("lightgbm") is not None:
            others["LightGBM"] = partial(_trees, n_threads=settings.get("n_threads"))
        return [*ours, *(Method(name, self.cross_validated(train)) for name, train in others.items())]


def suits_trees(grades: Array) -> bool:
    """Whether LightGBM knows what documents of these grades gain."""
    return bool(np.all(grades == np.rint(grades)) and grades.max() <= HIGHEST_GRADE)


def _chosen(estimator: MeasureRankerCV) -> Callable[[Rows[Queries]], list[Fitted[Queries]]]:
    """Our way: the one model that is chosen for the measure."""

    def train(rows: Rows[Queries]) -> list[Fitted[Queries]]:
        queries = rows.judged
        model = clone(estimator).fit(rows.X, queries.by_row(queries.grades), qid=queries.numbers)
        others = len(model.averaged_) - 1
        averaged = f", averaged with {others} more" if others else ""
        strength = f"{model.trained_for_}{averaged}, alpha {model.alpha_:.2g}"
        return [Fitted(strength, model.predict, converged=bool(model.result_.reached <= model.tol))]

    return train


def _pairs(
    rows: Rows[Queries], *, tol: float = 1e-3, max_iter: int = 1000, n_threads: int | None = None
) -> Iterator[Trained]:
    """Pairs, along falling alphas."""
    with use_threads(n_threads):
        path = QuadraticPath(as_design(rows.X), QueryROCArea().risk(rows.judged), LBFGS(tol=tol, max_iter=max_iter))
        for alpha in levels_for(rows.X, None, None, N_ALPHAS):
            yield f"alpha {alpha:.2g}", partial(scores_of, coef=path.solve(float(alpha)).coef)


def _grades(rows: Rows[Queries]) -> Array:
    return rows.judged.by_row(rows.judged.grades)


def _ridge(rows: Rows[Queries]) -> Iterator[Trained]:
    """Least squares on grades."""
    for C in C_GRID:
        model = Ridge(alpha=1.0 / C).fit(rows.X, _grades(rows))
        yield f"alpha {1.0 / C:.2g}", partial(scores_of, coef=model.coef_)


def _logistic(rows: Rows[Queries]) -> Iterator[Trained]:
    """Relevant, which is a grade above 0, or not; where all are relevant, above the lowest grade."""
    grades = _grades(rows)
    relevant = grades > 0.0
    if relevant.all():
        relevant = grades > grades.min()
    model = LogisticRegression(max_iter=1000, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # their tolerance is no certificate; ours is counted
        for C in C_GRID:
            model.set_params(C=C).fit(rows.X, relevant)
            yield f"C {C:.2g}", partial(scores_of, coef=model.coef_[0].copy())


def _trees(rows: Rows[Queries], *, n_threads: int | None) -> Iterator[Trained]:
    """LightGBM's lambdarank, which wants the rows of a query one after the other."""
    lightgbm = importlib.import_module("lightgbm")
    queries = rows.judged
    order = slice(None) if queries.rows is None else queries.rows
    for leaves in LEAVES:
        model = lightgbm.LGBMRanker(
            num_leaves=leaves,
            learning_rate=0.05,
            n_estimators=max(TREES),
            n_jobs=n_threads or 1,  # on a busy machine more of its threads wait for one another than work
            verbose=-1,
        ).fit(rows.X[order], queries.grades.astype(int), group=queries.sizes)
        for trees in TREES:
            yield f"{leaves} leaves, {trees} trees", partial(model.predict, num_iteration=trees)
