"""Sums over all pairs of two lists that were put into bins: O(n) instead of a sort.

With ``a`` the scores of the positives and ``z = margin + score`` those of the negatives, a pair counts with
``beta = clip((z - a) / kappa, 0, 1)``. Bins of width ``h = kappa / r`` decide all pairs at once but those in bins
``d = 0`` or ``d = r`` apart, where ``z - a`` may lie on both sides of a corner of beta. There beta is replaced by the
chord over the cell, which lies in [0, 1] too:

    d < 0        beta = 0
    d = 0        beta = (z - a + h) / (2 kappa)
    0 < d < r    beta = (z - a) / kappa
    d = r        beta = 1 - (h + kappa - (z - a)) / (2 kappa)                                        (roc-bins)
    d > r        beta = 1

So beta is linear in z and in a within a cell, and its sum over all partners is a line for each bin, made of sums of
the moments ``sum c``, ``sum c x`` of the other class over a sliding window. Positions x within a bin are measured
from its left edge: nothing large cancels. Three steps; the first and the last are shared out among threads:

    bin_moments    one pass: moments up to the second of each bin and class, and the range
    bin_lines      O(bins): the lines, and the sums over pairs
    bin_gradient   one pass: every example reads its line
"""

from libc.stdlib cimport free, malloc

from ._lengths cimport check_length, check_room
from ._pool cimport run_pieces
from ._rows cimport row_arrays, rows_of, sums_over

cdef extern from "_roc_bins_loops.h":
    ctypedef struct Moments "bin_moments_t":
        double mass, first, second, count

    ctypedef struct Line "bin_line_t":
        double intercept, slope

    ctypedef struct bin_grid:
        double shift, shift_step, width

    ctypedef struct score_range:
        double low, high

    ctypedef struct bin_rows:
        row_arrays rows
        bin_grid grid
        score_range binned
        Moments* tables
        Py_ssize_t table_size
        score_range* ranges
        const Line* lines
        double scale

    void add_table(Moments* total, const Moments* table, Py_ssize_t size) noexcept nogil
    void moments_piece(void* context, Py_ssize_t piece) noexcept nogil
    void gradient_piece(void* context, Py_ssize_t piece) noexcept nogil


def bin_moments(
    const double[::1] scores,
    const unsigned char[::1] positive,
    const double[::1] weights,
    double shift,
    double shift_step,
    double width,
    double lowest,
    double highest,
    double[:, :, :, ::1] moments,
):
    """Fill ``moments[0, bin, class]`` with the moments of all rows; class 1 are the positives.

    The position of a row on the line that is cut into bins is ``score + shift + shift_step [positive]``. There are two
    tables for each piece that the rows are cut into, for several threads, of which only the first one has a result. And
    it has one only if all scores are between ``lowest`` and ``highest``, for which there must be bins.

    Returns the lowest and the highest score; infinities if there are none.
    """
    cdef bin_rows rows
    cdef Py_ssize_t piece, pieces = moments.shape[0] // 2
    cdef score_range found
    check_room("moments", moments.shape[0], 2)
    check_length("moments", moments.shape[2], 2)
    check_length("moments", moments.shape[3], 4)
    rows.rows = rows_of(scores, positive, weights, None, None, pieces)
    rows.grid = bin_grid(shift, shift_step, width)
    rows.binned = score_range(lowest, highest)
    rows.tables = <Moments*>&moments[0, 0, 0, 0]
    rows.table_size = moments.shape[1] * moments.shape[2]
    rows.ranges = <score_range*>malloc(pieces * sizeof(score_range))
    if rows.ranges == NULL:
        raise MemoryError(f"no memory for {pieces} pieces")
    with nogil:
        run_pieces(moments_piece, &rows, pieces)
        found = rows.ranges[0]
        for piece in range(1, pieces):
            add_table(rows.tables, rows.tables + 2 * piece * rows.table_size, rows.table_size)
            found.low = min(found.low, rows.ranges[piece].low)
            found.high = max(found.high, rows.ranges[piece].high)
        free(rows.ranges)
    return found.low, found.high


def bin_lines(const double[:, :, ::1] moments, double width, Py_ssize_t r, double[:, :, ::1] lines):
    """Fill ``lines[bin, class]`` with intercept and slope of the sum of beta over the other class, 0 in empty bins.

    Returns
    -------
    squares : float
        ``sum c c beta^2`` over all pairs.
    ceiling : float
        ``sum c c max(0, z - a)`` over all pairs, with the chord of the hinge in cells with d = 0: an upper bound.
    cornered : float
        Weight of the pairs in cells with d = 0 or d = r.
    crowd : float
        Most examples of one class in a bin.
    """
    cdef Py_ssize_t bins = moments.shape[0], b
    cdef const Moments* m = <const Moments*>&moments[0, 0, 0]
    cdef Line* line = <Line*>&lines[0, 0, 0]
    cdef Moments zero
    cdef Line nothing = Line(0.0, 0.0)
    cdef const Moments* z
    cdef const Moments* a
    cdef const Moments* corner
    cdef double kappa = r * width, s = 0.5 / kappa, e = 1.0 - 0.5 / r
    # Of the bins with 0 < d < r: mass, and moments of the distance from the left edge of the bin at hand. Sliding
    # windows, with errors relative to kappa and not to the range of the scores.
    cdef double w0 = 0.0, w1 = 0.0, w2 = 0.0
    cdef double beyond = 0.0            # mass of the bins with d > r
    cdef double mass = 0.0, ramp = 0.0  # of all bins with d > 0: sum c, and sum c times the distance
    cdef double squares = 0.0, ceiling = 0.0, cornered = 0.0, crowd = 0.0
    check_length("moments", moments.shape[1] * moments.shape[2], 2 * 4)
    check_length("lines", lines.shape[0], bins)
    check_length("lines", lines.shape[1] * lines.shape[2], 2 * 2)
    check_room("r", r, 1)
    zero.mass = 0.0
    zero.first = 0.0
    zero.second = 0.0
    with nogil:
        # Negatives: positives lie to the left, at distances (edge - a).
        for b in range(bins):
            z = &m[2 * b]
            a = &m[2 * b + 1]
            corner = &m[2 * (b - r) + 1] if b >= r else &zero
            crowd = max(crowd, z.count, a.count)
            line[2 * b] = nothing  # examples without weight read it
            if z.mass > 0.0:
                line[2 * b].slope = (2.0 * w0 + a.mass + corner.mass) * s
                line[2 * b].intercept = beyond + (
                    (2.0 * w1 + width * a.mass - a.first - corner.first) * s + e * corner.mass
                )
                squares += z.mass * beyond + e * (
                    e * z.mass * corner.mass + 2.0 * s * (z.first * corner.mass - z.mass * corner.first)
                )
                squares += 4.0 * s * s * (z.second * w0 + 2.0 * z.first * w1 + z.mass * w2)
                squares += s * s * (
                    z.second * (a.mass + corner.mass) + z.mass * (a.second + corner.second)
                    - 2.0 * z.first * (a.first + corner.first)
                    + width * (width * z.mass * a.mass + 2.0 * (z.first * a.mass - z.mass * a.first))
                )
                ceiling += z.first * mass + z.mass * ramp
                ceiling += 0.5 * (z.first * a.mass - z.mass * a.first + width * z.mass * a.mass)
                cornered += z.mass * (a.mass + corner.mass)
            # On to the next edge: all distances grow by the width, bin b joins, and bin b - r + 1 becomes the corner.
            ramp += width * mass + (width * a.mass - a.first)
            mass += a.mass
            w2 += width * (2.0 * w1 + width * w0) + (a.second + width * (width * a.mass - 2.0 * a.first))
            w1 += width * w0 + (width * a.mass - a.first)
            w0 += a.mass
            beyond += corner.mass
            if b + 1 >= r:
                corner = &m[2 * (b + 1 - r) + 1]
                w0 -= corner.mass
                w1 -= kappa * corner.mass - corner.first
                w2 -= corner.second + kappa * (kappa * corner.mass - 2.0 * corner.first)
                if not w0 > 0.0:
                    w0 = 0.0
                    w1 = 0.0
                    w2 = 0.0
        # Positives: negatives lie to the right, at distances (z - edge).
        w0 = 0.0
        w1 = 0.0
        beyond = 0.0
        for b in range(bins - 1, -1, -1):
            z = &m[2 * b]
            corner = &m[2 * (b + r)] if b + r < bins else &zero
            line[2 * b + 1] = nothing
            if m[2 * b + 1].mass > 0.0:
                line[2 * b + 1].slope = -(2.0 * w0 + z.mass + corner.mass) * s
                line[2 * b + 1].intercept = beyond + (
                    (2.0 * w1 + width * z.mass + z.first + corner.first) * s + e * corner.mass
                )
            # On to the edge before: all distances grow by the width.
            w1 += width * (w0 + z.mass) + z.first
            w0 += z.mass
            beyond += corner.mass
            if b - 1 + r < bins:
                corner = &m[2 * (b - 1 + r)]
                w0 -= corner.mass
                w1 -= kappa * corner.mass + corner.first
                if not w0 > 0.0:
                    w0 = 0.0
                    w1 = 0.0
    return squares, ceiling, cornered, crowd


def bin_gradient(
    const double[::1] scores,
    const unsigned char[::1] positive,
    const double[::1] weights,
    double shift,
    double shift_step,
    double width,
    const double[:, :, ::1] lines,
    double scale,
    const double[::1] direction,
    double[::1] gradient,
    Py_ssize_t pieces,
):
    """Fill ``gradient``: ``scale c sum c beta`` for negatives, minus that for positives.

    Returns
    -------
    slopes : float
        Sum of ``c sum c beta`` over the negatives.
    inner : float
        ``<gradient, scores>``.
    along : float
        ``<gradient, direction>``, or 0 if the direction is None.
    """
    cdef bin_rows rows
    rows.rows = rows_of(scores, positive, weights, direction, gradient, pieces)
    rows.grid = bin_grid(shift, shift_step, width)
    rows.lines = <const Line*>&lines[0, 0, 0]
    rows.scale = scale
    return sums_over(gradient_piece, &rows, 3)
