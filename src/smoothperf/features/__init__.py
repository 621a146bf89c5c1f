"""Features: columns of tables, shapes of columns, kernels of rows, and leaves of trees."""

from .column import EncodedColumn
from .kernel import KernelFeatures
from .leaves import Leaves
from .of_table import TableShapes
from .shapes import Shapes
from .table import DroppedColumnWarning, TableEncoder

__all__ = ["DroppedColumnWarning", "EncodedColumn", "KernelFeatures", "Leaves", "Shapes", "TableEncoder", "TableShapes"]
