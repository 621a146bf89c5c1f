"""All cuts of a score vector.

An example is predicted positive if its score exceeds the threshold, so examples with equal scores share their fate:
only cuts between two different scores, below all or above all can be realised.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: How far beyond all scores a cut is, relative to the largest: further than rounding carries a score.
MARGIN = 1e-9


class Cuts:
    """All cuts of a score vector: cut i is below the i-th smallest different score, the last one above all."""

    def __init__(self, scores: Array):
        self._levels, self._members = np.unique(scores, return_inverse=True)

    def above(self, weights: Array | None) -> Array:
        """Weight (by default the number) of the examples above each cut."""
        sums = np.bincount(self._members, weights=weights)
        return np.append(np.cumsum(sums[::-1])[::-1], 0.0)

    def threshold(self, cut: int) -> float:
        """A number to cut at: midway between two scores, or a little beyond all of them."""
        levels = self._levels
        below = float(levels[cut - 1]) if cut > 0 else -np.inf
        above = float(levels[cut]) if cut < levels.size else np.inf
        return between(below, above, float(levels[0]), float(levels[-1]))


def between(below: float, above: float, lowest: float, highest: float) -> float:
    """A number from ``below`` to less than ``above``: midway, or a little beyond the one that is finite.

    How little, is a matter of the lowest and the highest of all scores.
    """
    if np.isinf(below) or np.isinf(above):
        outermost, away = (above, -1.0) if np.isinf(below) else (below, 1.0)
        beyond = outermost + away * MARGIN * max(abs(lowest), abs(highest))
        return beyond if beyond != outermost else float(np.nextafter(outermost, away * np.inf))
    middle = below + (above - below) / 2.0
    return middle if middle < above else below
