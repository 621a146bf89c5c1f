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

from libc.stddef cimport ptrdiff_t
from libc.stdlib cimport free, malloc

from ._lengths cimport check_length
from ._pool cimport run_pieces

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

    ctypedef struct loss_sums:
        long double losses, offsets, along

    loss_sums logistic_losses_of(
        const double* f, const unsigned char* label, const double* c, const double* logs, const double* direction,
        double* gradient, ptrdiff_t n, double scale
    ) noexcept nogil
    loss_sums squared_hinges_of(
        const double* f, const unsigned char* label, const double* c, const double* direction, double* gradient,
        ptrdiff_t n, double scale
    ) noexcept nogil


cdef struct Rows:
    # All rows, and what to do with them; they are cut into pieces of equal length.
    const double* f
    const unsigned char* label
    const double* c         # NULL for unit weights
    double* gradient
    Py_ssize_t n, pieces
    pointwise_costs costs
    pointwise_sums* sums    # one for each piece


cdef void _piece(void* context, Py_ssize_t piece) noexcept nogil:
    cdef Rows* rows = <Rows*>context
    cdef Py_ssize_t start = rows.n * piece // rows.pieces, size = rows.n * (piece + 1) // rows.pieces - start
    if rows.c == NULL:
        rows.sums[piece] = hinges_plain(rows.f + start, rows.label + start, rows.gradient + start, size, rows.costs)
    else:
        rows.sums[piece] = hinges_weighted(
            rows.f + start, rows.label + start, rows.c + start, rows.gradient + start, size, rows.costs
        )


cdef int _check_rows(
    const double[::1] scores, const unsigned char[::1] positive, const double[::1] weights, const double[::1] direction,
    const double[::1] gradient,
) except -1:
    """All arrays have a number for each score; weights and direction may be None."""
    check_length("positive", positive.shape[0], scores.shape[0])
    check_length("gradient", gradient.shape[0], scores.shape[0])
    if weights is not None:
        check_length("weights", weights.shape[0], scores.shape[0])
    if direction is not None:
        check_length("direction", direction.shape[0], scores.shape[0])
    return 0


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
    cdef Rows rows
    cdef pointwise_sums total
    cdef Py_ssize_t piece
    rows.n = scores.shape[0]
    rows.pieces = pieces
    _check_rows(scores, positive, weights, None, gradient)
    if rows.n == 0:
        return 0.0, 0.0, 0.0, 0.0
    rows.f = &scores[0]
    rows.label = &positive[0]
    rows.c = &weights[0] if weights is not None else NULL
    rows.gradient = &gradient[0]
    rows.costs = pointwise_costs(1.0 / kappa, positive_cost, negative_cost, scale)
    rows.sums = <pointwise_sums*>malloc(pieces * sizeof(pointwise_sums))
    if rows.sums == NULL:
        raise MemoryError(f"no memory for {pieces} pieces")
    with nogil:
        run_pieces(_piece, &rows, pieces)
        total = rows.sums[0]
        for piece in range(1, pieces):
            total.slopes += rows.sums[piece].slopes
            total.squares += rows.sums[piece].squares
            total.hinges += rows.sums[piece].hinges
            total.inner += rows.sums[piece].inner
        free(rows.sums)
    return <double>total.slopes, <double>total.squares, <double>total.hinges, <double>total.inner


cdef struct LossRows:
    # All rows of a smooth loss; NULL for what is not there.
    const double* f
    const unsigned char* label
    const double* c
    const double* logs
    const double* direction
    double* gradient
    Py_ssize_t n, pieces
    double scale
    bint logistic
    loss_sums* sums         # one for each piece


cdef void _loss_piece(void* context, Py_ssize_t piece) noexcept nogil:
    cdef LossRows* rows = <LossRows*>context
    cdef Py_ssize_t start = rows.n * piece // rows.pieces, size = rows.n * (piece + 1) // rows.pieces - start
    cdef const double* c = rows.c + start if rows.c != NULL else NULL
    cdef const double* logs = rows.logs + start if rows.logs != NULL else NULL
    cdef const double* direction = rows.direction + start if rows.direction != NULL else NULL
    cdef const double* f = rows.f + start
    cdef double* gradient = rows.gradient + start
    if rows.logistic:
        rows.sums[piece] = logistic_losses_of(f, rows.label + start, c, logs, direction, gradient, size, rows.scale)
    else:
        rows.sums[piece] = squared_hinges_of(f, rows.label + start, c, direction, gradient, size, rows.scale)


cdef tuple _losses(LossRows* rows):
    cdef loss_sums total
    cdef Py_ssize_t piece
    rows.sums = <loss_sums*>malloc(rows.pieces * sizeof(loss_sums))
    if rows.sums == NULL:
        raise MemoryError(f"no memory for {rows.pieces} pieces")
    with nogil:
        run_pieces(_loss_piece, rows, rows.pieces)
        total = rows.sums[0]
        for piece in range(1, rows.pieces):
            total.losses += rows.sums[piece].losses
            total.offsets += rows.sums[piece].offsets
            total.along += rows.sums[piece].along
        free(rows.sums)
    return <double>total.losses, <double>total.offsets, <double>total.along


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
    cdef LossRows rows
    _check_rows(scores, positive, weights, direction, gradient)
    if weights is not None and logs is None:
        raise ValueError(f"logs is None where length {scores.shape[0]} is needed, as there are weights")
    if logs is not None:
        check_length("logs", logs.shape[0], scores.shape[0])
    rows.n = scores.shape[0]
    if rows.n == 0:
        return 0.0, 0.0, 0.0
    rows.f = &scores[0]
    rows.label = &positive[0]
    rows.c = &weights[0] if weights is not None else NULL
    rows.logs = &logs[0] if logs is not None else NULL
    rows.direction = &direction[0] if direction is not None else NULL
    rows.gradient = &gradient[0]
    rows.pieces = pieces
    rows.scale = scale
    rows.logistic = True
    return _losses(&rows)


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
    cdef LossRows rows
    _check_rows(scores, positive, weights, direction, gradient)
    rows.n = scores.shape[0]
    if rows.n == 0:
        return 0.0, 0.0, 0.0
    rows.f = &scores[0]
    rows.label = &positive[0]
    rows.c = &weights[0] if weights is not None else NULL
    rows.logs = NULL
    rows.direction = &direction[0] if direction is not None else NULL
    rows.gradient = &gradient[0]
    rows.pieces = pieces
    rows.scale = scale
    rows.logistic = False
    return _losses(&rows)
