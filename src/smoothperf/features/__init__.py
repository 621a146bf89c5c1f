"""Features: columns of tables, and shapes of columns."""

from .shapes import Shapes

__all__ = ["Shapes"]
