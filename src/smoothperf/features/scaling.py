"""Features of a common size, as a transformer: in a choice, sizes are learnt from the rows trained on alone."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, TransformerMixin

from ..design.scaling import Scaling


class Scaler(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Scales of columns; a model of what it makes can be turned into one of the columns (:mod:`..design.scaling`).

    Parameters
    ----------
    kind : {"standard", "maxabs", "none"}
        As in :class:`~smoothperf.design.scaling.Scaling`.
    """

    def __init__(self, kind: str = "standard"):
        self.kind = kind

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the scales."""
        self.scaling_ = Scaling.of(self.kind, X)
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        """Return rows scaled."""
        return self.scaling_.apply(X)
