"""Rows with any number of labels: what people give as such, and the rows of one label after another.

Whatever was given, each label is a question of its own: which rows have it? All of these share X as an operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from .._arrays import Indices
from .._validation import shown
from ..measures import Examples
from .base import Rows, rows_of
from .labels import LabelRows

#: Kinds of y: one label for each row, an indicator matrix, or a set of labels for each row.
CLASSES, INDICATOR, SETS = "classes", "indicator", "sets"


@dataclass(frozen=True)
class LabelSets:
    """Labels, and the rows that have them.

    Attributes
    ----------
    classes : ndarray
        The labels, sorted; the numbers of columns for an indicator matrix.
    members : ndarray of bool, of shape (L, n), or (1, n) for two classes
        The rows that have each label; for two classes those of the second.
    kind : {"classes", "indicator", "sets"}
        What was given.
    sparse : bool
        Whether that was a sparse matrix.
    """

    classes: NDArray[Any]
    members: NDArray[np.bool_]
    kind: str
    sparse: bool = False

    @classmethod
    def of(cls, y: Any, *, classes: NDArray[Any] | None = None, kind: str | None = None) -> LabelSets:
        """Read labels in any of these forms, for labels and the form that are known already if they are given.

        Rows of labels are label sets if they are sets, tuples or lists that do not make an indicator matrix.

        Examples
        --------
        >>> LabelSets.of([("grain", "wheat"), (), ("grain",)]).classes
        array(['grain', 'wheat'], dtype='<U5')
        >>> LabelSets.of(np.array([[1, 0], [1, 1], [0, 0]])).members
        array([[ True,  True, False],
               [False,  True, False]])
        >>> LabelSets.of(["b", "a", "c"]).members.argmax(axis=0)
        array([1, 0, 2])
        """
        if kind == SETS or (kind is None and _are_sets(y)):
            return cls._of_sets(y, classes)
        y = check_array(y, accept_sparse="csc", ensure_2d=False, dtype=None, input_name="y")
        if y.ndim == 2 and y.shape[1] == 1 and kind != INDICATOR and not sp.issparse(y):
            y = column_or_1d(y, warn=True)
        if y.ndim == 1 and kind != INDICATOR:
            return cls._of_classes(y, classes)
        found = type_of_target(y, input_name="y", raise_unknown=True)
        if y.ndim != 2 or kind == CLASSES or found not in ("multilabel-indicator", "binary"):
            check_classification_targets(y)
            raise ValueError(
                "y must be an indicator matrix of zeros and ones, a set of labels for each row, or one label for each "
                f"row, as in fit; got an array of shape {y.shape}, which is {found}."
            )
        if classes is not None and y.shape[1] != classes.size:
            raise ValueError(f"y has {y.shape[1]} columns, but the model has {classes.size} labels.")
        sparse = bool(sp.issparse(y))
        members = np.ascontiguousarray((y.toarray() if sparse else y).T != 0)
        return cls(np.arange(y.shape[1]), members, INDICATOR, sparse)

    @classmethod
    def _of_classes(cls, y: NDArray[Any], classes: NDArray[Any] | None) -> LabelSets:
        if classes is not None:
            return cls(classes, known(classes, y)[:, None] == y, CLASSES)
        check_classification_targets(y)
        classes = np.unique(y)
        if classes.size < 2:
            raise ValueError(f"y has one class only, all {shown(classes[0])}: there is nothing to tell apart.")
        asked = classes[1:] if classes.size == 2 else classes
        return cls(classes, asked[:, None] == y, CLASSES)

    @classmethod
    def _of_sets(cls, y: Sequence[Any], classes: NDArray[Any] | None) -> LabelSets:
        sizes = [len(labels) for labels in y]
        given = np.array([label for labels in y for label in labels])
        if classes is None:
            if not given.size:
                raise ValueError("y has no labels at all: every set is empty.")
            classes = np.unique(given)
        members = np.zeros((classes.size, len(sizes)), dtype=bool)
        if given.size:
            members[np.searchsorted(known(classes, given), given), np.repeat(np.arange(len(sizes)), sizes)] = True
        return cls(classes, members, SETS)


def known(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """The labels of a model, if all these are among them."""
    unknown = np.flatnonzero(~np.isin(labels, classes))
    if unknown.size:
        raise ValueError(f"y holds the label {shown(labels[unknown[0]])}, which there was not in fit.")
    return classes


def _are_sets(y: Any) -> bool:
    """Whether rows are sets of labels: each of any size, and not the rows of an indicator matrix."""
    if hasattr(y, "ndim") and (y.ndim != 1 or y.dtype.kind != "O"):
        return False
    rows = list(y) if hasattr(y, "__iter__") else []
    if not rows or not all(isinstance(row, (set, frozenset, tuple, list, np.ndarray)) for row in rows):
        return False
    if any(isinstance(row, (set, frozenset, tuple)) for row in rows):
        return True
    entries = {entry for row in rows for entry in np.ravel(row).tolist()}
    return len({len(row) for row in rows}) > 1 or not entries <= {0, 1}


class LabelSetRows(Rows[Examples]):
    """Rows with any number of labels.

    Parameters
    ----------
    X : matrix or table
        The features, or what a transformer makes them of.
    labels : LabelSets
        Their labels.
    features, low_memory
        As in :class:`~smoothperf.tasks.base.Rows`.
    """

    def __init__(self, X: Any, labels: LabelSets, *, features: Any = None, low_memory: bool = False):
        super().__init__(X, features=features, low_memory=low_memory)
        self.labels = labels

    @property
    def targets(self) -> NDArray[Any]:
        """Labels, where each row has one; else an indicator matrix."""
        members = self.labels.members
        if self.labels.kind != CLASSES:
            return members.T.astype(np.intp)
        places = members[0].astype(np.intp) if members.shape[0] == 1 else members.argmax(axis=0)
        targets: NDArray[Any] = self.labels.classes[places]
        return targets

    def size_words(self) -> str:
        """Number of rows, in words."""
        return f"{self.labels.members.shape[1]:,} rows"

    def part(self, numbers: Indices) -> Self:
        """Some of the rows."""
        labels = self.labels
        some = LabelSets(labels.classes, labels.members[:, numbers], labels.kind, labels.sparse)
        return type(self)(rows_of(self.X, numbers), some, features=self.features, low_memory=self.low_memory)

    def of_label(self, index: int) -> LabelRows:
        """These rows for one label, with the same operator; they must have their features."""
        positive = self.labels.members[index]
        rows = LabelRows(self.X, np.array([False, True]), positive, low_memory=self.low_memory)
        rows.columns = self.columns
        rows.design = self.design
        return rows


def shared_folds(members: NDArray[np.bool_], n_folds: int) -> NDArray[np.intp]:
    """Fold of each row, with as many rows of every label in each as can be.

    Rows of the rarest label are dealt out first, one by one to the fold that has fewest of it, then those of the next
    that are left, as in iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011).

    Parameters
    ----------
    members : ndarray of bool, of shape (L, n)
        The rows that have each label.
    n_folds : int
        Number of folds.

    Examples
    --------
    >>> members = np.array([[True, True, False, False], [True, True, True, True]])
    >>> sorted(shared_folds(members, 2)[:2].tolist()), np.bincount(shared_folds(members, 2)).tolist()
    ([0, 1], [2, 2])
    """
    rng = np.random.default_rng(0)
    fold = np.full(members.shape[1], -1)
    sizes = np.zeros(n_folds, dtype=np.intp)
    everything = np.ones((1, members.shape[1]), dtype=bool)
    for mine in (*members[np.argsort(members.sum(axis=1), kind="stable")], everything[0]):
        dealt = fold[mine]
        counts = np.bincount(dealt[dealt >= 0], minlength=n_folds)
        for row in rng.permutation(np.flatnonzero(mine & (fold < 0))):
            best = min(range(n_folds), key=lambda each: (counts[each], sizes[each]))
            fold[row] = best
            counts[best] += 1
            sizes[best] += 1
    return fold
