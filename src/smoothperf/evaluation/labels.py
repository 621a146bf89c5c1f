r"""Every measure of a vector of scores, from one sorting.

With ``tp`` and ``fp`` the weights above each cut (:mod:`smoothperf.cuts.sorted_scores`) of N+ positives and N-
negatives:

    ROC area           sum_k (fp_k - fp_{k-1}) (tp_k + tp_{k-1}) / (2 N+ N-)
    average precision  sum_k (tp_k - tp_{k-1}) / N+ * tp_k / (tp_k + fp_k)
    PRBEP              tp / N+ where tp + fp = N+, linear between two cuts (ties share the places that are left)

Sums of products are made without BLAS, whose threads would cost more than they bring for vectors of this length.
"""

from __future__ import annotations

import numpy as np

from .._arrays import Array
from ..cuts.sorted_scores import Counts, SortedScores, partial_roc_area
from ..measures import (
    PRBEP,
    AveragePrecision,
    BalancedErrorRate,
    ErrorRate,
    FBeta,
    Goal,
    Jaccard,
    MatthewsCorrelation,
    Measure,
    PartialROCArea,
    PrecisionAtK,
    RecallAtK,
    ROCArea,
)

#: Scores that differ by no more than this share of the largest are alike.
CONSTANT = 1e-9


class Ranking(SortedScores):
    """Examples sorted by falling score, with every measure of them.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of two kinds.
    scores : array-like of shape (n,)
        Scores, the higher the more positive.

    Examples
    --------
    >>> Ranking([1, 1, 0, 0, 0], [0.9, 0.2, 0.7, 0.1, 0.0]).measures(threshold=0.5)["precision"]
    0.5
    """

    def measures(
        self,
        threshold: float = 0.0,
        multiplicity: Array | None = None,
        *,
        also: Measure | None = None,
        cuts: Counts | None = None,
    ) -> dict[str, float]:
        """Return every measure by its name in :data:`NAMES`, and one more by its own name if it is given.

        Those of a decision (F1, precision, recall, false positive rate, accuracy) are for "positive where the score
        is above ``threshold``"; precision is 0 if nothing is. ``cuts`` are those of this multiplicity, where they are
        known already.

        Parameters
        ----------
        threshold : float, default=0.0
            Positive is what scores above it.
        multiplicity : ndarray of shape (n,), optional
            Counts of the examples, as a resample has them.
        also : Measure, optional
            A measure beside those of :data:`NAMES`.
        cuts : Counts, optional
            The cuts of this multiplicity.

        Returns
        -------
        dict of str to float
            Scores by name.
        """
        cuts = self.cuts(multiplicity) if cuts is None else cuts
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

        Parameters
        ----------
        measure : Measure
            Any measure.
        threshold : float, default=0.0
            Positive is what scores above it.
        multiplicity : ndarray of shape (n,), optional
            Counts of the examples, as a resample has them.

        Returns
        -------
        float
            The score.

        Examples
        --------
        >>> from smoothperf import PrecisionAtK
        >>> Ranking([1, 1, 0, 0, 0], [0.9, 0.2, 0.7, 0.1, 0.0]).score(PrecisionAtK(2))
        0.5
        """
        return self._score(measure, self.cuts(multiplicity), threshold, multiplicity)

    def _score(self, measure: Measure, cuts: Counts, threshold: float, multiplicity: Array | None) -> float:
        """The same, from the cuts where that is possible, as they are sorted already."""
        if isinstance(measure, Goal) and not measure.judges_decisions:
            return measure.of_cuts(cuts.tp, cuts.fp)
        if isinstance(measure, PRBEP):
            return prbep(cuts)
        if isinstance(measure, ROCArea):
            return roc_area(cuts)
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
        """Return where a measure that cuts at 0 would best have these scores cut.

        Parameters
        ----------
        measure : Measure
            A measure that cuts at 0.

        Returns
        -------
        float
            The threshold.
        """
        curve = decision_curve(measure, self.cuts())
        if curve is None:
            return measure.threshold(self._labels, self._scores)
        return self.threshold_at(int(curve.argmax()))


def decision_curve(measure: Measure, cuts: Counts) -> Array | None:
    """Return the score of a measure of decisions at every cut, if it is known as a formula."""
    if isinstance(measure, (FBeta, Jaccard)):
        curve: Array = measure.of_counts(cuts.tp, cuts.fp, float(cuts.tp[-1]))
        return curve
    if isinstance(measure, MatthewsCorrelation):
        return measure.of_counts(cuts.tp, cuts.fp, float(cuts.tp[-1]), float(cuts.fp[-1]))
    if type(measure) not in (ErrorRate, BalancedErrorRate):
        return None
    masses = float(cuts.tp[-1]), float(cuts.fp[-1])
    if isinstance(measure, ErrorRate):
        costs = float(measure.positive_cost), float(measure.negative_cost)
    else:
        costs = 1.0 / masses[0], 1.0 / masses[1]
    right = costs[0] * cuts.tp + costs[1] * (masses[1] - cuts.fp)
    return right / (costs[0] * masses[0] + costs[1] * masses[1])


def prbep(cuts: Counts) -> float:
    """Return the precision where as many are predicted positive as there are; ties share the places left.

    Examples
    --------
    >>> prbep(Ranking([1, 1, 0, 0, 0], [0.9, 0.2, 0.7, 0.1, 0.0]).cuts())
    0.5
    """
    positives = float(cuts.tp[-1])
    return float(np.interp(positives, cuts.tp + cuts.fp, cuts.tp)) / positives


def roc_area(cuts: Counts) -> float:
    """Return the area under the ROC curve; tied pairs count half.

    Examples
    --------
    >>> roc_area(Ranking([1, 0, 0], [0.5, 0.5, 0.0]).cuts())
    0.75
    """
    area = (np.diff(cuts.fp) * (cuts.tp[1:] + cuts.tp[:-1])).sum()
    return float(area / (2.0 * cuts.tp[-1] * cuts.fp[-1]))


def average_precision(cuts: Counts) -> float:
    """Return the mean of the precision over the recall, as scikit-learn defines it.

    Examples
    --------
    >>> average_precision(Ranking([1, 0, 1], [3.0, 2.0, 1.0]).cuts()).__round__(4)
    0.8333
    """
    return AveragePrecision().of_cuts(cuts.tp, cuts.fp)


def is_constant(scores: Array) -> bool:
    """Whether scores are all alike, as those of a model without weights: nothing but rounding tells them apart.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Scores.

    Returns
    -------
    bool
        True for those of a constant model.

    Examples
    --------
    >>> is_constant(np.array([0.5, 0.5, 0.5 + 1e-12])), is_constant(np.array([0.0, 1e-12]))
    (True, False)
    """
    return bool(np.ptp(scores) <= CONSTANT * np.abs(scores).max())
