r"""Squared loss of all documents together, whatever their query: ridge regression on gains, with an intercept.

With the mean over all documents taken from scores and gains (``f~``, ``r~``), and weights ``c_i`` of documents, which
are those of their queries and sum to 1,

    R(f) = sum_i c_i (f~_i - r~_i)^2                                                       (pooled-squares-risk)

Gains are in the unit that makes ``R(0) = 1``. R is smooth as it is, like :mod:`.squares`: its
gradient is ``2 c_i (f~_i - r~_i)``, and its tangent plane has the offset ``sum_i c_i (r~_i^2 - f~_i^2)``. O(n).

It compares documents of different queries, too, so that those of queries with one grade count. Where a grade means the
same in all queries there is more to learn from that than from differences within queries; where features or grades
depend on the query, there is less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..._arrays import Array
from ..risk import EPS, Interval, Plane, Risk, RiskValue
from .base import QueryMeasure, checked_weight, words_of_nothing
from .gains import Function, can_gain, checked_gain, document_gains
from .queries import Queries


class PooledSquaresRisk(Risk):
    """The risk (pooled-squares-risk) for given documents; made by :meth:`PooledSquaredLoss.risk`.

    Parameters
    ----------
    queries : Queries
        The documents, and what queries count.
    gains : ndarray
        Gains of documents, by document, in any unit.
    """

    shift_invariant: ClassVar[bool] = True
    has_loss_free: ClassVar[bool] = False
    sums_over_examples: ClassVar[bool] = True
    diameter = 0.0

    def __init__(self, queries: Queries, gains: Array):
        super().__init__(queries)
        self.queries = queries
        weights = np.ones(queries.sizes.shape) if queries.query_weights is None else queries.query_weights
        here = math.fsum(weights * queries.sizes)
        (weight,) = queries.total(here)
        checked_weight(weight, words_of_nothing(PooledSquaredLoss.name))
        largest = queries.extremes(0.0, float(gains.max(initial=0.0)))[1]
        checked_weight(float(largest > 0.0), words_of_nothing(PooledSquaredLoss.name))
        # By row, as scores are.
        self._shares = queries.by_row(np.repeat(weights / weight, queries.sizes))
        self._share_here = here / weight
        centred = self._centred(queries.by_row(gains / largest))  # which can be squared
        (variance,) = queries.total(float(self._shares @ centred**2))
        checked_weight(float(variance > 0.0), words_of_nothing(PooledSquaredLoss.name))
        self._centred_gains = centred / np.sqrt(variance)
        # With weights of rows, the Hessian is 2 / W times a projection.
        self._lipschitz = 2.0 / weight

    def exact(self, scores: Array) -> RiskValue:
        """``R``, its gradient and the tangent plane."""
        return self.smoothed(scores, 0.0)

    def exact_value(self, scores: Array) -> float:
        """``R`` alone."""
        return self.queries.total(float(self._shares @ self.losses(scores)))[0]

    def losses(self, scores: Array) -> Array:
        """The squared difference of each row here."""
        losses: Array = (self._centred(scores) - self._centred_gains) ** 2
        return losses

    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """The same as :meth:`exact`, whatever mu is; ``hint`` is not used."""
        queries, shares = self.queries, self._shares
        centred = self._centred(scores)
        difference = centred - self._centred_gains
        first = _first(scores)
        value, offset, spread, distance = queries.total(
            float(shares @ difference**2),
            float(shares @ (self._centred_gains**2 - centred**2)),
            float(shares @ (1.0 + self._centred_gains**2 + centred**2 + (scores - first) ** 2)),
            self._share_here * abs(first),
        )
        gradient = np.multiply(2.0 * shares, difference, out=out)
        # Sums are off by as many roundings as there are documents and members at most; how far all scores are from 0
        # enters into the mean alone, with a few, and is multiplied by centred scores, of size sqrt(spread) at most.
        few = 4 * queries.members + 32
        rounding = 8.0 * EPS * ((queries.count + few) * spread + few * distance * math.sqrt(spread))
        return RiskValue(Plane(gradient, offset, rounding), value, value, exact=Interval(value, value))

    def lipschitz(self, mu: float) -> float:
        """``2 / W`` for documents whose weights sum to W."""
        return self._lipschitz

    def weighed(self, scores: Array) -> Array:
        """``C f`` for scores less their mean over all documents, where other measures take that of each query."""
        centred, weights = self._centred(scores), self.queries.weights
        return centred if weights is None else centred * weights

    def _centred(self, values: Array) -> Array:
        """Values by row, less the mean over all documents; those here are added up as differences from the first."""
        first = _first(values)
        (mean,) = self.queries.total(self._share_here * first + float(self._shares @ (values - first)))
        centred: Array = values - mean
        return centred


def _first(values: Array) -> float:
    """The value of the first row here, 0 if there are none."""
    return float(values[0]) if values.size else 0.0


@dataclass(frozen=True)
class PooledSquaredLoss(QueryMeasure):
    """Squared differences between scores and gains of all documents, with the mean of all taken from both.

    The *score* is minus the loss, 0 at best, with gains in the unit that makes it -1 where scores are all equal. A
    query counts as often as it has documents.

    Parameters
    ----------
    gain : "linear", "exponential", callable or sequence, default="linear"
        As in :class:`~smoothperf.NDCG`; by default the grade itself.

    Examples
    --------
    >>> from smoothperf.measures.queries.pooled_squares import PooledSquaredLoss
    >>> grades, qid = [2, 0, 1, 0, 1], ["a", "a", "a", "b", "b"]
    >>> round(PooledSquaredLoss().score(grades, [2.0, 0.0, 1.0, 0.0, 1.0], qid), 2)   # the unit is their deviation
    -0.06
    >>> bool(PooledSquaredLoss().score(grades, [0.0, 0.0, 0.0, 5.0, 5.0], qid) < -1.0)   # other than within queries
    True
    """

    gain: str | Function | Sequence[float] = "linear"
    name: ClassVar[str] = "pooled_squared_loss"

    def __post_init__(self) -> None:
        object.__setattr__(self, "gain", checked_gain(self.gain))

    @property
    def full_name(self) -> str:
        """``pooled_squared_loss, other gains``."""
        return self.name if self.gain == "linear" else f"{self.name}, other gains"

    def risk(self, queries: Queries) -> PooledSquaresRisk:
        """Return the convex risk (pooled-squares-risk) for queries."""
        return PooledSquaresRisk(queries, document_gains(self.gain, queries.grades))

    def takes(self, grades: Array) -> bool:
        """Return whether documents of these grades do not gain too much."""
        return can_gain(self.gain, grades)

    def of_queries(self, queries: Queries, scores: Array) -> Array:
        """Return minus the mean loss of the documents of each query here."""
        losses = queries.by_document(self.risk(queries).losses(scores))
        means: Array = queries.sums(0.0 - losses) / queries.sizes
        return means

    def weights(self, queries: Queries) -> Array:
        """Return what each query here counts: as much as its documents."""
        weights: Array = super().weights(queries) * queries.sizes
        return weights
