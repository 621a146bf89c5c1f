"""The scikit-learn estimator: a linear classifier trained for a measure."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import choice, positive_number, vector
from ..design import as_design
from ..measures import Measure, get_measure
from ..objective import RegularizedRisk
from ..smoothing import Adaptive, Fixed, Smoothing
from ..solvers import BMRM, LBFGS, Callback, Nesterov, Result, Solver, Status, TraceRow
from .operating_point import threshold_for_weight

Array = NDArray[np.float64]


class MeasureClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Linear binary classifier that minimises the regularised convex risk of a performance measure.

    Minimises ``J(w) = (alpha/2) |w|^2 + R(Xw)`` to a certified gap, where R is the structural-SVM upper bound of
    ``1 - measure`` on the training set.

    Parameters
    ----------
    measure : str or Measure, default="roc_area"
        What to be good at: "roc_area", "prbep", or a Measure object.
    alpha : float, default=1e-4
        Strength of the regulariser (the paper's lambda); the risk is an average, so alpha does not scale with n.
    tol : float, default=1e-3
        Largest certified gap between ``objective_`` and the optimum.
    max_iter : int, default=1000
        Most iterations.
    solver : {"lbfgs", "nesterov", "bmrm"} or solver object, default="lbfgs"
        An object brings its own ``tol``, ``max_iter`` and ``smoothing``.
    smoothing : "adaptive", float or Smoothing object, default="adaptive"
        How the risk is smoothed; a number is a fixed mu. BMRM does not smooth.
    fit_intercept : bool, default=True
        Whether ``intercept_`` realises the operating point that the measure asks for, so that :meth:`predict` finds
        as many positives in the training set as there are; otherwise it is 0. The measures available do not depend
        on it.
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied into the sample weights.
    warm_start : bool, default=False
        Start from the ``coef_`` of the previous fit.
    verbose : int, default=0
        1 prints a line about once a second and at the end, 2 one per iteration; to standard error.
    callback : callable, optional
        Called with a :class:`~smoothperf.solvers.TraceRow` after every iteration; a true return value stops the fit.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels; the second, in sorted order, is the positive one.
    coef_ : ndarray of shape (1, n_features)
        The weights.
    intercept_ : ndarray of shape (1,)
        The operating point: :meth:`predict` is positive where ``X @ coef_.T + intercept_ > 0``.
    objective_, lower_bound_, gap_ : float
        Exact J at ``coef_``, a certified lower bound of its minimum, and their difference.
    n_iter_ : int
        Iterations.
    result_ : Result
        Everything the solver has to say, with the trace of all iterations.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from smoothperf import MeasureClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> clf = MeasureClassifier(measure="prbep", alpha=1e-3).fit(X, y)
    >>> bool(clf.gap_ <= 1e-3)
    True
    >>> clf.score(X, y) > 0.95   # the break-even point itself
    True
    """

    def __init__(
        self,
        measure: str | Measure = "roc_area",
        alpha: float = 1e-4,
        *,
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str | Solver = "lbfgs",
        smoothing: str | float | Smoothing = "adaptive",
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callback | None = None,
    ):
        self.measure = measure
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.smoothing = smoothing
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Dense in any order, CSR or CSC; float32 and float64 are used as they are, without a copy.
        y : array-like of shape (n,)
            Two kinds of labels; the larger (in sorted order) is positive.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; an integer weight c stands for c copies.
        """
        measure = get_measure(self.measure)
        solver = self._make_solver()
        _check_lengths(X, y)
        X, labels = validate_data(
            self, X, y, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], accept_large_sparse=True
        )
        positive = self._encode(labels)
        weights = self._weights(labels, sample_weight)

        objective = RegularizedRisk(as_design(X), measure.bind(positive, weights), self.alpha)
        start = None
        previous: Array | None = getattr(self, "coef_", None)
        if self.warm_start and previous is not None and previous.shape[1] == X.shape[1]:
            start = previous[0]
        result = solver.run(objective, start, self._make_callback())
        self._report(result, solver.tol)

        assert result.scores is not None
        threshold = 0.0
        if self.fit_intercept:
            wanted = measure.predicted_positive(positive, weights)
            threshold = threshold_for_weight(result.scores, weights, wanted)
        self.coef_ = result.coef.reshape(1, -1)
        self.intercept_ = np.array([-threshold])
        self.objective_ = result.objective
        self.lower_bound_ = result.lower_bound
        self.gap_ = result.gap
        self.n_iter_ = result.n_iter
        # The scores of the training set have served; a fitted model should not carry a vector of its length.
        self.result_ = replace(result, scores=None)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the signed scores ``X @ coef_.T + intercept_``; positive ones are predicted positive."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], reset=False)
        scores: Array = safe_sparse_dot(X, self.coef_[0]) + self.intercept_[0]
        return scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of every row."""
        positive = self.decision_function(X) > 0.0
        labels: NDArray[Any] = self.classes_[positive.astype(int)]
        return labels

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the measure itself on test data (not the accuracy)."""
        scores = self.decision_function(X)
        y = np.asarray(y)
        if y.shape != scores.shape:
            raise ValueError(f"X has {scores.shape[0]} rows but y has shape {y.shape}; they must match.")
        return get_measure(self.measure).score(y == self.classes_[1], scores, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _make_solver(self) -> Solver:
        if isinstance(self.solver, Solver):
            return self.solver
        name = choice("solver", self.solver, ("lbfgs", "nesterov", "bmrm"))
        if name == "bmrm":
            return BMRM(tol=self.tol, max_iter=self.max_iter)
        made = LBFGS if name == "lbfgs" else Nesterov
        return made(tol=self.tol, max_iter=self.max_iter, smoothing=self._make_smoothing())

    def _make_smoothing(self) -> Smoothing:
        if isinstance(self.smoothing, (Adaptive, Fixed)):
            return self.smoothing
        if self.smoothing == "adaptive":
            return Adaptive()
        if isinstance(self.smoothing, str):
            raise ValueError(f'smoothing must be "adaptive", a number or a Smoothing object, got {self.smoothing!r}.')
        return Fixed(mu=positive_number("smoothing", self.smoothing))

    def _encode(self, y: NDArray[Any]) -> NDArray[np.bool_]:
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}. "
                "y must hold two kinds of labels; wrap the classifier in OneVsRestClassifier for more."
            )
        self.classes_ = np.unique(y)
        if self.classes_.size < 2:
            raise ValueError(
                f"y has one class only, all {self.classes_[0]!r}: a measure needs positive and negative examples. "
                "The number of classes has to be greater than one; got 1 class."
            )
        positive: NDArray[np.bool_] = y == self.classes_[1]
        return positive

    def _weights(self, y: NDArray[Any], sample_weight: ArrayLike | None) -> Array | None:
        weights = None if sample_weight is None else vector("sample_weight", sample_weight, length=y.shape[0])
        if self.class_weight is None:
            return weights
        by_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        class_weights: Array = by_class[(y == self.classes_[1]).astype(int)]
        return class_weights if weights is None else weights * class_weights

    def _make_callback(self) -> Callback | None:
        if not self.verbose:
            return self.callback
        last = -np.inf

        def report(row: TraceRow) -> bool | None:
            nonlocal last
            if self.verbose > 1 or row.seconds - last >= 1.0:
                last = row.seconds
                print(_progress(row), file=sys.stderr, flush=True)
            return self.callback(row) if self.callback is not None else None

        return report

    def _report(self, result: Result, tol: float) -> None:
        if self.verbose:
            print(f"{_progress(result.trace.rows[-1])}  {result.status.value}", file=sys.stderr, flush=True)
        if result.status not in (Status.CONVERGED, Status.STOPPED):
            warnings.warn(
                f"{result.status.value} The gap reached is {result.gap:.3g}, tol is {tol:.3g}. "
                "Increase max_iter or tol, or scale the features.",
                ConvergenceWarning,
                stacklevel=3,
            )


def _check_lengths(X: Any, y: Any) -> None:
    """Say which of X and y is longer; scikit-learn's own message names neither."""
    rows, labels = _length(X), _length(y)
    if rows is not None and labels is not None and rows != labels:
        raise ValueError(
            f"X has {rows} rows but y has {labels} labels; they must match "
            f"(inconsistent numbers of samples: [{rows}, {labels}])."
        )


def _length(values: Any) -> int | None:
    """Number of rows of an array, a matrix or a list; None for anything else."""
    if hasattr(values, "shape"):
        return int(values.shape[0]) if len(values.shape) else None
    return len(values) if hasattr(values, "__len__") else None


def _progress(row: TraceRow) -> str:
    return (
        f"iteration {row.iteration:5d}  {row.seconds:7.1f} s  {row.passes:6d} passes  "
        f"objective {row.objective:.6f}  gap {row.gap:.2e}"
    )
