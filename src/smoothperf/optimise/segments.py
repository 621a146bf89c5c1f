"""Points and lines where the penalty is not quadratic: what :mod:`.objective` has, for any separable Omega.

A method that takes Omega as it is, chooses another point z by a model of the smoothed risk alone, and then searches on
the line from w through z. Along it

    t -> J_mu(w + t p) = Omega(w + t p) + R_mu(f + t q),      p = z - w,  q = X p,

is convex; X is never touched, and Omega costs O(number of weights that move). Where weights become zero its derivative
jumps; at t = 1 many do, because many entries of z are zero. There the slope that is closest to zero counts, so that a
search which likes flat places likes that one.

The smoothed objective is above its minimum by no more than

    Omega(w) + <a, w> + Omega*(-a),      a = X^T grad R_mu,                                        (penalty-excess)

because ``R_mu(X w') >= R_mu(X w) + <a, w' - w>`` for every w'.
"""

from __future__ import annotations

import math

import numpy as np

from .._arrays import Array
from ..measures import RiskValue
from .elastic_net import Separable
from .objective import Point, RegularizedRisk, Run, Trial
from .space import along


class PenalisedRun(Run):
    """One run on an objective with a separable penalty, always in weight space.

    Parameters
    ----------
    objective : RegularizedRisk
        The objective.
    start : ndarray of shape (d,), optional
        The weights that the run starts at, within bounds or not; zero by default.
    """

    penalty: Separable

    def __init__(self, objective: RegularizedRisk, start: Array | None = None):
        super().__init__(objective, None if start is None else objective.penalty.clip(start), in_weights=True)
        #: J at w = 0, which no minimiser of a smoothed J exceeds.
        self._ceiling = objective.risk.exact_value(objective.scores_of_zero())

    def towards(self, point: Point, coef: Array) -> Segment:
        """Return the half-line from a point through other weights; one product with X now, none later."""
        return Segment(self, point, coef)

    def _point(self, coef: Array, scores: Array, mu: float, risk: RiskValue) -> Point:
        slope, steepness = self.slope_and_square(risk.plane.gradient)
        square = float(coef @ coef)
        omega = self.penalty.value(coef, square)
        conjugate = self.penalty.conjugate(-slope, self._ceiling)
        excess = omega + float(slope @ coef) + conjugate.value + conjugate.excess * self._ceiling
        square, omega, excess = self.agreed(square, omega, max(excess, 0.0))
        return Point(
            coef, scores, mu, risk, slope, omega, omega + risk.value, slope, square, excess, math.sqrt(steepness)
        )


class Segment:
    """``t -> J_mu(w + t (z - w))``, evaluated in score space.

    Attributes
    ----------
    direction : ndarray
        ``p = z - w``, the same on all members of a group.
    """

    def __init__(self, run: PenalisedRun, start: Point, coef: Array):
        self._run = run
        self._start = start
        direction, penalty = coef - start.coef, run.penalty
        #: The first step at which a weight is on its bound. (Said before the direction, which takes it along.)
        (self._end,) = run.agreed(_last_step(penalty, start.coef, direction))
        self.direction = run.agreed_vector(direction)
        self._scores = run.space.scores(self.direction)
        moving = np.flatnonzero(self.direction)
        self._w, self._p = start.coef[moving], self.direction[moving]
        self._s, self._q = penalty.s[moving], penalty.q[moving]

    def origin(self, mu: float) -> Trial:
        """The line at ``t = 0``, with the derivative to the right."""
        start = self._start
        if mu != start.mu:
            return self.at(0.0, mu)
        derivative = self._penalty_at(0.0, to_the_right=True)[1]
        derivative += self._run.objective.inner(start.risk.plane.gradient, self._scores)
        return Trial(0.0, mu, start.value, derivative, start.scores, start.risk)

    def at(self, step: float, mu: float) -> Trial:
        """The line at ``t = step``; infinite beyond the bounds."""
        run, start = self._run, self._start
        if step > max(self._end, 1.0):
            return Trial(step, mu, math.inf, math.inf, start.scores, start.risk)
        scores = start.scores
        if step > 0.0:
            scores = np.empty_like(start.scores)
            along(start.scores, step, self._scores, scores)
        risk = run.risk.smoothed(scores, mu, start.risk.hint, self._scores)
        steepness = run.derivative(risk, self._scores)
        omega, derivative, jump = self._penalty_at(step, to_the_right=step == 0.0)
        derivative += steepness
        derivative -= min(max(derivative, -jump), jump)
        return Trial(step, mu, omega + risk.value, derivative, scores, risk)

    def forget(self, trial: Trial) -> None:
        """Nothing: memory is not used again here."""

    def _penalty_at(self, step: float, *, to_the_right: bool) -> tuple[float, float, float]:
        """Omega, its derivative, and how much that may be smaller or larger where weights are zero."""
        w = self._w + step * self._p
        s, q, p = self._s, self._q, self._p
        omega = self._start.regulariser - float(s @ np.abs(self._w) + 0.5 * (q @ (self._w * self._w)))
        omega += float(s @ np.abs(w) + 0.5 * (q @ (w * w)))
        zero = w == 0.0
        jump = float(s[zero] @ np.abs(p[zero]))
        derivative = float((s * np.sign(w) + q * w) @ p)
        omega, derivative, jump = self._run.agreed(omega, derivative, jump)
        return (omega, derivative + jump, 0.0) if to_the_right else (omega, derivative, jump)

    def point(self, trial: Trial) -> Point:
        """The full point that belongs to a trial, one product with the transpose of X."""
        run, start = self._run, self._start
        coef = start.coef
        if trial.step > 0.0:
            coef = run.penalty.clip(start.coef + trial.step * self.direction)
        return run._point(coef, trial.scores, trial.mu, trial.risk)


def _last_step(penalty: Separable, coef: Array, direction: Array) -> float:
    """The largest t for which ``w + t p`` is within the bounds."""
    moving = np.flatnonzero(direction)
    p = direction[moving]
    bound = np.where(p > 0.0, penalty.upper[moving], penalty.lower[moving])
    with np.errstate(over="ignore"):
        return float(((bound - coef[moving]) / p).min(initial=math.inf))
