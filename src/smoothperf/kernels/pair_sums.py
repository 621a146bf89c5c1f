"""Sums of a ramp over all pairs of positives and negatives, put together from the steps of ``_roc_area``.

The smaller class is sorted, every example of the larger one looks up two positions in it: O(n log n_min). Rows may be
in blocks (:mod:`smoothperf.blocks`): the sorted scores of the smaller class go out to all of them, arrays of that
length come back, and slopes of that length go out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _roc_area
from .selection import joined

if TYPE_CHECKING:
    from ..blocks import Blocks, Vector

Array = NDArray[np.float64]

#: Numbers in a bin: weight and excess, of z and of z - kappa.
BIN = 4


class Frame(NamedTuple):
    """How scores are looked at: with ``x = sign (f - centre)``, a is x for the sorted class, else z is margin + x.

    ``small`` is the number of the sorted class, 0 for the positives.
    """

    small: int
    centre: float
    margin: float
    kappa: float
    scale: float

    @property
    def sign(self) -> float:
        """A pair is violated by z - a, where a is the score of the positive, or the negated one of the negative."""
        return 1.0 if self.small == 0 else -1.0


class RampSums(NamedTuple):
    """Sums over all pairs, with the weights of both examples.

    Attributes
    ----------
    value, height, hinges, slopes : float
        Of ``H(z - a)``, of ``beta (z - a)``, of the hinge itself, and of ``beta``.
    reach : float
        The largest violation plus the largest ``|z|``: how long ramps are, for the rounding bound.
    crowd : float
        Most weight in one bin, and
    excess : float
        the sum of all excesses: what the rounding of the bins depends on.
    """

    value: float
    height: float
    hinges: float
    slopes: float
    reach: float
    crowd: float
    excess: float


class PairBlock:
    """The part of the sums that has rows.

    Parameters
    ----------
    rows : pair of arrays
        The positives and the negatives.
    weights : array or None
        Of all rows; None for ones.
    """

    rows: Sequence[NDArray[np.intp]]
    weights: Array | None
    _table: _roc_area.RampTable

    def __init__(self, rows: Sequence[NDArray[np.intp]], weights: Array | None):
        self.rows = rows
        self.weights = weights

    def sorted_class(self, scores: Array, frame: Frame) -> tuple[Array, Array | None]:
        """``a``, sorted, and the weights that belong to it."""
        rows = self.rows[frame.small]
        a = frame.sign * (scores[rows] - frame.centre)
        weights = None if self.weights is None else self.weights[rows]
        if weights is None or weights.size == 0 or weights.min() == weights.max():
            a.sort()
            return a, weights
        order = np.argsort(a)
        return a[order], weights[order]

    def ramps(
        self, scores: Array, frame: Frame, ordered: Array, ordered_weights: Array | None, gradient: Array, keep: bool
    ) -> tuple[tuple[float, ...], Array, _roc_area.RampTable | None]:
        """Sums over the pairs with the examples of the larger class, their gradient, and the bins.

        The table to look up in is kept, or part of the reply.
        """
        table = _roc_area.RampTable(ordered, ordered_weights)
        bins = np.zeros((ordered.shape[0] + 1, BIN))
        sums = table.ramps(
            scores,
            self.weights,
            self.rows[1 - frame.small],
            frame.sign,
            frame.centre,
            frame.margin,
            frame.kappa,
            frame.scale,
            gradient,
            bins,
        )
        if keep:
            self._table = table
        return sums, bins, None if keep else table

    def look_up(
        self, scores: Array, frame: Frame, table: _roc_area.RampTable | None, slopes: Array, gradient: Array
    ) -> None:
        """Fill in the gradient of the class that is sorted."""
        if table is None:
            table = self._table
            del self._table
        rows = self.rows[frame.small]
        table.look_up(scores, self.weights, rows, frame.sign, frame.centre, frame.scale, slopes, gradient)


def pair_ramps(blocks: Blocks, scores: Vector, frame: Frame, gradient: Vector) -> RampSums:
    """Sum over all pairs, and fill the gradient at their rows.

    It is ``scale c_l sum_s c_s beta(z_l - a_s)`` for the larger class, ``-scale c_s sum_l c_l beta(z_l - a_s)`` for the
    smaller.

    Parameters
    ----------
    blocks : Blocks
        Of :class:`PairBlock`.
    """
    ordered, ordered_weights = _merged(blocks.each("sorted_class", scores, frame))
    replies = blocks.each("ramps", scores, frame, ordered, ordered_weights, gradient, blocks.far)
    sums, tables, kept = zip(*replies, strict=True)
    bins = tables[0] if len(tables) == 1 else np.sum(tables, axis=0)
    slopes = np.empty(ordered.shape[0])
    crowd, excess = _roc_area.sweep_bins(ordered, bins, frame.kappa, slopes)
    blocks.tell("look_up", scores, frame, kept[0], slopes, gradient)
    *totals, lowest, highest = zip(*sums, strict=True)
    value, height, hinges, slope = (math.fsum(column) for column in totals)
    reach = max(max(highest) - float(ordered[0]), 0.0) + max(*highest, -min(lowest))
    return RampSums(value, height, hinges, slope, reach, crowd, excess)


def _merged(parts: list[tuple[Array, Array | None]]) -> tuple[Array, Array | None]:
    """One sorted list of several."""
    values, weights = joined(parts)
    if len(parts) == 1:
        return values, weights
    if weights is None:
        values.sort(kind="stable")  # which merges runs
        return values, None
    order = np.argsort(values, kind="stable")
    return values[order], weights[order]
