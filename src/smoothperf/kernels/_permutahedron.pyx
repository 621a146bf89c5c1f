"""Rankings of the documents of many queries: the best one, and the best point of the hull of all.

A ranking gives document i of a query the discount ``v_i`` of its place. All rankings are the permutations of the
discounts ``d_1 >= d_2 >= ... >= 0``, whose convex hull is the permutahedron P(d). With targets t, relevances r and scores f

    v = argmax over P(d) of  <v, s f - l r>                          a sort                          (best-ranking)
    v = argmax over P(d) of  <v, s f - l r> - (mu/2) |v - t|^2                                      (soft-ranking)

The second is the Euclidean projection of ``z = t + (s f - l r) / mu`` on P(d): sort z downwards, let y be the
decreasing isotonic regression of ``z - d``, then ``v = z - y``. Pooling adjacent violators is O(m), so each costs
O(m log m) for a query of m documents. Where few places have a discount, only the documents that may get one are
sorted (docs/maths.md, eq. ranking-candidates), which is O(m) as a rule. Queries are shared out among threads.
"""

from libc.stddef cimport ptrdiff_t
from libc.stdlib cimport free, malloc

from ._lengths cimport check_length, check_room
from ._pool cimport run_pieces
from ._queries cimport first_query, longest_query, ranked, sort_query

cdef extern from "_permutahedron_loops.h":
    ctypedef struct shared_places:
        pass

    ctypedef struct query_sums:
        double gained, inner, squares, along, departure

    ctypedef struct ranking_task:
        const double* scores
        const double* direction
        const ptrdiff_t* rows
        const double* relevance
        const double* target
        double* gradient
        double scale, loss, inverse_mu
        int smoothed

    ctypedef struct ranking_room:
        ranked* entries
        shared_places* pools
        double* keys
        double* v
        double* scores
        double* direction

    query_sums rank_query(
        const ranking_task* task, ptrdiff_t begin, ptrdiff_t end, const double* discount, ptrdiff_t counted,
        double coefficient, const ranking_room* room
    ) noexcept nogil


cdef struct Sums:
    long double gained, inner, squares, along, departure


cdef struct Work:
    # All queries, and what to do with them. Each piece has its own room for a query, and its own sums.
    ranking_task task
    const ptrdiff_t* starts
    const ptrdiff_t* first_places     # NULL if all begin with the first
    const double* discount
    const double* coefficients
    ptrdiff_t* sorted_documents
    Py_ssize_t queries, longest, pieces
    Py_ssize_t counted                # places with a discount above 0
    ranked* entries
    shared_places* pools
    double* numbers
    Sums* sums


cdef void _rank_piece(void* context, Py_ssize_t piece) noexcept nogil:
    cdef Work* work = <Work*>context
    cdef Py_ssize_t query, document, first
    cdef double* numbers = work.numbers + 4 * piece * work.longest
    cdef ranking_room room
    cdef double c
    cdef query_sums found
    cdef Sums sums = Sums(0.0, 0.0, 0.0, 0.0, 0.0)
    room.entries = work.entries + 2 * piece * work.longest
    room.pools = work.pools + piece * work.longest
    room.keys = numbers
    room.v = numbers + work.longest
    room.scores = numbers + 2 * work.longest
    room.direction = numbers + 3 * work.longest
    for query in range(
        first_query(work.starts, work.queries, piece, work.pieces),
        first_query(work.starts, work.queries, piece + 1, work.pieces),
    ):
        c = work.coefficients[query]
        if c == 0.0:
            if work.task.gradient != NULL:
                for document in range(work.starts[query], work.starts[query + 1]):
                    work.task.gradient[work.task.rows[document] if work.task.rows != NULL else document] = 0.0
            continue
        first = work.first_places[query] if work.first_places != NULL else 0
        found = rank_query(
            &work.task, work.starts[query], work.starts[query + 1], work.discount + first,
            max(0, work.counted - first), c * work.task.scale, &room,
        )
        sums.gained += c * found.gained
        sums.inner += c * found.inner
        sums.squares += c * found.squares
        sums.along += c * found.along
        sums.departure += c * found.departure
    work.sums[piece] = sums


cdef void _sort_piece(void* context, Py_ssize_t piece) noexcept nogil:
    cdef Work* work = <Work*>context
    cdef Py_ssize_t query, begin, count, i
    cdef ranked* entries = work.entries + 2 * piece * work.longest
    for query in range(
        first_query(work.starts, work.queries, piece, work.pieces),
        first_query(work.starts, work.queries, piece + 1, work.pieces),
    ):
        begin = work.starts[query]
        count = work.starts[query + 1] - begin
        for i in range(count):
            entries[i].key = work.task.scores[begin + i]
            entries[i].document = begin + i
        sort_query(entries, entries + work.longest, count)
        for i in range(count):
            work.sorted_documents[begin + i] = entries[i].document


def rank_queries(
    const double[::1] scores,
    const ptrdiff_t[::1] rows,
    const ptrdiff_t[::1] starts,
    const ptrdiff_t[::1] first_places,
    const double[::1] relevance,
    const double[::1] target,
    const double[::1] discount,
    const double[::1] coefficients,
    double scale,
    double loss,
    double mu,
    const double[::1] direction,
    double[::1] gradient,
    Py_ssize_t pieces,
):
    """The best ranking of every query (best-ranking), or for ``mu > 0`` the best point of the hull (soft-ranking).

    Parameters
    ----------
    scores : array of shape (n,)
        ``f``, by row.
    rows : array of shape (n,) or None
        The row of every document, query by query; None if that is the order of the rows.
    starts : array of shape (queries + 1,)
        Where the documents of a query begin.
    first_places : array of shape (queries,) or None
        The first of the places that a query has; None for 0.
    relevance, target : arrays of shape (n,)
        ``r`` and ``t``, by document.
    discount : array
        ``d``, for as many places as there are.
    coefficients : array of shape (queries,)
        ``c``, what queries count in the sums; those with 0 are left out.
    scale, loss : float
        ``s`` and ``l``.
    direction : array of shape (n,) or None
        Any vector, by row.
    gradient : array of shape (n,) or None, filled
        ``c s (v - t)``, by row.
    pieces : int
        Into how many pieces to cut the queries, for several threads.

    Returns
    -------
    gained, inner, squares, along : float
        Sums over queries of c times ``<v, r>``, ``<v - t, f>``, ``|v - t|^2`` and ``<v - t, direction>``.
    departure : float
        The same of how far v is from the hull, by rounding, in the sum of absolute values.
    """
    cdef Work work
    cdef Sums sums
    cdef Py_ssize_t n = scores.shape[0], piece, query
    cdef ptrdiff_t first
    work.longest = longest_query(starts, n)
    work.starts = &starts[0]
    work.queries = starts.shape[0] - 1
    work.pieces = pieces
    check_length("relevance", relevance.shape[0], n)
    check_length("target", target.shape[0], n)
    check_length("coefficients", coefficients.shape[0], work.queries)
    if rows is not None:
        check_length("rows", rows.shape[0], n)
    if direction is not None:
        check_length("direction", direction.shape[0], n)
    if gradient is not None:
        check_length("gradient", gradient.shape[0], n)
    if first_places is None:
        check_room("discount", discount.shape[0], work.longest)
    else:
        check_length("first_places", first_places.shape[0], work.queries)
        for query in range(work.queries):
            first = first_places[query]
            if first < 0:
                raise ValueError(f"first_places must not be negative, got {first}")
            check_room("discount", discount.shape[0], first + starts[query + 1] - starts[query])
    if n == 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    work.first_places = &first_places[0] if first_places is not None else NULL
    work.discount = &discount[0]
    work.coefficients = &coefficients[0]
    work.task.scores = &scores[0]
    work.task.direction = &direction[0] if direction is not None else NULL
    work.task.rows = &rows[0] if rows is not None else NULL
    work.task.relevance = &relevance[0]
    work.task.target = &target[0]
    work.task.gradient = &gradient[0] if gradient is not None else NULL
    work.task.scale = scale
    work.task.loss = loss
    work.task.smoothed = mu > 0.0
    work.task.inverse_mu = 1.0 / mu if mu > 0.0 else 0.0
    work.counted = discount.shape[0]
    while work.counted > 0 and not discount[work.counted - 1] > 0.0:
        work.counted -= 1
    work.entries = <ranked*>malloc(2 * pieces * work.longest * sizeof(ranked))
    work.numbers = <double*>malloc(4 * pieces * work.longest * sizeof(double))
    work.pools = <shared_places*>malloc(pieces * work.longest * sizeof(shared_places))
    work.sums = <Sums*>malloc(pieces * sizeof(Sums))
    try:
        if work.entries == NULL or work.numbers == NULL or work.pools == NULL or work.sums == NULL:
            raise MemoryError(f"no memory to rank {work.longest} documents")
        with nogil:
            run_pieces(_rank_piece, &work, pieces)
        sums = work.sums[0]
        for piece in range(1, pieces):
            sums.gained += work.sums[piece].gained
            sums.inner += work.sums[piece].inner
            sums.squares += work.sums[piece].squares
            sums.along += work.sums[piece].along
            sums.departure += work.sums[piece].departure
    finally:
        free(work.entries); free(work.numbers); free(work.pools); free(work.sums)
    return <double>sums.gained, <double>sums.inner, <double>sums.squares, <double>sums.along, <double>sums.departure


def sort_documents(const double[::1] keys, const ptrdiff_t[::1] starts, ptrdiff_t[::1] out, Py_ssize_t pieces):
    """Fill ``out`` with the documents, query by query, those with the highest keys first; of equal ones the first.

    Parameters
    ----------
    keys : array of shape (n,)
        A number for every document, query by query.
    starts : array of shape (queries + 1,)
        Where the documents of a query begin.
    pieces : int
        Into how many pieces to cut the queries, for several threads.
    """
    cdef Work work
    cdef Py_ssize_t n = keys.shape[0]
    work.longest = longest_query(starts, n)
    work.starts = &starts[0]
    work.queries = starts.shape[0] - 1
    work.pieces = pieces
    check_length("out", out.shape[0], n)
    if n == 0:
        return
    work.task.scores = &keys[0]
    work.sorted_documents = &out[0]
    work.entries = <ranked*>malloc(2 * pieces * work.longest * sizeof(ranked))
    if work.entries == NULL:
        raise MemoryError(f"no memory to sort {work.longest} documents")
    with nogil:
        run_pieces(_sort_piece, &work, pieces)
        free(work.entries)
