"""The choice among candidates for rankings: races (:mod:`smoothperf.estimators.choice`) in which queries are held out.

Whole queries are held out, and only those that count are dealt to folds, whose order makes a difference to the
measure; the others stay in the training part. Where the measure cannot tell models apart, NDCG does.

The best mean wins, without caution: so it was seen to be better on new queries. (Measured on the data of
benchmarks/ranking.py, five rotations each: NDCG@10 of 0.702, 0.455 and 0.753; with caution 0.698, 0.455 and 0.746.)

Held-out queries are seldom enough to tell which candidate is best, so the winner does not take it all. Let candidate
k, at its best alpha, be d_k behind the winner in the mean over these queries, with a standard error of e_k. Then the
model is an average in which it counts

    share_k ~ exp(-(d_k / e_k)^2 / 2)                                                            (average-shares)

with scores in units of their deviation within queries. All are linear, and so is their average.

(Measured on 16 problems that are not in benchmarks/ranking_elsewhere.py, six or seven draws of each: NDCG@10 is higher
than that of the winner by 0.002, with a standard error of 0.001. As good as this: to take the winner where it is ahead
of the average on held-out queries, shares by half the standard error, and shares that are picked greedily to be best on
these. Equal shares are worse by 0.006, with a standard error of 0.004.)
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import RepeatedKFold, ShuffleSplit, check_cv

from .._validation import whole_number
from ..design import as_design
from ..measures import NDCG, Queries, QueryMeasure
from .choice import Race, check_any_splits
from .ranker import tight_start
from .ranking_candidates import RankingCandidate
from .tight_path import SafeStart, TightContinuation
from .trail import Settings, Trail

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
#: With fewer queries that count than the first number, folds are drawn as often as the second says.
FEW_QUERIES, REPEATS = 200, 3
#: Candidates that count less beside the winner are left out of an average: they are three standard errors behind.
LEAST_SHARE = 0.01


@dataclass
class HeldOutQueries:
    """Documents of one split that are held out, and their scores for each candidate and level that was tried there."""

    rows: Rows
    queries: Queries
    scores: dict[tuple[RankingCandidate, int], Array] = field(default_factory=dict)


class QueryRows:
    """Documents to train on, and what candidates share there."""

    def __init__(self, X: Any, queries: Queries, settings: Settings):
        self.queries = queries
        self.settings = settings
        self.design = as_design(X, low_memory=settings.low_memory)
        self._starts: dict[QueryMeasure, SafeStart] = {}

    def start_of(self, measure: QueryMeasure) -> SafeStart:
        """Where the tight bound of a measure starts; the same for both targets of NDCG."""
        key = replace(measure, tight_target="best") if isinstance(measure, NDCG) else measure
        if key not in self._starts:
            self._starts[key] = SafeStart(self.design, lambda: tight_start(key, self.queries), self.settings.solver)
        return self._starts[key]


class QueryTrail(Trail):
    """Models of a candidate for documents of queries."""

    def __init__(self, candidate: RankingCandidate, rows: QueryRows):
        self._safe_start = rows.start_of(candidate.measure)
        risk = candidate.measure.risk(rows.queries)
        super().__init__(rows.design, risk, rows.settings, tight=candidate.bound == "tight")

    def _tight_along(self) -> TightContinuation:
        strength = self._risk.score_scale**2
        return TightContinuation(
            self._design,
            self._risk,
            self.solver,
            self._penalty,
            self._safe_start,
            strength=strength,
            thorough=False,
        )


class QueryRace(Race[QueryMeasure, RankingCandidate, HeldOutQueries]):
    """A race of candidates for rankings."""

    cautious = False

    def shares(self, winner: RankingCandidate, index: int) -> dict[tuple[RankingCandidate, int], float]:
        """What each candidate counts in an average, at its best level, beside the winner's 1; (average-shares)."""
        best = self._of_queries(winner, index)
        weights = np.concatenate([self._kept_weights(split) for split in self.splits])
        weights /= weights.sum()
        found = {(winner, index): 1.0}
        for candidate, level in self.ranked():
            if candidate != winner:
                behind = best - self._of_queries(candidate, level)
                mean = float(weights @ behind)
                error = math.sqrt(float(weights**2 @ (behind - mean) ** 2) * self.times_held_out())
                share = _likely(mean, error)
                if share >= LEAST_SHARE:
                    found[candidate, level] = share
        return found

    def _of_queries(self, candidate: RankingCandidate, index: int) -> Array:
        """The measure of every query that is held out in some split."""
        of_splits = [self.measure.of_queries(split.queries, split.scores[candidate, index]) for split in self.splits]
        values = np.concatenate(of_splits)
        return values[~np.isnan(values)]

    def _kept_weights(self, split: HeldOutQueries) -> Array:
        """What the queries that count in a split weigh."""
        left_out = np.isnan(self.measure.of_queries(split.queries, np.zeros(split.queries.here_count)))
        return self.measure.weights(split.queries)[~left_out]

    def _scores_in_splits(self, candidate: RankingCandidate, index: int) -> Array:
        key = candidate, index
        return np.array(
            [self._alone(split, split.scores[key]) if key in split.scores else np.nan for split in self.splits]
        )

    def _alone(self, split: HeldOutQueries, scores: Array) -> float:
        return self.measure.mean_score(split.queries, scores)

    def _finer_score(self, split: HeldOutQueries, scores: Array) -> float:
        return NDCG(gain="linear").mean_score(split.queries, scores)


def _likely(behind: float, error: float) -> float:
    """``exp(-(behind / error)^2 / 2)``, also where there is no error.

    Examples
    --------
    >>> round(_likely(0.02, 0.01), 4), _likely(0.0, 0.0), _likely(0.02, 0.0), _likely(-0.01, 0.01)
    (0.1353, 1.0, 0.0, 1.0)
    """
    if behind <= 0.0:
        return 1.0
    return math.exp(-0.5 * min(behind / error, 30.0) ** 2) if error > 0.0 else 0.0


def query_splits(cv: Any, numbers: Rows, counted: Rows) -> list[tuple[Rows, Rows]]:
    """Rows to train on and rows to hold out, for every split; no query is in both.

    Parameters
    ----------
    cv : int, float, splitter or iterable
        As in :class:`~smoothperf.MeasureRankerCV`.
    numbers : ndarray
        Number of the query of each row.
    counted : ndarray
        Numbers of the queries that count.

    Examples
    --------
    >>> train, test = query_splits(2, np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1]))[0]
    >>> train.tolist(), test.tolist()
    ([0, 1, 4, 5], [2, 3])
    """
    if isinstance(cv, (float, np.floating)):
        if not 0.0 < cv < 1.0:
            raise ValueError(f"cv must be a number of folds, a share between 0 and 1 or a splitter, got {cv!r}.")
        _check_enough(counted.size, 2)
        return _dealt(ShuffleSplit(n_splits=1, test_size=cv, random_state=0).split(counted), counted, numbers)
    if isinstance(cv, (int, np.integer)):
        folds = whole_number("cv", cv, at_least=2)
        _check_enough(counted.size, folds)
        times = REPEATS if counted.size < FEW_QUERIES else 1
        splitter = RepeatedKFold(n_splits=folds, n_repeats=times, random_state=0)
        return _dealt(splitter.split(counted), counted, numbers)
    every_row = np.arange(numbers.size)  # a split may be a mask
    with warnings.catch_warnings():
        # A splitter that does not know groups says so; that it divides queries is an error below.
        warnings.filterwarnings("ignore", "The groups parameter is ignored")
        splits = [(every_row[train], every_row[test]) for train, test in check_cv(cv).split(every_row, groups=numbers)]
    check_any_splits(splits)
    for train, test in splits:
        _check_split(train, test, numbers, counted)
    return splits


def _dealt(splits: Iterable[tuple[Rows, Rows]], counted: Rows, numbers: Rows) -> list[tuple[Rows, Rows]]:
    """Rows of splits of the queries that count; only those are held out."""
    held_out = [np.isin(numbers, counted[test]) for _, test in splits]
    return [(np.flatnonzero(~mask), np.flatnonzero(mask)) for mask in held_out]


def _check_enough(queries: int, folds: int) -> None:
    if queries < folds:
        raise ValueError(
            f"cv needs at least {folds} queries whose order makes a difference to the measure, but there are "
            f"{queries}: use fewer folds, or MeasureRanker with a given alpha."
        )


def _check_split(train: Rows, test: Rows, numbers: Rows, counted: Rows) -> None:
    """Refuse a split that holds out documents of queries that are trained on, or has a part without any that counts."""
    shared = np.intersect1d(numbers[train], numbers[test])
    if shared.size:
        one, other = (int(part[numbers[part] == shared[0]][0]) for part in (train, test))
        raise ValueError(
            f"cv must hold out whole queries, but rows {one} and {other}, of the same query, are in different parts of "
            "a split; use GroupKFold, or a number of folds."
        )
    for name, rows in (("training", train), ("held-out", test)):
        if not np.isin(numbers[rows], counted).any():
            raise ValueError(f"cv leaves a {name} part without a query whose order makes a difference to the measure.")
