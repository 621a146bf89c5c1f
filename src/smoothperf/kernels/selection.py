"""The level that a wanted weight lies above: a selection, of values in blocks.

Of values v with weights c the *level* is the largest one with ``sum_{v_i >= level} c_i >= wanted``. In memory it is
found among all values, in expected O(n). Values that are far away stay where they are until few are candidates: each
block says how much weight lies in each of many cells between the lowest and the highest candidate, and all but one of
the cells are dropped. A thousand million values take two such rounds, and ties no more than others.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..blocks import Blocks, Vector

Array = NDArray[np.float64]

#: Cells that candidates are counted in, in a round.
CELLS = 1 << 10
#: Candidates of all blocks together that are few enough to travel.
FEW = 1 << 14


class Candidates(NamedTuple):
    """Values that the level is among, all of them or those of a block.

    Attributes
    ----------
    weight : float
        Their weight.
    lowest, highest : float
        The first and the last of them.
    above : float
        Weight of the values above them, which are no candidates.
    values, weights : arrays or None
        The values and weights themselves where they are few; weights are None for ones as well.
    """

    weight: float
    lowest: float
    highest: float
    above: float
    values: Array | None
    weights: Array | None


class Level(NamedTuple):
    """A level, the weight of the values above it, and of those equal to it."""

    at: float
    above: float
    tied: float


class SelectingBlock:
    """A block that keeps candidates among some values of its rows.

    ``weights`` are those of the rows, None for ones.
    """

    weights: Array | None
    _name: str
    _values: Array
    _value_weights: Array | None
    _above: float

    def begin_selection(self, values: Array, most: float) -> Candidates:
        """Make all values candidates; if they are no more than ``most``, they are part of the reply."""
        if most == math.inf:  # who has the values needs no more, and nothing is kept
            return Candidates(math.nan, math.nan, math.nan, 0.0, values, self.weights)
        self._values, self._value_weights, self._above = values, self.weights, 0.0
        return self._report(most)

    def cells(self, low: float, high: float) -> Array:
        """Weight of the candidates in each of the cells between two numbers."""
        return np.bincount(self._cell(low, high), weights=self._value_weights, minlength=CELLS).astype(np.float64)

    def narrow(self, low: float, high: float, cell: int, most: float) -> Candidates:
        """Drop the candidates in other cells."""
        where = self._cell(low, high)
        above, inside = where > cell, where == cell
        if self._value_weights is None:
            self._above += float(np.count_nonzero(above))
        else:
            self._above += float(self._value_weights[above].sum())
            self._value_weights = self._value_weights[inside]
        self._values = self._values[inside]
        return self._report(most)

    def tied(self, values: Array, level: float) -> tuple[str, float]:
        """A name by which this block can be told how much it has room for, and the weight of its values at a level."""
        self._name = uuid.uuid4().hex
        return self._name, weight_of(values == level, self.weights)

    def room(self, rooms: float | dict[str, float]) -> float:
        """What this block has room for at the level, of one number for all or by the name of the block."""
        return rooms[self._name] if isinstance(rooms, dict) else rooms

    def _cell(self, low: float, high: float) -> NDArray[np.intp]:
        """The cell of each value: the lowest is in the first one, the highest in the last, and order is kept."""
        position = (self._values - low) / (high - low)
        position *= CELLS
        return np.minimum(position.astype(np.intp), CELLS - 1)

    def _report(self, most: float) -> Candidates:
        values, weights = self._values, self._value_weights
        count = values.shape[0]
        weight = float(count if weights is None else weights.sum())
        lowest, highest = float(values.min(initial=math.inf)), float(values.max(initial=-math.inf))
        sent = (values, weights) if count <= most else (None, None)
        return Candidates(weight, lowest, highest, self._above, *sent)


def level_of(values: Array, weights: Array | None, wanted: float) -> Level:
    """The level of values that are here. Expected O(n)."""
    n = values.shape[0]
    if weights is None:
        k = min(max(math.ceil(wanted), 1), n)
        at = float(np.partition(values, n - k)[n - k])
        return Level(at, weight_of(values > at, None), weight_of(values == at, None))
    candidates, candidate_weights = values, weights
    room = wanted
    # Quickselect on weights: each round drops half of the values that are left.
    while candidates.size > 1:
        half = candidates.size // 2
        order = np.argpartition(candidates, candidates.size - half)
        upper_weight = candidate_weights[order[-half:]].sum()
        if upper_weight < room:
            room -= upper_weight
            order = order[:-half]
        else:
            order = order[-half:]
        candidates, candidate_weights = candidates[order], candidate_weights[order]
    at = float(candidates[0])
    return Level(at, weight_of(values > at, weights), weight_of(values == at, weights))


def filled(values: Array, weights: Array | None, level: float, room: float) -> Array:
    """``u``: 1 for values above a level; of those at it the first ones get 1, as far as there is room for their weight.

    At most one of these gets a part, and with unit weights and whole room none.
    """
    u = (values > level).astype(np.float64)
    if room > 0.0:
        at = np.flatnonzero(values == level)
        c = np.ones(at.size) if weights is None else weights[at]
        # A running sum tells how many fit, but rounds too much to tell what is left for the next one.
        whole = int(np.searchsorted(np.cumsum(c), room, side="right"))
        u[at[:whole]] = 1.0
        left = room - float(c[:whole].sum())
        if whole < at.size:
            u[at[whole]] = min(1.0, max(0.0, left / c[whole]))
    return u


def weight_of(mask: NDArray[np.bool_], weights: Array | None) -> float:
    """Weight of some values."""
    return float(np.count_nonzero(mask) if weights is None else weights[mask].sum())


def most_from_each(blocks: Blocks, parts: int) -> float:
    """How many values each of so many blocks may send: few of all together, unless they are here anyway."""
    return FEW // parts if blocks.far else math.inf


def level_of_blocks(blocks: Blocks, replies: list[Candidates], wanted: float) -> Level:
    """The level of the values of all blocks, of :class:`SelectingBlock`, whose first replies are given."""
    most = most_from_each(blocks, len(replies))
    while True:
        above = math.fsum(reply.above for reply in replies)
        if all(reply.values is not None for reply in replies):
            level = level_of(*joined([(reply.values, reply.weights) for reply in replies]), wanted - above)
            return Level(level.at, above + level.above, level.tied)
        low, high = min(reply.lowest for reply in replies), max(reply.highest for reply in replies)
        if low == high:
            return Level(low, above, math.fsum(reply.weight for reply in replies))
        # Weight from the top down to each cell; the level is in the first where it is enough.
        filled = above + np.cumsum(np.sum(blocks.each("cells", low, high), axis=0)[::-1])
        enough = np.flatnonzero(filled >= wanted)
        cell = CELLS - 1 - int(enough[0] if enough.size else np.flatnonzero(np.diff(filled, prepend=above))[-1])
        replies = blocks.each("narrow", low, high, cell, most)


def rooms_at(blocks: Blocks, values: Vector, level: Level, wanted: float) -> float | dict[str, float]:
    """What blocks have room for at a level: the first ones for all that they have there, and one for a part.

    It is one number where that says it all.
    """
    room = wanted - level.above
    if room >= level.tied:
        return math.inf
    if not blocks.far or room <= 0.0:
        return room
    rooms = {}
    for name, weight in blocks.each("tied", values, level.at):
        rooms[name] = min(room, weight)
        room -= rooms[name]
    return rooms


def joined(parts: Sequence[tuple[Array | None, Array | None]]) -> tuple[Array, Array | None]:
    """Values and weights of all parts, in their order; without a copy if there is one part."""
    if len(parts) == 1:
        assert parts[0][0] is not None
        return parts[0][0], parts[0][1]
    values = np.concatenate([values for values, _ in parts if values is not None])
    weights = [weights for _, weights in parts if weights is not None]
    return values, np.concatenate(weights) if weights else None


def added(replies: Sequence[Sequence[float]]) -> Sequence[float]:
    """Sums of the columns of a list of replies."""
    return replies[0] if len(replies) == 1 else [math.fsum(column) for column in zip(*replies, strict=True)]
