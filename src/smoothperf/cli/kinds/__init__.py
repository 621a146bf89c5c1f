"""Labels, many labels or queries: what commands, written once, have to know of the rows that they are given."""

from .base import Kind, SingleKind, Worth
from .labels import Labels
from .many import ManyLabels
from .rankings import Rankings
from .which import check_training, kind_of_model, kind_of_rows

__all__ = [
    "Kind",
    "Labels",
    "ManyLabels",
    "Rankings",
    "SingleKind",
    "Worth",
    "check_training",
    "kind_of_model",
    "kind_of_rows",
]
