"""A linear model that orders the documents of queries, trained for a measure of rankings."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array
from ..io.model_file import kept_in_files
from ..io.store import Store
from ..measures import Queries, QueryMeasure, get_query_measure
from ..measures.queries.queries import missing_entries
from ..optimise import Callback, ConvexSolver, Result, Solver
from ..optimise.smoothing import Smoothing
from ..tasks.base import Ending
from ..tasks.features import R
from ..tasks.queries import QueryRows, QueryTask
from ..tasks.query_choice import RankingCandidate, candidate_for
from ..threads import check_n_threads
from .linear import CertifiedModel
from .messages import warn_of_zero_ranker
from .problem import Taken, check_lengths, checked_rows, features_of, opened, solver_of, taken

#: The column of a data frame that says which query a row belongs to, as in XGBoost.
QUERY_COLUMN = "qid"


class LinearRanker(CertifiedModel):
    """Base of the rankers: everything but ``fit``."""

    measure: str | QueryMeasure
    bound: Any
    low_memory: bool
    intercept_: float

    task_kind: ClassVar[type[QueryTask]] = QueryTask
    _labels_in_files: ClassVar[dict[str, int]] = {}

    @staticmethod
    def _numbers_in_files(n_features: int) -> dict[str, tuple[int, ...]]:
        """Shapes of the arrays that a model file must have."""
        return {"coef_": (n_features,)}

    @property
    def trained_with(self) -> RankingCandidate:
        """The risk that was minimised: the one that was chosen, or that of the measure."""
        chosen: RankingCandidate | None = getattr(self, "trained_for_", None)
        return candidate_for(get_query_measure(self.measure), self.bound) if chosen is None else chosen

    def predict(self, X: Any) -> Array:
        """Return the score of every row, ``X @ coef_``: within a query the documents with the highest come first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), path or Store
            Documents.

        Returns
        -------
        ndarray of shape (n,)
            The scores.
        """
        check_is_fitted(self)
        if QUERY_COLUMN not in getattr(self, "feature_names_in_", ()):
            X, _ = without_queries(X)
        return self._products(X, self.coef_)

    def score(
        self,
        X: Any,
        y: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the measure, as a mean over the queries of test data.

        Parameters
        ----------
        X, y, qid, group, sample_weight
            As in ``fit``.

        Returns
        -------
        float
            The measure.
        """
        X, qid = with_queries(opened(X), qid, group)
        given = taken(X, y, sample_weight)
        if given.y is None:
            raise ValueError("y is None: grades are needed unless X is a store.")
        scores = self.predict(X)
        check_lengths(scores, given.y)
        ids = query_ids(scores.shape[0], queries_of(given, qid, group), group)
        return get_query_measure(self.measure).score(given.y, scores, ids, given.sample_weight)

    def _rows(
        self,
        X: Any,
        y: ArrayLike | None,
        qid: ArrayLike | None,
        group: ArrayLike | None,
        sample_weight: ArrayLike | None,
    ) -> QueryRows:
        """Check what was passed to ``fit``, and remember the features."""
        X, qid = with_queries(X, qid, group)
        given = taken(X, y, sample_weight)
        if given.y is None:
            raise ValueError("y is None: grades are needed unless X is a store.")
        check_lengths(given.X, given.y)
        check_grades_are_there(given.y)
        X, grades = checked_rows(self, given, y_numeric=True)
        ids = query_ids(len(grades), queries_of(given, qid, group), group)
        queries = Queries.of(grades, ids, given.sample_weight)
        return QueryRows(X, queries, features=features_of(self), low_memory=self.low_memory)

    def _prepare(self, rows: R) -> R:
        """The rows with their features; bounds of their weights are refused, as rankers would not keep them."""
        whole = super()._prepare(rows)
        bounds = None if whole.columns is None else whole.columns.bounds
        if bounds is not None and np.isfinite(bounds).any():
            raise ValueError(
                "features asks for monotone effects, with bounds of weights, which rankers do not have: leave out "
                "monotonic_cst."
            )
        return whole

    def _keep_ending(self, result: Result, ending: Ending) -> None:
        """Make the outcome of a run the fitted model."""
        self._keep(result)

    def _keep(self, result: Result) -> None:
        """Make the outcome of a run the fitted model."""
        self.coef_ = result.coef
        self.intercept_ = 0.0
        self._keep_result(result)


def check_grades_are_there(y: Any) -> None:
    """Say where a grade is missing or not finite; scikit-learn's own message does not."""
    grades = np.asarray(y)
    missing = missing_entries(grades) if grades.ndim == 1 else np.zeros(0, dtype=bool)
    if missing.any():
        at = int(missing.argmax())
        raise ValueError(f"y must be finite, got {grades[at]} at position {at}; remove or replace such entries.")


def has_queries(X: Any, qid: ArrayLike | None, group: ArrayLike | None) -> bool:
    """Whether rows are documents of queries: of those that are given, or that a store has."""
    return qid is not None or group is not None or (isinstance(X, Store) and X.has_queries)


def without_queries(X: Any) -> tuple[Any, Any]:
    """Take the column "qid" out of a data frame; None for the column if there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> X, qid = without_queries(pd.DataFrame({"price": [1.0, 2.0], "qid": [7, 7]}))
    >>> list(X), list(qid)
    (['price'], [7, 7])
    """
    if not hasattr(X, "__getitem__") or QUERY_COLUMN not in getattr(X, "columns", ()):
        return X, None
    return X[[name for name in X.columns if name != QUERY_COLUMN]], X[QUERY_COLUMN]


def with_queries(X: Any, qid: ArrayLike | None, group: ArrayLike | None) -> tuple[Any, ArrayLike | None]:
    """The features, and the query of each row: that of the column "qid", if X has one."""
    X, column = without_queries(X)
    if column is None:
        return X, qid
    if qid is not None or group is not None:
        given = "group" if qid is None else "qid"
        raise ValueError(
            f"X has a column {QUERY_COLUMN!r}, which says which query a row belongs to, and so does {given}=: drop or "
            f"rename the column, or leave out {given}."
        )
    return X, np.asarray(column)


def queries_of(given: Taken, qid: ArrayLike | None, group: ArrayLike | None) -> ArrayLike | None:
    """The query of each row as it was given, or as the store has it that was given."""
    store = given.store
    if store is None or qid is not None or group is not None:
        return qid
    if not store.has_queries:
        raise ValueError(
            f"{store.path} does not say which query a row belongs to: give qid, or convert data that have it, such as "
            "text in svmlight format with qid:number."
        )
    return store.qid


def query_ids(length: int, qid: ArrayLike | None, group: ArrayLike | None) -> ArrayLike:
    """The query of each of ``length`` rows, from whichever of the two was given.

    Examples
    --------
    >>> query_ids(5, None, [2, 3])
    array([0, 0, 1, 1, 1])
    """
    if (qid is None) == (group is None):
        got = "neither" if qid is None else "both"
        raise ValueError(
            "which rows belong to the same query must be said in one way: give qid, the query of each row, or group, "
            f"the sizes of queries whose rows follow one another; got {got}."
        )
    if qid is not None:
        return qid
    sizes = np.asarray(group)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu":
        raise ValueError(
            f"group must be a vector of whole numbers, got shape {sizes.shape} and type {sizes.dtype}: "
            "it has the number of rows of each query."
        )
    if sizes.size and sizes.min() < 0:
        raise ValueError(f"group must not be negative, got {sizes.min()} at position {int(sizes.argmin())}.")
    if int(sizes.sum()) != length:
        raise ValueError(
            f"group adds up to {int(sizes.sum())} but there are {length} rows; it has the number of rows of each "
            "query. Give the query of each row as qid instead."
        )
    return np.repeat(np.arange(sizes.size), sizes)


@kept_in_files
class MeasureRanker(LinearRanker):
    """Linear model that orders the documents of each query, trained for a measure such as NDCG@10.

    Minimises ``J(w) = (alpha/2) |w|^2 + R(Xw)``, where R is a bound of ``1 - measure`` as a mean over queries. That
    of pairs (``measure="pairs"``, the ranking SVM) is convex, with a certified gap. Those of NDCG, precision@k and
    recall@k are tight ones, minimised by convex steps from the minimiser for squared loss or pairs.

    Parameters
    ----------
    measure : str or QueryMeasure, default="ndcg@10"
        The measure to be good at: "ndcg", "ndcg@10", "pairs" (the ROC area within queries), "precision@5", "recall@5",
        "map", "mrr", "squared_loss", or an object such as ``NDCG(10, gain="linear")``; docs/ranking.md has them all.
    alpha : float, default=1e-3
        Strength of the regulariser; the risk is an average, so alpha does not scale with the number of queries.
        :class:`~smoothperf.MeasureRankerCV` chooses it.
    bound : {"auto", "convex", "tight"}, default="auto"
        Which bound of ``1 - measure`` to minimise. "convex" has a certificate of the global minimum, but for measures
        of places it is often least where all scores are equal. "tight" does not collapse so easily (docs/maths.md,
        tight-risk); a stationary point of it is found. Where that of NDCG is no lower than at zero weights, it is one
        with the order of the scores as the target, which never asks for too much (``tight_target`` of
        :class:`~smoothperf.NDCG`). "auto" is "convex" for pairs and squared loss, which do not collapse, and "tight"
        for all others.
    features : transformer, optional
        Makes the features of X, as in :class:`~smoothperf.MeasureClassifier`.
    tol : float, default=1e-3
        Largest certified gap between ``objective_`` and the optimum; for the tight bound, what a convex step may still
        gain.
    max_iter : int, default=1000
        Most iterations.
    solver : {"auto", "lbfgs", "nesterov", "bmrm"} or solver object, default="auto"
        "auto" is L-BFGS. An object brings its own ``tol``, ``max_iter`` and ``smoothing``.
    smoothing : "adaptive", float or Smoothing object, default="adaptive"
        Smoothing of the risk; a number is a fixed mu. BMRM does not smooth.
    warm_start : bool, default=False
        Start from the weights of the previous fit.
    n_threads : int, optional
        Threads for the products with X and for queries; as many as there are cores by default.
    low_memory : bool, default=False
        As in :class:`~smoothperf.MeasureClassifier`.
    verbose : int, default=0
        1 prints a line about once a second and at the end, 2 one per iteration; to standard error.
    callback : callable, optional
        Called with a :class:`~smoothperf.optimise.TraceRow` after every iteration; a true return value stops the fit.
    checkpoint : path-like or callable, optional
        A file for the model so far, as in :class:`~smoothperf.MeasureClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights.
    intercept_ : float
        0: a constant changes no order.
    objective_, lower_bound_, gap_ : float
        Exact J at the solution, a certified lower bound of its minimum, and their difference. For the tight bound J is
        that of the tight risk, and the other two, which speak of a global minimum, are NaN.
    stationarity_gap_ : float
        For the tight bound, what the last convex step could gain at most, certified; NaN for the convex one.
    n_iter_ : int
        Iterations.
    result_ : Result
        Everything the solver has to say, with the trace of all iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf import MeasureRanker
    >>> rng = np.random.default_rng(0)
    >>> qid = np.repeat(np.arange(40), 10)
    >>> X = rng.normal(size=(400, 5))
    >>> y = np.digitize(X @ [2, -1, 1, 0, 0] + rng.normal(size=400), [1, 3])   # grades 0, 1 and 2
    >>> ranker = MeasureRanker("ndcg@5").fit(X[:300], y[:300], qid=qid[:300])
    >>> bool(ranker.score(X[300:], y[300:], qid=qid[300:]) > 0.8)
    True
    >>> pairs = MeasureRanker("pairs").fit(X[:300], y[:300], group=[10] * 30)
    >>> bool(pairs.gap_ <= 1e-3)
    True
    """

    def __init__(
        self,
        measure: str | QueryMeasure = "ndcg@10",
        alpha: float = 1e-3,
        *,
        bound: str = "auto",
        features: Any = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str | Solver = "auto",
        smoothing: str | float | Smoothing = "adaptive",
        warm_start: bool = False,
        n_threads: int | None = None,
        low_memory: bool = False,
        verbose: int = 0,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | Callable[[Any], object] | None = None,
    ):
        self.measure = measure
        self.alpha = alpha
        self.bound = bound
        self.features = features
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.smoothing = smoothing
        self.warm_start = warm_start
        self.n_threads = n_threads
        self.low_memory = low_memory
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit to documents of queries.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), path or Store
            A row for each document; dense in any order, CSR or CSC; float32 and float64 are used as they are. The path
            of a store (:func:`smoothperf.io.convert`) trains from its files, without a copy of them.
        y : array-like of shape (n,)
            Relevance of each document to its query: grades, 0 or more. Not needed for a store, which has them.
        qid : array-like of shape (n,), optional
            The query of each document: numbers or words. Rows of a query need not follow one another. Not needed for a
            store that has them, nor for a data frame with a column named "qid", which is no feature then, as in
            XGBoost.
        group : array-like of int, optional
            In place of ``qid``, how many rows each query has, if they follow one another: as in LightGBM and XGBoost.
        sample_weight : array-like of shape (n,), optional
            Weight of the query of each document, the same for all documents of one; an integer c stands for c
            copies of the query. ``np.repeat(weights, group)`` makes it from weights of queries.

        Returns
        -------
        self
            The fitted estimator.
        """
        task, candidate, rows, solver = self._problem(X, y, qid, group, sample_weight)
        _, result, ending = self._minimise(task, candidate, rows, solver, self._last_weights(rows.X.shape[1]))
        if ending.empty:
            warn_of_zero_ranker(self.alpha, tight=candidate.bound == "tight")
        self._keep_ending(result, ending)
        return self

    def _problem(self, *given: Any) -> tuple[QueryTask, RankingCandidate, QueryRows, ConvexSolver]:
        """The task, the candidate, the rows and the solver that parameters and the data of fit describe, checked."""
        task = QueryTask(measure=get_query_measure(self.measure))
        candidate = task.candidate(self.bound)
        solver = solver_of(self)
        check_n_threads(self.n_threads)
        return task, candidate, self._prepare(self._rows(*given)), solver

    def _last_weights(self, n_features: int) -> Array | None:
        """Weights to start from, where those of an earlier fit are wanted and fit these features."""
        previous: Array | None = getattr(self, "coef_", None)
        if not self.warm_start or previous is None or previous.shape[0] != n_features:
            return None
        return previous
