ctypedef void (*piece_function)(void* context, Py_ssize_t piece) noexcept nogil

cdef void run_pieces(piece_function function, void* context, Py_ssize_t pieces) noexcept nogil
