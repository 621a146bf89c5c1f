"""A small quadratic program on the probability simplex, by an active-set method with a warm start.

    maximise   q(x) = b.x - x.H x / 2      subject to   x >= 0,  sum x = 1                       (simplex-qp)

H is a Gram matrix of K planes, K up to about a thousand, of which few carry weight. The method (Wolfe's and
Kiwiel's) keeps a support S of planes that are affinely independent, solves the problem on their affine hull with a
Cholesky factor, steps towards that solution until a weight hits zero (which then leaves S), and otherwise admits the
plane that violates optimality most. A plane that depends on those in S replaces one of them. Since ``sum x`` is
fixed, adding a constant to all entries of H changes nothing but makes the matrix on an affinely independent support
positive definite. O(K |S|) for an admission, O(|S|^2) for an expulsion; between two calls the support changes by a
few planes.

Why not a library: of the general solvers (Clarabel, OSQP, quadprog) none can be warm-started from a support, each
would be a dependency, and accuracy is not at stake: whatever x comes back, its value is a true bound
(docs/maths.md, certificate). The tests hold it to one of them. Why compiled: with some dozens of planes a solution
takes tens of microseconds, which the interpreter's overhead would make milliseconds.
"""

import numpy as np

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memmove

from ._lengths cimport check_length, check_room

#: A plane counts as dependent on the support when its squared distance from it, relative to its size, is below this.
cdef double DEPENDENT = 1e-13


cdef struct Program:
    Py_ssize_t planes
    const double* gram     # H / scale, rows of length ``stride``
    Py_ssize_t stride
    double scale
    double shift           # added to every entry of H
    double* linear
    double* x
    # The support: members[0..size), and the lower triangular factor of H + shift on it, row by row.
    Py_ssize_t size
    Py_ssize_t* members
    double* factor         # rows of length ``planes``
    double* first          # scratch, of length ``planes`` each
    double* second


cdef inline double _entry(const Program* p, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    return p.scale * p.gram[i * p.stride + j]


cdef inline void _solve_lower(const Program* p, double* v) noexcept nogil:
    """``v := L^-1 v``."""
    cdef Py_ssize_t i, j
    cdef const double* row
    cdef double value
    for i in range(p.size):
        row = p.factor + i * p.planes
        value = v[i]
        for j in range(i):
            value -= row[j] * v[j]
        v[i] = value / row[i]


cdef inline void _solve_upper(const Program* p, double* v) noexcept nogil:
    """``v := L^-T v``."""
    cdef Py_ssize_t i, j
    cdef const double* row
    for i in range(p.size - 1, -1, -1):
        row = p.factor + i * p.planes
        v[i] /= row[i]
        for j in range(i):
            v[j] -= row[j] * v[i]


cdef inline double _slope(const Program* p, Py_ssize_t k) noexcept nogil:
    """Derivative of q with respect to ``x_k``; only members carry weight."""
    cdef Py_ssize_t j
    cdef double value = 0.0
    cdef const double* row = p.gram + k * p.stride
    for j in range(p.size):
        value += row[p.members[j]] * p.x[p.members[j]]
    return p.linear[k] - p.scale * value


cdef void _expel(Program* p, Py_ssize_t position) noexcept nogil:
    """Take a member out: the rows of the factor behind it get a rank-one update with its column."""
    cdef Py_ssize_t i, j, last = p.size - 1
    cdef double* row
    cdef double* spike = p.first
    cdef double diagonal, length, cosine, sine, value
    p.x[p.members[position]] = 0.0
    for i in range(position, last):
        p.members[i] = p.members[i + 1]
        row = p.factor + (i + 1) * p.planes
        spike[i] = row[position]
        # Column ``position`` goes, and the row moves up.
        memmove(row + position, row + position + 1, (i + 1 - position) * sizeof(double))
        memmove(row - p.planes, row, (i + 1) * sizeof(double))
    p.size = last
    for j in range(position, last):
        diagonal = p.factor[j * p.planes + j]
        length = sqrt(diagonal * diagonal + spike[j] * spike[j])
        cosine = diagonal / length
        sine = spike[j] / length
        p.factor[j * p.planes + j] = length
        for i in range(j + 1, last):
            value = p.factor[i * p.planes + j]
            p.factor[i * p.planes + j] = cosine * value + sine * spike[i]
            spike[i] = cosine * spike[i] - sine * value


cdef void _admit(Program* p, Py_ssize_t k) noexcept nogil:
    """Let plane k into the support; if it depends on the members, trade it for one of them first."""
    cdef Py_ssize_t i, used_up
    cdef double* half = p.first
    cdef double* z = p.second
    cdef double size = _entry(p, k, k) + p.shift, squared_distance, rate, step, limit, weight
    while True:
        squared_distance = size
        for i in range(p.size):
            half[i] = _entry(p, p.members[i], k) + p.shift
        _solve_lower(p, half)
        for i in range(p.size):
            squared_distance -= half[i] * half[i]
        if squared_distance > DEPENDENT * size or p.size == 0:
            break
        # Along (-z, 1) nothing but the linear part of q changes: go uphill until a weight is used up.
        for i in range(p.size):
            z[i] = half[i]
        _solve_upper(p, z)
        rate = _slope(p, k)
        for i in range(p.size):
            rate -= z[i] * _slope(p, p.members[i])
        used_up = -1
        step = INFINITY
        for i in range(p.size):
            weight = p.x[p.members[i]]
            if rate >= 0.0:
                limit = weight / z[i] if z[i] > 0.0 else INFINITY
            else:
                limit = -weight / z[i] if z[i] < 0.0 else INFINITY
            if limit < step:
                step = limit
                used_up = i
        if rate < 0.0:
            step = -min(step, p.x[k])
        if used_up < 0 and not rate < 0.0:
            return   # cannot be, as sum z = 1, but for rounding and for numbers that are not finite
        for i in range(p.size):
            weight = p.x[p.members[i]] - step * z[i]
            p.x[p.members[i]] = weight if weight > 0.0 else 0.0
        weight = p.x[k] + step
        p.x[k] = weight if weight > 0.0 else 0.0
        if p.x[k] == 0.0 or used_up < 0:
            return
        _expel(p, used_up)
    for i in range(p.size):
        p.factor[p.size * p.planes + i] = half[i]
    p.factor[p.size * p.planes + p.size] = sqrt(squared_distance)
    p.members[p.size] = k
    p.size += 1


cdef void _optimise(Program* p) noexcept nogil:
    """Go to the best point of the support's affine hull, expelling members whose weight would turn negative."""
    cdef Py_ssize_t i, blocking
    cdef double* target = p.first
    cdef double* ones = p.second
    cdef double sum_target, sum_ones, ratio, least, weight
    while True:
        for i in range(p.size):
            target[i] = p.linear[p.members[i]]
            ones[i] = 1.0
        _solve_lower(p, target)
        _solve_lower(p, ones)
        _solve_upper(p, target)
        _solve_upper(p, ones)
        sum_target = 0.0
        sum_ones = 0.0
        for i in range(p.size):
            sum_target += target[i]
            sum_ones += ones[i]
        blocking = -1
        least = 1.0
        for i in range(p.size):
            target[i] -= (sum_target - 1.0) / sum_ones * ones[i]
            if target[i] < 0.0:
                weight = p.x[p.members[i]]
                ratio = weight / (weight - target[i])
                if blocking < 0 or ratio < least:
                    least = ratio
                    blocking = i
        for i in range(p.size):
            weight = p.x[p.members[i]]
            weight += least * (target[i] - weight)
            p.x[p.members[i]] = weight if weight > 0.0 else 0.0
        if blocking < 0 or p.size == 1:
            return
        _expel(p, blocking)


cdef void _maximise(Program* p, const double* start, double* best, double* slopes, double tolerance,
                    Py_ssize_t max_changes) noexcept nogil:
    cdef Py_ssize_t k, i, entering, heaviest
    cdef double total, value, best_value = -INFINITY, mean, violation
    # Heaviest first, so that of planes that depend on each other the heavier stay.
    for k in range(p.planes):
        best[k] = start[k]
        p.x[k] = start[k]
        slopes[k] = start[k]
    while True:
        heaviest = 0
        for k in range(1, p.planes):
            if slopes[k] > slopes[heaviest]:
                heaviest = k
        if not slopes[heaviest] > 0.0:
            break
        slopes[heaviest] = 0.0
        _admit(p, heaviest)
    for _ in range(max_changes):
        _optimise(p)
        total = 0.0
        for i in range(p.size):
            total += p.x[p.members[i]]
        for i in range(p.size):
            p.x[p.members[i]] /= total
        value = 0.0
        mean = 0.0
        for k in range(p.planes):
            slopes[k] = _slope(p, k)
        for i in range(p.size):
            k = p.members[i]
            value += 0.5 * p.x[k] * (p.linear[k] + slopes[k])
            mean += p.x[k] * slopes[k]
        if not value > best_value:
            return   # rounding has taken over
        best_value = value
        for k in range(p.planes):
            best[k] = p.x[k]
        for i in range(p.size):
            slopes[p.members[i]] = -INFINITY
        # By concavity no point of the simplex is better by more than the largest violation.
        entering = 0
        for k in range(1, p.planes):
            if slopes[k] > slopes[entering]:
                entering = k
        violation = slopes[entering] - mean
        if not violation > tolerance:
            return
        _admit(p, entering)


def maximise_on_simplex(
    const double[:, ::1] gram,
    double scale,
    const double[::1] linear,
    const double[::1] start,
    double tolerance=1e-12,
    Py_ssize_t max_changes=1000,
):
    """Return weights that maximise (simplex-qp) within ``tolerance``.

    Parameters
    ----------
    gram : ndarray of shape (at least K, at least K)
        ``H = scale * gram[:K, :K]``, symmetric positive semi-definite.
    linear : ndarray of shape (K,)
        b.
    start : ndarray of shape (K,)
        A point of the simplex; few non-zeros make a fast start.
    tolerance : float
        The value of q that may be lost.
    max_changes : int
        Most planes to admit; the value never decreases, so an early stop costs quality only.

    Notes
    -----
    Numbers that are not finite do no harm, but then the weights are not of use.
    """
    cdef Py_ssize_t planes = linear.shape[0], k
    cdef Program p
    cdef double centre = 0.0, size = 0.0, largest = 0.0
    cdef double[::1] best = np.empty(planes)
    cdef double* numbers
    if planes < 1:
        raise ValueError("linear must have an entry for each plane, of which there is at least one")
    check_length("start", start.shape[0], planes)
    check_room("gram", min(gram.shape[0], gram.shape[1]), planes)
    numbers = <double*>malloc(5 * planes * sizeof(double))
    p.members = <Py_ssize_t*>malloc((planes + 1) * sizeof(Py_ssize_t))
    p.factor = <double*>malloc(planes * planes * sizeof(double))   # memory is taken up as the support grows
    if numbers == NULL or p.members == NULL or p.factor == NULL:
        free(numbers); free(p.members); free(p.factor)
        raise MemoryError(f"no memory for a quadratic program of {planes} planes")
    p.planes = planes
    p.gram = &gram[0, 0]
    p.stride = gram.shape[1]
    p.scale = scale
    p.size = 0
    p.linear = numbers
    p.x = numbers + planes
    p.first = numbers + 2 * planes
    p.second = numbers + 3 * planes
    with nogil:
        # A constant in b changes nothing but the value; without it, nothing large cancels.
        for k in range(planes):
            centre += linear[k] * start[k]
        for k in range(planes):
            p.linear[k] = linear[k] - centre
            size += _entry(&p, k, k)
            largest = max(largest, fabs(p.linear[k]))
        # As large as the numbers at hand, so that the solution is neither lost in it nor dwarfs it.
        p.shift = max(size / planes, largest)
        if not p.shift > 0.0:
            p.shift = 1.0
        _maximise(&p, &start[0], &best[0], numbers + 4 * planes, tolerance, max_changes)
    free(numbers); free(p.members); free(p.factor)
    return np.asarray(best)
