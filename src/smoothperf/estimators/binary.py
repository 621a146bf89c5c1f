"""Binary classifiers while they are trained: two labels of which one is positive, and an intercept."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from .._arrays import Array
from ..measures import Measure
from ..optimise import Result
from ..tasks.base import Ending
from ..tasks.labels import LabelTask
from .offset import OffsetModel


class BinaryModel(ClassifierMixin, OffsetModel):  # type: ignore[misc]
    """Base of the classifiers: labels, an intercept, and what else training leaves."""

    measure: str | Measure
    classes_: NDArray[Any]
    class_count_: NDArray[np.int64]
    pos_label_: Any
    intercept_: Array

    task_kind: ClassVar[type[LabelTask]] = LabelTask
    _labels_in_files: ClassVar[dict[str, int]] = {"classes_": 2}

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
