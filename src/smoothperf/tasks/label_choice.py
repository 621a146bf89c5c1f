"""The choice of a model for labels of two kinds: candidates, splits, and scores of held-out rows.

The convex risk of a measure can collapse on noisy data, its tight one can overfit where positives are few. Log loss and
squared hinge do neither, and are what people would use instead: they are the baselines of a choice.
Which candidates earn their time was measured on thirteen data sets (docs/does-it-pay.md): beside the measure's own
tight risk the convex one of the break-even point, which is cheap, and good where it does not collapse. For F1 the tight
break-even point stands in, as F1's own takes five times as long and gains little more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from .._validation import choice, whole_number
from .._warnings import warn
from ..io.model_file import kept_in_files
from ..measures import (
    PRBEP,
    AveragePrecision,
    Examples,
    FBeta,
    Goal,
    Jaccard,
    LogLoss,
    Measure,
    PartialROCArea,
    PositivesAtTop,
    PrecisionAtK,
    RecallAtFPR,
    RecallAtK,
    ROCArea,
    SquaredHinge,
    get_measure,
)
from ..optimise.penalties import Penalty
from .base import BOUNDS, HeldOut, Task
from .choosing import checked_share, checked_splits, given_candidates

#: With fewer examples of the smaller class than the first number, folds are drawn as often as the second says.
FEW_EXAMPLES, REPEATS = 200, 3


@kept_in_files
@dataclass(frozen=True)
class LabelCandidate:
    """A risk to train with.

    Parameters
    ----------
    measure : Measure
        The measure of the risk.
    bound : {"convex", "tight"}
        Which one.
    l1_ratio : float, default=0.0
        Share of absolute values in the penalty.

    Examples
    --------
    >>> print(LabelCandidate(PRBEP(), "tight"))
    prbep, tight
    """

    _name_in_files: ClassVar[str] = "Candidate"

    measure: Measure
    bound: str = "convex"
    l1_ratio: float = 0.0

    @property
    def baseline(self) -> bool:
        """Whether it is a baseline, which another must be better than."""
        return isinstance(self.measure, (LogLoss, SquaredHinge))

    def words(self) -> dict[str, Any]:
        """Its names in ``cv_results_``."""
        return {"measure": self.measure.name, "bound": self.bound, "l1_ratio": self.l1_ratio}

    def __str__(self) -> str:
        ratio = f", l1_ratio {self.l1_ratio:g}" if self.l1_ratio else ""
        return f"{self.measure.name}, {self.bound}{ratio}"


BASELINES = (LabelCandidate(LogLoss()), LabelCandidate(SquaredHinge()))


class LabelChoice(Task[Examples, LabelCandidate]):
    """The part of a task for labels that a choice needs, beyond training."""

    measure: Measure
    penalties: Mapping[float, Penalty]
    cautious: ClassVar[bool] = True
    baseline_names: ClassVar[frozenset[str]] = frozenset(one.measure.name for one in BASELINES)

    def candidates(self, bound: str | Sequence[Any]) -> tuple[LabelCandidate, ...]:
        """All that :func:`candidates_for` offers, with every l1_ratio."""
        return tuple(
            replace(one, l1_ratio=ratio) for one in candidates_for(self.measure, bound) for ratio in self.penalties
        )

    def splits(self, cv: Any, rows: Any) -> list[tuple[Any, Any]]:
        """Stratified folds, or what a splitter says; both parts have both classes."""
        return label_splits(cv, rows.positive)

    def judge(self, judged: Examples, scores: Array) -> float:
        """The measure."""
        return self.measure.score(judged.positive, scores, judged.weights)

    def judge_finely(self, judged: Examples, scores: Array) -> float:
        """Average precision."""
        return AveragePrecision().score(judged.positive, scores, judged.weights)

    def judge_alone(self, held_out: HeldOut[Examples, LabelCandidate], scores: Array) -> float:
        """The measure in one split, cut as suits it best there."""
        cut = 0.0
        if self.measure.judges_decisions:
            cut = self.measure.tuned_threshold(held_out.known.positive, scores, held_out.known.weights)
        return self.judge(held_out.judged, scores - cut)

    def judge_together(
        self, splits: Sequence[HeldOut[Examples, LabelCandidate]], key: tuple[LabelCandidate, int]
    ) -> Array:
        """The measure in every split, with one cut for all."""
        cut = self.cut_of(splits, key) if self.measure.judges_decisions else 0.0
        return np.array(
            [self.judge(each.judged, each.scores[key] - cut) if key in each.scores else np.nan for each in splits]
        )

    def cut_of(self, splits: Sequence[HeldOut[Examples, LabelCandidate]], key: tuple[LabelCandidate, int]) -> float:
        """Threshold for the scores of held-out rows; what a goal promises, it promises by rows, not splits."""
        promises = isinstance(self.measure, Goal) and not self.measure.judges_decisions
        return self.measure.tuned_threshold(*stacked_scores(splits, key, once=promises))


def stacked_scores(
    splits: Sequence[HeldOut[Examples, LabelCandidate]], key: tuple[LabelCandidate, int], *, once: bool = False
) -> tuple[NDArray[np.bool_], Array, Array | None]:
    """Labels, scores and weights, for cuts, of the held-out rows of all splits; perhaps each row once."""
    parts = [split for split in splits if key in split.scores]
    positive = np.concatenate([split.known.positive for split in parts])
    scores = np.concatenate([split.scores[key] for split in parts])
    weights = None
    if parts[0].known.weights is not None:
        weights = np.concatenate([split.known.weights for split in parts if split.known.weights is not None])
    if not once:
        return positive, scores, weights
    first = np.sort(np.unique(np.concatenate([split.numbers for split in parts]), return_index=True)[1])
    return positive[first], scores[first], None if weights is None else weights[first]


def candidates_for(measure: Measure, bound: str | Sequence[Any] = "auto") -> tuple[LabelCandidate, ...]:
    """Return what to choose from, baselines first.

    Parameters
    ----------
    measure : Measure
        The measure to be good at.
    bound : {"auto", "convex", "tight"} or sequence of (measure, bound)
        "auto" offers what may be worth while, "convex" or "tight" nothing but that risk of the measure; or the
        candidates themselves.

    Examples
    --------
    >>> [str(candidate) for candidate in candidates_for(get_measure("prbep"))]
    ['log_loss, convex', 'squared_hinge, convex', 'prbep, tight', 'prbep, convex']
    >>> [str(candidate) for candidate in candidates_for(get_measure("f1"), [("f1", "tight"), ("roc_area", "convex")])]
    ['f1, tight', 'roc_area, convex']
    """
    if not isinstance(bound, str):
        return given_candidates(bound, LabelCandidate, _named, example="prbep")
    if choice("bound", bound, ("auto", *BOUNDS)) != "auto":
        return (LabelCandidate(measure.trained_with if isinstance(measure, Goal) else measure, bound),)
    if LabelCandidate(measure).baseline:
        return (LabelCandidate(measure),)
    others = [candidate for candidate in _others(measure) if candidate not in BASELINES]
    return (*BASELINES, *dict.fromkeys(others))


def _others(measure: Measure) -> tuple[LabelCandidate, ...]:
    """The candidates that must be better than the baselines."""
    break_even = LabelCandidate(PRBEP(), "tight"), LabelCandidate(PRBEP())
    if isinstance(measure, ROCArea):
        return (LabelCandidate(measure),)
    if isinstance(measure, (PartialROCArea, PRBEP, PrecisionAtK, RecallAtK)):
        return LabelCandidate(measure, "tight"), LabelCandidate(PRBEP())
    if measure == FBeta() or isinstance(measure, Jaccard):
        return break_even  # whose best cut is near theirs, at a fraction of the time
    if isinstance(measure, RecallAtFPR):
        return LabelCandidate(PartialROCArea(measure.fpr), "tight"), LabelCandidate(PRBEP())
    if isinstance(measure, PositivesAtTop):
        # At most the highest of a million negatives: the hinge of the positives and that one.
        return tuple(LabelCandidate(PartialROCArea(share), "tight") for share in (1e-6, 0.01))
    if isinstance(measure, Goal):
        return break_even
    return LabelCandidate(measure, "tight"), LabelCandidate(measure)


def _named(measure: Any, bound: Any) -> LabelCandidate:
    return LabelCandidate(get_measure(measure), choice("bound", bound, BOUNDS))


def label_splits(cv: Any, positive: NDArray[np.bool_]) -> list[tuple[Any, Any]]:
    """Numbers of the rows to train on and of those to hold out, for every split.

    Examples
    --------
    >>> train, test = label_splits(2, np.array([True, False, True, False]))[0]
    >>> train.size, test.size
    (2, 2)
    """
    # Half a second, which those who only use a model need not wait for.
    from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, StratifiedShuffleSplit, check_cv

    if isinstance(cv, (float, np.floating)):
        cv = StratifiedShuffleSplit(n_splits=1, test_size=checked_share(cv), random_state=0)
    elif isinstance(cv, (int, np.integer)):
        folds = _folds_that_exist(whole_number("cv", cv, at_least=2), positive)
        # Rows may come in an order that means something.
        cv = StratifiedKFold(folds, shuffle=True, random_state=0)
        if (times := times_drawn(positive)) > 1:
            cv = RepeatedStratifiedKFold(n_splits=folds, n_repeats=times, random_state=0)
    splits = checked_splits(check_cv(cv, positive, classifier=True).split(positive, positive))
    for train, test in splits:
        for part, rows in (("training", train), ("held-out", test)):
            if np.unique(positive[rows]).size < 2:
                raise ValueError(f"cv leaves a {part} part with one class only; use fewer or stratified folds.")
    return splits


def _folds_that_exist(wanted: int, positive: NDArray[np.bool_]) -> int:
    """As many folds as wanted, or as there are examples of the smaller class."""
    fewest = _smaller_class(positive)
    if fewest < 2:
        raise ValueError(
            f"cv={wanted} needs at least 2 examples of each class, but one class has {fewest}: there is nothing to "
            "choose alpha by. Use MeasureClassifier with a given alpha."
        )
    if wanted > fewest:
        warn(
            f"cv={wanted}, but one class has {fewest} examples only, so that {fewest} folds are used.",
            UserWarning,
        )
    return min(wanted, fewest)


def times_drawn(positive: NDArray[np.bool_]) -> int:
    """Number of times that folds are drawn: which rows share one decides much where the smaller class has few examples.

    Examples
    --------
    >>> times_drawn(np.arange(1000) < 200), times_drawn(np.arange(1000) < 199)
    (1, 3)
    """
    return REPEATS if _smaller_class(positive) < FEW_EXAMPLES else 1


def _smaller_class(positive: NDArray[np.bool_]) -> int:
    """Number of its examples."""
    return int(min(positive.sum(), (~positive).sum()))
