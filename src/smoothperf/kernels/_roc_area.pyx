"""Sums of a ramp over all pairs of a sorted and an unsorted list, without forming the pairs.

For ``a`` sorted upwards with weights ``c`` and any ``x``, two ramps describe everything that is needed:

    T(x) = sum_s c_s max(0, x - a_s)          S(x) = sum_s c_s max(0, x - a_s)^2

The hinge of a pair is ``max(0, z - a)``; its smoothed form of width kappa is the Huber hinge
``H(x) = (max(0, x)^2 - max(0, x - kappa)^2) / (2 kappa)`` with slope ``beta(x) = (max(0, x) - max(0, x - kappa)) / kappa``.
So an element z of the unsorted list needs two look-ups, at z and at z - kappa:

    sum_s c_s H(z - a_s)    = (S(z) - S(z - kappa)) / (2 kappa)
    sum_s c_s beta(z - a_s) = (T(z) - T(z - kappa)) / kappa
    sum_s c_s beta(z - a_s) (z - a_s) = (S(z) - S(z - kappa)) / kappa - T(z - kappa)

and the sorted list's own sums are the same ramps seen from the other side, accumulated in bins between
neighbouring ``a`` and swept once from the right. O(n log m) for m sorted elements.
"""

from libc.stdlib cimport calloc, free, malloc


cdef inline Py_ssize_t _count_below(const double* a, Py_ssize_t m, double x) noexcept nogil:
    """Number of ``a_s < x``: a branch-free binary search."""
    cdef Py_ssize_t base = 0, half
    if m == 0:
        return 0
    while m > 1:
        half = m // 2
        base += half if a[base + half - 1] < x else 0
        m -= half
    return base + (1 if a[base] < x else 0)


def pair_ramps(
    const double[::1] ordered,
    const double[::1] ordered_weights,
    const double[::1] others,
    const double[::1] other_weights,
    double kappa,
    double[::1] ordered_slopes,
    double[::1] other_slopes,
):
    """Huber hinge of width ``kappa`` (the hinge itself for ``kappa = 0``), summed over all pairs.

    Parameters
    ----------
    ordered : array of shape (m,)
        ``a``, sorted upwards.
    others : array of shape (l,)
        ``z``, in any order.
    ordered_weights, other_weights : array or None
        ``c``; None for ones.
    ordered_slopes, other_slopes : arrays, filled
        ``sum_l c_l beta(z_l - a_s)`` for each s, and ``sum_s c_s beta(z_l - a_s)`` for each l.

    Returns
    -------
    value : float
        ``sum c_s c_l H(z_l - a_s)``.
    height : float
        ``sum c_s c_l beta (z_l - a_s)``.
    slopes : float
        ``sum c_s c_l beta``.
    """
    cdef Py_ssize_t m = ordered.shape[0], count = others.shape[0], s, l, outer, inner
    cdef const double* a = &ordered[0]
    cdef bint weighted = ordered_weights is not None, other_weighted = other_weights is not None
    # Prefix sums up to and including element s - 1, all measured from that element so that nothing large cancels.
    cdef double* mass = <double*>malloc((m + 1) * sizeof(double))      # sum c
    cdef double* first = <double*>malloc((m + 1) * sizeof(double))     # sum c (a_{s-1} - a)
    cdef double* second = <double*>malloc((m + 1) * sizeof(double))    # sum c (a_{s-1} - a)^2
    # Bins: weight and weighted excess over a_{s-1} of the z (outer) and z - kappa (inner) that fall behind it.
    # Many terms may fall into one bin: long double keeps the error of their sum below that of a single double.
    cdef long double* outer_mass = <long double*>calloc(m + 1, sizeof(long double))
    cdef long double* outer_excess = <long double*>calloc(m + 1, sizeof(long double))
    cdef long double* inner_mass = <long double*>calloc(m + 1, sizeof(long double))
    cdef long double* inner_excess = <long double*>calloc(m + 1, sizeof(long double))
    cdef double z, c, x, gap, t_outer, t_inner, s_outer, s_inner
    cdef long double c0 = 0.0, c1 = 0.0, c2 = 0.0, value = 0.0, height = 0.0, slopes = 0.0
    cdef long double mass_o = 0.0, ramp_o = 0.0, mass_i = 0.0, ramp_i = 0.0
    if (mass == NULL or first == NULL or second == NULL or outer_mass == NULL or outer_excess == NULL
            or inner_mass == NULL or inner_excess == NULL):
        free(mass); free(first); free(second)
        free(outer_mass); free(outer_excess); free(inner_mass); free(inner_excess)
        raise MemoryError(f"no memory for the prefix sums of {m} examples")
    with nogil:
        mass[0] = 0.0
        first[0] = 0.0
        second[0] = 0.0
        for s in range(m):
            gap = a[s] - a[s - 1] if s > 0 else 0.0
            c2 += gap * (2.0 * c1 + gap * c0)
            c1 += gap * c0
            c0 += ordered_weights[s] if weighted else 1.0
            mass[s + 1] = <double>c0
            first[s + 1] = <double>c1
            second[s + 1] = <double>c2

        for l in range(count):
            z = others[l]
            c = other_weights[l] if other_weighted else 1.0
            outer = _count_below(a, m, z)
            t_outer = 0.0
            s_outer = 0.0
            if outer > 0:
                x = z - a[outer - 1]
                t_outer = first[outer] + x * mass[outer]
                s_outer = second[outer] + x * (2.0 * first[outer] + x * mass[outer])
                outer_mass[outer] += c
                outer_excess[outer] += c * x
            if kappa == 0.0:
                other_slopes[l] = mass[outer]
                slopes += c * mass[outer]
                value += c * t_outer
                height += c * t_outer
                continue
            inner = _count_below(a, outer, z - kappa)
            t_inner = 0.0
            s_inner = 0.0
            if inner > 0:
                x = z - kappa - a[inner - 1]
                t_inner = first[inner] + x * mass[inner]
                s_inner = second[inner] + x * (2.0 * first[inner] + x * mass[inner])
                inner_mass[inner] += c
                inner_excess[inner] += c * x
            x = (t_outer - t_inner) / kappa
            other_slopes[l] = x
            slopes += c * x
            value += c * (s_outer - s_inner) / (2.0 * kappa)
            height += c * ((s_outer - s_inner) / kappa - t_inner)

        # From the right: ramp = sum over the z behind a_s of c (z - a_s).
        for s in range(m - 1, -1, -1):
            gap = a[s + 1] - a[s] if s + 1 < m else 0.0
            ramp_o += gap * mass_o + outer_excess[s + 1]
            mass_o += outer_mass[s + 1]
            ramp_i += gap * mass_i + inner_excess[s + 1]
            mass_i += inner_mass[s + 1]
            ordered_slopes[s] = <double>(mass_o if kappa == 0.0 else (ramp_o - ramp_i) / kappa)
        free(mass); free(first); free(second)
        free(outer_mass); free(outer_excess); free(inner_mass); free(inner_excess)
    return <double>value, <double>height, <double>slopes
