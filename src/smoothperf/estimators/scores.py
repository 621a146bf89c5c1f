"""Fitted binary classifiers: scores, labels, probabilities, the measure, and the operating point."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array
from .._validation import shown, vector
from ..cuts.confidence import CONFIDENCE, checked_confidence
from ..cuts.targets import check_count, expected_rates, threshold_for_target
from ..measures import Goal, Measure, get_measure
from ..tasks.label_choice import LabelCandidate
from .binary import BinaryModel
from .calibration import Isotonic, Sigmoid
from .problem import opened, taken


def _is_calibrated(model: LinearMeasureClassifier) -> bool:
    """Whether a model has probabilities; an error that says what would make them, if not."""
    if not hasattr(model, "calibration_"):
        raise AttributeError(
            "predict_proba needs a calibration, which MeasureClassifierCV(calibration='sigmoid') fits to scores, "
            "as 'smoothperf train --calibration sigmoid' does, on held-out rows."
        )
    return True


class LinearMeasureClassifier(BinaryModel):
    """Base of the classifiers: everything but training, from ``coef_``, ``intercept_`` and ``classes_``."""

    calibration_: Sigmoid | Isotonic

    @property
    def label_pair(self) -> NDArray[Any]:
        """The negative label and the positive one."""
        return self.classes_ if self._sign > 0.0 else self.classes_[::-1]

    @property
    def trained_with(self) -> Measure:
        """The measure whose risk was minimised, which is not always the one to be good at."""
        chosen: LabelCandidate | None = getattr(self, "trained_for_", None)
        measure = get_measure(self.measure) if chosen is None else chosen.measure
        return measure.trained_with if isinstance(measure, Goal) else measure

    @property
    def n_features_in_model_(self) -> int:
        """Features whose weight is not zero."""
        return int(np.count_nonzero(self.coef_))

    def raw_scores(self, X: Any, base_scores: ArrayLike | None = None) -> Array:
        """Return scores that are higher for the positive label, and do not change when the threshold moves.

        They are ``X @ coef_.T``, or the negative of that where the positive label is the first of ``classes_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), path or Store
            Rows.
        base_scores : array-like of shape (n,), optional
            Their offset, for a model that was fitted with one.

        Returns
        -------
        ndarray of shape (n,)
            The scores; the offset is added before the sign.
        """
        check_is_fitted(self)
        self._check_offset(base_scores)
        scores = self._products(X, self.coef_[0])
        if base_scores is not None:
            scores = scores + vector("base_scores", base_scores, length=scores.shape[0])
        return self._sign * scores

    def decision_function(self, X: Any, base_scores: ArrayLike | None = None) -> Array:
        """Return the signed scores ``X @ coef_.T + intercept_``, with the offset.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), path or Store
            Rows.
        base_scores : array-like of shape (n,), optional
            Their offset, for a model that was fitted with one.

        Returns
        -------
        ndarray of shape (n,)
            Above 0 where ``classes_[1]`` is predicted.
        """
        return self.positive_scores(X, base_scores) * self._sign

    def positive_scores(self, X: Any, base_scores: ArrayLike | None = None) -> Array:
        """Return signed scores that are above 0 where the positive label is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), path or Store
            Rows.
        base_scores : array-like of shape (n,), optional
            Their offset, for a model that was fitted with one.

        Returns
        -------
        ndarray of shape (n,)
            The scores.
        """
        scores: Array = self.raw_scores(X, base_scores) + self._sign * self.intercept_[0]
        return scores

    def predict(self, X: Any, base_scores: ArrayLike | None = None) -> NDArray[Any]:
        """Return the predicted label of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), path or Store
            Rows.
        base_scores : array-like of shape (n,), optional
            Their offset, for a model that was fitted with one.

        Returns
        -------
        ndarray of shape (n,)
            Labels of ``classes_``.
        """
        positive = self.positive_scores(X, base_scores) > 0.0
        labels: NDArray[Any] = self.label_pair[positive.astype(int)]
        return labels

    @available_if(_is_calibrated)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, base_scores: ArrayLike | None = None) -> Array:
        """Return the probabilities of both labels; only where the model is calibrated.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), path or Store
            Rows.
        base_scores : array-like of shape (n,), optional
            Their offset, for a model that was fitted with one.

        Returns
        -------
        ndarray of shape (n, 2)
            In the order of ``classes_``.
        """
        chances = self.calibration_.probabilities(self.raw_scores(X, base_scores))
        both = np.column_stack([1.0 - chances, chances])
        return both if self._sign > 0.0 else both[:, ::-1]

    def score(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        base_scores: ArrayLike | None = None,
    ) -> float:
        """Return the measure itself on test data, not the accuracy.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), path or Store
            Rows.
        y : array-like of shape (n,)
            Their labels; not needed for a store, which has them.
        sample_weight : array-like of shape (n,), optional
            Their weights in the measure.
        base_scores : array-like of shape (n,), optional
            Their offset, for a model that was fitted with one.

        Returns
        -------
        float
            The measure.
        """
        X = opened(X)
        given = taken(X, y, sample_weight)
        if given.y is None:
            raise ValueError("y is None: labels are needed unless X is a store.")
        scores = self.positive_scores(X, base_scores)
        positive = known_labels(given.y, self.label_pair, length=scores.shape[0])
        return get_measure(self.measure).score(positive, scores, given.sample_weight)

    def set_operating_point(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        precision: float | None = None,
        recall: float | None = None,
        fpr: float | None = None,
        k: int | None = None,
        rate: float | None = None,
        threshold: float | None = None,
        confidence: float | None = CONFIDENCE,
        raw_scores: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        base_scores: ArrayLike | None = None,
    ) -> Self:
        """Move ``intercept_`` so that :meth:`predict` meets a target; the weights stay.

        Exactly one target is given. A precision, a recall or a false positive rate is met on new rows, with the given
        confidence, if the rows given here were not trained on. Examples with equal scores are predicted alike, so only
        some numbers of predicted positives can be had; the threshold lies midway between two different scores.
        Where it was before makes no difference.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), path or Store
            Rows that the model was not trained on.
        y : array-like of shape (n,)
            Their labels; not needed for a store, which has them.
        precision : float in (0, 1], optional
            Predict as many positives as possible with at least this precision.
        recall : float in (0, 1], optional
            Predict as few positives as possible with at least this recall.
        fpr : float in (0, 1), optional
            Predict as many positives as possible with at most this share of the negatives among them.
        k : int, optional
            Predict as many positives as possible but no more than k.
        rate : float in (0, 1], optional
            Predict as many positives as possible but no more than this share of the examples.
        threshold : float, optional
            Predict positive what has a higher :meth:`raw_scores`. X and y may be left out then.
        confidence : float in (0, 1) or None, default=0.9
            Probability with which a precision, recall or false positive rate is kept on new rows; docs/maths.md,
            targets, has the method. If the rows are too few for that, the error says what can be promised. None asks
            for no more than that the target is met on these rows. Without meaning for k, rate and threshold.
        raw_scores : array-like of shape (n,), optional
            In place of X, what :meth:`raw_scores` of it is. Not :meth:`decision_function`, which moves.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights in the rates; for a promise, rows count as their effective number.
        base_scores : array-like of shape (n,), optional
            Those of X, for a model that was fitted with such. ``raw_scores`` have them in.

        Returns
        -------
        self
            With ``expected_``: a dict with "precision", "recall" and "fpr" on these rows (``value``), and what they
            are at least (``low``) and at most (``high``) on new rows, each with the ``confidence``, 0.9 if that is
            None. Absent where only a threshold was given.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from smoothperf import MeasureClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> X = scale(X)
        >>> clf = MeasureClassifier(alpha=1e-2).fit(X[::2], y[::2])
        >>> clf = clf.set_operating_point(X[1::2], y[1::2], recall=0.95)
        >>> bool(clf.expected_["recall"]["low"] >= 0.95)
        True
        >>> clf = clf.set_operating_point(X[1::2], y[1::2], k=20)
        >>> int(clf.predict(X[1::2]).sum())
        20
        """
        check_is_fitted(self)
        targets: dict[str, Any] = {"precision": precision, "recall": recall, "fpr": fpr, "k": k, "rate": rate}
        given = {name: value for name, value in {**targets, "threshold": threshold}.items() if value is not None}
        if len(given) != 1:
            got = ", ".join(f"{name}={value!r}" for name, value in given.items()) or "none"
            raise ValueError(f"give exactly one of precision, recall, fpr, k, rate and threshold; got {got}.")
        level = checked_confidence(confidence)
        if threshold is not None:
            cut = float(vector("threshold", [threshold])[0])
            if X is None and y is None and raw_scores is None:
                self.intercept_ = np.array([-self._sign * cut])
                self.__dict__.pop("expected_", None)
                return self
        X = opened(X)
        rows = taken(X, y, sample_weight)
        sample_weight = rows.sample_weight
        scores, labels = self._held_out(X, rows.y, raw_scores, base_scores)
        positive = known_labels(labels, self.label_pair, length=scores.shape[0])
        weights = None
        if sample_weight is not None:
            weights = vector("sample_weight", sample_weight, length=scores.shape[0])
            if weights.min() < 0.0:
                at = int(weights.argmin())
                raise ValueError(f"sample_weight must not be negative, got {weights[at]} at position {at}.")
        if threshold is None:
            check_count(targets, scores.shape[0])
            cut = threshold_for_target(positive, scores, weights, confidence=level, **targets)
        self.intercept_ = np.array([-self._sign * cut])
        self.expected_: dict[str, Any] = expected_rates(
            positive, scores > cut, weights, confidence=CONFIDENCE if level is None else level
        )
        return self

    def _held_out(
        self, X: Any, y: Any, raw_scores: ArrayLike | None, base_scores: ArrayLike | None
    ) -> tuple[Array, Any]:
        """Raw scores and labels of the rows that ``set_operating_point`` was given, in either way."""
        if (X is None) == (raw_scores is None):
            raise ValueError("give the rows as X or their raw_scores, one of them.")
        if np.ndim(X) == 1:
            raise ValueError(
                "X must be rows of features, got a vector: call set_operating_point(X, y, ...), or "
                "set_operating_point(y=y, raw_scores=model.raw_scores(X), ...)."
            )
        if raw_scores is None:
            scores = self.raw_scores(X, base_scores)
        else:
            if base_scores is not None:
                raise ValueError("base_scores are for X; raw_scores have them in already: leave base_scores out.")
            scores = vector("raw_scores", raw_scores)
        if scores.shape[0] == 0:
            raise ValueError("raw_scores are empty: a threshold needs validation data.")
        if y is None:
            raise ValueError("y is None: labels are needed unless X is a store.")
        return scores, y


def known_labels(y: ArrayLike, classes: NDArray[Any], *, length: int) -> NDArray[np.bool_]:
    """Mask of the positives of labels that a fitted model knows, the second of two; any others are an error."""
    labels = np.asarray(y)
    if labels.shape != (length,):
        raise ValueError(f"X has {length} rows but y has shape {labels.shape}; they must match.")
    positive: NDArray[np.bool_] = labels == classes[1]
    unknown = np.flatnonzero(~(positive | (labels == classes[0])))
    if unknown.size:
        raise ValueError(
            f"y must hold the labels of fit, {shown(classes[0])} and {shown(classes[1])}, "
            f"got {shown(labels[unknown[0]])} at position {unknown[0]}."
        )
    return positive
