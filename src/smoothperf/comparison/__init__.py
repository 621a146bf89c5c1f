"""Does training for the measure pay? Every way of training, judged by every measure, with the noise beside it."""

from .rankings import ComparedRankings
from .table import (
    ComparedLabels,
    Fitted,
    Method,
    TableLine,
    best_or_tied,
    compare,
    difference,
    level_of,
    trees_ahead,
    verdict,
)

__all__ = [
    "ComparedLabels",
    "ComparedRankings",
    "Fitted",
    "Method",
    "TableLine",
    "best_or_tied",
    "compare",
    "difference",
    "level_of",
    "trees_ahead",
    "verdict",
]
