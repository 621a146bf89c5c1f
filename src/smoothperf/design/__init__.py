"""The design matrix X as a linear operator, for dense and compressed sparse arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .base import Design
from .biased import BiasedDesign
from .csc import CSCDesign
from .dense import DenseDesign
from .sparse import CSRDesign

__all__ = [
    "BiasedDesign",
    "CSCDesign",
    "CSRDesign",
    "DenseDesign",
    "Design",
    "as_design",
]


def as_design(X: Any, *, low_memory: bool = False) -> Design:
    """Wrap X without copying it: dense (any order), CSR or CSC, float32 or float64, int32 or int64 indices.

    Other sparse formats are converted to CSR, other numbers to float64.

    Parameters
    ----------
    X : array, sparse matrix or Design
        Examples by features. A Design is returned as it is.
    low_memory : bool, default=False
        Do without a copy of the indices of a CSR matrix, which is made after a few products with it, of two bytes
        an entry, because later ones take less time then.

    Returns
    -------
    design : Design
        X as an operator.

    Examples
    --------
    >>> import numpy as np
    >>> as_design(np.eye(3)).rmatvec(np.array([1.0, 0.0, 2.0]))
    array([1., 0., 2.])
    """
    if isinstance(X, Design):
        return X
    matrix: Any = X if sp.issparse(X) else np.asarray(X)
    if matrix.ndim != 2:
        raise ValueError(f"X must be two-dimensional (examples by features), got shape {matrix.shape}.")
    if matrix.dtype.kind == "c":
        raise ValueError(f"X must hold real numbers, got dtype {matrix.dtype}; pass X.real and X.imag as features.")
    if matrix.dtype.kind not in "biuf":
        try:
            matrix = matrix.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"X must hold real numbers, got dtype {matrix.dtype}: {error}.") from error
    design: Design
    if not sp.issparse(X):
        design = DenseDesign(matrix)
    elif matrix.format == "csc":
        design = CSCDesign(matrix)
    else:
        design = CSRDesign(matrix if matrix.format == "csr" else matrix.tocsr(), low_memory=low_memory)
    if not np.isfinite(design.frobenius_norm):
        raise ValueError("X must be finite, got NaN, infinity or entries too large to square; remove or replace them.")
    return design
