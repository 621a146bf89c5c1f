"""Names of the measures of queries."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable

from .ndcg import NDCG
from .query_goals import QueryAveragePrecision, ReciprocalRank
from .query_measure import QueryMeasure
from .query_pairs import QueryROCArea
from .query_squares import QuerySquaredLoss
from .query_top_k import QueryPrecision, QueryRecall

_PLAIN: dict[str, Callable[[], QueryMeasure]] = {
    "ndcg": NDCG,
    "roc_area": QueryROCArea,
    "average_precision": QueryAveragePrecision,
    "reciprocal_rank": ReciprocalRank,
    "squared_loss": QuerySquaredLoss,
}
_AT_K: dict[str, Callable[[int], QueryMeasure]] = {"ndcg": NDCG, "precision": QueryPrecision, "recall": QueryRecall}
#: All names, those with a number of places by example.
QUERY_MEASURE_NAMES = (*_PLAIN, *(f"{kind}@10" for kind in _AT_K))
#: Other words that people use, for what stands before the @ or alone.
_ALIASES = {
    "map": "average_precision",
    "mean_average_precision": "average_precision",
    "ap": "average_precision",
    "mrr": "reciprocal_rank",
    "mean_reciprocal_rank": "reciprocal_rank",
    "auc": "roc_area",
    "roc_auc": "roc_area",
    "pairwise": "roc_area",
    "pairs": "roc_area",
    "p": "precision",
}


def get_query_measure(measure: str | QueryMeasure) -> QueryMeasure:
    """Return the measure of queries of a given name; a QueryMeasure is passed through.

    Capital letters make no difference, and common other names are understood.

    Examples
    --------
    >>> get_query_measure("ndcg@10").name, get_query_measure("MAP"), get_query_measure("P@5")
    ('ndcg@10', QueryAveragePrecision(), QueryPrecision(k=5))
    """
    if isinstance(measure, QueryMeasure):
        return measure
    listed = ", ".join(map(repr, QUERY_MEASURE_NAMES))
    if not isinstance(measure, str):
        raise ValueError(f"measure must be one of {listed} or a QueryMeasure object, got {measure!r}.")
    kind, at, places = re.sub(r"[\s_-]+at[\s_-]+", "@", measure.strip().lower()).partition("@")
    kind = re.sub(r"[\s-]+", "_", kind).removesuffix("_score")
    kind = _ALIASES.get(kind, kind)
    if not at and kind in _PLAIN:
        return _PLAIN[kind]()
    if at and kind in _AT_K and re.fullmatch(r"\s*[1-9]\d*\s*", places):
        return _AT_K[kind](int(places))
    if kind in _AT_K:
        raise ValueError(f"measure {measure!r} cannot be read: write the number of places, as in '{kind}@10'.")
    near = difflib.get_close_matches(kind, [*QUERY_MEASURE_NAMES, *_ALIASES], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"measure must be one of {listed} or a QueryMeasure object, got {measure!r}.{hint}")
