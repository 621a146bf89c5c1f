"""Regularisation paths of rankers: the convex bound with its certificate, or the tight one with stationary points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from .._validation import vector
from ..evaluation import tells_nothing
from ..measures import Queries, get_query_measure
from ..solvers import Callback
from ..solvers.continuation import Continuation, Solution
from ..solvers.penalised_path import PenalisedContinuation, continuation
from ..threads import check_n_threads
from .linear import scores_of
from .problem import ACCEPTED, taken
from .ranker import MeasureRanker, check_ranks, queries_of, query_ids, solver_of
from .ranking_candidates import candidate_for
from .ranking_choice import QueryRows
from .tight_path import TightContinuation
from .trail import Settings

Array = NDArray[np.float64]


class RankingPath:
    """Rankers for falling alphas, with all parameters of an estimator but alpha; see ``label_path.LabelPath``."""

    classes = None

    def __init__(
        self,
        ranker: MeasureRanker,
        X: Any,
        y: ArrayLike | None,
        qid: ArrayLike | None,
        group: ArrayLike | None,
        sample_weight: ArrayLike | None,
        validation: Sequence[Any] | None,
    ):
        self._measure = get_query_measure(ranker.measure)
        candidate = candidate_for(self._measure, ranker.bound)
        solver = solver_of(ranker)
        check_ranks(solver, candidate.measure)
        check_n_threads(ranker.n_threads)
        X, self._queries = ranker._queries(X, y, qid, group, sample_weight)
        self._held_out = None if validation is None else _checked_validation(validation, X.shape[1])
        settings = Settings(solver=solver, low_memory=ranker.low_memory, literal=True)
        rows = QueryRows(X, self._queries, settings)
        risk = candidate.measure.risk(self._queries)
        self._along: Continuation | PenalisedContinuation | TightContinuation
        if candidate.bound == "tight":
            start = rows.start_of(candidate.measure)
            self._along = TightContinuation(rows.design, risk, solver, None, start, strength=risk.score_scale**2)
        else:
            self._along = continuation(rows.design, risk, solver)

    def largest_alpha(self, tolerance: float) -> float:
        """Where the path begins; see ``label_path.LabelPath``."""
        return self._along.largest_alpha(tolerance)

    def solve(self, alpha: float, callback: Callback | None) -> Solution:
        """The solution for an alpha below the one before."""
        return self._along.solve(alpha, callback)

    def is_empty(self, solution: Solution) -> bool:
        """Whether all documents have the same score."""
        return tells_nothing(solution.scores)

    def judged(self, solution: Solution) -> tuple[Array, float, float, float | None]:
        """Weights and intercept, and the measure on the training and the validation set."""
        train_score = self._measure.mean_score(self._queries, solution.scores)
        if self._held_out is None:
            return solution.coef, 0.0, train_score, None
        X, queries = self._held_out
        return solution.coef, 0.0, train_score, self._measure.mean_score(queries, scores_of(X, solution.coef))


def _checked_validation(validation: Sequence[Any], n_features: int) -> tuple[Any, Queries]:
    """X and the queries to judge on."""
    if not isinstance(validation, (tuple, list)) or len(validation) not in (3, 4):
        raise ValueError(
            f"validation must be (X, y, qid) or (X, y, qid, sample_weight) where there is qid, got "
            f"{type(validation).__name__} of {len(validation) if hasattr(validation, '__len__') else 'no'} entries."
        )
    X, y, qid, weights = (*validation, None)[:4]
    given = taken(X, y, weights)
    y, ids, weights = given.y, queries_of(given.store, qid, None), given.sample_weight
    X = check_array(given.X, input_name="validation X", **ACCEPTED)
    if X.shape[1] != n_features:
        raise ValueError(f"validation X has {X.shape[1]} features but X has {n_features}; they must match.")
    try:
        return X, Queries.of(vector("y", y, length=X.shape[0]), query_ids(X.shape[0], ids, None), weights)
    except ValueError as error:
        raise ValueError(f"validation: {error}") from error
