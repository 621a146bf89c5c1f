"""The smoothed risk of a measure that predicts a fixed number of positives: a projection onto the capped simplex.

    v_i = t_i + (slope f_i - gain [i positive]) / mu
    u_i = clip(v_i - tau, 0, 1)     with tau such that   sum_i c_i u_i = total

``tau`` is the root of a decreasing piecewise-linear function: a safeguarded Newton iteration finds it in a few
O(n) passes without sorting. v lives where the gradient will be: no memory beyond the result.

Accuracy. Sums run in double over blocks of 512 and in long double across blocks: a relative error of at most
``512 eps + (n / 512) eps_long``. How far ``sum c u`` ends up from ``total`` is measured and returned, not assumed.
"""

from libc.math cimport fabs

cdef enum:
    BLOCK = 512


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
        Where the root finder begins, in units of ``mu * tau`` so that it carries over when mu changes; finite, like
        all numbers here: the kernel is compiled on that assumption, which lets the compiler vectorise.

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
    cdef double* v = &gradient[0]   # until the last pass
    # Values of the negatives, and what a positive adds: arithmetic instead of branches on the label.
    cdef double shift = target_negative, target_step = target_positive - target_negative
    cdef double shift_step = target_step - gain / mu
    cdef double scale = slope / mu, tau = start / mu, low, high, step, candidate
    cdef double correction = 0.0, blend = 0.0
    cdef bint stuck = False
    cdef double u, du, ci, b_missed, b_mass, b_inner, b_prox
    cdef long double missed = 0.0, mass = 0.0, mass_low, inner = 0.0, prox = 0.0
    cdef Sums p
    with nogil:
        # Everything is capped below v_min - 1 and zero above v_max: the root lies between.
        low = scale * f[0] + (shift + shift_step * label[0])
        high = low
        for i in range(n):
            u = scale * f[i] + (shift + shift_step * label[i])
            v[i] = u
            low = u if u < low else low
            high = u if u > high else high
        low -= 1.0 + 4.4e-16 * fabs(low)
        while True:
            p = _sums_at(tau, v, c, n)
            n_pass += 1
            step = <double>(p.mass - total)
            if fabs(step) <= 1e-15 * total:
                break
            if step > 0.0 and tau > low:
                low = tau
            elif step < 0.0 and tau < high:
                high = tau
            candidate = tau + step / <double>p.active if p.active > 0.0 else low
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
            p = _sums_at(low, v, c, n)
            mass_low = p.mass
            p = _sums_at(high, v, c, n)
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
                u = _clip(v[i] - tau)
                if blend > 0.0:
                    u += blend * (_clip(v[i] - high) - u)
                u = _clip(u + correction * ((1.0 if u > 0.0 else 0.0) - (0.0 if u < 1.0 else 1.0)))
                ci = c[i] if c != NULL else 1.0
                du = u - (target_negative + target_step * label[i])
                b_missed += ci * (1.0 - u) * label[i]
                v[i] = slope * ci * du
                b_mass += ci * u
                b_inner += ci * du * f[i]
                b_prox += 0.5 * ci * du * du
            missed += b_missed
            mass += b_mass
            inner += b_inner
            prox += b_prox
            begin = end
    return <double>missed, <double>(mass - total), <double>inner, <double>prox, mu * tau, n_pass
