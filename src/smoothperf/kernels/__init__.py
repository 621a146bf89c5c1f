"""Compiled inner loops. :mod:`smoothperf.kernels.reference` has the same in NumPy, for reading and testing."""

from ._pointwise import pointwise_hinges
from ._roc_area import huber_sums, pair_ramps, sorted_hinges
from ._simplex_qp import maximise_on_simplex
from ._sparse import gather, half_gram, row_norms, scatter
from ._two_loop import along, two_loop
from .binned_pairs import binned_pairs

__all__ = [
    "along",
    "binned_pairs",
    "gather",
    "half_gram",
    "huber_sums",
    "maximise_on_simplex",
    "pair_ramps",
    "pointwise_hinges",
    "row_norms",
    "scatter",
    "sorted_hinges",
    "two_loop",
]
