"""Keeps BLAS from starting threads for small products."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

from ..design import Design


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through the loaded libraries, which takes a millisecond or two


_lock = threading.Lock()
_runs = 0  # that want one thread at present
_limit = ExitStack()


@contextmanager
def one_blas_thread(design: Design) -> Iterator[None]:
    """One BLAS thread during a run, unless the products with X themselves are large BLAS calls.

    Between two products with a sparse X a solver does many small vector operations. BLAS threads gain nothing
    there, and on a machine that is busy otherwise they wait for each other: runs of a second were seen to take
    thirty. The setting is that of the process, so of several runs at once the first makes and the last undoes it.
    """
    global _runs
    if design.wants_blas_threads:
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
