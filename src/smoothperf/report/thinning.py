"""Few cuts that show what all cuts would: the page carries at most 2,400, whatever the number of examples.

A curve on a screen has columns of pixels. Of all points in one column, the first, last, lowest and highest draw the
same picture as the whole; so these are kept for the precision/recall curve, where precision jumps up and down. The
ROC curve only rises, so an even grid in each of its axes bounds the error of what is drawn; a logarithmic one serves
small false positive rates. Two more grids serve the slider: one in the score, one in the logarithm of the number
predicted positive, which is where rare classes live. Goals in round numbers, such as a precision of at least 0.9,
have their very best cut. Counts at the kept cuts are never interpolated.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from .._arrays import Array, Indices
from ..cuts.sorted_scores import Counts
from ..cuts.targets import ROUNDING

#: More cuts than these are thinned.
MOST_CUTS = 2400
COLUMNS = 260
#: Steps of 0.005.
RATE_GRID = 201
LOG_RATE_GRID = 60
#: Goals are met exactly in steps of 0.01.
GOAL_GRID = 101
SCORE_GRID = 200
LOG_GRID = 160


def thin_cuts(cuts: Counts, levels: Array, keep: Iterable[int] = ()) -> Indices:
    """Return which cuts to show, rising; all of them if they are few.

    Parameters
    ----------
    cuts : Counts
        Weights above the m + 1 cuts.
    levels : ndarray of shape (m,)
        The distinct scores, falling.
    keep : iterable of int
        Cuts that must be among them; the first and the last always are.

    Examples
    --------
    >>> from smoothperf.evaluation import Ranking
    >>> ranking = Ranking([1, 0, 0], [3.0, 2.0, 1.0])
    >>> thin_cuts(ranking.cuts(), ranking.levels)
    array([0, 1, 2, 3])
    """
    size = cuts.tp.shape[0]
    if size <= MOST_CUTS:
        return np.arange(size)
    recall, rate = cuts.recall, cuts.false_positive_rate
    even = np.linspace(0.0, 1.0, RATE_GRID)
    small = np.geomspace(1.0 / cuts.fp[-1], 1.0, LOG_RATE_GRID)
    scores = np.linspace(levels[0], levels[-1], SCORE_GRID)
    chosen = [
        np.array([0, size - 1, *keep]),
        column_extremes(recall[1:], cuts.precision[1:], COLUMNS) + 1,
        np.searchsorted(rate, np.concatenate([even, small]), side="left"),
        np.searchsorted(recall, even, side="left"),
        cuts_of_goals(cuts, np.linspace(0.0, 1.0, GOAL_GRID)),
        np.searchsorted(-levels, -scores, side="left"),
        np.geomspace(1, size - 1, LOG_GRID).astype(np.intp),
    ]
    few = np.unique(np.concatenate(chosen).astype(np.intp))
    # The room that is left goes to an even grid, for a slider with small steps everywhere.
    even_ranks = np.linspace(0, size - 1, MOST_CUTS - few.size).astype(np.intp)
    return np.union1d(few, even_ranks)


def cuts_of_goals(cuts: Counts, shares: Array) -> Indices:
    """Return the cuts that meet goals in round numbers best.

    They are the fewest predicted positives with a recall of at least each of the ``shares``, and the most with a
    precision of at least that; the most with a false positive rate of at most that, and the most in number, where 1, 2
    and 5 times powers of ten are round, too.

    Examples
    --------
    >>> from smoothperf.evaluation import Ranking
    >>> cuts_of_goals(Ranking([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0]).cuts(), np.array([0.6])).tolist()
    [3, 3, 3, 4, 3, 1, 1, 1, 1, 1, 2, 4, 4, 4, 4]
    """
    largest = int(np.log10(cuts.tp[-1] + cuts.fp[-1])) + 1
    round_numbers = np.concatenate([[1.0, 2.0, 5.0]] * (largest + 1)) * np.repeat(10.0 ** np.arange(largest + 1), 3)
    rates = np.concatenate([shares, 1.0 / round_numbers])
    # The best precision at or after a cut never rises, so the last cut with enough of it can be looked up.
    best_after = np.maximum.accumulate(cuts.precision[::-1])
    return np.concatenate(
        [
            np.searchsorted(cuts.recall, shares * (1.0 - ROUNDING), side="left"),
            cuts.tp.shape[0] - 1 - np.searchsorted(best_after, shares * (1.0 - ROUNDING), side="left"),
            np.searchsorted(cuts.false_positive_rate, rates * (1.0 + ROUNDING), side="right") - 1,
            np.searchsorted(cuts.tp + cuts.fp, round_numbers, side="right") - 1,
        ]
    )


def column_extremes(x: Array, y: Array, columns: int) -> Indices:
    """Return the first, last, lowest and highest point of each of many columns of equal width, rising.

    ``x`` rises. The polyline through these points covers the same range of y in every column as the whole.

    Examples
    --------
    >>> column_extremes(np.array([0.0, 0.1, 0.2, 0.3, 0.9]), np.array([0.5, 0.9, 0.1, 0.6, 0.7]), columns=2)
    array([0, 1, 2, 3, 4])
    """
    column = np.minimum((x * columns).astype(np.intp), columns - 1)
    starts = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    kept: list[int] = []
    for begin, end in pairwise([*starts.tolist(), x.shape[0]]):
        part = y[begin:end]
        kept += [begin, begin + int(part.argmin()), begin + int(part.argmax()), end - 1]
    return np.unique(np.array(kept, dtype=np.intp))


def separating_thresholds(levels: Array, cuts: Indices) -> list[float]:
    """Return for each cut k the shortest decimal t with ``levels[k] <= t < levels[k - 1]``.

    "Positive where the score is above t" then is the cut, exactly, and t can be read and typed. It is 0 where that
    will do.

    Examples
    --------
    >>> separating_thresholds(np.array([1.2345, 0.35, -0.2]), np.array([0, 1, 2, 3]))
    [1.3, 0.8, 0.0, -0.24]
    """
    step = max(float(np.ptp(levels)) / 20.0, 1e-3 * float(np.abs(levels).max()), 1e-300)
    found = []
    for cut in cuts.tolist():
        upper = float(levels[cut - 1]) if cut > 0 else float(levels[0]) + step
        lower = float(levels[cut]) if cut < levels.shape[0] else float(levels[-1]) - step
        found.append(shortest_between(lower, upper))
    return found


def shortest_between(lower: float, upper: float) -> float:
    """Return a number t with ``lower <= t < upper`` that has few digits, near the middle.

    Examples
    --------
    >>> shortest_between(0.1234, 0.1241)
    0.124
    """
    if lower <= 0.0 < upper:
        return 0.0
    middle = lower + (upper - lower) / 2.0
    for digits in range(1, 17):
        candidate = float(f"{middle:.{digits}g}")
        if lower <= candidate < upper:
            return candidate
    return lower
