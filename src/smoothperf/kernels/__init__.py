"""Compiled inner loops. :mod:`smoothperf.kernels.reference` has the same in NumPy, for reading and testing."""

from ._roc_area import pair_ramps
from ._sparse import gather, row_norms, scatter
from .binned_pairs import binned_pairs
from .capped_simplex import top_k_smoothed

__all__ = ["binned_pairs", "gather", "pair_ramps", "row_norms", "scatter", "top_k_smoothed"]
