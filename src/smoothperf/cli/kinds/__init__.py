"""Labels or queries: what the commands, which are written once, have to know of the rows that they are given."""

from .base import Kind, Worth
from .which import check_training, is_label_measure, kind_of_model, kind_of_rows

__all__ = ["Kind", "Worth", "check_training", "is_label_measure", "kind_of_model", "kind_of_rows"]
