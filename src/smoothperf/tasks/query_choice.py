"""The choice of a model for documents of queries: candidates, splits of whole queries, and scores of held-out ones.

The convex risk of a measure that adds up gains at places is often least where all scores are equal; its tight bound
starts from squared loss or pairs, which do not collapse and are the baselines of a choice. On three data sets
(docs/ranking.md) the tight bound of the best rankings wins where grades can be told apart, and collapses where they are
noisy, which that of the order of the scores does not; squared loss is as good there, and costs next to nothing. That of
all documents together is ridge regression on grades, which is what people would use instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._arrays import Array, Indices
from .._validation import choice, whole_number
from ..io.model_file import kept_in_files
from ..measures import (
    NDCG,
    PooledSquaredLoss,
    Queries,
    QueryGoal,
    QueryMeasure,
    QueryPrecision,
    QueryRecall,
    QueryROCArea,
    QuerySquaredLoss,
    get_query_measure,
)
from .base import BOUNDS, Task
from .choosing import checked_share, checked_splits, given_candidates

#: Losses, whose convex risks do not collapse; and pairs, for which the same holds.
LOSSES = (QuerySquaredLoss, PooledSquaredLoss)
BASELINES = (*LOSSES, QueryROCArea)
#: With fewer queries that count than the first number, folds are drawn as often as the second says.
FEW_QUERIES, REPEATS = 200, 3


@kept_in_files
@dataclass(frozen=True)
class RankingCandidate:
    """A risk to train with.

    Parameters
    ----------
    measure : QueryMeasure
        The measure of the risk.
    bound : {"convex", "tight"}
        Which one.

    Examples
    --------
    >>> print(RankingCandidate(NDCG(10, tight_target="order"), "tight"))
    ndcg@10, tight, order
    """

    measure: QueryMeasure
    bound: str = "convex"

    @property
    def baseline(self) -> bool:
        """Whether it is a baseline, which another must be better than."""
        return isinstance(self.measure, BASELINES) and self.bound == "convex"

    @property
    def target(self) -> str | None:
        """Target that the tight bound of NDCG compares rankings with; None for others."""
        return self.measure.tight_target if isinstance(self.measure, NDCG) and self.bound == "tight" else None

    def words(self) -> dict[str, Any]:
        """Its names in ``cv_results_``."""
        return {"measure": self.measure.name, "bound": self.bound, "target": self.target or ""}

    def __str__(self) -> str:
        return ", ".join([self.measure.name, self.bound, *([] if self.target is None else [self.target])])


class QueryChoice(Task[Queries, RankingCandidate]):
    """The part of a task for queries that a choice needs, beyond training."""

    measure: QueryMeasure

    #: With caution NDCG@10 on new queries was seen to be lower. (Measured on the data of benchmarks/ranking.py, five
    #: rotations each: 0.702, 0.455 and 0.753; with caution 0.698, 0.455 and 0.746.)
    cautious: ClassVar[bool] = False
    baseline_names: ClassVar[frozenset[str]] = frozenset(kind().name for kind in BASELINES)

    def candidates(self, bound: str | Sequence[Any]) -> tuple[RankingCandidate, ...]:
        """Those of :func:`candidates_for`."""
        return candidates_for(self.measure, bound)

    def splits(self, cv: Any, rows: Any) -> list[tuple[Any, Any]]:
        """Folds of whole queries, or what a splitter says."""
        return query_splits(cv, rows.known.numbers, self.measure.counted(rows.known))

    def judge(self, judged: Queries, scores: Array) -> float:
        """The mean over queries."""
        return self.measure.mean_score(judged, scores)

    def judge_finely(self, judged: Queries, scores: Array) -> float:
        """NDCG of all places."""
        return NDCG(gain="linear").mean_score(judged, scores)


def candidate_for(measure: QueryMeasure, bound: str = "auto") -> RankingCandidate:
    """Return what to train with for a measure: the risk of another if it has none of its own.

    "auto" is the convex bound of what does not collapse, pairs and squared losses, and the tight one of all others.

    Examples
    --------
    >>> [str(candidate_for(get_query_measure(name))) for name in ("ndcg@10", "pairs", "map", "mrr")]
    ['ndcg@10, tight, auto', 'roc_area, convex', 'roc_area, convex', 'ndcg, tight, auto']
    """
    if isinstance(measure, QueryGoal):
        measure = measure.trained_with
    if choice("bound", bound, ("auto", *BOUNDS)) == "auto":
        bound = "convex" if RankingCandidate(measure).baseline else "tight"
    if bound == "tight" and isinstance(measure, LOSSES):
        raise ValueError(f'bound="tight" is for measures of an order, not for {measure.name!r}; use bound="convex".')
    return RankingCandidate(measure, bound)


def candidates_for(measure: QueryMeasure, bound: str | Sequence[Any] = "auto") -> tuple[RankingCandidate, ...]:
    """Return what to choose from, baselines first.

    Parameters
    ----------
    measure : QueryMeasure
        The measure to be good at.
    bound : {"auto", "convex", "tight"} or sequence of (measure, bound)
        "auto" offers what may be worth while, "convex" or "tight" nothing but that risk of the measure; or the
        candidates themselves.

    Examples
    --------
    >>> for candidate in candidates_for(get_query_measure("ndcg@10")):
    ...     print(candidate)
    squared_loss, convex
    pooled_squared_loss, convex
    roc_area, convex
    ndcg@10, tight, best
    ndcg@10, tight, order
    """
    if not isinstance(bound, str):
        return given_candidates(bound, RankingCandidate, _named, example="ndcg@10")
    if bound != "auto":
        return (candidate_for(measure, bound),)
    gain = measure.gain if isinstance(measure, (NDCG, QuerySquaredLoss)) else "exponential"
    pairs = measure if isinstance(measure, QueryROCArea) else QueryROCArea()
    baselines = (QuerySquaredLoss(gain), PooledSquaredLoss(), pairs)
    return (*map(RankingCandidate, baselines), *_tight(measure))


def _tight(measure: QueryMeasure) -> tuple[RankingCandidate, ...]:
    """The candidates that are compared with the baselines."""
    if isinstance(measure, (QueryPrecision, QueryRecall)):
        return (RankingCandidate(measure, "tight"),)
    if isinstance(measure, QueryGoal):  # NDCG looks at the top more than pairs do, as average precision does
        measure = NDCG()
    if isinstance(measure, NDCG):
        return tuple(RankingCandidate(replace(measure, tight_target=target), "tight") for target in ("best", "order"))
    return () if RankingCandidate(measure).baseline else (RankingCandidate(measure, "tight"),)


def _named(measure: Any, bound: Any) -> RankingCandidate:
    return candidate_for(get_query_measure(measure), choice("bound", bound, BOUNDS))


def query_splits(cv: Any, numbers: Indices, counted: Indices) -> list[tuple[Indices, Indices]]:
    """Numbers of the rows to train on and of those to hold out, for every split; no query is in both.

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
    # Half a second, which those who only use a model need not wait for.
    from sklearn.model_selection import RepeatedKFold, ShuffleSplit, check_cv

    if isinstance(cv, (float, np.floating)):
        splitter = ShuffleSplit(n_splits=1, test_size=checked_share(cv), random_state=0)
        _check_enough(counted.size, 2)
        return _dealt(splitter.split(counted), counted, numbers)
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
        splits = checked_splits(check_cv(cv).split(every_row, groups=numbers))
    splits = [(every_row[train], every_row[test]) for train, test in splits]
    for train, test in splits:
        _check_split(train, test, numbers, counted)
    return splits


def _dealt(
    splits: Iterable[tuple[Indices, Indices]], counted: Indices, numbers: Indices
) -> list[tuple[Indices, Indices]]:
    """Row numbers of splits of the queries that count; only those are held out."""
    held_out = [np.isin(numbers, counted[test]) for _, test in splits]
    return [(np.flatnonzero(~mask), np.flatnonzero(mask)) for mask in held_out]


def _check_enough(queries: int, folds: int) -> None:
    if queries < folds:
        raise ValueError(
            f"cv needs at least {folds} queries whose order makes a difference to the measure, but there are "
            f"{queries}: use fewer folds, or MeasureRanker with a given alpha."
        )


def _check_split(train: Indices, test: Indices, numbers: Indices, counted: Indices) -> None:
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
