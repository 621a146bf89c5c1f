"""Summaries of one class for someone who is not where the examples are: groups of neighbours in place of examples.

A *group* is a range of margins that were sorted where they are, of which only four numbers are known: the lowest and
the highest margin, the weight, and the weight times the margins. Flips that are best for examples are bounded by those
that are best for groups, because a maximum over flips is a convex function of each margin:

    mean      all of a group at its mean                         the maximum is no larger than the true one
    spread    each group at its two ends, with the same mean     no smaller

So are the multipliers of the levels, with all of a group at its highest or lowest margin. Groups are small in a window
of margins, and what is on either side of it is one group, because only flips with thresholds and ramps in the window
are of interest: below it all are flipped, and above it none. As soon as the margins in each group of the window are
equal, a summary says all there is to say about such flips.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .fractional_flips import Array, Side

EPS = float(np.finfo(np.float64).eps)


class Window(NamedTuple):
    """A range of margins, with both ends."""

    low: float = -np.inf
    high: float = np.inf


class Groups(NamedTuple):
    """Groups of one side, or of a part of it: columns with lowest and highest margin, weight, weight times margin."""

    table: Array
    lowest: float
    drift: float


def groups(side: Side, window: Window, most: int) -> Groups:
    """Put a side into groups of about equal size, ``most`` of them in a window and one on each side of it.

    Examples
    --------
    >>> from smoothperf.kernels.fractional_flips import sorted_side
    >>> side = sorted_side(np.arange(6.0), None, np.empty(7), np.empty(7))
    >>> groups(side, Window(1.0, 4.0), 2).table
    array([[0., 1., 3., 5.],
           [0., 2., 4., 5.],
           [1., 2., 2., 1.],
           [0., 3., 7., 5.]])
    """
    x = side.x
    begin, end = np.searchsorted(x, window.low, side="left"), np.searchsorted(x, window.high, side="right")
    pieces = min(most, int(end - begin))
    inside = begin + (end - begin) * np.arange(1, pieces) // max(pieces, 1)
    edges = np.unique(np.concatenate([[0, begin], inside, [end, x.size]]))
    mass = np.diff(edges).astype(np.float64) if side.mass is None else np.diff(side.mass[edges])
    table = np.stack([x[edges[:-1]], x[edges[1:] - 1], mass, np.diff(side.first[edges])])
    return Groups(table, side.lowest, side.drift)


class Summary:
    """What is known about one class.

    Parameters
    ----------
    parts : sequence of Side or of Groups
        One side with all examples, or groups of the parts of a side.
    window : Window
        Where the groups are small.

    Attributes
    ----------
    exact : bool
        Whether all margins in the window are known.
    mean : Side
        Each group at its mean; the examples, if they are known.
    top : float
        Highest margin.
    """

    def __init__(self, parts: Sequence[Side | Groups], window: Window | None = None):
        if isinstance(parts[0], Side):
            self.exact, self.mean, self._ends = True, parts[0], parts[0].x
            return
        window = self._window = window or Window()
        pieces = [part for part in parts if isinstance(part, Groups)]
        table = np.concatenate([part.table for part in pieces], axis=1)
        table = table[:, table[2] > 0.0]
        before, behind = table[1] < window.low, table[0] > window.high
        inside = ~(before | behind)
        self.exact = bool((table[0] == table[1])[inside].all())
        #: The weight of all groups in the window.
        self.inside = float(table[2, inside].sum())
        self._table = np.concatenate([_one(table[:, before]), table[:, inside], _one(table[:, behind])], axis=1)
        self._top = float(self._table[1].max())
        self._lowest = float(sum(part.lowest for part in pieces))
        # The sums of the groups are rounded, and these sums are summed up.
        self._drift = max(part.drift for part in pieces) + 4.0 * EPS
        low, high, mass, first = self._table
        self._mean = np.clip(first / mass, low, high)
        self.mean = self._side(self._mean, mass, first)
        self._ends = high[np.argsort(self._mean, kind="stable")]
        # What is outside of the window is all flipped or not at all, so that nothing else about it matters.
        outside = (high < window.low) | (low > window.high)
        low[outside] = high[outside] = self._mean[outside]

    @property
    def top(self) -> float:
        """Highest margin."""
        return self.mean.top

    @property
    def size(self) -> float:
        """Bound of the weights times the sizes of the margins."""
        low, high, mass, _ = self._table
        return float(mass @ np.maximum(np.abs(low), np.abs(high)))

    def at_lowest(self) -> Side:
        """All of a group at its lowest margin."""
        return self._side(self._table[0], self._table[2])

    def at_highest(self) -> Side:
        """All of a group at its highest margin."""
        return self._side(self._table[1], self._table[2])

    def spread(self) -> Side:
        """Each group at both ends."""
        low, high, mass, _ = self._table
        length = high - low
        upper = np.divide(mass * (self._mean - low), length, out=np.zeros(mass.size), where=length > 0.0)
        upper = np.clip(upper, 0.0, mass)
        return self._side(np.append(low, high), np.append(mass - upper, upper))

    def window(self, least: float, most: float) -> Window:
        """Which margins may be the last to be flipped, where the flipped weight is between two bounds."""
        low, high, mass, _ = self._table
        begin, order = -np.inf, np.argsort(low)
        if least > 0.0:
            begin = float(low[order[_reach(mass[order], least * (1.0 - 1e-12))]])
        order = np.argsort(high)
        return self.narrowed(Window(begin, float(high[order[_reach(mass[order], most * (1.0 + 1e-12))]])))

    def narrowed(self, window: Window) -> Window:
        """What a window and the present one have in common."""
        return Window(max(window.low, self._window.low), min(window.high, self._window.high))

    def mass_in(self, window: Window) -> float:
        """Weight of all groups that reach into a window."""
        low, high, mass, _ = self._table
        return float(mass[(high >= window.low) & (low <= window.high)].sum())

    def cut(self, position: int, weight: float) -> tuple[float, float]:
        """The margin at a position, and which share of those with that margin completes a given weight below it."""
        cut, mass = float(self._ends[position]), self.mean.mass
        below, up_to = (int(np.searchsorted(self._ends, cut, side)) for side in ("left", "right"))
        begin, end = (float(k if mass is None else mass[k]) for k in (below, up_to))
        return cut, min(max((weight - begin) / (end - begin), 0.0), 1.0) if end > begin else 0.0

    def position(self, weight: float) -> int:
        """Where the example is that contains the last part of a weight above 0."""
        mass, size = self.mean.mass, self._ends.size
        if mass is None:
            return min(int(np.ceil(weight)), size) - 1
        return min(int(np.searchsorted(mass, weight)), size) - 1

    def _side(self, x: Array, mass: Array, first: Array | None = None) -> Side:
        """A side of groups that are examples."""
        order = np.argsort(x, kind="stable")
        x, mass = x[order], mass[order]
        first = mass * x if first is None else first[order]
        sums = (_sums(mass), _sums(first), _sums(mass * x * x))
        return Side(x, *sums, self._lowest, self._drift, self._top)


def _one(table: Array) -> Array:
    """All groups together as one, if there are any."""
    if table.shape[1] < 2:
        return table
    return np.array([[table[0].min()], [table[1].max()], [table[2].sum()], [table[3].sum()]])


def _sums(values: Array) -> Array:
    """Sums over the first 0, 1, ..., m values, rounded once."""
    return np.append(0.0, np.cumsum(values, dtype=np.longdouble).astype(np.float64))


def _reach(mass: NDArray[np.float64], weight: float) -> int:
    """Index of what completes a weight."""
    return min(int(np.searchsorted(np.cumsum(mass), weight)), mass.size - 1)
