"""Keeps BLAS from starting threads for small products."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

from ..design import Design


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through the loaded libraries, which takes a millisecond or two


@contextmanager
def calm_blas(design: Design) -> Iterator[None]:
    """One BLAS thread during a run, unless the products with X themselves are large BLAS calls.

    Between two products with a sparse X a solver does many small vector operations. BLAS threads gain nothing
    there, and on a machine that is busy otherwise they wait for each other: runs of a second were seen to take
    thirty.
    """
    if design.wants_blas_threads:
        yield
    else:
        with _controller().limit(limits=1, user_api="blas"):
            yield
