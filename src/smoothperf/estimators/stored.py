"""What estimators do with a store (:mod:`smoothperf.io.store`) in place of a matrix."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..io.store import Store, open_store
from .inputs import encode_labels


def as_store(X: Any) -> Store | None:
    """The store that X is, or whose path it is; None for anything else."""
    if isinstance(X, Store):
        return X
    return open_store(X) if isinstance(X, (str, os.PathLike)) else None


def stored_labels(store: Store, y: ArrayLike | None, pos_label: Any = None) -> tuple[NDArray[Any], NDArray[np.bool_]]:
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


def remember_features(estimator: Any, store: Store) -> None:
    """Set what scikit-learn keeps of the features."""
    estimator.n_features_in_ = store.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)
    if store.feature_names is not None:
        estimator.feature_names_in_ = np.array(store.feature_names, dtype=object)


def refuse_store(X: Any, what: str) -> None:
    """Raise an error if X is a store, for what cannot be done with one."""
    if isinstance(X, (str, os.PathLike, Store)):
        path = X.path if isinstance(X, Store) else os.fspath(X)
        raise ValueError(
            f"{what} needs the rows in memory, got the store {path}: use smoothperf.io.read_data to read it."
        )
