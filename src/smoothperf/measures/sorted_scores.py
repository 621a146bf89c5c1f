r"""Examples sorted by falling score, and what lies above every place where they can be cut.

They can be cut after every distinct score. With ``tp`` and ``fp`` the weights of positives and negatives above a cut,
every measure of a ranking or of a decision is a function of these two arrays. A bootstrap resample is a vector of
multiplicities of the same, already sorted examples: O(n), no sorting again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validation import binary_labels, vector

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Cuts:
    """Weights above each cut, from nothing predicted positive (first) to everything (last).

    Attributes
    ----------
    tp, fp : ndarray of shape (m + 1,)
        Weight of the positives and of the negatives with one of the k largest of m distinct scores.
    """

    tp: Array
    fp: Array

    def at(self, cut: int) -> Cuts:
        """Return one cut and the last one."""
        return Cuts(self.tp[[cut, -1]], self.fp[[cut, -1]])

    @property
    def precision(self) -> Array:
        """``tp / (tp + fp)``; 0 where nothing is predicted positive."""
        return ratio(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> Array:
        """``tp / N+``, also called true positive rate."""
        return ratio(self.tp, self.tp[-1])

    @property
    def false_positive_rate(self) -> Array:
        """``fp / N-``."""
        return ratio(self.fp, self.fp[-1])

    @property
    def f1(self) -> Array:
        """Harmonic mean of precision and recall, ``2 tp / (tp + fp + N+)``."""
        scores: Array = 2.0 * self.tp / (self.tp + self.fp + self.tp[-1])
        return scores

    @property
    def accuracy(self) -> Array:
        """Share of the examples on the right side."""
        return ratio(self.tp + self.fp[-1] - self.fp, self.tp[-1] + self.fp[-1])


class SortedScores:
    """Examples sorted by falling score.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels in {-1, +1}, {0, 1} or {False, True}; both classes must occur.
    scores : array-like of shape (n,)
        Larger for what is more likely positive.

    Attributes
    ----------
    levels : ndarray of shape (m,)
        The distinct scores, falling.

    Examples
    --------
    >>> SortedScores([1, 1, 0, 0, 0], [0.9, 0.2, 0.7, 0.1, 0.0]).cuts().tp
    array([0., 1., 1., 2., 2., 2.])
    """

    def __init__(self, y: ArrayLike, scores: ArrayLike):
        positive = binary_labels(y)
        values = vector("scores", scores, length=positive.shape[0])
        self._order = np.argsort(-values, kind="stable")
        falling = values[self._order]
        self._labels, self._scores = positive, values
        self._ends = np.flatnonzero(np.append(falling[1:] != falling[:-1], True))
        self._positive = positive[self._order].astype(np.float64)
        self.levels: Array = falling[self._ends]

    def __len__(self) -> int:
        return int(self._order.shape[0])

    def cuts(self, multiplicity: Array | None = None) -> Cuts:
        """Return the weights above each cut.

        Parameters
        ----------
        multiplicity : ndarray of shape (n,), optional
            How often each example counts, in the order in which they came; once each by default.
        """
        weight = None if multiplicity is None else multiplicity[self._order]
        tp, total = np.zeros(self.levels.shape[0] + 1), np.zeros(self.levels.shape[0] + 1)
        if weight is None:
            tp[1:] = self._at_levels(np.cumsum(self._positive))
            total[1:] = self._ends + 1.0
        else:
            tp[1:] = self._at_levels(np.cumsum(weight * self._positive))
            total[1:] = self._at_levels(np.cumsum(weight))
        return Cuts(tp, total - tp)

    def _at_levels(self, sums: Array) -> Array:
        """Sums up to the last example of each distinct score: all of them where no two are tied."""
        return sums if self.levels.shape == sums.shape else sums[self._ends]

    def cut_at(self, threshold: float) -> int:
        """Return which cut predicts positive exactly what scores above a threshold."""
        return int(np.searchsorted(-self.levels, -threshold, side="left"))

    def threshold_at(self, cut: int) -> float:
        """Return a number that cuts there: midway between two scores, or at or just below the outermost."""
        levels = self.levels
        if cut == 0:
            return float(levels[0])
        if cut == levels.shape[0]:
            return float(np.nextafter(levels[-1], -np.inf))
        return float(levels[cut - 1] + levels[cut]) / 2.0


def partial_roc_area(cuts: Cuts, max_fpr: float) -> float:
    """Return the mean height of the ROC curve over false positive rates from 0 to ``max_fpr``.

    Examples
    --------
    >>> partial_roc_area(SortedScores([0, 1, 0, 0], [0.9, 0.8, 0.3, 0.1]).cuts(), 0.5).__round__(4)
    0.3333
    """
    x, y = cuts.false_positive_rate, cuts.recall
    last = int(np.flatnonzero(x <= max_fpr)[-1])
    area = float((np.diff(x[: last + 1]) * (y[1 : last + 1] + y[:last])).sum()) / 2.0
    if x[last] < max_fpr:
        width = max_fpr - float(x[last])
        slope = float((y[last + 1] - y[last]) / (x[last + 1] - x[last]))
        area += width * (float(y[last]) + width * slope / 2.0)
    return area / max_fpr


def ratio(part: Array, whole: Array | float) -> Array:
    """Divide, with 0 where there is nothing to divide by."""
    whole = np.broadcast_to(np.asarray(whole, dtype=np.float64), part.shape)
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0.0)
