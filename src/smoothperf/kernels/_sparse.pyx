"""Products with a compressed sparse matrix, over a range of its rows.

``indptr, indices, data`` are the three arrays of a CSR matrix. The same kernels serve CSC: its arrays are the
CSR arrays of the transpose. Values may be float32, sums are always float64. The GIL is released.
"""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t

ctypedef fused value_t:
    float
    double

ctypedef fused index_t:
    int32_t
    int64_t


def gather(
    const index_t[::1] indptr,
    const index_t[::1] indices,
    const value_t[::1] data,
    const double[::1] x,
    double[::1] out,
    Py_ssize_t start,
    Py_ssize_t stop,
):
    """``out[i] = sum_j A[i, j] x[j]`` for the rows ``start <= i < stop``: each row gathers from ``x``."""
    cdef Py_ssize_t i, p, end
    cdef double first, second, third, fourth
    with nogil:
        for i in range(start, stop):
            # Four sums at a time: with one, every addition waits for the one before.
            first = 0.0
            second = 0.0
            third = 0.0
            fourth = 0.0
            p = indptr[i]
            end = indptr[i + 1]
            while p + 3 < end:
                first += data[p] * x[indices[p]]
                second += data[p + 1] * x[indices[p + 1]]
                third += data[p + 2] * x[indices[p + 2]]
                fourth += data[p + 3] * x[indices[p + 3]]
                p += 4
            while p < end:
                first += data[p] * x[indices[p]]
                p += 1
            out[i] = (first + second) + (third + fourth)


def scatter(
    const index_t[::1] indptr,
    const index_t[::1] indices,
    const value_t[::1] data,
    const double[::1] g,
    double[::1] out,
    Py_ssize_t start,
    Py_ssize_t stop,
):
    """``out[j] += sum_i A[i, j] g[i]`` over the rows ``start <= i < stop``; a row with ``g[i] == 0`` is not read."""
    cdef Py_ssize_t i, p
    cdef double coefficient
    with nogil:
        for i in range(start, stop):
            coefficient = g[i]
            if coefficient == 0.0:
                continue
            for p in range(indptr[i], indptr[i + 1]):
                out[indices[p]] += coefficient * data[p]


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
    """Largest Euclidean norm of a row, and the Frobenius norm.

    If ``distinct`` is false, several entries of a row may belong to one column; the sum of absolute values then bounds the norm
    of the row from above.
    """
    cdef Py_ssize_t i, p
    cdef double row, largest = 0.0, total = 0.0
    with nogil:
        for i in range(indptr.shape[0] - 1):
            row = 0.0
            if distinct:
                for p in range(indptr[i], indptr[i + 1]):
                    row += <double>data[p] * data[p]
            else:
                for p in range(indptr[i], indptr[i + 1]):
                    row += fabs(<double>data[p])
                row *= row
            total += row
            if row > largest:
                largest = row
    return sqrt(largest), sqrt(total)
