"""Sums of vectors, with the inner products that are wanted next on the way: one pass instead of several.

The inner product of u and v is ``u[:terms] . v[shift:shift+terms]`` (:mod:`smoothperf.optimise.row_space`).
"""

from ._lengths cimport check_length, check_room


def sum_and_squares(
    const double[::1] u, double a, const double[::1] v, Py_ssize_t terms, Py_ssize_t shift, double[::1] out
):
    """``out = u + a v``; returns ``<v, v>`` and ``<out, out>``."""
    cdef Py_ssize_t i, n = u.shape[0]
    cdef double of_v = 0.0, of_sum = 0.0, value
    check_length("v", v.shape[0], n)
    check_length("out", out.shape[0], n)
    check_room("v", n, terms + shift)
    with nogil:
        if shift == 0:
            for i in range(n):
                value = u[i] + a * v[i]
                of_v += v[i] * v[i]
                of_sum += value * value
                out[i] = value
        else:
            for i in range(n):
                out[i] = u[i] + a * v[i]
            for i in range(terms):
                of_v += v[i] * v[i + shift]
                of_sum += out[i] * out[i + shift]
    return of_v, of_sum


def inner_products(
    const double[::1] u, const double[::1] v, const double[::1] p, Py_ssize_t terms, Py_ssize_t shift
):
    """``<u, p>``, ``<v, p>`` and ``<p, p>``."""
    cdef Py_ssize_t i
    cdef double of_u = 0.0, of_v = 0.0, of_p = 0.0
    check_room("u", u.shape[0], terms)
    check_room("v", v.shape[0], terms)
    check_room("p", p.shape[0], terms + shift)
    with nogil:
        for i in range(terms):
            of_u += u[i] * p[i + shift]
            of_v += v[i] * p[i + shift]
            of_p += p[i] * p[i + shift]
    return of_u, of_v, of_p


def differences(
    const double[::1] u,
    const double[::1] u_before,
    const double[::1] v,
    const double[::1] v_before,
    Py_ssize_t terms,
    Py_ssize_t shift,
    double[::1] s,
    double[::1] y,
):
    """``s = u - u_before`` and ``y = v - v_before``; returns ``<s, y>``, ``<y, y>`` and ``<s, s>``."""
    cdef Py_ssize_t i, n = u.shape[0]
    cdef double sy = 0.0, yy = 0.0, ss = 0.0, ds, dy
    check_length("u_before", u_before.shape[0], n)
    check_length("v", v.shape[0], n)
    check_length("v_before", v_before.shape[0], n)
    check_length("s", s.shape[0], n)
    check_length("y", y.shape[0], n)
    check_room("u", n, terms + shift)
    with nogil:
        if shift == 0:
            for i in range(n):
                ds = u[i] - u_before[i]
                dy = v[i] - v_before[i]
                sy += ds * dy
                yy += dy * dy
                ss += ds * ds
                s[i] = ds
                y[i] = dy
        else:
            for i in range(n):
                s[i] = u[i] - u_before[i]
                y[i] = v[i] - v_before[i]
            for i in range(terms):
                sy += s[i] * y[i + shift]
                yy += y[i] * y[i + shift]
                ss += s[i] * s[i + shift]
    return sy, yy, ss
