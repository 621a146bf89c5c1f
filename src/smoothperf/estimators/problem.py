"""Checks that every fit begins with: rows out of what a user passes, a task and a solver out of the parameters."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import validate_data

from .._arrays import Array
from .._validation import choice, positive_number, share, shown, vector
from ..io.store import Store, open_store
from ..measures import get_measure
from ..optimise import BMRM, LBFGS, ConvexSolver, Nesterov, Newton, Solver
from ..optimise.penalties import Penalty, Quadratic
from ..optimise.smoothing import Adaptive, Fixed, Smoothing
from ..tasks.features import Columns, is_table
from ..tasks.labels import LabelRows, LabelTask
from .penalty import penalty_by_feature

#: Matrices that are taken as they are.
ACCEPTED: dict[str, Any] = {"accept_sparse": ["csr", "csc"], "dtype": [np.float64, np.float32]}
#: Names of solvers.
SOLVERS = ("lbfgs", "nesterov", "newton", "bmrm")


def labelled_rows(
    estimator: Any,
    X: Any,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
) -> LabelRows:
    """Check what was passed to ``fit``; the estimator says which label is positive, and remembers the features."""
    given = taken(X, y, sample_weight)
    check_lengths(given.X, given.y)
    X, labels = checked_rows(estimator, given)
    pair, positive = encode_labels(labels, estimator.pos_label)
    weights = given.sample_weight
    weights = None if weights is None else vector("sample_weight", weights, length=positive.shape[0])
    rows = LabelRows(
        X,
        pair,
        positive,
        weights,
        estimator.class_weight,
        features=features_of(estimator),
        low_memory=estimator.low_memory,
    )
    rows.offset = offset_of(offset, pair, positive.shape[0])
    return rows


def features_of(estimator: Any) -> Any:
    """The transformer that makes features of X; None if X has them, as on a cluster, or may have."""
    features = getattr(estimator, "features", None)
    if hasattr(estimator, "cv"):  # which may choose
        several = features if isinstance(features, list) else [features]
        return None if any(each is None or isinstance(each, str) for each in several) else several[0]
    if features is not None and not (hasattr(features, "fit") and hasattr(features, "transform")):
        raise ValueError(f"features must be a transformer with fit and transform, or None, got {features!r}.")
    return features


def any_named(features: Any) -> bool:
    """Whether features are asked for by name, so that they are made of whatever columns there are."""
    return any(isinstance(each, str) for each in (features if isinstance(features, list) else [features]))


def checked_rows(estimator: Any, given: Taken, **settings: Any) -> tuple[Any, Any]:
    """Rows and their targets, checked; X not where features are made of it, whose transformer knows what it takes."""
    if features_of(estimator) is not None or (any_named(getattr(estimator, "features", None)) and is_table(given.X)):
        X = given.X if hasattr(given.X, "shape") else np.asarray(given.X)  # rows are counted and taken by number
        return X, validate_data(estimator, X="no_validation", y=given.y, **settings)
    X, y = validate_data(estimator, given.X, given.y, accept_large_sparse=True, **ACCEPTED, **settings)
    given.name_features(estimator)
    return X, y


def offset_of(scores: ArrayLike | None, pair: NDArray[Any], length: int) -> Array | None:
    """Turn scores that rise to the second sorted label into an offset, which rises to the positive one."""
    if scores is None:
        return None
    offset = vector("base_scores", scores, length=length)
    return offset if pair[0] < pair[1] else -offset


@dataclass(frozen=True)
class Taken:
    """Rows as a user gave them, or of a store, with its labels and weights where no others were given."""

    X: Any
    y: Any
    sample_weight: Any
    store: Store | None

    def name_features(self, estimator: Any) -> None:
        """Keep the names of the columns of a store, as scikit-learn keeps those of a data frame."""
        if self.store is not None and self.store.feature_names is not None:
            estimator.feature_names_in_ = np.array(self.store.feature_names, dtype=object)


def taken(X: Any, y: Any = None, sample_weight: Any = None) -> Taken:
    """Take rows out of a store, if X is one or the path of one; its features stay in their files."""
    store = opened(X)
    if not isinstance(store, Store):
        return Taken(X, y, sample_weight, None)
    y = store.y if y is None else y
    return Taken(store.X, y, store.sample_weight if sample_weight is None else sample_weight, store)


def opened(X: Any) -> Any:
    """Return the store whose path X is; anything else as it is, but a frame must not have a column twice."""
    if isinstance(X, (str, os.PathLike)):
        return open_store(X)
    names = list(getattr(X, "columns", ()))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"X has {names.count(twice)} columns named {shown(twice)}; rename them, or leave all but one out."
        )
    return X


def new_rows(estimator: Any, X: Any) -> Any:
    """Rows for a fitted estimator, checked; those of a store stay in their files."""
    X = opened(X)
    if not isinstance(X, Store):
        return validate_data(estimator, X, reset=False, **ACCEPTED)
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(f"{X.path} has {X.shape[1]} features, but the model expects {estimator.n_features_in_}.")
    return check_array(X.X, **ACCEPTED)


def label_task(
    estimator: Any, n_features: int, l1_ratios: Sequence[float] | None = None, columns: Columns | None = None
) -> LabelTask:
    """The task that the parameters of an estimator describe, for rows with so many features."""
    ratios = (estimator.l1_ratio,) if l1_ratios is None else l1_ratios

    def penalties(n_features: int, columns: Columns | None) -> dict[float, Penalty]:
        return {ratio: penalty_of(estimator, n_features, ratio, columns) for ratio in ratios}

    return LabelTask(
        measure=get_measure(estimator.measure),
        fit_intercept=estimator.fit_intercept,
        intercept_scaling=estimator.intercept_scaling,
        penalties=penalties(n_features, columns),
        penalty_for=None if columns is None else lambda rows: penalties(rows.X.shape[1], rows.columns),
    )


def solver_of(estimator: Any) -> ConvexSolver:
    """The solver that an estimator's parameters describe."""
    return make_solver(estimator.solver, tol=estimator.tol, max_iter=estimator.max_iter, smoothing=estimator.smoothing)


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


def make_solver(solver: str | Solver, *, tol: float, max_iter: int, smoothing: str | float | Smoothing) -> ConvexSolver:
    """The solver of a given name with these settings; a solver object brings its own."""
    if isinstance(solver, ConvexSolver):
        return solver
    name = choice("solver", solver, ("auto", *SOLVERS))
    if name == "bmrm":
        return BMRM(tol=tol, max_iter=max_iter)
    if name == "newton" and smoothing == "adaptive":
        return Newton(tol=tol, max_iter=max_iter)  # whose own default is adaptive, too
    kinds: dict[str, type[LBFGS | Nesterov | Newton]] = {
        "auto": LBFGS,
        "lbfgs": LBFGS,
        "nesterov": Nesterov,
        "newton": Newton,
    }
    return kinds[name](tol=tol, max_iter=max_iter, smoothing=_make_smoothing(smoothing))


def penalty_of(
    estimator: Any, n_features: int, l1_ratio: float | None = None, columns: Columns | None = None
) -> Penalty:
    """The penalty that the parameters of an estimator describe, in strength 1, for features without a bias."""
    ratio: Any = estimator.l1_ratio if l1_ratio is None else l1_ratio
    share("l1_ratio", ratio)
    bounds, factors = estimator.coef_bounds, estimator.penalty_factors
    if columns is None:
        columns = Columns(getattr(estimator, "feature_names_in_", None))
    if ratio == 0.0 and estimator.positive is False and bounds is None and factors is None and columns.bounds is None:
        return Quadratic(1.0)
    return penalty_by_feature(ratio, estimator.positive, bounds, factors, n_features, columns)


def _make_smoothing(smoothing: str | float | Smoothing) -> Smoothing:
    if isinstance(smoothing, (Adaptive, Fixed)):
        return smoothing
    if smoothing == "adaptive":
        return Adaptive()
    if isinstance(smoothing, str):
        raise ValueError(f'smoothing must be "adaptive", a number or a Smoothing object, got {smoothing!r}.')
    return Fixed(mu=positive_number("smoothing", smoothing))
