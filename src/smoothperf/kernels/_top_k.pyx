"""The smoothed risk of a measure that predicts a fixed number of positives: a projection onto the capped simplex.

    v_i = t_i + (slope f_i - gain [i positive]) / mu
    u_i = clip(v_i - tau, 0, 1)     with tau such that   sum_i c_i u_i = total

``tau`` is the root of a decreasing piecewise-linear function: a safeguarded Newton iteration finds it in a few
O(n) passes without sorting. v is never stored: it is cheaper to compute than to load.

Accuracy. Sums run in double over blocks of 512 and in long double across blocks: a relative error of at most
``512 eps + (n / 512) eps_long``. How far ``sum c u`` ends up from ``total`` is measured and returned, not assumed.
"""

from libc.math cimport INFINITY, fabs

cdef enum:
    BLOCK = 512


cdef struct Passed:
    long double mass     # sum_i c_i clip(v_i - tau, 0, 1)
    long double active   # sum of c_i over 0 < v_i - tau < 1
    double lowest        # min_i v_i
    double highest       # max_i v_i


cdef inline double _clip(double x) noexcept nogil:
    x = x if x > 0.0 else 0.0
    return x if x < 1.0 else 1.0


cdef Passed _pass(
    const double* f, const unsigned char* positive, const double* c, Py_ssize_t n,
    double scale, const double* shift, double tau,
) noexcept nogil:
    """One pass at a given tau. ``v_i = scale f_i + shift[positive_i]``; ``c`` is NULL for unit weights."""
    cdef Passed out
    cdef Py_ssize_t i, begin, end
    cdef double v, u, inside, lowest = INFINITY, highest = -INFINITY
    cdef double mass, active
    out.mass = 0.0
    out.active = 0.0
    begin = 0
    while begin < n:
        end = min(begin + <Py_ssize_t>BLOCK, n)
        mass = 0.0
        active = 0.0
        for i in range(begin, end):
            v = scale * f[i] + shift[positive[i]]
            lowest = v if v < lowest else lowest
            highest = v if v > highest else highest
            u = _clip(v - tau)
            inside = 1.0 if 0.0 < u < 1.0 else 0.0
            if c != NULL:
                u *= c[i]
                inside *= c[i]
            mass += u
            active += inside
        out.mass += mass
        out.active += active
        begin = end
    out.lowest = lowest
    out.highest = highest
    return out


def top_k_smoothed(
    const double[::1] scores,
    const unsigned char[::1] positive,
    const double[::1] weights,
    double total,
    double slope,
    double gain,
    double target_positive,
    double target_negative,
    double mu,
    double start,
    double[::1] gradient,
):
    """Project, and fill ``gradient = slope c (u - t)``.

    Parameters
    ----------
    weights : array or None
        ``c``; None for ones.
    start : float
        Where the root finder begins, in units of ``mu * tau`` so that it carries over when mu changes; may be NaN.

    Returns
    -------
    missed : float
        ``sum_i c_i (1 - u_i)`` over the positives.
    excess : float
        ``sum_i c_i u_i - total``: what the root finder and rounding left.
    inner : float
        ``sum_i c_i f_i (u_i - t_i)``.
    prox : float
        ``sum_i c_i (u_i - t_i)^2 / 2``.
    root : float
        ``mu * tau``, a good ``start`` for nearby scores.
    n_pass : int
        Number of passes that the root finder took.
    """
    cdef Py_ssize_t n = scores.shape[0], i, begin, end, n_pass = 0
    cdef const double* c = &weights[0] if weights is not None else NULL
    cdef const double* f = &scores[0]
    cdef const unsigned char* label = &positive[0]
    cdef double[2] shift
    cdef double[2] target
    cdef double scale = slope / mu, tau = start / mu, low = -INFINITY, high = INFINITY, step, candidate
    cdef double correction = 0.0, blend = 0.0
    cdef bint stuck = False
    cdef double u, x, du, ci, b_missed, b_mass, b_inner, b_prox
    cdef long double missed = 0.0, mass = 0.0, mass_low, inner = 0.0, prox = 0.0
    cdef Passed p
    target[0] = target_negative
    target[1] = target_positive
    shift[0] = target_negative
    shift[1] = target_positive - gain / mu
    with nogil:
        if not (-INFINITY < tau < INFINITY):
            tau = 0.0
        while True:
            p = _pass(f, label, c, n, scale, shift, tau)
            n_pass += 1
            if n_pass == 1:
                # Everything is capped below v_min - 1 and zero above v_max: the root lies between.
                low = p.lowest - 1.0 - 4.4e-16 * fabs(p.lowest)
                high = p.highest
            step = <double>(p.mass - total)
            if fabs(step) <= 1e-15 * total:
                break
            if step > 0.0 and tau > low:
                low = tau
            elif step < 0.0 and tau < high:
                high = tau
            candidate = tau + step / <double>p.active if p.active > 0.0 else INFINITY
            if not (low < candidate < high):
                candidate = 0.5 * (low + high)
            # Newton has landed when the step no longer changes anything but the last digits of sum u.
            if p.active > 0.0 and fabs(step) <= 1e-9 * total and fabs(candidate - tau) <= 1e-14 * (fabs(tau) + 1.0):
                break
            if not (low < candidate < high) or n_pass == 200:
                stuck = True   # the bracket holds no further number: scores over mu are too large to resolve [0, 1]
                break
            tau = candidate
        if stuck:
            # A mixture of the two ends of the bracket sums to the total, and ties share what is left.
            p = _pass(f, label, c, n, scale, shift, low)
            mass_low = p.mass
            p = _pass(f, label, c, n, scale, shift, high)
            tau = low
            blend = <double>((mass_low - total) / (mass_low - p.mass)) if mass_low > p.mass else 0.0
        elif p.active > 0.0:
            # What is left, at most a few units in the last place of tau per active example, is shared out among them.
            correction = <double>((total - p.mass) / p.active)
        begin = 0
        while begin < n:
            end = min(begin + <Py_ssize_t>BLOCK, n)
            b_missed = 0.0
            b_mass = 0.0
            b_inner = 0.0
            b_prox = 0.0
            for i in range(begin, end):
                x = scale * f[i] + shift[label[i]]
                u = _clip(x - tau)
                if blend > 0.0:
                    u += blend * (_clip(x - high) - u)
                elif 0.0 < u < 1.0:
                    u = _clip(u + correction)
                ci = c[i] if c != NULL else 1.0
                du = u - target[label[i]]
                if label[i]:
                    b_missed += ci * (1.0 - u)
                gradient[i] = slope * ci * du
                b_mass += ci * u
                b_inner += ci * du * f[i]
                b_prox += 0.5 * ci * du * du
            missed += b_missed
            mass += b_mass
            inner += b_inner
            prox += b_prox
            begin = end
    return <double>missed, <double>(mass - total), <double>inner, <double>prox, mu * tau, n_pass
