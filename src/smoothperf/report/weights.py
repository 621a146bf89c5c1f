"""The weights of a model for its report: the features that move its scores most, on the rows that it is judged on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from ..design.scaling import column_spreads
from ..estimators.weights import most_important, names_of, weights_for_positive

if TYPE_CHECKING:
    from ..estimators.classifier import MeasureClassifier

Array = NDArray[np.float64]
#: Most features that a report names.
MOST = 200


@dataclass(frozen=True)
class Weights:
    """The features with the largest contributions, falling.

    Attributes
    ----------
    names : list of str
        What to call them.
    weights, spreads : ndarray
        Their weights, above 0 for the positive label, and the standard deviations of their columns on the reported
        rows.
    n_features, n_used : int
        Features in all, and those whose weight is not 0.
    total : float
        Sum of the sizes of all contributions, also of those that are not named.
    intercept : float
        What is added to the weighted sum; above 0 for the positive label.
    """

    names: list[str]
    weights: Array
    spreads: Array
    n_features: int
    n_used: int
    total: float
    intercept: float

    @property
    def contributions(self) -> Array:
        """Weight times spread: by how much the score moves with one standard deviation of the feature."""
        return self.weights * self.spreads


def weights_of(model: MeasureClassifier, X: Any, feature_names: Any = None) -> Weights:
    """Look at a model's weights beside the spreads of some rows.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> X = [[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]
    >>> weights_of(MeasureClassifier(alpha=0.1).fit(X, [0, 0, 1, 1]), X).names  # the other has no spread
    ['column 0']
    """
    weights = weights_for_positive(model)
    X = check_array(X, accept_sparse=["csr", "csc"], accept_large_sparse=True, dtype=[np.float64, np.float32])
    spreads = column_spreads(X)
    spreads[~np.isfinite(spreads)] = 0.0  # squares of very large values overflow; they say nothing then
    contributions = weights * spreads
    places = most_important(contributions, MOST)
    return Weights(
        names=names_of(model, places.tolist(), feature_names),
        weights=weights[places],
        spreads=spreads[places],
        n_features=weights.shape[0],
        n_used=int(np.count_nonzero(weights)),
        total=float(np.abs(contributions).sum()),
        intercept=float(model._sign * model.intercept_[0]),
    )
