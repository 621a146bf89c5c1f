"""A block of compressed rows: three arrays in a form that the kernels take, and products with them.

A CSR matrix in memory is one block, a matrix in a file is many, and the columns of a CSC matrix are the rows of its
transpose: all of them go through the same two functions. Rows *gather* from a vector, or *scatter* into one, which
skips zero coefficients.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels, threads
from .base import Array

#: Entries for which a thread pays.
LEAST_ENTRIES = 1 << 19


@dataclass(frozen=True, slots=True)
class CompressedRows:
    """Rows A in compressed form; nothing is copied.

    Attributes
    ----------
    indptr, indices, data : ndarray
        Row i has the entries ``data[indptr[i]:indptr[i+1]]`` in the columns ``indices[indptr[i]:indptr[i+1]]``; the
        first two of one type, int32 or int64, the last float32 or float64.
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.indptr.shape[0]) - 1

    @property
    def n_entries(self) -> int:
        """Number of entries."""
        return int(self.data.shape[0])

    def gather(self, x: Array, out: Array) -> None:
        """``out = A x``."""
        threads.over_ranges(
            lambda start, stop: kernels.gather(self.indptr, self.indices, self.data, x, out, start, stop),
            self._ranges(LEAST_ENTRIES),
        )

    def scatter(self, g: Array, out: Array) -> None:
        """``out += A^T g``; rows with ``g_i = 0`` are not read."""
        # Each further thread has a sum of its own, which must be cleared and added up: that pays for long ranges only.
        ranges = self._ranges(max(LEAST_ENTRIES, 4 * out.shape[0]))
        sums = {start: out if i == 0 else np.zeros(out.shape[0]) for i, (start, _) in enumerate(ranges)}
        threads.over_ranges(
            lambda start, stop: kernels.scatter(self.indptr, self.indices, self.data, g, sums[start], start, stop),
            ranges,
        )
        for start, _ in ranges[1:]:
            out += sums[start]

    def _ranges(self, least: int) -> list[threads.Range]:
        """Rows for each thread, with as many entries for one as for another, but at least so many."""
        pieces = len(threads.even_ranges(self.n_entries, least=least))
        if pieces == 1:
            return [(0, self.n_rows)]
        wanted = [self.n_entries * i // pieces for i in range(1, pieces)]
        bounds = [0, *(int(row) for row in np.searchsorted(self.indptr, wanted)), self.n_rows]
        return [(start, stop) for start, stop in itertools.pairwise(bounds) if start < stop]
