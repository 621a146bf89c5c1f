r"""Cuts of the scores of many labels: what few rows cannot tell, the other labels do.

**Shared counts.** Scores of rows held out that were trained in one way, a bias with them, are on one scale for all
labels. Cut at t, label l has ``tp_l(t)`` hits and ``fp_l(t)`` false ones, for n_l positives. Where these are few, the
best cut of them alone is luck. So a label has K positives more, of an average label of its size:

    tp_l(t) + K sum_m s_lm tp_m(t) / n_m,     s_lm ~ exp(-log(n_l / n_m)^2 / 2),   sum_m s_lm = 1

and false ones likewise. What a measure makes of these counts is what a way to train a label is worth, and where it is
highest the label is cut: a label of thousands of rows decides for itself, one of three is cut where those of its size
are. (Measured on three splits of the training rows of Reuters-21578, 71 labels of 2 to 1,900 rows, squared hinge: F1
on new rows is .683 with the best cut of each, .711 to .714 with K from 30 to 100; one cut for all has .695. Chosen by
these counts, alphas lose nothing against the best one for all; chosen by each label alone, .04. Where labels have less
in common, in rows of scikit-learn's generator, 100 costs .006, and 30 nothing.)

**Cuts that are best together.** A linear-fractional measure of all decisions is ``N / D`` with sums ``N = sum_l
N_l(t_l)`` and ``D = sum_l D_l(t_l)`` over labels, cut at t_l. Its maximum F* is where

    max_t  sum_l N_l(t_l) - F* D_l(t_l)  =  0

which each label maximises by itself. Dinkelbach's method takes F at the cuts found so far, and finds better cuts for
it, until there are none: a few rounds, each O(n L). For F1, ``N_l - F D_l = 2 tp - F (tp + fp + n_l)``: a label is
worth predicting where the chance of a hit is above F / 2, whatever label it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array

#: K, the positives that each label borrows from those of its size.
BORROWED = 30.0
#: Thresholds that are looked at: so many quantiles of the scores of each label's positives, and of all of these.
QUANTILES, THRESHOLDS = 20, 400
#: Cuts whose loss exceeds the least by less than this share of it are averaged: the place of the least hangs on single
#: rows.
NEAR = 0.1
#: Rounds of Dinkelbach's method, of which a handful are needed.
MOST_ROUNDS = 100


@dataclass(frozen=True)
class SharedCounts:
    """Counts of every label at common thresholds.

    Attributes
    ----------
    thresholds : ndarray of shape (T,)
        Ascending.
    hits, false : ndarray of shape (L, T)
        True and false positives above each.
    positives : ndarray of shape (L, 1)
        Positives.
    """

    thresholds: Array
    hits: Array
    false: Array
    positives: Array

    @classmethod
    def of(cls, members: Sequence[NDArray[np.bool_]], scores: Sequence[Array]) -> SharedCounts:
        """Count for labels, given which rows have each and the scores of these rows.

        Examples
        --------
        >>> counts = SharedCounts.of([np.array([True, False, True])], [np.array([2.0, 1.0, 0.0])])
        >>> [table[0, 0].item() for table in (counts.hits, counts.false, counts.positives)]
        [1.0, 1.0, 2.0]
        """
        shares = np.linspace(0.0, 1.0, QUANTILES)
        some = [np.quantile(each[mine], shares) for mine, each in zip(members, scores, strict=True) if mine.any()]
        thresholds = np.unique(np.quantile(np.concatenate(some), np.linspace(0.0, 1.0, THRESHOLDS)))
        hits, false = (
            np.array([_above(each[mine == wanted], thresholds) for mine, each in zip(members, scores, strict=True)])
            for wanted in (True, False)
        )
        return cls(thresholds, hits, false, np.array([[float(mine.sum())] for mine in members]))

    def with_borrowed(self, sizes: Array) -> SharedCounts:
        """The counts with those of average labels of the same size, given the sizes of all."""
        known = self.positives[:, 0] > 0.0
        for_each = BORROWED * similarity(sizes, sizes[known]) / self.positives[known, 0]
        return SharedCounts(
            self.thresholds,
            self.hits + for_each @ self.hits[known],
            self.false + for_each @ self.false[known],
            self.positives + BORROWED,
        )

    def best(self, measure: Callable[[Array, Array, Array], Array]) -> tuple[Array, Array]:
        """The highest measure of each label, and a threshold amid those that are almost as good."""
        loss = 1.0 - measure(self.hits, self.false, self.positives)
        least = loss.min(axis=1, keepdims=True)
        closeness = np.where(loss <= least, 1e-12, 0.0) + np.maximum((1.0 + NEAR) * least - loss, 0.0)
        return 1.0 - least[:, 0], closeness @ self.thresholds / closeness.sum(axis=1)


def similarity(sizes: Array, others: Array) -> Array:
    """Shares of other labels in what a label borrows, by their sizes: s_lm.

    Examples
    --------
    >>> similarity(np.array([3.0]), np.array([3.0, 3.0, 3000.0])).round(3)
    array([[0.5, 0.5, 0. ]])
    """
    logs, others = np.log(np.maximum(sizes, 1.0)), np.log(np.maximum(others, 1.0))
    squares = (logs[:, None] - others) ** 2
    shares = np.exp(-0.5 * (squares - squares.min(axis=1, keepdims=True)))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _above(scores: Array, thresholds: Array) -> Array:
    """Number of scores above each threshold."""
    return (scores.size - np.searchsorted(np.sort(scores), thresholds, side="right")).astype(np.float64)


#: Numerator and denominator of a measure at the cuts of a label.
Terms = tuple[Array, Array]


def cuts_together(own: Sequence[Terms], guides: Sequence[Terms] | None = None) -> list[int]:
    """Return the place of the cut of each label with which the measure of all decisions is highest.

    Parameters
    ----------
    own : sequence of (numerator, denominator)
        Both at each cut of a label.
    guides : sequence of (numerator, denominator), optional
        Those that a label is cut by; its own by default.

    Returns
    -------
    list of int
        Of equally good ones the first.

    Examples
    --------
    >>> cuts_together([(np.array([0.0, 2.0, 2.0]), np.array([1.0, 2.0, 3.0])), (np.zeros(2), np.array([0.0, 1.0]))])
    [1, 0]
    """
    best, cuts = -1.0, [0] * len(own)
    for _ in range(MOST_ROUNDS):
        wanted = [int(np.argmax(above - max(best, 0.0) * below)) for above, below in guides or own]
        above, below = (sum(float(pair[i][cut]) for pair, cut in zip(own, wanted, strict=True)) for i in (0, 1))
        found = above / below if below > 0.0 else 0.0
        if found <= best:
            break
        best, cuts = found, wanted
    return cuts
