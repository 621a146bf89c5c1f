"""One pool of threads for the whole process, and how rows are shared out among them.

Kernels release the GIL and work on a range of rows. :func:`over_ranges` runs one on several ranges at once: the
first in the calling thread, the others in the pool. How many threads, is a matter of context:

    with use_threads(4):
        solver.run(objective)

Without it, all cores that the process may use. Results come back in the order of the ranges, so sums over them
depend on the number of threads, and on nothing else.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from ._validation import whole_number

T = TypeVar("T")
Range = tuple[int, int]

_n_threads: ContextVar[int | None] = ContextVar("n_threads", default=None)
_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_workers = 0


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def n_threads() -> int:
    """Number of threads to use here and now."""
    chosen = _n_threads.get()
    return available_cores() if chosen is None else chosen


def check_n_threads(number: int | None) -> None:
    """Raise an error unless it is None or a whole number above 0."""
    if number is not None:
        whole_number("n_threads", number, at_least=1)


@contextmanager
def use_threads(number: int | None) -> Iterator[None]:
    """Use so many threads inside; None for all cores.

    Examples
    --------
    >>> from smoothperf.threads import n_threads, use_threads
    >>> with use_threads(3):
    ...     n_threads()
    3
    """
    check_n_threads(number)
    token = _n_threads.set(number)
    try:
        yield
    finally:
        _n_threads.reset(token)


def pieces(n: int, *, least: int) -> int:
    """Into how many pieces to cut n things: one for each thread, but of at least so many that a piece pays."""
    return max(1, min(n_threads(), n // least))


def even_ranges(n: int, *, least: int) -> list[Range]:
    """Split ``range(n)`` into one piece for each thread, but none shorter than ``least``, which would not pay.

    Examples
    --------
    >>> with use_threads(2):
    ...     even_ranges(10, least=4), even_ranges(10, least=8)
    ([(0, 5), (5, 10)], [(0, 10)])
    """
    number = pieces(n, least=least)
    bounds = [n * i // number for i in range(number + 1)]
    return list(itertools.pairwise(bounds))


def over_ranges(kernel: Callable[[int, int], T], ranges: list[Range]) -> list[T]:
    """``[kernel(start, stop) for start, stop in ranges]``, side by side."""
    if len(ranges) == 1:
        return [kernel(*ranges[0])]
    pool = _shared_pool(len(ranges) - 1)
    others = [pool.submit(kernel, *each) for each in ranges[1:]]
    first = kernel(*ranges[0])
    return [first, *(future.result() for future in others)]


def _shared_pool(workers: int) -> ThreadPoolExecutor:
    """The process's pool, with at least so many workers."""
    global _pool, _workers
    with _lock:
        if _pool is None or _workers < workers:
            _workers = max(workers, available_cores() - 1)
            _pool = ThreadPoolExecutor(_workers, thread_name_prefix="smoothperf")
        return _pool


def _begin_anew() -> None:
    """Forget the pool: a fork inherits it, but not its threads; nor those that may have held the lock."""
    global _lock, _pool
    _lock = threading.Lock()
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
