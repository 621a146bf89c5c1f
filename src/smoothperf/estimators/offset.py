"""An offset of scores (``base_scores``): given with the rows to train on, and wanted with new ones then."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from .._arrays import Array
from .linear import CertifiedModel


class OffsetModel(CertifiedModel):
    """Base of models that may be added to the scores of another one."""

    has_base_scores_: bool

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        base_scores: ArrayLike | None = None,
    ) -> Self:
        """Fit to training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), path or Store
            Dense in any order, CSR or CSC; float32 and float64 are used as they are, without a copy of them. The path
            of a store (:func:`smoothperf.io.convert`) trains from its files, without a copy of them; only rows of
            folds, where alpha is chosen, are copied into memory.
        y : array-like of shape (n,)
            Two kinds of labels; ``pos_label``, or the larger in sorted order, is positive. Not needed for a store,
            which has them.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; an integer weight c stands for c copies. They count in scores on held-out rows, too.
        base_scores : array-like of shape (n,), optional
            An offset, such as the :meth:`decision_function` of another model: what is trained is added to it. Give
            that of new rows to :meth:`decision_function`, :meth:`predict` and :meth:`score`, too. Scores on held-out
            rows have it in; a model that was trained on these very rows flatters itself there: give scores that it has
            for rows held out (``cross_val_predict``).

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit(X, y, sample_weight, base_scores)
        return self

    def _fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, offset: Any = None
    ) -> object:
        """Fit to training data."""
        raise NotImplementedError

    @property
    def _has_offset(self) -> bool:
        """Whether there was an offset in training; models from files of earlier versions know of none."""
        return getattr(self, "has_base_scores_", False)

    def _keep_offset(self, offset: Array | None) -> None:
        """Remember whether there is an offset, which new rows need then."""
        self.has_base_scores_ = offset is not None

    def _check_offset(self, base_scores: Any) -> None:
        """Refuse an offset that is missing, or that a model was not fitted with."""
        if self._has_offset != (base_scores is not None):
            raise ValueError(
                "base_scores are missing: the model was fitted with such, and is added to them; pass base_scores=, "
                "those of these rows."
                if base_scores is None
                else "base_scores are given, but the model was fitted without; leave them out."
            )
