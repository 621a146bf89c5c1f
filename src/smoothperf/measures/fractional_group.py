"""The risk (fractional-risk) of examples on several machines, by bins of margins.

A plane needs no flips that are best: *any* flips ``beta`` in [0, 1]^n compete in the maximum, so with the weights B and
C that they do flip,

    R(f') >= delta(B, C) - (2/N) sum_i c_i y_i f'_i beta_i        for every f'

So thresholds and ramps are sought as if all examples of a bin were at its mean (:mod:`smoothperf.measures.margin_bins`),
each member flips its own examples by these, and B and C are summed up. How much is lost by that is of second order in
the length of a bin (docs/maths.md, eq. binned-flips); that R lies between the two bounds that bins give is exact.

Cost: a sort of the examples here, and four rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..collective import agreed, total_and_agreed
from ..kernels._flips import flip_smoothed, ramp_table
from .base import Array, Interval, Plane, RiskValue
from .flips import BestFlips, Side, SmoothedFlips
from .fractional_risk import FractionalRisk
from .margin_bins import Bins, Ranges, margin_bins

#: The levels of the soft maximum are mixed in as many parts, each with flips of its own.
PARTS = 4
TINY = 1e-300


class FractionalGroupRisk(FractionalRisk):
    """The risk (fractional-risk) of the examples of a group; see :class:`FractionalRisk`."""

    def exact(self, scores: Array) -> RiskValue:
        """``R``, or a little more, and a plane that attains almost as much."""
        bins = margin_bins(self._sides(scores), self._cuts, self.examples.together)
        best, high = self._bounds(bins)
        tables = _step(bins[1], best.false), _step(bins[0], best.missed)
        plane, height, (value,) = self._flipped_by([tables], scores, np.empty_like(scores), high)
        return RiskValue(plane, value, height)

    def exact_value(self, scores: Array) -> float:
        """``R``, or a little more."""
        together = self.examples.together
        _, high = self._bounds(margin_bins(self._sides(scores), self._cuts, together))
        return agreed(together, high)[0]

    def smoothed(
        self, scores: Array, mu: float, hint: Any = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """``R_mu``, or a little less, and a plane with flips that are almost those of its gradient."""
        gradient = np.empty_like(scores) if out is None else out

        def ramps(bins: tuple[Bins, Bins]) -> Ranges:
            flips, width = self._smoothed_flips(_means(bins), mu)
            cuts = self._cuts(bins)
            p, n = (
                (min(low, float(z.min()) - width / 2.0), max(high, float(z.max()) + width / 2.0))
                for (low, high), z in zip(cuts, flips.places[::-1], strict=True)
            )
            return p, n

        bins = margin_bins(self._sides(scores), ramps, self.examples.together)
        best, high = self._bounds(bins)
        flips, width = self._smoothed_flips(_means(bins), mu)
        parts = _parts(flips, width)
        value = flips.value - width / 4.0
        plane, height, (value, low, high) = self._flipped_by(parts, scores, gradient, value, best.value, high)
        return RiskValue(plane, value, height, exact=Interval(low, high))

    def _bounds(self, bins: tuple[Bins, Bins]) -> tuple[BestFlips, float]:
        """The best flips with each bin at its mean, which attain no more than ``R``; and what is no less."""
        best = BestFlips.of(_means(bins), self._loss, self._slope)
        ends = BestFlips.of((bins[0].ends(), bins[1].ends()), self._loss, self._slope)
        return best, max(ends.value, best.value)

    def _cuts(self, bins: tuple[Bins, Bins]) -> Ranges:
        """About where the thresholds of the best flips are."""
        p, n = [], []
        for sides in (_means(bins), (bins[0].ends(), bins[1].ends())):
            best = BestFlips.of(sides, self._loss, self._slope)
            p.append(sides[0].threshold(best.missed)[0])
            n.append(sides[1].threshold(best.false)[0])
        return (min(p), max(p)), (min(n), max(n))

    def _flipped_by(
        self, parts: list[tuple[Array, Array]], scores: Array, gradient: Array, *decided: float
    ) -> tuple[Plane, float, tuple[float, ...]]:
        """The plane of the mean of flips that tables describe, its height, and the first member's numbers."""
        positives, negatives = self._rows
        part, slope = np.empty_like(scores), self._slope / len(parts)
        sums: list[float] = []
        gradient.fill(0.0)
        for tables in parts:
            inner = flip_smoothed(scores, self._labels, self.examples.weights, *tables, slope, part)
            gradient += part
            sums += inner, -float(part[positives].sum()) / slope, float(part[negatives].sum()) / slope
        flat, agreed_numbers = total_and_agreed(self.examples.together, tuple(sums), decided)
        offset = sum(self._loss.at(*flat[k + 1 : k + 3]) for k in range(0, len(flat), 3)) / len(parts)
        height = offset - slope * sum(flat[::3])
        return Plane(gradient, offset, self._rounding), height, agreed_numbers


def _means(bins: tuple[Bins, Bins]) -> tuple[Side, Side]:
    return bins[0].means(), bins[1].means()


def _step(bins: Bins, weight: float) -> Array:
    """Table for flips of all bins below one, and of a share of that one, that have a given weight."""
    mass = np.append(0.0, np.cumsum(bins.weight))
    last = min(max(int(np.searchsorted(mass, weight)), 1), bins.weight.size) - 1
    share = min(max((weight - mass[last]) / bins.weight[last], 0.0), 1.0)
    # Knots are not so close that one over their distance would overflow.
    end = max(np.nextafter(bins.high[last], np.inf), bins.high[last] + TINY)
    return np.array([[bins.low[last], end], [1.0, share], [0.0, 0.0]])


def _parts(flips: SmoothedFlips, width: float) -> list[tuple[Array, Array]]:
    """Tables of the levels in parts that share the soft maximum equally; a level may be in several.

    The offset is the mean of the losses of the parts, and so almost that of the levels.
    """
    begin = np.append(0.0, np.cumsum(flips.shares))
    begin /= begin[-1]
    parts = []
    for k in range(PARTS):
        shares = PARTS * np.diff(np.clip(begin, k / PARTS, (k + 1) / PARTS))
        of_negatives, of_positives = (z[shares > 0.0] for z in flips.places)
        shares = shares[shares > 0.0]
        parts.append((ramp_table(of_negatives, shares, width), ramp_table(of_positives, shares, width)))
    return parts
