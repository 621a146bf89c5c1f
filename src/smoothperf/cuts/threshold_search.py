"""Where to cut scores: found without a sort where all are here, and in a few rounds where they are in a group.

Of values v with weights c the *level* of a wanted weight is the largest one with ``sum_{v_i >= level} c_i >= wanted``.
Alone it is found by partitioning, in expected O(n). In a group values stay where they are. Floating-point numbers have
the order of their bits (read as an integer, with those of negative ones reversed), so the leading 13 bits of a value
are the number of a cell. Members add up the weight of each cell, cells that cannot matter are dropped, and the next
bits count. Whatever the scale of the values and however they are tied, after five rounds each cell is one number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .._arrays import Array
from ..communicator import ALONE, Communicator, total

#: What a cut loses: a function of the weights of the positives and of the negatives above it. In a group more positives
#: must never be worse, and more negatives never better.
Loss = Callable[[Array, Array], Array]

#: Bits of a value that a round of a group looks at, if it looks into one cell; and if it looks into many.
BITS = 13
FEWEST_BITS = 4
#: Rounding of sums of weights, relatively, for which a cell is not dropped.
SLACK = 1e-12
#: Losses are close to the least if they exceed it by less than this share of it, and the chosen cut by no more than the
#: second. (Measured on 16 sets: with 0.12 F1 and the Jaccard index are lower on new rows, with 0.03 cuts move more.)
NEAR, FAR = 0.05, 0.3
#: Steps of the log-odds, and what is added to both sides of the odds, as a share of the smaller class.
STEP, OUTSIDE = 1.0 / 32.0, 0.05
#: How far beyond all scores a cut is, relative to the largest: further than rounding carries a score.
MARGIN = 1e-9


class Level(NamedTuple):
    """A level, the weight of the values above it, and of those equal to it."""

    at: float
    above: float
    tied: float


def level_of(values: Array, weights: Array | None, wanted: float, communicator: Communicator = ALONE) -> Level:
    """The level that a wanted weight lies above; the lowest value if there is less."""
    if communicator.size > 1:
        return _level_of_group(values, weights, wanted, communicator)
    at = _partitioned(values, wanted) if weights is None else _weighted_quickselect(values, weights, wanted)
    return Level(at, _weight(values > at, weights), _weight(values == at, weights))


def room_for_ties(
    values: Array, weights: Array | None, level: Level, wanted: float, communicator: Communicator = ALONE
) -> float:
    """What weight of the values at a level fits this member: the first members get all that is left."""
    room = wanted - level.above
    if room >= level.tied:
        return math.inf
    if communicator.size > 1 and room > 0.0:
        tied = communicator.allgather(np.array([_weight(values == level.at, weights)]))
        room -= sum(float(each[0]) for each in tied[: communicator.rank])
    return room


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


def threshold_for_weight(
    scores: Array, weights: Array | None, wanted: float, communicator: Communicator = ALONE
) -> float:
    """Return a threshold such that the weight of ``scores > threshold`` is as close to ``wanted`` as ties allow.

    It lies midway between two neighbouring scores, or a little beyond all of them, so that rounding in new scores of
    the same examples changes nothing. Of two that are equally close, but for rounding, it is the higher one.

    Examples
    --------
    >>> threshold_for_weight(np.array([0.0, 1.0, 2.0, 3.0]), None, 1.0)
    2.5
    """
    level = level_of(scores, weights, wanted, communicator)
    counts = None if weights is None else weights > 0.0
    below, above, lowest, highest = _neighbours(scores, counts, level.at, communicator)
    with_ties, without = abs(level.above + level.tied - wanted), abs(level.above - wanted)
    if level.tied > 0.0 and with_ties >= without - SLACK * wanted:
        below = level.at
    elif weights is None:
        above = level.at
    else:
        # The cut goes below neighbouring scores of weight 0, too.
        above = _neighbours(scores, counts, below, communicator)[1] if below > -math.inf else lowest
    return between(below, above, lowest, highest)


def steady_cut(
    scores: Array, positive: NDArray[np.bool_], weights: Array | None, loss: Loss, communicator: Communicator = ALONE
) -> float:
    """Return a threshold amid those whose loss is close to the least (docs/maths.md, steady-cut).

    The loss of a finite sample is a jagged function of the cut, and flat about its minimum, so that the place of the
    least value hangs on single examples, and on rounding. Hence the average of the places where the loss is close to
    it, in log-odds of what is predicted positive. Losses between two cuts are interpolated, so that examples with
    almost equal scores count as those with equal ones do. Where the best cut is the only good one, as between classes
    that scores separate, it is taken; of equally good ones the lowest.

    Parameters
    ----------
    scores, positive, weights : ndarray
        Of the examples of this process; weights are None for ones.
    loss : callable
        See :data:`Loss`.
    """
    c = np.ones(scores.shape[0]) if weights is None else weights
    columns = c * positive, c * ~positive
    classes = total(communicator, *(float(column.sum()) for column in columns))
    whole = sum(classes)
    outside = OUTSIDE * max(min(classes), SLACK * whole)
    rounding = SLACK * float(loss(*(np.array([0.0, weight]) for weight in classes)).max())

    def place(predicted: Array) -> Array:
        """Log-odds of the weight that is predicted positive, finite also for none and for all."""
        odds: Array = np.log((predicted + outside) / (np.maximum(whole - predicted, 0.0) + outside))
        return odds

    steps = int(place(np.array([whole]))[0] / STEP)
    places = STEP * np.arange(-steps, steps + 1.0)
    wanted = (whole + 2.0 * outside) * expit(places) - outside

    def may_matter(sums: Array, beyond: Array) -> NDArray[np.intp]:
        """Cells that hold one of the places, and those inside which a cut can reach what cuts below cells do reach."""
        (_, hits, false), (_, _, fewest_false) = beyond + sums, beyond
        reached = loss(hits, false)
        can_be_best = np.minimum(loss(hits, fewest_false), reached) <= reached.min() + rounding
        at_or_below, above = (np.searchsorted(wanted, each, side="right") for each in (hits + false, beyond[1:].sum(0)))
        return np.flatnonzero(can_be_best | (at_or_below > above))

    values, sums, beyond = _cells_that_matter(scores, columns, may_matter, communicator)
    _, hits, false = np.append(beyond + sums, np.zeros((3, 1)), axis=1)  # below each value, and above all
    losses = loss(hits, false)
    least, at = float(losses.min()), place(hits + false)

    weight = np.append(beyond[1:].sum(0), hits + false)
    order = weight.argsort(kind="stable")
    between_cuts = np.interp(wanted, weight[order], np.append(loss(*beyond[1:]), losses)[order])
    closeness = np.maximum((1.0 + NEAR) * least - between_cuts, 0.0)
    middle = closeness @ places / closeness.sum() if closeness.any() else at[losses.argmin()]
    good = losses <= (1.0 + FAR) * least + rounding
    chosen = float(np.append(values, math.inf)[np.where(good, np.abs(at - middle), math.inf).argmin()])
    below, _, lowest, highest = _neighbours(scores, None, chosen, communicator)
    return between(below, chosen, lowest, highest)


def _partitioned(values: Array, wanted: float) -> float:
    """The level of values of weight 1."""
    n = values.shape[0]
    k = min(max(math.ceil(wanted), 1), n)
    return float(np.partition(values, n - k)[n - k])


def _weighted_quickselect(values: Array, weights: Array, wanted: float) -> float:
    """The level of values with weights: each round drops half of those that are left."""
    while values.size > 1:
        half = values.size // 2
        order = np.argpartition(values, values.size - half)
        upper_weight = weights[order[-half:]].sum()
        if upper_weight < wanted:
            wanted -= upper_weight
            order = order[:-half]
        else:
            order = order[-half:]
        values, weights = values[order], weights[order]
    return float(values[0])


def _level_of_group(values: Array, weights: Array | None, wanted: float, communicator: Communicator) -> Level:
    """The level of the values of all members."""

    def holds_level(sums: Array, beyond: Array) -> NDArray[np.intp]:
        """The highest cell from which on there is as much as is wanted, or else the lowest."""
        enough = np.flatnonzero(beyond[-1] + sums[-1] >= wanted)
        return enough[-1:] if enough.size else np.array([0])

    columns = () if weights is None else (weights,)
    at, sums, beyond = _cells_that_matter(values, columns, holds_level, communicator)
    return Level(float(at[0]), float(beyond[-1, 0]), float(sums[-1, 0]))


def _cells_that_matter(
    values: Array,
    columns: tuple[Array, ...],
    matter: Callable[[Array, Array], NDArray[np.intp]],
    communicator: Communicator,
) -> tuple[Array, Array, Array]:
    """Look into cells, and into those that matter again, until each is one number; alone each is from the start.

    Parameters
    ----------
    values : ndarray
        Those of this member.
    columns : tuple of ndarray
        Numbers to sum up in each cell, such as weights.
    matter : callable
        Is given ``sums`` and ``beyond`` for the cells that have values, in ascending order, and says which matter.

    Returns
    -------
    values : ndarray
        The numbers, in ascending order.
    sums : ndarray of shape (1 + number of columns, number of cells)
        How many values each cell has, and the sums of their columns.
    beyond : ndarray of the same shape
        The same of all values above the cell.
    """
    if communicator.size == 1:
        numbers, members = np.unique(values, return_inverse=True)
        sums = np.array([np.bincount(members, weights=column) for column in (None, *columns)], dtype=np.float64)
        beyond = np.insert(sums[:, :0:-1], 0, 0.0, axis=1).cumsum(axis=1)[:, ::-1]
        kept = matter(sums, beyond)
        return numbers[kept], sums[:, kept], beyond[:, kept]
    keys = _keys(values)
    cells = np.zeros(keys.shape, dtype=np.intp)
    leading, bits = np.zeros(1, dtype=np.uint64), 64  # the bits that values of a cell share, and how many they do not
    beyond = np.zeros((1 + len(columns), 1))
    while bits > 0:
        more = min(bits, max(FEWEST_BITS, BITS - (leading.size - 1).bit_length()))
        bits -= more
        finer = 1 << more
        cells = cells * finer + ((keys >> np.uint64(bits)) & np.uint64(finer - 1)).astype(np.intp)
        count = leading.size * finer
        here = [np.bincount(cells, weights=column, minlength=count) for column in (None, *columns)]
        sums = communicator.allreduce(np.array(here, dtype=np.float64))
        # From what lies beyond a former cell downwards.
        inside = sums.reshape(*beyond.shape, finer)[:, :, :0:-1]
        downwards = np.concatenate([beyond[:, :, None], inside], axis=2).cumsum(axis=2)
        beyond = downwards[:, :, ::-1].reshape(sums.shape)
        occupied = np.flatnonzero(sums[0])
        kept = occupied[matter(sums[:, occupied], beyond[:, occupied])]
        sums, beyond = sums[:, kept], beyond[:, kept]
        leading = leading[kept // finer] << np.uint64(more) | (kept % finer).astype(np.uint64)
        places = np.full(count, -1)
        places[kept] = np.arange(kept.size)
        cells = places[cells]
        left = cells >= 0
        cells, keys, columns = cells[left], keys[left], tuple(column[left] for column in columns)
    return _values(leading), sums, beyond


def _keys(values: Array) -> NDArray[np.uint64]:
    """Whole numbers in the order of some values; zeros of either sign have the same."""
    bits = (values + 0.0).view(np.uint64)
    sign = np.uint64(1 << 63)
    return np.where(bits >= sign, ~bits, bits | sign)


def _values(keys: NDArray[np.uint64]) -> Array:
    """The values of keys."""
    sign = np.uint64(1 << 63)
    return np.where(keys >= sign, keys ^ sign, ~keys).view(np.float64)


def _neighbours(
    scores: Array, counts: NDArray[np.bool_] | None, at: float, communicator: Communicator
) -> tuple[float, float, float, float]:
    """The next score below that counts, the next one above of all, and the lowest and the highest of all."""
    lower = scores < at if counts is None else (scores < at) & counts
    here = [
        -scores.max(where=lower, initial=-math.inf),
        scores.min(where=scores > at, initial=math.inf),
        scores.min(initial=math.inf),
        -scores.max(initial=-math.inf),
    ]
    below, above, lowest, highest = np.min(communicator.allgather(np.array(here)), axis=0).tolist()
    return -below, above, lowest, -highest


def _weight(chosen: NDArray[np.bool_], weights: Array | None) -> float:
    """Weight of some values."""
    return float(np.count_nonzero(chosen) if weights is None else weights[chosen].sum())


class Cuts:
    """All cuts of a score vector: cut i is below the i-th smallest different score, the last one above all.

    An example is predicted positive if its score exceeds the threshold, so examples with equal scores share their fate:
    only cuts between two different scores, below all or above all can be realised.
    """

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
