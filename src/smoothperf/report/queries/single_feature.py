"""The feature that ranks best by itself, which anybody could sort by: what a model must beat to be worth while."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.sparsefuncs import mean_variance_axis

from ...measures import Queries, QueryMeasure

Array = NDArray[np.float64]
#: Most features that are tried; each costs as much as judging a model twice.
MOST = 300


@dataclass(frozen=True)
class SingleFeature:
    """The feature that ranks best by itself.

    Attributes
    ----------
    name : str
        What it is called.
    falling : bool
        Whether it is small values that come first.
    tried, n_features : int
        How many features were tried, of how many.
    scores : ndarray of shape (n,)
        The feature, or its negative if it is falling.
    """

    name: str
    falling: bool
    tried: int
    n_features: int
    scores: Array = field(repr=False)


def best_single_feature(
    X: Any, coef: Array, queries: Queries, measure: QueryMeasure, names: Sequence[str] | None = None
) -> SingleFeature:
    """Sort by every feature, upwards and downwards, and return the best.

    Of more than 300 features only those are tried that the model makes most of: with the largest standard deviation of
    ``coef_j x_j``.

    Examples
    --------
    >>> from smoothperf import NDCG
    >>> X = np.array([[1.0, 3.0], [2.0, 1.0], [3.0, 2.0]])
    >>> found = best_single_feature(X, np.ones(2), Queries.of([2, 1, 0], [7, 7, 7]), NDCG())
    >>> found.name, found.falling
    ('feature 1', True)
    """
    n_features = X.shape[1]
    tried = np.arange(n_features)
    if n_features > MOST:
        tried = np.sort(np.argsort(-np.abs(coef) * _spread(X), kind="stable")[:MOST])
    columns = _by_column(X)
    best, worth = None, -np.inf
    for place in tried.tolist():
        values = _column(columns, place)
        for falling in (False, True):
            found = measure.mean_score(queries, -values if falling else values)
            if found > worth:
                best, worth = (place, falling), found
    assert best is not None
    values = _column(columns, best[0])
    return SingleFeature(
        name=f"feature {best[0] + 1}" if names is None else str(names[best[0]]),
        falling=best[1],
        tried=tried.size,
        n_features=n_features,
        scores=-values if best[1] else values,
    )


def _by_column(X: Any) -> Any:
    sparse: Any = X if sp.issparse(X) else None
    return X if sparse is None else sparse.tocsc()


def _column(X: Any, place: int) -> Array:
    column: Any = X[:, [place]]
    dense = column.toarray() if hasattr(column, "toarray") else column
    return np.asarray(dense, dtype=np.float64).ravel()


def _spread(X: Any) -> Array:
    """The standard deviation of each feature."""
    deviations: Array = np.sqrt(mean_variance_axis(X, axis=0)[1]) if sp.issparse(X) else X.std(axis=0)
    return deviations
