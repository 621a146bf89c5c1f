r"""Kernel features: a model that is linear in them bends in all columns at once.

With columns z of mean 0 and spread 1, the Gaussian kernel ``exp(-gamma |z - z'|^2)`` with some rows as landmarks has
the features of Nyström's approximation (scikit-learn's ``Nystroem``), which are centred, beside z itself. The weights
of z are penalised 10^4 times as much, so that they are of use where a straight line goes on beyond the landmarks. With
d columns ``gamma = width / d``, as the mean of ``|z - z'|^2`` is 2 d.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import Array
from .._validation import positive_number, whole_number
from ..io.model_file import kept_in_files
from .base import Transformer

#: Factors of the columns, and of the features of the kernel.
OF_COLUMNS, OF_KERNEL = 0.1, 10.0


@kept_in_files
class KernelFeatures(Transformer):
    """Features of a Gaussian kernel, beside standardised columns.

    Parameters
    ----------
    width : float, default=1.0
        The kernel's gamma times the number of columns: the larger, the closer must rows be to resemble one another.
    n_components : int, default=400
        Number of landmarks, which are drawn among the rows.
    random_state : int, default=0
        Draws them.
    dtype : dtype, default=float32
        Type of the features.

    Attributes
    ----------
    scaler_ : StandardScaler
        Of the columns.
    kernel_ : Nystroem
        Of the standardised columns.
    means_ : ndarray of shape (n_components,)
        Means of its features over the training rows.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> KernelFeatures(n_components=20).fit_transform(X).shape
    (100, 23)
    """

    def __init__(self, width: float = 1.0, *, n_components: int = 400, random_state: Any = 0, dtype: Any = np.float32):
        self.width = width
        self.n_components = n_components
        self.random_state = random_state
        self.dtype = dtype

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn means, spreads and landmarks.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Columns of numbers.
        y : None
            Not looked at.

        Returns
        -------
        self
        """
        from sklearn.kernel_approximation import Nystroem  # slow, and models from files need not
        from sklearn.preprocessing import StandardScaler

        width = positive_number("width", self.width)
        landmarks = whole_number("n_components", self.n_components, at_least=1)
        X = validate_data(self, X, dtype=np.float64)
        self.scaler_ = StandardScaler()
        Z = self.scaler_.fit_transform(X)
        self.kernel_ = Nystroem(
            gamma=width / X.shape[1], n_components=min(landmarks, X.shape[0]), random_state=self.random_state
        )
        self.means_: Array = self.kernel_.fit_transform(Z).mean(axis=0)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the features of rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Columns as in ``fit``.

        Returns
        -------
        ndarray of shape (n, d + n_components)
        """
        check_is_fitted(self)
        Z = self.scaler_.transform(validate_data(self, X, reset=False, dtype=np.float64))
        result = np.empty((Z.shape[0], Z.shape[1] + self.means_.size), dtype=self.dtype)
        result[:, : Z.shape[1]] = OF_COLUMNS * Z
        result[:, Z.shape[1] :] = OF_KERNEL * (self.kernel_.transform(Z) - self.means_)
        return result

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return names: those of the columns, and "nystroem0", .. of the kernel's features."""
        columns = super().get_feature_names_out(input_features)
        return np.concatenate([columns, self.kernel_.get_feature_names_out()])
