"""Checks of lengths, where arrays are still known by name: loops do not look at lengths."""


cdef inline int check_length(str name, Py_ssize_t found, Py_ssize_t wanted) except -1:
    """Refuse an array that has not as many entries as others ask for."""
    if found != wanted:
        raise ValueError(f"{name} has length {found} where {wanted} is needed")
    return 0


cdef inline int check_room(str name, Py_ssize_t found, Py_ssize_t wanted) except -1:
    """Refuse an array that has fewer entries than others ask for."""
    if found < wanted:
        raise ValueError(f"{name} has length {found} where at least {wanted} is needed")
    return 0
