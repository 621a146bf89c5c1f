"""Sums of a ramp over all pairs of a sorted and an unsorted list, without forming the pairs.

For ``a`` sorted upwards with weights ``c`` and any ``x``, two ramps describe everything that is needed:

    T(x) = sum_s c_s max(0, x - a_s)          S(x) = sum_s c_s max(0, x - a_s)^2

The hinge of a pair is ``max(0, z - a)``; its smoothed form of width kappa is the Huber hinge
``H(x) = (max(0, x)^2 - max(0, x - kappa)^2) / (2 kappa)`` with slope
``beta(x) = (max(0, x) - max(0, x - kappa)) / kappa``. So an element z of the unsorted list needs two look-ups, at z
and at z - kappa:

    sum_s c_s H(z - a_s)    = (S(z) - S(z - kappa)) / (2 kappa)
    sum_s c_s beta(z - a_s) = (T(z) - T(z - kappa)) / kappa
    sum_s c_s beta(z - a_s) (z - a_s) = (S(z) - S(z - kappa)) / kappa - T(z - kappa)

and the sorted list's own sums are the same ramps seen from the other side, accumulated in bins between neighbouring
``a`` and swept once from the right.

Look-ups take O(1) expected time: a table of m buckets of equal width says where to search, and within a bucket it is
a binary search, so O(log m) at worst. What a look-up needs lies together in one record, and look-ups go in batches, so
that the waits for memory overlap.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc

cdef enum:
    BATCH = 64


cdef struct Record:
    # Prefix sums up to and including a, measured from a so that nothing large cancels.
    double a
    double mass      # sum c
    double first     # sum c (a - a')
    double second    # sum c (a - a')^2


cdef struct Bin:
    # The z (outer) and z - kappa (inner) that fall right behind a: their weight, and weighted excess over a.
    double outer_mass
    double outer_excess
    double inner_mass
    double inner_excess


cdef struct Table:
    const Record* records    # records[s + 1] belongs to a_s; records[0] to nothing at all
    const int32_t* starts    # starts[b]: number of a in buckets before b
    Py_ssize_t buckets
    double origin
    double scale


cdef inline Py_ssize_t _bucket(const Table* table, double x) noexcept nogil:
    """Bucket of x. The same expression places a and x, and it is monotone, so it never puts them in the wrong order."""
    cdef double position = (x - table.origin) * table.scale
    if not position > 0.0:
        return 0
    if position >= <double>(table.buckets - 1):
        return table.buckets - 1
    return <Py_ssize_t>position


cdef inline Py_ssize_t _count_below(const Table* table, Py_ssize_t bucket, double x) noexcept nogil:
    """Number of ``a_s < x``, which lies in the given bucket."""
    cdef Py_ssize_t low = table.starts[bucket], high = table.starts[bucket + 1], middle
    while high - low > 4:
        middle = (low + high) // 2
        if table.records[middle + 1].a < x:
            low = middle + 1
        else:
            high = middle
    while low < high and table.records[low + 1].a < x:
        low += 1
    return low


def pair_ramps(
    const double[::1] ordered,
    const double[::1] ordered_weights,
    const double[::1] scores,
    const int64_t[::1] rows,
    const double[::1] weights,
    double sign,
    double centre,
    double margin,
    double kappa,
    double scale,
    double[::1] ordered_slopes,
    double[::1] gradient,
):
    """Huber hinge of width ``kappa`` (the hinge itself for ``kappa = 0``), summed over all pairs.

    Parameters
    ----------
    ordered : array of shape (m,)
        ``a``, sorted upwards; at most 2^31 - 1 of them.
    ordered_weights : array of shape (m,) or None
        Their weights; None for ones.
    scores : array of shape (n,)
        ``z = margin + sign (scores[i] - centre)`` for each i in ``rows``.
    rows : array of shape (l,)
        Which of the scores to pair with ``ordered``.
    weights : array of shape (n,) or None
        Weights of the scores; None for ones.
    ordered_slopes : array of shape (m,), filled
        ``sum_l c_l beta(z_l - a_s)`` for each s.
    gradient : array of shape (n,), filled at ``rows``
        ``scale c_l sum_s c_s beta(z_l - a_s)``.

    Returns
    -------
    value, height, slopes : float
        ``sum c_s c_l H(z_l - a_s)``, ``sum c_s c_l beta (z_l - a_s)`` and ``sum c_s c_l beta``.
    reach : float
        The largest violation plus the largest ``|z|``: how long ramps are, for the rounding bound.
    crowd : float
        Most weight in one bin, and
    excess : float
        the sum of all excesses: what the rounding of the bins depends on.
    """
    cdef Py_ssize_t m = ordered.shape[0], count = rows.shape[0], s, l, j, size, outer, inner, b
    cdef const double* a = &ordered[0]
    cdef bint weighted = ordered_weights is not None, other_weighted = weights is not None
    cdef Record* records = <Record*>malloc((m + 1) * sizeof(Record))
    cdef Bin* bins = <Bin*>calloc(m + 1, sizeof(Bin))
    cdef int32_t* starts = <int32_t*>malloc((m + 1) * sizeof(int32_t))
    cdef Table table
    cdef double z, c, x, gap, t_outer, t_inner, s_outer, s_inner, slope, b_value, b_height, b_slopes
    cdef double highest = 0.0, lowest = 0.0, crowd = 0.0
    cdef long double c0 = 0.0, c1 = 0.0, c2 = 0.0, value = 0.0, height = 0.0, slopes = 0.0, excess = 0.0
    cdef long double mass_o = 0.0, ramp_o = 0.0, mass_i = 0.0, ramp_i = 0.0
    cdef double[BATCH] batch
    cdef Py_ssize_t[BATCH] outer_bucket
    cdef Py_ssize_t[BATCH] inner_bucket
    cdef const Record* record
    if records == NULL or bins == NULL or starts == NULL:
        free(records); free(bins); free(starts)
        raise MemoryError(f"no memory for the prefix sums of {m} examples")
    table.records = records
    table.starts = starts
    table.buckets = m
    table.origin = a[0]
    table.scale = m / (a[m - 1] - a[0]) if a[m - 1] > a[0] else 0.0
    with nogil:
        records[0] = Record(a[0], 0.0, 0.0, 0.0)
        b = 0
        for s in range(m):
            gap = a[s] - a[s - 1] if s > 0 else 0.0
            c2 += gap * (2.0 * c1 + gap * c0)
            c1 += gap * c0
            c0 += ordered_weights[s] if weighted else 1.0
            records[s + 1] = Record(a[s], <double>c0, <double>c1, <double>c2)
            while b <= _bucket(&table, a[s]):
                starts[b] = <int32_t>s
                b += 1
        while b <= m:
            starts[b] = <int32_t>m
            b += 1

        l = 0
        while l < count:
            size = min(<Py_ssize_t>BATCH, count - l)
            for j in range(size):
                z = margin + sign * (scores[rows[l + j]] - centre)
                highest = z if z > highest or l + j == 0 else highest
                lowest = z if z < lowest or l + j == 0 else lowest
                batch[j] = z
                outer_bucket[j] = _bucket(&table, z)
                inner_bucket[j] = _bucket(&table, z - kappa)
            b_value = 0.0
            b_height = 0.0
            b_slopes = 0.0
            for j in range(size):
                z = batch[j]
                c = weights[rows[l + j]] if other_weighted else 1.0
                outer = _count_below(&table, outer_bucket[j], z)
                record = &records[outer]
                t_outer = 0.0
                s_outer = 0.0
                if outer > 0:
                    x = z - record.a
                    t_outer = record.first + x * record.mass
                    s_outer = record.second + x * (2.0 * record.first + x * record.mass)
                    bins[outer].outer_mass += c
                    bins[outer].outer_excess += c * x
                if kappa == 0.0:
                    slope = record.mass
                    b_value += c * t_outer
                    b_height += c * t_outer
                else:
                    inner = _count_below(&table, inner_bucket[j], z - kappa)
                    record = &records[inner]
                    t_inner = 0.0
                    s_inner = 0.0
                    if inner > 0:
                        x = z - kappa - record.a
                        t_inner = record.first + x * record.mass
                        s_inner = record.second + x * (2.0 * record.first + x * record.mass)
                        bins[inner].inner_mass += c
                        bins[inner].inner_excess += c * x
                    slope = (t_outer - t_inner) / kappa
                    b_value += c * (s_outer - s_inner) / (2.0 * kappa)
                    b_height += c * ((s_outer - s_inner) / kappa - t_inner)
                slope *= c
                b_slopes += slope
                gradient[rows[l + j]] = scale * slope
            value += b_value
            height += b_height
            slopes += b_slopes
            l += size

        # From the right: ramp = sum over the z behind a_s of c (z - a_s).
        for s in range(m - 1, -1, -1):
            gap = a[s + 1] - a[s] if s + 1 < m else 0.0
            ramp_o += gap * mass_o + bins[s + 1].outer_excess
            mass_o += bins[s + 1].outer_mass
            ramp_i += gap * mass_i + bins[s + 1].inner_excess
            mass_i += bins[s + 1].inner_mass
            excess += bins[s + 1].outer_excess + bins[s + 1].inner_excess
            crowd = bins[s + 1].outer_mass if bins[s + 1].outer_mass > crowd else crowd
            crowd = bins[s + 1].inner_mass if bins[s + 1].inner_mass > crowd else crowd
            ordered_slopes[s] = <double>(mass_o if kappa == 0.0 else (ramp_o - ramp_i) / kappa)
        free(records); free(bins); free(starts)
    x = max(highest - a[0], 0.0) + max(highest, -lowest)
    return <double>value, <double>height, <double>slopes, x, crowd, <double>excess
