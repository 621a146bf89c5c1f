"""Projection onto the capped simplex, in two passes over the examples and a few over the undecided ones.

    v_i = t_i + (slope f_i - gain [i positive]) / mu
    u_i = clip(v_i - tau, 0, 1)     with tau such that   sum_i c_i u_i = total

``tau`` is the root of a decreasing piecewise-linear function. If it is known to lie in an interval, most examples
are decided: u = 1 above, u = 0 below. The steps:

    collect    one pass; keeps the v of the undecided examples, and sums the weight of those above
    RootSearch safeguarded Newton iteration on what was kept
    weigh_cells, cut_of_cells
               where to cut if u had to be 0 or 1: it gives an upper bound of the risk that is not smoothed
    sum_cells, pick_cells
               what takes the place of RootSearch where examples are on several machines
    finish     one pass; u, the gradient and all sums

:mod:`smoothperf.measures.projection` puts them together. ``collect`` and ``finish`` share their rows out among threads.

Accuracy. Sums run in double over blocks of 512 and in long double across blocks: a relative error of at most
``512 eps + (n / 512) eps_long``. How far ``sum c u`` ends up from ``total`` is measured and returned, not assumed.
The file is compiled on the assumption that all numbers are finite, which lets the compiler vectorise.
"""

from libc.math cimport INFINITY, fabs
from libc.stdlib cimport free

from ._lengths cimport check_length, check_room
from ._rows cimport row_arrays, rows_of, run_rows, sums_over

cdef extern from "_top_k_loops.h":
    ctypedef struct top_k_line:
        double scale, shift, shift_step, target_negative, target_step, slope, tau, theta, correction, other, blend

    ctypedef struct top_k_rows:
        row_arrays rows
        top_k_line line
        double low, high
        double* kept
        double* kept_weights

    double clipped(double x) noexcept nogil
    void collect_piece(void* context, Py_ssize_t piece) noexcept nogil
    void finish_piece(void* context, Py_ssize_t piece) noexcept nogil

cdef enum:
    BLOCK = 512

#: Up to this ``tau`` is fine enough: its rounding changes no u by more than 100 units in the last place.
cdef double FINE = 100.0
#: Newton's last step is no longer than this; with weights that differ widely, a longer one need not be right.
cdef double LAST_STEP = 1e-9


cdef struct Sums:
    long double mass     # sum_i c_i clip(v_i - tau, 0, 1)
    long double active   # sum of c_i over 0 < v_i - tau < 1


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
                u = clipped(v[i] - tau)
                mass += u
                active += (1.0 if u > 0.0 else 0.0) - (0.0 if u < 1.0 else 1.0)
        else:
            for i in range(begin, end):
                u = clipped(v[i] - tau)
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
    Py_ssize_t pieces,
):
    """Keep ``v_i = scale f_i + shift + shift_step [i positive]`` of the rows with ``low < v_i < high``.

    Of each piece, those of negatives go to the front of its part of ``kept``, those of positives to the back, in
    reverse. Piece k of n rows begins at row ``n * k // pieces``.

    Returns
    -------
    found : list of (int, int, float)
        For each piece how many negatives and positives were kept, and the weight of the rows with ``v_i >= high``.
    """
    cdef top_k_rows rows
    cdef Py_ssize_t piece
    rows.rows = rows_of(scores, positive, weights, None, None, pieces)
    check_room("kept", kept.shape[0], rows.rows.n)
    rows.kept = &kept[0]
    if weights is not None:
        check_room("kept_weights", kept_weights.shape[0], rows.rows.n)
        rows.kept_weights = &kept_weights[0]
    rows.line.scale, rows.line.shift, rows.line.shift_step = scale, shift, shift_step
    rows.low, rows.high = low, high
    run_rows(collect_piece, &rows, 3)
    cdef long double* sums = rows.rows.sums
    found = [
        (<Py_ssize_t>sums[3 * piece], <Py_ssize_t>sums[3 * piece + 1], <double>sums[3 * piece + 2])
        for piece in range(pieces)
    ]
    free(sums)
    return found


def sample(
    const double[::1] scores, const unsigned char[::1] positive, double scale, double shift, double shift_step,
    Py_ssize_t step, double[::1] out,
):
    """Fill in ``v_i`` of rows 0, ``step``, ``2 step``, ..."""
    cdef Py_ssize_t k
    check_length("positive", positive.shape[0], scores.shape[0])
    check_room("scores", scores.shape[0], (out.shape[0] - 1) * step + 1 if out.shape[0] > 0 else 0)
    with nogil:
        for k in range(out.shape[0]):
            out[k] = scale * scores[k * step] + (shift + shift_step * positive[k * step])


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
        # Newton has landed when the step no longer changes anything but the last digits of sum u.
        if (
            active > 0.0
            and fabs(step) <= 1e-9 * self.total
            and fabs(candidate - self.tau) <= 1e-14 * (fabs(self.tau) + 1.0)
        ):
            self._finish(excess, active)
            return
        if candidate >= self._right:
            candidate = 0.5 * (self._left + self._right) if self._right_seen else self._right
        elif candidate <= self._left:
            candidate = 0.5 * (self._left + self._right) if self._left_seen else self._left
        if (
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
        if weights is not None:
            check_length("weights", weights.shape[0], n)
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
    if weights is not None:
        check_length("weights", weights.shape[0], n)
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
    check_room("cells", cells.shape[0], 2)
    if weights is not None:
        check_length("weights", weights.shape[0], n)
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
                x = (inside[i] - low) * scale
                cell = <Py_ssize_t>x if x < last else last - 1   # no number is too large for the last cell
                cells[cell] += inside_weights[i] if c != NULL else 1.0
            begin += size
        cells[last] += above


cdef inline double _place(double v, double low, double per_unit, double last) noexcept nogil:
    """Distance of a value above ``low``, in cells; those beyond the first or the last cell are held to be in it."""
    return max(min((v - low) * per_unit, last), 0.0)


def sum_cells(
    const double[::1] values, const double[::1] weights, double low, double per_unit, double[:, ::1] table
):
    """Add values to cells, the first at ``low``, of which ``per_unit`` make a unit; the outermost ones are endless.

    To the rows of the table go how many values a cell has, their weight, and the sum of weight times place: the
    distance from the beginning of the cell, as a share of its width.
    """
    cdef Py_ssize_t n = values.shape[0], size = table.shape[1], begin = 0, end, i
    cdef const double* v = &values[0] if n > 0 else NULL
    cdef const double* c = &weights[0] if weights is not None and n > 0 else NULL
    cdef double* counts = &table[0, 0]
    cdef double* masses = &table[1, 0]
    cdef double* moments = &table[2, 0]
    cdef double[BLOCK] places
    cdef int[BLOCK] cells
    cdef double weight
    check_length("table", table.shape[0], 3)
    check_room("rows of the table", size, 1)
    if weights is not None:
        check_length("weights", weights.shape[0], n)
    with nogil:
        while begin < n:
            end = min(<Py_ssize_t>BLOCK, n - begin)
            for i in range(end):
                cells[i] = <int>_place(v[begin + i], low, per_unit, <double>(size - 1))
                places[i] = (v[begin + i] - low) * per_unit - cells[i]
            for i in range(end):
                weight = c[begin + i] if c != NULL else 1.0
                counts[cells[i]] += 1.0
                masses[cells[i]] += weight
                moments[cells[i]] += weight * places[i]
            begin += end


def pick_cells(
    const double[::1] values, const double[::1] weights, double low, double per_unit, Py_ssize_t size,
    Py_ssize_t one, Py_ssize_t other, double[::1] kept, double[::1] kept_weights,
):
    """Keep the values of two of the cells that :func:`sum_cells` knows, of so many in all, and their weights.

    Returns how many there are; ``kept`` must have room for one more.
    """
    cdef Py_ssize_t n = values.shape[0], i, found = 0
    cdef Py_ssize_t room = min(kept.shape[0], kept_weights.shape[0])
    cdef const double* v = &values[0] if n > 0 else NULL
    cdef const double* c = &weights[0] if weights is not None and n > 0 else NULL
    cdef int cell
    if weights is not None:
        check_length("weights", weights.shape[0], n)
    check_room("kept", room, 1)
    with nogil:
        for i in range(n):
            cell = <int>_place(v[i], low, per_unit, <double>(size - 1))
            kept[found] = v[i]
            kept_weights[found] = c[i] if c != NULL else 1.0
            found += (cell == one) | (cell == other)
            if found == room:
                break
    check_room("kept", room, found + 1)
    return found


def cut_of_cells(const double[::1] cells, double above, double total, double low, double high):
    """Middle of the cell with weight ``total`` above it, given the weight of what is in no cell and above.

    Returns
    -------
    cut : float
        The middle.
    looseness : float
        The most that ``sum_i c_i max(0, x_i - cut) + total cut`` is above its minimum over all cuts: its slope nowhere in
        the cell exceeds the weight there. Infinite if the minimum is not in a cell.
    """
    cdef Py_ssize_t count = cells.shape[0] - 1, cell = count - 1
    cdef double width = (high - low) / count, looseness
    check_room("cells", cells.shape[0], 2)
    above += cells[count]
    looseness = INFINITY if above > total else 0.0
    while cell > 0 and above + cells[cell] <= total:
        above += cells[cell]
        cell -= 1
    looseness += 0.5 * width * cells[cell] if above + cells[cell] >= total else INFINITY
    return low + (<double>cell + 0.5) * width, looseness


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
    const double[::1] direction,
    double[::1] gradient,
    Py_ssize_t pieces,
):
    """Fill ``gradient = slope c (u - t)``.

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
    along : float
        ``<gradient, direction>``, or 0 if the direction is None.
    """
    cdef top_k_rows rows
    rows.rows = rows_of(scores, positive, weights, direction, gradient, pieces)
    rows.line = top_k_line(
        scale, shift, shift_step, target_negative, target_step, slope, tau, theta, correction, other, blend
    )
    return sums_over(finish_piece, &rows, 6)
