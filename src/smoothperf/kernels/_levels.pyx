"""Levels of a linear-fractional loss: the smoothed risk (fractional-smoothed) of sorted margins.

For each level t of a grid the best flips with ``delta(B, C) >= t``, less a square, are ramps: one multiplier is sought,
the root of an increasing piecewise linear function, whose sums are differences of prefix sums. After sorting all this
takes far less time than a pass over the examples.
"""

from libc.math cimport INFINITY, NAN, exp, fabs, log
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

import numpy as np

from ._lengths cimport check_room
from ._sides cimport Loss, Side, loss_at, loss_of, mass_of, side_of, weight_of

cdef enum:
    MOST_STEPS = 1000  # of the root finder: never reached
    CREEPING = 3       # steps in a row from one side that do not get much closer
    FIRST_LEVELS = 64
    MOST_LEVELS = 4096
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


cdef struct Flips:
    # Of one side at the ramp beta = clip(1/2 + (z - x) / w, 0, 1).
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


cdef inline double _term(const Side* side, Py_ssize_t j, double end, bint squared) noexcept nogil:
    cdef double gap = end - side.x[j]
    return weight_of(side, j) * (gap * gap if squared else gap)


cdef inline double _sum_of_few(
    const Side* side, Py_ssize_t j, Py_ssize_t stop, double end, bint squared
) noexcept nogil:
    """Sum of ``c (end - x)``, or of ``c (end - x)^2``, over a few examples, one by one."""
    cdef double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0   # so that no addition waits for the one before
    while j + 4 <= stop:
        s0 += _term(side, j, end, squared)
        s1 += _term(side, j + 1, end, squared)
        s2 += _term(side, j + 2, end, squared)
        s3 += _term(side, j + 3, end, squared)
        j += 4
    while j < stop:
        s0 += _term(side, j, end, squared)
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
    full = mass_of(side, flips.full)
    flips.active = mass_of(side, flips.reached) - full
    # Sums of |c x| exceed those of c x by no more than twice the lowest of these.
    sizes = fabs(side.first[flips.reached]) + fabs(side.first[flips.full])
    doubt = 2.0 * EPS * sizes + side.drift * (sizes + 4.0 * fabs(side.lowest))
    if count <= few or (count <= FEW and doubt > CRUDE * w * flips.active):
        ramp = _sum_of_few(side, flips.full, flips.reached, end, False)
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
    cdef double end = z + 0.5 * w, full = mass_of(side, flips.full), square, first
    if flips.reached - flips.full <= FEW:
        square = _sum_of_few(side, flips.full, flips.reached, end, True)
    else:
        first = side.first[flips.reached] - side.first[flips.full]
        square = end * (end * flips.active - 2.0 * first) + (side.second[flips.reached] - side.second[flips.full])
    square = min(max(square, 0.0), w * w * flips.active)
    flips.huber = <long double>(end - 0.5 * w) * full - side.first[flips.full] + 0.5 * square / w


cdef struct Problem:
    Side pos, neg
    Loss loss
    double slope, w
    int64_t count
    Flips pos_flips, neg_flips   # the latest
    Flips pos_free, neg_free     # without the constraint
    long double free_value
    double free_loss
    int steps                    # the most that a search took


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


cdef double _lowered(const Loss* loss, double b, double c, double b_wobble, double c_wobble) noexcept nogil:
    """Amount by which delta may be less if its arguments have errors: twice the derivatives there."""
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


cdef Level _top_level(Problem* problem) noexcept nogil:
    """The level t = 1: all positives are missed, and the negatives are free."""
    cdef Level level
    cdef Flips* pos = &problem.pos_flips
    cdef double top = problem.pos.x[problem.pos.size - 1], z = top + problem.w + 8.0 * EPS * fabs(top)
    _flip(&problem.pos, z, problem.w, pos, FEW)
    _add_huber(&problem.pos, z, problem.w, pos)
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
    cdef double pos_top = problem.pos.x[problem.pos.size - 1], neg_top = problem.neg.x[problem.neg.size - 1]
    search.k = k
    search.t = <double>k / <double>problem.count
    search.u, search.v = problem.loss.p + problem.loss.r * search.t, 1.0 - search.t
    search.wanted = search.t * problem.loss.M
    search.low = 0.0
    search.high = max((pos_top + half) / search.u, (neg_top + half) / search.v)
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
    level.loss = loss_at(&problem.loss, pos.mass, neg.mass)
    level.wobble = _lowered(&problem.loss, pos.mass, neg.mass, pos.wobble, neg.wobble)
    return level


cdef void _look_closer(Problem* problem, Search* search) noexcept nogil:
    """Another step of Newton's method, with sums that have all digits, close to the root."""
    cdef Flips* pos = &problem.pos_flips
    cdef Flips* neg = &problem.neg_flips
    cdef double rate, zeta, w = problem.w
    _flip(&problem.pos, search.zeta * search.u, w, pos, FEW)
    _flip(&problem.neg, search.zeta * search.v, w, neg, FEW)
    rate = (search.u * search.u * pos.active + search.v * search.v * neg.active) / w
    if rate > 0.0:
        zeta = search.zeta - (search.u * pos.mass + search.v * neg.mass - search.wanted) / rate
        if fabs(zeta - search.zeta) <= NEARBY * search.zeta:
            search.zeta = zeta
            _flip(&problem.pos, zeta * search.u, w, pos, FEW)
            _flip(&problem.neg, zeta * search.v, w, neg, FEW)


cdef Level _level(Problem* problem, int64_t k, double start) noexcept nogil:
    """The best flips with ``delta >= k / count``: a root of one increasing piecewise linear function of zeta >= 0."""
    cdef Search search
    cdef Flips* pos = &problem.pos_flips
    cdef Flips* neg = &problem.neg_flips
    if problem.free_loss >= <double>k / <double>problem.count:
        return _free_level(problem, k)
    if k == problem.count:
        return _top_level(problem)
    search = _search(problem, k, start)
    while True:
        _flip(&problem.pos, search.zeta * search.u, problem.w, pos, 0)
        _flip(&problem.neg, search.zeta * search.v, problem.w, neg, 0)
        if not _advance(&search, pos, neg, problem.w):
            break
    if min(pos.reached - pos.full, neg.reached - neg.full) <= FEW:
        _look_closer(problem, &search)
    problem.steps = max(problem.steps, search.steps)
    _add_huber(&problem.pos, search.zeta * search.u, problem.w, pos)
    _add_huber(&problem.neg, search.zeta * search.v, problem.w, neg)
    return _found(problem, &search, pos, neg)


cdef void _open(Problem* problem) noexcept nogil:
    """Flips without the constraint."""
    cdef Flips* pos = &problem.pos_flips
    cdef Flips* neg = &problem.neg_flips
    problem.steps = 0
    pos.full = pos.reached = neg.full = neg.reached = 0
    _flip(&problem.pos, 0.0, problem.w, pos, FEW)
    _flip(&problem.neg, 0.0, problem.w, neg, FEW)
    _add_huber(&problem.pos, 0.0, problem.w, pos)
    _add_huber(&problem.neg, 0.0, problem.w, neg)
    problem.pos_free, problem.neg_free = pos[0], neg[0]
    problem.free_loss = loss_at(&problem.loss, pos.mass, neg.mass)
    problem.free_value = problem.slope * (pos.huber + neg.huber)


def level_sets(positives, negatives, fractional_loss, double slope, double w, double nu, int64_t count):
    """Soft maximum over the levels ``t = k / count``, k = 0, ..., count, of t plus the best flips.

    That is, ``nu log mean exp(. / nu)`` of ``t + slope max sum c (-x beta + (w/2) beta (1 - beta))`` over the flips with
    ``delta(B, C) >= t``.

    The value of a level less t falls with t. So a level bounds those behind it: the value rises by no more than t
    does. Levels that cannot matter are not looked at: blocks of levels are halved, from coarse to fine. Where too many
    are left, only the first of each block is looked at, and the value is lower by less than a block.

    Parameters
    ----------
    positives, negatives : Side
        Sorted.
    fractional_loss : FractionalLoss
        delta.
    slope, w, nu, count : float
        As above.

    Returns
    -------
    value : float
        The soft maximum.
    offset : float
        Mean of delta over the levels, weighted by their share of the soft maximum.
    wobble : float
        Rounding error of the offset, as the mean over the levels.
    levels : ndarray of shape (5, m)
        Of the levels that matter: k, delta of the flips, share of the soft maximum, and the places z of the ramps of
        negatives and of positives.
    steps : int
        The most that a search took.
    """
    cdef Problem problem
    cdef Py_ssize_t size = 0, next_size, i
    cdef int64_t block, k
    cdef double best = -INFINITY, cut = nu * (NEGLIGIBLE + log(<double>count)), total = 0.0, share, t
    cdef double offset = 0.0, wobble = 0.0
    cdef long double peak = -INFINITY
    cdef Level* levels
    cdef Level* following
    cdef Level top
    cdef double[:, ::1] view
    problem.pos, problem.neg = side_of(positives), side_of(negatives)
    check_room("positives", problem.pos.size, 1)
    check_room("negatives", problem.neg.size, 1)
    levels = <Level*>malloc((2 * MOST_LEVELS + 1) * sizeof(Level))
    following = <Level*>malloc((2 * MOST_LEVELS + 1) * sizeof(Level))
    if levels == NULL or following == NULL:
        free(levels); free(following)
        raise MemoryError("no memory for levels")
    problem.loss = loss_of(fractional_loss)
    problem.slope, problem.w, problem.count = slope, w, count
    with nogil:
        _open(&problem)
        block = max(count // FIRST_LEVELS, <int64_t>1)
        k = 0
        while k < count:
            levels[size] = _level(&problem, k, levels[size - 1].root if size > 0 else 0.0)
            best = max(best, <double>levels[size].value)
            size += 1
            k += block
        top = _level(&problem, count, 0.0)
        best = max(best, <double>top.value)
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
                following[next_size + 1] = _level(&problem, levels[i].k + block, levels[i].root)
                best = max(best, <double>following[next_size + 1].value)
                next_size += 2
            levels, following = following, levels
            size = next_size
        levels[size] = top
        size += 1
        next_size = 0
        for i in range(size):
            if <double>levels[i].value >= best - cut:
                levels[next_size] = levels[i]
                peak = max(peak, levels[i].value)
                next_size += 1
        size = next_size
    table = np.empty((5, size))
    view = table
    for i in range(size):
        t = <double>levels[i].k / <double>count
        share = exp(<double>(levels[i].value - peak) / nu)
        total += share
        offset += share * levels[i].loss
        wobble += share * levels[i].wobble
        view[0, i], view[1, i], view[2, i] = <double>levels[i].k, levels[i].loss, share
        view[3, i], view[4, i] = levels[i].root * (1.0 - t), levels[i].root * (problem.loss.p + problem.loss.r * t)
    free(levels); free(following)
    if size == 0:
        raise ValueError("no level has a value: scores must be finite, and not too large to be squared")
    for i in range(size):
        view[2, i] /= total
    value = <double>peak + nu * log(total * block / (count + block))
    return value, offset / total, wobble / total, table, problem.steps


def ramp_masses(side, const double[::1] z, double w):
    """Weights ``sum c clip(1/2 + (z[k] - x) / w, 0, 1)`` that ramps flip of a side, or less by what rounding may add."""
    cdef Side this = side_of(side)
    cdef Flips flips
    cdef Py_ssize_t k
    masses = np.empty(z.shape[0])
    cdef double[::1] view = masses
    flips.full = flips.reached = 0
    with nogil:
        for k in range(z.shape[0]):
            _flip(&this, z[k], w, &flips, FEW)
            view[k] = max(flips.mass - flips.wobble, 0.0)
    return masses
