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
from its left edge: nothing large cancels. Three steps, of which the first and the last take a range of rows:

    bin_moments    one pass: moments up to the second of each bin and class
    bin_lines      O(bins): the lines, and the sums over pairs
    bin_gradient   one pass: every example reads its line
"""

from libc.stddef cimport ptrdiff_t

cdef extern from "_roc_bins_loops.h":
    ctypedef struct Moments "bin_moments_t":
        double mass, first, second, count

    ctypedef struct Line "bin_line_t":
        double intercept, slope

    ctypedef struct bin_grid:
        double shift, shift_step, width

    ctypedef struct bin_sums:
        long double slopes, inner

    void moments_plain(
        const double* f, const unsigned char* label, ptrdiff_t n, bin_grid grid, Moments* table
    ) noexcept nogil
    void moments_weighted(
        const double* f, const unsigned char* label, const double* c, ptrdiff_t n, bin_grid grid, Moments* table
    ) noexcept nogil
    bin_sums gradient_plain(
        const double* f, const unsigned char* label, ptrdiff_t n, bin_grid grid, const Line* table, double scale,
        double* gradient
    ) noexcept nogil
    bin_sums gradient_weighted(
        const double* f, const unsigned char* label, const double* c, ptrdiff_t n, bin_grid grid,
        const Line* table, double scale, double* gradient
    ) noexcept nogil


def bin_moments(
    const double[::1] scores,
    const unsigned char[::1] positive,
    const double[::1] weights,
    double shift,
    double shift_step,
    double width,
    double[:, :, ::1] moments,
    Py_ssize_t start,
    Py_ssize_t stop,
):
    """Add the moments of a range of rows to ``moments[bin, class]``; class 1 are the positives.

    The position of a row on the line that is cut into bins is ``score + shift + shift_step [positive]``.
    """
    cdef Moments* table = <Moments*>&moments[0, 0, 0]
    cdef const double* c = &weights[start] if weights is not None else NULL
    cdef bin_grid grid
    grid.shift = shift
    grid.shift_step = shift_step
    grid.width = width
    with nogil:
        if c == NULL:
            moments_plain(&scores[start], &positive[start], stop - start, grid, table)
        else:
            moments_weighted(&scores[start], &positive[start], c, stop - start, grid, table)


def bin_lines(const double[:, :, ::1] moments, double width, Py_ssize_t r, double[:, :, ::1] lines):
    """Fill ``lines[bin, class]`` with intercept and slope of the sum of beta over the other class.

    Returns
    -------
    squares : float
        ``sum c c beta^2`` over all pairs.
    ceiling : float
        ``sum c c max(0, z - a)`` over all pairs, with the chord of the hinge in cells with d = 0: an upper bound.
    cornered : float
        Weight of the pairs in cells with d = 0 or d = r.
    """
    cdef Py_ssize_t bins = moments.shape[0], b
    cdef const Moments* m = <const Moments*>&moments[0, 0, 0]
    cdef Line* line = <Line*>&lines[0, 0, 0]
    cdef Moments zero
    cdef const Moments* z
    cdef const Moments* a
    cdef const Moments* corner
    cdef double kappa = r * width, s = 0.5 / kappa, e = 1.0 - 0.5 / r
    # Of the bins with 0 < d < r: mass, and moments of the distance from the left edge of the bin at hand. Sliding
    # windows, with errors relative to kappa and not to the range of the scores.
    cdef double w0 = 0.0, w1 = 0.0, w2 = 0.0
    cdef double beyond = 0.0            # mass of the bins with d > r
    cdef double mass = 0.0, ramp = 0.0  # of all bins with d > 0: sum c, and sum c times the distance
    cdef double change, squares = 0.0, ceiling = 0.0, cornered = 0.0
    zero.mass = 0.0
    zero.first = 0.0
    zero.second = 0.0
    with nogil:
        # Negatives: positives lie to the left, at distances (edge - a).
        for b in range(bins):
            z = &m[2 * b]
            a = &m[2 * b + 1]
            corner = &m[2 * (b - r) + 1] if b >= r else &zero
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
    return squares, ceiling, cornered


def bin_gradient(
    const double[::1] scores,
    const unsigned char[::1] positive,
    const double[::1] weights,
    double shift,
    double shift_step,
    double width,
    const double[:, :, ::1] lines,
    double scale,
    double[::1] gradient,
    Py_ssize_t start,
    Py_ssize_t stop,
):
    """Fill ``gradient`` for a range of rows: ``scale c sum c beta`` for negatives, minus that for positives.

    Returns
    -------
    slopes : float
        Sum of ``c sum c beta`` over the negatives among the rows.
    inner : float
        ``<gradient, scores>`` over the rows.
    """
    cdef const Line* table = <const Line*>&lines[0, 0, 0]
    cdef const double* c = &weights[start] if weights is not None else NULL
    cdef bin_grid grid
    cdef bin_sums sums
    grid.shift = shift
    grid.shift_step = shift_step
    grid.width = width
    with nogil:
        if c == NULL:
            sums = gradient_plain(&scores[start], &positive[start], stop - start, grid, table, scale, &gradient[start])
        else:
            sums = gradient_weighted(
                &scores[start], &positive[start], c, stop - start, grid, table, scale, &gradient[start]
            )
    return <double>sums.slopes, <double>sums.inner
