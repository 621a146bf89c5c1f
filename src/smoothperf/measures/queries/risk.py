r"""Risk of measures that add up what documents gain at their places: NDCG, and precision and recall at k of queries.

A query has m documents with gains ``g_i >= 0``; places have discounts ``d_1 >= d_2 >= ... >= 0``. A ranking gives
document i the discount ``v_i`` of its place, and the measure is ``<v, r>`` with ``r = g / unit``. For NDCG the unit is
what the best ranking gains. With the same discounts as weights of places in ``<v, f>``, the best ranking by scores f
is the sort by f, and for a mean over queries with coefficients ``c_q``, which sum to 1,

    R(f)    = sum_q c_q max_v  1 - <v, r> + s <v - t, f>                                       (ranking-risk)
    R_mu(f) = sum_q c_q max_v  1 - <v, r> + s <v - t, f> - (mu/2) |v - t|^2                    (ranking-smoothed)

over the permutahedron P(d), the hull of the permutations of d: a sort, or a projection, for each query
(:mod:`smoothperf.kernels._permutahedron`). O(n log m) in all, and less where few places have a discount. The target t
is the average of the rankings with the highest gain: documents with equal gains share the discounts of their places.

The scale ``s = 1 / sum_q c_q sum(d)`` makes the sum of the absolute values of a gradient at most 2, as with the
other measures; it is the same for all queries, so it only says what alpha means.

``D = sum_q c_q |t - t'|^2 / 2``, where t' are the discounts in the opposite order of t.

The convex bound asks documents with equal gains for equal scores, and is often least where all scores are equal. Its
tight form is ``R - R0`` with ``R0(f) = sum_q c_q max_v s <v - t, f>`` (:mod:`smoothperf.optimise.retargeting`), taken

- over all rankings, attained by the order of the scores: it is bounded, and between the loss and the largest loss; or
- over the best rankings, attained by the one that breaks ties by the scores: it asks for all the margins between
  different gains, and for none between equal ones. Where grades are noisy, queries long, or places few, that is more
  than the data have, and the bound is least at zero weights; the first one never asks for more than the order there is.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from ..._arrays import Array, Indices
from ...kernels import rank_queries
from ..risk import EPS, LONG_EPS, Plane, RiskValue
from .base import QueryRisk, checked_weight
from .queries import Queries


def ranked_shares(queries: Queries, keys: Array, discount: Array) -> tuple[Indices, Indices, Array]:
    """Discounts of documents that are ranked by keys, where those with equal keys share what their places have.

    Returns the documents in that order, where those with equal keys begin (and the end), and the shares in that order.
    """
    order = queries.sorted_by(keys)
    begins = queries.ties(keys[order])
    counts = np.diff(begins)
    sums = np.add.reduceat(discount[queries.places], begins[:-1]) if order.size else np.zeros(0)
    return order, begins, np.repeat(sums / counts, counts)


def order_matters(queries: Queries, gains: Array, discount: Array) -> NDArray[np.bool_]:
    """Flags of queries for which order matters: neither their documents nor their places are all alike.

    Examples
    --------
    >>> queries = Queries.of([1, 0, 0, 1, 0, 1, 1, 1], [1, 1, 1, 2, 2, 3, 3, 3])
    >>> order_matters(queries, queries.grades, np.array([1.0, 1.0, 0.0])).tolist()   # the second has two places only
    [True, False, False]
    """
    gains_differ = queries.reduced(np.minimum, gains) < queries.reduced(np.maximum, gains)
    differ: NDArray[np.bool_] = gains_differ & (discount[queries.sizes - 1] < discount[0])
    return differ


class RankingRisk(QueryRisk):
    """The risk (ranking-risk) for given gains; made by the measures' ``risk``.

    Parameters
    ----------
    queries : Queries
        Which documents belong together, and what queries count.
    gains : ndarray
        ``g``, by document. Queries whose gains are all equal, or all of whose places are, are left out.
    discount : ndarray
        ``d``, for as many places as the longest query here has.
    units : ndarray or None
        For each query what its gains are divided by; by default what the best ranking gains.
    aims_at_best : bool
        Whether :meth:`loss_free` looks at rankings with the highest gain only.
    falls_back : bool
        Whether it looks at all rankings where that is too much (:meth:`closer_bound`).
    nothing_counts : str
        The message where no query counts.
    """

    def __init__(
        self,
        queries: Queries,
        gains: Array,
        discount: Array,
        units: Array | None = None,
        *,
        aims_at_best: bool = False,
        falls_back: bool = False,
        nothing_counts: str,
    ):
        super().__init__(queries)
        self._aims_at_best = aims_at_best
        self._falls_back = falls_back
        self._discount = discount
        self._by_gain, self._begins, shares = ranked_shares(queries, gains, discount)
        by_place = discount[queries.places]
        ordered_gains = gains[self._by_gain]
        ideal = queries.sums(by_place * ordered_gains)
        lengths, sizes = queries.sums(by_place), queries.sizes.astype(np.float64)
        opposite = discount[np.repeat(queries.sizes, queries.sizes) - 1 - queries.places]
        squares = 0.5 * (queries.sums(by_place**2) + queries.sums(shares**2)) - queries.sums(opposite * shares)
        counted = order_matters(queries, gains, discount) & (ideal > 0.0)
        units = np.where(counted, ideal if units is None else units, 1.0)
        self._relevance = gains / np.repeat(units, queries.sizes)
        self._target = np.empty_like(gains)
        self._target[self._by_gain] = shares
        highest = np.where(counted, queries.reduced(np.maximum, self._relevance), 0.0)
        weight, length, square, high, documents, departures = queries.total(
            *(
                queries.weighted(values * counted)
                for values in (
                    np.ones_like(lengths),
                    lengths,
                    squares,
                    highest,
                    sizes,
                    2.0 * sizes**2 * (lengths + 2.0),
                )
            ),
        )
        checked_weight(weight, nothing_counts)
        most = queries.extremes(0.0, float(highest.max(initial=0.0)))[1]
        weights = np.ones_like(lengths) if queries.query_weights is None else queries.query_weights
        self._coefficients = np.where(counted, weights / weight, 0.0)
        self._scale = weight / length
        self._lipschitz = self._scale**2 / weight
        self.diameter = square / weight
        self.score_scale = high / weight / self._scale
        # Sums over a query are in double: what it gains, at most 1, and the shares of discounts in the target, both of
        # at most m terms. Sums over queries are in long double, and over pieces and members in double.
        self._rounding = (4 * documents / weight + 4 * queries.members + 64) * EPS + queries.count * LONG_EPS
        # A v that is not in the hull is worth less by its distance from it, for each unit of relevance and score. The
        # kernel measures that distance from sums of up to m discounts in long double, at each of m places.
        self._reach = max(self._scale, most)
        self._unseen = LONG_EPS * departures / weight

    def exact(self, scores: Array) -> RiskValue:
        """``R`` and a subgradient: sort, O(n log m)."""
        gradient = np.empty_like(scores)
        gained, inner, *_ = self._ranked(scores, 0.0, None, gradient)
        offset = 1.0 - gained
        value = offset + self._scale * inner
        return RiskValue(Plane(gradient, offset, self._rounding), value, value)

    def exact_value(self, scores: Array) -> float:
        """``R``; the same without a gradient."""
        gained, inner, *_ = self._ranked(scores, 0.0, None, None)
        return 1.0 - gained + self._scale * inner

    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """``R_mu`` and its gradient: project, O(n log m)."""
        gradient = np.empty_like(scores) if out is None else out
        gained, inner, squares, along, departure = self._ranked(scores, mu, direction, gradient)
        offset = 1.0 - gained
        height = offset + self._scale * inner
        rounding = self._rounding + self._reach * (departure + self._unseen)
        return RiskValue(
            Plane(gradient, offset, rounding),
            height - mu / 2.0 * squares,
            height,
            derivative=None if direction is None else self._scale * along,
        )

    def loss_free(self, scores: Array) -> RiskValue:
        """``R0(f) = sum_q c_q max_v s <v - t, f>`` over all rankings, or over those with the highest gain."""
        gradient = np.empty_like(scores)
        if self._aims_at_best:
            inner = self._rank_among_equals(scores, gradient)
        else:
            inner = self._ranked(scores, 0.0, None, gradient, loss=0.0)[1]
        value = self._scale * inner
        return RiskValue(Plane(gradient, 0.0, self._rounding), value, value)

    def closer_bound(self) -> RankingRisk | None:
        """The same with all rankings in :meth:`loss_free`."""
        if not (self._aims_at_best and self._falls_back):
            return None
        other = copy(self)
        other._aims_at_best = False
        return other

    def lipschitz(self, mu: float) -> float:
        """``s^2 / (mu W)``: projections bring points no further apart."""
        return self._lipschitz / mu

    def _ranked(
        self, scores: Array, mu: float, direction: Array | None, gradient: Array | None, loss: float = 1.0
    ) -> tuple[float, ...]:
        """Sums over all queries; see :func:`smoothperf.kernels.rank_queries`."""
        queries = self.queries
        return queries.total(
            *rank_queries(
                scores,
                queries.rows,
                queries.starts,
                None,
                self._relevance,
                self._target,
                self._discount,
                self._coefficients,
                self._scale,
                loss,
                mu,
                direction,
                gradient,
                queries.pieces(),
            ),
        )

    def _rank_among_equals(self, scores: Array, gradient: Array) -> float:
        """Rank documents with equal gains by their scores, each group in the places that it has: ``<v - t, f>``."""
        queries, groups = self.queries, self._begins[:-1]
        query = np.searchsorted(queries.starts, groups, "right") - 1
        _, inner, *_ = rank_queries(
            scores,
            self._by_gain if queries.rows is None else queries.rows[self._by_gain],
            self._begins,
            groups - queries.starts[query],
            self._relevance,
            self._target[self._by_gain],
            self._discount,
            self._coefficients[query],
            self._scale,
            0.0,
            0.0,
            None,
            gradient,
            queries.pieces(),
        )
        return queries.total(inner)[0]
