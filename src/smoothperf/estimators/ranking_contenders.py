"""Who takes part in a contest of rankings (:mod:`smoothperf.evaluation.ranking_comparison`).

Ours are what :class:`~smoothperf.MeasureRankerCV` makes of measures. The others choose their strength by folds of whole
queries, for each measure by itself: pairs (the ranking SVM, with our solver), scikit-learn's Ridge on grades and
LogisticRegression on relevant or not, and trees of LightGBM (lambdarank) where it is installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge

from ..design import as_design
from ..evaluation import title_of
from ..evaluation.ranking_comparison import Documents, FittedRanker, RankingContender
from ..measures import QueryMeasure, QueryROCArea, get_query_measure
from ..solvers import LBFGS
from ..solvers.continuation import Continuation
from ..tasks.base import scores_of
from ..threads import use_threads
from .choice import levels_for
from .contenders import C_GRID, FOLDS
from .ranker_cv import MeasureRankerCV

Array = NDArray[np.float64]
#: How a model was trained, and its scores of rows.
Candidate = tuple[str, Callable[[Any], Array]]
#: Strengths of pairs, each a tenth of the one before; leaves and numbers of LightGBM's trees.
N_ALPHAS, LEAVES, TREES = 8, (4, 8, 16), (20, 50, 100, 200)
#: LightGBM has gains for whole grades up to this.
HIGHEST_GRADE = 30


def ranking_contenders(
    measures: Sequence[str | QueryMeasure] = ("ndcg@10",),
    solvers: Sequence[str] = ("lbfgs",),
    *,
    bound: str = "auto",
    tol: float = 1e-3,
    max_iter: int = 1000,
    n_threads: int | None = None,
    trees: bool = True,
) -> list[RankingContender]:
    """Return our models, one for every measure and solver, and the others; ``trees`` only if LightGBM is installed.

    Examples
    --------
    >>> [contender.name for contender in ranking_contenders(["ndcg@10"], trees=False)]
    ['for NDCG@10', 'pairs', 'Ridge', 'LogisticRegression']
    """
    settings = {"bound": bound, "tol": tol, "max_iter": max_iter, "n_threads": n_threads}
    ours = [
        RankingContender(
            f"for {title_of(measure.full_name)}" + (f", {solver}" if len(solvers) > 1 else ""),
            _chosen(measure, {**settings, "solver": solver}),
            measure.name,
        )
        for measure in map(get_query_measure, measures)
        for solver in solvers
    ]
    others: dict[str, Callable[[Documents], Iterator[Candidate]]] = {
        "pairs": partial(_pairs, tol=tol, max_iter=max_iter, n_threads=n_threads),
        "Ridge": _ridge,
        "LogisticRegression": _logistic,
    }
    if trees and importlib.util.find_spec("lightgbm") is not None:
        others["LightGBM"] = partial(_trees, n_threads=n_threads)
    return [*ours, *(RankingContender(name, _cross_validated(train)) for name, train in others.items())]


def suits_trees(grades: Array) -> bool:
    """Whether LightGBM knows what documents of these grades gain."""
    return bool(np.all(grades == np.rint(grades)) and grades.max() <= HIGHEST_GRADE)


def _chosen(measure: QueryMeasure, settings: dict[str, Any]) -> Callable[[Documents], list[FittedRanker]]:
    """Our way: the one model that is chosen for the measure."""

    def train(documents: Documents) -> list[FittedRanker]:
        model = MeasureRankerCV(measure, **settings, cv=FOLDS).fit(documents.X, documents.grades, qid=documents.qid)
        others = len(model.averaged_) - 1
        averaged = f", averaged with {others} more" if others else ""
        strength = f"{model.trained_for_}{averaged}, alpha {model.alpha_:.2g}"
        return [FittedRanker(strength, model.predict, converged=bool(model.result_.reached <= model.tol))]

    return train


def _cross_validated(
    train_all: Callable[[Documents], Iterator[Candidate]],
) -> Callable[[Documents], list[FittedRanker]]:
    """The way of others: all strengths, with the scores of queries held out."""

    def train(documents: Documents) -> list[FittedRanker]:
        held_out: list[list[Any]] = []
        for rows, others in documents.folds(FOLDS):
            part = documents[others]
            held_out.append([(part.queries, score(part.X)) for _, score in train_all(documents[rows])])
        return [
            FittedRanker(strength, score, [fold[at] for fold in held_out])
            for at, (strength, score) in enumerate(train_all(documents))
        ]

    return train


def _pairs(documents: Documents, *, tol: float, max_iter: int, n_threads: int | None) -> Iterator[Candidate]:
    """Pairs, along falling alphas."""
    with use_threads(n_threads):
        solver = LBFGS(tol=tol, max_iter=max_iter)
        path = Continuation(as_design(documents.X), QueryROCArea().risk(documents.queries), solver)
        for alpha in levels_for(documents.X, None, None, N_ALPHAS):
            yield f"alpha {alpha:.2g}", partial(_linear, coef=path.solve(float(alpha)).coef)


def _ridge(documents: Documents) -> Iterator[Candidate]:
    """Least squares on grades."""
    for C in C_GRID:
        model = Ridge(alpha=1.0 / C).fit(documents.X, documents.grades)
        yield f"alpha {1.0 / C:.2g}", partial(_linear, coef=model.coef_)


def _logistic(documents: Documents) -> Iterator[Candidate]:
    """Relevant, which is a grade above 0, or not; where all are relevant, above the lowest grade."""
    relevant = documents.grades > 0.0
    if relevant.all():
        relevant = documents.grades > documents.grades.min()
    model = LogisticRegression(max_iter=1000, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # their tolerance is no certificate; ours is counted
        for C in C_GRID:
            model.set_params(C=C).fit(documents.X, relevant)
            yield f"C {C:.2g}", partial(_linear, coef=model.coef_[0].copy())


def _trees(documents: Documents, *, n_threads: int | None) -> Iterator[Candidate]:
    """LightGBM's lambdarank, which wants the rows of a query one after the other."""
    lightgbm = importlib.import_module("lightgbm")
    queries = documents.queries
    order = slice(None) if queries.rows is None else queries.rows
    for leaves in LEAVES:
        model = lightgbm.LGBMRanker(
            num_leaves=leaves,
            learning_rate=0.05,
            n_estimators=max(TREES),
            n_jobs=n_threads or 1,  # on a busy machine more of its threads wait for one another than work
            verbose=-1,
        ).fit(documents.X[order], queries.grades.astype(int), group=queries.sizes)
        for trees in TREES:
            yield f"{leaves} leaves, {trees} trees", partial(model.predict, num_iteration=trees)


def _linear(X: Any, coef: Array) -> Array:
    return scores_of(X, coef)
