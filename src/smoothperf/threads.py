"""How many threads the compiled loops use, and BLAS.

Kernels release the GIL, cut their rows into pieces, and share these out among the threads of one pool for the whole
process (kernels/_pool.h). How many pieces, is a matter of context:

    with use_threads(4):
        solver.run(objective)

Without it, as many as there are cores that the process may use. Sums are added up in the order of the pieces, so they
depend on the number of pieces, and on nothing else.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache

from threadpoolctl import ThreadpoolController

from ._validation import whole_number

_n_threads: ContextVar[int | None] = ContextVar("n_threads", default=None)


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
    token = _n_threads.set(available_cores() if number is None else number)
    try:
        yield
    finally:
        _n_threads.reset(token)


def pieces(n: int, *, least: int) -> int:
    """Into how many pieces to cut n things: one for each thread, but none of fewer than ``least``, which would not pay.

    Examples
    --------
    >>> with use_threads(2):
    ...     pieces(10, least=4), pieces(10, least=8)
    (2, 1)
    """
    return max(1, min(n_threads(), n // least))


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through the loaded libraries, which takes a millisecond or two


_lock = threading.Lock()
_runs = 0  # that want one thread at present
_limit = ExitStack()


@contextmanager
def one_blas_thread(*, unless: bool = False) -> Iterator[None]:
    """One BLAS thread during a run, unless products with X are BLAS calls themselves, and large.

    Between two products with a sparse X a solver does many small vector operations. BLAS threads gain nothing
    there, and on a machine that is busy otherwise they wait for each other: runs of a second were seen to take
    thirty. The setting is that of the process, so of several runs at once the first makes and the last undoes it.
    """
    global _runs
    if unless:
        yield
        return
    with _lock:
        _runs += 1
        if _runs == 1:
            _limit.enter_context(_controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            _runs -= 1
            if _runs == 0:
                _limit.close()
