"""A number that tells the entries of one design matrix from those of another.

    H(X) = sum_ij r_i s_j h(x_ij)   mod 2^64

r_i and s_j are odd numbers that look random, and so is h of the bits of an entry, with h(0) = 0. Integers modulo 2^64
are added without rounding. So every entry counts alike, however large another one is; X is the same dense or sparse,
in memory or in a store, in float32 or float64; and parts of it may be summed in any order, anywhere. Two matrices have
the same number by chance once in some 10^18 pairs; it is no protection against somebody who looks for such a pair.

(In a sparse matrix, an entry that is stored in two parts is not the same as their sum.)

Cost: one pass over the data, which takes as long as about five products with X, and a number for each row and column.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import BiasedDesign, CSCDesign, DenseDesign, Design, SharedDesign
from .sparse import CompressedRows, RowBlocks

Numbers = NDArray[np.uint64]

#: Where the numbers of rows and those of columns begin; they could be any two numbers far apart.
ROWS, COLUMNS = 0x243F6A8885A308D3, 0x9216D5D98979FB1B
#: Spreads bits upwards; any odd number with about as many ones as zeros would do.
FACTOR = np.uint64(0x9E3779B97F4A7C15)
#: Entries at a time, which stay in a core's cache.
PIECE = 1 << 15


@singledispatch
def contents(design: Design, first_row: int = 0) -> int:
    """H of a design whose rows are those of X from ``first_row`` on; the sum over such parts is that of X.

    Examples
    --------
    >>> from smoothperf.design import as_design
    >>> X = np.array([[1e8, 1.0], [0.0, 2.0]])
    >>> whole = contents(as_design(X))
    >>> parts = contents(as_design(X[:1])) + contents(as_design(X[1:]), first_row=1)
    >>> whole == parts % 2**64
    True
    >>> X[1, 1] = np.nextafter(2.0, 3.0)
    >>> contents(as_design(X)) == whole
    False
    """
    raise TypeError(f"the entries of a {type(design).__name__} cannot be read.")


@contents.register
def _(design: DenseDesign, first_row: int = 0) -> int:
    of_rows, of_columns = _odd(ROWS, first_row, design.shape[0]), _odd(COLUMNS, 0, design.shape[1])
    total = 0
    for rows, block in design._blocks():
        total += _total((_hashed(block) * of_columns).sum(axis=1, dtype=np.uint64) * of_rows[rows])
    return total % 2**64


@contents.register
def _(design: RowBlocks, first_row: int = 0) -> int:
    of_rows, of_columns = _odd(ROWS, first_row, design.shape[0]), _odd(COLUMNS, 0, design.shape[1])
    return sum(_compressed(block, of_rows[rows], of_columns) for rows, block in design._blocks()) % 2**64


@contents.register
def _(design: CSCDesign, first_row: int = 0) -> int:
    of_rows, of_columns = _odd(ROWS, first_row, design.shape[0]), _odd(COLUMNS, 0, design.shape[1])
    return _compressed(design._columns, of_columns, of_rows) % 2**64


@contents.register
def _(design: BiasedDesign, first_row: int = 0) -> int:
    n, d = design.shape
    constant = _hashed(np.array([design._height])) * _odd(COLUMNS, d - 1, 1)
    return (contents(design._design, first_row) + _total(_odd(ROWS, first_row, n) * constant)) % 2**64


@contents.register
def _(design: SharedDesign, first_row: int = 0) -> int:
    together = design.together
    rows_before = together.gather(np.array([float(design.shape[0])]))[: together.rank]
    here = contents(design.here, first_row + int(sum(each[0] for each in rows_before)))
    halves = together.gather(np.array([here >> 32, here & (2**32 - 1)], dtype=np.float64))  # which are exact
    return sum((int(high) << 32) + int(low) for high, low in halves) % 2**64


def _compressed(block: CompressedRows, of_rows: Numbers, of_columns: Numbers) -> int:
    """H of compressed rows, in pieces of whole rows with about as many entries."""
    cuts = np.searchsorted(block.indptr, np.arange(0, block.n_entries, PIECE), side="right") - 1
    cuts = np.unique(np.append(cuts, block.n_rows))
    total = 0
    for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        begin, end = int(block.indptr[first]), int(block.indptr[last])
        each = np.repeat(of_rows[first:last], np.diff(block.indptr[first : last + 1]))
        total += _total(_hashed(block.data[begin:end]) * of_columns[block.indices[begin:end]] * each)
    return total


def _hashed(values: NDArray[Any]) -> Numbers:
    """``h`` of each number; the same for 0 and -0."""
    return _mixed((values.astype(np.float64) + 0.0).view(np.uint64))


def _odd(begin: int, first: int, count: int) -> Numbers:
    """Odd numbers that look random: some of a sequence that depends on where it begins."""
    places = np.uint64(begin) + np.arange(first, first + count, dtype=np.uint64)
    return _mixed(_mixed(places)) | np.uint64(1)


def _mixed(bits: Numbers) -> Numbers:
    """Let every bit depend on many, one to one, and 0 stay 0; in place."""
    bits ^= bits >> np.uint64(32)
    bits *= FACTOR
    bits ^= bits >> np.uint64(29)
    return bits


def _total(numbers: Numbers) -> int:
    return int(numbers.sum(dtype=np.uint64))
