"""Parts that kernels over queries share, on the side of Cython; the loops are in _queries.h."""

from libc.stddef cimport ptrdiff_t

from ._lengths cimport check_length, check_room

cdef extern from "_queries.h":
    ctypedef struct ranked:
        double key
        ptrdiff_t document

    ptrdiff_t first_query(const ptrdiff_t* starts, ptrdiff_t queries, ptrdiff_t piece, ptrdiff_t pieces) noexcept nogil
    void sort_query(ranked* entries, ranked* room, ptrdiff_t count) noexcept nogil


cdef inline Py_ssize_t longest_query(const ptrdiff_t[::1] starts, Py_ssize_t documents) except -1:
    """Most documents of a query; an error unless queries follow one another, up to the last document."""
    cdef Py_ssize_t query, longest = 0
    check_room("starts", starts.shape[0], 1)
    check_length("documents", documents, starts[starts.shape[0] - 1])
    if starts[0] != 0:
        raise ValueError(f"starts must begin with 0, got {starts[0]}")
    for query in range(starts.shape[0] - 1):
        if starts[query + 1] < starts[query]:
            raise ValueError(f"starts must not fall, but does at {query + 1}")
        longest = max(longest, starts[query + 1] - starts[query])
    return longest
