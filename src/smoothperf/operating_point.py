"""Where to cut: all cuts of a score vector, and thresholds that realise a wanted weight of predicted positives.

An example is predicted positive if its score exceeds the threshold, so examples with equal scores share their fate:
only cuts between two different scores, below all or above all can be realised.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .blocks import Blocks, Vector
from .kernels.selection import level_of_blocks, most_from_each

Array = NDArray[np.float64]
#: How far beyond all scores a cut is, relative to the largest: further than rounding carries a score.
MARGIN = 1e-9


def threshold_for_weight(scores: Array, weights: Array | None, wanted: float) -> float:
    """Return a threshold such that the weight of ``scores > threshold`` is as close to ``wanted`` as ties allow.

    It lies midway between two neighbouring scores, or a little beyond all of them, so that rounding in new scores of
    the same examples changes nothing.

    Examples
    --------
    >>> threshold_for_weight(np.array([0.0, 1.0, 2.0, 3.0]), None, 1.0)
    2.5
    """
    if weights is not None:
        cuts = Cuts(scores)
        return cuts.threshold(int(np.abs(cuts.above(weights) - wanted).argmin()))
    # The score of rank k, found without a sort: no more than k - 1 examples lie above it, and at least k not below.
    n = scores.shape[0]
    k = int(min(max(np.ceil(wanted), 1), n))
    level = float(np.partition(scores, n - k)[n - k])
    higher, lower = scores > level, scores < level
    n_higher, n_lower = int(np.count_nonzero(higher)), int(np.count_nonzero(lower))
    if abs(n - n_lower - wanted) <= abs(n_higher - wanted):
        return _between(float(scores.max(where=lower, initial=-np.inf)), level, scores)
    return _between(level, float(scores.min(where=higher, initial=np.inf)), scores)


def threshold_of_blocks(blocks: Blocks, scores: Vector, wanted: float) -> float:
    """:func:`threshold_for_weight` for scores of rows in blocks.

    Parameters
    ----------
    blocks : Blocks
        Of :class:`~smoothperf.measures.row_block.RiskBlock`, which have the weights.
    """
    most = most_from_each(blocks, len(blocks.each("totals")))
    level = level_of_blocks(blocks, blocks.each("begin_threshold", scores, most), wanted)
    below, above, lowest, highest = _neighbours(blocks, scores, level.at)
    if abs(level.above + level.tied - wanted) <= abs(level.above - wanted):
        # Below the level; and below scores without weight, which lie on either side of it.
        above = _neighbours(blocks, scores, below)[1] if below > -np.inf else lowest
    else:
        below = level.at
    return _between(below, above, np.array([lowest, highest]))


def _neighbours(blocks: Blocks, scores: Vector, at: float) -> tuple[float, float, float, float]:
    """The next score below a level with some weight, the next one above it, and the lowest and highest of all."""
    below, above, lowest, highest = zip(*blocks.each("neighbours", scores, at), strict=True)
    return max(below), min(above), min(lowest), max(highest)


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
        return _between(below, above, levels[[0, -1]])


def _between(below: float, above: float, scores: Array) -> float:
    """A number from ``below`` to less than ``above``: midway, or a little beyond the one that is finite."""
    if np.isinf(below) or np.isinf(above):
        outermost, away = (above, -1.0) if np.isinf(below) else (below, 1.0)
        beyond = outermost + away * MARGIN * float(np.abs(scores).max())
        return beyond if beyond != outermost else float(np.nextafter(outermost, away * np.inf))
    middle = below + (above - below) / 2.0
    return middle if middle < above else below
