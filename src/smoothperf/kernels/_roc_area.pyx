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
``a``, swept once from the right, and looked up by value.

Look-ups take O(1) expected time: a table of m buckets of equal width says where to search, and within a bucket it is
a binary search, so O(log m) at worst. What a look-up needs lies together in one record, and look-ups go in batches
with prefetching, so that the waits for memory overlap.

:mod:`smoothperf.measures.pairs` puts the steps together: ``RampTable.ramps`` for the unsorted list, which may be in
pieces, ``sweep_bins``, and ``RampTable.look_up`` for the sorted one.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from ._lengths cimport check_length, check_room

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define PREFETCH(address) __builtin_prefetch(address)
    #else
    #define PREFETCH(address) ((void)0)
    #endif
    """
    void PREFETCH(const void* address) noexcept nogil

cdef enum:
    BATCH = 64
    NEAR = 4


cdef struct Record:
    # Prefix sums up to and including a, measured from a so that nothing large cancels. Record s + 1 belongs to a_s.
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
    const double* a          # sorted, followed by NEAR times infinity
    const int32_t* starts    # starts[b]: number of a in buckets before b
    const Record* records
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
    """Number of ``a_s < x`` for an x of the given bucket. Without branches where the bucket holds few, as most do."""
    cdef Py_ssize_t low = table.starts[bucket], high, middle
    cdef const double* a = table.a + low
    cdef Py_ssize_t near = (
        <Py_ssize_t>(a[0] < x) + <Py_ssize_t>(a[1] < x) + <Py_ssize_t>(a[2] < x) + <Py_ssize_t>(a[3] < x)
    )
    low += near
    if near == NEAR:
        high = table.starts[bucket + 1]
        while low < high:
            middle = (low + high) // 2
            if table.a[middle] < x:
                low = middle + 1
            else:
                high = middle
    return low


cdef inline void _locate(
    const Table* table, const double* x, Py_ssize_t size, const Bin* bins, Py_ssize_t* places
) noexcept nogil:
    """Number of ``a_s < x_j`` for a batch, which says where the record of x_j is, and its bin if there are any."""
    cdef Py_ssize_t j
    for j in range(size):
        places[j] = _bucket(table, x[j])
        PREFETCH(&table.starts[places[j]])
    for j in range(size):
        PREFETCH(&table.a[table.starts[places[j]]])
    for j in range(size):
        places[j] = _count_below(table, places[j], x[j])
        PREFETCH(&table.records[places[j]])
        if bins != NULL:
            PREFETCH(&bins[places[j]])


cdef void _tabulate(
    const double* ordered, const double* c, Py_ssize_t m, double* a, Record* records, int32_t* starts, Table* table
) noexcept nogil:
    """Prefix sums and the table of buckets; ``c`` is NULL for unit weights."""
    cdef Py_ssize_t s, b = 0
    cdef double gap
    cdef long double c0 = 0.0, c1 = 0.0, c2 = 0.0
    table.a = a
    table.starts = starts
    table.records = records
    table.buckets = m
    table.origin = ordered[0]
    table.scale = m / (ordered[m - 1] - ordered[0]) if ordered[m - 1] > ordered[0] else 0.0
    memcpy(a, ordered, m * sizeof(double))
    for s in range(m, m + NEAR):
        a[s] = INFINITY
    records[0] = Record(a[0], 0.0, 0.0, 0.0)
    for s in range(m):
        gap = a[s] - a[s - 1] if s > 0 else 0.0
        c2 += gap * (2.0 * c1 + gap * c0)
        c1 += gap * c0
        c0 += c[s] if c != NULL else 1.0
        records[s + 1] = Record(a[s], <double>c0, <double>c1, <double>c2)
        while b <= _bucket(table, a[s]):
            starts[b] = <int32_t>s
            b += 1
    while b <= m:
        starts[b] = <int32_t>m
        b += 1


cdef class RampTable:
    """The sorted list of pairs, ready to be looked up in.

    Parameters
    ----------
    ordered : array of shape (m,)
        ``a``, sorted upwards; at most 2^31 - 1 of them.
    ordered_weights : array of shape (m,) or None
        Their weights in that order; None for ones.
    """

    cdef Py_ssize_t _m
    cdef double* _a
    cdef Record* _records
    cdef int32_t* _starts
    cdef Table _table

    def __cinit__(self, const double[::1] ordered, const double[::1] ordered_weights):
        cdef Py_ssize_t m = ordered.shape[0]
        check_room("ordered", m, 1)
        if ordered_weights is not None:
            check_length("ordered_weights", ordered_weights.shape[0], m)
        self._m = m
        self._a = <double*>malloc((m + NEAR) * sizeof(double))
        self._records = <Record*>malloc((m + 1) * sizeof(Record))
        self._starts = <int32_t*>malloc((m + 1) * sizeof(int32_t))
        if self._a == NULL or self._records == NULL or self._starts == NULL:
            raise MemoryError(f"no memory for the prefix sums of {m} examples")
        with nogil:
            _tabulate(
                &ordered[0],
                &ordered_weights[0] if ordered_weights is not None else NULL,
                m, self._a, self._records, self._starts, &self._table,
            )

    def __dealloc__(self):
        free(self._a); free(self._records); free(self._starts)

    def ramps(
        self,
        const double[::1] scores,
        const double[::1] weights,
        const int64_t[::1] other_rows,
        double sign,
        double centre,
        double margin,
        double kappa,
        double scale,
        double[::1] gradient,
        double[:, ::1] bins,
    ):
        """Huber hinge of width ``kappa`` (the hinge itself for ``kappa = 0``), summed over pairs with other examples.

        Parameters
        ----------
        scores, weights : arrays of shape (n,)
            Scores and weights of all examples; None for unit weights.
        other_rows : array
            The other examples; ``z = margin + sign (scores[i] - centre)`` for these i.
        gradient : array of shape (n,), filled
            ``scale c_l sum_s c_s beta(z_l - a_s)`` at ``other_rows``.
        bins : array of shape (m + 1, 4), added to
            Weight and excess of the z, and of the z - kappa, behind each a; the first is in front of all.

        Returns
        -------
        value, height, hinges, slopes : float
            ``sum c_s c_l`` of ``H(z_l - a_s)``, of ``beta (z_l - a_s)``, of the hinge itself, and of ``beta``.
        lowest, highest : float
            The range of z.
        """
        cdef Py_ssize_t count = other_rows.shape[0], l = 0, j, i, size, outer, inner
        cdef const Table* table = &self._table
        cdef const Record* records = self._records
        cdef Bin* bin = <Bin*>&bins[0, 0]
        cdef bint weighted = weights is not None
        cdef double z, c, x, t_outer, t_inner, slope, inverse = 1.0 / kappa if kappa > 0.0 else 0.0
        cdef double b_hinges, b_ramps, b_squares, b_slopes, highest = -INFINITY, lowest = INFINITY
        cdef long double hinges = 0.0, ramps = 0.0, squares = 0.0, slopes = 0.0
        cdef double[BATCH] batch
        cdef double[BATCH] inner_batch
        cdef Py_ssize_t[BATCH] outer_place
        cdef Py_ssize_t[BATCH] inner_place
        cdef const Record* record
        check_length("gradient", gradient.shape[0], scores.shape[0])
        if weighted:
            check_length("weights", weights.shape[0], scores.shape[0])
        check_length("bins", bins.shape[0], self._m + 1)
        check_length("bins", bins.shape[1], 4)
        with nogil:
            while l < count:
                size = min(<Py_ssize_t>BATCH, count - l)
                for j in range(size):
                    z = margin + sign * (scores[other_rows[l + j]] - centre)
                    highest = z if z > highest else highest
                    lowest = z if z < lowest else lowest
                    batch[j] = z
                    inner_batch[j] = z - kappa
                _locate(table, batch, size, bin, outer_place)
                if kappa > 0.0:
                    _locate(table, inner_batch, size, bin, inner_place)
                b_hinges = 0.0    # of c T(z)
                b_ramps = 0.0     # of c T(z - kappa)
                b_squares = 0.0   # of c (S(z) - S(z - kappa))
                b_slopes = 0.0
                for j in range(size):
                    i = other_rows[l + j]
                    z = batch[j]
                    c = weights[i] if weighted else 1.0
                    # For z below all a there is a first record: zero but for its a. Its bin is never read.
                    outer = outer_place[j]
                    record = &records[outer]
                    x = z - record.a
                    t_outer = record.first + x * record.mass
                    b_hinges += c * t_outer
                    b_squares += c * (record.second + x * (record.first + t_outer))
                    bin[outer].outer_mass += c
                    bin[outer].outer_excess += c * x
                    if kappa > 0.0:
                        inner = inner_place[j]
                        record = &records[inner]
                        x = inner_batch[j] - record.a
                        t_inner = record.first + x * record.mass
                        b_squares -= c * (record.second + x * (record.first + t_inner))
                        bin[inner].inner_mass += c
                        bin[inner].inner_excess += c * x
                        slope = (t_outer - t_inner) * inverse
                        b_ramps += c * t_inner
                    else:
                        slope = record.mass
                    slope *= c
                    b_slopes += slope
                    gradient[i] = scale * slope
                hinges += b_hinges
                ramps += b_ramps
                squares += b_squares
                slopes += b_slopes
                l += size
        if kappa == 0.0:
            return <double>hinges, <double>hinges, <double>hinges, <double>slopes, lowest, highest
        squares *= inverse
        return <double>(squares / 2.0), <double>(squares - ramps), <double>hinges, <double>slopes, lowest, highest

    def look_up(
        self,
        const double[::1] scores,
        const double[::1] weights,
        const int64_t[::1] rows,
        double sign,
        double centre,
        double scale,
        const double[::1] slopes,
        double[::1] gradient,
    ):
        """Fill ``gradient = -scale c slope`` at rows of the sorted list, with the slope that belongs to their score."""
        cdef Py_ssize_t count = rows.shape[0], l = 0, j, i, size
        cdef bint weighted = weights is not None
        cdef double[BATCH] batch
        cdef Py_ssize_t[BATCH] place
        check_length("gradient", gradient.shape[0], scores.shape[0])
        if weighted:
            check_length("weights", weights.shape[0], scores.shape[0])
        check_length("slopes", slopes.shape[0], self._m)
        with nogil:
            while l < count:
                size = min(<Py_ssize_t>BATCH, count - l)
                for j in range(size):
                    batch[j] = sign * (scores[rows[l + j]] - centre)
                _locate(&self._table, batch, size, NULL, place)
                for j in range(size):
                    i = rows[l + j]
                    # (Equal scores have equal slopes.)
                    gradient[i] = -scale * slopes[place[j]] * (weights[i] if weighted else 1.0)
                l += size


def sweep_bins(const double[::1] ordered, const double[:, ::1] bins, double kappa, double[::1] slopes):
    """Fill ``slopes[s] = sum_l c_l beta(z_l - a_s)``, from what :meth:`RampTable.ramps` has put into bins.

    Returns
    -------
    crowd : float
        Most weight in one bin, and
    excess : float
        the sum of all excesses: what the rounding of the bins depends on.
    """
    cdef Py_ssize_t m = ordered.shape[0], s
    cdef const Bin* bin = <const Bin*>&bins[0, 0]
    cdef double gap, crowd = 0.0, inverse = 1.0 / kappa if kappa > 0.0 else 0.0
    cdef long double mass_o = 0.0, ramp_o = 0.0, mass_i = 0.0, ramp_i = 0.0, excess = 0.0
    check_length("bins", bins.shape[0], m + 1)
    check_length("bins", bins.shape[1], 4)
    check_length("slopes", slopes.shape[0], m)
    with nogil:
        # From the right: ramp = sum over the z behind a_s of c (z - a_s).
        for s in range(m - 1, -1, -1):
            gap = ordered[s + 1] - ordered[s] if s + 1 < m else 0.0
            ramp_o += gap * mass_o + bin[s + 1].outer_excess
            mass_o += bin[s + 1].outer_mass
            ramp_i += gap * mass_i + bin[s + 1].inner_excess
            mass_i += bin[s + 1].inner_mass
            excess += bin[s + 1].outer_excess + bin[s + 1].inner_excess
            crowd = bin[s + 1].outer_mass if bin[s + 1].outer_mass > crowd else crowd
            crowd = bin[s + 1].inner_mass if bin[s + 1].inner_mass > crowd else crowd
            slopes[s] = <double>(ramp_o - ramp_i) * inverse if kappa > 0.0 else <double>mass_o
    return crowd, <double>excess


def huber_sums(
    const double[::1] ordered, const double[::1] ordered_weights, const double[::1] z, double kappa, double[::1] out
):
    """Fill ``out[l] = sum_s c_s H(z_l - a_s)`` with the Huber hinge of width ``kappa > 0``.

    Parameters
    ----------
    ordered, ordered_weights : arrays of shape (m,)
        ``a``, sorted upwards, and its weights; None for ones.
    """
    cdef RampTable table = RampTable(ordered, ordered_weights)
    cdef Py_ssize_t count = z.shape[0], l = 0, j, size
    cdef double x, squares
    cdef double[BATCH] inner
    cdef Py_ssize_t[BATCH] outer_place
    cdef Py_ssize_t[BATCH] inner_place
    cdef const Record* record
    check_length("out", out.shape[0], count)
    with nogil:
        while l < count:
            size = min(<Py_ssize_t>BATCH, count - l)
            for j in range(size):
                inner[j] = z[l + j] - kappa
            _locate(&table._table, &z[l], size, NULL, outer_place)
            _locate(&table._table, inner, size, NULL, inner_place)
            for j in range(size):
                record = &table._records[outer_place[j]]
                x = z[l + j] - record.a
                squares = record.second + x * (2.0 * record.first + x * record.mass)
                record = &table._records[inner_place[j]]
                x = inner[j] - record.a
                squares -= record.second + x * (2.0 * record.first + x * record.mass)
                out[l + j] = squares / (2.0 * kappa)
            l += size


def sorted_hinges(const double[::1] a, const double[::1] z):
    """``sum max(0, z - a)`` over all pairs of two lists sorted upwards, in one sweep; nothing cancels."""
    cdef Py_ssize_t m = a.shape[0], count = z.shape[0], s = 0, l
    cdef long double ramp = 0.0, total = 0.0   # of z - a over the a below z
    with nogil:
        for l in range(count):
            if l > 0:
                ramp += s * (z[l] - z[l - 1])
            while s < m and a[s] < z[l]:
                ramp += z[l] - a[s]
                s += 1
            total += ramp
    return <double>total
