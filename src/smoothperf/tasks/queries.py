"""Documents of queries: rows, and how they are trained on for a measure of their order."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._arrays import Indices
from ..evaluation import is_constant
from ..measures import NDCG, Queries, QueryMeasure, QueryROCArea, QuerySquaredLoss, Risk
from ..optimise import Result
from ..optimise.objective import RegularizedRisk
from ..optimise.path import Solution
from .base import Ending, Rows, rows_of
from .query_choice import QueryChoice, RankingCandidate, candidate_for


class QueryRows(Rows[Queries]):
    """Documents with grades, of queries.

    Parameters
    ----------
    X : matrix or Design
        The features.
    queries : Queries
        Grades, which documents belong together, and what queries count.
    features, low_memory
        As in :class:`~smoothperf.tasks.base.Rows`.
    """

    def __init__(self, X: Any, queries: Queries, *, features: Any = None, low_memory: bool = False):
        super().__init__(X, features=features, low_memory=low_memory)
        self.known = queries

    @property
    def targets(self) -> NDArray[Any]:
        """The grades."""
        return self.known.by_row(self.known.grades)

    def size_words(self) -> str:
        """Number of queries, in words."""
        return f"{self.known.sizes.size:,} queries"

    def part(self, numbers: Indices) -> Self:
        """Some of the rows, which may be parts of queries."""
        queries = self.known
        grades, weights, ids = queries.by_row(queries.grades), queries.weights, queries.numbers
        chosen = Queries.of(grades[numbers], ids[numbers], None if weights is None else weights[numbers])
        return type(self)(rows_of(self.X, numbers), chosen, features=self.features, low_memory=self.low_memory)


@dataclass(frozen=True, kw_only=True)
class QueryTask(QueryChoice):
    """Training for a measure of the order of documents.

    Attributes
    ----------
    measure : QueryMeasure
        The measure to be good at.
    """

    measure: QueryMeasure

    def finely(self) -> tuple[Self, RankingCandidate]:
        """NDCG of all places, and squared loss of grades."""
        return replace(self, measure=NDCG(gain="linear")), RankingCandidate(QuerySquaredLoss(gain="linear"))

    def candidate(self, bound: str) -> RankingCandidate:
        """The one of :func:`candidate_for`."""
        return candidate_for(self.measure, bound)

    def risk(self, candidate: RankingCandidate, known: Queries) -> Risk:
        """That of the measure."""
        return candidate.measure.risk(known)

    def first_risk(self, candidate: RankingCandidate, known: Queries, risk: Risk) -> Risk | None:
        """Squared loss for NDCG, pairs for others.

        (Measured in five folds of the training and validation queries of benchmarks/ranking.py: from squared loss
        instead of pairs NDCG@10 is 0.704 instead of 0.704 on MQ2008, 0.490 instead of 0.485 on OHSUMED, 0.756 instead
        of 0.753 on LightGBM's example, with the best target and strength.)
        """
        measure = candidate.measure
        start = QuerySquaredLoss(measure.gain) if isinstance(measure, NDCG) else QueryROCArea()
        return start.risk(known)

    def first_key(self, candidate: RankingCandidate) -> Hashable:
        """The measure; the same for both targets of NDCG."""
        measure = candidate.measure
        return replace(measure, tight_target="best") if isinstance(measure, NDCG) else measure

    def ending(
        self,
        candidate: RankingCandidate,
        known: Queries,
        objective: RegularizedRisk,
        found: Result | Solution,
        tol: float,
    ) -> Ending:
        """The weights; empty if all documents have the same score."""
        scores = found.scores
        assert scores is not None
        ends = known.extremes(scores.min(initial=np.inf), scores.max(initial=-np.inf))
        return Ending(found.coef, 0.0, 0.0, np.nan, is_constant(np.array(ends)))
