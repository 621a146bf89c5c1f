"""Fitted linear models: products with new rows, names of features, and files."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted

from .._arrays import Array
from ..io.model_file import is_fitted_attribute, save_model
from ..tasks.base import scores_of
from ..tasks.features import names_made_by, scores_from
from .problem import ACCEPTED, new_rows


class FittedModel(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators, after training."""

    n_features_in_: int

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        parameters: str = super().__repr__(N_CHAR_MAX)
        chosen = getattr(self, "trained_for_", None)
        return parameters if chosen is None else f"<{parameters}, trained with {chosen}>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that :func:`smoothperf.load` reads; it holds numbers and text, no code.

        Parameters
        ----------
        path : path-like
            The file; it is written whole or not at all.
        """
        check_is_fitted(self)
        save_model(self, path)

    def _as(self, kind: type[Any], without: Collection[str], **parameters: Any) -> Any:
        """The fitted model as another kind, whose parameters are these, those that both have, and defaults."""
        own = self.get_params(deep=False)
        model = kind(**{name: own[name] for name in kind().get_params() if name in own} | parameters)
        kept = {name: value for name, value in vars(self).items() if is_fitted_attribute(name) and name not in without}
        model.__dict__.update(kept)
        return model

    def _keep_transformer(self, fitted: Any, n_columns: int) -> None:
        """Keep the transformer that makes features of so many columns, and what it knows of these."""
        self.features_ = fitted
        self.n_features_in_ = getattr(fitted, "n_features_in_", None) or n_columns
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(fitted, "feature_names_in_"):
            self.feature_names_in_ = fitted.feature_names_in_

    @property
    def feature_names(self) -> NDArray[Any] | None:
        """Names of the columns of X, or of the features made of them, which the weights are of; None without names."""
        if (features := getattr(self, "features_", None)) is None:
            return getattr(self, "feature_names_in_", None)
        names: NDArray[Any] | None = names_made_by(features)
        return names

    def features_of(self, X: Any) -> Any:
        """Return the features of rows, which the weights are of.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of n rows
            Rows as in ``fit``.

        Returns
        -------
        ndarray or sparse matrix of shape (n, n_features)
            What the transformer of ``features=`` makes of X, or X itself.
        """
        features = getattr(self, "features_", None)
        return check_array(X if features is None else features.transform(X), **ACCEPTED)

    def _products(self, X: Any, coef: Array) -> Array:
        """``X w`` for the weights of the features."""
        if (features := getattr(self, "features_", None)) is not None:
            return scores_from(features, X, coef, **ACCEPTED)
        return scores_of(new_rows(self, X), coef)
