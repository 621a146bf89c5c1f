r"""ROC area of each query: the fraction of pairs of documents with different grades that are in the right order.

For queries with ``M_q`` pairs, i of a higher grade than j, and coefficients ``c_q`` that sum to 1,

    R(f)    = sum_q (c_q / M_q) sum_ij max(0, 1 - (f_i - f_j))                              (query-pairs-risk)
    R_mu(f) = sum_q (c_q / M_q) sum_ij H(1 - (f_i - f_j))                                   (query-pairs-smoothed)

H is the Huber hinge of width mu: quadratic on [0, mu], linear beyond. The prox-function is half the mean of ``beta^2``,
so ``D = 1/2``. Where pairs are many they are not formed (:mod:`smoothperf.kernels._query_pairs`): O(n log m) for
queries of m documents, however many grades there are. This is the ranking SVM. Its risk does not collapse to scores
that are all equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..._arrays import Array
from ..._validation import choice
from ...kernels import query_hinges
from ..risk import EPS, LONG_EPS, Interval, Plane, RiskValue
from .base import QueryMeasure, QueryRisk, checked_weight, quotients, words_of_nothing
from .queries import Queries


class _QueryPairs:
    """Pairs of documents with different grades: how many a query has, and what it takes to sum over them."""

    def __init__(self, queries: Queries):
        self.queries = queries
        order = queries.sorted_by(-queries.grades)
        begins = queries.ties(-queries.grades[order])
        groups, counts = begins[:-1], np.diff(begins)
        first_groups = np.searchsorted(groups, queries.starts[:-1])
        query = np.searchsorted(queries.starts, groups, "right") - 1
        # Grades are numbered upwards within each query.
        self.grade_numbers = np.empty(queries.here_count, dtype=np.intp)
        self.grade_numbers[order] = np.repeat(np.arange(groups.size) - first_groups[query], counts)
        equal = np.bincount(query, counts.astype(np.float64) ** 2, minlength=queries.sizes.size)
        self.numbers: Array = (queries.sizes.astype(np.float64) ** 2 - equal) / 2.0

    def sums(
        self,
        scores: Array,
        coefficients: Array,
        margin: float,
        kappa: float,
        direction: Array | None = None,
        gradient: Array | None = None,
        by_query: Array | None = None,
    ) -> tuple[float, ...]:
        """Sums over the pairs here; see :func:`smoothperf.kernels.query_hinges`."""
        queries = self.queries
        return query_hinges(
            scores,
            queries.rows,
            queries.starts,
            self.grade_numbers,
            coefficients,
            margin,
            kappa,
            direction,
            gradient,
            by_query,
            queries.pieces(),
        )

    def wrong(self, scores: Array) -> Array:
        """Number of pairs of each query in the wrong order."""
        counts = np.empty_like(self.numbers)
        self.sums(scores, np.ones_like(counts), 0.0, 0.0, by_query=counts)
        return counts


class QueryPairsRisk(QueryRisk):
    """The risk (query-pairs-risk) for given queries; made by :meth:`QueryROCArea.risk`.

    Parameters
    ----------
    queries : Queries
        Grades and weights.
    by_pairs : bool
        Whether a query counts in proportion to its pairs.
    """

    diameter = 0.5

    def __init__(self, queries: Queries, *, by_pairs: bool):
        super().__init__(queries)
        self._pairs = _QueryPairs(queries)
        numbers = self._pairs.numbers
        counted = numbers > 0.0
        units = np.where(counted, numbers, 1.0)
        weights = np.ones_like(numbers) if queries.query_weights is None else queries.query_weights
        shares = weights * numbers if by_pairs else weights * counted
        weight, documents = queries.total(float(shares.sum()), float(shares @ queries.sizes))
        checked_weight(weight, words_of_nothing("roc_area"))
        self._coefficients = shares / (units * weight)
        # For each query the Hessian is at most c / (M kappa) times the Laplacian of a graph of m documents, at most m;
        # documents count with the weight of their query.
        steepest = np.where(counted, queries.sizes / (1.0 if by_pairs else units), 0.0)
        self._lipschitz = queries.extremes(0.0, float(steepest.max(initial=0.0)))[1] / weight
        # Sums along a sweep are in double, over sweeps in long double; grades are halved at most 64 times. Where all
        # pairs are looked at, sums are in double over the lower documents of each one, and over these.
        self._rounding = (64 * documents / weight + 4 * queries.members + 256) * EPS + queries.count * LONG_EPS

    def exact(self, scores: Array) -> RiskValue:
        """``R`` and a subgradient."""
        return self._hinges(scores, margin=1.0, kappa=0.0)

    def loss_free(self, scores: Array) -> RiskValue:
        """``R0`` and its gradient: the hinge without its margin, of the pairs in the wrong order."""
        return self._hinges(scores, margin=0.0, kappa=0.0)

    def exact_value(self, scores: Array) -> float:
        """``R`` alone."""
        return self.queries.total(self._pairs.sums(scores, self._coefficients, 1.0, 0.0)[0])[0]

    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """``R_mu`` and its gradient; R itself is a by-product."""
        return self._hinges(scores, margin=1.0, kappa=mu, direction=direction, out=out)

    def lipschitz(self, mu: float) -> float:
        """The largest ``c_q m_q / (mu M_q)``, by the weight of the query."""
        return self._lipschitz / mu

    def _hinges(
        self,
        scores: Array,
        *,
        margin: float,
        kappa: float,
        direction: Array | None = None,
        out: Array | None = None,
    ) -> RiskValue:
        gradient = np.empty_like(scores) if out is None else out
        value, height, hinges, betas, along = self.queries.total(
            *self._pairs.sums(scores, self._coefficients, margin, kappa, direction, gradient),
        )
        return RiskValue(
            Plane(gradient, margin * betas, self._rounding),
            value,
            height,
            exact=Interval(hinges, hinges) if kappa > 0.0 else None,
            derivative=None if direction is None else along,
        )


@dataclass(frozen=True)
class QueryROCArea(QueryMeasure):
    """ROC area within queries: how often a document scores above one of a lower grade of the same query.

    Queries with one grade only have no pairs and are left out. A tied pair counts one half.

    Parameters
    ----------
    weighting : "queries" or "pairs", default="queries"
        Whether queries count alike, or in proportion to their numbers of pairs.

    Examples
    --------
    >>> from smoothperf.measures.queries.pairs import QueryROCArea
    >>> grades, qid = [2, 0, 1, 0, 1], ["a", "a", "a", "b", "b"]
    >>> scores = [0.9, 0.5, 0.1, 0.3, 0.7]
    >>> round(QueryROCArea().score(grades, scores, qid), 4), QueryROCArea("pairs").score(grades, scores, qid)
    (0.8333, 0.75)
    """

    weighting: str = "queries"
    name: ClassVar[str] = "roc_area"

    def __post_init__(self) -> None:
        choice("weighting", self.weighting, ("queries", "pairs"))

    @property
    def full_name(self) -> str:
        """``roc_area, by pairs`` where queries count by their pairs."""
        return self.name + (", by pairs" if self.weighting == "pairs" else "")

    def risk(self, queries: Queries) -> QueryPairsRisk:
        """Return the convex risk (query-pairs-risk) for queries."""
        return QueryPairsRisk(queries, by_pairs=self.weighting == "pairs")

    def of_queries(self, queries: Queries, scores: Array) -> Array:
        """Return the ROC area of each query here; NaN for those with one grade."""
        pairs = _QueryPairs(queries)
        swapped, ordered = pairs.wrong(scores), pairs.wrong(-scores)  # tied pairs are neither
        return quotients(0.5 * (pairs.numbers + ordered - swapped), pairs.numbers, pairs.numbers > 0.0)

    def weights(self, queries: Queries) -> Array:
        """Return what each query here counts."""
        weights = super().weights(queries)
        return weights * _QueryPairs(queries).numbers if self.weighting == "pairs" else weights
