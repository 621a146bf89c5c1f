"""What linear models share: words while they are fitted, files; of classifiers scores, labels, measure, threshold."""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import __version__
from .._validation import vector
from ..cuts.confidence import CONFIDENCE, checked_confidence
from ..cuts.targets import expected_rates, threshold_for_target
from ..io.model_file import save_model
from ..io.store import Store
from ..measures import Goal, Measure, get_measure
from ..optimise import Callback, ConvexSolver, Result, Status, TraceRow
from ..tasks.base import C, Ending, K, Rows, Task, scores_of
from ..tasks.labels import Candidate, LabelTask
from ..tasks.training import Training
from ..threads import use_threads
from .calibration import Isotonic, Sigmoid
from .checkpoint import checkpoint_of
from .problem import ACCEPTED, known_labels, opened, taken

Array = NDArray[np.float64]
#: Scores to begin with that are larger are blamed if rounding ends a fit.
LARGE_BASE = 100.0


class ZeroModelWarning(UserWarning):
    """At this alpha no weights are better than none by more than tol.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from smoothperf import MeasureClassifier
    >>> X, y = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 4 == 0   # y has nothing to do with X
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     clf = MeasureClassifier("prbep", alpha=0.1).fit(X, y)
    >>> caught[0].category.__name__
    'ZeroModelWarning'
    """


class CertifiedModel(BaseEstimator):  # type: ignore[misc]
    """What a fitted model has of its run, and files."""

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
        """Write the fitted model to a file that :func:`smoothperf.load` reads; it holds numbers and text, no code."""
        check_is_fitted(self)
        save_model(self, path)

    def _minimise(
        self, task: Task[K, C], candidate: C, rows: Rows[K], solver: ConvexSolver, start: Array | None
    ) -> tuple[Training[K, C], Result, Ending]:
        """Train with a candidate, from weights to start from if there are any."""
        callback = make_callback(self.verbose, self.callback)
        with use_threads(self.n_threads):
            training = Training(task, candidate, rows, solver)
            training.check()
            observer = None if self.checkpoint is None else checkpoint_of(self, training, start)
            result = training.fit(self.alpha, start, callback, observer)
            return training, result, training.ending(self.alpha, result)

    def _keep_ending(self, result: Result, ending: Ending) -> None:
        """Make the outcome of a run the fitted model."""
        raise NotImplementedError

    def _products(self, X: Any, coef: Array) -> Array:
        """``X w`` for the weights of the features."""
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


class LinearMeasureClassifier(ClassifierMixin, CertifiedModel):  # type: ignore[misc]
    """Base of the classifiers: everything but ``fit``, from ``coef_``, ``intercept_`` and ``classes_``."""

    measure: str | Measure
    classes_: NDArray[Any]
    class_count_: NDArray[np.int64]
    pos_label_: Any
    intercept_: Array
    has_base_scores_: bool
    calibration_: Sigmoid | Isotonic

    task_kind: ClassVar[type[LabelTask]] = LabelTask
    _labels_in_files: ClassVar[dict[str, int]] = {"classes_": 2}

    @staticmethod
    def _numbers_in_files(n_features: int) -> dict[str, tuple[int, ...]]:
        """Shapes of the arrays that a model file must have."""
        return {"coef_": (1, n_features), "intercept_": (1,)}

    @property
    def label_pair(self) -> NDArray[Any]:
        """The negative label and the positive one."""
        return self.classes_ if self._sign > 0.0 else self.classes_[::-1]

    @property
    def _sign(self) -> float:
        """-1 if the positive label is the first of ``classes_``: scikit-learn wants scores that rise to the second."""
        # Models from files of earlier versions know one order only.
        return -1.0 if getattr(self, "pos_label_", self.classes_[1]) == self.classes_[0] else 1.0

    @property
    def trained_with(self) -> Measure:
        """The measure whose risk was minimised, which is not always the one to be good at."""
        chosen: Candidate | None = getattr(self, "trained_for_", None)
        measure = get_measure(self.measure) if chosen is None else chosen.measure
        return measure.trained_with if isinstance(measure, Goal) else measure

    @property
    def n_features_in_model_(self) -> int:
        """Features whose weight is not zero."""
        return int(np.count_nonzero(self.coef_))

    def raw_scores(self, X: Any, base_scores: ArrayLike | None = None) -> Array:
        """Return scores that are higher for the positive label, and do not change when the threshold moves.

        They are ``X @ coef_.T``, or the negative of that where the positive label is the first of ``classes_``.

        X may be the path of a store, here and below. ``base_scores`` are added to the former, before the sign.
        """
        check_is_fitted(self)
        self._check_base_scores(base_scores)
        scores = self._products(X, self.coef_[0])
        if base_scores is not None:
            scores = scores + vector("base_scores", base_scores, length=scores.shape[0])
        return self._sign * scores

    def _check_base_scores(self, base_scores: Any) -> None:
        """Refuse scores to begin with that are missing, or that a model was not fitted with; None for none."""
        # Models from files of earlier versions know of none.
        if getattr(self, "has_base_scores_", False) != (base_scores is not None):
            raise ValueError(
                "base_scores are missing: the model was fitted with such, and is added to them; pass base_scores=, "
                "those of these rows."
                if base_scores is None
                else "base_scores are given, but the model was fitted without; leave them out."
            )

    def decision_function(self, X: Any, base_scores: ArrayLike | None = None) -> Array:
        """Return the signed scores ``X @ coef_.T + intercept_``; above 0 means ``classes_[1]``.

        ``base_scores`` are added, for a model that was fitted with such; here and below.
        """
        return self.positive_scores(X, base_scores) * self._sign

    def positive_scores(self, X: Any, base_scores: ArrayLike | None = None) -> Array:
        """Return signed scores that are above 0 where the positive label is predicted."""
        scores: Array = self.raw_scores(X, base_scores) + self._sign * self.intercept_[0]
        return scores

    def predict(self, X: Any, base_scores: ArrayLike | None = None) -> NDArray[Any]:
        """Return the predicted label of every row."""
        positive = self.positive_scores(X, base_scores) > 0.0
        labels: NDArray[Any] = self.label_pair[positive.astype(int)]
        return labels

    @available_if(lambda self: hasattr(self, "calibration_"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, base_scores: ArrayLike | None = None) -> Array:
        """Return the probabilities of both labels, in the order of ``classes_``; only where the model is calibrated."""
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
        """Return the measure itself on test data (not the accuracy); a store brings its labels."""
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
            How sure a precision, recall or false positive rate must be on new rows; docs/maths.md, targets, has the
            method. If the rows are too few for that, the error says what can be promised. None asks for no more than
            that the target is met on these rows. Without meaning for k, rate and threshold.
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

    def _keep_labels(self, pair: NDArray[Any], counts: tuple[int, int]) -> None:
        """Remember the negative and the positive label, and how many rows of each there are to train on."""
        self.classes_ = np.unique(pair)
        self.pos_label_ = pair[1]
        self.class_count_ = np.array(counts[:: int(self._sign)], dtype=np.int64)

    def _keep_ending(self, result: Result, ending: Ending) -> None:
        """Make the outcome of a run the fitted model."""
        self._keep(result, ending.coef, ending.intercept)

    def _keep(self, result: Result, coef: Array, intercept: float) -> None:
        """Make the outcome of a run the fitted model."""
        self.__dict__.pop("expected_", None)  # of another fit
        self.coef_ = self._sign * coef.reshape(1, -1)
        self.intercept_ = np.array([self._sign * intercept + 0.0])  # never -0.0
        self._keep_result(result)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def make_callback(verbose: int, callback: Callback | None) -> Callback | None:
    """The user's callback, with lines of progress on standard error before it: one a second, or all of them."""
    if not verbose:
        return callback
    last = -np.inf

    def report(row: TraceRow) -> bool | None:
        nonlocal last
        # The clock starts again with every run, of which a path has many.
        if verbose > 1 or row.seconds - last >= 1.0 or row.seconds < last:
            last = row.seconds
            print(_progress(row), file=sys.stderr, flush=True)
        return callback(row) if callback is not None else None

    return report


def report_end(result: Result, tol: float, verbose: int, largest_base: float = 0.0) -> None:
    """Say how a fit ended: on standard error if asked to, and as a warning if it did not end well.

    ``largest_base`` is the size of the scores that the model is added to.
    """
    if verbose:
        print(f"{_progress(result.trace.rows[-1])}  {result.status.value}", file=sys.stderr, flush=True)
    if result.status not in (Status.CONVERGED, Status.STOPPED, Status.STATIONARY):
        remedy = "Increase max_iter or tol, or scale the features."
        if result.status is Status.PRECISION_LIMIT and largest_base > LARGE_BASE:
            remedy = (
                f"base_scores are as large as {largest_base:.3g}, and all scores are rounded as these are: divide them "
                "by a constant, as margins that matter are about 1, or increase tol."
            )
        warnings.warn(
            f"{result.status.value} The gap reached is {result.reached:.3g}, tol is {tol:.3g}. {remedy}",
            ConvergenceWarning,
            stacklevel=3,
        )


def largest_of(offset: Array | None) -> float:
    """The size of scores to begin with."""
    return 0.0 if offset is None else float(np.abs(offset).max())


def _progress(row: TraceRow) -> str:
    """One iteration in a line."""
    return (
        f"iteration {row.iteration:5d}  {row.seconds:7.1f} s  {row.passes:6d} passes  "
        f"objective {row.objective:.6f}  gap {row.gap:.2e}"
    )
