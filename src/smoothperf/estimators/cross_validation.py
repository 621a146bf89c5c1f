"""A classifier that chooses its own alpha: by the measure, on folds or on a validation set."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedShuffleSplit, check_cv
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import vector, whole_number
from ..measures import Measure, get_measure
from ..objective import RegularizedRisk
from ..smoothing import Smoothing
from ..solvers import Callback, Solver
from ..threads import check_n_threads, use_threads
from .bias import Bias
from .classifier import ZERO_MODEL_REMEDY, MeasureClassifier, ZeroModelWarning
from .continuation import Continuation
from .inputs import (
    check_lengths,
    check_suits,
    encode_labels,
    example_weights,
    make_callback,
    make_solver,
    report_end,
)
from .linear import LinearMeasureClassifier, scores_of
from .path import alphas_from_data, checked_alphas, follow
from .stored import refuse_store

Array = NDArray[np.float64]
#: Mean scores that differ by less are equally good: they may be sums of the same numbers.
ROUNDING = 1e-12
#: What makes a fitted classifier.
FITTED = (
    "classes_",
    "pos_label_",
    "coef_",
    "intercept_",
    "objective_",
    "lower_bound_",
    "gap_",
    "n_iter_",
    "result_",
    "n_features_in_",
    "feature_names_in_",
    "expected_",
)


class MeasureClassifierCV(LinearMeasureClassifier):
    """A :class:`~smoothperf.MeasureClassifier` whose alpha is the best of a path by the measure on held-out data.

    Every fold follows the path of all alphas (:func:`~smoothperf.regularization_path`); the alpha with the best mean
    score, the largest of equally good ones, is used to fit a model to all data.

    Parameters
    ----------
    measure : str or Measure, default="roc_area"
        What to be good at, and what alpha is chosen by.
    alphas : array-like, optional
        The alphas to choose from; by default ``n_alphas`` from the data, see ``regularization_path``.
    n_alphas : int, default=20
        How many, if ``alphas`` is not given.
    alpha_ratio : float, default=1e-6
        Smallest alpha as a share of the largest, if ``alphas`` is not given.
    cv : int, float, splitter or iterable, default=5
        An int is a number of stratified folds. A share between 0 and 1 holds out one stratified validation set, as
        many papers do. A splitter of scikit-learn or an iterable of ``(train, test)`` indices says it all; ``[(train,
        validation)]`` is a validation set of your own.
    n_jobs : int, optional
        Folds to work on at the same time, in threads; 1 by default, -1 for all cores.
    tol, max_iter, solver, smoothing, fit_intercept, intercept_scaling, class_weight, pos_label, n_threads, low_memory
        As in :class:`~smoothperf.MeasureClassifier`.
    verbose, callback
        The same, for the fit to all data at the end.

    Attributes
    ----------
    alpha_ : float
        The best alpha.
    alphas_ : ndarray of shape (n_alphas,)
        All alphas, descending.
    cv_scores_ : ndarray of shape (n_folds, n_alphas)
        The measure on the held-out part of every fold.
    classes_, pos_label_, coef_, intercept_, objective_, lower_bound_, gap_, n_iter_, result_
        As in :class:`~smoothperf.MeasureClassifier`, of the fit to all data.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from smoothperf import MeasureClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = MeasureClassifierCV(measure="prbep", n_alphas=7, cv=3).fit(scale(X), y)
    >>> clf.cv_scores_.shape, clf.alpha_ in clf.alphas_
    ((3, 7), True)
    """

    def __init__(
        self,
        measure: str | Measure = "roc_area",
        *,
        alphas: ArrayLike | None = None,
        n_alphas: int = 20,
        alpha_ratio: float = 1e-6,
        cv: Any = 5,
        n_jobs: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str | Solver = "lbfgs",
        smoothing: str | float | Smoothing = "adaptive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        pos_label: Any = None,
        n_threads: int | None = None,
        low_memory: bool = False,
        verbose: int = 0,
        callback: Callback | None = None,
    ):
        self.measure = measure
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.alpha_ratio = alpha_ratio
        self.cv = cv
        self.n_jobs = n_jobs
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.smoothing = smoothing
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.pos_label = pos_label
        self.n_threads = n_threads
        self.low_memory = low_memory
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose alpha and fit to all data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Dense in any order, CSR or CSC.
        y : array-like of shape (n,)
            Two kinds of labels; ``pos_label``, or the larger in sorted order, is positive.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights, in training and in the scores on held-out data.
        """
        measure = get_measure(self.measure)
        bias = Bias(measure, self.fit_intercept, self.intercept_scaling)
        solver = make_solver(self.solver, tol=self.tol, max_iter=self.max_iter, smoothing=self.smoothing)
        check_n_threads(self.n_threads)
        refuse_store(X, "cross-validation")
        check_lengths(X, y)
        X, labels = validate_data(
            self, X, y, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], accept_large_sparse=True
        )
        pair, positive = encode_labels(labels, self.pos_label)
        self._keep_labels(pair)
        if sample_weight is not None:
            sample_weight = vector("sample_weight", sample_weight, length=labels.shape[0])
        weights = example_weights(self.class_weight, pair, positive, sample_weight)
        design = bias.design(X, low_memory=self.low_memory)
        risk = measure.bind(positive, weights)
        check_suits(solver, measure, risk)
        with use_threads(self.n_threads):
            whole = Continuation(design, risk, solver)
        if self.alphas is not None:
            self.alphas_ = checked_alphas(self.alphas)
        else:
            self.alphas_ = alphas_from_data(whole, self.n_alphas, self.alpha_ratio)
        splits = list(self._splits(positive))
        self.cv_scores_ = np.array(
            Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._fold)(X, positive, sample_weight, train, test, bias, solver) for train, test in splits
            )
        )
        means = self.cv_scores_.mean(axis=0)
        self.alpha_ = float(self.alphas_[np.flatnonzero(means >= means.max() - ROUNDING)[0]])

        # Start where the folds have started: at large alphas w = 0 is as good for the objective, but tells nothing.
        objective = RegularizedRisk(design, risk, self.alpha_)
        with use_threads(self.n_threads):
            result = solver.run(objective, whole.start(self.alpha_), make_callback(self.verbose, self.callback))
        report_end(result, solver.tol, self.verbose)
        if not bias.split(result.coef)[0].any():
            warnings.warn(
                f"The best of all alphas is {self.alpha_:g}, where the weights are zero. {ZERO_MODEL_REMEDY}",
                ZeroModelWarning,
                stacklevel=2,
            )
        assert result.scores is not None
        self._keep(result, *bias.cut(result.coef, positive, result.scores, weights))
        self.n_iter_ = max(1, result.n_iter)  # scikit-learn wants it so; the start alone may do
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model, as the MeasureClassifier with ``alpha_`` that it is, to a file."""
        check_is_fitted(self)
        mine = self.get_params(deep=False)
        shared = {name: mine[name] for name in MeasureClassifier().get_params(deep=False) if name in mine}
        classifier = MeasureClassifier(alpha=self.alpha_, **shared)
        for name in FITTED:
            if hasattr(self, name):
                setattr(classifier, name, getattr(self, name))
        classifier.save(path)

    def _splits(self, positive: NDArray[np.bool_]) -> Iterable[tuple[Any, Any]]:
        """Rows to train on and rows to hold out, for every fold."""
        cv = self.cv
        if isinstance(cv, (float, np.floating)):
            if not 0.0 < cv < 1.0:
                raise ValueError(f"cv must be a number of folds, a share between 0 and 1 or a splitter, got {cv!r}.")
            cv = StratifiedShuffleSplit(n_splits=1, test_size=cv, random_state=0)
        elif isinstance(cv, (int, np.integer)):
            cv = self._folds_that_exist(whole_number("cv", cv, at_least=2), positive)
        splits: Iterable[tuple[Any, Any]] = check_cv(cv, positive, classifier=True).split(positive, positive)
        return splits

    def _folds_that_exist(self, wanted: int, positive: NDArray[np.bool_]) -> int:
        """As many folds as wanted, or as there are examples of the smaller class."""
        fewest = int(min(positive.sum(), (~positive).sum()))
        if fewest < 2:
            raise ValueError(
                f"cv={wanted} needs at least 2 examples of each class, but one class has {fewest}: there is nothing to "
                "choose alpha by. Use MeasureClassifier with a given alpha."
            )
        if wanted > fewest:
            warnings.warn(
                f"cv={wanted}, but one class has {fewest} examples only, so that {fewest} folds are used.",
                UserWarning,
                stacklevel=4,
            )
        return min(wanted, fewest)

    def _fold(
        self,
        X: Any,
        positive: NDArray[np.bool_],
        sample_weight: Array | None,
        train: Any,
        test: Any,
        bias: Bias,
        solver: Solver,
    ) -> list[float]:
        """The measure on held-out data for every alpha."""
        for part, rows in (("training", train), ("held-out", test)):
            if np.unique(positive[rows]).size < 2:
                raise ValueError(f"cv leaves a {part} part with one class only; use fewer or stratified folds.")
        train_weight, test_weight = (None if sample_weight is None else sample_weight[rows] for rows in (train, test))
        weights = example_weights(self.class_weight, self.label_pair, positive[train], train_weight)
        X_test = X[test]
        # A fold may run in a thread of its own, which knows nothing of the context that fit runs in.
        with use_threads(self.n_threads):
            design = bias.design(X[train], low_memory=self.low_memory)
            continuation = Continuation(design, bias.measure.bind(positive[train], weights), solver)
            models = (
                bias.cut(solution.coef, positive[train], solution.scores, weights)
                for solution in follow(continuation, self.alphas_)
            )
            return [
                bias.measure.score(positive[test], scores_of(X_test, coef) + intercept, test_weight)
                for coef, intercept in models
            ]
