"""Compiled inner loops; tests/twins.py has the same in NumPy, for reading and testing."""

from ._permutahedron import rank_queries, sort_documents
from ._pointwise import logistic_losses, pointwise_hinges, squared_hinges
from ._quadratic_model import minimise_model
from ._query_pairs import query_hinges
from ._roc_area import huber_sums, sorted_hinges
from ._simplex_qp import maximise_on_simplex
from ._sparse import gather, half_gram, room_for_sums, row_norms, scatter
from ._two_loop import two_loop
from ._vectors import differences, inner_products, sum_and_squares

__all__ = [
    "differences",
    "gather",
    "half_gram",
    "huber_sums",
    "inner_products",
    "logistic_losses",
    "maximise_on_simplex",
    "minimise_model",
    "pointwise_hinges",
    "query_hinges",
    "rank_queries",
    "room_for_sums",
    "row_norms",
    "scatter",
    "sort_documents",
    "sorted_hinges",
    "squared_hinges",
    "sum_and_squares",
    "two_loop",
]
