r"""The root of the projection of :mod:`smoothperf.measures.projection` for examples of a group, in two rounds.

    F(tau) = sum_i c_i clip(v_i - tau, 0, 1) = total

An interval in which the root may lie, and the unit above it, are cut into cells, of which a whole number makes a unit.
Members sum up how many v lie in each, their weight and their first moment: that gives F at the ends of all cells, and
tells in which cell [a, b] the root is. For any tau there

    v above b + 1                        has u = 1
    v between b and a + 1                has u = v - tau: together they are one example, at their mean
    v in [a, b] or in [a + 1, b + 1]     is undecided

The last ones are few. The first member is sent them, and finds the root. Only where many are tied, they stay where they
are, and each step of the root finder is a round.

The root for nearby scores is the first guess as it is, with a wider interval around it than in memory, less wide where
the root moves little; the next guess is the root of a sample of all members, which is a round more, and the last one
that of the level. The sums of all examples are one more round: 3 with a good guess, 4 without any, 5 with a poor one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._arrays import Array
from ...communicator import Communicator, Shared
from ...kernels import _top_k
from ...measures.projection import LAST_MARGIN, Affine, Bracket, CappedSimplex, Root, RootFinder, Roots, guesses

#: Half the width of the interval around a root for nearby scores is so many times as far as it has moved before, but at
#: least and at most so much, in units of u; around that of a sample it is the latter. Another try would cost more.
MOVES = 3.0
NARROW_MARGIN, GROUP_MARGIN = 1.0, 3.5
#: Cells of a unit, if there are no more than so many in the interval; both as powers of 2.
UNIT_DIGITS, MOST_DIGITS = 7, 12
#: Undecided examples of all members together that are few enough to travel.
FEW = 1 << 14


class Values(NamedTuple):
    """Values v of examples with their weights (None for ones), by class; and the weight of others above all of these.

    Attributes
    ----------
    parts : tuple of (ndarray, ndarray or None)
        Values and weights.
    above : float
        The weight of the others.
    """

    parts: tuple[tuple[Array, Array | None], ...]
    above: float

    def joined(self) -> tuple[Array, Array]:
        """All values, and their weights."""
        weights = [np.ones(v.shape) if c is None else c for v, c in self.parts]
        return np.concatenate([v for v, _ in self.parts]), np.concatenate(weights)


class Cells(NamedTuple):
    """An interval, cut into cells; as many as make a unit follow it.

    Attributes
    ----------
    low : float
        The start.
    per_unit : int
        Cells that make a unit.
    length : int
        Cells of the interval.
    """

    low: float
    per_unit: int
    length: int

    @classmethod
    def of(cls, low: float, high: float) -> Cells:
        """Cells up to a number, or a little beyond it."""
        digits = min(UNIT_DIGITS, MOST_DIGITS - math.ceil(math.log2(max(high - low, 1.0))))
        return cls(low, 1 << max(0, digits), max(1, math.ceil((high - low) * (1 << max(0, digits)))))

    def edge(self, cell: int) -> float:
        """Beginning of a cell."""
        return self.low + cell / self.per_unit

    @property
    def size(self) -> int:
        """Cells of the interval and of the unit that follows."""
        return self.length + self.per_unit

    def table(self, values: Values) -> Array:
        """Number of values in each cell, their weight, and the sum of weight times place.

        The place is the distance from the beginning of the cell, as a share of its width.
        """
        table = np.zeros((3, self.size))
        for v, weights in values.parts:
            _top_k.sum_cells(v, weights, self.low, self.per_unit, table)
        return table

    def undecided(self, values: Values, table: Array, cell: int) -> tuple[Array, Array]:
        """The values of a cell and of the one a unit above, given the table of them, and their weights."""
        count = int(table[0, cell] + table[0, cell + self.per_unit])
        kept, kept_weights = np.empty((2, count + 1))
        begin = 0
        for v, weights in values.parts:
            begin += _top_k.pick_cells(
                v, weights, self.low, self.per_unit, self.size, cell, cell + self.per_unit,
                kept[begin:], kept_weights[begin:],
            )  # fmt: skip
        return kept[:count], kept_weights[:count]

    def excess_at_edges(self, table: Array, above: float, wanted: float) -> Array:
        """``F - total`` at the beginnings of the cells of the interval, and at its end."""
        _, weights, moments = table
        weight = np.append(0.0, weights.cumsum())
        moment = np.append(0.0, (weights * np.arange(weights.size) + moments).cumsum())
        begin = np.arange(self.length + 1)
        beyond = begin + self.per_unit
        ramps = moment[beyond] - moment[begin] - begin * (weight[beyond] - weight[begin])
        excess: Array = ramps / self.per_unit + (weight[-1] - weight[beyond]) + (above - wanted)
        return excess

    def decided(self, table: Array, cell: int, above: float) -> tuple[Array, Array]:
        """Two examples in the place of all that are decided if the root is in a cell, and their weights."""
        _, weights, moments = table
        ramp = slice(cell + 1, cell + self.per_unit)
        weight = float(weights[ramp].sum())
        above += float(weights[cell + self.per_unit + 1 :].sum())
        mean = 0.0
        if weight > 0.0:
            places = np.arange(ramp.start, ramp.stop)
            exact = float((weights[ramp] * places + moments[ramp]).sum()) / weight / self.per_unit
            mean = self.low + exact
            above += weight * (exact - (mean - self.low))  # what rounding has taken off the mean
        return np.array([mean, self.edge(cell + self.per_unit + 2)]), np.array([weight, above])


class GroupRootFinder(RootFinder):
    """Search for the root of a projection of the examples of a group; see :class:`RootFinder`.

    Parameters
    ----------
    simplex, scores, values, gradient
        As there.
    communicator : Communicator
        The group.
    """

    def __init__(
        self, simplex: CappedSimplex, scores: Array, values: Affine, gradient: Array, communicator: Communicator
    ):
        super().__init__(simplex, scores, values, gradient)
        self._communicator = communicator

    def find(self, mu: float, nearby: Roots | None) -> tuple[Root, float]:
        """Find the root; and 0, as samples of other scores are of no use."""
        root = None
        if nearby is not None:
            margin = min(max(MOVES * nearby.moved / mu, NARROW_MARGIN), GROUP_MARGIN)
            root = self.root_near(*guesses(nearby, 0.0, mu), margin, margin)
        if root is None:
            tau = self.sampled_root(0.0 if nearby is None else nearby.all / mu)
            root = self.root_near(tau, tau, GROUP_MARGIN, LAST_MARGIN)
        return root or self.root_at_level(), 0.0

    def sampled_root(self, start: float) -> float:
        """``tau`` for a sample of all members, which the first member finds."""
        values, weights = self._sample()
        columns = values, np.ones(values.shape) if weights is None else weights
        return decided(self._communicator, lambda v, c: (self.root_of_sample(start, v, c),), 1, *columns)[0]

    def root_in(self, interval: Bracket, *, certain: bool = False) -> Root:
        """Look for the root in an interval, in which it may lie or is certain to, and for theta there."""
        undecided, weighed = self._inside(interval)
        parts = (undecided.negatives, undecided.negative_weights), (undecided.positives, undecided.positive_weights)
        return search_together(
            self._communicator,
            Values(parts, undecided.above),
            interval,
            self.simplex.total,
            certain=certain,
            weighed=weighed,
            cut_of=lambda sums: self._cut_of(sums, interval),
        )


def search_together(
    communicator: Communicator,
    values: Values,
    interval: tuple[float, float, float],
    wanted: float,
    *,
    certain: bool,
    weighed: Array,
    cut_of: Callable[[Array], tuple[float, float]],
) -> Root:
    """Look for the root in an interval, in which it may lie or is certain to.

    Parameters
    ----------
    values : Values
        Those of this member that lie in the interval or less than a unit above it.
    interval : tuple of float
        The start, a lower and an upper end.
    wanted : float
        The value wanted of F.
    weighed, cut_of : ndarray and callable
        Theta and its looseness are made by the first member of the sum of these arrays.
    """
    start, low, high = interval
    if high - low > 1 << MOST_DIGITS:  # numbers are too large for cells
        sums = communicator.allreduce(np.append(weighed, values.above))
        search = _top_k.RootSearch(wanted, *interval, certain)
        return _step_by_step(communicator, search, *values.joined(), float(sums[-1]), cut_of(sums[:-1]))
    cells = Cells.of(low, high)
    here = cells.table(values)
    sums = communicator.allreduce(np.concatenate([here.ravel(), weighed, [values.above]]))
    table, weighed, above = sums[: here.size].reshape(here.shape), sums[here.size : -1], float(sums[-1])
    excess = cells.excess_at_edges(table, above, wanted)
    cell = int(np.count_nonzero(excess >= 0.0)) - 1
    if not certain and not 0 <= cell < cells.length:
        outside = -1.0 if cell < 0 else 1.0
        return Root(low if cell < 0 else high, outside, 0.0, high, 0.0, 0.0, math.inf)
    cell = min(max(cell, 0), cells.length - 1)
    v, weights = cells.undecided(values, here, cell)
    if communicator.rank == 0:
        v, weights = map(np.append, (v, weights), cells.decided(table, cell, above))
    begin, end = cells.edge(cell), cells.edge(cell + 1)
    fall = float(excess[cell] - excess[cell + 1])
    start = begin + (end - begin) * (float(excess[cell]) / fall if fall > 0.0 else 0.5)
    search = _top_k.RootSearch(wanted, start, begin, end, False)
    if table[0, cell] + table[0, cell + cells.per_unit] > FEW:
        root = _step_by_step(communicator, search, v, weights, 0.0, cut_of(weighed))
    else:

        def find(v: Array, weights: Array) -> Root:
            search.search(v, weights, 0.0)
            return Root.of(search, cut_of(weighed))

        root = Root(*decided(communicator, find, len(Root._fields), v, weights))
    # If it seems to lie beyond the cell, that is rounding, and the end of the cell is as good.
    return root._replace(outside=0.0)


def _step_by_step(
    communicator: Communicator,
    search: _top_k.RootSearch,
    v: Array,
    weights: Array,
    above: float,
    cut: tuple[float, float],
) -> Root:
    """Search with a round for each step: the first member is told the sums, and says where they are wanted next."""
    go_on = True
    while True:
        tau, wanted = Shared(communicator).agreed(search.tau, go_on)
        if not wanted:
            return Root(*Shared(communicator).agreed(*Root.of(search, cut)))
        mass, lost, active = communicator.reduce(np.array(_top_k.sums_at(tau, v, weights))).tolist()
        if communicator.rank == 0:
            go_on = search.tell(math.fsum((mass, lost, above, -search.total)), active)


def decided(
    communicator: Communicator, decide: Callable[..., tuple[float, ...]], count: int, *columns: Array
) -> tuple[float, ...]:
    """Send columns of equal length to the first member; all get the ``count`` numbers that it makes of them."""
    parts = communicator.gather(np.concatenate(columns))
    numbers = np.zeros(count)
    if communicator.rank == 0:
        numbers[:] = decide(*np.concatenate([part.reshape(len(columns), -1) for part in parts], axis=1))
    return tuple(communicator.broadcast(numbers).tolist())
