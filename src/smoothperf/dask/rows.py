"""Blocks of rows one below the other as one design matrix, of which some may be left out.

Little is copied. Blocks of CSR rows are used where they are, except that indices are copied as shorter numbers if
columns are few: workers of one machine read its memory at the same time, and wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._arrays import Array
from ..design import CSRDesign, Design
from ..design.sparse import CompressedRows, RowBlocks
from .blocks import Block


class StackedRows(RowBlocks):
    """CSR matrices one below the other, each where it is."""

    def __init__(self, parts: Sequence[CSRDesign]):
        super().__init__()
        self._parts = [(part, part._rows) for part in parts]
        self.shape = (sum(part.shape[0] for part in parts), parts[0].shape[1])
        self.n_entries, self.row_norm, self.frobenius_norm = _totals(parts)

    def _blocks(self) -> Iterator[tuple[slice, CompressedRows]]:
        begin = 0
        for part, rows in self._parts:
            yield slice(begin, begin + part.shape[0]), rows
            begin += part.shape[0]


class StackedDesigns(Design):
    """Designs of any kind one below the other."""

    def __init__(self, parts: Sequence[Design]):
        super().__init__()
        self._parts = list(parts)
        self.wants_blas_threads = any(part.wants_blas_threads for part in parts)
        self.shape = (sum(part.shape[0] for part in parts), parts[0].shape[1])
        self.n_entries, self.row_norm, self.frobenius_norm = _totals(parts)
        self._scratch = np.empty(self.shape[1])

    def matvec(self, w: Array, out: Array | None = None) -> Array:
        """``X w``."""
        result = np.empty(self.shape[0]) if out is None else out
        for rows, part in self._with_rows():
            part.matvec(w, out=result[rows])
        return result

    def rmatvec(self, g: Array, out: Array | None = None) -> Array:
        """``X^T g``; designs are added in their order."""
        result = np.zeros(self.shape[1]) if out is None else out
        if out is not None:
            result[:] = 0.0
        for rows, part in self._with_rows():
            result += part.rmatvec(g[rows], out=self._scratch)
        return result

    def column_squares(self) -> Array:
        """Number of entries of each column that are not zero, and the sum of their squares."""
        result: Array = np.sum([part.column_squares() for part in self._parts], axis=0)
        return result

    def gram(self, rows: NDArray[np.intp], weights: Array) -> Array:
        """``sum_i weights_i x_i x_i^T`` over some rows."""
        result = np.zeros((self.shape[1], self.shape[1]))
        for inside, part in self._with_rows():
            here = (rows >= inside.start) & (rows < inside.stop)
            result += part.gram(rows[here] - inside.start, weights[here])
        return result

    def _with_rows(self) -> Iterator[tuple[slice, Design]]:
        begin = 0
        for part in self._parts:
            yield slice(begin, begin + part.shape[0]), part
            begin += part.shape[0]


def _totals(parts: Sequence[Design]) -> tuple[int, float, float]:
    """Entries, largest row and norm of designs one below the other."""
    return (
        sum(part.n_entries for part in parts),
        max(part.row_norm for part in parts),
        float(np.linalg.norm([part.frobenius_norm for part in parts])),
    )


def stacked(parts: Sequence[Design]) -> Design:
    """One design of several, without copying them: neighbours in CSR form go through one loop.

    Examples
    --------
    >>> from smoothperf.design import as_design
    >>> X = stacked([as_design(np.eye(2)), as_design(sp.csr_array(2.0 * np.eye(2)))])
    >>> X.matvec(np.array([1.0, 3.0]))
    array([1., 3., 2., 6.])
    """
    merged: list[Design] = []
    for are_compressed, run in groupby(parts, lambda part: isinstance(part, CSRDesign)):
        found = list(run)
        if are_compressed and len(found) > 1:
            merged.append(StackedRows([part for part in found if isinstance(part, CSRDesign)]))
        else:
            merged += found
    return merged[0] if len(merged) == 1 else StackedDesigns(merged)


def settle(block: Block, n_features: int, zero_based: bool | None) -> Design:
    """The design of a block, with the columns that all blocks together have."""
    if isinstance(block.X, CSRDesign):
        return block.X.with_short_indices()
    if isinstance(block.X, Design):
        return block.X
    matrix = block.X
    # Indices of a part without index 0 were taken to count from 1.
    indices = matrix.indices + 1 if zero_based and not block.summary.zero_based else matrix.indices
    whole = sp.csr_array((matrix.data, indices, matrix.indptr), shape=(matrix.shape[0], n_features))
    return CSRDesign(whole).with_short_indices()


class SomeRows(Design):
    """Some rows of a design, which is used as it is: scores of the other rows are computed, and left out.

    Parameters
    ----------
    design : Design
        All rows.
    chosen : ndarray of bool
        Which of them.
    """

    def __init__(self, design: Design, chosen: NDArray[np.bool_]):
        self._design = design
        self._rows = np.flatnonzero(chosen)
        self._all = np.zeros(design.shape[0])
        self.wants_blas_threads = design.wants_blas_threads
        self.shape = (int(self._rows.size), design.shape[1])
        self.n_entries = design.n_entries
        self.row_norm, self.frobenius_norm = design.row_norm, design.frobenius_norm  # upper bounds of those of some

    def matvec(self, w: Array, out: Array | None = None) -> Array:
        """``X w``."""
        scores = self._design.matvec(w, out=self._all)
        return np.take(scores, self._rows, out=out)

    def rmatvec(self, g: Array, out: Array | None = None) -> Array:
        """``X^T g``; the others have a coefficient of 0."""
        self._all[:] = 0.0
        self._all[self._rows] = g
        return self._design.rmatvec(self._all, out=out)

    def column_squares(self) -> Array:
        """Those of all rows: nobody needs them exactly."""
        return self._design.column_squares()

    def gram(self, rows: NDArray[np.intp], weights: Array) -> Array:
        """``sum_i weights_i x_i x_i^T`` over some rows."""
        return self._design.gram(self._rows[rows], weights)
