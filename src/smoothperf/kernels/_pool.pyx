"""One pool of threads for the compiled loops of this process (_pool.h), which other kernels cimport."""

cdef extern from "_pool.h":
    void pool_run(piece_function function, void* context, Py_ssize_t pieces) noexcept nogil


cdef void run_pieces(piece_function function, void* context, Py_ssize_t pieces) noexcept nogil:
    """``function(context, piece)`` for ``0 <= piece < pieces``, side by side; returns when all are done."""
    pool_run(function, context, pieces)
