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

So beta is linear in z and in a within a cell, and its sum over all partners is a line for each bin, made of prefix
sums of the moments ``sum c``, ``sum c x`` of the other class. Positions x within a bin are measured from its left
edge: nothing large cancels. Three steps, of which the first and the last take a range of rows:

    bin_moments    one pass: moments up to the second of each bin and class
    bin_lines      O(bins): the lines, and the sums over pairs
    bin_gradient   one pass: every example reads its line
"""

from libc.stdlib cimport free, malloc

cdef enum:
    BLOCK = 512


cdef struct Moments:
    double mass      # sum c
    double first     # sum c x
    double second    # sum c x^2
    double count     # number of terms, if they are weighted


cdef struct Line:
    double intercept
    double slope


def bin_moments(
    const double[::1] scores,
    const unsigned char[::1] positive,
    const double[::1] weights,
    double shift_negative,
    double shift_positive,
    double width,
    double[:, :, ::1] moments,
    Py_ssize_t start,
    Py_ssize_t stop,
):
    """Add the moments of ``score + shift`` of a range of rows to ``moments[bin, class]``; class 1 are the positives."""
    cdef Moments* table = <Moments*>&moments[0, 0, 0]
    cdef Moments* place
    cdef const double* f = &scores[0]
    cdef const unsigned char* label = &positive[0]
    cdef const double* c = &weights[0] if weights is not None else NULL
    cdef Py_ssize_t i, b
    cdef double x, inverse = 1.0 / width
    cdef double[2] shifts
    shifts[0] = shift_negative
    shifts[1] = shift_positive
    with nogil:
        if c == NULL:
            for i in range(start, stop):
                x = f[i] + shifts[label[i]]
                b = <Py_ssize_t>(x * inverse)
                x -= b * width
                place = &table[2 * b + label[i]]
                place.mass += 1.0
                place.first += x
                place.second += x * x
        else:
            for i in range(start, stop):
                x = f[i] + shifts[label[i]]
                b = <Py_ssize_t>(x * inverse)
                x -= b * width
                place = &table[2 * b + label[i]]
                place.mass += c[i]
                place.first += c[i] * x
                place.second += c[i] * x * x
                place.count += 1.0


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
    cdef Py_ssize_t bins = moments.shape[0], b, first, p
    cdef const Moments* m = <const Moments*>&moments[0, 0, 0]
    cdef Line* line = <Line*>&lines[0, 0, 0]
    cdef const Moments* z
    cdef const Moments* a
    # Prefix sums over the bins before b of mass, position and squared position, from the left edge of the first bin.
    cdef long double* mass = <long double*>malloc((bins + 1) * sizeof(long double))
    cdef long double* moment = <long double*>malloc((bins + 1) * sizeof(long double))
    cdef long double* square = <long double*>malloc((bins + 1) * sizeof(long double))
    cdef long double edge, difference, squares = 0.0, ceiling = 0.0, cornered = 0.0
    cdef double w0, w1, w2, before, kappa = r * width, s = 0.5 / kappa, e = 1.0 - 0.5 / r
    if mass == NULL or moment == NULL or square == NULL:
        free(mass); free(moment); free(square)
        raise MemoryError(f"no memory for {bins} bins")
    with nogil:
        mass[0] = 0.0
        moment[0] = 0.0
        square[0] = 0.0
        for b in range(bins):
            a = &m[2 * b + 1]
            edge = b * <long double>width
            mass[b + 1] = mass[b] + a.mass
            moment[b + 1] = moment[b] + a.first + edge * a.mass
            square[b + 1] = square[b] + a.second + edge * (2.0 * a.first + edge * a.mass)
        for b in range(bins):
            z = &m[2 * b]
            a = &m[2 * b + 1]
            edge = b * <long double>width
            first = max(b - r + 1, 0)
            # Moments of a - edge over 0 < d < r.
            difference = mass[b] - mass[first]
            w0 = <double>difference
            w1 = <double>((moment[b] - moment[first]) - edge * difference)
            w2 = <double>((square[b] - square[first]) - edge * (2.0 * (moment[b] - moment[first]) - edge * difference))
            line[2 * b].slope = (2.0 * w0 + a.mass) * s
            line[2 * b].intercept = (width * a.mass - a.first - 2.0 * w1) * s
            squares += 4.0 * s * s * (z.second * w0 - 2.0 * z.first * w1 + z.mass * w2)
            squares += s * s * (
                z.second * a.mass + z.mass * a.second - 2.0 * z.first * a.first
                + width * (width * z.mass * a.mass + 2.0 * (z.first * a.mass - z.mass * a.first))
            )
            ceiling += z.first * <double>mass[b] + z.mass * <double>(edge * mass[b] - moment[b])
            ceiling += 0.5 * (z.first * a.mass - z.mass * a.first + width * z.mass * a.mass)
            cornered += z.mass * a.mass
            if b >= r:
                a = &m[2 * (b - r) + 1]
                before = <double>mass[b - r]
                line[2 * b].slope += a.mass * s
                line[2 * b].intercept += before + (e * a.mass - s * a.first)
                squares += z.mass * before + e * (
                    e * z.mass * a.mass + 2.0 * s * (z.first * a.mass - z.mass * a.first)
                )
                squares += s * s * (z.second * a.mass - 2.0 * z.first * a.first + z.mass * a.second)
                cornered += z.mass * a.mass
        # The same for the positives, with suffix sums of the negatives.
        mass[bins] = 0.0
        moment[bins] = 0.0
        for b in range(bins - 1, -1, -1):
            z = &m[2 * b]
            mass[b] = mass[b + 1] + z.mass
            moment[b] = moment[b + 1] + z.first + b * <long double>width * z.mass
        for b in range(bins):
            z = &m[2 * b]
            edge = b * <long double>width
            p = min(b + r, bins)
            difference = mass[b + 1] - mass[p]
            w0 = <double>difference
            w1 = <double>((moment[b + 1] - moment[p]) - edge * difference)
            line[2 * b + 1].slope = -(2.0 * w0 + z.mass) * s
            line[2 * b + 1].intercept = (width * z.mass + z.first + 2.0 * w1) * s
            if b + r < bins:
                z = &m[2 * (b + r)]
                line[2 * b + 1].slope -= z.mass * s
                line[2 * b + 1].intercept += <double>mass[b + r + 1] + (e * z.mass + s * z.first)
    free(mass); free(moment); free(square)
    return <double>squares, <double>ceiling, <double>cornered


def bin_gradient(
    const double[::1] scores,
    const unsigned char[::1] positive,
    const double[::1] weights,
    double shift_negative,
    double shift_positive,
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
    cdef const Line* line
    cdef const double* f = &scores[0]
    cdef const unsigned char* label = &positive[0]
    cdef const double* c = &weights[0] if weights is not None else NULL
    cdef double* g = &gradient[0]
    cdef Py_ssize_t i, b, begin = start, end
    cdef double x, y, block_slopes, block_inner, inverse = 1.0 / width
    cdef double[2] shifts
    cdef double[2] signs
    cdef double[2] ones
    cdef long double slopes = 0.0, inner = 0.0
    shifts[0] = shift_negative
    shifts[1] = shift_positive
    signs[0] = scale
    signs[1] = -scale
    ones[0] = 1.0
    ones[1] = 0.0
    with nogil:
        while begin < stop:
            end = min(begin + <Py_ssize_t>BLOCK, stop)
            block_slopes = 0.0
            block_inner = 0.0
            for i in range(begin, end):
                x = f[i] + shifts[label[i]]
                b = <Py_ssize_t>(x * inverse)
                line = &table[2 * b + label[i]]
                y = line.intercept + line.slope * (x - b * width)
                if c != NULL:
                    y *= c[i]
                block_slopes += ones[label[i]] * y
                y *= signs[label[i]]
                block_inner += y * f[i]
                g[i] = y
            slopes += block_slopes
            inner += block_inner
            begin = end
    return <double>slopes, <double>inner
