"""Losses of every example by itself, with their gradient and all sums in one pass.

Huber hinges: for ``x_i = 1 - 2 y_i f_i`` and costs ``q_i = c_i cost(y_i)``

    beta_i = clip(x_i / kappa, 0, 1)            gradient_i = -scale y_i q_i beta_i

Logistic losses: for ``e_i = exp(-|f_i|)``, which NumPy computes with wider vectors than a loop here would,

    loss_i = log(1 + e_i) + max(0, -y_i f_i)    gradient_i = -scale y_i c_i / (1 + exp(y_i f_i))

Squared hinges: for ``x_i = max(0, 1 - y_i f_i)``

    loss_i = x_i^2                              gradient_i = -2 scale y_i c_i x_i

Sums run in double over blocks of 512 and in long double across blocks: a relative error of at most ``512 eps + (n /
512) eps_long``. The file is compiled on the assumption that all numbers are finite, which lets the compiler vectorise.
"""

from ._lengths cimport check_length
from ._rows cimport row_arrays, rows_of, sums_over

cdef extern from "_pointwise_loops.h":
    ctypedef struct pointwise_costs:
        double inverse, positive, negative, scale

    ctypedef struct hinge_rows:
        row_arrays rows
        pointwise_costs costs

    ctypedef struct loss_rows:
        row_arrays rows
        const double* logs
        double scale

    void hinges_piece(void* context, Py_ssize_t piece) noexcept nogil
    void logistic_piece(void* context, Py_ssize_t piece) noexcept nogil
    void squared_piece(void* context, Py_ssize_t piece) noexcept nogil


def pointwise_hinges(
    const double[::1] scores,
    const unsigned char[::1] positive,
    const double[::1] weights,
    double positive_cost,
    double negative_cost,
    double kappa,
    double scale,
    double[::1] gradient,
    Py_ssize_t pieces,
):
    """Fill ``gradient``.

    Parameters
    ----------
    weights : array of shape (n,) or None
        ``c``; None for ones.
    kappa : float
        Width of the ramp of beta, above 0.
    pieces : int
        Into how many pieces to cut the rows, for several threads.

    Returns
    -------
    slopes, squares, hinges, inner : float
        Sums of ``q beta``, of ``q beta^2``, of ``q max(0, x)``, and of ``gradient_i f_i``.
    """
    cdef hinge_rows rows
    rows.rows = rows_of(scores, positive, weights, None, gradient, pieces)
    rows.costs = pointwise_costs(1.0 / kappa, positive_cost, negative_cost, scale)
    return sums_over(hinges_piece, &rows, 4)


def logistic_losses(
    const double[::1] scores,
    const unsigned char[::1] positive,
    const double[::1] weights,
    const double[::1] logs,
    double scale,
    const double[::1] direction,
    double[::1] gradient,
    Py_ssize_t pieces,
):
    """Turn ``gradient``, which has ``exp(-|f_i|)`` in it, into the gradient of logistic losses.

    Parameters
    ----------
    weights : array of shape (n,) or None
        ``c``; None for ones.
    logs : array of shape (n,) or None
        ``log(1 + exp(-|f_i|))`` where there are weights, else None.
    direction : array of shape (n,) or None
        Scores to multiply the gradient with.
    pieces : int
        Into how many pieces to cut the rows, for several threads.

    Returns
    -------
    losses, offsets, along : float
        Sums of ``c loss``, of ``c (loss + y f / (1 + exp(y f)))`` and of ``gradient_i direction_i``.
    """
    cdef loss_rows rows
    rows.rows = rows_of(scores, positive, weights, direction, gradient, pieces)
    rows.scale = scale
    if weights is not None and logs is None:
        raise ValueError(f"logs is None where length {scores.shape[0]} is needed, as there are weights")
    if logs is not None:
        check_length("logs", logs.shape[0], scores.shape[0])
        rows.logs = &logs[0]
    return sums_over(logistic_piece, &rows, 3)


def squared_hinges(
    const double[::1] scores,
    const unsigned char[::1] positive,
    const double[::1] weights,
    double scale,
    const double[::1] direction,
    double[::1] gradient,
    Py_ssize_t pieces,
):
    """Fill ``gradient`` with that of squared hinges; arguments are those of :func:`logistic_losses`.

    Returns
    -------
    losses, offsets, along : float
        Sums of ``c x^2``, of ``c x (2 - x)`` and of ``gradient_i direction_i``.
    """
    cdef loss_rows rows
    rows.rows = rows_of(scores, positive, weights, direction, gradient, pieces)
    rows.scale = scale
    return sums_over(squared_piece, &rows, 3)
