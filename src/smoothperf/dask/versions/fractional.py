"""The risk (fractional-risk) of examples on several machines, by bins of margins.

A plane needs no flips that are best: *any* flips ``beta`` in [0, 1]^n compete in the maximum, so with the weights B and
C that they do flip,

    R(f') >= delta(B, C) - (2/N) sum_i c_i y_i f'_i beta_i        for every f'

So thresholds, and the ramps of all levels, are sought as if all examples of a bin were at its mean
(:mod:`.margin_bins`); each member flips its own examples by these, and B and C are summed up, for each level. What is
lost by that is of second order in the length of a bin (docs/maths.md, eq. binned-flips). The bounds of R that come from
bins hold whatever the bins are.

Cost: a sort of the examples here, and four rounds; five for :meth:`FractionalGroupRisk.smoothed`.
"""

from __future__ import annotations

import math

import numpy as np

from ..._arrays import Array
from ...communicator import Communicator
from ...kernels._levels import ramp_masses
from ...measures.examples import Examples
from ...measures.flips import BestFlips, Side, SmoothedFlips, step_table
from ...measures.fractional_risk import FractionalRisk
from ...measures.risk import Interval, Plane, RiskValue
from .margin_bins import Bins, Ranges, margin_bins


class FractionalGroupRisk(FractionalRisk):
    """The risk (fractional-risk) of the examples of a group; see :class:`FractionalRisk`.

    Parameters
    ----------
    examples, p, r
        As there.
    communicator : Communicator
        The group.
    """

    def __init__(self, examples: Examples, p: float, r: float, communicator: Communicator):
        super().__init__(examples, p, r)
        self._communicator = communicator

    def exact(self, scores: Array) -> RiskValue:
        """``R``, or a little more, and a plane that attains almost as much."""
        bins = margin_bins(self._sides(scores), self._cuts, self._communicator)
        best, high = self._bounds(bins)
        tables = _step(bins[1], best.false), _step(bins[0], best.missed)
        gradient = np.empty_like(scores)
        inner = self._flip_along(tables, scores, gradient)
        flipped = (float(gradient[rows].sum()) / self._slope for rows in self._rows)
        (inner, missed, false), (value,) = self.examples.total_and_agreed((inner, *flipped), (high,))
        offset = self._loss.at(-missed, false)
        # Twice: B and C are sums of the gradient, which was rounded.
        return RiskValue(Plane(gradient, offset, 2.0 * self._rounding), value, offset - self._slope * inner)

    def exact_value(self, scores: Array) -> float:
        """``R``, or a little more."""
        _, high = self._bounds(margin_bins(self._sides(scores), self._cuts, self._communicator))
        return self.examples.agreed(high)[0]

    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """``R_mu``, or a little less, and a plane with flips that are almost those of its gradient."""
        gradient = np.empty_like(scores) if out is None else out
        p, n = self._sides(scores)

        def ramps(bins: tuple[Bins, Bins]) -> Ranges:
            flips, width = self._smoothed_flips(_means(bins), mu)
            of_p, of_n = (
                (min(low, float(z.min()) - width / 2.0), max(high, float(z.max()) + width / 2.0))
                for (low, high), z in zip(self._cuts(bins), flips.places[::-1], strict=True)
            )
            return of_p, of_n

        bins = margin_bins((p, n), ramps, self._communicator)
        best, high = self._bounds(bins)
        flips, width = self._smoothed_flips(_means(bins), mu)
        # All follow the first member, as others may find other levels where they round differently.
        message = np.append([flips.value - width / 4.0, best.value, high], flips.levels)
        message = self._communicator.allgather(message if self.examples.leads else np.empty(0))[0]
        value, low, high = message[:3].tolist()
        flips = flips._replace(levels=message[3:].reshape(5, -1))
        plane, height = self._flipped_along(flips, width, (p, n), scores, gradient)
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

    def _flipped_along(
        self, flips: SmoothedFlips, width: float, sides: tuple[Side, Side], scores: Array, gradient: Array
    ) -> tuple[Plane, float]:
        """The plane of the mixture of all levels, with the losses that they have, and its height."""
        p, n = sides
        of_negatives, of_positives = flips.places
        tables = flips.tables(width)
        inner = self._flip_along(tables, scores, gradient)
        masses = ramp_masses(p, of_positives, width), ramp_masses(n, of_negatives, width)
        sums = self._communicator.allreduce(np.concatenate([[inner], *masses]))
        missed, false = sums[1:].reshape(2, -1)
        # (Not a product of vectors, which processors may add up in different orders.)
        offset = math.fsum((flips.shares * self._loss.at(missed, false)).tolist())
        rounding = self._rounding + self._ramp_rounding(flips, tables, width)
        return Plane(gradient, offset, rounding), offset - self._slope * float(sums[0])


def _means(bins: tuple[Bins, Bins]) -> tuple[Side, Side]:
    return bins[0].means(), bins[1].means()


def _step(bins: Bins, weight: float) -> Array:
    """Table for flips of all bins below one, and of a share of that one, that have a given weight."""
    mass = np.append(0.0, np.cumsum(bins.weight))
    last = min(max(int(np.searchsorted(mass, weight)), 1), bins.weight.size) - 1
    share = min(max((weight - mass[last]) / bins.weight[last], 0.0), 1.0)
    return step_table(bins.low[last], share, np.nextafter(bins.high[last], np.inf))
