"""Linear-fractional losses of missed and false positives, maximised against sorted margins.

A *side* is one class: margins ``x = y f`` sorted upwards, and prefix sums of the weights c, of ``c x`` and ``c x^2``. A
flip ``beta`` in [0, 1] of an example costs its margin. With B and C the flipped weights of the two sides, the loss is

    delta(B, C) = (p B + C) / (M - r B + C)                                                  (fractional-loss)

    best_flips    max over beta of  delta(B, C) - s sum c x beta                             (fractional-risk)
    level_sets    the same smoothed: for each level t of a grid the best flips with delta >= t, less a square, and over
                  the levels a soft maximum                                                  (fractional-smoothed)
    flip_exact, flip_smoothed    one pass over the examples, unsorted: what the flips are for each of them

After sorting, the first two take far less time than a pass over the examples: they only search.
"""

from libc.float cimport LDBL_EPSILON
from libc.math cimport INFINITY, exp, fabs, log, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, qsort, realloc

import numpy as np

cdef enum:
    BLOCK = 512        # terms of a sum that are added up in double precision
    MOST_STEPS = 1000  # of the root finder: never reached
    CREEPING = 3       # steps in a row from one side
    FIRST_LEVELS = 64
    MOST_LEVELS = 4096

cdef double EPS = 2.220446049250313e-16
#: Levels whose share of the soft maximum is below exp(-this) times that of the best are left out.
cdef double NEGLIGIBLE = 40.0


cdef struct Side:
    const double* x
    const double* mass    # NULL for unit weights
    const double* first
    const double* second
    Py_ssize_t size
    double lowest   # of the sums of c x
    double drift    # relative error of the accumulators


cdef struct Loss:
    double p, r, M


cdef struct Flips:
    # Of one side at the ramp beta = clip(1/2 + (z - x) / w, 0, 1).
    Py_ssize_t full, reached   # as many have x <= z - w/2, where beta = 1; as many have x <= z + w/2
    double mass                # sum c beta
    double active              # weight of what has neither beta = 0 nor 1, and grows with z
    double huber               # sum c ((z - x) beta + w beta (1 - beta) / 2)
    double wobble              # rounding error of the mass


cdef struct Level:
    int64_t k
    double value       # t + V_mu(t)
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


cdef void _flip(const Side* side, double z, double w, Flips* flips) noexcept nogil:
    """Everything about one side at z; ``flips`` holds the result for a z nearby."""
    cdef double full, ramp, square, first, first_full, sizes, doubt
    z += 0.5 * w
    flips.reached = _up_to(side, z, flips.reached)
    flips.full = _up_to(side, z - w, flips.full)
    full = _mass(side, flips.full)
    first_full = side.first[flips.full]
    flips.active = _mass(side, flips.reached) - full
    first = side.first[flips.reached] - first_full
    # What the sums must be between, whatever their rounding.
    ramp = min(max(z * flips.active - first, 0.0), w * flips.active)
    square = z * (z * flips.active - 2.0 * first) + (side.second[flips.reached] - side.second[flips.full])
    square = min(max(square, 0.0), w * ramp)
    flips.mass = full + ramp / w
    flips.huber = (z - 0.5 * w) * full - first_full + 0.5 * square / w
    # Sums of |c x| exceed those of c x by no more than twice the lowest of these.
    sizes = fabs(side.first[flips.reached]) + fabs(first_full)
    doubt = 2.0 * EPS * (fabs(z) * flips.active + sizes) + side.drift * (sizes + 4.0 * fabs(side.lowest))
    flips.wobble = min(doubt / w, flips.active) + 4.0 * EPS * flips.mass


def prefix_sums(const double[::1] x, const double[::1] weights, double[::1] mass, double[::1] first, double[::1] second):
    """Fill in the sums of c, c x and c x^2 over the first 0, 1, ..., m entries; ``weights`` and ``mass`` may be None."""
    cdef Py_ssize_t j, m = x.shape[0]
    cdef long double s0 = 0.0, s1 = 0.0, s2 = 0.0
    cdef double c
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


cdef Side _side(const double[::1] x, const double[::1] mass, const double[::1] first, const double[::1] second):
    cdef Side side
    side.x = &x[0]
    side.mass = NULL if mass is None else &mass[0]
    side.first = &first[0]
    side.second = NULL if second is None else &second[0]
    side.size = x.shape[0]
    side.lowest = side.first[_up_to(&side, 0.0, 0)]
    side.drift = 2.0 * side.size * <double>LDBL_EPSILON
    return side


# --- exactly ----------------------------------------------------------------------------------------------------


cdef double _best_false(const Side* side, const Loss* loss, double slope, double b, double* c) noexcept nogil:
    """``max over c of delta(b, c) - s sum of the smallest margins of weight c``: concave in c, so a binary search."""
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
    if low > 0:
        down, up, x = _mass(side, low - 1), _mass(side, low), side.x[low - 1]
        c[0] = up
        if x > 0.0:
            c[0] = min(max(sqrt(rise / (slope * x)) - base, down), up)
        cost = slope * (side.first[low - 1] + x * (c[0] - down))
    return _loss(loss, b, c[0]) - cost


def best_flips(
    const double[::1] x_p, const double[::1] mass_p, const double[::1] first_p,
    const double[::1] x_n, const double[::1] mass_n, const double[::1] first_n,
    double p, double r, double M, double slope,
):
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
    cdef Side pos = _side(x_p, mass_p, first_p, None), neg = _side(x_n, mass_n, first_n, None)
    cdef Loss loss
    cdef Py_ssize_t low, high, middle, left, right, best_index, visited = 2, depth = 1, room = 64
    cdef Py_ssize_t* ends = <Py_ssize_t*>malloc(2 * room * sizeof(Py_ssize_t))
    cdef double* values = <double*>malloc(2 * room * sizeof(double))
    cdef void* grown
    cdef double best, best_c, c = 0.0, value, rate, bound, at_left, at_right, G, b_left, b_right, size
    cdef bint failed = ends == NULL or values == NULL
    loss.p, loss.r, loss.M = p, r, M
    if failed:
        free(ends); free(values)
        raise MemoryError("no memory for a search")
    with nogil:
        ends[0], ends[1] = 0, pos.size
        values[0] = _best_false(&neg, &loss, slope, 0.0, &c)
        best, best_index, best_c = values[0], 0, c
        values[1] = _best_false(&neg, &loss, slope, _mass(&pos, pos.size), &c)
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
            low, high = left, right
            while low < high:
                middle = (low + high) // 2
                if slope * pos.x[middle] < rate:
                    low = middle + 1
                else:
                    high = middle
            if low == left or low == right:
                continue
            bound = at_left + rate * (_mass(&pos, low) - b_left) - slope * pos.first[low]
            size = 1.0 + fabs(at_left) + fabs(at_right) + slope * fabs(pos.first[low])
            if bound <= best + 4.0 * EPS * size:
                continue
            G = _best_false(&neg, &loss, slope, _mass(&pos, low), &c)
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
    with nogil:
        while i < n:
            end = min(i + BLOCK, n)
            block = 0.0
            while i < end:
                side = positive[i]
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
    Side pos, neg
    Loss loss
    double slope, w
    Flips pos_free, neg_free   # without the constraint
    double free_value, free_loss


cdef double _lowered(const Loss* loss, double b, double c, double b_wobble, double c_wobble) noexcept nogil:
    """How much less delta may be if its arguments have errors: twice the derivatives there."""
    cdef double reach = loss.M - loss.r * b + c
    cdef double by_b = (loss.p * loss.M + (loss.p + loss.r) * c) / (reach * reach)
    cdef double by_c = max(loss.M - (loss.p + loss.r) * b, 0.0) / (reach * reach)
    return 2.0 * (by_b * b_wobble + by_c * c_wobble) + 8.0 * EPS


cdef Level _level(const Problem* problem, int64_t k, int64_t count, double start, Flips* pos, Flips* neg) noexcept nogil:
    """The best flips with ``delta >= k / count``: a root of one increasing piecewise linear function of zeta >= 0."""
    cdef const Loss* loss = &problem.loss
    cdef double w = problem.w, t = <double>k / <double>count, u = loss.p + loss.r * t, v = 1.0 - t
    cdef double zeta, low = 0.0, high, excess, rate, following, wanted = t * loss.M, half, z
    cdef Py_ssize_t pos_full = -1, pos_reached = -1, neg_full = -1, neg_reached = -1
    cdef double stride = 0.0
    cdef bint straight = False, from_left = True
    cdef Level level
    cdef int step, same_side = 0
    level.k = k
    if problem.free_loss >= t:
        level.value = t + problem.free_value
        level.root = 0.0
        level.loss = problem.free_loss
        level.wobble = _lowered(
            loss, problem.pos_free.mass, problem.neg_free.mass, problem.pos_free.wobble, problem.neg_free.wobble
        )
        return level
    if k == count:   # all positives are missed, and the negatives are free
        z = problem.pos.x[problem.pos.size - 1]
        z += w + 8.0 * EPS * fabs(z)
        _flip(&problem.pos, z, w, pos)
        level.value = 1.0 + problem.slope * (pos.huber - z * pos.mass + problem.neg_free.huber)
        level.root = z / u
        level.loss = 1.0
        level.wobble = _lowered(loss, pos.mass, problem.neg_free.mass, pos.wobble, problem.neg_free.wobble)
        return level
    half = 0.5 * w
    high = max((problem.pos.x[problem.pos.size - 1] + half) / u, (problem.neg.x[problem.neg.size - 1] + half) / v)
    high = max(high * (1.0 + 4.0 * EPS), 0.0)
    zeta = min(max(start, 0.0), high)
    for step in range(MOST_STEPS):
        _flip(&problem.pos, zeta * u, w, pos)
        _flip(&problem.neg, zeta * v, w, neg)
        excess = u * pos.mass + v * neg.mass - wanted
        if fabs(excess) <= 2.0 * EPS * wanted:
            break
        if straight and pos.full == pos_full and pos.reached == pos_reached and (
            neg.full == neg_full and neg.reached == neg_reached
        ):
            break   # on the linear piece that Newton's step was made for
        pos_full, pos_reached, neg_full, neg_reached = pos.full, pos.reached, neg.full, neg.reached
        if excess < 0.0:
            low = zeta
        else:
            high = zeta
        rate = (u * u * pos.active + v * v * neg.active) / w
        if rate > 0.0:
            following = zeta - excess / rate
        elif excess < 0.0:   # flat up to where the next ramp begins
            following = INFINITY
            if pos.reached < problem.pos.size:
                following = (problem.pos.x[pos.reached] - half) / u
            if neg.reached < problem.neg.size:
                following = min(following, (problem.neg.x[neg.reached] - half) / v)
        else:
            following = low
        same_side = same_side + 1 if (excess < 0.0) == from_left else 0
        from_left = excess < 0.0
        straight = rate > 0.0 and same_side < CREEPING
        if same_side >= CREEPING:   # along narrow ramps, from one to the next: make longer steps
            stride = 4.0 * max(stride, fabs(following - zeta) if fabs(following) < INFINITY else 0.0)
            following = zeta + (stride if from_left else -stride)
        if not low < following < high:
            following = 0.5 * (low + high)
            straight = False
        stride = fabs(following - zeta)
        if not low < following < high:
            break   # no number is left between the two
        zeta = following
    level.value = t + problem.slope * (pos.huber + neg.huber - zeta * wanted)
    level.root = zeta
    level.loss = _loss(loss, pos.mass, neg.mass)
    level.wobble = _lowered(loss, pos.mass, neg.mass, pos.wobble, neg.wobble)
    return level


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
        if outer >= 0 and steps[outer].z >= steps[inner].z - w:
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
    cdef Step* steps = <Step*>malloc(m * sizeof(Step))
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


def level_sets(
    const double[::1] x_p, const double[::1] mass_p, const double[::1] first_p, const double[::1] second_p,
    const double[::1] x_n, const double[::1] mass_n, const double[::1] first_n, const double[::1] second_n,
    double p, double r, double M, double slope, double w, double nu, int64_t count,
):
    """Soft maximum over the levels ``t = k / count``, k = 0, ..., count, of t plus the best flips with ``delta >= t``.

    That is, of ``t + slope max sum c (-x beta + (w/2) beta (1 - beta))`` over the flips with ``delta(B, C) >= t``.

    The value of a level less t falls with t. So a level bounds those behind it: the value rises by no more than t
    does. Levels that cannot matter are not looked at: blocks of levels are halved, from coarse to fine.

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
    cdef Problem problem
    cdef Py_ssize_t size = 0, next_size, i
    cdef int64_t block, k
    cdef double best, cut = nu * (NEGLIGIBLE + log(<double>count)), total, offset, wobble, share, t
    cdef Level* levels = <Level*>malloc((2 * MOST_LEVELS + 1) * sizeof(Level))
    cdef Level* following = <Level*>malloc((2 * MOST_LEVELS + 1) * sizeof(Level))
    cdef Step* steps = NULL
    cdef Level top
    cdef Flips pos, neg
    cdef double[:, ::1] pos_table, neg_table
    if levels == NULL or following == NULL:
        free(levels); free(following)
        raise MemoryError("no memory for levels")
    problem.pos = _side(x_p, mass_p, first_p, second_p)
    problem.neg = _side(x_n, mass_n, first_n, second_n)
    problem.loss.p, problem.loss.r, problem.loss.M = p, r, M
    problem.slope, problem.w = slope, w
    with nogil:
        pos.full = pos.reached = neg.full = neg.reached = 0
        _flip(&problem.pos, 0.0, w, &pos)
        _flip(&problem.neg, 0.0, w, &neg)
        problem.pos_free, problem.neg_free = pos, neg
        problem.free_loss = _loss(&problem.loss, pos.mass, neg.mass)
        problem.free_value = slope * (pos.huber + neg.huber)
        block = max(count // FIRST_LEVELS, <int64_t>1)
        best = -INFINITY
        k = 0
        while k < count:
            levels[size] = _level(
                &problem, k, count, levels[size - 1].root if size > 0 else 0.0, &pos, &neg
            )
            best = max(best, levels[size].value)
            size += 1
            k += block
        top = _level(&problem, count, count, 0.0, &pos, &neg)
        best = max(best, top.value)
        while block > 1:
            next_size = 0
            for i in range(size):
                if levels[i].value + <double>(block - 1) / <double>count >= best - cut:
                    levels[next_size] = levels[i]
                    next_size += 1
            size = next_size
            if size > MOST_LEVELS:
                break
            block //= 2
            next_size = 0
            for i in range(size):
                following[next_size] = levels[i]
                following[next_size + 1] = _level(
                    &problem, levels[i].k + block, count, levels[i].root, &pos, &neg
                )
                best = max(best, following[next_size + 1].value)
                next_size += 2
            levels, following = following, levels
            size = next_size
        levels[size] = top
        size += 1
        next_size = 0
        total = offset = wobble = 0.0
        for i in range(size):
            if levels[i].value >= best - cut:
                share = exp((levels[i].value - best) / nu)
                total += share
                offset += share * levels[i].loss
                wobble += share * levels[i].wobble
                levels[next_size] = levels[i]
                next_size += 1
        size = next_size
        steps = <Step*>malloc(size * sizeof(Step))
    if steps == NULL:
        free(levels); free(following)
        raise MemoryError("no memory for levels")
    tables = np.empty((3, 2 * size)), np.empty((3, 2 * size))
    neg_table, pos_table = tables
    with nogil:
        for i in range(size):
            t = <double>levels[i].k / <double>count
            share = exp((levels[i].value - best) / nu) / total
            steps[i] = Step(levels[i].root * (1.0 - t), share)
        _ramps(steps, size, w, neg_table)
        for i in range(size):
            t = <double>levels[i].k / <double>count
            share = exp((levels[i].value - best) / nu) / total
            steps[i] = Step(levels[i].root * (p + r * t), share)
        _ramps(steps, size, w, pos_table)
        free(levels); free(following); free(steps)
    return (
        best + nu * log(total * block / (count + block)),
        offset / total,
        wobble / total,
        <double>(block - 1) / <double>count,
        tables,
    )


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
        place = min(<Py_ssize_t>((table.knots[i] - table.origin) * table.scale), table.buckets - 1)
        while b <= place:
            table.starts[b] = <int32_t>i
            b += 1
    while b <= table.buckets:
        table.starts[b] = <int32_t>table.size
        b += 1
    return True


cdef inline double _beta(const Table* table, double x) noexcept nogil:
    """The mixture of ramps at x: 1 before the first knot, 0 from the last on."""
    cdef Py_ssize_t bucket, low, high, middle
    if x >= table.knots[table.size - 1]:
        return 0.0
    if x < table.knots[0]:
        return 1.0
    bucket = <Py_ssize_t>((x - table.origin) * table.scale)
    bucket = bucket if bucket < table.buckets else table.buckets - 1
    low = table.starts[bucket]
    if table.knots[low] <= x:   # most buckets hold no knot
        low += 1
        high = table.starts[bucket + 1]
        while low < high:
            middle = (low + high) // 2
            if table.knots[middle] <= x:
                low = middle + 1
            else:
                high = middle
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
    tables[0].starts = tables[1].starts = NULL
    with nogil:
        ready = _index(neg_table, &tables[0]) and _index(pos_table, &tables[1])
        while ready and i < n:
            end = min(i + BLOCK, n)
            block = 0.0
            while i < end:
                side = positive[i]
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
