"""What every fit begins with: labelled rows out of what a user passes, and the problem that they are with a measure."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from ..design import Design
from ..io.store import Store, as_store
from ..measures import Measure, Risk, get_measure
from ..measures.examples import Examples
from ..solvers import ConvexSolver
from ..threads import check_n_threads
from .bias import Bias
from .inputs import check_lengths, check_suits, encode_labels, example_weights, make_solver

#: Matrices that are taken as they are.
ACCEPTED: dict[str, Any] = {"accept_sparse": ["csr", "csc"], "dtype": [np.float64, np.float32]}


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
        estimator.n_features_in_ = store.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        if store.feature_names is not None:
            estimator.feature_names_in_ = np.array(store.feature_names, dtype=object)
    weights = example_weights(estimator.class_weight, pair, positive, sample_weight)
    return LabelledRows(X, pair, Examples.of(positive, weights))


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
    pair, is_positive = encode_labels(store.classes, pos_label)  # of all rows, the same as of each kind
    return pair, is_positive[store.codes()]


def refuse_store(X: Any, what: str) -> None:
    """Raise an error if X is a store, for what cannot be done with one."""
    if isinstance(X, (str, os.PathLike, Store)):
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
    design : Design
        X as an operator, with the constant feature where a bias is trained.
    risk : Risk
        The measure's, for these labels.
    """

    measure: Measure
    bias: Bias
    solver: ConvexSolver
    rows: LabelledRows
    design: Design
    risk: Risk

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        tight: bool = False,
    ) -> Problem:
        """Check the parameters, then the rows, then whether they go together."""
        measure = get_measure(estimator.measure)
        bias = Bias(measure, estimator.fit_intercept, estimator.intercept_scaling)
        solver = make_solver(
            estimator.solver, tol=estimator.tol, max_iter=estimator.max_iter, smoothing=estimator.smoothing
        )
        check_n_threads(estimator.n_threads)
        rows = labelled_rows(estimator, X, y, sample_weight)
        risk = measure.risk(rows.examples)
        check_suits(solver, measure, risk, tight=tight)
        return cls(measure, bias, solver, rows, bias.design(rows.X, low_memory=estimator.low_memory), risk)
