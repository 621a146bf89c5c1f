"""Measures of many labels: the mean over labels, and the measure of all decisions together.

A label that no row has counts as 0 in the mean of a measure of decisions, as it does in scikit-learn's ``f1_score``; in
that of other measures, which compare rows with it and rows without, it does not count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from ..measures import Measure
from ..measures.fractional import FractionalMeasure
from .labels import Ranking

Mask = NDArray[np.bool_]


def label_scores(measure: Measure, members: Mask, scores: Array, predicted: Mask | None = None) -> Array:
    """The measure of each label; NaN where it compares rows with the label and rows without, and there is one kind.

    Parameters
    ----------
    measure : Measure
        The measure.
    members : ndarray of bool, of shape (L, n)
        The rows that have each label.
    scores : ndarray of shape (L, n)
        Their scores, cut where they are 0.
    predicted : ndarray of bool, of shape (L, n), optional
        The rows that get each label, if not those with a score above 0.

    Returns
    -------
    ndarray of shape (L,)
        The measures.

    Examples
    --------
    >>> from smoothperf import FBeta
    >>> label_scores(FBeta(), np.array([[True, True, False]]), np.array([[1.0, -1.0, -1.0]])).round(3)
    array([0.667])
    """
    predicted = scores > 0.0 if predicted is None else predicted
    if isinstance(measure, FractionalMeasure):
        return _of_counts(measure, *counts_of(members, predicted))
    told = members.any(axis=1) & ~members.all(axis=1)
    found = np.full(members.shape[0], np.nan)
    for label in np.flatnonzero(told):
        found[label] = Ranking(members[label], scores[label]).score(measure)
    return found


def micro_score(measure: FractionalMeasure, members: Mask, predicted: Mask) -> float:
    """The measure of all decisions together, of whichever label.

    Examples
    --------
    >>> from smoothperf import FBeta
    >>> members = np.array([[True, True], [True, False]])
    >>> round(micro_score(FBeta(), members, np.array([[True, True], [False, False]])), 3)
    0.8
    """
    sums = (each.sum(keepdims=True) for each in counts_of(members, predicted))
    return float(_of_counts(measure, *sums)[0])


def counts_of(members: Mask, predicted: Mask) -> tuple[Array, Array, Array]:
    """True positives, false positives and positives of each label.

    Examples
    --------
    >>> counts_of(np.array([[True, True, False]]), np.array([[True, False, True]]))
    (array([1.]), array([1.]), array([2.]))
    """
    hits, false = (members & predicted).sum(axis=1), (~members & predicted).sum(axis=1)
    return hits.astype(np.float64), false.astype(np.float64), members.sum(axis=1).astype(np.float64)


def _of_counts(measure: FractionalMeasure, hits: Array, false: Array, positives: Array) -> Array:
    """The measure of counts; 0 where nothing is there and nothing is predicted."""
    nothing = hits + false + positives == 0.0
    return np.asarray(measure.of_counts(hits, false, positives + nothing))
