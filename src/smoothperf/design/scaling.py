r"""Features of a common size, and models for them turned into models for the features as they are.

Training sees ``(x - shift) / scale``, column by column. Its scores are linear in x, so that weights and an intercept
for x itself follow:

    w' (x - shift) / scale + b  =  (w / scale) x + b - (w / scale) shift

and a model file needs to know nothing of it. Everything is O(size of X).

Means and deviations are those of scikit-learn's StandardScaler, and so are the scales of ordinary columns, to the bit.
That scaler alone does not do: it leaves a column of 1000s at 1000 where it may not shift, makes NaN of columns whose
squares overflow, scales up the rounding of float32, and does not centre sparse matrices that are full.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import inplace_column_scale, min_max_axis

from .._arrays import Array
from .._validation import choice

KINDS = ("standard", "maxabs", "none")
#: Columns whose spread is no more than this many rounding errors of their largest value are constant.
ROUNDING_ERRORS = 10.0
#: Entries of X that are looked at together.
BLOCK = 2**20


@dataclass(frozen=True, eq=False)
class Scaling:
    """Scales of columns.

    Attributes
    ----------
    scale : ndarray of shape (d,) or None
        The divisors, never 0; None for columns that stay as they are.
    shift : ndarray of shape (d,) or None
        The numbers that are subtracted before; None for nothing.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [3.0, 0.0]])
    >>> Scaling.of("standard", X).apply(X)
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    scale: Array | None = None
    shift: Array | None = None

    @classmethod
    def of(cls, kind: str, X: Any) -> Scaling:
        """Find out from some rows.

        Parameters
        ----------
        kind : {"standard", "maxabs", "none"}
            "standard" divides by the standard deviation, and subtracts the mean where data are dense, or sparse in form
            only; others would not stay sparse. "maxabs" divides by the largest absolute value. A column without spread
            is divided by that in any case: all it can be is a constant. "none" leaves the columns as they are.
        X : ndarray or sparse matrix
            The rows.
        """
        if choice("scale", kind, KINDS) == "none":
            return cls()
        lowest, highest = _extremes(X)
        largest = np.maximum(np.abs(lowest), np.abs(highest))
        largest[largest == 0.0] = 1.0
        if kind == "maxabs":
            return cls(largest)
        means, deviations = moments(X)
        rounding = ROUNDING_ERRORS * np.finfo(X.dtype).eps * largest
        # Squares of very large values overflow; the deviation is of no use then.
        useful = (highest > lowest) & (deviations > rounding) & np.isfinite(deviations)
        return cls(np.where(useful, deviations, largest), means if _is_dense(X) else None)

    def apply(self, X: Any) -> Any:
        """Return rows scaled, of the same precision; dense, if they are shifted."""
        if self.scale is None:
            return X
        sparse: Any = X if issparse(X) else None
        if sparse is not None and self.shift is None:
            scaled = sparse.copy()
            inplace_column_scale(scaled, 1.0 / self.scale)
            return scaled
        if sparse is not None:
            X = sparse.toarray()
        shift = 0.0 if self.shift is None else self.shift
        scaled = np.subtract(X, shift, out=np.empty_like(X), casting="same_kind")
        return np.divide(scaled, self.scale, out=scaled, casting="same_kind")

    def unscaled(self, coef: Array) -> Array:
        """Weights for rows as they are, of those for scaled rows; scores differ by a constant, which ranks nothing."""
        return coef if self.scale is None else coef / self.scale

    def scaled(self, coef: Array) -> Array:
        """Weights for scaled rows, of those for rows as they are: the inverse of :meth:`unscaled`."""
        return coef if self.scale is None else coef * self.scale

    def fold_into(self, model: Any) -> None:
        """Turn a model of scaled rows into one of rows as they are, whose products with the weights are shifted.

        The solver's account of its run, ``result_`` and the objective, stays that of the scaled rows.
        """
        if self.scale is None:
            return
        coef = self.unscaled(model.coef_[0])
        model.coef_ = coef.reshape(1, -1)
        if self.shift is not None:
            model.intercept_ = model.intercept_ - float(coef @ self.shift)


def _is_dense(X: Any) -> bool:
    """Whether a dense matrix is no larger than X: entries of sparse ones come with an index."""
    sparse: Any = X if issparse(X) else None
    if sparse is None:
        return True
    value, index = sparse.data.itemsize, sparse.indices.itemsize
    return bool(sparse.nnz * (value + index) >= sparse.shape[0] * sparse.shape[1] * value)


def _extremes(X: Any) -> tuple[Array, Array]:
    """Lowest and highest value of each column, in float64."""
    if issparse(X):
        lowest, highest = min_max_axis(X, axis=0)
    else:
        lowest, highest = X.min(axis=0), X.max(axis=0)
    return lowest.astype(np.float64), highest.astype(np.float64)


def moments(X: Any) -> tuple[Array, Array]:
    """Mean and standard deviation of each column, without a copy of X.

    Examples
    --------
    >>> moments(np.array([[1.0, 5.0], [3.0, 5.0]]))
    (array([2., 5.]), array([1., 0.]))
    """
    from sklearn.preprocessing import StandardScaler  # slow, and models from files have their scales

    n, d = X.shape
    found = StandardScaler(with_mean=False)
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in gen_batches(n, n if issparse(X) else max(1, BLOCK // d)):
            found.partial_fit(X[rows])
        return found.mean_.astype(np.float64), np.sqrt(found.var_.astype(np.float64))
