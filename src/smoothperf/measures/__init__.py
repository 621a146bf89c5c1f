"""Performance measures: what to be good at, as data-free values that bind to labels."""

from __future__ import annotations

from .at_k import PrecisionAtK, RecallAtK
from .base import Measure
from .curvature import Curvature
from .examples import Examples
from .fractional import FBeta, Jaccard
from .goals import (
    AveragePrecision,
    Goal,
    MatthewsCorrelation,
    PositivesAtTop,
    PrecisionAtRecall,
    RecallAtFPR,
    RecallAtPrecision,
    TargetWarning,
)
from .names import MEASURE_NAMES, get_measure
from .partial_roc import PartialROCArea
from .pointwise import BalancedErrorRate, ErrorRate
from .queries.base import QueryMeasure
from .queries.goals import QueryAveragePrecision, QueryGoal, ReciprocalRank
from .queries.names import QUERY_MEASURE_NAMES, get_query_measure
from .queries.ndcg import NDCG
from .queries.pairs import QueryROCArea
from .queries.pooled_squares import PooledSquaredLoss
from .queries.queries import Queries
from .queries.squares import QuerySquaredLoss
from .queries.top_k import QueryPrecision, QueryRecall
from .risk import Interval, Plane, Risk, RiskValue
from .roc_area import ROCArea
from .smooth import LogLoss, SquaredHinge
from .top_k import PRBEP

__all__ = [
    "MEASURE_NAMES",
    "NDCG",
    "PRBEP",
    "QUERY_MEASURE_NAMES",
    "AveragePrecision",
    "BalancedErrorRate",
    "Curvature",
    "ErrorRate",
    "Examples",
    "FBeta",
    "Goal",
    "Interval",
    "Jaccard",
    "LogLoss",
    "MatthewsCorrelation",
    "Measure",
    "PartialROCArea",
    "Plane",
    "PooledSquaredLoss",
    "PositivesAtTop",
    "PrecisionAtK",
    "PrecisionAtRecall",
    "Queries",
    "QueryAveragePrecision",
    "QueryGoal",
    "QueryMeasure",
    "QueryPrecision",
    "QueryROCArea",
    "QueryRecall",
    "QuerySquaredLoss",
    "ROCArea",
    "RecallAtFPR",
    "RecallAtK",
    "RecallAtPrecision",
    "ReciprocalRank",
    "Risk",
    "RiskValue",
    "SquaredHinge",
    "TargetWarning",
    "get_measure",
    "get_query_measure",
]
