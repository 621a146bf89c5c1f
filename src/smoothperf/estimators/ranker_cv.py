"""A ranker that chooses what to train with and how strongly to regularise: by the measure, on held-out queries."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..evaluation import tells_nothing
from ..io.model_file import is_fitted_attribute
from ..measures import Queries, QueryMeasure, get_query_measure
from ..solvers import Callback, ConvexSolver, Result, Solver, Status
from ..solvers.smoothing import Smoothing
from ..threads import check_n_threads, use_threads
from .choice import LEVELS, Step
from .linear import make_callback, report_end
from .path import checked_alphas
from .ranker import LinearRanker, MeasureRanker, check_ranks, solver_of
from .ranking_candidates import RankingCandidate, candidates_for
from .ranking_choice import HeldOutQueries, QueryRace, QueryRows, QueryTrail, Rows, query_splits
from .search import (
    OF_THE_CHOICE,
    Part,
    compare,
    keep_choice,
    levels_for,
    loosened,
    warn_if_nothing_is_told,
)
from .trail import Settings

Array = NDArray[np.float64]


class MeasureRankerCV(LinearRanker):
    """A linear ranker that chooses what to train with, and how strongly to regularise.

    Several risks are trained along paths of falling alphas: squared losses and pairs, which are safe, and the tight
    bounds of the measure, unless they are behind a safe one in both of the first two splits. The best mean of the
    measure on held-out queries wins. The model is an average: of the winner, fitted to all rows, and of the others at
    their best alphas, each by its share, which is the smaller, the more standard errors it is behind on these queries.

    Parameters
    ----------
    measure : str or QueryMeasure, default="ndcg@10"
        What to be good at.
    bound : {"auto", "convex", "tight"} or list of (measure, bound), default="auto"
        What to choose from. "auto": squared loss within queries and of all documents, pairs, and the tight bounds of
        the measure, with both targets of NDCG. "convex" or "tight": that risk of the measure only. A list names the
        candidates, such as ``[("pairs", "convex"), ("ndcg@10", "tight")]``.
    alphas : array-like, optional
        The alphas to choose from, for all candidates; the first two splits try every one. By default they follow
        from the size of the features and suit each candidate; smaller ones are added while that pays.
    n_alphas : int, default=6
        How many there are to begin with, if ``alphas`` is not given: each a tenth of the one before.
    cv : int, float, splitter or iterable, default=5
        An int is a number of folds of whole queries; they are drawn three times if fewer than 200 queries have
        documents of different grades, as luck decides much then. A share between 0 and 1 holds out one validation
        set. A splitter of scikit-learn that knows groups, or an iterable of ``(train, test)`` row indices, says it
        all; ``[(train, validation)]`` is a validation set of your own.
    average : bool, default=True
        Whether the model is the average; if not, it is the winner alone.
    n_jobs : int, optional
        Splits to work on at the same time, in threads; 1 by default, -1 for all cores.
    tol, max_iter, solver, smoothing, n_threads, low_memory
        As in :class:`~smoothperf.MeasureRanker`, but "auto" is L-BFGS. Candidates are compared with a tolerance of
        0.005 at least.
    verbose : int, default=0
        1 prints a line for every split and about once a second while the winner is fitted, 2 one per iteration of that;
        to standard error.
    callback : callable, optional
        As in :class:`~smoothperf.MeasureRanker`, for the fit to all rows.
    progress : callable, optional
        Called with a :class:`~smoothperf.estimators.choice.Step` before each model that is trained for the choice, in
        the thread that trains it; ``str`` of it is a line to show. What it raises ends ``fit``.

    Attributes
    ----------
    trained_for_ : RankingCandidate
        What has won: its ``measure`` and its ``bound``.
    alpha_ : float
        Its alpha.
    averaged_ : dict of str to float
        The shares of what was averaged, the winner first; they sum to 1. One entry if there was nothing to average.
    cv_results_ : dict
        What was tried, in the form of scikit-learn's searches: "params" with measure, bound, target (of the tight bound
        of NDCG, or "") and alpha, and "split0_test_score", ..., "mean_test_score", "std_test_score", "rank_test_score".
        NaN where a split did not try something: that was out of the race.
    best_index_ : int
        Where the chosen one is in ``cv_results_``.
    best_score_ : float
        The mean score of the winner on held-out queries.
    coef_ : ndarray of shape (n_features,)
        The weights: those of the winner, or the average, whose scores have a deviation of about 1 within queries.
    intercept_ : float
        0.
    objective_, lower_bound_, gap_, stationarity_gap_, n_iter_, result_
        As in :class:`~smoothperf.MeasureRanker`, of the winner's fit to all rows, whose weights are ``result_.coef``.
        An average minimises nothing, so there is no certificate of it.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf import MeasureRankerCV
    >>> rng = np.random.default_rng(0)
    >>> qid = np.repeat(np.arange(40), 10)
    >>> X = rng.normal(size=(400, 5))
    >>> y = np.digitize(X @ [2, -1, 1, 0, 0] + rng.normal(size=400), [1, 3])   # grades 0, 1 and 2
    >>> ranker = MeasureRankerCV("ndcg@5", cv=2).fit(X[:300], y[:300], qid=qid[:300])
    >>> bool(ranker.score(X[300:], y[300:], qid=qid[300:]) > 0.8)
    True
    """

    def __init__(
        self,
        measure: str | QueryMeasure = "ndcg@10",
        *,
        bound: str | Sequence[Any] = "auto",
        alphas: ArrayLike | None = None,
        n_alphas: int = LEVELS,
        cv: Any = 5,
        average: bool = True,
        n_jobs: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str | Solver = "lbfgs",
        smoothing: str | float | Smoothing = "adaptive",
        n_threads: int | None = None,
        low_memory: bool = False,
        verbose: int = 0,
        callback: Callback | None = None,
        progress: Callable[[Step], None] | None = None,
    ):
        self.measure = measure
        self.bound = bound
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.cv = cv
        self.average = average
        self.n_jobs = n_jobs
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.smoothing = smoothing
        self.n_threads = n_threads
        self.low_memory = low_memory
        self.verbose = verbose
        self.callback = callback
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Choose, and fit to all rows; arguments as in :meth:`MeasureRanker.fit`.

        Weights count in training and in the scores on held-out queries. Of a store, rows of folds are copied into
        memory.
        """
        measure = get_query_measure(self.measure)
        candidates = candidates_for(measure, self.bound)
        solver = solver_of(self)
        check_ranks(solver, *(candidate.measure for candidate in candidates))
        check_n_threads(self.n_threads)
        X, queries = self._queries(X, y, qid, group, sample_weight)
        if self.bound == "auto":  # grades may be huge where the measure does not look at their size
            candidates = tuple(one for one in candidates if one.measure.takes(queries.grades))
        for candidate in candidates:
            candidate.measure.risk(queries)  # which says what does not suit it
        from_data = self.alphas is None
        levels = levels_for(X, queries.weights, self.n_alphas) if self.alphas is None else checked_alphas(self.alphas)
        settings = Settings(solver=loosened(solver), low_memory=self.low_memory, literal=not from_data)
        race = QueryRace(measure, candidates, levels, open_end=from_data)
        self._compare(race, X, queries, settings)
        with use_threads(self.n_threads):
            rows = QueryRows(X, queries, settings)
            callback = make_callback(self.verbose, self.callback)
            winner, index, _, result = race.winner(lambda one: QueryTrail(one, rows), solver, callback)
            others = self._others(race, rows, winner, index, result, solver, callback)
        warn_if_nothing_is_told(result)
        report_end(result, solver.tol, self.verbose)
        self._keep(result)
        self._keep_average({winner: (1.0, result), **others}, queries)
        self.n_iter_ = max(1, result.n_iter)  # scikit-learn wants at least 1, also where the start is good enough
        self._keep_choice(race, rows, winner, index)
        return self

    def _compare(self, race: QueryRace, X: Any, queries: Queries, settings: Settings) -> None:
        """Train candidates on the training part of every split, and score the held-out part."""
        grades, weights, numbers = queries.by_row(queries.grades), queries.weights, queries.numbers
        splits = query_splits(self.cv, numbers, race.measure.counted(queries))

        def queries_of(rows: Rows) -> Queries:
            return Queries.of(grades[rows], numbers[rows], None if weights is None else weights[rows])

        def part(train: Rows, test: Rows) -> Part:
            rows = QueryRows(X[train], queries_of(train), settings)
            held_out = HeldOutQueries(test, queries_of(test))
            return Part(lambda candidate: QueryTrail(candidate, rows), held_out, X[test])

        compare(self, race, splits, part)

    def _others(
        self,
        race: QueryRace,
        rows: QueryRows,
        winner: RankingCandidate,
        index: int,
        result: Result,
        solver: ConvexSolver,
        callback: Callback | None,
    ) -> dict[RankingCandidate, tuple[float, Result]]:
        """What else is averaged: shares beside the winner's 1, and fits to all rows."""
        others: dict[RankingCandidate, tuple[float, Result]] = {}
        if not self.average:
            return others
        for (candidate, level), share in race.shares(winner, index).items():
            if candidate == winner or result.status is Status.STOPPED:
                continue
            result = race.fit_to_all(QueryTrail(candidate, rows), level, solver, callback)
            report_end(result, solver.tol, self.verbose)
            others[candidate] = share, result
        return others

    def _keep_average(self, members: dict[RankingCandidate, tuple[float, Result]], queries: Queries) -> None:
        """Make the average of some fits the model, unless one alone tells documents apart: the first is the winner."""
        units = {one: _deviation(queries, fit) for one, (_, fit) in members.items()}
        winner = next(iter(members))
        shares = {one: share for one, (share, _) in members.items() if units[one] > 0.0 or one == winner}
        whole = sum(shares.values())
        self.averaged_ = {str(one): share / whole for one, share in shares.items()}
        if len(shares) > 1:
            self.coef_ = np.zeros_like(self.coef_)
            for one, share in shares.items():
                self.coef_ += share / whole / units[one] * members[one][1].coef

    def _keep_choice(self, race: QueryRace, rows: QueryRows, winner: RankingCandidate, index: int) -> None:
        """What was tried, and what was chosen."""
        trails = {one: QueryTrail(one, rows) for one in race.candidates}
        words = {
            one: {"measure": one.measure.name, "bound": one.bound, "target": one.target or ""}
            for one in race.candidates
        }
        self.trained_for_ = winner
        keep_choice(self, race, trails, words, winner, index)

    def as_ranker(self) -> MeasureRanker:
        """Return the fitted model as a MeasureRanker with ``alpha_`` and these weights, averaged or not.

        Its ``measure`` is the one to be good at, which is not always the one that it was trained with: that is in
        ``trained_for_``.
        """
        check_is_fitted(self)
        mine = self.get_params(deep=False)
        shared = {name: mine[name] for name in MeasureRanker().get_params(deep=False) if name in mine}
        solver = "lbfgs" if self.solver == "auto" else self.solver  # which is another for single rankers
        ranker = MeasureRanker(**{**shared, "alpha": self.alpha_, "bound": "auto", "solver": solver})
        for name, value in vars(self).items():
            if is_fitted_attribute(name) and name not in OF_THE_CHOICE:
                setattr(ranker, name, value)
        return ranker

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`as_ranker` to a file that :func:`smoothperf.load` reads."""
        self.as_ranker().save(path)


def _deviation(queries: Queries, result: Result) -> float:
    """Root of the mean square of scores, less the mean of each query; 0 if they tell nothing apart."""
    assert result.scores is not None
    if tells_nothing(result.scores):
        return 0.0
    return float(np.sqrt(np.mean(queries.centred(queries.by_document(result.scores)) ** 2)))
