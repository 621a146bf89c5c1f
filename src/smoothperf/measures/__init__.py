"""Performance measures: what to be good at, as data-free values that bind to labels."""

from __future__ import annotations

from .base import Curvature, Interval, Measure, Plane, Risk, RiskValue
from .contingency import Contingency
from .examples import Examples
from .fractional import FBeta, Jaccard
from .goals import AveragePrecision, Goal, PrecisionAtRecall, RecallAtFPR, RecallAtPrecision, TargetWarning
from .names import MEASURE_NAMES, get_measure
from .partial_roc import PartialROCArea
from .pointwise import BalancedErrorRate, ErrorRate
from .roc_area import ROCArea
from .smooth import LogLoss, SquaredHinge
from .top_k import PRBEP, PrecisionAtK, RecallAtK

__all__ = [
    "MEASURE_NAMES",
    "PRBEP",
    "AveragePrecision",
    "BalancedErrorRate",
    "Contingency",
    "Curvature",
    "ErrorRate",
    "Examples",
    "FBeta",
    "Goal",
    "Interval",
    "Jaccard",
    "LogLoss",
    "Measure",
    "PartialROCArea",
    "Plane",
    "PrecisionAtK",
    "PrecisionAtRecall",
    "ROCArea",
    "RecallAtFPR",
    "RecallAtK",
    "RecallAtPrecision",
    "Risk",
    "RiskValue",
    "SquaredHinge",
    "TargetWarning",
    "get_measure",
]
