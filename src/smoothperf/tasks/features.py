"""Features made of rows by a transformer: scales, words, knots are learnt from the rows trained on, from no others."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_array

from .._arrays import Array, Indices
from .base import Rows, scores_of

R = TypeVar("R", bound=Rows[Any])


@dataclass(frozen=True)
class Columns:
    """The columns that a transformer makes, as it says.

    Attributes
    ----------
    names : ndarray of str or None
        Their names.
    bounds : ndarray of shape (2, d) or None
        Lowest and highest weights that it allows, such as those of monotone shapes; finite ones are 0.
    """

    names: Any = None
    bounds: Any = None


def is_table(X: Any) -> bool:
    """Whether a matrix or data frame holds more than numbers: words, dates, missing values."""
    if issparse(X):
        return False
    try:
        values = np.asarray(X)
    except TypeError:  # columns of Polars that have no type in common
        return True
    return values.dtype.kind not in "biuf" or (values.dtype.kind == "f" and values.size > 0 and np.isnan(values.min()))


def with_transformer(rows: R, features: Any) -> R:
    """The rows, of which this transformer, not fitted, is to make features; None if X has them."""
    rows = copy(rows)
    rows.features, rows._starts = features, {}
    return rows


def prepared(rows: R) -> tuple[R, Any]:
    """The rows with their features, and the transformer that these rows have taught; None if X has its features."""
    if rows.features is None:
        return rows, None
    fitted = clone(rows.features)
    return _with_features(rows, fitted, fitted.fit_transform(rows.X, rows.targets)), fitted


def split_rows(rows: R, train: Indices, test: Indices) -> tuple[R, R]:
    """Rows to train on and rows held out, with features that the former have taught."""
    before, fitted = prepared(rows.part(train))
    after = rows.part(test)
    return before, after if fitted is None else _with_features(after, fitted, fitted.transform(after.X))


def _with_features(rows: R, fitted: Any, X: Any) -> R:
    rows = copy(rows)
    rows.X = check_array(X, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], accept_large_sparse=True)
    rows.features, rows._starts = None, {}
    from sklearn.pipeline import Pipeline  # slow, and of use here alone

    last = fitted[-1] if isinstance(fitted, Pipeline) else fitted
    rows.columns = Columns(names_made_by(fitted), getattr(last, "coef_bounds_", None))
    return rows


def scores_from(fitted: Any, X: Any, coef: Array, **checks: Any) -> Array:
    """Scores of new rows, by the weights of what a fitted transformer makes of them.

    Curves are added up column by column, in float64, without the features. (Measured with 1e5 rows of 40 columns: 0.8 s
    in place of 5.5, and no 144 MB.)
    """
    steps = [step for _, step in getattr(fitted, "steps", [("", fitted)])]
    if hasattr(steps[-1], "contributions"):
        X = fitted[:-1].transform(X) if len(steps) > 1 else X
        added: Array = steps[-1].contributions(X, coef).sum(axis=1)
        return added
    return scores_of(check_array(fitted.transform(X), **checks), coef)


def names_made_by(fitted: Any) -> Any:
    """Names of the features that a transformer makes; None if it, or a step of a pipeline, does not say."""
    try:
        return fitted.get_feature_names_out()
    except AttributeError:
        return None
