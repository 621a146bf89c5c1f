r"""Bands around the curves: where they would run, had other rows of the same kind been drawn.

Every resample of the bootstrap has curves of its own. At each of some places on the x axis, the middle 95 % of their
heights is the band there; it holds for each place by itself, not for the whole curve at once.

    precision at recall r             of the fewest predicted positives with a recall of at least r
    recall at false positive rate x   of the most predicted positives with a rate of at most x

O(places log n) for a resample, whose cuts are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._arrays import Array
from ..cuts.sorted_scores import Counts
from ..cuts.targets import ROUNDING

#: Places on each axis, and as many on a logarithmic one for small false positive rates.
PLACES = 100
LEVEL = 0.95


@dataclass(frozen=True)
class Band:
    """Between which heights the middle of the curves runs, at some places.

    Attributes
    ----------
    places, low, high : ndarray
        Places on the x axis, rising, and the heights there.
    """

    places: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, places: Array, heights: Sequence[Array]) -> Band:
        """Take the middle of curves, each given by its heights at the same places.

        Examples
        --------
        >>> band = Band.of(np.array([0.5]), [np.array([height]) for height in range(1001)])
        >>> band.low.round(6), band.high.round(6)
        (array([25.]), array([975.]))
        """
        tail = (1.0 - LEVEL) / 2.0
        low, high = np.quantile(np.array(heights), [tail, 1.0 - tail], axis=0)
        return cls(places, low, high)


def recall_places() -> Array:
    """Return recalls at which precision is looked at: evenly, without 0, where nothing is predicted positive."""
    return np.arange(1, PLACES + 1) / PLACES


def rate_places(n_negative: float) -> Array:
    """Return false positive rates at which recall is looked at: evenly, and in the logarithm, too."""
    return np.union1d(np.linspace(0.0, 1.0, PLACES + 1), np.geomspace(1.0 / n_negative, 1.0, PLACES))


def precision_at(cuts: Counts, recalls: Array) -> Array:
    """Return the precision at some recalls above 0.

    Examples
    --------
    >>> from smoothperf.evaluation import Ranking
    >>> precision_at(Ranking([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0]).cuts(), np.array([0.5, 0.6]))
    array([1.        , 0.66666667])
    """
    at = np.searchsorted(cuts.tp, recalls * cuts.tp[-1] * (1.0 - ROUNDING), side="left")
    precision: Array = cuts.tp[at] / (cuts.tp[at] + cuts.fp[at])
    return precision


def recall_at(cuts: Counts, rates: Array) -> Array:
    """Return the recall at some false positive rates.

    Examples
    --------
    >>> from smoothperf.evaluation import Ranking
    >>> recall_at(Ranking([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0]).cuts(), np.array([0.0, 0.5]))
    array([0.5, 1. ])
    """
    at = np.searchsorted(cuts.fp, rates * cuts.fp[-1] * (1.0 + ROUNDING), side="right") - 1
    recall: Array = cuts.tp[at] / cuts.tp[-1]
    return recall
