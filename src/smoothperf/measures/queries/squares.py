r"""Squared loss within queries: scores should differ as much as the gains of documents do. Ridge regression, centred.

With the means of a query taken from scores and gains (``f~``, ``r~``), and coefficients ``c_q`` that sum to 1 over the
queries that have documents of different gains,

    R(f) = sum_q (c_q / m_q) sum_i (f~_i - r~_i)^2                                          (query-squares-risk)

Gains are in the unit that makes ``R(0) = 1``, so that R is the share of their variance which scores do not explain.

It is smooth as it is, ``R_mu = R`` for every mu and ``D = 0``. Its gradient is ``2 (c_q / m_q) (f~ - r~)``, and its
tangent plane has the offset ``sum_q (c_q / m_q) sum_i (r~_i^2 - f~_i^2)``. O(n).

It does not ask for the order of documents and cannot collapse. Where grades are noisy that is an advantage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..._arrays import Array
from ..risk import EPS, Interval, Plane, RiskValue
from .base import QueryMeasure, QueryRisk, checked_weight, words_of_nothing
from .gains import Function, can_gain, checked_gain, document_gains, unusual_gain
from .queries import Queries


class QuerySquaresRisk(QueryRisk):
    """The risk (query-squares-risk) for given queries; made by :meth:`QuerySquaredLoss.risk`.

    Parameters
    ----------
    queries : Queries
        Which documents belong together, and what queries count.
    gains : ndarray
        Gains of documents, in any unit.

    Attributes
    ----------
    counted : ndarray of bool
        The queries here whose documents do not all gain the same.
    """

    has_loss_free: ClassVar[bool] = False
    sums_over_examples: ClassVar[bool] = True
    diameter = 0.0

    def __init__(self, queries: Queries, gains: Array):
        super().__init__(queries)
        counted = queries.reduced(np.minimum, gains) < queries.reduced(np.maximum, gains)
        (weight,) = queries.total(queries.weighted(counted.astype(np.float64)))
        checked_weight(weight, words_of_nothing(QuerySquaredLoss.name))
        shortest, largest = queries.extremes(
            float(np.where(counted, queries.sizes, np.inf).min(initial=np.inf)),
            float(gains.max(initial=0.0)),
        )
        weights = np.ones(counted.shape) if queries.query_weights is None else queries.query_weights
        self.counted = counted
        self._shares = np.where(counted, weights / (weight * queries.sizes), 0.0)
        gains = queries.centred(gains / largest)  # which can be squared
        (variance,) = queries.total(float((self._shares * queries.sums(gains**2)).sum()))
        self._centred_gains = gains / np.sqrt(variance)
        self._squared_gains = queries.sums(self._centred_gains**2)
        self._lipschitz = 2.0 / (shortest * weight)

    def exact(self, scores: Array) -> RiskValue:
        """``R``, its gradient and the tangent plane."""
        return self.smoothed(scores, 0.0)

    def exact_value(self, scores: Array) -> float:
        """``R`` alone."""
        losses = self._shares * self.queries.sizes * self.of_queries(scores)
        return self.queries.total(float(losses.sum()))[0]

    def of_queries(self, scores: Array) -> Array:
        """The mean loss of the documents of each query here."""
        documents = self.queries.less_the_first(self.queries.by_document(scores))
        difference = self.queries.centred(documents) - self._centred_gains
        means: Array = self.queries.sums(difference**2) / self.queries.sizes
        return means

    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """The same as :meth:`exact`, whatever mu is; ``hint`` is not used."""
        queries, shares = self.queries, self._shares
        documents = queries.less_the_first(queries.by_document(scores))
        centred = queries.centred(documents)
        difference = centred - self._centred_gains
        # Sums over a query, and the mean of its scores, are off by as many roundings as it has documents at most.
        sizes = (queries.sizes + 16.0) * (queries.sizes + self._squared_gains + queries.sums(documents**2))
        value, offset, size = queries.total(
            float((shares * queries.sums(difference**2)).sum()),
            float((shares * (self._squared_gains - queries.sums(centred**2))).sum()),
            float((shares * sizes).sum()),
        )
        difference *= np.repeat(2.0 * shares, queries.sizes)
        gradient = queries.by_row(difference)
        if out is not None:
            out[:] = gradient
            gradient = out
        sums = 4 * queries.members + 64 + 2 * np.log2(1 + queries.query_count)
        return RiskValue(
            Plane(gradient, offset, (8.0 + sums) * EPS * size),
            value,
            value,
            exact=Interval(value, value),
        )

    def lipschitz(self, mu: float) -> float:
        """``2 / (m W)`` for the shortest query of m documents: Hessians are ``2 c_q / m_q`` times a projection."""
        return self._lipschitz


@dataclass(frozen=True)
class QuerySquaredLoss(QueryMeasure):
    """Squared differences between scores and gains, with the mean of each query taken from both.

    The *score* is minus the loss, 0 at best, with gains in the unit that makes it -1 where scores are all equal.
    Queries whose documents all gain the same are left out.

    Parameters
    ----------
    gain : "exponential", "linear", callable or sequence, default="exponential"
        As in :class:`~smoothperf.NDCG`.

    Examples
    --------
    >>> from smoothperf.measures.queries.squares import QuerySquaredLoss
    >>> grades, qid = [2, 0, 1, 0, 1], ["a", "a", "a", "b", "b"]
    >>> loss = QuerySquaredLoss(gain="linear")
    >>> round(loss.score(grades, [0.0, 0.0, 0.0, 5.0, 5.0], qid), 4)   # whatever the mean of a query is
    -1.0
    >>> bool(loss.score(grades, [2.0, 0.0, 1.0, 5.0, 6.0], qid) > -0.4)
    True
    """

    gain: str | Function | Sequence[float] = "exponential"
    name: ClassVar[str] = "squared_loss"

    def __post_init__(self) -> None:
        object.__setattr__(self, "gain", checked_gain(self.gain))

    @property
    def full_name(self) -> str:
        """``squared_loss, linear gains``."""
        return self.name + unusual_gain(self.gain)

    def risk(self, queries: Queries) -> QuerySquaresRisk:
        """Return the convex risk (query-squares-risk) for queries."""
        return QuerySquaresRisk(queries, document_gains(self.gain, queries.grades))

    def takes(self, grades: Array) -> bool:
        """Return whether documents of these grades do not gain too much."""
        return can_gain(self.gain, grades)

    def of_queries(self, queries: Queries, scores: Array) -> Array:
        """Return minus the loss of each query here; NaN for those whose documents all gain the same."""
        risk = self.risk(queries)
        losses = risk.of_queries(scores)
        return np.where(risk.counted, 0.0 - losses, np.nan)
