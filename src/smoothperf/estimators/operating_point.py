"""Where to cut: a threshold that predicts a wanted weight of examples positive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def threshold_for_weight(scores: Array, weights: Array | None, wanted: float) -> float:
    """Return a threshold such that the weight of ``scores > threshold`` is as close to ``wanted`` as ties allow.

    It lies midway between two neighbouring scores, so that rounding in new scores of the same examples changes nothing.
    If everything is to be predicted positive it lies just below all scores; if nothing is, it is the largest score.

    Examples
    --------
    >>> threshold_for_weight(np.array([0.0, 1.0, 2.0, 3.0]), None, 1.0)
    2.5
    """
    levels, members = np.unique(scores, return_inverse=True)
    above = np.cumsum(np.bincount(members, weights=weights)[::-1])[::-1]  # weight of scores >= levels[i]
    weight_above = np.append(above, 0.0)  # cut below level i, or above all
    cut = int(np.abs(weight_above - wanted).argmin())
    if cut == 0:
        return float(np.nextafter(levels[0], -np.inf))
    if cut == levels.size:
        return float(levels[-1])
    below, above_cut = float(levels[cut - 1]), float(levels[cut])
    middle = below + (above_cut - below) / 2.0
    return middle if middle < above_cut else below
