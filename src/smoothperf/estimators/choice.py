"""The choice among candidates and strengths of the regulariser, by a measure on held-out rows.

Every candidate is trained along falling levels (:mod:`smoothperf.estimators.trail`). The first two splits look at all
of them, and go on beyond the last level while their own score still rises. In the other splits safe candidates are
followed as far as in these, as they cost little, and each of the rest to one level beyond its best mean; those that
were behind the best safe one in both of the first splits are dropped. No split leaves out levels on the way, as the
minimum that a tight bound ends in depends on where it came from.

The rule is cautious. Differences between good candidates are small, and positives that decide on them are often few.
So the best *safe* candidate (log loss or squared hinge) is taken, unless another is better by more than the standard
error of the differences over the splits:

    mean(d) > std(d) / sqrt(K),      d_k = score of the other - score of the safe one in split k              (cautious)

K is the number of splits. Where folds are repeated it is that of one repetition: the same rows again are no new
evidence.

Where the measure cannot tell levels apart, as precision at few places often cannot, average precision does.

Measures of decisions (F-beta, error rates) need a cut: the one that is best for the scores of all held-out rows
together, the same for all splits. A row that was held out several times counts each time, which makes the cut
steadier. Where something is promised for new rows, it counts once, with its first score: it is evidence of one row.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..evaluation import tells_nothing
from ..measures import AveragePrecision, Goal, Measure
from ..solvers import Callback, ConvexSolver, Result
from .candidates import Candidate
from .trail import Trail

Array = NDArray[np.float64]


class Entrant(Protocol):
    """A candidate of any kind; it can be hashed."""

    @property
    def safe(self) -> bool:
        """Whether it is one of those that another must be better than."""


class Split(Protocol):
    """Rows that are held out, by number, and their scores for each candidate and level that was tried."""

    rows: NDArray[np.intp]
    scores: dict[Any, Array]


M = TypeVar("M")
E = TypeVar("E", bound=Entrant)
S = TypeVar("S", bound=Split)
T = TypeVar("T", bound=Trail)
#: Factor from one level to the next, how many there are at first, and how many more at most.
STEP: float = 0.1
LEVELS: int = 6
MORE: int = 4
#: Splits that look at everything.
FIRST = 2
#: A column whose squares exceed so many times those of all smaller ones together is left out of the size of X.
DOMINANT = 10.0
#: Scores that differ by less are equally good; average precision, which looks at all positives, tells them apart.
ALIKE = 1e-3
#: Levels in a row without a better score after which a candidate is not followed further, unless it is a safe one, or
#: the levels were given: those may begin where the regulariser is so strong that scores stay as they are for long.
PATIENCE = 2


def check_any_splits(splits: Sequence[Any]) -> None:
    """Refuse splits of which there are none."""
    if not splits:
        raise ValueError("cv has no splits: give a number of folds, a splitter, or pairs of (train, test) row numbers.")


def typical_size(mean_squares: Array) -> float:
    """Mean square of a row's length, without columns that are so large that the regulariser does not reach them.

    Examples
    --------
    >>> typical_size(np.array([1.0, 2.0, 1.0])), typical_size(np.array([1.0, 1e10, 1.0]))
    (4.0, 2.0)
    """
    ascending = np.sort(mean_squares[mean_squares > 0.0])
    if ascending.size == 0:
        return 1.0
    sums = np.cumsum(ascending)
    kept = ascending.size
    while kept > 1 and ascending[kept - 1] > DOMINANT * sums[kept - 2]:
        kept -= 1
    return float(sums[kept - 1])


@dataclass(frozen=True)
class Step:
    """A model that is about to be trained while candidates are compared.

    Examples
    --------
    >>> from smoothperf import PRBEP
    >>> print(Step(2, 5, Candidate(PRBEP(), "tight"), 0.001))
    split 2 of 5: prbep, tight, alpha 0.001
    """

    split: int
    n_splits: int
    candidate: Entrant
    alpha: float

    def __str__(self) -> str:
        return f"split {self.split} of {self.n_splits}: {self.candidate}, alpha {self.alpha:.3g}"


@dataclass
class HeldOut:
    """Scores of the held-out rows of one split, for each candidate and level that was tried there.

    ``rows`` are their numbers among all rows. ``weights`` count in the measure. ``cut_weights``, with those of the
    classes, count where scores are cut.
    """

    rows: NDArray[np.intp]
    positive: NDArray[np.bool_]
    weights: Array | None
    cut_weights: Array | None
    scores: dict[tuple[Candidate, int], Array] = field(default_factory=dict)


@dataclass
class Race(ABC, Generic[M, E, S]):
    """What has been tried so far, and what it was worth.

    Parameters
    ----------
    measure : Measure or QueryMeasure
        The judge.
    candidates : sequence
        Who takes part.
    levels : ndarray
        Strengths to begin with, descending.
    open_end : bool
        Whether smaller ones may be added.
    """

    measure: M
    candidates: Sequence[E]
    levels: Array
    open_end: bool
    splits: list[S] = field(default_factory=list)

    #: Whether a safe candidate is taken unless another is better by (cautious); otherwise the best mean wins.
    cautious: ClassVar[bool] = True

    def __post_init__(self) -> None:
        #: The last level to try once the first splits have been looked at; -1 if a candidate is out.
        self.last: dict[E, int] = {}
        self._known: dict[tuple[E, int, int], Array] = {}  # by candidate, level and number of splits

    def level(self, index: int) -> float:
        """The level with an index, which may lie beyond those to begin with."""
        last = self.levels.size - 1
        return float(self.levels[min(index, last)] * STEP ** max(0, index - last))

    def follow(
        self,
        candidate: E,
        trail: Trail,
        split: S,
        score: Callable[[Array], Array],
        tell: Callable[[float], None],
    ) -> None:
        """Train a candidate for all its levels in a split; ``tell`` hears every alpha.

        ``score`` makes scores of the rows held out from the weights of a model.
        """
        worth: list[float] = []
        for index in itertools.count():
            if self.splits and index > self.last[candidate]:
                return
            level = self.level(index)
            tell(trail.alpha(level))
            scores = split.scores[candidate, index] = score(trail.at(level))
            if not self.splits:
                # A convex risk that has collapsed may not have done so with a smaller alpha.
                worth.append(-math.inf if tells_nothing(scores) else self._alone(split, scores))
                if self._is_enough(candidate, worth):
                    return

    def _is_enough(self, candidate: E, worth: list[float]) -> bool:
        """Whether one of the first splits has gone far enough, given what its models were worth so far."""
        beyond = len(worth) - self.levels.size
        if not self.open_end:
            return beyond == 0
        before, newest = max(worth[:-PATIENCE], default=-math.inf), max(worth[-PATIENCE:])
        if not candidate.safe and before > -math.inf and newest <= before + ALIKE:
            return True
        if beyond < 0:
            return False
        return beyond == MORE or worth[-1] <= max(worth[:-1], default=math.inf) + ALIKE

    def narrow(self) -> None:
        """Keep only what may still win, after the first splits."""
        safe = self._best([one for one in self.candidates if one.safe])
        for candidate in self.candidates:
            furthest = self.tried(candidate)[-1]
            best = self._best([candidate])
            assert best is not None
            if candidate.safe or safe is None:
                self.last[candidate] = furthest
            elif np.all(self.split_scores(*best) < self.split_scores(*safe)):
                self.last[candidate] = -1
            else:
                self.last[candidate] = min(best[1] + 1, furthest)

    def tried(self, candidate: E) -> list[int]:
        """Levels that all splits so far have tried."""
        tried = ({index for one, index in split.scores if one == candidate} for split in self.splits)
        return sorted(set.intersection(*tried))

    def tried_anywhere(self, candidate: E) -> set[int]:
        """Levels that some split has tried."""
        return {index for split in self.splits for one, index in split.scores if one == candidate}

    def at_the_end(self, candidate: E, index: int) -> bool:
        """Whether a level is the last that may be tried, and better than the one before."""
        furthest = self.levels.size - 1 + (MORE if self.open_end else 0)
        return index == furthest > 0 and self.mean((candidate, index)) > self.mean((candidate, index - 1)) + ALIKE

    def split_scores(self, candidate: E, index: int) -> Array:
        """The measure in every split; NaN where a split has not tried this."""
        key = candidate, index, len(self.splits)
        if key not in self._known:
            self._known[key] = self._scores_in_splits(candidate, index)
        return self._known[key]

    def ranked(self) -> list[tuple[E, int]]:
        """The best level of each candidate that is left: the winner by the rule, then by mean score."""
        left = [one for one in self.candidates if self.last[one] >= 0]
        best = {one: self._best([one]) for one in left}
        pairs = sorted((pair for pair in best.values() if pair is not None), key=self.mean, reverse=True)
        safe = self._best([one for one in left if one.safe])
        if self.cautious and safe is not None and pairs[0] != safe and not pairs[0][0].safe:
            better = [pair for pair in pairs if not pair[0].safe and self._is_better(pair, safe)]
            first = better[0] if better else safe
            pairs = [first, *(pair for pair in pairs if pair != first)]
        return pairs

    def mean(self, pair: tuple[E, int]) -> float:
        """The mean score."""
        return float(self.split_scores(*pair).mean())

    def _best(self, among: Iterable[E]) -> tuple[E, int] | None:
        """Candidate and level with the best mean; of those that are alike the one with the best finer score."""
        means = {(one, index): self.mean((one, index)) for one in among for index in self.tried(one)}
        if not means:
            return None
        alike = [pair for pair, mean in means.items() if mean >= max(means.values()) - ALIKE]
        return alike[0] if len(alike) == 1 else max(alike, key=self._mean_finer_score)

    def _is_better(self, pair: tuple[E, int], safe: tuple[E, int]) -> bool:
        """(cautious); with a single split any advantage counts."""
        difference = self.split_scores(*pair) - self.split_scores(*safe)
        independent = difference.size / self.times_held_out()
        error = float(difference.std(ddof=1)) / math.sqrt(independent) if difference.size > 1 else 0.0
        return float(difference.mean()) > max(error, ALIKE)

    def times_held_out(self) -> float:
        """How often a row was held out, on average over those that were at all."""
        rows = np.concatenate([split.rows for split in self.splits])
        return float(rows.size / np.unique(rows).size)

    def winner(
        self, trail_of: Callable[[E], T], solver: ConvexSolver, callback: Callback | None
    ) -> tuple[E, int, T, Result]:
        """Fit the winner to all rows; if it gives all one score, the next best; the winner if no other is left."""
        fits = []
        for candidate, index in self.ranked():
            trail = trail_of(candidate)
            result = self.fit_to_all(trail, index, solver, callback)
            fits.append((candidate, index, trail, result))
            assert result.scores is not None
            if not tells_nothing(result.scores):
                return fits[-1]
        return fits[0]

    def fit_to_all(self, trail: Trail, index: int, solver: ConvexSolver, callback: Callback | None) -> Result:
        """The model of a trail at a level, from those at the levels before."""
        for level in range(index + 1):
            trail.at(self.level(level))
        return trail.finish(self.level(index), solver, callback)

    def everything_tried(self) -> list[tuple[E, int]]:
        """Candidates and levels that some split has tried."""
        return [(one, level) for one in self.candidates for level in sorted(self.tried_anywhere(one))]

    def results(self, params: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """What was tried, in the form of scikit-learn's searches; ``params`` describe :meth:`everything_tried`."""
        scores = np.array([self.split_scores(*pair) for pair in self.everything_tried()])
        means = scores.mean(axis=1)
        order = np.where(np.isnan(means), -np.inf, means)
        return {
            "params": list(params),
            **{f"param_{name}": np.array([each[name] for each in params]) for name in params[0]},
            **{f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])},
            "mean_test_score": means,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": (1 + (order[:, None] < order).sum(axis=1)).astype(np.int32),
        }

    def _mean_finer_score(self, pair: tuple[E, int]) -> float:
        """The finer score, as a mean over the splits."""
        return float(np.mean([self._finer_score(split, split.scores[pair]) for split in self.splits]))

    @abstractmethod
    def _scores_in_splits(self, candidate: E, index: int) -> Array:
        """The measure in every split; NaN where a split has not tried this."""

    @abstractmethod
    def _alone(self, split: S, scores: Array) -> float:
        """The measure in one split, by itself."""

    @abstractmethod
    def _finer_score(self, split: S, scores: Array) -> float:
        """A score that tells apart what the measure cannot."""


class LabelRace(Race[Measure, Candidate, HeldOut]):
    """A race of candidates for labels of two kinds."""

    def _scores_in_splits(self, candidate: Candidate, index: int) -> Array:
        cut = self.cut(candidate, index) if self.measure.judges_decisions else 0.0
        return np.array(
            [
                self.measure.score(split.positive, split.scores[candidate, index] - cut, split.weights)
                if (candidate, index) in split.scores
                else np.nan
                for split in self.splits
            ]
        )

    def cut(self, candidate: Candidate, index: int) -> float:
        """Where the measure cuts the scores of held-out rows; what a goal promises, it promises by rows, not splits."""
        return self.measure.tuned_threshold(*self.together(candidate, index, once=isinstance(self.measure, Goal)))

    def together(
        self, candidate: Candidate, index: int, *, once: bool = False
    ) -> tuple[NDArray[np.bool_], Array, Array | None]:
        """Labels, scores and weights, for cuts, of the held-out rows of all splits; perhaps each row once."""
        parts = [split for split in self.splits if (candidate, index) in split.scores]
        positive = np.concatenate([split.positive for split in parts])
        scores = np.concatenate([split.scores[candidate, index] for split in parts])
        weights = None
        if parts[0].cut_weights is not None:
            weights = np.concatenate([split.cut_weights for split in parts if split.cut_weights is not None])
        if not once:
            return positive, scores, weights
        first = np.sort(np.unique(np.concatenate([split.rows for split in parts]), return_index=True)[1])
        return positive[first], scores[first], None if weights is None else weights[first]

    def _alone(self, split: HeldOut, scores: Array) -> float:
        """The measure in one split, cut as suits it best there."""
        cut = 0.0
        if self.measure.judges_decisions:
            cut = self.measure.tuned_threshold(split.positive, scores, split.cut_weights)
        return self.measure.score(split.positive, scores - cut, split.weights)

    def _finer_score(self, split: HeldOut, scores: Array) -> float:
        """Average precision."""
        return AveragePrecision().score(split.positive, scores, split.weights)
