"""Does training for the measure pay? Every way of training, judged by every measure, with the noise beside it."""

from .rankings import Rankings
from .table import Fitted, Labels, Line, Method, best_or_tied, compare, difference, level_of, trees_ahead, verdict

__all__ = [
    "Fitted",
    "Labels",
    "Line",
    "Method",
    "Rankings",
    "best_or_tied",
    "compare",
    "difference",
    "level_of",
    "trees_ahead",
    "verdict",
]
