"""Products with a compressed sparse matrix.

``indptr, indices, data`` are the three arrays of a CSR matrix. The same kernels serve CSC: its arrays are the
CSR arrays of the transpose. Values may be float32, sums are always float64. Where all values are known to be 1, or all of
a row to be the same *level*, they are not read: a third of the memory is then. Indices may be as short as uint16,
where memory is what products wait for. The GIL is released, and rows are cut into pieces of as many entries each, for
several threads.

The sum of a row is a matter of that row alone. Sums over rows depend on the number of pieces, by rounding. Where columns
are few, these sums are taken over chunks of rows first: then rounding does not grow with the number of rows, and two
rows at a time are added to a sum of their own each, so that they need not wait for each other. The loops are in
_sparse_loops.h.
"""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t, uint16_t

from ._lengths cimport check_length, check_room
from ._pool cimport piece_function, run_pieces

cdef extern from "_sparse.h":
    ctypedef struct sparse_product:
        const void* indptr
        const void* indices
        const void* data
        const double* levels
        const double* x
        double* out
        double* sums
        Py_ssize_t n_rows, n_columns, pieces
        bint clear

    Py_ssize_t FEW_COLUMNS
    Py_ssize_t room_of_piece(Py_ssize_t n_columns) noexcept nogil
    void add_up_piece(void* context, Py_ssize_t part) noexcept nogil
    piece_function gather_piece_for(size_t pointer_size, size_t index_size, size_t value_size)
    piece_function scatter_piece_for(size_t pointer_size, size_t index_size, size_t value_size)

ctypedef fused value_t:
    float
    double

ctypedef fused pointer_t:
    int32_t
    int64_t

ctypedef fused any_index_t:
    int32_t
    int64_t
    uint16_t


cdef int _check_rows(const pointer_t[::1] indptr, Py_ssize_t n_entries) except -1:
    """Refuse rows that begin or end outside the entries; that they ascend in between was checked when they were made."""
    check_room("indptr", indptr.shape[0], 1)
    if indptr[0] < 0 or indptr[indptr.shape[0] - 1] > n_entries:
        raise ValueError(f"rows go from {indptr[0]} to {indptr[indptr.shape[0] - 1]} where there are {n_entries} entries")
    return 0


cdef sparse_product _product(
    const pointer_t[::1] indptr, const any_index_t[::1] indices, const value_t[::1] data, bint ones,
    const double[::1] levels, const double[::1] x, double[::1] out, Py_ssize_t pieces,
):
    cdef sparse_product product
    if gather_piece_for(sizeof(pointer_t), sizeof(any_index_t), sizeof(value_t)) == NULL:
        raise TypeError("indptr must be of the type of indices, unless these are uint16")
    _check_rows(indptr, indices.shape[0])
    if levels is not None:
        check_length("levels", levels.shape[0], indptr.shape[0] - 1)
    elif not ones:
        check_length("data", data.shape[0], indices.shape[0])
    product.indptr = &indptr[0]
    product.indices = NULL
    product.data = NULL
    product.levels = NULL
    product.x = NULL
    product.out = NULL
    product.sums = NULL
    if indices.shape[0] > 0:
        product.indices = &indices[0]
        if levels is not None:
            product.levels = &levels[0]
        elif not ones:
            product.data = &data[0]
    if x.shape[0] > 0:
        product.x = &x[0]
    if out.shape[0] > 0:
        product.out = &out[0]
    product.n_rows = indptr.shape[0] - 1
    product.n_columns = out.shape[0]
    product.pieces = pieces
    product.clear = False
    return product


def gather(
    const pointer_t[::1] indptr,
    const any_index_t[::1] indices,
    const value_t[::1] data,
    bint ones,
    const double[::1] levels,
    const double[::1] x,
    double[::1] out,
    Py_ssize_t pieces,
):
    """``out[i] = sum_j A[i, j] x[j]`` for all rows: each gathers from ``x``, which must have an entry for each column.

    ``ones`` says that all values are 1, ``levels`` that all in row i are ``levels[i]``; it is None otherwise.
    """
    cdef sparse_product product = _product(indptr, indices, data, ones, levels, x, out, pieces)
    cdef piece_function loop = gather_piece_for(sizeof(pointer_t), sizeof(any_index_t), sizeof(value_t))
    check_length("out", out.shape[0], indptr.shape[0] - 1)
    with nogil:
        run_pieces(loop, &product, pieces)


def room_for_sums(Py_ssize_t n_columns, Py_ssize_t pieces):
    """Amount of numbers that :func:`scatter` needs room for."""
    return room_of_piece(n_columns) * (pieces if n_columns <= FEW_COLUMNS else pieces - 1)


def scatter(
    const pointer_t[::1] indptr,
    const any_index_t[::1] indices,
    const value_t[::1] data,
    bint ones,
    const double[::1] levels,
    const double[::1] g,
    double[::1] out,
    bint clear,
    Py_ssize_t pieces,
    double[::1] room,
):
    """``out[j] += sum_i A[i, j] g[i]`` over all rows; a row with ``g[i] == 0`` is not read. All columns must be in out.

    With ``clear`` it is ``=`` instead of ``+=``. ``room`` is for sums: ``room_for_sums(d, pieces)`` numbers. ``ones`` and
    ``levels`` as in gather.
    """
    cdef sparse_product product = _product(indptr, indices, data, ones, levels, g, out, pieces)
    cdef piece_function loop = scatter_piece_for(sizeof(pointer_t), sizeof(any_index_t), sizeof(value_t))
    check_length("g", g.shape[0], indptr.shape[0] - 1)
    if room.shape[0] < room_for_sums(out.shape[0], pieces):
        raise ValueError(f"room for {room.shape[0]} numbers is too small")
    if out.shape[0] == 0:
        return
    product.sums = &room[0] if room.shape[0] > 0 else NULL
    product.clear = clear
    with nogil:
        run_pieces(loop, &product, pieces)
        run_pieces(add_up_piece, &product, pieces)


def half_gram(
    const pointer_t[::1] indptr,
    const any_index_t[::1] indices,
    const value_t[::1] data,
    const Py_ssize_t[::1] rows,
    const double[::1] weights,
    double[:, ::1] out,
):
    """Add to ``out`` so that ``out + out.T`` is ``sum_k weights[k] a_k a_k^T`` with ``a_k`` the row ``rows[k]``."""
    cdef Py_ssize_t i, k, p, q, start
    cdef double scaled
    _check_rows(indptr, indices.shape[0])
    check_length("data", data.shape[0], indices.shape[0])
    check_length("weights", weights.shape[0], rows.shape[0])
    check_length("out", out.shape[1], out.shape[0])
    for k in range(rows.shape[0]):
        if not 0 <= rows[k] < indptr.shape[0] - 1:
            raise ValueError(f"there is no row {rows[k]} among {indptr.shape[0] - 1}")
    with nogil:
        for k in range(rows.shape[0]):
            i = rows[k]
            start = indptr[i]
            for p in range(start, indptr[i + 1]):
                scaled = weights[k] * data[p]
                # Each pair of entries once, in whatever order they are; an entry with itself counts half.
                for q in range(start, p):
                    out[indices[p], indices[q]] += scaled * data[q]
                out[indices[p], indices[p]] += 0.5 * scaled * data[p]


def row_norms(const pointer_t[::1] indptr, const value_t[::1] data, bint distinct):
    """Largest Euclidean norm of a row, the Frobenius norm, whether all values are 1, and whether each row has but one.

    If ``distinct`` is false, several entries of a row may belong to one column; the sum of absolute values then bounds
    the norm of the row from above.
    """
    cdef Py_ssize_t i, p, begin
    cdef double row, largest = 0.0, total = 0.0
    cdef bint ones = True, level = True
    _check_rows(indptr, data.shape[0])
    with nogil:
        for i in range(indptr.shape[0] - 1):
            row = 0.0
            begin = indptr[i]
            for p in range(begin, indptr[i + 1]):
                row += <double>data[p] * data[p] if distinct else fabs(<double>data[p])
                ones &= data[p] == 1
                level &= data[p] == data[begin]
            if not distinct:
                row *= row
            total += row
            if row > largest:
                largest = row
    return sqrt(largest), sqrt(total), bool(ones), bool(level)
