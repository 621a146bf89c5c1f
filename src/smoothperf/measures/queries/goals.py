"""Scores of queries that are trained for by another measure's risk: average precision and reciprocal rank.

Documents of a grade above 0 are relevant. Both look at each query from the top:

    average precision   the mean over relevant documents of the share of relevant ones among those down to it
    reciprocal rank     1 / (place of the first relevant document)

Documents with equal scores are taken together: down to a document means down to the last one with its score, as in
:func:`sklearn.metrics.average_precision_score`. So no order of tied documents can look better than it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..._arrays import Array
from ..risk import Risk
from .base import QueryMeasure
from .ndcg import NDCG
from .pairs import QueryROCArea
from .queries import Queries
from .top_k import relevant


class QueryGoal(QueryMeasure):
    """A measure of queries without a risk of its own.

    Attributes
    ----------
    trained_with : QueryMeasure
        The measure whose risk is minimised instead.

    Examples
    --------
    >>> from smoothperf import ReciprocalRank
    >>> isinstance(ReciprocalRank(), QueryGoal), ReciprocalRank().trained_with.name
    (True, 'ndcg')
    """

    trained_with: ClassVar[QueryMeasure]

    def risk(self, queries: Queries) -> Risk:
        """Return the convex risk of ``trained_with`` for queries."""
        return self.trained_with.risk(queries)


def _down_to(queries: Queries, scores: Array) -> tuple[Array, Array, Array]:
    """For documents by score: whether they are relevant, and how many are above or tied, relevant ones and all."""
    keys = queries.by_document(scores)
    order = queries.sorted_by(keys)
    begins = queries.ties(keys[order])
    hits = relevant(queries)[order]
    ends = np.repeat(begins[1:], np.diff(begins))  # behind the last document with the same score
    numbers = np.append(0.0, np.cumsum(hits))
    first = np.repeat(queries.starts[:-1], queries.sizes)
    return hits, numbers[ends] - numbers[first], (ends - first).astype(np.float64)


def _of_relevant(queries: Queries, values: Array) -> Array:
    """Values of queries, NaN for those with relevant documents only, or none."""
    numbers = queries.sums(relevant(queries))
    return np.where((numbers > 0.0) & (numbers < queries.sizes), values, np.nan)


@dataclass(frozen=True)
class QueryAveragePrecision(QueryGoal):
    """Mean average precision: the average precision of each query. Trained with the ROC area of each query.

    Queries with relevant documents only, or none, are left out.

    Examples
    --------
    >>> from smoothperf.measures.queries.goals import QueryAveragePrecision
    >>> round(QueryAveragePrecision().score([2, 0, 1, 0, 1], [0.9, 0.5, 0.1, 0.3, 0.7], [1, 1, 1, 2, 2]), 4)
    0.9167
    """

    name: ClassVar[str] = "average_precision"
    trained_with: ClassVar[QueryMeasure] = QueryROCArea()

    def of_queries(self, queries: Queries, scores: Array) -> Array:
        """Return the average precision of each query here."""
        hits, above, count = _down_to(queries, scores)
        sums = queries.sums(hits * above / count)
        return _of_relevant(queries, sums / np.maximum(queries.sums(hits), 1.0))


@dataclass(frozen=True)
class ReciprocalRank(QueryGoal):
    """Mean reciprocal rank of the first relevant document. Trained with NDCG.

    Queries with relevant documents only, or none, are left out.

    Examples
    --------
    >>> from smoothperf.measures.queries.goals import ReciprocalRank
    >>> ReciprocalRank().score([0, 2, 1, 0, 1], [0.9, 0.5, 0.1, 0.3, 0.7], [1, 1, 1, 2, 2])
    0.75
    """

    name: ClassVar[str] = "reciprocal_rank"
    trained_with: ClassVar[QueryMeasure] = NDCG()

    def of_queries(self, queries: Queries, scores: Array) -> Array:
        """Return the reciprocal rank of the first relevant document of each query here."""
        hits, _, count = _down_to(queries, scores)
        places = np.where(hits > 0.0, count, np.inf)
        return _of_relevant(queries, 1.0 / queries.reduced(np.minimum, places))
