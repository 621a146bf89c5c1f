"""Products with a compressed sparse matrix.

``indptr, indices, data`` are the three arrays of a CSR matrix. The same kernels serve CSC: its arrays are the
CSR arrays of the transpose. Values may be float32, sums are always float64; if all values are known to be 1, they are
not read. Indices may be as short as uint16, with pointers of int64: half as much to read, where memory is what
products wait for. The GIL is released, and rows are cut into pieces of as many entries each, for several threads.

The sum of a row is a matter of that row alone. Sums over rows depend on the number of pieces, by rounding. Where columns
are few, these sums are taken over chunks of rows first: then rounding does not grow with the number of rows, and two
rows at a time are added to a sum of their own each, so that they need not wait for each other. The loops are in
_sparse_loops.h.
"""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t, uint16_t

from ._pool cimport run_pieces

cdef extern from "_sparse.h":
    ctypedef struct sparse_product:
        const void* indptr
        const void* indices
        const void* data
        const double* x
        double* out
        double* sums
        Py_ssize_t n_rows, n_columns, pieces
        bint clear

    Py_ssize_t FEW_COLUMNS
    Py_ssize_t room_of_piece(Py_ssize_t n_columns) noexcept nogil
    void add_up_piece(void* context, Py_ssize_t part) noexcept nogil
    void gather_piece_int32_float32(void* context, Py_ssize_t piece) noexcept nogil
    void gather_piece_int32_float64(void* context, Py_ssize_t piece) noexcept nogil
    void gather_piece_int64_float32(void* context, Py_ssize_t piece) noexcept nogil
    void gather_piece_int64_float64(void* context, Py_ssize_t piece) noexcept nogil
    void gather_piece_uint16_float32(void* context, Py_ssize_t piece) noexcept nogil
    void gather_piece_uint16_float64(void* context, Py_ssize_t piece) noexcept nogil
    void scatter_piece_int32_float32(void* context, Py_ssize_t piece) noexcept nogil
    void scatter_piece_int32_float64(void* context, Py_ssize_t piece) noexcept nogil
    void scatter_piece_int64_float32(void* context, Py_ssize_t piece) noexcept nogil
    void scatter_piece_int64_float64(void* context, Py_ssize_t piece) noexcept nogil
    void scatter_piece_uint16_float32(void* context, Py_ssize_t piece) noexcept nogil
    void scatter_piece_uint16_float64(void* context, Py_ssize_t piece) noexcept nogil

ctypedef fused value_t:
    float
    double

ctypedef fused index_t:
    int32_t
    int64_t

ctypedef fused pointer_t:
    int32_t
    int64_t

ctypedef fused any_index_t:
    int32_t
    int64_t
    uint16_t


cdef sparse_product _product(
    const pointer_t[::1] indptr, const any_index_t[::1] indices, const value_t[::1] data, bint ones, const double[::1] x,
    double[::1] out, Py_ssize_t pieces,
):
    cdef sparse_product product
    cdef bint empty = indices.shape[0] == 0
    cdef size_t pointer_size = sizeof(any_index_t)
    if any_index_t is uint16_t:
        pointer_size = sizeof(int64_t)
    if sizeof(pointer_t) != pointer_size:
        raise TypeError("indptr must be of the type of indices, or int64 if that is uint16")
    product.indptr = &indptr[0]
    product.indices = NULL if empty else &indices[0]
    product.data = NULL if empty or ones else &data[0]
    product.x = &x[0] if x.shape[0] > 0 else NULL
    product.out = &out[0] if out.shape[0] > 0 else NULL
    product.sums = NULL
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
    const double[::1] x,
    double[::1] out,
    Py_ssize_t pieces,
):
    """``out[i] = sum_j A[i, j] x[j]`` for all rows: each gathers from ``x``. ``ones`` says that all values are 1."""
    cdef sparse_product product = _product(indptr, indices, data, ones, x, out, pieces)
    with nogil:
        if any_index_t is int32_t:
            if value_t is float:
                run_pieces(gather_piece_int32_float32, &product, pieces)
            else:
                run_pieces(gather_piece_int32_float64, &product, pieces)
        elif any_index_t is int64_t:
            if value_t is float:
                run_pieces(gather_piece_int64_float32, &product, pieces)
            else:
                run_pieces(gather_piece_int64_float64, &product, pieces)
        else:
            if value_t is float:
                run_pieces(gather_piece_uint16_float32, &product, pieces)
            else:
                run_pieces(gather_piece_uint16_float64, &product, pieces)


def room_for_sums(Py_ssize_t n_columns, Py_ssize_t pieces):
    """How many numbers :func:`scatter` needs room for."""
    return room_of_piece(n_columns) * (pieces if n_columns <= FEW_COLUMNS else pieces - 1)


def scatter(
    const pointer_t[::1] indptr,
    const any_index_t[::1] indices,
    const value_t[::1] data,
    bint ones,
    const double[::1] g,
    double[::1] out,
    bint clear,
    Py_ssize_t pieces,
    double[::1] room,
):
    """``out[j] += sum_i A[i, j] g[i]`` over all rows; a row with ``g[i] == 0`` is not read. ``ones`` as in gather.

    With ``clear`` it is ``=`` instead of ``+=``. ``room`` is for sums: ``room_for_sums(d, pieces)`` numbers.
    """
    cdef sparse_product product = _product(indptr, indices, data, ones, g, out, pieces)
    if room.shape[0] < room_for_sums(out.shape[0], pieces):
        raise ValueError(f"room for {room.shape[0]} numbers is too small")
    if out.shape[0] == 0:
        return
    product.sums = &room[0] if room.shape[0] > 0 else NULL
    product.clear = clear
    with nogil:
        if any_index_t is int32_t:
            if value_t is float:
                run_pieces(scatter_piece_int32_float32, &product, pieces)
            else:
                run_pieces(scatter_piece_int32_float64, &product, pieces)
        elif any_index_t is int64_t:
            if value_t is float:
                run_pieces(scatter_piece_int64_float32, &product, pieces)
            else:
                run_pieces(scatter_piece_int64_float64, &product, pieces)
        else:
            if value_t is float:
                run_pieces(scatter_piece_uint16_float32, &product, pieces)
            else:
                run_pieces(scatter_piece_uint16_float64, &product, pieces)
        run_pieces(add_up_piece, &product, pieces)


def half_gram(
    const index_t[::1] indptr,
    const index_t[::1] indices,
    const value_t[::1] data,
    const Py_ssize_t[::1] rows,
    const double[::1] weights,
    double[:, ::1] out,
):
    """Add to ``out`` so that ``out + out.T`` is ``sum_k weights[k] a_k a_k^T`` with ``a_k`` the row ``rows[k]``."""
    cdef Py_ssize_t i, k, p, q, start
    cdef double scaled
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


def row_norms(const index_t[::1] indptr, const value_t[::1] data, bint distinct):
    """Largest Euclidean norm of a row, the Frobenius norm, and whether all values are 1.

    If ``distinct`` is false, several entries of a row may belong to one column; the sum of absolute values then bounds the norm
    of the row from above.
    """
    cdef Py_ssize_t i, p
    cdef double row, largest = 0.0, total = 0.0
    cdef bint ones = True
    with nogil:
        for i in range(indptr.shape[0] - 1):
            row = 0.0
            if distinct:
                for p in range(indptr[i], indptr[i + 1]):
                    row += <double>data[p] * data[p]
                    ones &= data[p] == 1
            else:
                for p in range(indptr[i], indptr[i + 1]):
                    row += fabs(<double>data[p])
                    ones &= data[p] == 1
                row *= row
            total += row
            if row > largest:
                largest = row
    return sqrt(largest), sqrt(total), bool(ones)
