"""A ranker that chooses what to train with and how strongly to regularise: by the measure, on held-out queries.

Held-out queries are seldom enough to tell which candidate is best, so the winner does not take it all. Let candidate
k, at its best alpha, be d_k behind the winner in the mean over these queries, with a standard error of e_k. Then the
model is an average in which it counts

    share_k ~ exp(-(d_k / e_k)^2 / 2)                                                            (average-shares)

with scores in units of their deviation within queries. All are linear, and so is their average.

(Measured on 16 problems that are not in benchmarks/ranking_elsewhere.py, six or seven draws of each: NDCG@10 is higher
than that of the winner by 0.002, with a standard error of 0.001. As good as this: to take the winner where it is ahead
of the average on held-out queries, shares by half the standard error, and shares that are picked greedily to be best on
these. Equal shares are worse by 0.006, with a standard error of 0.004.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array
from ..evaluation import is_constant
from ..measures import Queries, QueryMeasure, get_query_measure
from ..optimise import Callback, ConvexSolver, Result, Solver, Status
from ..optimise.smoothing import Smoothing
from ..tasks.queries import QueryRows, QueryTask
from ..tasks.query_choice import RankingCandidate
from ..threads import check_n_threads, use_threads
from .choice import N_STRENGTHS, Choice, Chosen, Step
from .cross_validated import CrossValidated
from .problem import solver_of
from .ranker import LinearRanker, MeasureRanker

#: Candidates that count less beside the winner are left out of an average: they are three standard errors behind.
LEAST_SHARE = 0.01


class MeasureRankerCV(CrossValidated[MeasureRanker], LinearRanker):
    """A linear ranker that chooses what to train with, and how strongly to regularise.

    Several risks are trained along paths of falling alphas: squared losses and pairs, the baselines, and the tight
    bounds of the measure, unless they are behind a baseline in both of the first two splits. The best mean of the
    measure on held-out queries wins. The model is an average: of the winner, fitted to all rows, and of the others at
    their best alphas, each by its share, which is the smaller, the more standard errors it is behind on these queries.

    Parameters
    ----------
    measure : str or QueryMeasure, default="ndcg@10"
        The measure to be good at.
    bound : {"auto", "convex", "tight"} or list of (measure, bound), default="auto"
        Candidates to choose from. "auto": squared loss within queries and of all documents, pairs, and the tight bounds
        of the measure, with both targets of NDCG. "convex" or "tight": that risk of the measure only. A list names the
        candidates, such as ``[("pairs", "convex"), ("ndcg@10", "tight")]``.
    alphas : array-like, optional
        The alphas to choose from, for all candidates; the first two splits try every one. By default they follow
        from the size of the features and suit each candidate; smaller ones are added while that pays.
    n_alphas : int, default=6
        Their number to begin with, if ``alphas`` is not given: each a tenth of the one before.
    cv : int, float, splitter or iterable, default=5
        An int is a number of folds of whole queries; they are drawn three times if fewer than 200 queries have
        documents of different grades, as luck decides much then. A share between 0 and 1 holds out one validation
        set. A splitter of scikit-learn that knows groups, or an iterable of ``(train, test)`` row indices, says it
        all; ``[(train, validation)]`` is a validation set of your own.
    average : bool, default=True
        Whether the model is the average; if not, it is the winner alone.
    features : transformer, optional
        Makes the features of X, as in :class:`~smoothperf.MeasureClassifierCV`.
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
        The winner: its ``measure`` and its ``bound``.
    alpha_ : float
        Its alpha.
    averaged_ : dict of str to float
        The shares of what was averaged, the winner first; they sum to 1. One entry if there was nothing to average.
    cv_results_ : dict
        All that was tried, in the form of scikit-learn's searches: "params" with measure, bound, target (of the tight
        bound of NDCG, or "") and alpha, and "split0_test_score", ..., "mean_test_score", "std_test_score",
        "rank_test_score". NaN where a split did not try something, which had been dropped before.
    best_index_ : int
        Position of the chosen one in ``cv_results_``.
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

    single = MeasureRanker

    def __init__(
        self,
        measure: str | QueryMeasure = "ndcg@10",
        *,
        bound: str | Sequence[Any] = "auto",
        alphas: ArrayLike | None = None,
        n_alphas: int = N_STRENGTHS,
        cv: Any = 5,
        average: bool = True,
        features: Any = None,
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
        self.features = features
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
        """Choose, and fit to all rows.

        Parameters
        ----------
        X, y, qid, group
            As in :meth:`MeasureRanker.fit`; of a store, rows of folds are copied into memory.
        sample_weight : array-like of shape (n,), optional
            As in :meth:`MeasureRanker.fit`; weights count in the scores on held-out queries, too.

        Returns
        -------
        self
            The fitted estimator.
        """
        task = QueryTask(measure=get_query_measure(self.measure))
        candidates = task.candidates(self.bound)
        solver = solver_of(self)
        check_n_threads(self.n_threads)
        rows = self._rows(X, y, qid, group, sample_weight)
        splits = task.splits(self.cv, rows)
        rows, whole = self._with_features(rows, splits, solver, lambda _: task)
        if self.bound == "auto":  # grades may be huge where the measure does not look at their size
            candidates = tuple(one for one in candidates if one.measure.takes(rows.known.grades))
        choice, chosen = self._choose(task, {one: one for one in candidates}, rows, whole, splits, solver)
        others = self._others(choice, whole, chosen, solver) if self.average else {}
        self._keep(chosen.result)
        self._keep_average({chosen.candidate: (1.0, chosen.result), **others}, rows.known)
        self.n_iter_ = max(1, chosen.result.n_iter)  # scikit-learn wants at least 1, also where the start is good
        self._keep_choice(choice, whole, solver, chosen)
        return self

    def _others(
        self,
        choice: Choice[Queries, RankingCandidate],
        rows: QueryRows,
        chosen: Chosen[RankingCandidate],
        solver: ConvexSolver,
    ) -> dict[RankingCandidate, tuple[float, Result]]:
        """Candidates to average with the winner: their shares beside its 1, and their fits to all rows."""
        others: dict[RankingCandidate, tuple[float, Result]] = {}
        result = chosen.result
        for (candidate, place), share in shares_of(choice, chosen.candidate, chosen.place).items():
            if candidate == chosen.candidate or result.status is Status.STOPPED:
                continue
            with use_threads(self.n_threads):
                result = choice.fit_to_all(rows, candidate, place, solver, self._callback()).result
            self._report(result, solver.tol)
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

    def as_ranker(self) -> MeasureRanker:
        """Return the fitted model as a MeasureRanker with ``alpha_`` and these weights, averaged or not.

        Returns
        -------
        MeasureRanker
            Its ``measure`` is the one to be good at, which is not always the one that it was trained with: that is in
            ``trained_for_``.
        """
        check_is_fitted(self)
        solver = "lbfgs" if self.solver == "auto" else self.solver  # which is another for single rankers
        return self._as_single(alpha=self.alpha_, bound="auto", solver=solver)

    _as_saved = as_ranker


def _deviation(queries: Queries, result: Result) -> float:
    """Root of the mean square of scores, less the mean of each query; 0 if they are constant."""
    assert result.scores is not None
    if is_constant(result.scores):
        return 0.0
    return float(np.sqrt(np.mean(queries.centred(queries.by_document(result.scores)) ** 2)))


def shares_of(
    choice: Choice[Queries, RankingCandidate], winner: RankingCandidate, index: int
) -> dict[tuple[RankingCandidate, int], float]:
    """Share of each candidate in an average, at its best strength, beside the winner's 1; (average-shares)."""
    measure, splits = choice.task.measure, choice.splits

    def of_queries(key: tuple[RankingCandidate, int]) -> Array:
        """The measure of every query that is held out in some split."""
        values = np.concatenate([measure.of_queries(split.judged, split.scores[key]) for split in splits])
        kept: Array = values[~np.isnan(values)]
        return kept

    best = of_queries((winner, index))
    weights = np.concatenate([_weights_that_count(measure, split.judged) for split in splits])
    weights /= weights.sum()
    found = {(winner, index): 1.0}
    for key in choice.ranked():
        if key[0] != winner:
            behind = best - of_queries(key)
            mean = float(weights @ behind)
            error = math.sqrt(float(weights**2 @ (behind - mean) ** 2) * choice.times_held_out())
            share = _likely(mean, error)
            if share >= LEAST_SHARE:
                found[key] = share
    return found


def _weights_that_count(measure: QueryMeasure, queries: Queries) -> Array:
    """Weights of the queries that count."""
    left_out = np.isnan(measure.of_queries(queries, np.zeros(queries.here_count)))
    return measure.weights(queries)[~left_out]


def _likely(behind: float, error: float) -> float:
    """``exp(-(behind / error)^2 / 2)``, also where there is no error.

    Examples
    --------
    >>> round(_likely(0.02, 0.01), 4), _likely(0.0, 0.0), _likely(0.02, 0.0), _likely(-0.01, 0.01)
    (0.1353, 1.0, 0.0, 1.0)
    """
    if behind <= 0.0:
        return 1.0
    return math.exp(-0.5 * min(behind / error, 30.0) ** 2) if error > 0.0 else 0.0
