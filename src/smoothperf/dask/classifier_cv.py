"""The estimator: :class:`smoothperf.MeasureClassifierCV` for rows on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from distributed import Client
from numpy.typing import ArrayLike

from .._arrays import Array
from ..cuts.targets import check_count
from ..estimators import classifier_cv as local
from ..estimators.choice import N_STRENGTHS, Choice, Step, strengths_from
from ..estimators.problem import label_task
from ..measures import Measure, get_measure
from ..optimise import Callback, ConvexSolver, Solver
from ..optimise.smoothing import Smoothing
from ..tasks.base import Rows
from ..tasks.label_choice import candidates_for, label_splits
from .choice import DistantRows, GroupChoice
from .classifier import LabelsOnCluster, check_works_in_groups
from .cluster import OF_FITS
from .inputs import Source


class MeasureClassifierCV(LabelsOnCluster, local.MeasureClassifierCV):
    """:class:`smoothperf.MeasureClassifierCV` for rows that are spread over the workers of a Dask cluster.

    Folds are masks of the rows where they lie: no row travels. The client has labels, weights and scores of held-out
    rows, n numbers each, and chooses by them as :class:`smoothperf.MeasureClassifierCV` does in memory, so that the
    same folds lead to the same choice. Rows of a worker that dies are loaded again, and the split that it worked on
    begins again.

    Parameters
    ----------
    measure, bound, alphas, n_alphas, positive, coef_bounds, penalty_factors, calibration, operating_point, tol, \
max_iter, solver, smoothing, fit_intercept, intercept_scaling, class_weight, pos_label, callback, progress
        As in :class:`smoothperf.MeasureClassifierCV`.
    cv : int, float, splitter or iterable, default=5
        As there; numbers of rows are those of all blocks, one below the other.
    features : {"linear"}, optional
        The columns of X; others need the rows in memory.
    client, patience, n_threads, verbose
        As in :class:`MeasureClassifier`.

    Attributes
    ----------
    trained_for_, alpha_, l1_ratio_, cv_results_, best_index_, best_score_, result_, origin_, classes_, pos_label_, \
class_count_, coef_, intercept_, objective_, lower_bound_, gap_, n_iter_, stationarity_gap_, expected_
        As in :class:`smoothperf.MeasureClassifierCV`.
    traffic_ : Traffic
        Bytes and rounds between client and workers, of all that was tried.
    n_losses_ : int
        Groups of blocks that were loaded again because their worker was gone.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from smoothperf.dask import MeasureClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = (da.from_array(values, chunks=200) for values in (scale(X), y))
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     clf = MeasureClassifierCV("prbep", cv=2, n_alphas=3).fit(X, y)
    ...     print(clf.trained_for_, clf.best_score_ > 0.95)
    log_loss, convex True
    """

    def __init__(
        self,
        measure: str | Measure = "roc_area",
        *,
        bound: str | Sequence[Any] = "auto",
        alphas: ArrayLike | None = None,
        n_alphas: int = N_STRENGTHS,
        cv: Any = 5,
        features: Any = None,
        positive: bool = False,
        coef_bounds: Any = None,
        penalty_factors: Any = None,
        calibration: str | None = None,
        operating_point: Mapping[str, float | None] | None = None,
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
        n_threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
        progress: Callable[[Step], None] | None = None,
    ):
        super().__init__(
            measure,
            bound=bound,
            alphas=alphas,
            n_alphas=n_alphas,
            cv=cv,
            features=features,
            positive=positive,
            coef_bounds=coef_bounds,
            penalty_factors=penalty_factors,
            calibration=calibration,
            operating_point=operating_point,
            tol=tol,
            max_iter=max_iter,
            solver=solver,
            smoothing=smoothing,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            class_weight=class_weight,
            pos_label=pos_label,
            n_threads=n_threads,
            verbose=verbose,
            callback=callback,
            progress=progress,
        )
        self.client = client
        self.patience = patience

    def _fit_blocks(self, blocks: list[Source]) -> None:
        if self.features is not None and self.features != "linear":
            raise ValueError(
                f'features={self.features!r} needs all rows in memory; on a cluster features is "linear", or None.'
            )
        solver = self._solver()
        for candidate in candidates_for(get_measure(self.measure), self.bound):
            check_works_in_groups(candidate.measure)
        point = self._checked_wishes()
        with self._placed(blocks, self._settle) as group:
            rows = DistantRows.of(group, self.label_pair, self.class_weight)
            check_count(point or {}, rows.known.count)
            task = label_task(self, self.n_features_in_, (0.0,))
            self._fit_best(task, rows, rows, label_splits(self.cv, rows.positive), solver, point)

    def _strengths(self, rows: Rows[Any]) -> Array:
        assert isinstance(rows, DistantRows)
        return strengths_from(rows.mean_squares, self.alphas, self.n_alphas)

    def _choice(
        self, task: Any, candidates: Mapping[Any, Any], strengths: Array, rows: Any, solver: ConvexSolver
    ) -> Choice[Any, Any]:
        return GroupChoice(task, candidates, strengths, literal=self.alphas is not None)

    def to_local(self) -> Any:
        """Return the fitted model as one that needs no cluster; it shares the arrays.

        Returns
        -------
        model : smoothperf.MeasureClassifier
            With ``alpha_``, as :meth:`as_classifier` returns it.
        """
        model = self.as_classifier()
        model.__dict__.update(callback=None)
        for name in OF_FITS:
            model.__dict__.pop(name, None)
        return model
