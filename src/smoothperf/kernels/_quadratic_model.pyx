"""The minimum of a penalty plus a quadratic model, by coordinate descent.

    minimise   <g, z - w> + (1/2) <z - w, B (z - w)> + sum_i s_i |z_i| + (q_i/2) z_i^2,    l <= z <= u
    B = sigma I + V^T V + U M^T,    U and M of shape (d, r), V sparse                             (quadratic-model)

B is symmetric and positive definite: the metric of L-BFGS in compact form, which has no V, or a Hessian of rows V, whose
centring is the rest. With ``t = U^T (z - w)`` and ``f = V (z - w)`` at hand, a coordinate costs 4 operations for each of
the r numbers and each entry in its column of V. Sweeps over all coordinates, and between them over those that are not
zero, until a sweep gains little beside all before it.
"""

from libc.math cimport fabs, fmax, fmin
from libc.stdlib cimport free, malloc

from ._lengths cimport check_length


cdef struct Model:
    const double* gradient
    const double* start
    const double* s
    const double* q
    const double* lower
    const double* upper
    double sigma
    const double* u       # rows of length rank
    const double* m
    const double* curvatures
    Py_ssize_t rank
    const int* starts     # of the columns of V
    const int* rows
    const double* values
    double* t
    double* f
    double* z


cdef inline double _improve(const Model* p, Py_ssize_t i) noexcept nogil:
    """Minimise over one coordinate; returns about twice what that gains."""
    cdef Py_ssize_t k
    cdef const double* row = p.m + i * p.rank
    cdef double value = p.gradient[i] + p.sigma * (p.z[i] - p.start[i]), curvature = p.curvatures[i], new, change
    for k in range(p.rank):
        value += row[k] * p.t[k]
    for k in range(p.starts[i], p.starts[i + 1]):
        value += p.values[k] * p.f[p.rows[k]]
    new = curvature * p.z[i] - value         # without the penalty: new / curvature
    if new > p.s[i]:
        new = (new - p.s[i]) / (curvature + p.q[i])
    elif new < -p.s[i]:
        new = (new + p.s[i]) / (curvature + p.q[i])
    else:
        new = 0.0
    new = fmin(fmax(new, p.lower[i]), p.upper[i])
    change = new - p.z[i]
    if change == 0.0:
        return 0.0
    p.z[i] = new
    row = p.u + i * p.rank
    for k in range(p.rank):
        p.t[k] += change * row[k]
    for k in range(p.starts[i], p.starts[i + 1]):
        p.f[p.rows[k]] += change * p.values[k]
    return change * change * (curvature + p.q[i])


def minimise_model(
    const double[::1] gradient,
    const double[::1] start,
    const double[::1] s,
    const double[::1] q,
    const double[::1] lower,
    const double[::1] upper,
    double sigma,
    const double[:, ::1] u,
    const double[:, ::1] m,
    const int[::1] starts,
    const int[::1] rows,
    const double[::1] values,
    Py_ssize_t n_rows,
    double[::1] z,
    double accuracy,
    Py_ssize_t most_sweeps=1000,
):
    """``z`` := about the minimiser of (quadratic-model), from the z that is given; returns the number of sweeps.

    Parameters
    ----------
    starts, rows, values : ndarray of shape (d + 1,), (entries,) and (entries,)
        The columns of V, compressed; rows are below n_rows, which nobody checks.
    accuracy : float
        The end is where a sweep over all coordinates gains no more than this share of what all have gained.
    """
    cdef Py_ssize_t d = gradient.shape[0], rank = u.shape[1], i, j, k, active = 0, sweeps = 0
    cdef double gained, curvature, total = 0.0
    cdef double* room
    cdef Py_ssize_t* members
    cdef Model model
    for name, array in (("start", start), ("s", s), ("q", q), ("lower", lower), ("upper", upper), ("z", z)):
        check_length(name, array.shape[0], d)
    check_length("u", u.shape[0], d)
    check_length("m", m.shape[0], d)
    check_length("m", m.shape[1], rank)
    check_length("starts", starts.shape[0], d + 1)
    check_length("rows", rows.shape[0], starts[d])
    check_length("values", values.shape[0], starts[d])
    if d == 0:
        return 0
    room = <double*>malloc((d + rank + n_rows + 1) * sizeof(double))
    members = <Py_ssize_t*>malloc(d * sizeof(Py_ssize_t))
    if room == NULL or members == NULL:
        free(room)
        free(members)
        raise MemoryError(f"no memory for {d} curvatures")
    model.gradient, model.start, model.s, model.q = &gradient[0], &start[0], &s[0], &q[0]
    model.lower, model.upper, model.sigma, model.rank = &lower[0], &upper[0], sigma, rank
    model.u = &u[0, 0] if rank else NULL
    model.m = &m[0, 0] if rank else NULL
    model.starts = &starts[0]
    model.rows = &rows[0] if rows.shape[0] else NULL
    model.values = &values[0] if values.shape[0] else NULL
    model.curvatures, model.t, model.f, model.z = room, room + d, room + d + rank, &z[0]
    with nogil:
        for k in range(rank + n_rows):
            model.t[k] = 0.0
        for i in range(d):
            curvature = sigma
            for k in range(rank):
                curvature += model.u[i * rank + k] * model.m[i * rank + k]
                model.t[k] += model.u[i * rank + k] * (model.z[i] - model.start[i])
            for k in range(model.starts[i], model.starts[i + 1]):
                curvature += model.values[k] * model.values[k]
                model.f[model.rows[k]] += model.values[k] * (model.z[i] - model.start[i])
            room[i] = fmax(curvature, 1e-10 * sigma)   # rounding may have spoilt it
        while sweeps < most_sweeps:
            gained = 0.0
            active = 0
            for i in range(d):
                gained += _improve(&model, i)
                if model.z[i] != 0.0 or model.start[i] != 0.0:
                    members[active] = i
                    active += 1
            sweeps += 1
            total += gained
            if gained <= accuracy * total:
                break
            while sweeps < most_sweeps:
                gained = 0.0
                for j in range(active):
                    gained += _improve(&model, members[j])
                sweeps += 1
                total += gained
                if gained <= 0.3 * accuracy * total:
                    break
    free(room)
    free(members)
    return sweeps
