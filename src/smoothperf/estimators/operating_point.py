"""Anybody's classifier at an operating point: a cut that keeps a precision, a recall or another rate on new rows.

The cut is found on rows that the classifier was not trained on: scores of cross-validation, or, for a classifier that
is fitted already, rows of its own. What holds there by chance does not hold on new rows; the tests of
:mod:`smoothperf.cuts.targets` are exact about it, for scores that do not know the labels of their rows.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array
from .._validation import vector
from ..cuts.confidence import CONFIDENCE
from ..cuts.targets import check_count, checked_target, expected_rates, threshold_for_target


def threshold_for(
    y: ArrayLike,
    scores: ArrayLike,
    *,
    precision: float | None = None,
    recall: float | None = None,
    fpr: float | None = None,
    k: int | None = None,
    rate: float | None = None,
    confidence: float | None = CONFIDENCE,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Return the threshold above which scores, whoever made them, are to be called positive to meet one target.

    A precision, recall or false positive rate is met on new rows, in at least a share ``confidence`` of all draws of
    the given rows, on which the scores must not have been trained.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of two kinds.
    scores : array-like of shape (n,)
        Scores or probabilities, higher for the positive label.
    precision, recall, fpr, k, rate : float or int, optional
        The target, exactly one; as in :class:`OperatingPointClassifier`.
    confidence : float in (0, 1) or None, default=0.9
        The confidence that it holds on new rows; None asks for no more than that it is met on these.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows in the rates.
    pos_label : label, optional
        The positive one; by default that which sorts last.

    Returns
    -------
    float
        Rows with higher scores are positive.

    Raises
    ------
    TargetError
        No cut meets the target, or none that can be promised; the message says what can be.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.2
    >>> scores = y + rng.normal(size=2000)
    >>> cut = threshold_for(y, scores, recall=0.8)
    >>> bool(np.mean(scores[y] > cut) > 0.8)
    True
    """
    labels = column_or_1d(y)
    _, positive = label_pair(labels, pos_label)
    numbers = vector("scores", scores, length=labels.shape[0])
    weights = None if sample_weight is None else vector("sample_weight", sample_weight, length=labels.shape[0])
    target: dict[str, Any] = {"precision": precision, "recall": recall, "fpr": fpr, "k": k, "rate": rate}
    check_count(target, labels.shape[0])
    return threshold_for_target(labels == positive, numbers, weights, **target, confidence=confidence)


class OperatingPointClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that predicts positive where a target is met on new rows.

    Beside scikit-learn's TunedThresholdClassifierCV, which looks for the best value of a score, this one has a
    constraint, and a promise: with the given confidence the rate is kept on rows to come. With folds it holds as far as
    the scores of their models are like those of the one that is fitted to all rows; with "prefit" it is that model's.

    Parameters
    ----------
    estimator : estimator
        Any classifier of two labels with ``predict_proba`` or ``decision_function``.
    precision : float in (0, 1], optional
        Predict as many positives as possible with at least this precision.
    recall : float in (0, 1], optional
        Predict as few positives as possible with at least this recall.
    fpr : float in (0, 1), optional
        Predict as many positives as possible with at most this share of the negatives among them.
    k : int, optional
        Predict no more than k of as many rows as are given to ``fit``.
    rate : float in (0, 1], optional
        Predict no more than this share of the rows. Of the five exactly one is given.
    confidence : float in (0, 1) or None, default=0.9
        The confidence that a precision, recall or false positive rate holds on new rows. If there are too few rows for
        that, the error says what can be promised. None asks for no more than that it is met on the rows held out.
    cv : int, splitter, iterable or "prefit", default=5
        Folds that hold out rows, each once: an int is a number of stratified folds in random order. With "prefit" the
        estimator is fitted already, and ``fit`` is given rows that it has not seen.
    pos_label : label, optional
        The positive one; by default that which sorts last.
    n_jobs : int, optional
        Folds to work on at the same time.

    Attributes
    ----------
    estimator_ : estimator
        The classifier, fitted to all rows; with "prefit" the one that was given.
    threshold_ : float
        Rows with higher scores are predicted positive.
    expected_ : dict
        "precision", "recall" and "fpr" on the rows held out (``value``), and what they are at least (``low``) and at
        most (``high``) on new rows, each with the ``confidence``, 0.9 if that is None.
    classes_ : ndarray of shape (2,)
        The labels.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0)
    >>> sure = OperatingPointClassifier(forest, precision=0.95).fit(X, y)
    >>> bool(sure.expected_["precision"]["low"] > 0.94)
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        precision: float | None = None,
        recall: float | None = None,
        fpr: float | None = None,
        k: int | None = None,
        rate: float | None = None,
        confidence: float | None = CONFIDENCE,
        cv: Any = 5,
        pos_label: Any = None,
        n_jobs: int | None = None,
    ):
        self.estimator = estimator
        self.precision = precision
        self.recall = recall
        self.fpr = fpr
        self.k = k
        self.rate = rate
        self.confidence = confidence
        self.cv = cv
        self.pos_label = pos_label
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike, **params: Any) -> Self:
        """Find the cut on rows held out, and fit the classifier to all rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Whatever the classifier takes.
        y : array-like of shape (n,)
            Labels of two kinds.
        **params : dict
            For the classifier's ``fit``. A ``sample_weight`` counts in the rates, too.

        Returns
        -------
        self
        """
        target = self._target()
        if isinstance(y, Sized):  # what is not a column of labels, the classifier refuses
            check_count(target, len(y))
        if get_config()["enable_metadata_routing"]:
            params = process_routing(self, "fit", **params).estimator.fit
        if isinstance(self.cv, str):
            if self.cv != "prefit":
                raise ValueError(f'cv must be a number of folds, a splitter, splits or "prefit", got {self.cv!r}.')
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
        else:
            self.estimator_ = clone(self.estimator).fit(X, y, **params)
        labels = column_or_1d(y)  # of which the classifier has said what is wrong with them, if anything is
        weights = params.get("sample_weight")
        if weights is not None:
            weights = vector("sample_weight", weights, length=labels.shape[0])
        counted = labels if weights is None else labels[weights > 0.0]
        self._pair = label_pair(counted, self.pos_label)
        positive = self._pair[1]
        self.classes_ = np.unique(labels)
        scores = self._towards_positive(self._held_out(X, labels, params))
        self.threshold_ = threshold_for_target(
            labels == positive, scores, weights, **target, confidence=self.confidence
        )
        self.expected_ = expected_rates(
            labels == positive, scores > self.threshold_, weights, confidence=self.confidence or CONFIDENCE
        )
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels, cut at ``threshold_``.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
            The positive label where the score is above the threshold.
        """
        check_is_fitted(self)
        above = self._towards_positive(self._scores(X)) > self.threshold_
        predicted: NDArray[Any] = np.where(above, self._pair[1], self._pair[0])
        return predicted

    def decision_function(self, X: Any) -> Array:
        """Return how far scores are from the threshold, in the classifier's own unit.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
            Above 0 where ``classes_[1]`` is predicted.
        """
        check_is_fitted(self)
        margins = self._towards_positive(self._scores(X)) - self.threshold_
        return margins if self._pair[1] == self.classes_[1] else -margins

    @available_if(lambda self: hasattr(_inner(self), "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the classifier's probabilities, which know nothing of the threshold.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, 2)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        probabilities: Array = self.estimator_.predict_proba(X)
        return probabilities

    def _target(self) -> dict[str, Any]:
        """The one target that is given, checked before the work begins."""
        names = ("precision", "recall", "fpr", "k", "rate")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if len(given) != 1:
            got = ", ".join(f"{name}={value!r}" for name, value in given.items()) or "none"
            raise ValueError(f"give exactly one of {', '.join(names)}; got {got}.")
        for name, value in given.items():
            checked_target(name, value)
        return given

    def _method(self) -> str:
        """The name of the method that makes scores."""
        for name in ("predict_proba", "decision_function"):
            if hasattr(self.estimator_, name):
                return name
        raise TypeError(f"estimator must have predict_proba or decision_function; {self.estimator!r} has neither.")

    def _scores(self, X: Any) -> Array:
        scores: Array = getattr(self.estimator_, self._method())(X)
        return scores

    def _held_out(self, X: Any, labels: NDArray[Any], params: dict[str, Any]) -> Array:
        """Scores of models that have not seen the row."""
        if isinstance(self.cv, str):
            return self._scores(X)
        cv = self.cv
        if isinstance(cv, (int, np.integer)):  # rows may come in an order that means something
            cv = StratifiedKFold(int(cv), shuffle=True, random_state=0)
        scores: Array = cross_val_predict(
            self.estimator, X, labels, cv=cv, method=self._method(), params=params, n_jobs=self.n_jobs
        )
        return scores

    def _towards_positive(self, scores: Array) -> Array:
        """Scores, one for a row, that are higher for the positive label."""
        scores = np.asarray(scores, dtype=np.float64)
        is_last = self._pair[1] == self.estimator_.classes_[-1]
        if scores.ndim == 2:
            column: Array = scores[:, -1 if is_last else 0]
            return column
        return scores if is_last else -scores

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what is passed on to the classifier, for scikit-learn's metadata routing.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=type(self).__name__).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.pairwise = inner.input_tags.pairwise
        return tags


def _inner(meta: OperatingPointClassifier) -> Any:
    return getattr(meta, "estimator_", meta.estimator)


def label_pair(labels: NDArray[Any], pos_label: Any) -> tuple[Any, Any]:
    """The negative label and the positive one."""
    check_classification_targets(labels)
    kinds = np.unique(labels)
    if kinds.size > 2:
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {type_of_target(labels)}."
        )
    if kinds.size < 2:
        raise ValueError("y must hold two labels, each with some sample_weight, but there is only one class.")
    if pos_label is None:
        return kinds[0], kinds[1]
    if pos_label not in kinds:
        raise ValueError(f"pos_label must be one of the labels {kinds.tolist()}, got {pos_label!r}.")
    return (kinds[1], kinds[0]) if pos_label == kinds[0] else (kinds[0], kinds[1])
