"""The best flips of a linear-fractional loss against sorted margins, exactly.

With B and C the flipped weights of the positives and the negatives,

    max over beta of  delta(B, C) - s sum c x beta,    delta(B, C) = (p B + C) / (M - r B + C)      (fractional-risk)

After sorting this takes far less time than a pass over the examples: it only searches.
"""

from libc.math cimport fabs, sqrt

from ._lengths cimport check_length, check_room
from ._sides cimport Loss, Side, loss_at, loss_of, mass_of, side_of

cdef double EPS = 2.220446049250313e-16

cdef enum:
    MOST_WAITING = 64   # intervals: of two halves the larger waits, so that each is at most half of the one below it


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
    """Place between two kinks where a chord that rises by ``rate``, less the sum of the smallest margins, is largest."""
    cdef Py_ssize_t middle
    while left < right:
        middle = (left + right) // 2
        if slope * side.x[middle] < rate:
            left = middle + 1
        else:
            right = middle
    return left


cdef struct Interval:
    # Between two kinks, as numbers of flipped positives, with the best value over the false ones at both.
    Py_ssize_t left, right
    double at_left, at_right


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
    b, c : float
        The flipped weights.
    visited : int
        How many b were looked at.
    """
    cdef Side pos = side_of(positives), neg = side_of(negatives)
    cdef Loss loss = loss_of(fractional_loss)
    cdef Py_ssize_t low, left, right, best_index, depth = 1, visited = 2
    cdef Interval[MOST_WAITING] waiting
    cdef Interval at, lower, upper
    cdef double best, best_c, c = 0.0, value, rate, bound, G, b_left, b_right, size
    with nogil:
        best_index, best_c = 0, 0.0
        at = Interval(0, pos.size, _best_false(&neg, &loss, slope, 0.0, &best_c), 0.0)
        best = at.at_left
        at.at_right = _best_false(&neg, &loss, slope, mass_of(&pos, pos.size), &c)
        value = at.at_right - slope * pos.first[pos.size]
        if value > best:
            best, best_index, best_c = value, pos.size, c
        waiting[0] = at
        while depth > 0:
            depth -= 1
            at = waiting[depth]
            left, right = at.left, at.right
            b_left, b_right = mass_of(&pos, left), mass_of(&pos, right)
            if right - left < 2 or not b_right > b_left:
                continue
            rate = (at.at_right - at.at_left) / (b_right - b_left)
            low = _chord(&pos, slope, rate, left, right)
            if low == left or low == right:
                continue
            bound = at.at_left + rate * (mass_of(&pos, low) - b_left) - slope * pos.first[low]
            size = 1.0 + fabs(at.at_left) + fabs(at.at_right) + slope * fabs(pos.first[low])
            if bound <= best + 4.0 * EPS * size:
                continue
            G = _best_false(&neg, &loss, slope, mass_of(&pos, low), &c)
            visited += 1
            value = G - slope * pos.first[low]
            if value > best:
                best, best_index, best_c = value, low, c
            lower, upper = Interval(left, low, at.at_left, G), Interval(low, right, G, at.at_right)
            if low - left > right - low:
                waiting[depth], waiting[depth + 1] = lower, upper
            else:
                waiting[depth], waiting[depth + 1] = upper, lower
            depth += 2
    return best, mass_of(&pos, best_index), best_c, visited
