"""The estimator: :class:`smoothperf.MeasureRanker` for documents on the workers of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from distributed import Client

from ..estimators import ranker as local
from ..estimators.messages import warn_of_zero_ranker
from ..measures import Queries, QueryMeasure, get_query_measure
from ..optimise import Callback, Solver
from ..optimise.smoothing import Smoothing
from ..tasks.queries import QueryTask
from .blocks import Summary
from .cluster import OnCluster
from .program import Job
from .queries import DOCUMENTS, QuerySettings, agree_on_queries, extreme_grades, ranked_score, ranked_sources


class MeasureRanker(OnCluster, local.MeasureRanker):
    """:class:`smoothperf.MeasureRanker` for documents that are spread over the workers of a Dask cluster.

    All documents of a query must be on one worker. Where blocks split a query between workers, its rows are sent to
    one of them before the fit begins, whatever the order of the rows; all other rows stay where they are. The same
    solvers minimise the same objective to the same certified gap. docs/dask.md has more.

    Parameters
    ----------
    measure, alpha, bound, tol, max_iter, solver, smoothing, warm_start, callback
        As in :class:`smoothperf.MeasureRanker`.
    client, patience, n_threads, verbose, checkpoint
        As in :class:`smoothperf.dask.MeasureClassifier`.

    Attributes
    ----------
    coef_, intercept_, objective_, lower_bound_, gap_, stationarity_gap_, n_iter_, result_
        As in :class:`smoothperf.MeasureRanker`.
    traffic_, n_losses_
        As in :class:`smoothperf.dask.MeasureClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from smoothperf.dask import MeasureRanker
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(400, 5))
    >>> grades = np.digitize(features @ [2, -1, 1, 0, 0] + rng.normal(size=400), [1, 3])
    >>> X, y, qid = (da.from_array(values, chunks=55) for values in (features, grades, np.arange(400) // 10))
    >>> X = X.rechunk((55, 5))
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     ranker = MeasureRanker("pairs").fit(X, y, qid)
    ...     ranker.gap_ <= 1e-3, ranker.score(X, y, qid) > 0.8
    (True, True)
    """

    in_memory = local.MeasureRanker

    def __init__(
        self,
        measure: str | QueryMeasure = "ndcg@10",
        alpha: float = 1e-3,
        *,
        bound: str = "auto",
        client: Client | None = None,
        patience: float = 60.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str | Solver = "lbfgs",
        smoothing: str | float | Smoothing = "adaptive",
        warm_start: bool = False,
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | Callable[[Any], object] | None = None,
    ):
        super().__init__(
            measure,
            alpha,
            bound=bound,
            tol=tol,
            max_iter=max_iter,
            solver=solver,
            smoothing=smoothing,
            warm_start=warm_start,
            n_threads=n_threads,
            verbose=verbose,
            callback=callback,
            checkpoint=checkpoint,
        )
        self.client = client
        self.patience = patience

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Fit to documents on the workers.

        Parameters
        ----------
        X : dask array or data frame, delayed object, future, path, or list of delayed objects, futures or paths
            Blocks of rows, as in :class:`smoothperf.dask.MeasureClassifier`. Delayed objects and futures are
            ``(X, y, qid)`` or ``(X, y, qid, weights)``, or X alone if there are y and qid. Paths are of stores with
            queries, or text in svmlight format with qid:number.
        y : of the same kind as X, optional
            Grades of relevance to the query, 0 or more, one a document. Not needed if the blocks bring theirs.
        qid : of the same kind as y, optional
            The query of each document: numbers or words. Blocks may split queries.
        sample_weight : of the same kind as y, optional
            The weight of the query of each document, the same for all documents of one.

        Returns
        -------
        self : MeasureRanker
            The fitted model.
        """
        task = QueryTask(measure=get_query_measure(self.measure))
        job = Job.of(task, self.bound, self.alpha, self._solver())

        def settle(summaries: list[Summary]) -> QuerySettings:
            settings = agree_on_queries(summaries)
            # What the measure has to say about the grades that occur, before any worker begins.
            job.candidate.measure.of_queries(Queries.of(extreme_grades(summaries), [0, 0]), np.zeros(2))
            return settings

        blocks = ranked_sources(X, y, qid, sample_weight)
        start = lambda: self._last_weights(self.n_features_in_)  # noqa: E731 (known once blocks have been looked at)
        found = self._train(lambda n_features: job, blocks, settle, start, kind=DOCUMENTS)
        if found.ending.empty:
            warn_of_zero_ranker(self.alpha, tight=job.tight)
        return self

    def predict(self, X: Any) -> Any:
        """Return the score of every row, ``X @ coef_``.

        Those of a dask array are a dask array, of a dask data frame a series, of a delayed object a delayed object, and
        are computed when they are asked for. Anything else is scored here and now.

        Parameters
        ----------
        X : dask array or data frame, delayed object, or data in memory
            Rows.

        Returns
        -------
        scores : dask array or series, delayed object, or ndarray
            One for each row.
        """
        return self._predicted("predict", X)

    def score(  # type: ignore[override]
        self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the measure, as a mean over the queries of test data, which may be anything that :meth:`fit` takes.

        Scores, grades and queries of all rows are gathered here. For data in memory no cluster is needed.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        score : float
            Higher is better.
        """
        if self._is_in_memory(X):
            return super().score(X, y, qid, sample_weight=sample_weight)
        return ranked_score(self._cluster(), self.to_local(), X, y, qid, sample_weight)
