r"""Goals: measures that are reported and cut for, but trained for by another measure's risk.

With ``tp`` and ``fp`` the weights of positives and negatives above a cut, and cuts between different scores only:

    average precision    sum over cuts, from the highest scores on, of (recall - recall before) * precision
    recall@precision=p   the largest  tp / N+         over cuts with  tp / (tp + fp) >= p;   0 if there is none
    precision@recall=r   the largest  tp / (tp + fp)  over cuts with  tp / N+ >= r
    recall@fpr=q         the largest  tp / N+         over cuts with  fp / N- <= q
    pos@top              the largest  tp / N+         over cuts with  fp = 0
    mcc                  (tp N- - fp N+) / sqrt(p N+ N- (n - p))    of one cut, with p = tp + fp; 0 for none and for all

All of them reward a good order of the scores. They are trained for by ROC area, whose convex risk never collapses to
scores that are all equal. A goal with "at least" or "at most" is to be met on new rows: its cut is chosen with a
confidence (:mod:`smoothperf.cuts.targets`).
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from ..cuts.confidence import CONFIDENCE, checked_confidence
from ..cuts.sorted_scores import Cuts, ratio
from ..cuts.steady import steady_cut
from ..cuts.targets import CutTable, TargetError, at_least, at_most, share, threshold_for_target
from ..cuts.threshold_search import Ordering
from .base import Measure
from .examples import Examples
from .risk import Risk
from .roc_area import ROCArea


class TargetWarning(UserWarning):
    """A goal cannot be promised for new rows; the cut is one that meets it on the given rows, as far as possible.

    Examples
    --------
    >>> import warnings
    >>> from smoothperf import RecallAtPrecision
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     threshold = RecallAtPrecision(0.9).threshold([1, 1, 0, 0], [4.0, 3.0, 2.0, 1.0])   # four rows prove nothing
    >>> caught[0].category.__name__
    'TargetWarning'
    """


class Goal(Measure):
    """A measure without a risk of its own.

    Attributes
    ----------
    trained_with : Measure
        The measure whose risk is minimised instead.

    Examples
    --------
    >>> from smoothperf import AveragePrecision
    >>> isinstance(AveragePrecision(), Goal), AveragePrecision().trained_with
    (True, ROCArea())
    """

    trained_with: ClassVar[Measure] = ROCArea()
    fits_bias: ClassVar[bool] = ROCArea.fits_bias

    def risk(self, examples: Examples) -> Risk:
        """Return the convex risk of ``trained_with``."""
        return self.trained_with.risk(examples)

    @abstractmethod
    def of_cuts(self, hits: Array, false: Array) -> float:
        """Return the score, given the weight of positives and negatives above each cut.

        The first cut predicts nothing positive, the last one everything.

        Parameters
        ----------
        hits, false : ndarray
            Weights of positives and of negatives above each cut.

        Returns
        -------
        float
            The score.
        """

    def score_of(self, examples: Examples, scores: Array) -> float:
        """Return the goal itself; examples with equal scores are cut off together. O(n log n)."""
        table = CutTable.of(Cuts(scores), examples.positive, examples.weights)
        return self.of_cuts(table.hits[::-1], table.false[::-1])


@dataclass(frozen=True)
class AveragePrecision(Goal):
    """Mean of the precision over the recall, as scikit-learn's ``average_precision_score`` has it.

    :meth:`threshold` predicts as many examples positive as there are positives, as ROC area does.

    Examples
    --------
    >>> from smoothperf import AveragePrecision
    >>> round(AveragePrecision().score([1, 0, 1], [3.0, 2.0, 1.0]), 4)
    0.8333
    """

    name: ClassVar[str] = "average_precision"

    def of_cuts(self, hits: Array, false: Array) -> float:
        """``sum_k (recall_k - recall_{k-1}) precision_k``."""
        return float((np.diff(hits / hits[-1]) * _precision(hits, false)[1:]).sum())


@dataclass(frozen=True)
class PositivesAtTop(Goal):
    """Share of the positives that are above all negatives.

    :meth:`threshold` cuts at the highest negative.

    Examples
    --------
    >>> from smoothperf import PositivesAtTop
    >>> y, scores = [1, 1, 0, 1, 0], [5.0, 4.0, 3.0, 2.0, 1.0]
    >>> round(PositivesAtTop().score(y, scores), 4), PositivesAtTop().threshold(y, scores)
    (0.6667, 3.0)
    """

    name: ClassVar[str] = "pos@top"

    def of_cuts(self, hits: Array, false: Array) -> float:
        """The recall of the lowest cut without false positives."""
        return float(hits[false == 0.0].max() / hits[-1])

    def cut(self, examples: Examples, scores: Array) -> float:
        """Return the highest score of a negative, which is not above it."""
        counted = ~examples.positive if examples.weights is None else ~examples.positive & (examples.weights > 0.0)
        highest = float(scores.max(where=counted, initial=-np.inf))
        return examples.extremes(highest, highest)[1]


@dataclass(frozen=True)
class MatthewsCorrelation(Goal):
    """Correlation of the labels with the predictions "positive where the score is above 0": Matthews' coefficient.

    Examples
    --------
    >>> from smoothperf import MatthewsCorrelation
    >>> y, scores = [1, 1, -1, -1], [0.9, -0.3, -0.5, -0.1]
    >>> round(MatthewsCorrelation().score(y, scores), 4)
    0.5774
    >>> MatthewsCorrelation().name
    'mcc'
    """

    name: ClassVar[str] = "mcc"
    judges_decisions: ClassVar[bool] = True

    def of_counts(self, hits: Array, false: Array, positives: float, negatives: float) -> Array:
        """Return the correlation at some cuts.

        Parameters
        ----------
        hits, false : ndarray
            Weights of true and of false positives.
        positives, negatives : float
            Weights of both classes.

        Returns
        -------
        values : ndarray
            One for each cut.
        """
        predicted, whole = hits + false, positives + negatives
        variances = np.maximum(predicted * (whole - predicted), 0.0) * (positives * negatives)
        return ratio(hits * negatives - false * positives, np.sqrt(variances))

    def of_cuts(self, hits: Array, false: Array) -> float:
        """The highest correlation over the cuts."""
        return float(self.of_counts(hits, false, float(hits[-1]), float(false[-1])).max())

    def score_of(self, examples: Examples, scores: Array) -> float:
        """Return the correlation of the predictions ``scores > 0``."""
        predicted, positive = scores > 0.0, examples.positive
        hits, false = (np.array([examples.here(predicted & kind)]) for kind in (positive, ~positive))
        return float(self.of_counts(hits, false, examples.positive_weight, examples.negative_weight)[0])

    def cut(self, examples: Examples, scores: Array) -> float:
        """Return where to cut scores: amid the cuts for which the correlation is almost highest."""
        masses = examples.positive_weight, examples.negative_weight

        def loss(hits: Array, false: Array) -> Array:
            return 1.0 - self.of_counts(hits, false, *masses)

        return steady_cut(examples.version(Ordering)(scores, examples.weights), examples.positive, loss)


class TargetGoal(Goal):
    """Base of goals with "at least" or "at most": a rate that must be kept, and one that is to be high."""

    confidence: float | None
    #: The rate that is to be high, and the one that must be kept: the name is ``high@kept=value``.
    _high: ClassVar[str]
    _kept: ClassVar[str]

    def __post_init__(self) -> None:
        if share(self._kept, self._value) == 1.0 and self._kept == "fpr":
            raise ValueError("fpr must lie between 0 and 1, got 1.0: any cut keeps that.")
        checked_confidence(self.confidence)

    @property
    def _value(self) -> float:
        return float(getattr(self, self._kept))

    @property
    def name(self) -> str:
        """``recall@precision=0.9``; a confidence that is not 0.9 is part of it."""
        name = f"{self._high}@{self._kept}={self._value}"
        return name if self.confidence == CONFIDENCE else f"{name},confidence={self.confidence}".lower()

    def cut(self, examples: Examples, scores: Array) -> float:
        """Return where to cut scores so that new rows keep the rate, with the goal's confidence.

        The scores must be of rows that were not trained on. If so few rows allow no such promise, a
        :class:`TargetWarning` says so, and the cut keeps the rate on the given rows; or comes as close as possible. In
        a group everybody is given all scores.
        """
        columns = examples.of_all(
            examples.positive.astype(np.float64), scores, *([] if examples.weights is None else [examples.weights])
        )
        (threshold,) = examples.agreed(self._cut_of_all(columns[0] > 0.0, *columns[1:]))
        return threshold

    def limited(
        self, expected: dict[str, Any], positive: NDArray[np.bool_], scores: Array, weights: Array | None = None
    ) -> dict[str, Any]:
        """Return what to expect at the cut for this goal.

        Where the goal cannot be promised, the bound of the rate that is to be kept is no more than what can be: that of
        a single cut may say more, as if it had not been looked for.

        Parameters
        ----------
        expected : dict
            As :func:`~smoothperf.cuts.targets.expected_rates` has it.
        positive, scores, weights : ndarray
            The rows that the cut was chosen on.

        Returns
        -------
        dict
            The same, with another bound.
        """
        target: dict[str, Any] = {self._kept: self._value}
        try:
            threshold_for_target(positive, scores, weights, confidence=self.confidence, **target)
        except TargetError as error:
            if error.possible is not None:
                end, worse = ("high", max) if self._kept == "fpr" else ("low", min)
                rates = expected[self._kept]
                return {**expected, self._kept: {**rates, end: worse(rates[end], error.possible)}}
        return expected

    def _cut_of_all(self, positive: NDArray[np.bool_], scores: Array, weights: Array | None = None) -> float:
        target: dict[str, Any] = {self._kept: self._value}
        try:
            return threshold_for_target(positive, scores, weights, confidence=self.confidence, **target)
        except TargetError as error:
            # What could be promised is for another cut, and would be a second figure for the rate that is kept.
            told = error.reason if error.possible is not None else str(error)
            warnings.warn(
                f"{self.name}: {told}. The cut is where it holds on these rows, or comes close; give more rows, or ask "
                "for less.",
                TargetWarning,
                stacklevel=4,
            )
        try:
            return threshold_for_target(positive, scores, weights, **target)
        except TargetError:  # a precision that no cut reaches
            cuts = Cuts(scores)
            return cuts.threshold(int(CutTable.of(cuts, positive, weights).precision.argmax()))


@dataclass(frozen=True)
class RecallAtPrecision(TargetGoal):
    """The largest recall whose precision is at least what is asked for; 0 if no cut has it.

    Parameters
    ----------
    precision : float in (0, 1]
        The precision that must be reached.
    confidence : float in (0, 1) or None, default=0.9
        The confidence of :meth:`threshold` that new rows have that precision; None cuts where the given rows have it.

    Examples
    --------
    >>> from smoothperf import RecallAtPrecision
    >>> y, scores = [1, 1, 0, 1, 0], [5.0, 4.0, 3.0, 2.0, 1.0]
    >>> RecallAtPrecision(0.75).score(y, scores), round(RecallAtPrecision(0.8).score(y, scores), 4)
    (1.0, 0.6667)
    >>> RecallAtPrecision(0.75).name
    'recall@precision=0.75'
    """

    precision: float
    confidence: float | None = CONFIDENCE
    _high: ClassVar[str] = "recall"
    _kept: ClassVar[str] = "precision"

    def of_cuts(self, hits: Array, false: Array) -> float:
        """The largest recall over the cuts that are precise enough."""
        return float((hits / hits[-1]).max(where=at_least(_precision(hits, false), self._value), initial=0.0))


@dataclass(frozen=True)
class PrecisionAtRecall(TargetGoal):
    """The largest precision whose recall is at least what is asked for.

    Parameters
    ----------
    recall : float in (0, 1]
        The recall that must be reached.
    confidence : float in (0, 1) or None, default=0.9
        The confidence of :meth:`threshold` that new rows have that recall; None cuts where the given rows have it.

    Examples
    --------
    >>> from smoothperf import PrecisionAtRecall
    >>> PrecisionAtRecall(0.8).score([1, 1, 0, 1, 0], [5.0, 4.0, 3.0, 2.0, 1.0])
    0.75
    """

    recall: float
    confidence: float | None = CONFIDENCE
    _high: ClassVar[str] = "precision"
    _kept: ClassVar[str] = "recall"

    def of_cuts(self, hits: Array, false: Array) -> float:
        """The largest precision over the cuts that find enough."""
        return float(_precision(hits, false).max(where=at_least(hits / hits[-1], self._value), initial=0.0))


@dataclass(frozen=True)
class RecallAtFPR(TargetGoal):
    """The largest recall whose false positive rate is at most what is allowed.

    Parameters
    ----------
    fpr : float in (0, 1)
        The share of the negatives that may be predicted positive.
    confidence : float in (0, 1) or None, default=0.9
        The confidence of :meth:`threshold` that new rows keep that rate; None cuts where the given rows keep it.

    Examples
    --------
    >>> from smoothperf import RecallAtFPR
    >>> round(RecallAtFPR(0.4).score([1, 1, 0, 1, 0], [5.0, 4.0, 3.0, 2.0, 1.0]), 4)
    0.6667
    """

    fpr: float
    confidence: float | None = CONFIDENCE
    _high: ClassVar[str] = "recall"
    _kept: ClassVar[str] = "fpr"

    def of_cuts(self, hits: Array, false: Array) -> float:
        """The largest recall over the cuts with few enough false alarms."""
        return float((hits / hits[-1]).max(where=at_most(false / false[-1], self._value), initial=0.0))


def _precision(hits: Array, false: Array) -> Array:
    """``tp / (tp + fp)``; 0 where nothing is predicted positive."""
    return ratio(hits, hits + false)
