"""What every fit begins with: labelled rows out of what a user passes, and the problem that they are with a measure."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import validate_data

from .._validation import choice, positive_number, shown, vector
from ..design import Design, as_design
from ..io.store import Store, open_store
from ..measures import Measure, Risk, get_measure
from ..measures.examples import Examples
from ..measures.shifted import Shifted
from ..penalties import ElasticNet, Penalty, Quadratic
from ..solvers import BMRM, LBFGS, ConvexSolver, Nesterov, Newton, Solver
from ..solvers.smoothing import Adaptive, Fixed, Smoothing
from ..threads import check_n_threads
from .bias import Bias
from .penalty import penalty_by_feature

Array = NDArray[np.float64]
#: Matrices that are taken as they are.
ACCEPTED: dict[str, Any] = {"accept_sparse": ["csr", "csc"], "dtype": [np.float64, np.float32]}
#: Names of solvers.
SOLVERS = ("lbfgs", "nesterov", "newton", "bmrm")


@dataclass(frozen=True)
class LabelledRows:
    """Rows to train on.

    Attributes
    ----------
    X : matrix or Design
        The features.
    pair : ndarray of shape (2,)
        The negative label and the positive one.
    examples : Examples
        Which rows have the positive one, and their weights: sample weights times class weights.
    """

    X: Any
    pair: NDArray[Any]
    examples: Examples

    @property
    def counts(self) -> tuple[int, int]:
        """How many rows are negative and how many positive, whatever they weigh."""
        n_positive = int(np.count_nonzero(self.examples.positive))
        return self.examples.positive.shape[0] - n_positive, n_positive

    def base_scores(self, given: ArrayLike | None) -> Array | None:
        """Turn scores to begin with that rise to the second sorted label into such that rise to the positive one."""
        if given is None:
            return None
        scores = vector("base_scores", given, length=self.X.shape[0])
        return scores if self.pair[0] < self.pair[1] else -scores


def labelled_rows(estimator: Any, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None) -> LabelledRows:
    """Check what was passed to ``fit``; the estimator says which label is positive, and remembers the features."""
    store = as_store(X)
    if store is None:
        check_lengths(X, y)
        X, labels = validate_data(estimator, X, y, accept_large_sparse=True, **ACCEPTED)
        pair, positive = encode_labels(labels, estimator.pos_label)
    else:
        pair, positive = _labels_of(store, y, estimator.pos_label)
        X = store.design()
        remember_features(estimator, store)
    weights = example_weights(estimator.class_weight, pair, positive, sample_weight)
    return LabelledRows(X, pair, Examples.of(positive, weights))


def remember_features(estimator: Any, store: Store) -> None:
    """Keep what scikit-learn keeps of the columns of X."""
    estimator.n_features_in_ = store.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)
    if store.feature_names is not None:
        estimator.feature_names_in_ = np.array(store.feature_names, dtype=object)


def _labels_of(store: Store, y: ArrayLike | None, pos_label: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The negative and the positive label, and the mask of the positives: of the store, or of ``y`` if given."""
    if y is not None:
        labels = np.asarray(y)
        if labels.shape != (store.shape[0],):
            raise ValueError(
                f"{store.path} has {store.shape[0]} rows but y has shape {labels.shape}; they must match. "
                "Leave y out to use the labels in the file."
            )
        return encode_labels(labels, pos_label)
    pair, is_positive = encode_labels(store.classes, pos_label)  # each kind of label once
    return pair, is_positive[store.codes()]


def refuse_store(X: Any, what: str) -> None:
    """Raise an error if X is a store, for what cannot be done with one."""
    if is_stored(X):
        path = X.path if isinstance(X, Store) else os.fspath(X)
        raise ValueError(
            f"{what} needs the rows in memory, got the store {path}: use smoothperf.io.read_data to read it."
        )


@dataclass(frozen=True)
class Problem:
    """What to minimise, and how: a measure on labelled rows, with all parameters of an estimator but alpha.

    Attributes
    ----------
    measure, bias, solver : Measure, Bias and ConvexSolver
        What to train for, how the intercept comes about, and the method.
    rows : LabelledRows
        What to train on.
    features : Design
        X as an operator.
    design : Design
        The same, with the constant feature where a bias is trained.
    risk : Risk
        The measure's, for these labels.
    penalty : Penalty
        Of the weights, in strength 1.
    """

    measure: Measure
    bias: Bias
    solver: ConvexSolver
    rows: LabelledRows
    features: Design
    design: Design
    risk: Risk
    penalty: Penalty

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        tight: bool = False,
        base_scores: ArrayLike | None = None,
    ) -> Problem:
        """Check the parameters, then the rows, then whether they go together."""
        measure = get_measure(estimator.measure)
        bias = Bias(measure, estimator.fit_intercept, estimator.intercept_scaling)
        solver = make_solver(
            estimator.solver, tol=estimator.tol, max_iter=estimator.max_iter, smoothing=estimator.smoothing
        )
        check_n_threads(estimator.n_threads)
        rows = labelled_rows(estimator, X, y, sample_weight)
        penalty = penalty_of(estimator, rows.X.shape[1]).with_bias(bias.trained)
        risk = measure.risk(rows.examples)
        check_suits(solver, measure, risk, penalty, tight=tight)
        if (base := rows.base_scores(base_scores)) is not None:
            risk = Shifted(risk, base)
        features = as_design(rows.X, low_memory=estimator.low_memory)
        design = bias.design(features, low_memory=estimator.low_memory)
        return cls(measure, bias, solver, rows, features, design, risk, penalty)


def as_store(X: Any) -> Store | None:
    """Return the store that X is, or whose path it is; None for anything else."""
    if not is_stored(X):
        return None
    return X if isinstance(X, Store) else open_store(X)


def is_stored(X: Any) -> bool:
    """Whether X is a store, or a path, which must be that of one."""
    return isinstance(X, (str, os.PathLike, Store))


def check_lengths(X: Any, y: Any) -> None:
    """Say which of X and y is longer; scikit-learn's own message names neither."""
    rows, labels = _length(X), _length(y)
    if rows is not None and labels is not None and rows != labels:
        raise ValueError(
            f"X has {rows} rows but y has {labels} labels; they must match "
            f"(inconsistent numbers of samples: [{rows}, {labels}])."
        )


def _length(values: Any) -> int | None:
    """Number of rows of an array, a matrix, a frame or a list; None for anything else."""
    if hasattr(values, "shape"):
        return int(values.shape[0]) if len(values.shape) else None
    return len(values) if hasattr(values, "__len__") else None


def encode_labels(y: NDArray[Any], pos_label: Any = None) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the negative and the positive label, and the mask of the positives; by default the larger is positive."""
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}. "
            "y must hold two kinds of labels; wrap the classifier in OneVsRestClassifier for more."
        )
    classes = np.unique(y)
    if classes.size < 2:
        raise ValueError(
            f"y has one class only, all {shown(classes[0])}: a measure needs positive and negative examples. "
            "The number of classes has to be greater than one; got 1 class."
        )
    if pos_label is not None:
        found = np.flatnonzero(classes == pos_label)
        if found.size != 1:
            raise ValueError(
                f"pos_label must be one of the labels, {shown(classes[0])} or {shown(classes[1])}, "
                f"got {shown(pos_label)}."
            )
        if found[0] == 0:
            classes = classes[::-1].copy()
    return classes, y == classes[1]


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


def example_weights(
    class_weight: Any, classes: NDArray[Any], positive: NDArray[np.bool_], sample_weight: ArrayLike | None
) -> Array | None:
    """Sample weights times class weights; None if there are neither."""
    weights = None if sample_weight is None else vector("sample_weight", sample_weight, length=positive.shape[0])
    if class_weight is None:
        return weights
    members = positive.astype(np.intp)
    by_class = compute_class_weight(class_weight, classes=classes, y=classes[members])
    class_weights: Array = by_class[members]
    return class_weights if weights is None else weights * class_weights


def make_solver(solver: str | Solver, *, tol: float, max_iter: int, smoothing: str | float | Smoothing) -> ConvexSolver:
    """The solver of a given name with these settings; a solver object brings its own."""
    if isinstance(solver, ConvexSolver):
        return solver
    name = choice("solver", solver, SOLVERS)
    if name == "bmrm":
        return BMRM(tol=tol, max_iter=max_iter)
    if name == "newton" and smoothing == "adaptive":
        return Newton(tol=tol, max_iter=max_iter)  # whose own default is adaptive, too
    kinds: dict[str, type[LBFGS | Nesterov | Newton]] = {"lbfgs": LBFGS, "nesterov": Nesterov, "newton": Newton}
    return kinds[name](tol=tol, max_iter=max_iter, smoothing=_make_smoothing(smoothing))


def penalty_of(estimator: Any, n_features: int, l1_ratio: float | None = None) -> Penalty:
    """The penalty that the parameters of an estimator describe, in strength 1, for features without a bias."""
    ratio = ElasticNet(1.0, estimator.l1_ratio if l1_ratio is None else l1_ratio).l1_ratio  # checked by it
    bounds, factors = estimator.coef_bounds, estimator.penalty_factors
    if ratio == 0.0 and estimator.positive is False and bounds is None and factors is None:
        return Quadratic(1.0)
    names = getattr(estimator, "feature_names_in_", None)
    return penalty_by_feature(ratio, estimator.positive, bounds, factors, n_features, names)


def check_suits(
    solver: Solver, measure: Measure, risk: Risk, penalty: Penalty | None = None, *, tight: bool = False
) -> None:
    """Say before the work begins that a solver, a bound or a penalty cannot train for a measure."""
    if tight and not risk.has_loss_free:
        raise ValueError(
            f'bound="tight" is for measures whose risk is a maximum over labelings, which that of {measure.name!r} is '
            'not; use bound="convex".'
        )
    if isinstance(solver, ConvexSolver) and solver.quadratic_only and penalty is not None and not penalty.is_quadratic:
        name = type(solver).__name__.lower()
        raise ValueError(f'solver "{name}" knows the quadratic penalty only; use "lbfgs" with others.')
    if isinstance(solver, Newton) and not risk.has_curvature:
        raise ValueError(
            f'solver "newton" needs second derivatives of a form that {measure.name!r} lacks and that "prbep", '
            '"precision@k", "recall@k", "error_rate", "log_loss" and "squared_hinge" have; use "lbfgs".'
        )


def _make_smoothing(smoothing: str | float | Smoothing) -> Smoothing:
    if isinstance(smoothing, (Adaptive, Fixed)):
        return smoothing
    if smoothing == "adaptive":
        return Adaptive()
    if isinstance(smoothing, str):
        raise ValueError(f'smoothing must be "adaptive", a number or a Smoothing object, got {smoothing!r}.')
    return Fixed(mu=positive_number("smoothing", smoothing))
