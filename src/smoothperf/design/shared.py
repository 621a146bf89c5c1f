"""Rows of a group of processes as one matrix: scores are those of the rows here, sums over rows those of all."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from ..communicator import Communicator, extremes, total
from .base import Design


class SharedDesign(Design):
    """The rows of this process, whose columns are summed over all members.

    Parameters
    ----------
    design : Design
        The rows here; there may be none.
    communicator : Communicator
        The group of processes that have the others.

    Attributes
    ----------
    here, together
        The same.
    shape : tuple of int
        Rows here, and columns.
    n_entries, row_norm, frobenius_norm
        Those of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf.communicator import ALONE
    >>> from smoothperf.design import as_design
    >>> SharedDesign(as_design(np.eye(2)), ALONE).rmatvec(np.array([1.0, 2.0]))   # summed over a group of one
    array([1., 2.])
    """

    def __init__(self, design: Design, communicator: Communicator):
        self.here = design
        self.communicator = communicator
        self.wants_blas_threads = design.wants_blas_threads
        self.shape = design.shape
        entries, squares = total(communicator, design.n_entries, design.frobenius_norm**2)
        self.n_entries, self.frobenius_norm = int(entries), math.sqrt(squares)
        _, self.row_norm = extremes(communicator, 0.0, design.row_norm)

    def matvec(self, w: Array, out: Array | None = None) -> Array:
        """``X w`` for the rows here."""
        return self.here.matvec(w, out=out)

    def rmatvec(self, g: Array, out: Array | None = None) -> Array:
        """``X^T g``, a sum over all rows."""
        here = self.here.rmatvec(g)
        every = self.communicator.allreduce(here)
        if out is None:
            return every
        out[:] = every
        return out

    def rmatvec_to_first(self, g: Array) -> tuple[Array, float]:
        """``X^T g`` and ``|g|^2`` for the first member, in one round; the others have those of their own rows."""
        here = self.here.rmatvec(g)
        every = self.communicator.reduce(np.append(here, g @ g))
        return every[:-1], float(every[-1])

    def column_squares(self) -> Array:
        """How many entries of each column are not zero, and the sum of their squares, of all members."""
        return self.communicator.allreduce(self.here.column_squares())

    def gram(self, rows: NDArray[np.intp], weights: Array) -> Array:
        """``sum_i weights_i x_i x_i^T`` over some rows of each member."""
        return self.communicator.allreduce(self.here.gram(rows, weights))
