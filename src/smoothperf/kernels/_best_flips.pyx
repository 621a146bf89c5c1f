"""The best flips of a linear-fractional loss against sorted margins, exactly.

With B and C the flipped weights of the positives and the negatives,

    max over beta of  delta(B, C) - s sum c x beta,    delta(B, C) = (p B + C) / (M - r B + C)      (fractional-risk)

After sorting this takes far less time than a pass over the examples: it only searches.
"""

from libc.math cimport fabs, sqrt
from libc.stdlib cimport free, malloc, realloc

from ._lengths cimport check_length, check_room
from ._sides cimport Loss, Side, loss_at, loss_of, mass_of, side_of

cdef double EPS = 2.220446049250313e-16


def prefix_sums(const double[::1] x, const double[::1] weights, double[::1] mass, double[::1] first, double[::1] second):
    """Fill in the sums of c, c x and c x^2 over the first 0, 1, ..., m entries; ``weights`` and ``mass`` may be None."""
    cdef Py_ssize_t j, m = x.shape[0]
    cdef long double s0 = 0.0, s1 = 0.0, s2 = 0.0
    cdef double c
    check_room("first", first.shape[0], m + 1)
    check_room("second", second.shape[0], m + 1)
    if weights is not None:
        check_length("weights", weights.shape[0], m)
        check_room("mass", mass.shape[0], m + 1)
    with nogil:
        first[0] = second[0] = 0.0
        if weights is None:
            for j in range(m):
                s1 += x[j]
                s2 += x[j] * x[j]
                first[j + 1] = <double>s1
                second[j + 1] = <double>s2
        else:
            mass[0] = 0.0
            for j in range(m):
                c = weights[j]
                s0 += c
                s1 += c * x[j]
                s2 += c * x[j] * x[j]
                mass[j + 1] = <double>s0
                first[j + 1] = <double>s1
                second[j + 1] = <double>s2


cdef double _best_false(const Side* side, const Loss* loss, double slope, double b, double* c) noexcept nogil:
    """``max over c of delta(b, c) - s sum of the smallest margins of weight c``: concave in c, so a binary search."""
    cdef double rise = max(loss.M - (loss.p + loss.r) * b, 0.0), base = loss.M - loss.r * b
    cdef double down, up, x, reach, cost
    cdef Py_ssize_t low = 0, high = side.size, middle
    while low < high:
        middle = (low + high) // 2
        reach = base + mass_of(side, middle)
        if rise > slope * side.x[middle] * reach * reach:
            low = middle + 1
        else:
            high = middle
    cost = 0.0
    c[0] = 0.0
    if low > 0:
        down, up, x = mass_of(side, low - 1), mass_of(side, low), side.x[low - 1]
        c[0] = up
        if x > 0.0:
            c[0] = min(max(sqrt(rise / (slope * x)) - base, down), up)
        cost = slope * (side.first[low - 1] + x * (c[0] - down))
    return loss_at(loss, b, c[0]) - cost


cdef Py_ssize_t _chord(const Side* side, double slope, double rate, Py_ssize_t left, Py_ssize_t right) noexcept nogil:
    """Where between two kinks a chord that rises by ``rate``, less the sum of the smallest margins, is largest."""
    cdef Py_ssize_t middle
    while left < right:
        middle = (left + right) // 2
        if slope * side.x[middle] < rate:
            left = middle + 1
        else:
            right = middle
    return left


def best_flips(positives, negatives, fractional_loss, double slope):
    """Maximise ``delta(B, C) - slope (sum of margins)`` over fractional flips, for sides that are sorted.

    For a fixed weight b of missed positives the best value over the false ones, G(b), is a maximum of functions that
    are convex in b, so it is convex; the sum of the smallest margins is convex and piecewise linear, with kinks where
    examples end. So the best b is at a kink, and between two kinks where G is known its chord bounds all between:
    branch and bound.

    Returns
    -------
    value : float
        The maximum.
    index : int
        How many positives are flipped, from the smallest margin on.
    b, c : float
        The flipped weights.
    visited : int
        How many b were looked at.
    """
    cdef Side pos = side_of(positives), neg = side_of(negatives)
    cdef Loss loss = loss_of(fractional_loss)
    cdef Py_ssize_t low, left, right, best_index, visited = 2, depth = 1, room = 64
    cdef Py_ssize_t* ends = <Py_ssize_t*>malloc(2 * room * sizeof(Py_ssize_t))
    cdef double* values = <double*>malloc(2 * room * sizeof(double))
    cdef void* grown
    cdef double best, best_c, c = 0.0, value, rate, bound, at_left, at_right, G, b_left, b_right, size
    cdef bint failed = ends == NULL or values == NULL
    if failed:
        free(ends); free(values)
        raise MemoryError("no memory for a search")
    with nogil:
        ends[0], ends[1] = 0, pos.size
        values[0] = _best_false(&neg, &loss, slope, 0.0, &c)
        best, best_index, best_c = values[0], 0, c
        values[1] = _best_false(&neg, &loss, slope, mass_of(&pos, pos.size), &c)
        value = values[1] - slope * pos.first[pos.size]
        if value > best:
            best, best_index, best_c = value, pos.size, c
        while depth > 0:
            depth -= 1
            left, right = ends[2 * depth], ends[2 * depth + 1]
            at_left, at_right = values[2 * depth], values[2 * depth + 1]
            b_left, b_right = mass_of(&pos, left), mass_of(&pos, right)
            if right - left < 2 or not b_right > b_left:
                continue
            rate = (at_right - at_left) / (b_right - b_left)
            low = _chord(&pos, slope, rate, left, right)
            if low == left or low == right:
                continue
            bound = at_left + rate * (mass_of(&pos, low) - b_left) - slope * pos.first[low]
            size = 1.0 + fabs(at_left) + fabs(at_right) + slope * fabs(pos.first[low])
            if bound <= best + 4.0 * EPS * size:
                continue
            G = _best_false(&neg, &loss, slope, mass_of(&pos, low), &c)
            visited += 1
            value = G - slope * pos.first[low]
            if value > best:
                best, best_index, best_c = value, low, c
            if depth + 2 > room:
                room *= 2
                grown = realloc(ends, 2 * room * sizeof(Py_ssize_t))
                failed = grown == NULL
                if failed:
                    break
                ends = <Py_ssize_t*>grown
                grown = realloc(values, 2 * room * sizeof(double))
                failed = grown == NULL
                if failed:
                    break
                values = <double*>grown
            ends[2 * depth], ends[2 * depth + 1] = left, low
            values[2 * depth], values[2 * depth + 1] = at_left, G
            depth += 1
            ends[2 * depth], ends[2 * depth + 1] = low, right
            values[2 * depth], values[2 * depth + 1] = G, at_right
            depth += 1
        free(ends); free(values)
    if failed:
        raise MemoryError("no memory for a search")
    return best, best_index, mass_of(&pos, best_index), best_c, visited
