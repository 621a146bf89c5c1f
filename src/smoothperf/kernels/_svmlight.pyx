"""Parser of svmlight text, one piece of the file at a time, into the arrays of a CSR matrix.

A line is ``label [qid:number] index:value index:value ... [# comment]`` with indices that ascend, and all lines have a
query or none has. The grammar of a
number is that of Python's ``float`` without underscores, "nan" and "inf", and so is its value, bit for bit: a mantissa
of at most 2^53 and a power of ten of at most 22 are both exact doubles, so one multiplication or division rounds once
and correctly (Clinger's fast path); any other number goes to the function behind ``float`` itself. Neither depends on
the locale.

Memory: a piece of m bytes holds at most m/4 + 2 entries and m/2 + 2 rows, which are reserved before it is parsed, so
that the loop over its bytes neither allocates nor holds the GIL. The last byte of what is parsed is white space or
``#``, where every token ends: no look ahead can leave the piece.
"""

from libc.math cimport NAN, isfinite
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memchr

import numpy as np

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** end, void* overflow_exception) except? -1.0

ctypedef const unsigned char* Text

#: Largest index of a file: columns are counted in 32 bits.
LARGEST_INDEX = 2**31 - 2
cdef int64_t LARGEST = 2**31 - 2
#: Largest query, as a number without its sign.
cdef uint64_t LARGEST_QUERY = 2**63 - 1
cdef uint64_t LARGEST_EXACT = 1 << 53
#: A mantissa that takes no more digits. It is above LARGEST_EXACT, so that the digits left out are Python's business.
cdef uint64_t FULL = 10**18
#: An exponent that takes no more digits: no number of decimals brings it back to 22.
cdef int64_t LARGEST_EXPONENT = 1 << 40

cdef double[23] POWERS
for power in range(23):
    POWERS[power] = float(10**power)

cdef enum Outcome:
    GOOD
    BAD_LABEL
    BAD_QUERY
    LARGE_QUERY
    MISSING_QUERY
    SURPRISING_QUERY
    BAD_PAIR
    BAD_VALUE
    INFINITE_LABEL
    INFINITE_VALUE
    NEGATIVE_INDEX
    ZERO_INDEX
    LARGE_INDEX
    REPEATED_INDEX
    UNSORTED_INDEX

cdef enum Presence:
    UNKNOWN
    NO
    YES

OUTCOMES = {
    BAD_LABEL: "bad label",
    BAD_QUERY: "bad query",
    LARGE_QUERY: "large query",
    MISSING_QUERY: "missing query",
    SURPRISING_QUERY: "surprising query",
    BAD_PAIR: "bad pair",
    BAD_VALUE: "bad value",
    INFINITE_LABEL: "infinite label",
    INFINITE_VALUE: "infinite value",
    NEGATIVE_INDEX: "negative index",
    ZERO_INDEX: "zero index",
    LARGE_INDEX: "large index",
    REPEATED_INDEX: "repeated index",
    UNSORTED_INDEX: "unsorted index",
}


cdef inline bint is_digit(unsigned char c) noexcept nogil:
    return 48 <= c <= 57


cdef inline bint is_space(unsigned char c) noexcept nogil:
    return c == 32 or 9 <= c <= 13


cdef inline bint ends_token(unsigned char c) noexcept nogil:
    return is_space(c) or c == 35  # '#'


cdef double by_python(Text start) noexcept with gil:
    """Number that ``float`` makes of a token whose grammar has been checked; infinite if it is too large for a double."""
    cdef char* end
    try:
        return PyOS_string_to_double(<const char*>start, &end, NULL)
    except MemoryError:
        return NAN


cdef Text read_number(Text at, double* number) noexcept nogil:
    """Read a number and return where it ends, or NULL if what is there is not a number."""
    cdef Text start = at
    cdef uint64_t mantissa = 0
    cdef int64_t exponent = 0, written = 0
    cdef bint negative = at[0] == 45, negative_exponent, any_digit
    if at[0] == 45 or at[0] == 43:
        at += 1
    any_digit = is_digit(at[0])
    while is_digit(at[0]):
        if mantissa < FULL:
            mantissa = 10 * mantissa + (at[0] - 48)
        at += 1
    if at[0] == 46:  # '.'
        at += 1
        any_digit = any_digit or is_digit(at[0])
        while is_digit(at[0]):
            if mantissa < FULL:
                mantissa = 10 * mantissa + (at[0] - 48)
                exponent -= 1
            at += 1
    if not any_digit:
        return NULL
    if at[0] | 32 == 101:  # 'e' or 'E'
        at += 1
        negative_exponent = at[0] == 45
        if at[0] == 45 or at[0] == 43:
            at += 1
        if not is_digit(at[0]):
            return NULL
        while is_digit(at[0]):
            if written < LARGEST_EXPONENT:
                written = 10 * written + (at[0] - 48)
            at += 1
        exponent += -written if negative_exponent else written
    if not ends_token(at[0]):
        return NULL
    if mantissa == 0:
        number[0] = 0.0
    elif mantissa <= LARGEST_EXACT and 0 <= exponent <= 22:
        number[0] = <double>mantissa * POWERS[exponent]
    elif mantissa <= LARGEST_EXACT and -22 <= exponent < 0:
        number[0] = <double>mantissa / POWERS[-exponent]
    else:
        number[0] = by_python(start)
        return at
    if negative:
        number[0] = -number[0]
    return at


cdef class SvmlightParser:
    """Takes the bytes of a file in order; :meth:`arrays` returns what they mean, :meth:`take` what they mean so far.

    Parameters
    ----------
    one_based : bool
        Whether index 0 is an error.
    """

    #: Number of the line that is being read, from 1.
    cdef readonly int64_t line
    #: What is wrong, a value of ``OUTCOMES``; None as long as all is well.
    cdef readonly object problem
    #: Where in the last piece the bad token begins.
    cdef readonly Py_ssize_t problem_at

    #: Rows and entries that have not been handed over.
    cdef readonly int64_t n_rows, n_entries

    cdef bint one_based, in_row, in_comment, query_allowed, has_query
    cdef Presence queried  # whether rows have queries, as the first one says
    cdef int64_t previous
    cdef object values, indices, starts, labels, queries

    def __cinit__(self, bint one_based):
        self.one_based = one_based
        self.line = 1
        self.values, self.indices = np.empty(0), np.empty(0, dtype=np.int32)
        self.starts, self.labels = np.zeros(1, dtype=np.int64), np.empty(0)
        self.queries = np.empty(0, dtype=np.int64)

    def feed(self, const unsigned char[::1] text):
        """Parse as much of ``text`` as ends with a whole token; return the number of bytes used.

        Pass the others again, followed by more. If a token is wrong, ``problem`` says how, and the parser is of no
        further use.
        """
        cdef Py_ssize_t stop = text.shape[0]
        cdef Py_ssize_t problem_at = 0
        cdef Outcome outcome
        while stop > 0 and not ends_token(text[stop - 1]):
            stop -= 1
        if stop > 0:
            self._reserve(stop // 4 + 2, stop // 2 + 2)
            outcome = self._parse(
                &text[0], stop, self.values, self.indices, self.starts, self.labels, self.queries, &problem_at
            )
            if outcome != GOOD:
                self.problem = OUTCOMES[outcome]
                self.problem_at = problem_at
        return text.shape[0] if self.in_comment else stop

    def take(self):
        """Hand over the same arrays for the rows that are complete, and go on with the one that is not."""
        cdef int64_t complete = self.starts[self.n_rows]
        values, indices = self.values[complete : self.n_entries].copy(), self.indices[complete : self.n_entries].copy()
        row = slice(self.n_rows, self.n_rows + self.in_row)
        label, query = self.labels[row].copy(), self.queries[row].copy()
        self.n_entries = complete
        arrays = self.arrays()
        self.values, self.indices, self.starts, self.labels = values, indices, np.zeros(1, dtype=np.int64), label
        self.queries = query
        self.n_rows, self.n_entries = 0, values.shape[0]
        return arrays

    def arrays(self):
        """Values, indices as written, starts of the rows, labels, and queries or None: trimmed, and handed over."""
        for array, used in (
            (self.values, self.n_entries),
            (self.indices, self.n_entries),
            (self.starts, self.n_rows + 1),
            (self.labels, self.n_rows),
            (self.queries, self.n_rows if self.queried == YES else 0),
        ):
            array.resize(used, refcheck=False)
        queries = self.queries if self.queried == YES else None
        arrays = self.values, self.indices, self.starts, self.labels, queries
        # Now somebody else's: never to be resized again.
        self.values = self.indices = self.starts = self.labels = self.queries = None
        return arrays

    cdef _reserve(self, Py_ssize_t entries, Py_ssize_t rows):
        # A quarter more each time: the work of growing stays proportional to the whole, and so does what is unused.
        cdef Py_ssize_t wanted = self.n_entries + entries
        if self.values.shape[0] < wanted:
            self.values.resize(wanted + wanted // 4, refcheck=False)
            self.indices.resize(wanted + wanted // 4, refcheck=False)
        wanted = self.n_rows + rows
        if self.labels.shape[0] < wanted:
            self.labels.resize(wanted + wanted // 4, refcheck=False)
            self.starts.resize(wanted + wanted // 4 + 1, refcheck=False)
        if self.queried != NO and self.queries.shape[0] < wanted:
            self.queries.resize(wanted + wanted // 4, refcheck=False)

    cdef Outcome _parse(
        self,
        Text text,
        Py_ssize_t length,
        double[::1] values,
        int32_t[::1] indices,
        int64_t[::1] starts,
        double[::1] labels,
        int64_t[::1] queries,
        Py_ssize_t* problem_at,
    ):
        cdef Text at = text
        cdef Text stop = text + length
        cdef Text after
        cdef int64_t query
        cdef Outcome outcome = GOOD
        with nogil:
            while at < stop:
                if self.in_comment and at[0] != 10:
                    at = <Text>memchr(at, 10, stop - at)
                    if at == NULL:
                        break
                if at[0] == 10:
                    if self.in_row:
                        outcome = self._end_row()
                        if outcome != GOOD:
                            problem_at[0] = at - text
                            break
                        starts[self.n_rows] = self.n_entries
                    self.in_row = self.in_comment = False
                    self.line += 1
                    at += 1
                elif is_space(at[0]):
                    at += 1
                elif at[0] == 35:
                    self.in_comment = True
                else:
                    after = at
                    if not self.in_row:
                        outcome = self._read_label(&after, &labels[self.n_rows])
                    elif self.query_allowed and at[0] == 113:  # 'q'
                        outcome = self._read_query(&after, &query)
                        if outcome == GOOD and self.queried == NO:  # so there is no place for it
                            outcome = SURPRISING_QUERY
                        elif outcome == GOOD:
                            queries[self.n_rows] = query
                    else:
                        outcome = self._read_pair(&after, &indices[self.n_entries], &values[self.n_entries])
                    if outcome != GOOD:
                        problem_at[0] = at - text
                        break
                    at = after
        return outcome

    cdef Outcome _read_label(self, Text* at, double* label) noexcept nogil:
        at[0] = read_number(at[0], label)
        if at[0] == NULL:
            return BAD_LABEL
        if not isfinite(label[0]):
            return INFINITE_LABEL
        self.in_row = self.query_allowed = True
        self.has_query = False
        self.previous = -1
        return GOOD

    cdef Outcome _end_row(self) noexcept nogil:
        if self.queried == UNKNOWN:
            self.queried = YES if self.has_query else NO
        elif self.queried == YES and not self.has_query:
            return MISSING_QUERY
        self.n_rows += 1
        return GOOD

    cdef Outcome _read_query(self, Text* at, int64_t* query) noexcept nogil:
        """Read ``qid:number``."""
        cdef Text p = at[0]
        cdef uint64_t number = 0
        cdef bint negative
        if not (p[0] == 113 and p[1] == 105 and p[2] == 100 and p[3] == 58):
            return BAD_QUERY
        p += 4
        negative = p[0] == 45
        if negative:
            p += 1
        if not is_digit(p[0]):
            return BAD_QUERY
        while is_digit(p[0]):
            if number > (LARGEST_QUERY - (p[0] - 48)) // 10:
                return LARGE_QUERY
            number = 10 * number + (p[0] - 48)
            p += 1
        if not ends_token(p[0]):
            return BAD_QUERY
        query[0] = -<int64_t>number if negative else <int64_t>number
        self.has_query = True
        self.query_allowed = False
        at[0] = p
        return GOOD

    cdef Outcome _read_pair(self, Text* at, int32_t* column, double* value) noexcept nogil:
        cdef Text p = at[0]
        cdef int64_t index = 0
        cdef bint negative = p[0] == 45
        if negative:
            p += 1
        if not is_digit(p[0]):
            return BAD_PAIR
        while is_digit(p[0]):
            if index <= LARGEST:
                index = 10 * index + (p[0] - 48)
            p += 1
        if p[0] != 58:  # ':'
            return BAD_PAIR
        if negative:
            return NEGATIVE_INDEX
        if index > LARGEST:
            return LARGE_INDEX
        if index == 0 and self.one_based:
            return ZERO_INDEX
        if index <= self.previous:
            return REPEATED_INDEX if index == self.previous else UNSORTED_INDEX
        p = read_number(p + 1, value)
        if p == NULL:
            return BAD_VALUE
        if not isfinite(value[0]):
            return INFINITE_VALUE
        column[0] = <int32_t>index
        self.previous = index
        self.query_allowed = False
        self.n_entries += 1
        at[0] = p
        return GOOD
