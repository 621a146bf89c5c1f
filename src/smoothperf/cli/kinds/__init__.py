"""Labels or queries: what the commands, which are written once, have to know of the rows that they are given."""

from .base import Kind, Worth
from .labels import Labels
from .which import check_training, kind_of_model, kind_of_rows

__all__ = ["Kind", "Labels", "Worth", "check_training", "kind_of_model", "kind_of_rows"]
