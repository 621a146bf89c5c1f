"""Linear models while they are trained, and what a run leaves with them."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import __version__
from .._arrays import Array
from ..io.model_file import save_model
from ..io.store import Store
from ..optimise import Callback, ConvexSolver, Result
from ..tasks.base import C, Ending, K, Rows, Task, scores_of
from ..tasks.features import R, names_made_by, prepared, scores_from
from ..tasks.training import Training
from ..threads import use_threads
from .checkpoint import checkpoint_of
from .messages import ENDED_WELL, make_callback, report_end
from .problem import ACCEPTED, opened


class CertifiedModel(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators: runs, what they leave, and files."""

    alpha: float
    n_threads: int | None
    verbose: int
    callback: Callback | None
    checkpoint: Any
    n_features_in_: int
    coef_: Array
    objective_: float
    lower_bound_: float
    gap_: float
    stationarity_gap_: float
    n_iter_: int
    result_: Result
    origin_: dict[str, str]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that :func:`smoothperf.load` reads; it holds numbers and text, no code.

        Parameters
        ----------
        path : path-like
            The file; it is written whole or not at all.
        """
        check_is_fitted(self)
        save_model(self, path)

    def _minimise(
        self, task: Task[K, C], candidate: C, rows: Rows[K], solver: ConvexSolver, start: Array | None
    ) -> tuple[Training[K, C], Result, Ending]:
        """Train with a candidate, from weights to start from if there are any."""
        with use_threads(self.n_threads):
            training = Training(task, candidate, rows, solver)
            training.check()
            observer = None if self.checkpoint is None else checkpoint_of(self, training, start)
            result = training.fit(self.alpha, start, self._callback(), observer)
            ending = training.ending(self.alpha, result)
        self._report(result, solver.tol, rows.offset)
        return training, result, ending

    def _callback(self) -> Callback | None:
        """The user's callback, with progress on standard error if there is to be some."""
        return make_callback(self.verbose, self.callback) if self.verbose else self.callback

    def _report(self, result: Result, tol: float, offset: Array | None = None) -> None:
        """Say how a run ended, if it did not end well or everything is to be said."""
        if self.verbose or result.status not in ENDED_WELL:
            report_end(result, tol, self.verbose, offset)

    def _keep_ending(self, result: Result, ending: Ending) -> None:
        """Make the outcome of a run the fitted model."""
        raise NotImplementedError

    def _prepare(self, rows: R) -> R:
        """The rows with their features; the transformer that makes them is kept for new rows."""
        whole, fitted = prepared(rows)
        self.__dict__.pop("features_", None)
        if fitted is not None:
            self.features_ = fitted
            self.n_features_in_ = getattr(fitted, "n_features_in_", None) or rows.X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            if hasattr(fitted, "feature_names_in_"):
                self.feature_names_in_ = fitted.feature_names_in_
        return whole

    @property
    def feature_names(self) -> NDArray[Any] | None:
        """Names of the columns of X, or of the features made of them, which the weights are of; None without names."""
        if (features := getattr(self, "features_", None)) is None:
            return getattr(self, "feature_names_in_", None)
        names: NDArray[Any] | None = names_made_by(features)
        return names

    def _products(self, X: Any, coef: Array) -> Array:
        """``X w`` for the weights of the features."""
        if (features := getattr(self, "features_", None)) is not None:
            return scores_from(features, X, coef, **ACCEPTED)
        X = opened(X)
        if not isinstance(X, Store):
            return scores_of(validate_data(self, X, reset=False, **ACCEPTED), coef)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"{X.path} has {X.shape[1]} features, but the model expects {self.n_features_in_}.")
        return scores_of(check_array(X.X, **ACCEPTED), coef)

    def _keep_result(self, result: Result) -> None:
        """Remember what a run has to say."""
        self.objective_ = result.objective
        self.lower_bound_ = result.lower_bound
        self.gap_ = result.gap
        self.stationarity_gap_ = result.stationarity_gap
        self.n_iter_ = result.n_iter
        # Nobody needs the scores of the training set any more, which are a vector of its length.
        self.result_ = replace(result, scores=None)
        self.origin_ = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "smoothperf": __version__}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
