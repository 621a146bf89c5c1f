"""Linear-fractional losses of missed and false positives, maximised against sorted margins.

A *side* is one class: margins ``x = y f`` sorted upwards, and prefix sums of the weights c, of ``c x`` and ``c x^2``; as
a tuple, :class:`smoothperf.kernels.fractional_flips.Side`. A flip ``beta`` in [0, 1] of an example costs its margin. With
B and C the flipped weights of the two sides, the loss is

    delta(B, C) = (p B + C) / (M - r B + C)                                                  (fractional-loss)

    best_flips    max over beta of  delta(B, C) - s sum c x beta                             (fractional-risk)
    near_best     which flips may come near that
    level_sets    the same smoothed: for each level t of a grid the best flips with delta >= t, less a square;
                  levels_at for given levels
    mixture       the soft maximum over the levels                                           (fractional-smoothed)
    flip_exact, flip_smoothed    one pass over the examples, unsorted: what the flips are for each of them

After sorting, all but the last two take far less time than a pass over the examples: they only search. A search for the
flips of a level needs a few sums over each side at each step, and these add up over parts of a side:

    LevelSearch   searches for many levels at once, whose sums come from elsewhere
    flip_sums     these sums
"""

from libc.float cimport LDBL_EPSILON
from libc.math cimport INFINITY, NAN, exp, fabs, log, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, qsort, realloc

import numpy as np

from ._lengths cimport check_length, check_room

cdef enum:
    BLOCK = 512        # terms of a sum that are added up in double precision
    MOST_STEPS = 1000  # of the root finder: never reached
    CREEPING = 3       # steps in a row from one side that do not get much closer
    FIRST_LEVELS = 64
    MOST_LEVELS = 4096
    MOST_HALVINGS = 64   # of a number of examples
    SUMS = 8
    FEW = 256          # examples whose sums are taken one by one: differences of prefix sums lose digits

cdef double EPS = 2.220446049250313e-16
#: Levels whose share of the soft maximum is below exp(-this) times that of the best are left out.
cdef double NEGLIGIBLE = 40.0
#: A step of the root finder that leaves more than this share of what was missing is short.
cdef double CLOSER = 0.25
#: Roots that rounding may tell apart differ by no more than this, relatively.
cdef double NEARBY = 1e-6
#: Prefix sums are crude where this part of a ramp may be rounding.
cdef double CRUDE = 1e-6


cdef struct Side:
    const double* x
    const double* mass    # NULL for unit weights
    const double* first
    const double* second
    Py_ssize_t size
    double lowest   # sum of the c x below 0
    double drift    # relative error of the sums, other than being rounded once
    double top      # highest margin


cdef struct Loss:
    double p, r, M


cdef struct Flips:
    # Of one side, or a part of it, at the ramp beta = clip(1/2 + (z - x) / w, 0, 1). All but the last add up.
    Py_ssize_t full, reached   # as many have x <= z - w/2, where beta = 1; as many have x <= z + w/2
    double mass                # sum c beta
    double active              # weight of what has neither beta = 0 nor 1, and grows with z
    long double huber          # sum c ((z - x) beta + w beta (1 - beta) / 2)
    double wobble              # rounding error of the mass
    double next                # lowest x that is not reached


cdef struct Level:
    int64_t k
    long double value  # t + V_mu(t); differences of levels are divided by nu, so all digits count
    double root        # zeta
    double loss        # delta of its flips
    double wobble      # rounding error of the loss


cdef struct Step:
    double z, share


cdef inline double _mass(const Side* side, Py_ssize_t j) noexcept nogil:
    return <double>j if side.mass == NULL else side.mass[j]


cdef inline double _loss(const Loss* loss, double b, double c) noexcept nogil:
    return (loss.p * b + c) / (loss.M - loss.r * b + c)


cdef Py_ssize_t _up_to(const Side* side, double z, Py_ssize_t start) noexcept nogil:
    """Number of ``x <= z``, sought in steps that double from ``start``."""
    cdef Py_ssize_t low, high, middle, step = 1
    if start < side.size and side.x[start] <= z:
        low = start + 1
        while low + step < side.size and side.x[low + step] <= z:
            low += step + 1
            step *= 2
        high = min(low + step, side.size)
    else:
        high = min(start, side.size)
        while high - step >= 0 and side.x[high - step] > z:
            high -= step
            step *= 2
        low = max(high - step, <Py_ssize_t>0)
    while low < high:
        middle = (low + high) // 2
        if side.x[middle] <= z:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline double _weight(const Side* side, Py_ssize_t j) noexcept nogil:
    return 1.0 if side.mass == NULL else side.mass[j + 1] - side.mass[j]


cdef double _ramp_of_few(const Side* side, Py_ssize_t j, Py_ssize_t stop, double end) noexcept nogil:
    """Sum of ``c (end - x)`` over a few examples, one by one."""
    cdef double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0
    if side.mass == NULL:
        while j + 4 <= stop:
            s0 += end - side.x[j]
            s1 += end - side.x[j + 1]
            s2 += end - side.x[j + 2]
            s3 += end - side.x[j + 3]
            j += 4
    while j < stop:
        s0 += _weight(side, j) * (end - side.x[j])
        j += 1
    return (s0 + s1) + (s2 + s3)


cdef double _square_of_few(const Side* side, Py_ssize_t j, Py_ssize_t stop, double end) noexcept nogil:
    """Sum of ``c (end - x)^2`` over a few examples, one by one."""
    cdef double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0
    if side.mass == NULL:
        while j + 4 <= stop:
            s0 += (end - side.x[j]) * (end - side.x[j])
            s1 += (end - side.x[j + 1]) * (end - side.x[j + 1])
            s2 += (end - side.x[j + 2]) * (end - side.x[j + 2])
            s3 += (end - side.x[j + 3]) * (end - side.x[j + 3])
            j += 4
    while j < stop:
        s0 += _weight(side, j) * (end - side.x[j]) * (end - side.x[j])
        j += 1
    return (s0 + s1) + (s2 + s3)


cdef void _flip(const Side* side, double z, double w, Flips* flips, Py_ssize_t few) noexcept nogil:
    """Everything about one side at z but ``huber``; ``flips`` holds the result for a z nearby.

    Up to ``few`` active examples are looked at one by one; and up to FEW where prefix sums would be crude.
    """
    cdef double end = z + 0.5 * w, full, ramp, doubt, sizes
    cdef Py_ssize_t count
    flips.reached = _up_to(side, end, flips.reached)
    flips.full = _up_to(side, end - w, flips.full)
    count = flips.reached - flips.full
    full = _mass(side, flips.full)
    flips.active = _mass(side, flips.reached) - full
    # Sums of |c x| exceed those of c x by no more than twice the lowest of these.
    sizes = fabs(side.first[flips.reached]) + fabs(side.first[flips.full])
    doubt = 2.0 * EPS * sizes + side.drift * (sizes + 4.0 * fabs(side.lowest))
    if count <= few or (count <= FEW and doubt > CRUDE * w * flips.active):
        ramp = _ramp_of_few(side, flips.full, flips.reached, end)
        doubt = (count + 8) * EPS * ramp
    else:
        ramp = end * flips.active - (side.first[flips.reached] - side.first[flips.full])
    doubt += 2.0 * EPS * fabs(end) * flips.active
    # What the sum must be between, whatever its rounding.
    ramp = min(max(ramp, 0.0), w * flips.active)
    flips.mass = full + ramp / w
    flips.wobble = min(doubt / w, flips.active) + 4.0 * EPS * flips.mass
    flips.next = side.x[flips.reached] if flips.reached < side.size else INFINITY


cdef void _add_huber(const Side* side, double z, double w, Flips* flips) noexcept nogil:
    """Fill in ``huber`` where all else is known."""
    cdef double end = z + 0.5 * w, full = _mass(side, flips.full), square, first
    if flips.reached - flips.full <= FEW:
        square = _square_of_few(side, flips.full, flips.reached, end)
    else:
        first = side.first[flips.reached] - side.first[flips.full]
        square = end * (end * flips.active - 2.0 * first) + (side.second[flips.reached] - side.second[flips.full])
    square = min(max(square, 0.0), w * w * flips.active)
    flips.huber = <long double>(end - 0.5 * w) * full - side.first[flips.full] + 0.5 * square / w


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


cdef Side _side(parts):
    """The tuple, whose arrays must stay alive."""
    cdef const double[::1] x = parts[0], mass = parts[1], first = parts[2], second = parts[3]
    cdef Side side
    check_room("first", first.shape[0], x.shape[0] + 1)
    if mass is not None:
        check_room("mass", mass.shape[0], x.shape[0] + 1)
    if second is not None:
        check_room("second", second.shape[0], x.shape[0] + 1)
    side.x = &x[0]
    side.mass = NULL if mass is None else &mass[0]
    side.first = &first[0]
    side.second = NULL if second is None else &second[0]
    side.size = x.shape[0]
    side.lowest, side.drift, side.top = parts[4], parts[5], parts[6]
    return side


cdef Loss _loss_of(parts):
    cdef Loss loss
    loss.p, loss.r, loss.M = parts
    return loss


# --- exactly ----------------------------------------------------------------------------------------------------


cdef double _best_false(
    const Side* side, const Loss* loss, double slope, double b, double* c, Py_ssize_t* reached
) noexcept nogil:
    """``max over c of delta(b, c) - s sum of the smallest margins of weight c``: concave in c, so a binary search.

    The best c lies before as many examples as are ``reached`` end, and where that is any, not before the last begins.
    """
    cdef double rise = max(loss.M - (loss.p + loss.r) * b, 0.0), base = loss.M - loss.r * b
    cdef double down, up, x, reach, cost
    cdef Py_ssize_t low = 0, high = side.size, middle
    while low < high:
        middle = (low + high) // 2
        reach = base + _mass(side, middle)
        if rise > slope * side.x[middle] * reach * reach:
            low = middle + 1
        else:
            high = middle
    cost = 0.0
    c[0] = 0.0
    reached[0] = low
    if low > 0:
        down, up, x = _mass(side, low - 1), _mass(side, low), side.x[low - 1]
        c[0] = up
        if x > 0.0:
            c[0] = min(max(sqrt(rise / (slope * x)) - base, down), up)
        cost = slope * (side.first[low - 1] + x * (c[0] - down))
    return _loss(loss, b, c[0]) - cost


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
    cdef Side pos = _side(positives), neg = _side(negatives)
    cdef Loss loss = _loss_of(fractional_loss)
    cdef Py_ssize_t low, left, right, best_index, visited = 2, depth = 1, room = 64, reached
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
        values[0] = _best_false(&neg, &loss, slope, 0.0, &c, &reached)
        best, best_index, best_c = values[0], 0, c
        values[1] = _best_false(&neg, &loss, slope, _mass(&pos, pos.size), &c, &reached)
        value = values[1] - slope * pos.first[pos.size]
        if value > best:
            best, best_index, best_c = value, pos.size, c
        while depth > 0:
            depth -= 1
            left, right = ends[2 * depth], ends[2 * depth + 1]
            at_left, at_right = values[2 * depth], values[2 * depth + 1]
            b_left, b_right = _mass(&pos, left), _mass(&pos, right)
            if right - left < 2 or not b_right > b_left:
                continue
            rate = (at_right - at_left) / (b_right - b_left)
            low = _chord(&pos, slope, rate, left, right)
            if low == left or low == right:
                continue
            bound = at_left + rate * (_mass(&pos, low) - b_left) - slope * pos.first[low]
            size = 1.0 + fabs(at_left) + fabs(at_right) + slope * fabs(pos.first[low])
            if bound <= best + 4.0 * EPS * size:
                continue
            G = _best_false(&neg, &loss, slope, _mass(&pos, low), &c, &reached)
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
    return best, best_index, _mass(&pos, best_index), best_c, visited


cdef struct Near:
    double floor
    Py_ssize_t first_b, last_b, first_c, last_c   # kinks


cdef double _consider(
    const Side* pos, const Side* neg, const Loss* loss, double slope, Py_ssize_t index, Near* near
) noexcept nogil:
    """``G`` at a kink b, which is added to those that come near if it does, with the c for which it does."""
    cdef double b = _mass(pos, index), c = 0.0, floor = near.floor + slope * pos.first[index]
    cdef Py_ssize_t reached, low, high, middle
    cdef double G = _best_false(neg, loss, slope, b, &c, &reached)
    if not G >= floor:
        return G
    near.first_b, near.last_b = min(near.first_b, index), max(near.last_b, index)
    low, high = 0, reached
    while low < high:
        middle = (low + high) // 2
        if _loss(loss, b, _mass(neg, middle)) - slope * neg.first[middle] >= floor:
            high = middle
        else:
            low = middle + 1
    near.first_c = min(near.first_c, max(low - 1, <Py_ssize_t>0))
    low, high = reached, neg.size + 1
    while low < high:
        middle = (low + high) // 2
        if _loss(loss, b, _mass(neg, middle)) - slope * neg.first[middle] >= floor:
            low = middle + 1
        else:
            high = middle
    near.last_c = max(near.last_c, min(low, neg.size))
    return G


def near_best(positives, negatives, fractional_loss, double slope, double floor):
    """Bounds of the flips with ``delta(B, C) - slope (sum of margins) >= floor``, for sides that are sorted.

    Between two kinks the left side is convex in b and concave in c. So if it is above the floor anywhere between two
    kinks b, it is at one of them, for the same c. Blocks of kinks that their chord keeps below the floor are left out.

    Returns
    -------
    tuple of four floats
        Least and most b, least and most c; from kink to kink.
    """
    cdef Side pos = _side(positives), neg = _side(negatives)
    cdef Loss loss = _loss_of(fractional_loss)
    cdef Py_ssize_t[2 * MOST_HALVINGS] ends
    cdef double[2 * MOST_HALVINGS] values
    cdef Py_ssize_t left, right, middle, peak, depth = 1
    cdef double at_left, at_right, b_left, b_right, rate, bound
    cdef Near near
    near.floor = floor
    near.first_b, near.last_b, near.first_c, near.last_c = pos.size, 0, neg.size, 0
    with nogil:
        ends[0], ends[1] = 0, pos.size
        values[0] = _consider(&pos, &neg, &loss, slope, 0, &near)
        values[1] = _consider(&pos, &neg, &loss, slope, pos.size, &near)
        while depth > 0:
            depth -= 1
            left, right = ends[2 * depth], ends[2 * depth + 1]
            at_left, at_right = values[2 * depth], values[2 * depth + 1]
            b_left, b_right = _mass(&pos, left), _mass(&pos, right)
            if right - left < 2:
                continue
            rate = (at_right - at_left) / (b_right - b_left) if b_right > b_left else 0.0
            peak = _chord(&pos, slope, rate, left, right)
            bound = at_left + rate * (_mass(&pos, peak) - b_left) - slope * pos.first[peak]
            if bound < floor:
                continue
            middle = (left + right) // 2
            ends[2 * depth + 2], ends[2 * depth + 3] = middle, right
            values[2 * depth + 3] = at_right
            ends[2 * depth], ends[2 * depth + 1] = left, middle
            values[2 * depth] = at_left
            values[2 * depth + 1] = values[2 * depth + 2] = _consider(&pos, &neg, &loss, slope, middle, &near)
            depth += 2
    return (
        _mass(&pos, max(near.first_b - 1, <Py_ssize_t>0)), _mass(&pos, min(near.last_b + 1, pos.size)),
        _mass(&neg, near.first_c), _mass(&neg, near.last_c),
    )


cdef int _check_rows(
    const double[::1] scores, const unsigned char[::1] positive, const double[::1] weights, double[::1] gradient
) except -1:
    check_length("positive", positive.shape[0], scores.shape[0])
    check_length("gradient", gradient.shape[0], scores.shape[0])
    if weights is not None:
        check_length("weights", weights.shape[0], scores.shape[0])
    return 0


def flip_exact(
    const double[::1] scores,
    const unsigned char[::1] positive,
    const double[::1] weights,
    const double[::1] cuts,
    const double[::1] shares,
    double slope,
    double[::1] gradient,
):
    """Gradient of the flips "beta = 1 below ``cuts[class]``, ``shares[class]`` at it"; class 1 are the positives.

    Returns ``sum c x beta``.
    """
    cdef Py_ssize_t i = 0, end, n = scores.shape[0]
    cdef double x, beta, block
    cdef long double inner = 0.0
    cdef int side
    _check_rows(scores, positive, weights, gradient)
    check_length("cuts", cuts.shape[0], 2)
    check_length("shares", shares.shape[0], 2)
    with nogil:
        while i < n:
            end = min(i + BLOCK, n)
            block = 0.0
            while i < end:
                side = positive[i] != 0
                x = scores[i] if side else -scores[i]
                beta = (1.0 if x < cuts[side] else (shares[side] if x == cuts[side] else 0.0))
                if weights is not None:
                    beta *= weights[i]
                block += x * beta
                gradient[i] = (-slope if side else slope) * beta
                i += 1
            inner += block
    return <double>inner


# --- smoothed ---------------------------------------------------------------------------------------------------


cdef struct Problem:
    Loss loss
    double slope, w
    int64_t count
    double pos_top, neg_top    # highest margins
    Flips pos_free, neg_free   # without the constraint
    long double free_value
    double free_loss


cdef struct Search:
    # For the multiplier zeta of delta >= t: a root of u B(u zeta) + v C(v zeta) - wanted, which does not fall.
    int64_t k
    double t, u, v, wanted
    double zeta, low, high
    double at_low, at_high       # the function there, if it is known
    double excess, stride        # the function where the latest step started, and the length of that
    bint straight                # whether it was Newton's
    bint guessed                 # or along the chord between the bounds
    int same_side                # steps in a row from one side that did not get much closer
    int steps
    Py_ssize_t pos_full, pos_reached, neg_full, neg_reached   # the linear piece it started from


cdef void _set_free(Problem* problem, const Flips* pos, const Flips* neg) noexcept nogil:
    problem.pos_free, problem.neg_free = pos[0], neg[0]
    problem.free_loss = _loss(&problem.loss, pos.mass, neg.mass)
    problem.free_value = problem.slope * (pos.huber + neg.huber)


cdef double _lowered(const Loss* loss, double b, double c, double b_wobble, double c_wobble) noexcept nogil:
    """How much less delta may be if its arguments have errors: twice the derivatives there."""
    cdef double reach = loss.M - loss.r * b + c
    cdef double by_b = (loss.p * loss.M + (loss.p + loss.r) * c) / (reach * reach)
    cdef double by_c = max(loss.M - (loss.p + loss.r) * b, 0.0) / (reach * reach)
    return 2.0 * (by_b * b_wobble + by_c * c_wobble) + 8.0 * EPS


cdef Level _free_level(const Problem* problem, int64_t k) noexcept nogil:
    """A level that the best flips without the constraint attain."""
    cdef Level level
    level.k = k
    level.value = <double>k / <double>problem.count + problem.free_value
    level.root = 0.0
    level.loss = problem.free_loss
    level.wobble = _lowered(
        &problem.loss, problem.pos_free.mass, problem.neg_free.mass, problem.pos_free.wobble, problem.neg_free.wobble
    )
    return level


cdef double _above_all(const Problem* problem) noexcept nogil:
    """Where all positives are flipped."""
    return problem.pos_top + problem.w + 8.0 * EPS * fabs(problem.pos_top)


cdef Level _top_level(const Problem* problem, const Flips* pos) noexcept nogil:
    """The level t = 1: all positives are missed, and the negatives are free."""
    cdef Level level
    cdef double z = _above_all(problem)
    level.k = problem.count
    level.value = 1.0 + problem.slope * (pos.huber - <long double>z * pos.mass + problem.neg_free.huber)
    level.root = z / (problem.loss.p + problem.loss.r)
    level.loss = 1.0
    level.wobble = _lowered(&problem.loss, pos.mass, problem.neg_free.mass, pos.wobble, problem.neg_free.wobble)
    return level


cdef Search _search(const Problem* problem, int64_t k, double start) noexcept nogil:
    """For a level below 1 that is not free."""
    cdef Search search
    cdef double half = 0.5 * problem.w
    search.k = k
    search.t = <double>k / <double>problem.count
    search.u, search.v = problem.loss.p + problem.loss.r * search.t, 1.0 - search.t
    search.wanted = search.t * problem.loss.M
    search.low = 0.0
    search.high = max((problem.pos_top + half) / search.u, (problem.neg_top + half) / search.v)
    search.high = max(search.high * (1.0 + 4.0 * EPS), 0.0)
    search.zeta = min(max(start, 0.0), search.high)
    search.at_low, search.at_high = -INFINITY, INFINITY
    search.excess, search.stride = NAN, 0.0
    search.straight = search.guessed = False
    search.same_side = search.steps = 0
    search.pos_full = search.pos_reached = search.neg_full = search.neg_reached = -1
    return search


cdef bint _advance(Search* search, const Flips* pos, const Flips* neg, double w) noexcept nogil:
    """One step of Newton's method, between bounds; false if the flips, which are those at zeta, are the best ones."""
    cdef double excess = search.u * pos.mass + search.v * neg.mass - search.wanted, rate, following
    if fabs(excess) <= 2.0 * EPS * search.wanted:
        return False
    if search.straight and pos.full == search.pos_full and pos.reached == search.pos_reached and (
        neg.full == search.neg_full and neg.reached == search.neg_reached
    ):
        return False   # on the linear piece that Newton's step was made for
    search.pos_full, search.pos_reached = pos.full, pos.reached
    search.neg_full, search.neg_reached = neg.full, neg.reached
    if excess < 0.0:
        search.low, search.at_low = search.zeta, excess
    else:
        search.high, search.at_high = search.zeta, excess
    rate = (search.u * search.u * pos.active + search.v * search.v * neg.active) / w
    if rate > 0.0:
        following = search.zeta - excess / rate
    elif excess < 0.0:   # flat up to where the next ramp begins
        following = min((pos.next - 0.5 * w) / search.u, (neg.next - 0.5 * w) / search.v)
    else:
        following = search.low
    if (excess < 0.0) == (search.excess < 0.0) and fabs(excess) > CLOSER * fabs(search.excess):
        search.same_side += 1
    else:
        search.same_side = 0
    search.excess = excess
    search.straight = rate > 0.0 and search.same_side < CREEPING
    if search.same_side >= CREEPING:   # along narrow ramps, from one to the next: make longer steps
        search.stride = 4.0 * max(
            search.stride, fabs(following - search.zeta) if fabs(following) < INFINITY else 0.0
        )
        following = search.zeta + (search.stride if excess < 0.0 else -search.stride)
    if search.low < following < search.high:
        search.guessed = False
    else:   # along the chord between the bounds, and every other time to the middle
        search.straight = False
        search.guessed = not search.guessed and search.at_high - search.at_low < INFINITY
        if search.guessed:
            following = search.low - search.at_low * (search.high - search.low) / (search.at_high - search.at_low)
        if not search.guessed or not search.low < following < search.high:
            following = 0.5 * (search.low + search.high)
    search.stride = fabs(following - search.zeta)
    if not search.low < following < search.high or search.steps == MOST_STEPS:
        return False   # no number is left between the two
    search.zeta = following
    search.steps += 1
    return True


cdef Level _found(const Problem* problem, const Search* search, const Flips* pos, const Flips* neg) noexcept nogil:
    """The level at the end of a search."""
    cdef Level level
    level.k = search.k
    level.value = search.t + problem.slope * (pos.huber + neg.huber - <long double>search.zeta * search.wanted)
    level.root = search.zeta
    level.loss = _loss(&problem.loss, pos.mass, neg.mass)
    level.wobble = _lowered(&problem.loss, pos.mass, neg.mass, pos.wobble, neg.wobble)
    return level


cdef struct Sides:
    Side pos, neg
    Flips pos_flips, neg_flips   # the latest
    int steps                    # the most that a search took


cdef void _look_closer(const Problem* problem, Sides* sides, Search* search) noexcept nogil:
    """Another step of Newton's method, with sums that have all digits, close to the root."""
    cdef Flips* pos = &sides.pos_flips
    cdef Flips* neg = &sides.neg_flips
    cdef double rate, zeta, w = problem.w
    _flip(&sides.pos, search.zeta * search.u, w, pos, FEW)
    _flip(&sides.neg, search.zeta * search.v, w, neg, FEW)
    rate = (search.u * search.u * pos.active + search.v * search.v * neg.active) / w
    if rate > 0.0:
        zeta = search.zeta - (search.u * pos.mass + search.v * neg.mass - search.wanted) / rate
        if fabs(zeta - search.zeta) <= NEARBY * search.zeta:
            search.zeta = zeta
            _flip(&sides.pos, zeta * search.u, w, pos, FEW)
            _flip(&sides.neg, zeta * search.v, w, neg, FEW)


cdef Level _level(const Problem* problem, Sides* sides, int64_t k, double start) noexcept nogil:
    """The best flips with ``delta >= k / count``: a root of one increasing piecewise linear function of zeta >= 0."""
    cdef Search search
    cdef Flips* pos = &sides.pos_flips
    cdef Flips* neg = &sides.neg_flips
    if problem.free_loss >= <double>k / <double>problem.count:
        return _free_level(problem, k)
    if k == problem.count:
        _flip(&sides.pos, _above_all(problem), problem.w, pos, FEW)
        _add_huber(&sides.pos, _above_all(problem), problem.w, pos)
        return _top_level(problem, pos)
    search = _search(problem, k, start)
    while True:
        _flip(&sides.pos, search.zeta * search.u, problem.w, pos, 0)
        _flip(&sides.neg, search.zeta * search.v, problem.w, neg, 0)
        if not _advance(&search, pos, neg, problem.w):
            break
    if min(pos.reached - pos.full, neg.reached - neg.full) <= FEW:
        _look_closer(problem, sides, &search)
    sides.steps = max(sides.steps, search.steps)
    _add_huber(&sides.pos, search.zeta * search.u, problem.w, pos)
    _add_huber(&sides.neg, search.zeta * search.v, problem.w, neg)
    return _found(problem, &search, pos, neg)


cdef Problem _problem(fractional_loss, double slope, double w, int64_t count, double pos_top, double neg_top):
    cdef Problem problem
    problem.loss = _loss_of(fractional_loss)
    problem.slope, problem.w, problem.count = slope, w, count
    problem.pos_top, problem.neg_top = pos_top, neg_top
    return problem


cdef void _open(Problem* problem, Sides* sides) noexcept nogil:
    """Flips without the constraint."""
    sides.steps = 0
    sides.pos_flips.full = sides.pos_flips.reached = sides.neg_flips.full = sides.neg_flips.reached = 0
    _flip(&sides.pos, 0.0, problem.w, &sides.pos_flips, FEW)
    _flip(&sides.neg, 0.0, problem.w, &sides.neg_flips, FEW)
    _add_huber(&sides.pos, 0.0, problem.w, &sides.pos_flips)
    _add_huber(&sides.neg, 0.0, problem.w, &sides.neg_flips)
    _set_free(problem, &sides.pos_flips, &sides.neg_flips)


cdef void _write(const Level* level, double[:, ::1] table, Py_ssize_t i) noexcept nogil:
    table[0, i], table[1, i], table[2, i] = <double>level.k, <double>level.value, level.root
    table[3, i], table[4, i] = level.loss, level.wobble
    table[5, i] = <double>(level.value - <double>level.value)


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
    """Table for :func:`flip_smoothed` of ``sum_k shares[k] clip(1/2 + (z[k] - x) / w, 0, 1)``; shares sum to 1."""
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


cpdef double negligible(double nu, int64_t count) noexcept nogil:
    """How far below the best a level may be and still matter."""
    return nu * (NEGLIGIBLE + log(<double>count))


def level_sets(
    positives, negatives, fractional_loss, double slope, double w, double nu, int64_t count, double floor=-INFINITY,
):
    """Levels ``t = k / count``, k = 0, ..., count, that matter to a soft maximum of t plus the best flips.

    That is, of ``t + slope max sum c (-x beta + (w/2) beta (1 - beta))`` over the flips with ``delta(B, C) >= t``.

    The value of a level less t falls with t. So a level bounds those behind it: the value rises by no more than t
    does. Levels that cannot matter are not looked at: blocks of levels are halved, from coarse to fine.

    Parameters
    ----------
    positives, negatives : Side
        Sorted.
    fractional_loss : FractionalLoss
        delta.
    slope, w, nu, count : float
        As above; nu is that of the soft maximum.
    floor : float
        What the best level has at least, if the sides are not the true ones but such that values are bounds from above:
        then levels matter to that, and not to the best of these values.

    Returns
    -------
    levels : ndarray of shape (6, m)
        For each level k, value, multiplier zeta, delta of its flips, the rounding error of that, and what the value has
        in addition to its double.
    block : int
        The levels are those that this divides; 1 unless these are too many to look at.
    steps : int
        The most that a search took.
    """
    cdef Sides sides
    cdef Problem problem
    cdef Py_ssize_t size = 0, next_size, i
    cdef int64_t block, k
    cdef double best = floor, cut = negligible(nu, count)
    cdef bint known = floor > -INFINITY
    cdef Level* levels = <Level*>malloc((2 * MOST_LEVELS + 1) * sizeof(Level))
    cdef Level* following = <Level*>malloc((2 * MOST_LEVELS + 1) * sizeof(Level))
    cdef Level top
    cdef double[:, ::1] view
    if levels == NULL or following == NULL:
        free(levels); free(following)
        raise MemoryError("no memory for levels")
    sides.pos, sides.neg = _side(positives), _side(negatives)
    problem = _problem(fractional_loss, slope, w, count, sides.pos.top, sides.neg.top)
    with nogil:
        _open(&problem, &sides)
        block = max(count // FIRST_LEVELS, <int64_t>1)
        k = 0
        while k < count:
            levels[size] = _level(&problem, &sides, k, levels[size - 1].root if size > 0 else 0.0)
            best = best if known else max(best, <double>levels[size].value)
            size += 1
            k += block
        top = _level(&problem, &sides, count, 0.0)
        best = best if known else max(best, <double>top.value)
        while block > 1:
            next_size = 0
            for i in range(size):
                if <double>levels[i].value + <double>(block - 1) / <double>count >= best - cut:
                    levels[next_size] = levels[i]
                    next_size += 1
            size = next_size
            if size > MOST_LEVELS:
                break
            block //= 2
            next_size = 0
            for i in range(size):
                following[next_size] = levels[i]
                following[next_size + 1] = _level(&problem, &sides, levels[i].k + block, levels[i].root)
                best = best if known else max(best, <double>following[next_size + 1].value)
                next_size += 2
            levels, following = following, levels
            size = next_size
        levels[size] = top
        size += 1
        next_size = 0
        for i in range(size):
            if <double>levels[i].value >= best - cut:
                levels[next_size] = levels[i]
                next_size += 1
        size = next_size
    table = np.empty((6, size))
    view = table
    for i in range(size):
        _write(&levels[i], view, i)
    free(levels); free(following)
    return table, block, sides.steps


def levels_at(
    positives, negatives, fractional_loss, double slope, double w, int64_t count, const double[::1] numbers,
):
    """Levels of given numbers k, as :func:`level_sets` finds them."""
    cdef Sides sides
    cdef Problem problem
    cdef Level level
    cdef Py_ssize_t i
    sides.pos, sides.neg = _side(positives), _side(negatives)
    problem = _problem(fractional_loss, slope, w, count, sides.pos.top, sides.neg.top)
    table = np.empty((6, numbers.shape[0]))
    cdef double[:, ::1] view = table
    level.root = 0.0
    with nogil:
        _open(&problem, &sides)
        for i in range(numbers.shape[0]):
            level = _level(&problem, &sides, <int64_t>numbers[i], level.root)
            _write(&level, view, i)
    return table


def mixture(const double[:, ::1] levels, fractional_loss, double w, double nu, int64_t count, int64_t block):
    """Soft maximum over levels that :func:`level_sets` found, and the mixture of their flips.

    Returns
    -------
    value : float
        ``nu log mean exp(value of a level / nu)``.
    offset : float
        Mean of delta over the levels, weighted by their share of the soft maximum.
    wobble : float
        Rounding error of the offset, as the mean over the levels.
    error : float
        How much the value falls short because levels were too many to look at all: 0 in general.
    tables : tuple of two ndarrays of shape (3, 2 m)
        Knots, values and slopes of beta as a function of the margin for the negatives and for the positives; see
        :func:`flip_smoothed`.
    """
    cdef Loss loss = _loss_of(fractional_loss)
    cdef Py_ssize_t i, size = 0, m = levels.shape[1]
    cdef double best = -INFINITY, rest = 0.0, cut = negligible(nu, count), total = 0.0, offset = 0.0, wobble = 0.0, share, t
    cdef Step* neg
    cdef Step* pos
    cdef double[:, ::1] pos_table, neg_table
    check_length("levels", levels.shape[0], 6)
    neg = <Step*>malloc(m * sizeof(Step))
    pos = <Step*>malloc(m * sizeof(Step))
    if neg == NULL or pos == NULL:
        free(neg); free(pos)
        raise MemoryError("no memory for levels")
    with nogil:
        for i in range(m):
            if levels[1, i] > best or (levels[1, i] == best and levels[5, i] > rest):
                best, rest = levels[1, i], levels[5, i]
        for i in range(m):
            if levels[1, i] >= best - cut:
                t = levels[0, i] / <double>count
                share = exp(((levels[1, i] - best) + (levels[5, i] - rest)) / nu)
                total += share
                offset += share * levels[3, i]
                wobble += share * levels[4, i]
                neg[size] = Step(levels[2, i] * (1.0 - t), share)
                pos[size] = Step(levels[2, i] * (loss.p + loss.r * t), share)
                size += 1
        for i in range(size):
            neg[i].share /= total
            pos[i].share /= total
    if size == 0:
        free(neg); free(pos)
        raise ValueError("no level has a value: scores must be finite, and not too large to be squared")
    tables = np.empty((3, 2 * size)), np.empty((3, 2 * size))
    neg_table, pos_table = tables
    with nogil:
        _ramps(neg, size, w, neg_table)
        _ramps(pos, size, w, pos_table)
        free(neg); free(pos)
    return (
        best + nu * log(total * block / (count + block)),
        offset / total,
        wobble / total,
        <double>(block - 1) / <double>count,
        tables,
    )


# --- levels, with sums from elsewhere ---------------------------------------------------------------------------


def flip_sums(side, const double[::1] z, double w):
    """Sums over a side at the ramps ``clip(1/2 + (z[k] - x) / w, 0, 1)``, one column each; see :class:`LevelSearch`.

    All rows but the last one add up over the parts of a side. The last one is the lowest margin that a ramp does not
    reach.
    """
    cdef Side this = _side(side)
    cdef Flips flips
    cdef Py_ssize_t k
    table = np.empty((SUMS, z.shape[0]))
    cdef double[:, ::1] view = table
    flips.full = flips.reached = 0
    with nogil:
        for k in range(z.shape[0]):
            _flip(&this, z[k], w, &flips, FEW)
            _add_huber(&this, z[k], w, &flips)
            view[0, k], view[1, k] = <double>flips.full, <double>flips.reached
            view[2, k], view[3, k] = flips.mass, flips.active
            view[4, k] = <double>flips.huber
            view[5, k] = <double>(flips.huber - <double>flips.huber)
            view[6, k], view[7, k] = flips.wobble, flips.next
    return table


cdef void _read(const double[:, ::1] table, Py_ssize_t k, Flips* flips) noexcept nogil:
    flips.full, flips.reached = <Py_ssize_t>table[0, k], <Py_ssize_t>table[1, k]
    flips.mass, flips.active = table[2, k], table[3, k]
    flips.huber = <long double>table[4, k] + table[5, k]
    flips.wobble, flips.next = table[6, k], table[7, k]


cdef class LevelSearch:
    """The searches of :func:`level_sets` for given levels, all at once: a step of each needs sums at one place.

    Parameters
    ----------
    numbers : ndarray of float
        Levels k.
    starts : ndarray of float
        Where to start: zeta, the closer the better.
    fractional_loss, slope, w, count
        See :func:`level_sets`.
    pos_top, neg_top : float
        Highest margins.
    """

    cdef Problem problem
    cdef Search* searches
    cdef Py_ssize_t* going    # which of them
    cdef Py_ssize_t remaining
    cdef bint begun
    cdef readonly object levels

    def __cinit__(
        self, const double[::1] numbers, const double[::1] starts, fractional_loss, double slope, double w,
        int64_t count, double pos_top, double neg_top,
    ):
        cdef Py_ssize_t i, m = numbers.shape[0]
        check_length("starts", starts.shape[0], m)
        self.problem = _problem(fractional_loss, slope, w, count, pos_top, neg_top)
        self.levels = np.empty((6, m))
        self.searches = <Search*>malloc(m * sizeof(Search))
        self.going = <Py_ssize_t*>malloc(m * sizeof(Py_ssize_t))
        if self.searches == NULL or self.going == NULL:
            raise MemoryError("no memory for levels")
        for i in range(m):
            self.searches[i] = _search(&self.problem, <int64_t>numbers[i], starts[i])
            self.going[i] = i
        self.remaining, self.begun = m, False

    def __dealloc__(self):
        free(self.searches)
        free(self.going)

    def places(self):
        """Where sums over the positives and over the negatives are needed: two arrays."""
        cdef Py_ssize_t i, extra = 0 if self.begun else 2
        cdef Search* search
        cdef double[::1] pos = np.zeros(extra + self.remaining), neg = np.zeros(extra + self.remaining)
        if not self.begun:   # the flips without the constraint, and all positives
            pos[1] = _above_all(&self.problem)
        for i in range(self.remaining):
            search = &self.searches[self.going[i]]
            pos[extra + i], neg[extra + i] = search.zeta * search.u, search.zeta * search.v
        return np.asarray(pos), np.asarray(neg)

    def advance(self, const double[:, ::1] pos_sums, const double[:, ::1] neg_sums):
        """Take the sums at the places. Returns whether there are other places to look at; if not, ``levels`` is full."""
        cdef Py_ssize_t i, which, extra = 0 if self.begun else 2, remaining = 0
        cdef const Problem* problem = &self.problem
        cdef double[:, ::1] levels = self.levels
        cdef Search* search
        cdef Flips pos, neg
        cdef Level level, top
        check_length("pos_sums", pos_sums.shape[0], SUMS)
        check_length("neg_sums", neg_sums.shape[0], SUMS)
        check_length("pos_sums", pos_sums.shape[1], extra + self.remaining)
        check_length("neg_sums", neg_sums.shape[1], extra + self.remaining)
        if not self.begun:
            _read(pos_sums, 0, &pos)
            _read(neg_sums, 0, &neg)
            _set_free(&self.problem, &pos, &neg)
            _read(pos_sums, 1, &pos)
            top = _top_level(problem, &pos)
        for i in range(self.remaining):
            which = self.going[i]
            search = &self.searches[which]
            if problem.free_loss >= search.t:
                level = _free_level(problem, search.k)
            elif search.k == problem.count:
                level = top
            else:
                _read(pos_sums, extra + i, &pos)
                _read(neg_sums, extra + i, &neg)
                if _advance(search, &pos, &neg, problem.w):
                    self.going[remaining] = which
                    remaining += 1
                    continue
                level = _found(problem, search, &pos, &neg)
            _write(&level, levels, which)
        self.remaining, self.begun = remaining, True
        return remaining > 0


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


def flip_smoothed(
    const double[::1] scores,
    const unsigned char[::1] positive,
    const double[::1] weights,
    const double[:, ::1] neg_table,
    const double[:, ::1] pos_table,
    double slope,
    double[::1] gradient,
):
    """Gradient of the flips that two tables of :func:`level_sets` describe; returns ``sum c x beta``."""
    cdef Py_ssize_t i = 0, end, n = scores.shape[0]
    cdef double x, beta, block
    cdef long double inner = 0.0
    cdef Table[2] tables
    cdef int side
    cdef bint ready
    _check_rows(scores, positive, weights, gradient)
    check_length("neg_table", neg_table.shape[0], 3)
    check_length("pos_table", pos_table.shape[0], 3)
    check_room("neg_table", neg_table.shape[1], 1)
    check_room("pos_table", pos_table.shape[1], 1)
    tables[0].starts = tables[1].starts = NULL
    with nogil:
        ready = _index(neg_table, &tables[0]) and _index(pos_table, &tables[1])
        while ready and i < n:
            end = min(i + BLOCK, n)
            block = 0.0
            while i < end:
                side = positive[i] != 0
                x = scores[i] if side else -scores[i]
                beta = _beta(&tables[side], x)
                if weights is not None:
                    beta *= weights[i]
                block += x * beta
                gradient[i] = (-slope if side else slope) * beta
                i += 1
            inner += block
        free(tables[0].starts); free(tables[1].starts)
    if not ready:
        raise MemoryError("no memory for a table of knots")
    return <double>inner
