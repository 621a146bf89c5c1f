"""Wait for a message awake.

A thread that sleeps until something arrives has to be woken up, and so has its processor if there was nothing else to
do. On a virtual machine that takes as long as many a message. A thread that stays awake for a while and asks again and
again is there at once; and as it offers its turn to all others in between, it takes little time from them.
"""

from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

cdef extern from "poll.h" nogil:
    struct pollfd:
        int fd
        short events
        short revents

    int poll(pollfd* fds, unsigned long count, int milliseconds)
    short POLLIN

cdef extern from "sched.h" nogil:
    int sched_yield()


cdef inline double _now() noexcept nogil:
    cdef timespec time
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec + 1e-9 * time.tv_nsec


def wait_awake(int descriptor, double seconds):
    """Return when there is something to read, or news of the connection's end; or after so many seconds."""
    cdef pollfd what
    cdef double deadline
    what.fd = descriptor
    what.events = POLLIN
    with nogil:
        deadline = _now() + seconds
        while poll(&what, 1, 0) == 0 and _now() < deadline:
            sched_yield()
