"""Scores that begin at an offset f0, such as another model's margins: the risk ``f -> R(f0 + f)``, for objectives.

A plane ``(g, b)`` of R at ``f0 + f`` is the plane ``(g, b + <g, f0>)`` of this risk. With ``M = max |f0|`` its rounding
bound ``r (1 + max |f0 + f|)`` is at most ``r (1 + M) (1 + max |f|)``, and ``<g, f0>`` adds ``2 n eps M`` more, as the
sizes of g sum up to 2 at most (docs/maths.md, given-scores). Everything else is that of R.
"""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from .._arrays import Array
from .._validation import vector
from ..measures import Curvature, Risk, RiskValue
from ..measures.risk import EPS


class Shifted(Risk):
    """``R(f0 + f)``.

    Parameters
    ----------
    risk : Risk
        R.
    offset : array-like of shape (n,)
        f0, one number for each example of this process.

    Examples
    --------
    >>> from smoothperf import ROCArea
    >>> import numpy as np
    >>> risk = ROCArea().bind([1, -1])
    >>> Shifted(risk, [0.25, 0.0]).exact_value(np.array([0.0, 0.5])) == risk.exact_value(np.array([0.25, 0.5]))
    True
    """

    def __init__(self, risk: Risk, offset: ArrayLike):
        super().__init__(risk.examples)
        self._risk = risk
        self._offset = vector("base_scores", offset, length=risk.examples.here_count)
        self.diameter = risk.diameter
        self.has_curvature = risk.has_curvature
        self.score_scale = risk.score_scale
        lowest, highest = float(self._offset.min(initial=0.0)), float(self._offset.max(initial=0.0))
        lowest, highest = risk.examples.extremes(lowest, highest)
        largest = max(-lowest, highest)
        self._plane_rounding = 2.0 * (risk.examples.count + 4) * EPS * largest
        self._growth = 1.0 + largest
        # Values, too, are those of scores that are larger by as much, and rounded when they are added.
        self.extra_rounding = risk.extra_rounding * self._growth + 4.0 * (risk.examples.count + 16) * EPS * largest

    def _whole(self, scores: Array) -> Array:
        """``f0 + f``."""
        whole: Array = self._offset + scores
        return whole

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        """That of R."""
        return self._risk.shift_invariant

    @property
    def has_loss_free(self) -> bool:  # type: ignore[override]
        """That of R."""
        return self._risk.has_loss_free

    @property
    def sums_over_examples(self) -> bool:  # type: ignore[override]
        """That of R."""
        return self._risk.sums_over_examples

    def exact(self, scores: Array) -> RiskValue:
        """``R(f0 + f)`` and a subgradient."""
        return self._moved(self._risk.exact(self._whole(scores)))

    def exact_value(self, scores: Array) -> float:
        """``R(f0 + f)``."""
        return self._risk.exact_value(self._whole(scores))

    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """``R_mu(f0 + f)`` and its gradient."""
        return self._moved(self._risk.smoothed(self._whole(scores), mu, hint, direction, out))

    def lipschitz(self, mu: float) -> float:
        """That of R."""
        return self._risk.lipschitz(mu)

    def loss_free(self, scores: Array) -> RiskValue:
        """``R0(f0 + f)``, whose plane has an offset here."""
        return self._moved(self._risk.loss_free(self._whole(scores)))

    def weighed(self, scores: Array) -> Array:
        """That of R."""
        return self._risk.weighed(scores)

    def curvature(self, scores: Array, smoothed: RiskValue, mu: float, following: float) -> Curvature:
        """That of R at ``f0 + f``."""
        return self._risk.curvature(self._whole(scores), smoothed, mu, following)

    def _moved(self, risk: RiskValue) -> RiskValue:
        plane = risk.plane
        (inner,) = self.examples.total(float(plane.gradient @ self._offset))
        rounding = plane.rounding * self._growth + self._plane_rounding
        return replace(risk, plane=plane._replace(offset=plane.offset + inner, rounding=rounding))


def with_offset(risk: Risk, offset: Array) -> Risk:
    """The risk of what is added to an offset."""
    return Shifted(risk, offset)
