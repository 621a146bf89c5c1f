"""Performance measures: what to be good at, as data-free values that bind to labels."""

from __future__ import annotations

from .base import Curvature, Measure, Risk, RiskValue
from .contingency import Contingency
from .fractional import FBeta, Jaccard
from .names import MEASURE_NAMES, get_measure
from .partial_roc import PartialROCArea
from .pointwise import BalancedErrorRate, ErrorRate
from .roc_area import ROCArea
from .smooth import LogLoss, SquaredHinge
from .top_k import PRBEP, PrecisionAtK, RecallAtK

__all__ = [
    "MEASURE_NAMES",
    "PRBEP",
    "BalancedErrorRate",
    "Contingency",
    "Curvature",
    "ErrorRate",
    "FBeta",
    "Jaccard",
    "LogLoss",
    "Measure",
    "PartialROCArea",
    "PrecisionAtK",
    "ROCArea",
    "RecallAtK",
    "Risk",
    "RiskValue",
    "SquaredHinge",
    "get_measure",
]
