r"""Examples sorted by falling score, and what lies above every place where they can be cut.

They can be cut after every distinct score. With ``tp`` and ``fp`` the weights of positives and negatives above a cut,
every measure of a ranking or of a decision is a function of these two arrays. A bootstrap resample is a vector of
multiplicities of the same, already sorted examples: O(n), no sorting again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import Array
from .._validation import binary_labels, vector
from .threshold_search import between


@dataclass(frozen=True)
class Counts:
    """Weights above each cut, from nothing predicted positive (first) to everything (last).

    Attributes
    ----------
    tp, fp : ndarray of shape (m + 1,)
        Weight of the positives and of the negatives with one of the k largest of m distinct scores.
    """

    tp: Array
    fp: Array

    def at(self, cut: int) -> Counts:
        """Return one cut and the last one."""
        return Counts(self.tp[[cut, -1]], self.fp[[cut, -1]])

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


class Cuts:
    """All cuts of a score vector: cut i is below the i-th smallest different score, the last one above all.

    An example is predicted positive if its score exceeds the threshold, so examples with equal scores share their fate:
    only cuts between two different scores, below all or above all can be realised.
    """

    def __init__(self, scores: Array):
        self._levels, self._members = np.unique(scores, return_inverse=True)

    def above(self, weights: Array | None) -> Array:
        """Weight (by default the number) of the examples above each cut.

        Parameters
        ----------
        weights : ndarray of shape (n,), optional
            Weights of the examples.

        Returns
        -------
        ndarray
            A weight for each cut.
        """
        sums = np.bincount(self._members, weights=weights)
        return np.append(np.cumsum(sums[::-1])[::-1], 0.0)

    def threshold(self, cut: int) -> float:
        """A number to cut at: midway between two scores, or a little beyond all of them.

        Parameters
        ----------
        cut : int
            Number of the cut.

        Returns
        -------
        float
            The threshold.
        """
        levels = self._levels
        below = float(levels[cut - 1]) if cut > 0 else -np.inf
        above = float(levels[cut]) if cut < levels.size else np.inf
        return between(below, above, float(levels[0]), float(levels[-1]))


class SortedScores(Cuts):
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
        self._labels = binary_labels(y)
        self._scores = vector("scores", scores, length=self._labels.shape[0])
        super().__init__(self._scores)
        self.levels: Array = self._levels[::-1]

    def __len__(self) -> int:
        return int(self._labels.shape[0])

    def cuts(self, multiplicity: Array | None = None) -> Counts:
        """Return the weights above each cut.

        Parameters
        ----------
        multiplicity : ndarray of shape (n,), optional
            Counts of the examples, in the order in which they came; ones by default.

        Returns
        -------
        Counts
            The contingency tables of all cuts.
        """
        positive = self._labels.astype(np.float64)
        tp = self.above(positive if multiplicity is None else multiplicity * positive)[::-1]
        total = self.above(multiplicity)[::-1]
        return Counts(tp, total - tp)

    def cut_at(self, threshold: float) -> int:
        """Return which cut predicts positive exactly what scores above a threshold.

        Parameters
        ----------
        threshold : float
            Positive is what scores above it.

        Returns
        -------
        int
            Number of the cut.
        """
        return int(np.searchsorted(-self.levels, -threshold, side="left"))

    def threshold_at(self, cut: int) -> float:
        """Return a number that cuts there: midway between two scores, or a little beyond the outermost.

        Parameters
        ----------
        cut : int
            Number of the cut.

        Returns
        -------
        float
            The threshold.
        """
        return self.threshold(self.levels.shape[0] - cut)


def partial_roc_area(cuts: Counts, max_fpr: float) -> float:
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
