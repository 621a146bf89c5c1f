"""What fitted linear models share: scores, labels, the measure itself, the threshold, files."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import vector
from ..design import as_design
from ..measures import Measure, get_measure
from ..solvers import Result
from ..targets import threshold_for_target
from .inputs import known_labels
from .stored import as_store

Array = NDArray[np.float64]


class LinearMeasureClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers: everything but ``fit``, from ``coef_``, ``intercept_`` and ``classes_``."""

    measure: str | Measure
    classes_: NDArray[Any]
    n_features_in_: int
    coef_: Array
    intercept_: Array
    objective_: float
    lower_bound_: float
    gap_: float
    n_iter_: int
    result_: Result

    def decision_function(self, X: Any) -> Array:
        """Return the signed scores ``X @ coef_.T + intercept_``; positive ones are predicted positive.

        X may be the path of a store, here and below.
        """
        check_is_fitted(self)
        scores: Array
        store = as_store(X)
        if store is None:
            X = validate_data(self, X, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], reset=False)
            scores = scores_of(X, self.coef_[0])
        elif store.shape[1] != self.n_features_in_:
            raise ValueError(
                f"{store.path} has {store.shape[1]} features, but the model expects {self.n_features_in_}."
            )
        else:
            scores = store.design().matvec(self.coef_[0])
        scores = scores + self.intercept_[0]
        return scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of every row."""
        positive = self.decision_function(X) > 0.0
        labels: NDArray[Any] = self.classes_[positive.astype(int)]
        return labels

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the measure itself on test data (not the accuracy); a store brings its labels."""
        store = as_store(X)
        if y is None and store is None:
            raise ValueError("y is None: labels are needed unless X is a store.")
        scores = self.decision_function(X if store is None else store)
        labels = store.labels() if y is None and store is not None else y
        assert labels is not None
        positive = known_labels(labels, self.classes_, length=scores.shape[0])
        return get_measure(self.measure).score(positive, scores, sample_weight)

    def set_operating_point(
        self,
        y: ArrayLike,
        scores: ArrayLike,
        *,
        precision: float | None = None,
        recall: float | None = None,
        k: int | None = None,
        rate: float | None = None,
    ) -> Self:
        """Move ``intercept_`` so that :meth:`predict` meets a target on validation data; the weights stay.

        Exactly one target is given. Examples with equal scores are predicted alike, so only some numbers of predicted
        positives can be had; the threshold lies midway between two different scores.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels of the validation data.
        scores : array-like of shape (n,)
            Their scores, as :meth:`decision_function` of this model gives them now. To move the threshold again,
            compute them again.
        precision : float in (0, 1], optional
            Predict as many positives as possible with at least this precision. An error if no threshold reaches it.
        recall : float in (0, 1], optional
            Predict as few positives as possible with at least this recall.
        k : int, optional
            Predict as many positives as possible but no more than k.
        rate : float in (0, 1], optional
            Predict as many positives as possible but no more than this share of the examples.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from smoothperf import MeasureClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> X = scale(X)
        >>> clf = MeasureClassifier(alpha=1e-2).fit(X[::2], y[::2])
        >>> clf = clf.set_operating_point(y[1::2], clf.decision_function(X[1::2]), k=20)
        >>> int(clf.predict(X[1::2]).sum())
        20
        """
        check_is_fitted(self)
        given = vector("scores", scores)
        if given.shape[0] == 0:
            raise ValueError("scores are empty: a threshold needs validation data.")
        labels = np.asarray(y)
        if labels.shape != given.shape:
            raise ValueError(f"y has shape {labels.shape} but scores have {given.shape}; they must match.")
        positive = known_labels(labels, self.classes_, length=given.shape[0])
        threshold = threshold_for_target(positive, given, precision=precision, recall=recall, k=k, rate=rate)
        self.intercept_ = self.intercept_ - threshold
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that :func:`smoothperf.load` reads; it holds numbers and text, no code."""
        from ..model_file import save_model

        check_is_fitted(self)
        save_model(self, path)

    def _keep(self, result: Result, coef: Array, intercept: float) -> None:
        """Make the outcome of a run the fitted model."""
        self.coef_ = coef.reshape(1, -1)
        self.intercept_ = np.array([intercept])
        self.objective_ = result.objective
        self.lower_bound_ = result.lower_bound
        self.gap_ = result.gap
        self.n_iter_ = result.n_iter
        # The scores of the training set have served; a fitted model should not carry a vector of its length.
        self.result_ = replace(result, scores=None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


def scores_of(X: Any, coef: Array) -> Array:
    """``X w`` in float64 without a float64 copy of X."""
    scores: Array = X @ coef if X.dtype == np.float64 else as_design(X).matvec(coef)
    return scores
