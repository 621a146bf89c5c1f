"""Compiled inner loops. :mod:`smoothperf.kernels.reference` has the same in NumPy, for reading and testing."""

from ._pointwise import pointwise_hinges
from ._roc_area import huber_sums, sorted_hinges
from ._simplex_qp import maximise_on_simplex
from ._sparse import gather, half_gram, row_norms, scatter
from ._two_loop import along, two_loop

__all__ = [
    "along",
    "gather",
    "half_gram",
    "huber_sums",
    "maximise_on_simplex",
    "pointwise_hinges",
    "row_norms",
    "scatter",
    "sorted_hinges",
    "two_loop",
]
