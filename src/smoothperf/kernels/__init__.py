"""Compiled inner loops. :mod:`smoothperf.kernels.reference` has the same functions in NumPy, for reading and testing."""

from ._roc_area import pair_ramps
from ._sparse import gather, largest_row_norm, scatter
from ._top_k import top_k_smoothed

__all__ = ["gather", "largest_row_norm", "pair_ramps", "scatter", "top_k_smoothed"]
