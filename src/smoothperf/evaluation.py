r"""What a vector of scores is worth: every measure from one sorting, and how far chance could have moved it.

Sorted by falling score, the examples can be cut after every distinct score. With ``tp`` and ``fp`` the weights of
positives and negatives above a cut, every measure is a function of these two arrays:

    ROC area           sum_k (fp_k - fp_{k-1}) (tp_k + tp_{k-1}) / (2 N+ N-)
    average precision  sum_k (tp_k - tp_{k-1}) / N+ * tp_k / (tp_k + fp_k)
    PRBEP              tp / N+ where tp + fp = N+, linear between two cuts (ties share the places that are left)

A bootstrap resample is a vector of multiplicities of the same, already sorted examples: O(n), no sorting again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._validation import binary_labels, vector, whole_number

Array = NDArray[np.float64]

#: The measures of :meth:`Ranking.measures` by name, as people write them.
NAMES = {
    "prbep": "PRBEP",
    "roc_area": "ROC area",
    "average_precision": "average precision",
    "best_f1": "F1, best threshold",
    "f1": "F1",
    "precision": "precision",
    "recall": "recall",
    "false_positive_rate": "false positive rate",
    "accuracy": "accuracy",
}


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
        return ratio(2.0 * self.tp, self.tp + self.fp + self.tp[-1])

    @property
    def accuracy(self) -> Array:
        """Share of the examples on the right side."""
        return ratio(self.tp + self.fp[-1] - self.fp, self.tp[-1] + self.fp[-1])


class Ranking:
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
    >>> ranking = Ranking([1, 1, 0, 0, 0], [0.9, 0.2, 0.7, 0.1, 0.0])
    >>> ranking.cuts().tp
    array([0., 1., 1., 2., 2., 2.])
    >>> ranking.measures(threshold=0.5)["precision"]
    0.5
    """

    def __init__(self, y: ArrayLike, scores: ArrayLike):
        positive = binary_labels(y)
        values = vector("scores", scores, length=positive.shape[0])
        self._order = np.argsort(-values, kind="stable")
        falling = values[self._order]
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
        if multiplicity is None:
            tp = np.cumsum(self._positive)[self._ends]
            total = self._ends + 1.0
        else:
            weight = multiplicity[self._order]
            tp = np.cumsum(weight * self._positive)[self._ends]
            total = np.cumsum(weight)[self._ends]
        return Cuts(np.append(0.0, tp), np.append(0.0, total - tp))

    def cut_at(self, threshold: float) -> int:
        """Return which cut predicts positive exactly what scores above a threshold."""
        return int(np.searchsorted(-self.levels, -threshold, side="left"))

    def measures(self, threshold: float = 0.0, multiplicity: Array | None = None) -> dict[str, float]:
        """Return every measure by its name in :data:`NAMES`.

        Those of a decision (F1, precision, recall, false positive rate, accuracy) are for "positive where the score
        is above ``threshold``"; precision is 0 if nothing is.
        """
        cuts = self.cuts(multiplicity)
        at = self.cut_at(threshold)
        f1 = cuts.f1
        return {
            "prbep": prbep(cuts),
            "roc_area": roc_area(cuts),
            "average_precision": average_precision(cuts),
            "best_f1": float(f1.max()),
            "f1": float(f1[at]),
            "precision": float(cuts.precision[at]),
            "recall": float(cuts.recall[at]),
            "false_positive_rate": float(cuts.false_positive_rate[at]),
            "accuracy": float(cuts.accuracy[at]),
        }


def prbep(cuts: Cuts) -> float:
    """Return the precision where as many are predicted positive as there are; ties share the places left.

    Examples
    --------
    >>> prbep(Ranking([1, 1, 0, 0, 0], [0.9, 0.2, 0.7, 0.1, 0.0]).cuts())
    0.5
    """
    positives = float(cuts.tp[-1])
    return float(np.interp(positives, cuts.tp + cuts.fp, cuts.tp)) / positives


def roc_area(cuts: Cuts) -> float:
    """Return the area under the ROC curve; tied pairs count half.

    Examples
    --------
    >>> roc_area(Ranking([1, 0, 0], [0.5, 0.5, 0.0]).cuts())
    0.75
    """
    area = np.diff(cuts.fp) @ (cuts.tp[1:] + cuts.tp[:-1])
    return float(area / (2.0 * cuts.tp[-1] * cuts.fp[-1]))


def partial_roc_area(cuts: Cuts, max_fpr: float) -> float:
    """Return the mean height of the ROC curve over false positive rates from 0 to ``max_fpr``.

    Examples
    --------
    >>> partial_roc_area(Ranking([0, 1, 0, 0], [0.9, 0.8, 0.3, 0.1]).cuts(), 0.5).__round__(4)
    0.3333
    """
    x, y = cuts.false_positive_rate, cuts.recall
    last = int(np.flatnonzero(x <= max_fpr)[-1])
    area = float(np.diff(x[: last + 1]) @ (y[1 : last + 1] + y[:last])) / 2.0
    if x[last] < max_fpr:
        width = max_fpr - float(x[last])
        slope = float((y[last + 1] - y[last]) / (x[last + 1] - x[last]))
        area += width * (float(y[last]) + width * slope / 2.0)
    return area / max_fpr


def average_precision(cuts: Cuts) -> float:
    """Return the mean of the precision over the recall, as scikit-learn defines it.

    Examples
    --------
    >>> average_precision(Ranking([1, 0, 1], [3.0, 2.0, 1.0]).cuts()).__round__(4)
    0.8333
    """
    return float(np.diff(cuts.recall) @ cuts.precision[1:])


def ratio(part: Array, whole: Array | float) -> Array:
    """Divide, with 0 where there is nothing to divide by."""
    whole = np.broadcast_to(np.asarray(whole, dtype=np.float64), part.shape)
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0.0)


def resamples(y: ArrayLike, n_resamples: int, seed: int) -> Iterator[Array]:
    """Draw rows with replacement, as multiplicities; draws that miss a class are drawn again.

    Examples
    --------
    >>> [int(draw.sum()) for draw in resamples([0, 1, 1, 0], n_resamples=2, seed=0)]
    [4, 4]
    """
    positive = binary_labels(y)
    n = positive.shape[0]
    rng = np.random.default_rng(seed)
    for _ in range(whole_number("n_resamples", n_resamples, at_least=1)):
        while True:
            draw = np.bincount(rng.integers(n, size=n), minlength=n)
            chosen = int(draw[positive].sum())
            if 0 < chosen < n:
                break
        yield draw.astype(np.float64)


def interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Return the middle ``level`` of bootstrap values (the percentile interval).

    Examples
    --------
    >>> low, high = interval(range(1001))
    >>> round(low), round(high)
    (25, 975)
    """
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(np.asarray(values, dtype=np.float64), [tail, 1.0 - tail])
    return float(low), float(high)
