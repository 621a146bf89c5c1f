"""Probabilities from scores of held-out rows: scikit-learn's calibrators, kept as the numbers that they have found."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from .._arrays import Array
from .._validation import vector
from ..io.model_file import kept_in_files

METHODS = ("sigmoid", "isotonic")


@kept_in_files
@dataclass(frozen=True)
class Sigmoid:
    """``1 / (1 + exp(slope * score + offset))``: Platt's method."""

    slope: float
    offset: float

    def __post_init__(self) -> None:
        vector("slope and offset", [self.slope, self.offset])

    def probabilities(self, scores: Array) -> Array:
        """The chance of a positive."""
        chances: Array = 0.5 * (1.0 - np.tanh(0.5 * (self.slope * scores + self.offset)))  # never overflows
        return chances

    def moved(self, by: float) -> Sigmoid:
        """The same for scores that have all grown by a number."""
        return Sigmoid(self.slope, self.offset - self.slope * by)


@kept_in_files
@dataclass(frozen=True)
class Isotonic:
    """Straight lines between points that rise; constant beyond the first and the last."""

    scores: tuple[float, ...]
    chances: tuple[float, ...]

    def __post_init__(self) -> None:
        scores = vector("scores", self.scores)
        chances = vector("chances", self.chances, length=scores.size)
        if scores.size == 0 or np.any(np.diff(scores) < 0.0) or np.abs(chances - 0.5).max() > 0.5 + 1e-9:
            raise ValueError("an isotonic calibration has scores that rise, and the chance of a positive at each")

    def probabilities(self, scores: Array) -> Array:
        """The chance of a positive."""
        return np.interp(scores, self.scores, self.chances)

    def moved(self, by: float) -> Isotonic:
        """The same for scores that have all grown by a number."""
        return Isotonic(tuple(score + by for score in self.scores), self.chances)


class _Scores(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose one feature is the score."""

    classes_ = np.array([False, True])

    def fit(self, X: Any, y: Any) -> _Scores:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: Any) -> Array:
        scores: Array = np.asarray(X, dtype=np.float64)[:, 0]
        return scores

    def predict(self, X: Any) -> NDArray[np.bool_]:
        return self.decision_function(X) > 0.0


def fitted_calibration(
    method: str, positive: NDArray[np.bool_], scores: Array, weights: Array | None
) -> Sigmoid | Isotonic:
    """Fit a calibrator of scikit-learn to scores of rows that were not trained on.

    Examples
    --------
    >>> scores = np.linspace(-2.0, 2.0, 41)
    >>> found = fitted_calibration("isotonic", scores > 0.5, scores, None)
    >>> found.probabilities(np.array([-3.0, 3.0]))
    array([0., 1.])
    """
    from sklearn.calibration import CalibratedClassifierCV  # slow, and a model that is only used needs none
    from sklearn.frozen import FrozenEstimator

    column = scores.reshape(-1, 1)
    with warnings.catch_warnings():
        # Weights are for the calibration alone, which is meant.
        warnings.filterwarnings("ignore", "Since FrozenEstimator does not appear to accept sample_weight")
        model = CalibratedClassifierCV(FrozenEstimator(_Scores()), method=method, cv=2).fit(column, positive, weights)
    [calibrator] = model.calibrated_classifiers_[0].calibrators
    if method == "sigmoid":
        return Sigmoid(float(calibrator.a_), float(calibrator.b_))
    points = calibrator.X_thresholds_.tolist(), calibrator.y_thresholds_.tolist()
    return Isotonic(tuple(points[0]), tuple(points[1]))
