"""Binary classifiers while they are trained: two labels of which one is positive, and an intercept."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from ..measures import Measure
from ..optimise import Result
from ..tasks.base import Ending
from ..tasks.labels import LabelTask
from .linear import CertifiedModel

Array = NDArray[np.float64]


class BinaryModel(ClassifierMixin, CertifiedModel):  # type: ignore[misc]
    """Base of the classifiers: ``fit``, and the attributes that it leaves."""

    measure: str | Measure
    classes_: NDArray[Any]
    class_count_: NDArray[np.int64]
    pos_label_: Any
    intercept_: Array
    has_base_scores_: bool

    task_kind: ClassVar[type[LabelTask]] = LabelTask
    _labels_in_files: ClassVar[dict[str, int]] = {"classes_": 2}

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

    @staticmethod
    def _numbers_in_files(n_features: int) -> dict[str, tuple[int, ...]]:
        """Shapes of the arrays that a model file must have."""
        return {"coef_": (1, n_features), "intercept_": (1,)}

    @property
    def _sign(self) -> float:
        """-1 if the positive label is the first of ``classes_``: scikit-learn wants scores that rise to the second."""
        # Models from files of earlier versions know one order only.
        return -1.0 if getattr(self, "pos_label_", self.classes_[1]) == self.classes_[0] else 1.0

    def _keep_labels(self, pair: NDArray[Any], counts: tuple[int, int]) -> None:
        """Remember the negative and the positive label, and how many rows of each there are to train on."""
        self.classes_ = np.unique(pair)
        self.pos_label_ = pair[1]
        self.class_count_ = np.array(counts[:: int(self._sign)], dtype=np.int64)

    @property
    def _has_offset(self) -> bool:
        """Whether there was an offset in training; models from files of earlier versions know of none."""
        return getattr(self, "has_base_scores_", False)

    def _keep_offset(self, offset: Array | None) -> None:
        """Remember whether there is an offset, which new rows need then."""
        self.has_base_scores_ = offset is not None

    def _keep_ending(self, result: Result, ending: Ending) -> None:
        """Make the outcome of a run the fitted model."""
        self._keep(result, ending.coef, ending.intercept)

    def _keep(self, result: Result, coef: Array, intercept: float) -> None:
        """Make the outcome of a run the fitted model."""
        self.__dict__.pop("expected_", None)  # of another fit
        self.coef_ = self._sign * coef.reshape(1, -1)
        self.intercept_ = np.array([self._sign * intercept + 0.0])  # never -0.0
        self._keep_result(result)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
