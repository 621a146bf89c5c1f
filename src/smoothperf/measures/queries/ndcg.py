r"""Normalised discounted cumulative gain, the usual measure of rankings with grades of relevance.

    NDCG = <v, g> / I,      v_i = 1 / log2(1 + place of document i),  g_i = 2^grade - 1,  I = the highest <v, g>

NDCG@k gives no discount to places beyond k. The risk is that of :mod:`.risk`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._arrays import Array
from ..._validation import choice, whole_number
from .base import QueryMeasure, quotients
from .gains import Function, can_gain, checked_function, checked_gain, document_gains, numbers_of, unusual_gain
from .queries import Queries
from .risk import RankingRisk, order_matters, ranked_shares


@dataclass(frozen=True)
class NDCG(QueryMeasure):
    """Normalised discounted cumulative gain: how much of what the best order would gain near the top is gained.

    Queries whose documents all gain the same, such as those with one document or one grade, are left out, and those
    all of whose places count the same: every order of them is as good as any other. (Others count them as 0, as
    scikit-learn does where all grades are 0, or as 1.)
    Documents with equal scores share the discounts of their places, which is the average over their orders and what
    :func:`sklearn.metrics.ndcg_score` does.

    Parameters
    ----------
    k : int, optional
        The number of places that count; all by default.
    gain : "exponential", "linear", callable or sequence, default="exponential"
        The gain of a document of a grade: ``2^grade - 1``, or the grade itself, or what a function makes of an array of
        grades, or for grades that are whole numbers entry ``grade`` of a sequence.
    discount : "log2", callable or sequence, default="log2"
        The discount of a place: ``1 / log2(1 + place)``, or what a function makes of an array of places, the first of
        which is 1, or the entries of a sequence, and 0 beyond. It must not rise from place to place.
    tight_target : "auto", "best" or "order", default="auto"
        The rankings that the tight bound compares with (:mod:`.risk`): the best ones, where
        only documents with equal gains may be in the order that the scores give them; or that order itself. The
        second bound is closer to NDCG and never collapses; the first one forgets less of what margins tell. "auto" is
        the first, and the second where the first is no lower than at zero weights, within the tolerance.

    Examples
    --------
    >>> from smoothperf.measures.queries.ndcg import NDCG
    >>> grades, qid = [2, 0, 1, 0, 1], ["a", "a", "a", "b", "b"]
    >>> round(NDCG().score(grades, [0.9, 0.5, 0.1, 0.3, 0.7], qid), 4)
    0.982
    >>> NDCG(10).name
    'ndcg@10'
    >>> import numpy as np
    >>> round(NDCG().bind(grades, qid).exact_value(np.zeros(5)), 4)
    0.3911
    """

    k: int | None = None
    gain: str | Function | Sequence[float] = "exponential"
    discount: str | Function | Sequence[float] = "log2"
    tight_target: str = "auto"

    def __post_init__(self) -> None:
        if self.k is not None:
            whole_number("k", self.k, at_least=1)
        choice("tight_target", self.tight_target, ("auto", "best", "order"))
        object.__setattr__(self, "gain", checked_gain(self.gain))
        object.__setattr__(self, "discount", checked_function("discount", self.discount, ("log2",)))

    @property
    def name(self) -> str:
        """``ndcg`` or ``ndcg@10``."""
        return "ndcg" if self.k is None else f"ndcg@{self.k}"

    @property
    def full_name(self) -> str:
        """``ndcg@10, linear gains``; what the tight bound aims at makes no difference to scores."""
        discounts = "" if self.discount == "log2" else ", other discounts"
        return self.name + unusual_gain(self.gain) + discounts

    def risk(self, queries: Queries) -> RankingRisk:
        """Return the convex risk (ranking-risk) for queries."""
        return RankingRisk(
            queries,
            document_gains(self.gain, queries.grades),
            self._discounts(queries),
            aims_at_best=self.tight_target != "order",
            falls_back=self.tight_target == "auto",
            nothing_counts=self.nothing_counts,
        )

    def takes(self, grades: Array) -> bool:
        """Return whether documents of these grades do not gain too much."""
        return can_gain(self.gain, grades)

    def of_queries(self, queries: Queries, scores: Array) -> Array:
        """Return the NDCG of each query here; NaN for those that every order suits alike."""
        gains, discount = document_gains(self.gain, queries.grades), self._discounts(queries)
        order, _, shares = ranked_shares(queries, queries.by_document(scores), discount)
        found = queries.sums(shares * gains[order])
        ideal = queries.sums(discount[queries.places] * gains[queries.sorted_by(gains)])
        return quotients(found, ideal, order_matters(queries, gains, discount))

    def _gains(self, grades: Array) -> Array:
        return document_gains(self.gain, grades)

    def _discounts(self, queries: Queries) -> Array:
        """Discounts of places, for as many as the longest query here has."""
        places = np.arange(1.0, int(queries.sizes.max(initial=1)) + 1.0)
        if self.discount == "log2":
            discounts = 1.0 / np.log2(1.0 + places)
        elif callable(self.discount):
            discounts = numbers_of("discount", self.discount(places), places.shape)
        else:
            given = np.array(self.discount, dtype=np.float64)[: places.size]
            discounts = np.concatenate([given, np.zeros(places.size - given.size)])
        if not (discounts[0] > 0.0 and discounts[-1] >= 0.0 and np.all(np.diff(discounts) <= 0.0)):
            raise ValueError(
                f"discount must be above 0 for the first place, and must not rise or become negative; got "
                f"{discounts[:5].tolist()} for the first places."
            )
        if self.k is not None:
            discounts[self.k :] = 0.0
        return discounts
