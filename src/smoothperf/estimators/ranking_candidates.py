"""What may be trained in order to rank documents of queries: squared losses, pairs, and tight bounds of the measure.

The convex risk of a measure that adds up gains at places is often least where all scores are equal; its tight bounds
start from squared loss or pairs (:mod:`smoothperf.estimators.ranker`). On three data sets (docs/ranking.md) the tight
bound of the best rankings wins where grades can be told apart, and collapses where they are noisy, which that of the
order of the scores does not; squared loss is as good there, and costs next to nothing. That of all documents together
is ridge regression on grades, which is what people would use instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._validation import choice
from ..io.model_file import kept_in_files
from ..measures import (
    NDCG,
    PooledSquaredLoss,
    QueryGoal,
    QueryMeasure,
    QueryPrecision,
    QueryRecall,
    QueryROCArea,
    QuerySquaredLoss,
    get_query_measure,
)
from .candidates import BOUNDS, given_candidates

#: Losses, whose convex risks do not collapse; and pairs, for which the same holds.
LOSSES = (QuerySquaredLoss, PooledSquaredLoss)
SAFE = (*LOSSES, QueryROCArea)


@kept_in_files
@dataclass(frozen=True)
class RankingCandidate:
    """A risk to train with.

    Parameters
    ----------
    measure : QueryMeasure
        Whose risk it is.
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
    def safe(self) -> bool:
        """Whether it is one of those that anybody would use, and another must be better than."""
        return isinstance(self.measure, SAFE) and self.bound == "convex"

    @property
    def target(self) -> str | None:
        """What the tight bound of NDCG compares rankings with; None for others."""
        return self.measure.tight_target if isinstance(self.measure, NDCG) and self.bound == "tight" else None

    def __str__(self) -> str:
        return ", ".join([self.measure.name, self.bound, *([] if self.target is None else [self.target])])


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
        bound = "convex" if RankingCandidate(measure).safe else "tight"
    if bound == "tight" and isinstance(measure, LOSSES):
        raise ValueError(f'bound="tight" is for measures of an order, not for {measure.name!r}; use bound="convex".')
    return RankingCandidate(measure, bound)


def candidates_for(measure: QueryMeasure, bound: str | Sequence[Any] = "auto") -> tuple[RankingCandidate, ...]:
    """Return what to choose from, safe ones first.

    Parameters
    ----------
    measure : QueryMeasure
        What to be good at.
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
    safe = (QuerySquaredLoss(gain), PooledSquaredLoss(), pairs)
    return (*map(RankingCandidate, safe), *_tight(measure))


def _tight(measure: QueryMeasure) -> tuple[RankingCandidate, ...]:
    """The candidates that must be better than the safe ones."""
    if isinstance(measure, (QueryPrecision, QueryRecall)):
        return (RankingCandidate(measure, "tight"),)
    if isinstance(measure, QueryGoal):  # NDCG looks at the top more than pairs do, as average precision does
        measure = NDCG()
    if isinstance(measure, NDCG):
        return tuple(RankingCandidate(replace(measure, tight_target=target), "tight") for target in ("best", "order"))
    return () if RankingCandidate(measure).safe else (RankingCandidate(measure, "tight"),)


def _named(measure: Any, bound: Any) -> RankingCandidate:
    return candidate_for(get_query_measure(measure), choice("bound", bound, BOUNDS))
