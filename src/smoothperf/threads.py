"""The number of threads of the compiled loops, and of BLAS.

Kernels release the GIL, cut their rows into pieces, and share these out among the threads of one pool for the whole
process (kernels/_pool.h). How many pieces, is a matter of context:

    with use_threads(4):
        solver.run(objective)

Without it, as many as there are cores that the process may use. Sums are added up in the order of the pieces, so they
depend on the number of pieces, and on nothing else.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from ._validation import whole_number

T = TypeVar("T")
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


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through the loaded libraries, which takes a millisecond or two


_lock = threading.RLock()
_runs: list[int] = []  # threads whose runs want one thread of BLAS at present
_before: list[tuple[Any, int]] = []  # libraries that these runs have limited, and how many threads each had


@contextmanager
def one_blas_thread(*, unless: bool = False) -> Iterator[None]:
    """One BLAS thread during a run, unless products with X are BLAS calls themselves, and large.

    Between two products with a sparse X a solver does many small vector operations. BLAS threads gain nothing
    there, and on a machine that is busy otherwise they wait for each other: runs of a second were seen to take
    thirty. The setting is that of the process, so of several runs at once the first makes and the last undoes it.
    """
    if unless:
        yield
        return
    thread = threading.get_ident()
    with _lock:
        if not _runs:
            for library in _controller().select(user_api="blas").lib_controllers:
                if library.num_threads != 1:  # else it may be somebody else's limit, and theirs to undo
                    _before.append((library, library.num_threads))
                    _set_blas_threads(library, 1)
        _runs.append(thread)
    try:
        yield
    finally:
        with _lock:
            _runs.remove(thread)
            _undo_unless_wanted()


def _undo_unless_wanted() -> None:
    while _before and not _runs:
        _set_blas_threads(*_before.pop())


def _set_blas_threads(library: Any, number: int) -> None:
    # From threadpoolctl 3.8 on, OpenBLAS belongs to the thread that was the first to limit it, and others are ignored:
    # but who makes this limit need not be who undoes it.
    for_all = getattr(library, "clear_controlling_thread", lambda **_: None)
    for_all(force=True)
    library.set_num_threads(number)
    for_all(force=True)


def _begin_anew_after_fork() -> None:
    """In a child: only the thread that forked goes on, so runs of others do not end here, and undo nothing."""
    global _lock
    _lock = threading.RLock()
    _runs[:] = [thread for thread in _runs if thread == threading.get_ident()]
    _undo_unless_wanted()


if hasattr(os, "register_at_fork"):
    # A fork waits until nobody changes the limit: so the child finds it, and what is known of it, as one.
    os.register_at_fork(
        before=lambda: _lock.acquire(),
        after_in_parent=lambda: _lock.release(),
        after_in_child=_begin_anew_after_fork,
    )


class cached_property(functools.cached_property[T]):  # noqa: N801, TID251
    """A property that is computed once for each object.

    Python 3.11 locks that of all objects while it computes one; a child forked in that time would wait for ever.
    """

    def __init__(self, func: Callable[[Any], T]):
        super().__init__(func)
        self.lock = nullcontext()
