"""A sorted side, as kernels see it: margins of one class, with prefix sums; and a linear-fractional loss.

As a tuple it is :class:`smoothperf.measures.flips.Side`, and the loss :class:`smoothperf.measures.flips.FractionalLoss`.
"""

from ._lengths cimport check_room


cdef struct Side:
    const double* x
    const double* mass    # NULL for unit weights
    const double* first
    const double* second
    Py_ssize_t size
    double lowest   # sum of the c x below 0
    double drift    # relative error of the sums, other than being rounded once


cdef struct Loss:
    double p, r, M


cdef inline double mass_of(const Side* side, Py_ssize_t j) noexcept nogil:
    return <double>j if side.mass == NULL else side.mass[j]


cdef inline double weight_of(const Side* side, Py_ssize_t j) noexcept nogil:
    return 1.0 if side.mass == NULL else side.mass[j + 1] - side.mass[j]


cdef inline double loss_at(const Loss* loss, double b, double c) noexcept nogil:
    return (loss.p * b + c) / (loss.M - loss.r * b + c)


cdef inline Side side_of(parts):
    """The tuple, whose arrays must stay alive."""
    cdef const double[::1] x = parts[0], mass = parts[1], first = parts[2], second = parts[3]
    cdef Side side
    check_room("first", first.shape[0], x.shape[0] + 1)
    if mass is not None:
        check_room("mass", mass.shape[0], x.shape[0] + 1)
    check_room("second", second.shape[0], x.shape[0] + 1)
    side.x = &x[0]
    side.mass = NULL if mass is None else &mass[0]
    side.first = &first[0]
    side.second = &second[0]
    side.size = x.shape[0]
    side.lowest, side.drift = parts[4], parts[5]
    return side


cdef inline Loss loss_of(parts):
    cdef Loss loss
    loss.p, loss.r, loss.M = parts
    return loss
