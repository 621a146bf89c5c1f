"""The Huber hinge of every example by itself, with its gradient and all sums in one pass.

For ``x_i = 1 - 2 y_i f_i`` and costs ``q_i = c_i cost(y_i)``

    beta_i = clip(x_i / kappa, 0, 1)            gradient_i = -scale y_i q_i beta_i

Sums run in double over blocks of 512 and in long double across blocks: a relative error of at most ``512 eps + (n /
512) eps_long``. The file is compiled on the assumption that all numbers are finite, which lets the compiler vectorise.
"""

from libc.stddef cimport ptrdiff_t

cdef extern from "_pointwise_loops.h":
    ctypedef struct pointwise_costs:
        double inverse, positive, negative, scale

    ctypedef struct pointwise_sums:
        long double slopes, squares, hinges, inner

    pointwise_sums hinges_plain(
        const double* f, const unsigned char* label, double* gradient, ptrdiff_t n, pointwise_costs costs
    ) noexcept nogil
    pointwise_sums hinges_weighted(
        const double* f, const unsigned char* label, const double* c, double* gradient, ptrdiff_t n,
        pointwise_costs costs
    ) noexcept nogil


def pointwise_hinges(
    const double[::1] scores,
    const unsigned char[::1] positive,
    const double[::1] weights,
    double positive_cost,
    double negative_cost,
    double kappa,
    double scale,
    double[::1] gradient,
    Py_ssize_t start,
    Py_ssize_t stop,
):
    """Fill ``gradient`` for a range of rows.

    Parameters
    ----------
    weights : array of shape (n,) or None
        ``c``; None for ones.
    kappa : float
        Width of the ramp of beta, above 0.

    Returns
    -------
    slopes, squares, hinges, inner : float
        Sums of ``q beta``, of ``q beta^2``, of ``q max(0, x)``, and of ``gradient_i f_i``.
    """
    cdef pointwise_costs costs
    cdef pointwise_sums sums
    cdef const double* c = &weights[start] if weights is not None else NULL
    costs.inverse = 1.0 / kappa
    costs.positive = positive_cost
    costs.negative = negative_cost
    costs.scale = scale
    with nogil:
        if c == NULL:
            sums = hinges_plain(&scores[start], &positive[start], &gradient[start], stop - start, costs)
        else:
            sums = hinges_weighted(&scores[start], &positive[start], c, &gradient[start], stop - start, costs)
    return <double>sums.slopes, <double>sums.squares, <double>sums.hinges, <double>sums.inner
