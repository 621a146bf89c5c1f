"""The design matrix X as a linear operator, for dense and compressed sparse arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .base import Design
from .dense import DenseDesign
from .sparse import CSCDesign, CSRDesign

__all__ = ["CSCDesign", "CSRDesign", "DenseDesign", "Design", "as_design"]


def as_design(X: Any) -> Design:
    """Wrap X without copying it: dense (any order), CSR or CSC, float32 or float64, int32 or int64 indices.

    Other sparse formats are converted to CSR, other numbers to float64.

    Examples
    --------
    >>> import numpy as np
    >>> as_design(np.eye(3)).rmatvec(np.array([1.0, 0.0, 2.0]))
    array([1., 0., 2.])
    """
    if isinstance(X, Design):
        return X
    if sp.issparse(X):
        matrix: Any = X
        if matrix.format == "csc":
            return CSCDesign(matrix)
        return CSRDesign(matrix if matrix.format == "csr" else matrix.tocsr())
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"X must be two-dimensional (examples by features), got shape {array.shape}.")
    return DenseDesign(array)
