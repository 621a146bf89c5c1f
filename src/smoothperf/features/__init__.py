"""Features: columns of tables, shapes of columns, kernels of rows, and leaves of trees."""

from .kernel import KernelFeatures
from .leaves import Leaves
from .shapes import Shapes

__all__ = ["KernelFeatures", "Leaves", "Shapes"]
