"""Margins of a group of processes, in bins: enough of them where it matters, in three rounds.

Each member sorts its own margins, so that sums between any edges cost it a search. First all send *groups* of
neighbours, about equally many in each: lowest and highest margin, weight, and weight times margin. They tell about
where thresholds and ramps are. There, edges are set close to each other, the same on all members, and the sums
between them are those of all.

A maximum over flips is a convex function of each margin. So bounds of it are found as if there were few examples:

    means     all of a bin at its mean                        no larger than the true one
    ends      each bin spread to its two ends, same mean      no smaller

Bins with equal margins, as when there are few examples or few different scores, are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._arrays import Array
from ...communicator import Communicator
from ...measures.flips import Side, sorted_side
from ...measures.risk import EPS

#: Groups of each class that all members together send, and the fewest of one.
GROUPS, FEWEST_GROUPS = 2048, 32
#: Bins of each class where thresholds and ramps are.
BINS = 2048
#: Share of a class, on either side of what is sought, where edges are close to each other, too.
NEIGHBOURS = 1.0 / 128.0

#: Two margins that thresholds and ramps of a class are between; of the positives and of the negatives.
Ranges = tuple[tuple[float, float], tuple[float, float]]


class Bins(NamedTuple):
    """Bins of one class, with some weight each: from where to where, weight, and weight times margin."""

    low: Array
    high: Array
    weight: Array
    first: Array

    def means(self) -> Side:
        """All of a bin at its mean."""
        return _side(np.clip(self.first / self.weight, self.low, self.high), self.weight)

    def ends(self) -> Side:
        """Each bin spread to its two ends."""
        length = self.high - self.low
        upper = np.divide(self.first - self.weight * self.low, length, out=np.zeros_like(length), where=length > 0.0)
        upper = np.clip(upper, 0.0, self.weight)
        return _side(np.append(self.low, self.high), np.append(self.weight - upper, upper))


def margin_bins(
    sides: tuple[Side, Side], sought: Callable[[tuple[Bins, Bins]], Ranges], communicator: Communicator
) -> tuple[Bins, Bins]:
    """Bins of the positives and of the negatives of all members, in order and apart from each other.

    Parameters
    ----------
    sides : tuple of two Sides
        The margins of this process.
    sought : callable
        Places of thresholds and ramps, for bins that are not yet the final ones.
    """
    most = max(GROUPS // communicator.size, FEWEST_GROUPS)
    mine = np.concatenate([_groups(side, most, label) for side, label in zip(sides, (1.0, 0.0), strict=True)])
    every = np.concatenate(communicator.allgather(mine.ravel())).reshape(-1, mine.shape[1])
    every = every[every[:, 3] > 0.0]
    p, n = (Bins(*every[every[:, 0] == label, 1:].T) for label in (1.0, 0.0))
    windows = [_window(bins, *where) for bins, where in zip((p, n), sought((p, n)), strict=True)]
    of_p, of_n = (
        _edges(bins, *window) for bins, window in zip((p, n), communicator.broadcast(np.array(windows)), strict=True)
    )
    sums = communicator.allreduce(np.concatenate([_moments(sides[0], of_p), _moments(sides[1], of_n)], axis=1))
    return _between(p, of_p, sums[:, : of_p.size]), _between(n, of_n, sums[:, of_p.size :])


def _groups(side: Side, most: int, label: float) -> Array:
    """Rows: the label, lowest and highest margin, weight, weight times margin. Equal margins stay together."""
    x = side.x
    if not x.size:
        return np.empty((0, 5))
    pieces = min(most, x.size)
    starts = np.unique(np.searchsorted(x, x[np.arange(pieces) * x.size // pieces]))
    lasts = np.append(starts[1:], x.size) - 1
    return np.stack([np.full(starts.size, label), x[starts], x[lasts], *_sums_from(side, starts)], axis=1)


def _moments(side: Side, edges: Array) -> Array:
    """Weight, and weight times margin, from each edge to the next."""
    return np.stack(_sums_from(side, np.searchsorted(side.x, edges)))


def _sums_from(side: Side, starts: NDArray[np.intp]) -> tuple[Array, Array]:
    ends = np.append(starts, side.x.size)
    weight = np.diff(ends).astype(np.float64) if side.mass is None else np.diff(side.mass[ends])
    return weight, np.diff(side.first[ends])


def _window(groups: Bins, low: float, high: float) -> tuple[float, float]:
    """A range with its neighbours, as far as there are margins."""
    order = np.argsort(groups.low)
    lows, highs, weight = groups.low[order], np.maximum.accumulate(groups.high[order]), groups.weight[order]
    mass = np.cumsum(weight)
    begin = min(int(np.searchsorted(highs, low)), mass.size - 1)
    end = max(int(np.searchsorted(lows, high, side="right")) - 1, 0)
    more = NEIGHBOURS * mass[-1]
    begin = int(np.searchsorted(mass, mass[begin] - weight[begin] - more))
    end = min(int(np.searchsorted(mass, mass[end] + more)), mass.size - 1)
    return float(lows[begin]), float(highs[end])


def _edges(groups: Bins, low: float, high: float) -> Array:
    """Beginnings of groups, and many edges from one margin to another."""
    lows = np.unique(groups.low)
    lows = lows[:: -(-lows.size // GROUPS)]
    return np.unique(np.append(lows, low + (high - low) * (np.arange(BINS) / BINS)))


def _between(groups: Bins, edges: Array, sums: Array) -> Bins:
    """Bins from each edge to before the next that have some weight.

    Their margins are also between those of the groups that reach into them.
    """
    by_low, by_high = np.argsort(groups.low), np.argsort(groups.high)
    ends = np.append(edges[1:], np.inf)
    reached = np.maximum.accumulate(groups.high[by_low])[np.searchsorted(groups.low[by_low], ends) - 1]
    begun = np.append(np.minimum.accumulate(groups.low[by_high][::-1])[::-1], np.inf)
    low = np.maximum(edges, begun[np.searchsorted(groups.high[by_high], edges)])
    high = np.minimum(reached, np.nextafter(ends, -np.inf))
    some = sums[0] > 0.0
    return Bins(low[some], high[some], *sums[:, some])


def _side(x: Array, weight: Array) -> Side:
    """Bins as if they were examples, sorted."""
    side = sorted_side(x, weight, np.empty(x.size + 1), np.empty(x.size + 1))
    return side._replace(drift=side.drift + 4.0 * EPS)  # sums of bins were rounded before
