"""The two-loop recursion of L-BFGS (Nocedal and Wright, algorithm 7.4) on pairs that lie in two tables.

The inner product of u and v is ``u[:terms] . v[shift:shift+terms]`` (:mod:`smoothperf.optimise.row_space`); for ``shift = 0`` an
update and the inner product that follows are one pass over the vector.
"""

from libc.stdlib cimport free, malloc

from ._lengths cimport check_length, check_room


cdef inline double _dot(const double* u, const double* v, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef double value = 0.0
    for i in range(n):
        value += u[i] * v[i]
    return value


cdef inline double _update_and_dot(
    double a, const double* u, double* p, const double* following, Py_ssize_t length, Py_ssize_t terms, Py_ssize_t shift
) noexcept nogil:
    """``p += a u``, and the inner product of ``following`` (if any) with the new p."""
    cdef Py_ssize_t i
    cdef double value = 0.0
    if following == NULL or shift != 0:
        for i in range(length):
            p[i] += a * u[i]
        return 0.0 if following == NULL else _dot(following, p + shift, terms)
    for i in range(length):
        p[i] += a * u[i]
        value += following[i] * p[i]
    return value


def two_loop(
    const double[:, ::1] steps,
    const double[:, ::1] changes,
    const double[::1] curvatures,
    const Py_ssize_t[::1] order,
    double scale,
    Py_ssize_t terms,
    Py_ssize_t shift,
    double[::1] p,
):
    """``p := H p`` with ``H_0 = scale``.

    Parameters
    ----------
    steps, changes : arrays of shape (m, length)
        The pairs s and y in rows.
    curvatures : array of shape (m,)
        ``<s, y>``.
    order : array
        The rows in use, oldest first; at least one.
    """
    cdef Py_ssize_t count = order.shape[0], length = p.shape[0], i, k
    cdef const double* s = &steps[0, 0]
    cdef const double* y = &changes[0, 0]
    cdef double* v = &p[0]
    cdef double* coefficients
    cdef double value
    check_room("order", count, 1)
    check_length("steps", steps.shape[1], length)
    check_length("changes", changes.shape[1], length)
    check_length("changes", changes.shape[0], steps.shape[0])
    check_length("curvatures", curvatures.shape[0], steps.shape[0])
    check_room("p", length, terms + shift)
    for k in range(count):
        if not 0 <= order[k] < steps.shape[0]:
            raise ValueError(f"order has a row {order[k]}, but there are {steps.shape[0]}")
    coefficients = <double*>malloc(count * sizeof(double))
    if coefficients == NULL:
        raise MemoryError(f"no memory for {count} coefficients")
    with nogil:
        value = _dot(s + order[count - 1] * length, v + shift, terms)
        for k in range(count - 1, -1, -1):
            i = order[k]
            coefficients[k] = value / curvatures[i]
            value = _update_and_dot(
                -coefficients[k], y + i * length, v,
                s + order[k - 1] * length if k > 0 else NULL, length, terms, shift,
            )
        for i in range(length):
            v[i] *= scale
        value = _dot(y + order[0] * length, v + shift, terms)
        for k in range(count):
            i = order[k]
            value = _update_and_dot(
                coefficients[k] - value / curvatures[i], s + i * length, v,
                y + order[k + 1] * length if k + 1 < count else NULL, length, terms, shift,
            )
    free(coefficients)
