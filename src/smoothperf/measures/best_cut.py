"""The cut of scores that a measure of the true and false positives above it likes best, for rows in blocks.

Scores stay where they are. Between given edges each block says how much weight of positives and of negatives lies; so
for each cell between two edges it is known what a cut inside it can reach at most, and what a cut below it does reach.
Cells that cannot hold the best cut are dropped, the others are cut finer, until few scores are left, which travel, or
each cell has equal ones, which no cut takes apart. A thousand million scores take three or four rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import Blocks, Vector
from ..kernels.selection import FEW
from ..operating_point import Cuts

Array = NDArray[np.float64]
#: What a cut is worth: a function of the weights of the positives and of the negatives above it. More positives are
#: never worse, more negatives never better.
Worth = Callable[[Array, Array], Array]

#: Cells of a round.
CELLS = 1 << 12
#: Rounding of sums of weights, relatively, for which a cell is not dropped.
SLACK = 1e-12


class Counts(NamedTuple):
    """Scores in cells.

    Attributes
    ----------
    false, hits : ndarray of float64
        Weight of the negatives, and of the positives, in each cell.
    numbers : ndarray of int
        How many scores there are.
    lowest, highest : ndarray of float64
        The first and the last of them; infinite if there is none.
    """

    false: Array
    hits: Array
    numbers: NDArray[np.int64]
    lowest: Array
    highest: Array

    @classmethod
    def of(cls, parts: list[Counts]) -> Counts:
        """Return those of all blocks."""
        false, hits, numbers, lowest, highest = (np.array(column) for column in zip(*parts, strict=True))
        sums = false.sum(axis=0), hits.sum(axis=0), numbers.sum(axis=0)
        return cls(*sums, lowest.min(axis=0), highest.max(axis=0))


class CutBlock:
    """A block that counts its scores between edges.

    Attributes
    ----------
    positive : ndarray of bool
        The positives.
    weights : ndarray or None
        The sample weights; None for ones.
    """

    positive: NDArray[np.bool_]
    weights: Array | None

    def count_between(self, scores: Array, edges: Array) -> Counts:
        """Count the scores from each edge to the next."""
        cells = np.searchsorted(edges, scores, side="right") - 1
        count = edges.size - 1
        lowest, highest = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(lowest, cells, scores)
        np.maximum.at(highest, cells, scores)
        cells[self.positive] += count
        numbers = np.bincount(cells, minlength=2 * count)
        weights = numbers if self.weights is None else np.bincount(cells, weights=self.weights, minlength=2 * count)
        false, hits = weights.astype(np.float64).reshape(2, count)
        return Counts(false, hits, numbers.reshape(2, count).sum(axis=0), lowest, highest)

    def scores_between(self, scores: Array, edges: Array, wanted: NDArray[np.bool_]) -> tuple[Array, Array, Array]:
        """Scores in wanted cells, and what they weigh if they are negative, or positive."""
        inside = wanted[np.searchsorted(edges, scores, side="right") - 1]
        weights = np.ones(np.count_nonzero(inside)) if self.weights is None else self.weights[inside]
        positive = self.positive[inside]
        return scores[inside], np.where(positive, 0.0, weights), np.where(positive, weights, 0.0)

    def next_below(self, scores: Array, at: float) -> float:
        """The highest score below a number."""
        return float(scores.max(where=scores < at, initial=-math.inf))


def best_cut(blocks: Blocks, scores: Vector, worth: Worth) -> float:
    """Return the threshold that is worth most, of equally good ones the lowest.

    Parameters
    ----------
    blocks : Blocks
        Of :class:`CutBlock`.
    scores : vector
        What is cut.
    worth : callable
        See :data:`Worth`; positive if all rows lie above.
    """
    edges = np.array([-np.inf, np.inf])
    while True:
        counts = Counts.of(blocks.each("count_between", scores, edges))
        hits, false = _from_above(counts.hits), _from_above(counts.false)
        reached = worth(hits[:-1], false[:-1])
        best = float(reached[counts.numbers > 0].max())
        # Equal scores have one cut below them, which is counted already.
        single = counts.lowest == counts.highest
        at_most = np.where(single, reached, worth(hits[:-1], false[1:]))
        kept = (counts.numbers > 0) & (at_most >= best - SLACK * abs(best))
        few = counts.numbers[kept].sum() <= FEW
        if few or single[kept].all():
            break
        edges = _finer(edges, counts, kept & ~single)
    if few:
        at = _best_of(blocks, scores, edges, kept, hits, false, worth)
    else:
        at = float(counts.lowest[kept][reached[kept].argmax()])
    below = max(blocks.each("next_below", scores, at))
    ends = float(counts.lowest.min()), float(counts.highest.max())
    levels = np.unique([*ends, at, *([below] if below > -math.inf else [])])
    return Cuts(levels).threshold(int(np.searchsorted(levels, at)))


def _best_of(
    blocks: Blocks, scores: Vector, edges: Array, kept: NDArray[np.bool_], hits: Array, false: Array, worth: Worth
) -> float:
    """The lowest score above the best cut, among those in some cells."""
    parts = blocks.each("scores_between", scores, edges, kept)
    values, negatives, positives = (np.concatenate(column) for column in zip(*parts, strict=True))
    levels, members = np.unique(values, return_inverse=True)
    cells = np.searchsorted(edges, levels, side="right") - 1
    totals = []
    for weights, above in ((positives, hits), (negatives, false)):
        at_or_above = _from_above(np.bincount(members, weights=weights, minlength=levels.size).astype(np.float64))
        # Less what the cells above have of it, for which the sums of all rows stand.
        end = np.searchsorted(cells, cells, side="right")
        totals.append(at_or_above[:-1] - at_or_above[end] + above[cells + 1])
    return float(levels[worth(totals[0], totals[1]).argmax()])


def _from_above(weights: Array) -> Array:
    """Sums from each cell on; one more, of none, at the end."""
    return np.append(np.cumsum(weights[::-1])[::-1], 0.0)


def _finer(edges: Array, counts: Counts, cells: NDArray[np.bool_]) -> Array:
    """Edges with more of them between the first and the last score of some cells."""
    steps = max(1, CELLS // int(np.count_nonzero(cells)))
    low, high = counts.lowest[cells], counts.highest[cells]
    shares = np.arange(1, steps) / steps
    inside = low[:, None] + (high - low)[:, None] * shares
    return np.unique(np.concatenate([edges, inside.ravel(), high]))
