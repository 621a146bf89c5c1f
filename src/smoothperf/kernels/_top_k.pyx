"""Projection onto the capped simplex, in two passes over the examples and a few over the undecided ones.

    v_i = t_i + (slope f_i - gain [i positive]) / mu
    u_i = clip(v_i - tau, 0, 1)     with tau such that   sum_i c_i u_i = total

``tau`` is the root of a decreasing piecewise-linear function. If it is known to lie in an interval, most examples
are decided: u = 1 above, u = 0 below. The steps:

    collect    one pass; keeps the v of the undecided examples, and sums the weight of those above
    root       safeguarded Newton iteration on what was kept
    threshold  where to cut if u had to be 0 or 1: it gives an upper bound of the risk that is not smoothed
    finish     one pass; u, the gradient and all sums

:mod:`smoothperf.kernels.capped_simplex` puts them together. ``collect`` and ``finish`` take a range of rows.

Accuracy. Sums run in double over blocks of 512 and in long double across blocks: a relative error of at most
``512 eps + (n / 512) eps_long``. How far ``sum c u`` ends up from ``total`` is measured and returned, not assumed.
The file is compiled on the assumption that all numbers are finite, which lets the compiler vectorise.
"""

from libc.math cimport fabs
from libc.stddef cimport ptrdiff_t

cdef extern from "_top_k_loops.h":
    ctypedef struct top_k_line:
        double scale, shift, shift_step, target_negative, target_step, slope, tau, theta

    ctypedef struct top_k_kept:
        ptrdiff_t n_negative, n_positive
        double above

    ctypedef struct top_k_sums:
        long double missed, mass, inner, prox, violation

    top_k_sums finish_plain(
        const double* f, const unsigned char* label, double* gradient, ptrdiff_t n, top_k_line line
    ) noexcept nogil
    top_k_sums finish_weighted(
        const double* f, const unsigned char* label, const double* c, double* gradient, ptrdiff_t n, top_k_line line
    ) noexcept nogil
    void collect_plain(
        const double* f, const unsigned char* label, double* kept, ptrdiff_t n, top_k_line line, double low,
        double high, top_k_kept* result
    ) noexcept nogil
    void collect_weighted(
        const double* f, const unsigned char* label, const double* c, double* kept, double* kept_weights,
        ptrdiff_t n, top_k_line line, double low, double high, top_k_kept* result
    ) noexcept nogil

cdef enum:
    BLOCK = 512


#: Up to this ``tau`` is fine enough: its rounding changes no u by more than 100 units in the last place.
cdef double FINE = 100.0
#: The faster loops take tau off first, and so round v other than the root finder does: up to this size of what v is
#: made of, by no more than some thousand units in the last place of u.
cdef double SMALL = 1000.0


cdef struct Sums:
    long double mass     # sum_i c_i clip(v_i - tau, 0, 1)
    long double active   # sum of c_i over 0 < v_i - tau < 1


cdef inline double _clip(double x) noexcept nogil:
    x = x if x > 0.0 else 0.0
    return x if x < 1.0 else 1.0


cdef Sums _sums_at(double tau, const double* v, const double* c, Py_ssize_t n) noexcept nogil:
    """One pass; ``c`` is NULL for unit weights. The two loops are written out so that the compiler vectorises both."""
    cdef Sums sums
    cdef Py_ssize_t i, begin = 0, end
    cdef double u, mass, active
    sums.mass = 0.0
    sums.active = 0.0
    while begin < n:
        end = min(begin + <Py_ssize_t>BLOCK, n)
        mass = 0.0
        active = 0.0
        if c == NULL:
            for i in range(begin, end):
                u = _clip(v[i] - tau)
                mass += u
                active += (1.0 if u > 0.0 else 0.0) - (0.0 if u < 1.0 else 1.0)
        else:
            for i in range(begin, end):
                u = _clip(v[i] - tau)
                mass += c[i] * u
                active += c[i] * ((1.0 if u > 0.0 else 0.0) - (0.0 if u < 1.0 else 1.0))
        sums.mass += mass
        sums.active += active
        begin = end
    return sums


def collect(
    const double[::1] scores,
    const unsigned char[::1] positive,
    const double[::1] weights,
    double scale,
    double shift,
    double shift_step,
    double low,
    double high,
    double[::1] kept,
    double[::1] kept_weights,
    Py_ssize_t start,
    Py_ssize_t stop,
):
    """Keep ``v_i = scale f_i + shift + shift_step [i positive]`` of the rows with ``low < v_i < high``.

    Those of negatives go to the front of ``kept[start:stop]``, those of positives to its back, in reverse.

    Returns
    -------
    n_negative, n_positive : int
        How many of each were kept.
    above : float
        Weight of the rows with ``v_i >= high``.
    """
    cdef const double* f = &scores[start]
    cdef const unsigned char* label = &positive[start]
    cdef const double* c = &weights[start] if weights is not None else NULL
    cdef double* v = &kept[start]
    cdef double* w = &kept_weights[start] if weights is not None else NULL
    cdef top_k_line line
    cdef top_k_kept result
    line.scale = scale
    line.shift = shift
    line.shift_step = shift_step
    with nogil:
        if c == NULL:
            collect_plain(f, label, v, stop - start, line, low, high, &result)
        else:
            collect_weighted(f, label, c, v, w, stop - start, line, low, high, &result)
    return result.n_negative, result.n_positive, result.above


def root(
    const double[::1] values,
    const double[::1] weights,
    double above,
    double total,
    double start,
    double low,
    double high,
    bint certain,
):
    """Solve ``above + sum_i c_i clip(v_i - tau, 0, 1) = total`` for ``low <= tau <= high``, from ``start``.

    ``certain`` says that the root is known to lie there.

    Returns
    -------
    tau : float
        The root; or the end of the interval beyond which it lies.
    outside : int
        -1 if the root lies below ``low``, 1 if above ``high``, 0 if it was found.
    correction : float
        What every active ``u`` should get in addition, to make up for the rounding of a large ``tau``.
    other, blend : float
        If ``blend > 0``, no number is the root: mix ``(1 - blend) u(tau) + blend u(other)``.
    """
    cdef Py_ssize_t n = values.shape[0], n_pass = 0
    cdef const double* v = &values[0] if n > 0 else NULL
    cdef const double* c = &weights[0] if weights is not None and n > 0 else NULL
    cdef double tau, left = low, right = high, step, candidate, correction = 0.0, blend = 0.0
    cdef bint left_seen = certain, right_seen = certain, stuck = False
    cdef int outside = 0
    cdef long double mass_left
    cdef Sums p
    with nogil:
        tau = min(max(start, low), high)
        while True:
            p = _sums_at(tau, v, c, n)
            p.mass += above
            n_pass += 1
            step = <double>(p.mass - total)
            if fabs(step) <= 1e-15 * total:
                break
            if step > 0.0:
                if tau == high and not certain:
                    outside = 1
                    break
                left = tau
                left_seen = True
            else:
                if tau == low and not certain:
                    outside = -1
                    break
                right = tau
                right_seen = True
            candidate = tau + step / <double>p.active if p.active > 0.0 else (right if step > 0.0 else left)
            if candidate >= right:
                candidate = 0.5 * (left + right) if right_seen else right
            elif candidate <= left:
                candidate = 0.5 * (left + right) if left_seen else left
            # Newton has landed when the step no longer changes anything but the last digits of sum u.
            if p.active > 0.0 and fabs(step) <= 1e-9 * total and fabs(candidate - tau) <= 1e-14 * (fabs(tau) + 1.0):
                break
            if (candidate <= left and left_seen) or (candidate >= right and right_seen) or n_pass == 200:
                stuck = True   # the bracket holds no further number: scores over mu are too large to resolve [0, 1]
                break
            tau = candidate
        if stuck:
            # A mixture of the two ends of the bracket sums to the total, and ties share what is left.
            p = _sums_at(left, v, c, n)
            mass_left = p.mass + above
            p = _sums_at(right, v, c, n)
            p.mass += above
            tau = left
            blend = <double>((mass_left - total) / (mass_left - p.mass)) if mass_left > p.mass else 0.0
        elif p.active > 0.0 and outside == 0 and fabs(tau) > FINE:
            # What is left, at most a few units in the last place of tau per active example, is shared out among them.
            correction = <double>((total - p.mass) / p.active)
    return tau, outside, correction, right, blend


cdef double _weight_above(double x, const double* v, const double* c, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef double total = 0.0
    if c == NULL:
        for i in range(n):
            total += 1.0 if v[i] > x else 0.0
    else:
        for i in range(n):
            total += c[i] if v[i] > x else 0.0
    return total


cdef Py_ssize_t _keep_between(
    double low, double high, double* v, double* c, Py_ssize_t n, double* above
) noexcept nogil:
    """Move the ``low < v <= high`` to the front, add the weight of those above to ``above``, return how many are left."""
    cdef Py_ssize_t i, kept = 0
    cdef double x, w
    for i in range(n):
        x = v[i]
        w = c[i] if c != NULL else 1.0
        above[0] += w if x > high else 0.0
        v[kept] = x
        if c != NULL:
            c[kept] = w
        kept += (x > low) & (x <= high)
    return kept


def threshold(
    double[::1] negatives,
    double[::1] positives,
    double[::1] negative_weights,
    double[::1] positive_weights,
    double target_negative,
    double target_positive,
    double above,
    double total,
    double low,
    double high,
    int halvings,
):
    """Bisect for the cut with weight ``total`` above it: ``theta`` such that ``v_i - t_i > theta`` for that much.

    The values, and their weights if there are any, serve as scratch: they are in another order afterwards.
    """
    cdef Py_ssize_t n0 = negatives.shape[0], n1 = positives.shape[0]
    cdef double* v0 = &negatives[0] if n0 > 0 else NULL
    cdef double* v1 = &positives[0] if n1 > 0 else NULL
    cdef double* c0 = &negative_weights[0] if negative_weights is not None and n0 > 0 else NULL
    cdef double* c1 = &positive_weights[0] if positive_weights is not None and n1 > 0 else NULL
    cdef double theta = 0.5 * (low + high), weight
    with nogil:
        n0 = _keep_between(low + target_negative, high + target_negative, v0, c0, n0, &above)
        n1 = _keep_between(low + target_positive, high + target_positive, v1, c1, n1, &above)
        for _ in range(halvings):
            weight = above + _weight_above(theta + target_negative, v0, c0, n0)
            weight += _weight_above(theta + target_positive, v1, c1, n1)
            if weight > total:
                low = theta
            else:
                high = theta
            theta = 0.5 * (low + high)
    return theta


def finish(
    const double[::1] scores,
    const unsigned char[::1] positive,
    const double[::1] weights,
    double scale,
    double shift,
    double shift_step,
    double target_negative,
    double target_step,
    double slope,
    double tau,
    double correction,
    double other,
    double blend,
    double theta,
    double[::1] gradient,
    Py_ssize_t start,
    Py_ssize_t stop,
):
    """Fill ``gradient = slope c (u - t)`` for a range of rows.

    Returns
    -------
    missed : float
        ``sum_i c_i (t_i - u_i)`` over the positives.
    mass : float
        ``sum_i c_i u_i``.
    inner : float
        ``sum_i c_i f_i (u_i - t_i)``.
    prox : float
        ``sum_i c_i (u_i - t_i)^2 / 2``.
    violation : float
        ``sum_i c_i (max(0, x_i) - t_i x_i)`` with ``x_i = v_i - t_i - theta``.
    """
    cdef const double* f = &scores[0]
    cdef const unsigned char* label = &positive[0]
    cdef const double* c = &weights[0] if weights is not None else NULL
    cdef double* g = &gradient[0]
    cdef Py_ssize_t i, begin = start, end
    cdef double v, u, t, du, x, ci, b_missed, b_mass, b_inner, b_prox, b_violation
    cdef top_k_line line
    cdef top_k_sums sums
    if blend <= 0.0 and correction == 0.0 and fabs(tau) + fabs(shift_step) <= SMALL:
        line.scale = scale
        line.shift = shift
        line.shift_step = shift_step
        line.target_negative = target_negative
        line.target_step = target_step
        line.slope = slope
        line.tau = tau
        line.theta = theta
        with nogil:
            if c == NULL:
                sums = finish_plain(f + start, label + start, g + start, stop - start, line)
            else:
                sums = finish_weighted(f + start, label + start, c + start, g + start, stop - start, line)
    else:
        sums.missed = 0.0
        sums.mass = 0.0
        sums.inner = 0.0
        sums.prox = 0.0
        sums.violation = 0.0
        with nogil:
            while begin < stop:
                end = min(begin + <Py_ssize_t>BLOCK, stop)
                b_missed = 0.0
                b_mass = 0.0
                b_inner = 0.0
                b_prox = 0.0
                b_violation = 0.0
                for i in range(begin, end):
                    t = target_negative + target_step * label[i]
                    v = scale * f[i] + (shift + shift_step * label[i])
                    u = _clip(v - tau)
                    if blend > 0.0:
                        u += blend * (_clip(v - other) - u)
                    u = _clip(u + correction * ((1.0 if u > 0.0 else 0.0) - (0.0 if u < 1.0 else 1.0)))
                    ci = c[i] if c != NULL else 1.0
                    du = u - t
                    x = v - t - theta
                    b_violation += ci * ((x if x > 0.0 else 0.0) - t * x)
                    b_missed -= ci * du * label[i]
                    g[i] = slope * ci * du
                    b_mass += ci * u
                    b_inner += ci * du * f[i]
                    b_prox += 0.5 * ci * du * du
                sums.missed += b_missed
                sums.mass += b_mass
                sums.inner += b_inner
                sums.prox += b_prox
                sums.violation += b_violation
                begin = end
    return (
        <double>sums.missed, <double>sums.mass, <double>sums.inner, <double>sums.prox, <double>sums.violation
    )
