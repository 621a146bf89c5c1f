r"""What a vector of scores is worth: every measure from one sorting, and how far chance could have moved it.

Sorted by falling score, the examples can be cut after every distinct score. With ``tp`` and ``fp`` the weights of
positives and negatives above a cut, every measure is a function of these two arrays:

    ROC area           sum_k (fp_k - fp_{k-1}) (tp_k + tp_{k-1}) / (2 N+ N-)
    average precision  sum_k (tp_k - tp_{k-1}) / N+ * tp_k / (tp_k + fp_k)
    PRBEP              tp / N+ where tp + fp = N+, linear between two cuts (ties share the places that are left)

A bootstrap resample is a vector of multiplicities of the same, already sorted examples: O(n), no sorting again. Sums of
products are made without BLAS, whose threads would cost more than they bring for vectors of this length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validation import binary_labels, vector, whole_number

if TYPE_CHECKING:
    from ..measures import Measure

Array = NDArray[np.float64]

#: Scores that differ by no more than this share of the largest are alike.
CONSTANT = 1e-9
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
#: What the scores of measures to train for are called, where that is not their name.
TITLES = {
    "error_rate": "accuracy",
    "balanced_error_rate": "balanced accuracy",
    "jaccard": "Jaccard",
    "log_loss": "minus log loss",
    "squared_hinge": "minus squared hinge",
}


def title_of(measure: str) -> str:
    """Return what people call the score of a measure, of :data:`NAMES` or to train for.

    Examples
    --------
    >>> [title_of(name) for name in ("prbep", "f2", "precision@100", "roc_area@0.1", "error_rate", "error_rate@10:1")]
    ['PRBEP', 'F2', 'precision@100', 'ROC area@0.1', 'accuracy', 'accuracy with costs 10:1']
    """
    kind, at, parameters = measure.partition("@")
    if not at and kind.startswith("f") and kind[1:].replace(".", "", 1).isdigit():
        return kind.upper()
    if kind == "error_rate" and at:
        return f"accuracy with costs {parameters}"
    return {**NAMES, **TITLES}.get(kind, kind) + at + parameters


def column_of(measure: Measure) -> str:
    """Return the name in :data:`NAMES` under which the score of a measure is found, or else its own name.

    Examples
    --------
    >>> from smoothperf import ErrorRate, PrecisionAtK
    >>> column_of(ErrorRate()), column_of(PrecisionAtK(100))
    ('accuracy', 'precision@100')
    """
    return "accuracy" if measure.name == "error_rate" else measure.name


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

    def measures(
        self, threshold: float = 0.0, multiplicity: Array | None = None, *, also: Measure | None = None
    ) -> dict[str, float]:
        """Return every measure by its name in :data:`NAMES`, and one more by its own name if it is given.

        Those of a decision (F1, precision, recall, false positive rate, accuracy) are for "positive where the score
        is above ``threshold``"; precision is 0 if nothing is.
        """
        cuts = self.cuts(multiplicity)
        decision = cuts.at(self.cut_at(threshold))
        found = {
            "prbep": prbep(cuts),
            "roc_area": roc_area(cuts),
            "average_precision": average_precision(cuts),
            "best_f1": float(cuts.f1.max()),
            "f1": float(decision.f1[0]),
            "precision": float(decision.precision[0]),
            "recall": float(decision.recall[0]),
            "false_positive_rate": float(decision.false_positive_rate[0]),
            "accuracy": float(decision.accuracy[0]),
        }
        return found if also is None else {**found, also.name: self._score(also, cuts, threshold, multiplicity)}

    def score(self, measure: Measure, threshold: float = 0.0, multiplicity: Array | None = None) -> float:
        """Return the score of any measure; of those that cut at 0, for the decision "above ``threshold``".

        Examples
        --------
        >>> from smoothperf import PrecisionAtK
        >>> Ranking([1, 1, 0, 0, 0], [0.9, 0.2, 0.7, 0.1, 0.0]).score(PrecisionAtK(2))
        0.5
        """
        return self._score(measure, self.cuts(multiplicity), threshold, multiplicity)

    def _score(self, measure: Measure, cuts: Cuts, threshold: float, multiplicity: Array | None) -> float:
        """The same, from the cuts where that is possible, as they are sorted already."""
        from ..measures import Goal, PartialROCArea, PrecisionAtK, RecallAtK

        if isinstance(measure, Goal):
            return measure.of_cuts(cuts.tp, cuts.fp)
        if isinstance(measure, PartialROCArea):
            return partial_roc_area(cuts, float(measure.max_fpr))
        if isinstance(measure, (PrecisionAtK, RecallAtK)):
            places = measure.predicted_positive(self._labels, multiplicity)
            hits = float(np.interp(places, cuts.tp + cuts.fp, cuts.tp))
            return hits / (places if isinstance(measure, PrecisionAtK) else float(cuts.tp[-1]))
        curve = decision_curve(measure, cuts.at(self.cut_at(threshold)))
        if curve is not None:
            return float(curve[0])
        return measure.score(self._labels, self._scores - threshold, multiplicity)

    def best_threshold(self, measure: Measure) -> float:
        """Return where a measure that cuts at 0 would best have these scores cut."""
        curve = decision_curve(measure, self.cuts())
        if curve is None:
            return measure.threshold(self._labels, self._scores)
        return self.threshold_at(int(curve.argmax()))

    def threshold_at(self, cut: int) -> float:
        """Return a number that cuts there: midway between two scores, or at or just below the outermost."""
        levels = self.levels
        if cut == 0:
            return float(levels[0])
        if cut == levels.shape[0]:
            return float(np.nextafter(levels[-1], -np.inf))
        return float(levels[cut - 1] + levels[cut]) / 2.0


def decision_curve(measure: Measure, cuts: Cuts) -> Array | None:
    """Return the score of a measure of decisions at every cut, if it is known as a formula."""
    from ..measures import BalancedErrorRate, ErrorRate, FBeta, Jaccard

    if isinstance(measure, (FBeta, Jaccard)):
        curve: Array = measure.of_counts(cuts.tp, cuts.fp, float(cuts.tp[-1]))
        return curve
    if type(measure) not in (ErrorRate, BalancedErrorRate):
        return None
    masses = float(cuts.tp[-1]), float(cuts.fp[-1])
    if isinstance(measure, ErrorRate):
        costs = float(measure.positive_cost), float(measure.negative_cost)
    else:
        costs = 1.0 / masses[0], 1.0 / masses[1]
    right = costs[0] * cuts.tp + costs[1] * (masses[1] - cuts.fp)
    return right / (costs[0] * masses[0] + costs[1] * masses[1])


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
    area = (np.diff(cuts.fp) * (cuts.tp[1:] + cuts.tp[:-1])).sum()
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
    area = float((np.diff(x[: last + 1]) * (y[1 : last + 1] + y[:last])).sum()) / 2.0
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
    from ..measures import AveragePrecision

    return AveragePrecision().of_cuts(cuts.tp, cuts.fp)


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
    ones = positive.astype(np.intp)
    rng = np.random.default_rng(seed)
    for _ in range(whole_number("n_resamples", n_resamples, at_least=1)):
        while True:
            draw = np.bincount(rng.integers(n, size=n), minlength=n)
            chosen = int(draw.dot(ones))
            if 0 < chosen < n:
                break
        yield draw.astype(np.float64)


def tells_nothing(scores: Array) -> bool:
    """Whether scores are all alike, as those of a model without weights: nothing but rounding tells them apart.

    Examples
    --------
    >>> tells_nothing(np.array([0.5, 0.5, 0.5 + 1e-12])), tells_nothing(np.array([0.0, 1e-12]))
    (True, False)
    """
    return bool(np.ptp(scores) <= CONSTANT * np.abs(scores).max())


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
