"""Measures of scores, of labels and of queries, and bootstrap."""

from .bootstrap import interval, multiplicities, resamples
from .labels import Ranking, is_constant
from .names import NAMES, column_of, title_of
from .queries import QUERY_COLUMNS, QueryScores, drawn_interval, query_columns, query_resamples

__all__ = [
    "NAMES",
    "QUERY_COLUMNS",
    "QueryScores",
    "Ranking",
    "column_of",
    "drawn_interval",
    "interval",
    "is_constant",
    "multiplicities",
    "query_columns",
    "query_resamples",
    "resamples",
    "title_of",
]
