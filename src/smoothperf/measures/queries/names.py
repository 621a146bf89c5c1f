"""Names of the measures of queries."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any

from ..names import HINTS, is_measure
from .base import QueryMeasure
from .goals import QueryAveragePrecision, ReciprocalRank
from .ndcg import NDCG
from .pairs import QueryROCArea
from .pooled_squares import PooledSquaredLoss
from .squares import QuerySquaredLoss
from .top_k import QueryPrecision, QueryRecall

_PLAIN: dict[str, Callable[[], QueryMeasure]] = {
    "ndcg": NDCG,
    "roc_area": QueryROCArea,
    "average_precision": QueryAveragePrecision,
    "reciprocal_rank": ReciprocalRank,
    "squared_loss": QuerySquaredLoss,
    "pooled_squared_loss": PooledSquaredLoss,
}
_AT_K: dict[str, Callable[[int], QueryMeasure]] = {"ndcg": NDCG, "precision": QueryPrecision, "recall": QueryRecall}
#: All names, those with a number of places by example.
QUERY_MEASURE_NAMES = (*_PLAIN, *(f"{kind}@10" for kind in _AT_K))
#: The same in words, with the other name by which pairs are better known.
QUERY_MEASURE_WORDS = ", ".join(map(repr, ("ndcg", "pairs", *QUERY_MEASURE_NAMES[1:])))
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

    Parameters
    ----------
    measure : str or QueryMeasure
        The name, or a measure.

    Returns
    -------
    QueryMeasure
        The measure.

    Examples
    --------
    >>> get_query_measure("ndcg@10").name, get_query_measure("MAP"), get_query_measure("P@5")
    ('ndcg@10', QueryAveragePrecision(), QueryPrecision(k=5))
    """
    if isinstance(measure, QueryMeasure):
        return measure
    hint = " It is a measure of labels: use MeasureClassifier." if is_measure(measure) else ""
    if not isinstance(measure, str):
        raise ValueError(
            f"measure must be one of {QUERY_MEASURE_WORDS} or a QueryMeasure object, got {measure!r}.{hint}"
        )
    kind, at, places = _settled(measure)
    if not at and kind in _PLAIN:
        return _PLAIN[kind]()
    if at and kind in _AT_K and re.fullmatch(r"\s*[1-9]\d*\s*", places):
        return _AT_K[kind](int(places))
    if kind in _AT_K:
        raise ValueError(f"measure {measure!r} cannot be read: write the number of places, as in '{kind}@10'.")
    if kind in _PLAIN:
        alone = measure.partition("@")[0].strip()
        raise ValueError(
            f"measure {measure!r} cannot be read: it looks at all places and has no @{places}; write {alone!r} alone."
        )
    near = similar_query_measure(measure)
    if near is not None and not hint:
        hint = f" Did you mean {near!r}?"
    raise ValueError(f"measure must be one of {QUERY_MEASURE_WORDS} or a QueryMeasure object, got {measure!r}.{hint}")


def similar_query_measure(written: str) -> str | None:
    """Return the name that is most like one that nothing has; None if none is.

    Examples
    --------
    >>> similar_query_measure("ncdg@10"), similar_query_measure("zzz")
    ('ndcg@10', None)
    """
    kind, at, places = _settled(written)
    known = [*_AT_K] if at else [*QUERY_MEASURE_NAMES, *_ALIASES]
    near = difflib.get_close_matches(kind, known, n=1)
    return near[0] + at + places.strip() if near else None


def is_query_measure(measure: Any) -> bool:
    """Return whether something is a measure of queries, or the name of one.

    Examples
    --------
    >>> is_query_measure("ndcg@10"), is_query_measure("f1")
    (True, False)
    """
    if not isinstance(measure, str):
        return isinstance(measure, QueryMeasure)
    kind, at, _ = _settled(measure)
    return kind in (_AT_K if at else _PLAIN)


def _hint(measure: Any) -> str:
    return " It is a measure of rankings: use MeasureRanker, or get_query_scorer." if is_query_measure(measure) else ""


HINTS.append(_hint)


def _settled(written: str) -> tuple[str, str, str]:
    """Our name for what people write before an @, the @ if there is one, and what follows."""
    kind, at, places = re.sub(r"[\s_-]+at[\s_-]+", "@", written.strip().lower()).partition("@")
    kind = re.sub(r"[\s-]+", "_", kind).removesuffix("_score")
    return _ALIASES.get(kind, kind), at, places
