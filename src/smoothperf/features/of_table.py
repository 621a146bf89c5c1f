"""Curves of the columns of a table: an encoder, and shapes of what it makes, which know the columns by name."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array
from ..io.model_file import kept_in_files
from .base import Transformer
from .shapes import Shapes
from .table import TableEncoder


@kept_in_files
class TableShapes(Transformer):
    """Curves of the numbers and dates of a table, and a height for each word.

    Parameters
    ----------
    encoder : TableEncoder, optional
        Encoder of the table, not fitted; one of its kind by default.
    shapes : Shapes, optional
        Shapes of what it makes, not fitted; some of their kind by default. ``monotonic_cst`` may be a dict by columns
        of numbers.

    Attributes
    ----------
    encoder_, shapes_ : TableEncoder and Shapes
        Fitted.
    coef_bounds_ : ndarray of shape (2, n_features_out)
        Those of the shapes.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, 20, 47, 60], "town": ["Rome", "Oslo", "Rome", "Oslo"]})
    >>> shapes = TableShapes(TableEncoder(min_count=1), Shapes(2, 1, monotonic_cst={"age": 1})).fit(people)
    >>> shapes.get_feature_names_out().tolist()
    ['age', 'age[1]', 'town=Oslo', 'town=Rome']
    >>> shapes.coef_bounds_[0]
    array([  0.,   0., -inf, -inf])
    """

    def __init__(self, encoder: TableEncoder | None = None, shapes: Shapes | None = None):
        self.encoder = encoder
        self.shapes = shapes

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what columns hold, and knots.

        Parameters
        ----------
        X : data frame
            The table.
        y : None
            Not looked at.

        Returns
        -------
        self
        """
        self.encoder_ = clone(self.encoder or TableEncoder()).fit(X, y)
        self.n_features_in_ = self.encoder_.n_features_in_
        if hasattr(self.encoder_, "feature_names_in_"):
            self.feature_names_in_ = self.encoder_.feature_names_in_
        shapes = clone(self.shapes or Shapes())
        if isinstance(asked := shapes.monotonic_cst, dict):
            numbers = {column.name for column in self.encoder_.columns_ if column.kind == "number"}
            if unknown := [name for name in asked if name not in numbers]:
                raise ValueError(f"monotonic_cst is for columns of numbers, and {unknown[0]!r} is none.")
            shapes.monotonic_cst = [asked.get(name, 0) for name in self.encoder_.get_feature_names_out()]
        self.shapes_ = shapes.fit(self._encoded(X))
        self.coef_bounds_: Array = self.shapes_.coef_bounds_
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the features of a table.

        Parameters
        ----------
        X : data frame
            A table with the columns of training.

        Returns
        -------
        ndarray of shape (n, n_features_out)
        """
        check_is_fitted(self)
        made: NDArray[Any] = self.shapes_.transform(self._encoded(X))
        return made

    def contributions(self, X: Any, coef: Array) -> Array:
        """Return what each feature of the encoder adds to the scores of rows.

        Parameters
        ----------
        X : data frame
            A table with the columns of training.
        coef : ndarray of shape (n_features_out,)
            Weights of the features.

        Returns
        -------
        ndarray
            In float64, a column for each.
        """
        check_is_fitted(self)
        added: Array = self.shapes_.contributions(self._encoded(X), coef)
        return added

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return names: those of the shapes; "town=Rome" and "age missing" are their own steps."""
        check_is_fitted(self)
        names = self.encoder_.get_feature_names_out(input_features)
        numbers = {column.name for column in self.encoder_.columns_ if column.kind == "number"}
        found = self.shapes_.get_feature_names_out(names).tolist()
        source = names[self.shapes_.source_].tolist()
        plain = [
            name if column in numbers else name.removesuffix(">=1") for name, column in zip(found, source, strict=True)
        ]
        return np.array(plain, dtype=object)

    def row_without_values(self) -> Any:
        """Return a table of one row, in which everything is missing.

        Returns
        -------
        Table
        """
        return self.encoder_.row_without_values()

    def _encoded(self, X: Any) -> NDArray[Any]:
        encoded = self.encoder_.transform(X)
        dense: NDArray[Any] = encoded.toarray() if hasattr(encoded, "toarray") else encoded
        return dense

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags
