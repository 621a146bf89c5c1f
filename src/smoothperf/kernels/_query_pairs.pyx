"""Hinges over the pairs of documents of a query that have different grades, for many queries.

For a document i of a higher grade than j, ``x_ij = margin - (f_i - f_j)``, the Huber hinge of width kappa and its slope

    H(x) = x^2 / (2 kappa) on [0, kappa], x - kappa/2 beyond       beta(x) = clip(x / kappa, 0, 1)

or the hinge ``max(0, x)`` for kappa = 0. A query with few pairs for each document looks at all of them, several at once.
Otherwise pairs are not formed: the documents of a query are sorted by score once. Then grades are halved: every pair of
one document of the upper half and one of the lower half counts, and two lists that are sorted need one sweep in each
direction; pairs within a half are found in the same way. So a query of m documents with L grades costs
O(m log m + m log L), however many grades there are.
"""

from libc.stddef cimport ptrdiff_t
from libc.stdlib cimport free, malloc

from ._lengths cimport check_length
from ._pool cimport run_pieces
from ._queries cimport first_query, longest_query, ranked

cdef extern from "_query_pairs_loops.h":
    enum:
        LANES

    ctypedef struct hinge_sums:
        long double value, height, hinges, betas

    ctypedef struct graded:
        pass

    ctypedef struct pairs_room:
        ranked* entries
        graded* documents
        double* low
        double* high
        double* slopes
        ptrdiff_t* begins

    hinge_sums query_pairs(
        const double* scores, const ptrdiff_t* rows, const ptrdiff_t* levels, ptrdiff_t begin, ptrdiff_t end,
        double margin, double kappa, double* by_document, const pairs_room* room
    ) noexcept nogil



cdef struct Sums:
    long double value, height, hinges, betas, along


cdef struct Work:
    # All queries, and what to do with them. Each piece has its own room for a query, and its own sums.
    const double* scores
    const double* direction
    const ptrdiff_t* rows
    const ptrdiff_t* starts
    const ptrdiff_t* levels
    const double* coefficients
    double* gradient
    double* by_query
    double margin, kappa
    Py_ssize_t queries, longest, pieces
    ranked* entries
    graded* documents
    double* numbers
    ptrdiff_t* begins
    Sums* sums


cdef void _piece(void* context, Py_ssize_t piece) noexcept nogil:
    cdef Work* work = <Work*>context
    cdef Py_ssize_t query, document, row, begin, length = work.longest + LANES
    cdef double* numbers = work.numbers + 4 * piece * length
    cdef pairs_room room
    cdef double c, slope
    cdef hinge_sums found
    cdef Sums sums = Sums(0.0, 0.0, 0.0, 0.0, 0.0)
    room.entries = work.entries + 2 * piece * work.longest
    room.documents = work.documents + 2 * piece * work.longest
    room.low = numbers + length
    room.high = numbers + 2 * length
    room.slopes = numbers + 3 * length
    room.begins = work.begins + piece * length
    for query in range(
        first_query(work.starts, work.queries, piece, work.pieces),
        first_query(work.starts, work.queries, piece + 1, work.pieces),
    ):
        c = work.coefficients[query]
        begin = work.starts[query]
        if c != 0.0:
            found = query_pairs(
                work.scores, work.rows, work.levels, begin, work.starts[query + 1], work.margin, work.kappa, numbers,
                &room,
            )
            sums.value += c * found.value
            sums.height += c * found.height
            sums.hinges += c * found.hinges
            sums.betas += c * found.betas
            if work.by_query != NULL:
                work.by_query[query] = c * <double>found.betas
        elif work.by_query != NULL:
            work.by_query[query] = 0.0
        if work.gradient == NULL and work.direction == NULL:
            continue
        for document in range(begin, work.starts[query + 1]):
            row = work.rows[document] if work.rows != NULL else document
            slope = c * numbers[document - begin] if c != 0.0 else 0.0
            if work.gradient != NULL:
                work.gradient[row] = slope
            if work.direction != NULL:
                sums.along += slope * work.direction[row]
    work.sums[piece] = sums


def query_hinges(
    const double[::1] scores,
    const ptrdiff_t[::1] rows,
    const ptrdiff_t[::1] starts,
    const ptrdiff_t[::1] levels,
    const double[::1] coefficients,
    double margin,
    double kappa,
    const double[::1] direction,
    double[::1] gradient,
    double[::1] by_query,
    Py_ssize_t pieces,
):
    """Sums over the pairs of every query.

    Parameters
    ----------
    scores : array of shape (n,)
        ``f``, by row.
    rows : array of shape (n,) or None
        The row of every document, query by query; None if that is the order of the rows.
    starts : array of shape (queries + 1,)
        Where the documents of a query begin.
    levels : array of shape (n,)
        The grades of a query numbered upwards from 0, by document.
    coefficients : array of shape (queries,)
        ``c``, what every pair of a query counts; queries with 0 are left out.
    direction : array of shape (n,) or None
        Any vector, by row.
    gradient : array of shape (n,) or None, filled
        The derivatives of the value, by row.
    by_query : array of shape (queries,) or None, filled
        The part of each query in ``betas``.
    pieces : int
        Into how many pieces to cut the queries, for several threads.

    Returns
    -------
    value, height, hinges, betas : float
        Sums over pairs of c times ``H(x)``, ``beta(x) x``, ``max(0, x)`` and ``beta(x)``.
    along : float
        ``<gradient, direction>``.
    """
    cdef Work work
    cdef Sums sums
    cdef Py_ssize_t n = scores.shape[0], piece
    work.longest = longest_query(starts, n)
    work.starts = &starts[0]
    work.queries = starts.shape[0] - 1
    work.pieces = pieces
    check_length("levels", levels.shape[0], n)
    check_length("coefficients", coefficients.shape[0], work.queries)
    if rows is not None:
        check_length("rows", rows.shape[0], n)
    if direction is not None:
        check_length("direction", direction.shape[0], n)
    if gradient is not None:
        check_length("gradient", gradient.shape[0], n)
    if by_query is not None:
        check_length("by_query", by_query.shape[0], work.queries)
    if n == 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    work.scores = &scores[0]
    work.direction = &direction[0] if direction is not None else NULL
    work.rows = &rows[0] if rows is not None else NULL
    work.levels = &levels[0]
    work.coefficients = &coefficients[0]
    work.gradient = &gradient[0] if gradient is not None else NULL
    work.by_query = &by_query[0] if by_query is not None else NULL
    work.margin = margin
    work.kappa = kappa
    work.entries = <ranked*>malloc(2 * pieces * work.longest * sizeof(ranked))
    work.documents = <graded*>malloc(2 * pieces * work.longest * sizeof(graded))
    work.numbers = <double*>malloc(4 * pieces * (work.longest + LANES) * sizeof(double))
    work.begins = <ptrdiff_t*>malloc(pieces * (work.longest + LANES) * sizeof(ptrdiff_t))
    work.sums = <Sums*>malloc(pieces * sizeof(Sums))
    try:
        if (
            work.entries == NULL or work.documents == NULL or work.numbers == NULL or work.begins == NULL
            or work.sums == NULL
        ):
            raise MemoryError(f"no memory for the pairs of {work.longest} documents")
        with nogil:
            run_pieces(_piece, &work, pieces)
        sums = work.sums[0]
        for piece in range(1, pieces):
            sums.value += work.sums[piece].value
            sums.height += work.sums[piece].height
            sums.hinges += work.sums[piece].hinges
            sums.betas += work.sums[piece].betas
            sums.along += work.sums[piece].along
    finally:
        free(work.entries); free(work.documents); free(work.numbers); free(work.begins); free(work.sums)
    return <double>sums.value, <double>sums.height, <double>sums.hinges, <double>sums.betas, <double>sums.along
