r"""The first alpha of a path: the smallest one at which no feature that pays for absolute values has a weight.

The *null model* has the other weights alone, a bias or features that cost nothing, at their best for an alpha; if all
pay, it is w = 0. It is optimal if and only if some gradient g of R at its scores, for which the others are stationary,
has

    |a_i| <= alpha l1_i     for all i that pay,      a = X^T g.                                        (first-alpha)

**One gradient.** If R is smooth, or all pay and R is differentiable at w = 0 (ROC area, error rate), there is only one,
and the smallest alpha is where ``F(alpha) = max_i |a_i| / l1_i`` is alpha itself. If all pay, F does not depend on
alpha, and that is a closed form; else it takes some fits of the others alone, of a few columns, and one product with
X^T for each.

**Several.** PRBEP, precision@k, recall@k: any k of equal scores are the highest. F-beta and error rate with a bias, ROC
area with features that cost nothing: their null model is where planes meet. The smallest alpha is the value of a linear
program over all gradients; any one of them gives an alpha that is large enough, but often far too large. It is found by
trial: a short run at an alpha ends with planes that certify the null model within the tolerance, or with weights that
are better than it by more. Planes hold for every alpha, and go on to the next trial.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from .._arrays import Array
from ..design import Design, as_design
from ..measures import Risk
from ..threads import cached_property
from .base import Solver, planes_to_keep
from .certificate import Planes
from .elastic_net import Separable
from .known_scores import StartingWithScores
from .objective import RegularizedRisk
from .result import Start
from .smoothing import mu_for

#: The plane that says where a path begins is no farther below the risk than this, and alpha has a margin for rounding.
TOUCHING, ROUNDED_UP = 1e-6, 1.0 + 1e-6
#: Gradients are one if they differ by no more than this share, in absolute values. (Smoothing makes a small difference
#: where it does not pick one of several.)
ALIKE = 1e-3
#: Tolerance of the null model of smooth risks, and as a share of the solver's for others.
FINE, SHARE = 1e-9, 0.1
#: The search ends where ``F(alpha)`` is that close to alpha, relatively; it takes so many fits at most.
CLOSE, MOST_FITS = 1e-5, 40
#: The search by trial ends at an alpha that is no more than so many times too large, or at a share of the first one.
NEAR_ENOUGH, LEAST = 1.2, 1e-3
#: Tolerance of trials, as a share of the solver's; the rest is for weights a little better than the null model.
TRIAL_SHARE = 0.5
#: Doublings of the first alpha where its null model is not certified, at most.
MOST_DOUBLINGS = 3


@dataclass(frozen=True)
class NullModel:
    """Its weights, their scores, and J there."""

    coef: Array
    scores: Array
    value: float


class FirstAlpha:
    """The search for the smallest alpha of which the null model is optimal, within tol where gradients are several.

    Parameters
    ----------
    design, risk, solver : Design, Risk and Solver
        The data, and what to run.
    penalty : Separable
        The penalty, in any strength.

    Attributes
    ----------
    null : NullModel
        That of the last alpha for which it was found to be optimal.
    bound : float
        A lower bound of the optimum for that alpha; minus infinity if there was no run.
    planes : Planes or None
        Planes of the risk, if there was a run.
    passes : int
        Products with X and its transpose so far.
    """

    def __init__(self, design: Design, risk: Risk, solver: Solver, penalty: Separable):
        self._design, self._risk, self._solver, self._penalty = design, risk, solver, penalty
        n, d = design.shape
        self.null = NullModel(np.zeros(d), np.zeros(n), risk.exact_value(np.zeros(n)))
        self.bound = -math.inf
        self.planes: Planes | None = None
        self.passes = 0
        self._others = np.flatnonzero(penalty.l1 == 0.0)

    def find(self) -> float:
        """Return it; 1 if no feature helps at all."""
        alpha, single = self._by_gradient(self.null.scores)
        if alpha == 0.0:
            return 1.0
        if not single:
            return self._by_trial(alpha)
        return ROUNDED_UP * (self._fixed_point(alpha) if self._others.size else alpha)

    def null_model(self, alpha: float) -> NullModel:
        """Train the weights that pay for no absolute values alone."""
        others, penalty = self._others, self._penalty.with_alpha(alpha)
        if others.size == 0:
            return self.null
        tol = FINE if self._risk.diameter == 0.0 else SHARE * self._solver.tol
        objective = RegularizedRisk(self._columns, self._risk, penalty.some(others))
        result = replace(self._solver, tol=tol).run(objective, self.null.coef[others])
        assert result.scores is not None
        coef = np.zeros_like(self.null.coef)
        coef[others] = result.coef
        value = penalty.value(coef, float(coef @ coef)) + self._risk.exact_value(result.scores)
        return NullModel(coef, result.scores, value)

    @cached_property
    def _columns(self) -> Design:
        """Those of the weights that pay for no absolute values. They are few: one by one will do for a store."""
        if self._design.gives_columns:
            self.passes += 1
            return self._design.columns(self._others)
        self.passes += self._others.size
        unit = np.eye(1, self._design.shape[1])[0]
        return as_design(np.column_stack([self._design.matvec(np.roll(unit, other)) for other in self._others]))

    def _by_gradient(self, scores: Array) -> tuple[float, bool]:
        """``max_i |a_i| / l1_i`` of the most even gradient at some scores, and whether there is no other."""
        even = self._risk.smoothed(scores, mu_for(TOUCHING, self._risk)).plane.gradient
        self.passes += 1
        alpha = where_they_vanish(self._penalty, self._design.rmatvec(even))
        if self._risk.diameter == 0.0:
            return alpha, True
        if self._others.size:
            return alpha, False
        extreme = self._risk.exact(scores).plane.gradient
        return alpha, bool(np.abs(extreme - even).sum() <= ALIKE * np.abs(even).sum())

    def _fixed_point(self, alpha: float) -> float:
        """The root of ``F(alpha) = alpha``, from above; F is continuous and bounded."""

        def gradient(alpha: float) -> tuple[float, NullModel]:
            null = self.null_model(alpha)
            return self._by_gradient(null.scores)[0], null

        low, high = 0.0, alpha
        there, self.null = gradient(high)
        for _ in range(MOST_FITS):
            if there > high:
                low, high = high, 2.0 * there
                there, self.null = gradient(high)
                continue
            if there >= (1.0 - CLOSE) * high or high <= (1.0 + CLOSE) * low:
                break
            trial = there if there > low else math.sqrt(low * high)
            found, null = gradient(trial)
            if found <= ROUNDED_UP * trial:
                high, there, self.null = trial, found, null
            else:
                low = trial
        return high

    def _by_trial(self, alpha: float) -> float:
        """Look between an alpha and a small share of it, by bisection on the logarithm."""
        trials = alpha * 2.0 ** np.arange(MOST_DOUBLINGS + 1)
        high = next((float(trial) for trial in trials if self._null_is_best(float(trial))), None)
        if high is None:
            return alpha  # rounding, or an iteration limit
        low = LEAST * high
        if self._null_is_best(low):
            return low
        while high > NEAR_ENOUGH * low:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self._null_is_best(middle) else (middle, high)
        return high

    def _null_is_best(self, alpha: float) -> bool:
        """Whether the null model is certified to be optimal within tol: by the planes so far, or by a short run."""
        null, penalty, tol = self.null_model(alpha), self._penalty.with_alpha(alpha), self._solver.tol
        bound, planes = -math.inf, self.planes
        if planes is not None:
            length = math.sqrt(float(null.coef @ null.coef))
            bound = planes.lower_bound(self._design, penalty, null.value, length)
        if null.value - bound > tol:
            objective = StartingWithScores(self._design, self._risk, penalty, null.coef, null.scores)
            result = replace(self._solver, tol=TRIAL_SHARE * tol).run(
                objective,
                Start(null.coef, planes),
                callback=lambda row: row.objective < null.value - tol,
                keep_planes=planes_to_keep(null.coef.size),
            )
            self.passes += objective.n_matvec + objective.n_rmatvec
            bound, planes = result.lower_bound, result.planes
        if null.value - bound > tol:
            return False
        self.null, self.bound, self.planes = null, bound, planes
        return True


def where_they_vanish(penalty: Separable, slope: Array) -> float:
    """``max_i |a_i| / l1_i`` over the weights that pay, in the directions that bounds allow."""
    reach = np.where(slope < 0.0, penalty.upper, -penalty.lower)
    counted = (penalty.l1 > 0.0) & (reach > 0.0)
    return float((np.abs(slope[counted]) / penalty.l1[counted]).max(initial=0.0))
