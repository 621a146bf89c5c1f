"""One pass over the examples, unsorted: what flips are for each of them.

A flip ``beta`` in [0, 1] of an example is a function of its margin ``x = y f``, one for each class: 1 below the first knot
of a table, 0 from the last one on, and linear in between. A table has rows of knots, of values there, and of slopes
before them. :func:`ramp_table` makes one of ramps, :func:`smoothperf.measures.flips.step_table` one of a threshold.
"""

from libc.math cimport INFINITY, NAN
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc, qsort

import numpy as np

from ._lengths cimport check_length, check_room
from ._rows cimport row_arrays, rows_of

cdef enum:
    BLOCK = 512   # terms of a sum that are added up in double precision


cdef struct Step:
    double z, share


cdef int _by_position(const void* one, const void* other) noexcept nogil:
    cdef double a = (<const Step*>one).z, b = (<const Step*>other).z
    return (a > b) - (a < b)


cdef void _ramps(Step* steps, Py_ssize_t m, double w, double[:, ::1] table) noexcept nogil:
    """Knots, values, slopes of ``sum_k share_k clip(1/2 + (z_k - x) / w, 0, 1)`` as a function of x, from the right."""
    cdef Py_ssize_t outer = m - 1, inner = m - 1, i
    cdef long double value = 0.0, rate = 0.0
    cdef double knot, last
    qsort(steps, m, sizeof(Step), &_by_position)
    for i in range(m):
        steps[i].z += 0.5 * w
    last = steps[m - 1].z
    for i in range(2 * m - 1, -1, -1):
        # (Without the look at inner, knots that are not finite would be taken from before the first.)
        if outer >= 0 and (inner < 0 or steps[outer].z >= steps[inner].z - w):
            knot = steps[outer].z
            value += rate * (last - knot)
            rate += <long double>steps[outer].share / w
            outer -= 1
        else:
            knot = steps[inner].z - w
            value += rate * (last - knot)
            rate -= <long double>steps[inner].share / w
            inner -= 1
            if outer < 0 and inner < 0:
                rate = 0.0
        last = knot
        table[0, i] = knot
        table[1, i] = min(max(<double>value, 0.0), 1.0)
        table[2, i] = max(<double>rate, 0.0)


def ramp_table(const double[::1] z, const double[::1] shares, double w):
    """Table for :func:`flip_along` of ``sum_k shares[k] clip(1/2 + (z[k] - x) / w, 0, 1)``; shares sum to 1."""
    cdef Py_ssize_t i, m = z.shape[0]
    cdef Step* steps
    check_room("z", m, 1)
    check_length("shares", shares.shape[0], m)
    steps = <Step*>malloc(m * sizeof(Step))
    if steps == NULL:
        raise MemoryError("no memory for a table of knots")
    table = np.empty((3, 2 * m))
    cdef double[:, ::1] view = table
    with nogil:
        for i in range(m):
            steps[i] = Step(z[i], shares[i])
        _ramps(steps, m, w, view)
        free(steps)
    return table


cdef struct Table:
    const double* knots
    const double* values
    const double* rates
    int32_t* starts      # starts[b]: number of knots in buckets before b
    Py_ssize_t size
    Py_ssize_t buckets
    double origin, scale


cdef bint _index(const double[:, ::1] rows, Table* table) noexcept nogil:
    """Buckets of equal width that say where to look for a knot; false if there is no memory."""
    cdef Py_ssize_t i, b = 0, place
    cdef double position
    table.size = rows.shape[1]
    table.knots, table.values, table.rates = &rows[0, 0], &rows[1, 0], &rows[2, 0]
    table.buckets = 8 * table.size
    table.origin = table.knots[0]
    table.scale = 0.0
    if table.knots[table.size - 1] > table.origin:
        table.scale = table.buckets / (table.knots[table.size - 1] - table.origin)
    if table.scale == INFINITY:
        table.scale = 0.0   # knots that are next to each other at 0: all are in the first bucket
    table.starts = <int32_t*>malloc((table.buckets + 1) * sizeof(int32_t))
    if table.starts == NULL:
        return False
    for i in range(table.size):
        position = (table.knots[i] - table.origin) * table.scale
        place = <Py_ssize_t>position if position < table.buckets else table.buckets - 1
        while b <= place:
            table.starts[b] = <int32_t>i
            b += 1
    while b <= table.buckets:
        table.starts[b] = <int32_t>table.size
        b += 1
    return True


cdef inline double _beta(const Table* table, double x) noexcept nogil:
    """The mixture of ramps at x: 1 before the first knot, 0 from the last on; NaN if x or a knot is."""
    cdef Py_ssize_t bucket, low, high, middle
    cdef double position = (x - table.origin) * table.scale
    if x >= table.knots[table.size - 1]:
        return 0.0
    if x < table.knots[0]:
        return 1.0
    if not position >= 0.0:
        return NAN
    bucket = <Py_ssize_t>position if position < table.buckets else table.buckets - 1
    low = table.starts[bucket]
    if low == table.size:
        return NAN   # knots that are not in order, as they are not finite
    if table.knots[low] <= x:   # most buckets hold no knot
        low += 1
        high = table.starts[bucket + 1]
        while low < high:
            middle = (low + high) // 2
            if table.knots[middle] <= x:
                low = middle + 1
            else:
                high = middle
        if low >= table.size:
            return NAN
    return min(table.values[low] + table.rates[low] * (table.knots[low] - x), 1.0)


def flip_along(
    const double[::1] scores,
    const unsigned char[::1] positive,
    const double[::1] weights,
    const double[:, ::1] neg_table,
    const double[:, ::1] pos_table,
    double slope,
    double[::1] gradient,
):
    """Fill ``gradient = -slope c y beta`` with the flips of two tables; returns ``sum c x beta``."""
    cdef row_arrays rows = rows_of(scores, positive, weights, None, gradient, 1)
    cdef Py_ssize_t i = 0, end
    cdef double x, beta, block
    cdef long double inner = 0.0
    cdef Table[2] tables
    cdef bint label, ready
    check_length("neg_table", neg_table.shape[0], 3)
    check_length("pos_table", pos_table.shape[0], 3)
    check_room("neg_table", neg_table.shape[1], 1)
    check_room("pos_table", pos_table.shape[1], 1)
    tables[0].starts = tables[1].starts = NULL
    with nogil:
        ready = _index(neg_table, &tables[0]) and _index(pos_table, &tables[1])
        while ready and i < rows.n:
            end = min(i + BLOCK, rows.n)
            block = 0.0
            while i < end:
                label = rows.label[i]
                x = rows.f[i] if label else -rows.f[i]
                beta = _beta(&tables[label], x)
                if rows.c != NULL:
                    beta *= rows.c[i]
                block += x * beta
                rows.gradient[i] = (-slope if label else slope) * beta
                i += 1
            inner += block
        free(tables[0].starts); free(tables[1].starts)
    if not ready:
        raise MemoryError("no memory for a table of knots")
    return <double>inner
