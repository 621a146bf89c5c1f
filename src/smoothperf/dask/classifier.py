"""The estimator: :class:`smoothperf.MeasureClassifier` for rows on the workers of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Self

from distributed import Client

from .._validation import choice
from ..estimators import classifier as local
from ..estimators.problem import label_task
from ..estimators.scores import LinearMeasureClassifier
from ..measures import Measure, get_measure
from ..optimise import Callback, Solver
from ..optimise.smoothing import Smoothing
from ..tasks.base import BOUNDS
from ..tasks.bias import Bias
from .agreement import agree, class_counts
from .blocks import Summary
from .cluster import OnCluster
from .inputs import Source, sources
from .parts import LabelSettings
from .prediction import score
from .program import Job

#: Measures that work here, for messages.
MEASURES = (
    "prbep, precision@k, recall@k, roc_area, roc_area@fpr, f1 and f-beta, jaccard, error_rate, "
    "balanced_error_rate, log_loss, squared_hinge, and goals such as average_precision and recall@precision=0.9"
)


def check_works_in_groups(measure: Measure) -> None:
    """Refuse a measure whose risk needs all rows in memory."""
    if not measure.works_in_groups:
        raise ValueError(
            f"{measure.name} needs all rows in memory; the measures that work on a cluster are {MEASURES}."
        )


class LabelsOnCluster(OnCluster, LinearMeasureClassifier):
    """Base of the classifiers for a cluster: labels, scores of rows wherever they are, and the measure of them."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, base_scores: Any = None) -> Self:
        """Fit to rows on the workers.

        Parameters
        ----------
        X : dask array or data frame, delayed object, future, path, or list of delayed objects, futures or paths
            Blocks of rows; chunks of arrays are dense or SciPy's sparse matrices. Delayed objects and futures are
            ``(X, y)``, ``(X, y, weights)`` or ``(X, y, weights, base_scores)``, where weights may be None; or X alone,
            if there is y. Paths are of stores, .npz files or text in svmlight format, which the workers can read.
        y : of the same kind as X, optional
            Two kinds of labels; ``pos_label``, or the larger in sorted order, is positive. Not needed if the blocks
            bring theirs.
        sample_weight : of the same kind as y, optional
            Non-negative weights; an integer weight c stands for c copies.
        base_scores : of the same kind as y, optional
            An offset of the scores, such as the :meth:`decision_function` of another model: what is trained is added to
            it. Files have none.

        Returns
        -------
        self
            The fitted model.
        """
        self._fit_blocks(sources(X, y, sample_weight, base_scores))
        return self

    def _fit_blocks(self, blocks: list[Source]) -> None:
        """Fit to blocks of rows."""
        raise NotImplementedError

    def decision_function(self, X: Any, base_scores: Any = None) -> Any:
        """Return the signed scores; positive ones are predicted positive.

        Those of a dask array are a dask array, of a dask data frame a series, of a delayed object a delayed object, and
        are computed when they are asked for. Anything else is scored here and now. ``base_scores``, for a model that
        was fitted with such, are of the kind of X, with the same blocks; of a dask array also an array in memory.

        Parameters
        ----------
        X : dask array or data frame, delayed object, or data in memory
            Rows.
        base_scores : of the same kind as X, optional
            An offset of the scores.

        Returns
        -------
        scores : dask array or series, delayed object, or ndarray
            One for each row.
        """
        return self._predicted("decision_function", X, base_scores)

    def predict(self, X: Any, base_scores: Any = None) -> Any:
        """Return the predicted labels; of the same kind as those of :meth:`decision_function`.

        Parameters
        ----------
        X, base_scores
            As in :meth:`decision_function`.

        Returns
        -------
        labels : dask array or series, delayed object, or ndarray
            One for each row.
        """
        return self._predicted("predict", X, base_scores)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, base_scores: Any = None) -> float:
        """Return the measure itself on test data (not the accuracy), which may be anything that :meth:`fit` takes.

        Measures of decisions (error rates, F-beta, Jaccard) gather four numbers from each block. The others compare
        the scores of all rows with one another: these are gathered here, with the labels. For data in memory no
        cluster is needed.

        Parameters
        ----------
        X, y, sample_weight, base_scores
            As in :meth:`fit`.

        Returns
        -------
        score : float
            Higher is better.
        """
        if self._is_in_memory(X):
            return super().score(X, y, sample_weight, base_scores)
        return score(self._cluster(), self.to_local(), X, y, sample_weight, base_scores)

    def _settle(self, summaries: list[Summary], class_weight: Any = None) -> LabelSettings:
        """Make the blocks one data set, and remember its labels and whether there is an offset."""
        settings = agree(summaries, class_weight, self.pos_label)
        self._keep_labels(settings.classes, class_counts(settings.classes, summaries))
        self.has_base_scores_ = settings.based
        return settings


class MeasureClassifier(LabelsOnCluster, local.MeasureClassifier):
    """:class:`smoothperf.MeasureClassifier` for rows that are spread over the workers of a Dask cluster.

    The rows, and every vector with a number for each of them, stay on the workers. The same solvers minimise the same
    objective to the same certified gap; an iteration sends the d weights to each worker, and gets d numbers and a few
    more back. Rows of a worker that dies are loaded again, and the fit goes on. docs/dask.md has more.

    Parameters
    ----------
    measure, alpha, bound, l1_ratio, positive, coef_bounds, penalty_factors, tol, max_iter, solver, smoothing, \
fit_intercept, intercept_scaling, class_weight, pos_label, warm_start, callback
        As in :class:`smoothperf.MeasureClassifier`. The solver "newton" needs the rows in memory.
    client : distributed.Client, optional
        The cluster; by default that of the client which was made last.
    patience : float, default=60
        Seconds to wait for workers when there are none.
    n_threads : int, optional
        Threads of each worker; as many as it has for tasks by default.
    verbose : int, default=0
        1 prints a line about once a second and at the end, 2 one per iteration, and what went over the network; to
        standard error.
    checkpoint : path-like or callable, optional
        A file of the client for the model so far, as in :class:`smoothperf.MeasureClassifier`.

    Attributes
    ----------
    classes_, pos_label_, coef_, intercept_, bound_, objective_, lower_bound_, gap_, stationarity_gap_, n_iter_, result_
        As in :class:`smoothperf.MeasureClassifier`.
    traffic_ : Traffic
        Bytes and rounds between client and workers during the fit; ``traffic_.bytes_per_iteration``.
    n_losses_ : int
        Groups of blocks that were loaded again because their worker was gone.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from smoothperf.dask import MeasureClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = (da.from_array(values, chunks=200) for values in (scale(X), y))
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     clf = MeasureClassifier("prbep", alpha=1e-3).fit(X, y)
    ...     clf.gap_ <= 1e-3, clf.score(X, y) > 0.95
    (True, True)
    """

    in_memory = local.MeasureClassifier

    def __init__(
        self,
        measure: str | Measure = "roc_area",
        alpha: float = 1e-4,
        *,
        bound: str = "auto",
        l1_ratio: float = 0.0,
        positive: bool = False,
        coef_bounds: Any = None,
        penalty_factors: Any = None,
        client: Client | None = None,
        patience: float = 60.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str | Solver = "lbfgs",
        smoothing: str | float | Smoothing = "adaptive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        pos_label: Any = None,
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
            l1_ratio=l1_ratio,
            positive=positive,
            coef_bounds=coef_bounds,
            penalty_factors=penalty_factors,
            tol=tol,
            max_iter=max_iter,
            solver=solver,
            smoothing=smoothing,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            class_weight=class_weight,
            pos_label=pos_label,
            warm_start=warm_start,
            n_threads=n_threads,
            verbose=verbose,
            callback=callback,
            checkpoint=checkpoint,
        )
        self.client = client
        self.patience = patience

    def _fit_blocks(self, blocks: list[Source]) -> None:
        measure = get_measure(self.measure)
        solver = self._solver()
        choice("bound", self.bound, ("auto", *BOUNDS))
        check_works_in_groups(measure)

        def job(n_features: int) -> Job:
            return Job.of(label_task(self, n_features), self.bound, self.alpha, solver)

        bias = Bias(measure, self.fit_intercept, self.intercept_scaling)
        settle = partial(self._settle, class_weight=self.class_weight)
        found = self._train(job, blocks, settle, lambda: self._last_weights(bias, self.n_features_in_))
        coef = found.result.coef
        self._warn(bias, found.ending, job(self.n_features_in_).penalty.on(coef.size), coef, solver.tol)
