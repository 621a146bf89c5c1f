"""Does training for the measure pay? Every way of training, judged by every measure, with the noise beside it."""

from .base import Fitted, Judge, Line, Method, best_or_tied, compare, difference, level_of, verdict
from .labels import LabelJudge
from .queries import QueryJudge

__all__ = [
    "Fitted",
    "Judge",
    "LabelJudge",
    "Line",
    "Method",
    "QueryJudge",
    "best_or_tied",
    "compare",
    "difference",
    "level_of",
    "verdict",
]
