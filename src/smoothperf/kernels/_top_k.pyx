"""Projection onto the capped simplex, in two passes over the examples and a few over the undecided ones.

    v_i = t_i + (slope f_i - gain [i positive]) / mu
    u_i = clip(v_i - tau, 0, 1)     with tau such that   sum_i c_i u_i = total

``tau`` is the root of a decreasing piecewise-linear function. If it is known to lie in an interval, most examples
are decided: u = 1 above, u = 0 below. The steps:

    collect    one pass; keeps the v of the undecided examples, and sums the weight of those above
    RootSearch safeguarded Newton iteration on what was kept
    weigh_cells, cut_of_cells
               where to cut if u had to be 0 or 1: it gives an upper bound of the risk that is not smoothed
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
#: Newton's last step is no longer than this; with weights that differ widely, a longer one need not be right.
cdef double LAST_STEP = 1e-9
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


cdef enum Phase:
    SEARCHING
    LEFT_END
    RIGHT_END
    DONE


cdef class RootSearch:
    """Looks for the ``tau`` with ``low <= tau <= high`` where ``sum_i c_i clip(v_i - tau, 0, 1)`` is ``total``.

    It says at which tau the sums are wanted, and is told what they are: :meth:`search` does both for values that are
    here.

    Parameters
    ----------
    total : float
        What the sum should be.
    start : float
        Where to begin.
    low, high : float
        The interval.
    certain : bool
        Whether the root is known to lie there.

    Attributes
    ----------
    tau : float
        Where the sums are wanted next; at the end the root, or the end of the interval beyond which it lies.
    outside : int
        -1 if the root lies below ``low``, 1 if above ``high``, 0 if it was found.
    correction : float
        What every active ``u`` should get in addition, to make up for the rounding of a large ``tau``.
    other, blend : float
        If ``blend > 0``, no number is the root: mix ``(1 - blend) u(tau) + blend u(other)``.
    """

    cdef readonly double total, tau, correction, other, blend
    cdef readonly int outside
    cdef double _low, _high, _left, _right
    cdef long double _left_excess
    cdef bint _certain, _left_seen, _right_seen
    cdef int _passes
    cdef Phase _phase

    def __cinit__(self, double total, double start, double low, double high, bint certain):
        self.tau = min(max(start, low), high)
        self.correction = 0.0
        self.other = high
        self.blend = 0.0
        self.outside = 0
        self.total = total
        self._low = self._left = low
        self._high = self._right = high
        self._certain = self._left_seen = self._right_seen = certain
        self._passes = 0
        self._phase = SEARCHING

    cdef void _tell(self, long double excess, double active) noexcept nogil:
        """Take in what the sums at tau are, and go on."""
        cdef double step, candidate
        if self._phase == LEFT_END:
            self._left_excess = excess
            self.tau = self._right
            self._phase = RIGHT_END
            return
        if self._phase == RIGHT_END:
            # A mixture of the two ends of the bracket sums to the total, and ties share what is left.
            self.blend = <double>(self._left_excess / (self._left_excess - excess)) if self._left_excess > excess else 0.0
            self.other = self._right
            self.tau = self._left
            self._phase = DONE
            return
        self._passes += 1
        step = <double>excess
        if fabs(step) <= 1e-15 * self.total:
            self._finish(excess, active)
            return
        if step > 0.0:
            if self.tau == self._high and not self._certain:
                self.outside = 1
                self._phase = DONE
                return
            self._left = self.tau
            self._left_seen = True
        else:
            if self.tau == self._low and not self._certain:
                self.outside = -1
                self._phase = DONE
                return
            self._right = self.tau
            self._right_seen = True
        candidate = self.tau + step / active if active > 0.0 else (self._right if step > 0.0 else self._left)
        if candidate >= self._right:
            candidate = 0.5 * (self._left + self._right) if self._right_seen else self._right
        elif candidate <= self._left:
            candidate = 0.5 * (self._left + self._right) if self._left_seen else self._left
        # Newton has landed when the step no longer changes anything but the last digits of sum u.
        if (
            active > 0.0
            and fabs(step) <= 1e-9 * self.total
            and fabs(candidate - self.tau) <= 1e-14 * (fabs(self.tau) + 1.0)
        ):
            self._finish(excess, active)
        elif (
            (candidate <= self._left and self._left_seen)
            or (candidate >= self._right and self._right_seen)
            or self._passes == 200
        ):
            # The bracket holds no further number: scores over mu are too large to resolve [0, 1].
            self.tau = self._left
            self._phase = LEFT_END
        else:
            self.tau = candidate

    cdef void _finish(self, long double excess, double active) noexcept nogil:
        """Take the last step, whose sums nobody needs: whatever the start was, tau is right to its last digits."""
        cdef long double step = excess / active if active > 0.0 else 0.0
        cdef double before = self.tau
        self._phase = DONE
        if fabs(<double>step) <= LAST_STEP * (fabs(before) + 1.0):
            self.tau = <double>(before + step)
        if fabs(self.tau) > FINE:
            # What is left, a unit in the last place of tau for each active example, is shared out among them.
            self.correction = <double>((self.tau - before) - step)

    def search(self, const double[::1] values, const double[::1] weights, double above):
        """Find the root, for values that are here and the weight of others that are above them."""
        cdef Py_ssize_t n = values.shape[0]
        cdef const double* v = &values[0] if n > 0 else NULL
        cdef const double* c = &weights[0] if weights is not None and n > 0 else NULL
        cdef Sums sums
        with nogil:
            while self._phase != DONE:
                sums = _sums_at(self.tau, v, c, n)
                self._tell(sums.mass + above - self.total, <double>sums.active)

    def tell(self, double excess, double active):
        """Say by how much the sum at tau exceeds the total, and what weight is active there; whether to go on."""
        with nogil:
            self._tell(excess, active)
        return self._phase != DONE


def sums_at(double tau, const double[::1] values, const double[::1] weights):
    """Sum of ``c_i clip(v_i - tau, 0, 1)``, and what a double loses of it, and the active weight."""
    cdef Py_ssize_t n = values.shape[0]
    cdef Sums sums
    with nogil:
        sums = _sums_at(
            tau, &values[0] if n > 0 else NULL, &weights[0] if weights is not None and n > 0 else NULL, n
        )
    return <double>sums.mass, <double>(sums.mass - <double>sums.mass), <double>sums.active


def weigh_cells(const double[::1] values, const double[::1] weights, double low, double high, double[::1] cells):
    """Add the weights of the ``low < v_i <= high`` to cells of equal width, of which the last is for what lies above.

    Most values lie outside, so those that do not are picked out first, a block at a time and without branches.
    """
    cdef Py_ssize_t n = values.shape[0], last = cells.shape[0] - 1, begin = 0, size, i, kept, cell
    cdef const double* v = &values[0] if n > 0 else NULL
    cdef const double* c = &weights[0] if weights is not None and n > 0 else NULL
    cdef double scale = last / (high - low), x, above = 0.0
    cdef double[BLOCK] inside
    cdef double[BLOCK] inside_weights
    with nogil:
        while begin < n:
            size = min(<Py_ssize_t>BLOCK, n - begin)
            for i in range(begin, begin + size):
                above += (c[i] if c != NULL else 1.0) if v[i] > high else 0.0
            kept = 0
            for i in range(begin, begin + size):
                x = v[i]
                inside[kept] = x
                if c != NULL:
                    inside_weights[kept] = c[i]
                kept += (x > low) & (x <= high)
            for i in range(kept):
                cell = <Py_ssize_t>((inside[i] - low) * scale)
                cells[cell if cell < last else last - 1] += inside_weights[i] if c != NULL else 1.0
            begin += size
        cells[last] += above


def cut_of_cells(const double[::1] cells, double above, double total, double low, double high):
    """Middle of the cell with weight ``total`` above it, given the weight of what is in no cell and above."""
    cdef Py_ssize_t count = cells.shape[0] - 1, cell = count - 1
    above += cells[count]
    while cell > 0 and above + cells[cell] <= total:
        above += cells[cell]
        cell -= 1
    return low + (<double>cell + 0.5) * (high - low) / count


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
