"""Precision and recall of the k documents that each query ranks highest; documents of a grade above 0 are relevant.

Both are gains at places: those up to k have discount 1, others 0, and a relevant document gains 1. The hull of the
rankings is the capped simplex of each query. The risk is that of :mod:`.risk`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from ..._arrays import Array
from ..._validation import whole_number
from .base import QueryMeasure, quotients
from .queries import Queries
from .risk import RankingRisk, order_matters, ranked_shares


@dataclass(frozen=True)
class _FirstK(QueryMeasure):
    """Base of precision and recall of the first k documents."""

    k: int

    def __post_init__(self) -> None:
        whole_number("k", self.k, at_least=1)

    @abstractmethod
    def _units(self, relevant: Array) -> Array:
        """Return what hits are divided by, given the number of relevant documents of each query."""

    def risk(self, queries: Queries) -> RankingRisk:
        """Return the convex risk (ranking-risk) for queries."""
        gains = relevant(queries)
        units = self._units(queries.sums(gains))
        return RankingRisk(queries, gains, self._places(queries), units, nothing_counts=self.nothing_counts)

    def of_queries(self, queries: Queries, scores: Array) -> Array:
        """Return the measure of each query here; NaN for those that every order suits alike.

        Documents tied at the last place that counts share the places that are left.
        """
        gains = relevant(queries)
        places = self._places(queries)
        order, _, shares = ranked_shares(queries, queries.by_document(scores), places)
        hits = queries.sums(shares * gains[order])
        return quotients(hits, self._units(queries.sums(gains)), order_matters(queries, gains, places))

    @property
    def nothing_counts(self) -> str:
        """Words for an error if no query counts."""
        return (
            f"no query has more than {self.k} documents, of which some are relevant and some are not, and a weight: "
            f"{self.name} does not depend on the order of any other."
        )

    def _places(self, queries: Queries) -> Array:
        return (np.arange(int(queries.sizes.max(initial=1))) < self.k).astype(np.float64)


@dataclass(frozen=True)
class QueryPrecision(_FirstK):
    """Precision at k: how many of the k documents with the highest scores of a query are relevant, of k.

    Queries of at most k documents are left out, as all of these are among the first k in every order, and those with
    relevant documents only, or none.

    Parameters
    ----------
    k : int
        The number of documents.

    Examples
    --------
    >>> from smoothperf.measures.queries.top_k import QueryPrecision
    >>> QueryPrecision(2).score([2, 0, 1, 0, 1], [0.9, 0.5, 0.1, 0.3, 0.7], [1, 1, 1, 2, 2])
    0.5
    """

    @property
    def name(self) -> str:
        """``precision@10``."""
        return f"precision@{self.k}"

    def _units(self, relevant: Array) -> Array:
        return np.full(relevant.shape, float(self.k))


@dataclass(frozen=True)
class QueryRecall(_FirstK):
    """Recall at k: how many of the relevant documents of a query are among the k with the highest scores.

    Queries of at most k documents are left out, as all of these are among the first k in every order, and those with
    relevant documents only, or none.

    Parameters
    ----------
    k : int
        The number of documents.

    Examples
    --------
    >>> from smoothperf.measures.queries.top_k import QueryRecall
    >>> QueryRecall(1).score([2, 0, 1, 0, 1], [0.9, 0.5, 0.1, 0.3, 0.7], [1, 1, 1, 2, 2])
    0.75
    """

    @property
    def name(self) -> str:
        """``recall@10``."""
        return f"recall@{self.k}"

    def _units(self, relevant: Array) -> Array:
        return np.maximum(relevant, 1.0)


def relevant(queries: Queries) -> Array:
    """1 for documents of a grade above 0, 0 for others."""
    return (queries.grades > 0.0).astype(np.float64)
