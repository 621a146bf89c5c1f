r"""The risk of linear-fractional measures, F-beta and the Jaccard index.

A *flip* ``beta`` in [0, 1]^n says how much of each example is on the wrong side. With weights ``c`` (ones without
sample weights), total N and positive weight N+, ``B`` the flipped weight of the positives (missed) and ``C`` that of
the negatives (false), one less the measure is

    delta(B, C) = (p B + C) / (M - r B + C)                                                  (fractional-loss)

    F-beta, q = beta^2     p = q,  r = 1,  M = (1 + q) N+
    Jaccard                p = 1,  r = 0,  M = N+

and with the margins ``x = y f``

    R(f)    = max over beta of  delta(B, C) - (2/N) sum_i c_i x_i beta_i                      (fractional-risk)

With unit weights that is the maximum over labelings, except that of one negative example a fraction may be flipped,
which raises it by no more than a small multiple of ``1/N+^2`` (docs/maths.md, eq. labelings). For a fixed level t the
set ``delta >= t`` is a half-space of (B, C), so the best flips on it are found with one multiplier, smoothed or not.
Over a grid of levels

    V_mu(t) = max { sum_i c_i (-(2/N) x_i beta_i - (mu/2) (beta_i - 1/2)^2) : delta(B, C) >= t }
    R_mu(f) = nu log mean_k exp((t_k + V_mu(t_k)) / nu),     t_k = k/K,  k = 0, ..., K        (fractional-smoothed)

with nu and K a function of mu N. After a sort of the margins of each class, everything takes O(log n) for each level
that matters, and one pass for the gradient.

The paper names the F-measure as future work; SVM-perf and BMRM search all pairs (B, C).
"""

from __future__ import annotations

import math

import numpy as np

from .._arrays import Array
from .examples import Examples
from .flips import SOFT_SHARE, BestFlips, FlipRisk, FractionalLoss, Side, SmoothedFlips, largest_knot, sorted_side
from .risk import EPS, LONG_EPS, Interval, Plane, RiskValue

#: The grid's step is at most this part of what the levels may cost; the rest is for the soft maximum.
STEP_SHARE = 0.5
#: Fewest levels, and the logarithm to base 2 of the most: a finer grid would be a matter of rounding.
FEWEST_LEVELS, MOST_DOUBLINGS = 64, 44


class FractionalRisk(FlipRisk):
    """The risk (fractional-risk) of examples in memory.

    Parameters
    ----------
    examples : Examples
        Labels and weights.
    p, r : float
        Coefficients of (fractional-loss).
    """

    def __init__(self, examples: Examples, p: float, r: float):
        # Relative errors of B and C change delta by at most this much (docs/maths.md, rounding).
        super().__init__(examples, (64 * EPS + 4 * examples.count * LONG_EPS) * (2.0 + r / p))
        self._loss = FractionalLoss(p, r, (p + r) * examples.positive_weight)
        self.score_scale = self._total / (2.0 * examples.positive_weight)
        weights = examples.weights
        self._weights = (None, None) if weights is None else (weights[self._rows[0]], weights[self._rows[1]])
        # Sorted margins and their sums: allocated once, as fresh pages cost as much as the sums.
        self._room = np.empty(3 * examples.here_count + 4)

    def exact(self, scores: Array) -> RiskValue:
        """``R`` and a subgradient: two sorts, a search and a pass."""
        p, n = self._sides(scores)
        best = BestFlips.of((p, n), self._loss, self._slope)
        cuts = n.threshold(best.false), p.threshold(best.missed)
        return self._flipped(scores, *cuts, self._loss.at(best.missed, best.false))

    def exact_value(self, scores: Array) -> float:
        """``R``: two sorts and a search."""
        return BestFlips.of(self._sides(scores), self._loss, self._slope).value

    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """``R_mu`` and its gradient: two sorts, searches and a pass. ``hint`` is not used."""
        gradient = np.empty_like(scores) if out is None else out
        sides = self._sides(scores)
        best = BestFlips.of(sides, self._loss, self._slope)
        flips, width = self._smoothed_flips(sides, mu)
        tables = flips.tables(width)
        inner = self._flip_along(tables, scores, gradient)
        rounding = self._rounding + flips.wobble + self._ramp_rounding(flips, tables, width)
        return RiskValue(
            Plane(gradient, flips.offset, rounding),
            value=flips.value - width / 4.0,
            height=flips.offset - self._slope * inner,
            exact=Interval(best.value, best.value),
        )

    def _nu(self, mu: float) -> float:
        return levels(SOFT_SHARE * mu * self._total / 8.0)[1]

    def _sides(self, scores: Array) -> tuple[Side, Side]:
        """The margins ``y f`` of the examples here, sorted: positives and negatives. They are overwritten next time."""
        n, m = scores.shape[0], self._rows[0].shape[0]
        ends = np.cumsum([m, n - m, m + 1, m + 1, n - m + 1])
        x_p, x_n, first_p, second_p, first_n, second_n = np.split(self._room, ends)
        scores.take(self._rows[0], out=x_p, mode="clip")
        scores.take(self._rows[1], out=x_n, mode="clip")
        np.negative(x_n, out=x_n)
        return (
            sorted_side(x_p, self._weights[0], first_p, second_p),
            sorted_side(x_n, self._weights[1], first_n, second_n),
        )

    def _smoothed_flips(self, sides: tuple[Side, Side], mu: float) -> tuple[SmoothedFlips, float]:
        """The flips of all levels that matter, and the width of their ramps."""
        width = mu * self._total / 2.0
        count, nu = levels(SOFT_SHARE * width / 4.0)
        return SmoothedFlips.of(sides, self._loss, self._slope, width, nu, count), width

    def _ramp_rounding(self, flips: SmoothedFlips, tables: tuple[Array, Array], width: float) -> float:
        """Of beta, whose ramps begin and end at rounded knots; it enters sums with a total weight of 2."""
        return (16 * EPS + 16 * flips.shares.size * LONG_EPS) * (1.0 + largest_knot(*tables) / width)


def levels(deviation: float) -> tuple[int, float]:
    """Number K of levels, a power of 2, and nu, so that the step and the soft maximum cost no more than a deviation.

    Examples
    --------
    >>> count, nu = levels(0.01)
    >>> count, round(float(1 / count + nu * np.log(count + 1)), 12)
    (256, 0.01)
    """
    doublings = math.ceil(-math.log2(min(STEP_SHARE * deviation, 1.0)))
    count = max(FEWEST_LEVELS, 1 << min(doublings, MOST_DOUBLINGS))
    return count, max(deviation - 1.0 / count, deviation * (1.0 - STEP_SHARE)) / math.log(count + 1)
