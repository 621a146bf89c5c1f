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
from its left edge: nothing large cancels. Four steps; all but the third are shared out among threads:

    extremes       one pass: the range of the scores, if there is no guess of it
    bin_moments    one pass: moments up to the second of each bin and class, and the range
    bin_lines      O(bins): the lines, and the sums over pairs
    bin_gradient   one pass: every example reads its line
"""

from libc.math cimport INFINITY
from libc.stddef cimport ptrdiff_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from ._lengths cimport check_length, check_room
from ._pool cimport run_pieces

cdef extern from "_roc_bins_loops.h":
    ctypedef struct Moments "bin_moments_t":
        double mass, first, second, count

    ctypedef struct Line "bin_line_t":
        double intercept, slope

    ctypedef struct bin_grid:
        double shift, shift_step, width

    ctypedef struct bin_sums:
        long double slopes, inner, along

    ctypedef struct score_range:
        double low, high

    score_range range_of(const double* f, ptrdiff_t n) noexcept nogil
    score_range moments_plain(
        const double* f, const unsigned char* label, ptrdiff_t n, bin_grid grid, score_range binned, Moments* first,
        Moments* second
    ) noexcept nogil
    score_range moments_weighted(
        const double* f, const unsigned char* label, const double* c, ptrdiff_t n, bin_grid grid, score_range binned,
        Moments* first, Moments* second
    ) noexcept nogil
    bin_sums gradient_plain(
        const double* f, const unsigned char* label, const double* q, ptrdiff_t n, bin_grid grid, const Line* table,
        double scale, double* gradient
    ) noexcept nogil
    bin_sums gradient_weighted(
        const double* f, const unsigned char* label, const double* c, const double* q, ptrdiff_t n, bin_grid grid,
        const Line* table, double scale, double* gradient
    ) noexcept nogil


cdef struct Rows:
    # All rows, and what to do with them; they are cut into pieces of equal length.
    const double* f
    const unsigned char* label
    const double* c       # NULL for unit weights
    const double* q       # NULL if there is no direction
    double* gradient
    Py_ssize_t n, pieces
    bin_grid grid
    score_range binned    # there are bins for these scores
    Moments* tables       # two for each piece
    Py_ssize_t table_size
    const Line* lines
    double scale
    bin_sums* sums        # one for each piece
    score_range* ranges   # one for each piece


cdef inline Py_ssize_t _first_row(const Rows* rows, Py_ssize_t piece) noexcept nogil:
    return rows.n * piece // rows.pieces


cdef void _range_piece(void* context, Py_ssize_t piece) noexcept nogil:
    cdef Rows* rows = <Rows*>context
    cdef Py_ssize_t start = _first_row(rows, piece)
    rows.ranges[piece] = range_of(rows.f + start, _first_row(rows, piece + 1) - start)


cdef score_range _joined(const Rows* rows) noexcept nogil:
    """The range of all pieces."""
    cdef Py_ssize_t piece
    cdef score_range all = rows.ranges[0]
    for piece in range(1, rows.pieces):
        all.low = min(all.low, rows.ranges[piece].low)
        all.high = max(all.high, rows.ranges[piece].high)
    return all


def extremes(const double[::1] scores, Py_ssize_t pieces):
    """The lowest and the highest score; infinities if there are none, or if one is NaN."""
    cdef Rows rows
    cdef score_range found
    if scores.shape[0] == 0:
        return INFINITY, -INFINITY
    rows.n = scores.shape[0]
    rows.pieces = pieces
    rows.f = &scores[0]
    rows.ranges = <score_range*>malloc(pieces * sizeof(score_range))
    if rows.ranges == NULL:
        raise MemoryError(f"no memory for {pieces} pieces")
    with nogil:
        run_pieces(_range_piece, &rows, pieces)
        found = _joined(&rows)
        free(rows.ranges)
    return found.low, found.high


cdef void _moments_piece(void* context, Py_ssize_t piece) noexcept nogil:
    cdef Rows* rows = <Rows*>context
    cdef Py_ssize_t start = _first_row(rows, piece), size = _first_row(rows, piece + 1) - start
    cdef Moments* first = rows.tables + 2 * piece * rows.table_size
    cdef Moments* second = first + rows.table_size
    memset(first, 0, 2 * rows.table_size * sizeof(Moments))
    if rows.c == NULL:
        rows.ranges[piece] = moments_plain(
            rows.f + start, rows.label + start, size, rows.grid, rows.binned, first, second
        )
    else:
        rows.ranges[piece] = moments_weighted(
            rows.f + start, rows.label + start, rows.c + start, size, rows.grid, rows.binned, first, second
        )
    _add_table(first, second, rows.table_size)


cdef inline void _add_table(Moments* total, const Moments* table, Py_ssize_t size) noexcept nogil:
    cdef double* sums = <double*>total
    cdef const double* terms = <const double*>table
    cdef Py_ssize_t i
    for i in range(4 * size):
        sums[i] += terms[i]


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
    cdef Rows rows
    cdef Py_ssize_t piece
    cdef score_range found
    rows.n = scores.shape[0]
    check_length("positive", positive.shape[0], rows.n)
    if weights is not None:
        check_length("weights", weights.shape[0], rows.n)
    check_room("moments", moments.shape[0], 2)
    check_length("moments", moments.shape[2], 2)
    check_length("moments", moments.shape[3], 4)
    rows.pieces = moments.shape[0] // 2
    rows.table_size = moments.shape[1] * moments.shape[2]
    rows.tables = <Moments*>&moments[0, 0, 0, 0]
    if rows.n == 0:
        memset(rows.tables, 0, rows.table_size * sizeof(Moments))
        return INFINITY, -INFINITY
    rows.f = &scores[0]
    rows.label = &positive[0]
    rows.c = &weights[0] if weights is not None else NULL
    rows.grid = bin_grid(shift, shift_step, width)
    rows.binned = score_range(lowest, highest)
    rows.ranges = <score_range*>malloc(rows.pieces * sizeof(score_range))
    if rows.ranges == NULL:
        raise MemoryError(f"no memory for {rows.pieces} pieces")
    with nogil:
        run_pieces(_moments_piece, &rows, rows.pieces)
        for piece in range(1, rows.pieces):
            _add_table(rows.tables, rows.tables + 2 * piece * rows.table_size, rows.table_size)
        found = _joined(&rows)
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


cdef void _gradient_piece(void* context, Py_ssize_t piece) noexcept nogil:
    cdef Rows* rows = <Rows*>context
    cdef Py_ssize_t start = _first_row(rows, piece), size = _first_row(rows, piece + 1) - start
    cdef const double* q = rows.q + start if rows.q != NULL else NULL
    if rows.c == NULL:
        rows.sums[piece] = gradient_plain(
            rows.f + start, rows.label + start, q, size, rows.grid, rows.lines, rows.scale, rows.gradient + start
        )
    else:
        rows.sums[piece] = gradient_weighted(
            rows.f + start, rows.label + start, rows.c + start, q, size, rows.grid, rows.lines, rows.scale,
            rows.gradient + start,
        )


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
    cdef Rows rows
    cdef bin_sums total
    cdef Py_ssize_t piece
    rows.n = scores.shape[0]
    rows.pieces = pieces
    check_length("positive", positive.shape[0], rows.n)
    check_length("gradient", gradient.shape[0], rows.n)
    if weights is not None:
        check_length("weights", weights.shape[0], rows.n)
    if direction is not None:
        check_length("direction", direction.shape[0], rows.n)
    if rows.n == 0:
        return 0.0, 0.0, 0.0
    rows.f = &scores[0]
    rows.label = &positive[0]
    rows.c = &weights[0] if weights is not None else NULL
    rows.q = &direction[0] if direction is not None else NULL
    rows.gradient = &gradient[0]
    rows.grid = bin_grid(shift, shift_step, width)
    rows.lines = <const Line*>&lines[0, 0, 0]
    rows.scale = scale
    rows.sums = <bin_sums*>malloc(pieces * sizeof(bin_sums))
    if rows.sums == NULL:
        raise MemoryError(f"no memory for {pieces} pieces")
    with nogil:
        run_pieces(_gradient_piece, &rows, pieces)
        total = rows.sums[0]
        for piece in range(1, pieces):
            total.slopes += rows.sums[piece].slopes
            total.inner += rows.sums[piece].inner
            total.along += rows.sums[piece].along
        free(rows.sums)
    return <double>total.slopes, <double>total.inner, <double>total.along
