"""Rows of examples, as loops see them (_rows.h): checked at the door, cut into pieces, and their sums added up."""

from libc.stdlib cimport free, malloc

from ._lengths cimport check_length
from ._pool cimport piece_function, run_pieces

cdef extern from "_rows.h":
    ctypedef struct row_arrays:
        const double* f
        const unsigned char* label
        const double* c
        const double* q
        double* gradient
        Py_ssize_t n, pieces
        long double* sums

    Py_ssize_t first_row(const row_arrays* rows, Py_ssize_t piece) noexcept nogil


cdef inline row_arrays rows_of(
    const double[::1] scores, const unsigned char[::1] positive, const double[::1] weights,
    const double[::1] direction, double[::1] gradient, Py_ssize_t pieces,
) except *:
    """All arrays have a number for each score. Weights and direction may be None, and a gradient that nobody fills."""
    cdef row_arrays rows
    rows.n, rows.pieces = scores.shape[0], pieces
    check_length("positive", positive.shape[0], rows.n)
    if weights is not None:
        check_length("weights", weights.shape[0], rows.n)
    if direction is not None:
        check_length("direction", direction.shape[0], rows.n)
    if gradient is not None:
        check_length("gradient", gradient.shape[0], rows.n)
    rows.f = &scores[0]
    rows.label = &positive[0]
    rows.c = &weights[0] if weights is not None else NULL
    rows.q = &direction[0] if direction is not None else NULL
    rows.gradient = &gradient[0] if gradient is not None else NULL
    rows.sums = NULL
    return rows


cdef inline int run_rows(piece_function loop, void* context, Py_ssize_t count) except -1:
    """Run a loop over all pieces of rows; it leaves so many sums for each, in memory that the caller is to free.

    The context is a struct that begins with the rows.
    """
    cdef row_arrays* rows = <row_arrays*>context
    rows.sums = <long double*>malloc(rows.pieces * count * sizeof(long double))
    if rows.sums == NULL:
        raise MemoryError(f"no memory for {rows.pieces} pieces")
    with nogil:
        run_pieces(loop, context, rows.pieces)
    return 0


cdef inline tuple sums_over(piece_function loop, void* context, Py_ssize_t count):
    """The same, with the sums of all pieces added up."""
    cdef row_arrays* rows = <row_arrays*>context
    cdef Py_ssize_t piece, k
    run_rows(loop, context, count)
    for piece in range(1, rows.pieces):
        for k in range(count):
            rows.sums[k] += rows.sums[piece * count + k]
    sums = tuple([<double>rows.sums[k] for k in range(count)])
    free(rows.sums)
    return sums
