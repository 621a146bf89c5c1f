"""Rows of a group of processes as one matrix: scores are those of the rows here, sums over rows those of all."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from ..communicator import Communicator, Shared
from ..design import Design
from ..optimise.objective import Run


class SharedDesign(Shared, Design):
    """The rows of this process, whose columns are summed over all members.

    Parameters
    ----------
    design : Design
        The rows here; there may be none.
    communicator : Communicator
        The group of processes that have the others.

    Attributes
    ----------
    here : Design
        The rows here.
    shape : tuple of int
        Rows here, and columns.
    n_entries, row_norm, frobenius_norm
        Those of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf.communicator import ALONE
    >>> from smoothperf.dask.design import SharedDesign
    >>> from smoothperf.design import as_design
    >>> SharedDesign(as_design(np.eye(2)), ALONE).rmatvec(np.array([1.0, 2.0]))   # summed over a group of one
    array([1., 2.])
    """

    def __init__(self, design: Design, communicator: Communicator):
        super().__init__(communicator)
        self.here = design
        self.wants_blas_threads = design.wants_blas_threads
        self.shape = design.shape
        entries, squares = self.total(design.n_entries, design.frobenius_norm**2)
        self.n_entries, self.frobenius_norm = int(entries), math.sqrt(squares)
        _, self.row_norm = self.extremes(0.0, design.row_norm)

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

    def column_squares(self) -> Array:
        """Number of entries of each column that are not zero, and the sum of their squares, of all members."""
        return self.communicator.allreduce(self.here.column_squares())

    def gram(self, rows: NDArray[np.intp], weights: Array) -> Array:
        """``sum_i weights_i x_i x_i^T`` over some rows of each member."""
        return self.communicator.allreduce(self.here.gram(rows, weights))


def slope_for_first(run: Run, gradient: Array, communicator: Communicator) -> tuple[Array, float]:
    """``X^T g`` and ``|g|^2`` for the first member, in one round; the others have those of their own rows."""
    assert isinstance(run.design, SharedDesign)
    run.objective.n_rmatvec += 1
    every = communicator.reduce(np.append(run.design.here.rmatvec(gradient), gradient @ gradient))
    return every[:-1], float(every[-1])
