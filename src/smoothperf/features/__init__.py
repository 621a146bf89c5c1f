"""Features: columns of tables, shapes of columns, and kernels of rows."""

from .kernel import KernelFeatures
from .shapes import Shapes

__all__ = ["KernelFeatures", "Shapes"]
