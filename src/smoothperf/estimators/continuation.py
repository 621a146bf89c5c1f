"""From one alpha to the next smaller one: what a solution says about its neighbour, so that little is left to do.

Three things carry over, none of which needs a pass over the data.

* Planes hold for every alpha (:mod:`smoothperf.certificate`), so the bound at a new alpha is known at once.
* So are the scores of any multiple ``t w`` of the last weights w: ``t f``. The best multiple is found in score space.
  Where the risk is still linear it is ``alpha_old / alpha_new`` and the new solution; else it is a good start.
* If the planes certify that multiple within tol, there is nothing to run.

The first plane is made at w = 0, where ``J(0) = R(0)``. With ``b >= R(0) - slack`` it bounds the optimum by ``b -
|a|^2 / (2 alpha)``, so w = 0 is optimal within tol for every alpha of at least

    |a|^2 / (2 (tol - slack)).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..certificate import Bundle, Planes
from ..design import Design
from ..measures import Risk
from ..objective import RegularizedRisk
from ..simplex_qp import maximise_on_simplex
from ..solvers import Callback, Solver, Status

Array = NDArray[np.float64]

#: Memory for the planes that are handed on, in bytes; but between 5 and 20 planes.
PLANE_MEMORY = 1 << 27
#: Smoothing of the first plane, as a share of tol and at most: at w = 0 it usually costs nothing, and of all planes
#: that touch there it picks the most even one.
FIRST_SLACK = 0.5, 0.03
#: The search for the best multiple ends when what is left to gain is below this share of tol.
ACCURACY = 0.05
#: Most evaluations of the risk in that search.
MAX_TRIALS = 4


@dataclass(frozen=True)
class Solution:
    """The outcome for one alpha."""

    alpha: float
    coef: Array
    scores: Array
    objective: float
    lower_bound: float
    n_passes: int
    seconds: float
    status: Status

    @property
    def gap(self) -> float:
        """``objective - lower_bound``."""
        return self.objective - self.lower_bound


class Continuation:
    """Minimises J for one alpha after another, each smaller than the one before.

    Parameters
    ----------
    design, risk : Design and Risk
        The data.
    solver : Solver
        What to run where the certificate of the neighbour does not do.

    Attributes
    ----------
    n_passes : int
        Products with X and its transpose that the first plane took.
    """

    def __init__(self, design: Design, risk: Risk, solver: Solver):
        self._design = design
        self._risk = risk
        self._solver = solver
        share, most = FIRST_SLACK
        zero = np.zeros(risk.n_examples)
        first = risk.smoothed(zero, min(share * solver.tol, most) / risk.diameter)
        slope = design.rmatvec(first.gradient)
        self._first_slack = max(0.0, risk.exact_value(zero) - first.offset)
        self._first_squared_norm = float(slope @ slope)
        bundle = Bundle(design, 1.0, max_planes=2, tolerance=1.0)
        bundle.add(slope, first.offset, rounding=first.rounding, gradient_norm=float(np.linalg.norm(first.gradient)))
        self._planes: Planes = bundle.heaviest(1)
        # w = multiple * coef, f = multiple * scores; at large alphas w is -slope/alpha.
        self._coef = -slope
        self._scores = design.matvec(self._coef)
        self._multiple = 0.0
        self._alpha = np.inf
        self.n_passes = 2

    def largest_alpha(self, tolerance: float) -> float:
        """Smallest alpha for which the first plane shows w = 0 to be optimal within a tolerance, or tol if larger.

        1 if the first slope is zero: then w = 0 is optimal for every alpha.
        """
        return self._first_squared_norm / (2.0 * (max(tolerance, self._solver.tol) - self._first_slack)) or 1.0

    def solve(self, alpha: float, callback: Callback | None = None) -> Solution:
        """Minimise J for an alpha below the one before."""
        begin = time.perf_counter()
        multiple, value = self._best_multiple(alpha)
        bound = self._bound(alpha, value, multiple)
        self._alpha, self._multiple = alpha, multiple
        if value - bound <= self._solver.tol:
            coef, scores, n_passes, status = multiple * self._coef, multiple * self._scores, 0, Status.CONVERGED
        else:
            d = self._design.shape[1]
            result = self._solver.run(
                RegularizedRisk(self._design, self._risk, alpha),
                multiple * self._coef,
                callback,
                planes=self._planes,
                keep_planes=int(np.clip(PLANE_MEMORY // (8 * d), 5, 20)),
            )
            assert result.scores is not None
            assert result.planes is not None
            coef, scores, value, bound, status = (
                result.coef,
                result.scores,
                result.objective,
                result.lower_bound,
                result.status,
            )
            n_passes = result.n_matvec + result.n_rmatvec
            self._coef, self._scores, self._planes, self._multiple = coef, scores, result.planes, 1.0
        return Solution(alpha, coef, scores, value, bound, n_passes, time.perf_counter() - begin, status)

    def _best_multiple(self, alpha: float) -> tuple[float, float]:
        """Return t that about minimises ``J(t w)``, and that minimum.

        The derivative is ``alpha t |w|^2 + R'(t)``. By the optimality of the last multiple T, ``R'(T)`` is about
        ``-alpha_old T |w|^2``; as R' increases, the minimiser lies between T and ``T alpha_old / alpha``. Secants on
        R' close in on it.
        """
        squared_norm = float(self._coef @ self._coef)
        if np.isinf(self._alpha):
            low, low_slope, high = 0.0, -squared_norm, 1.0 / alpha
        else:
            low, high = self._multiple, self._multiple * self._alpha / alpha
            low_slope = -self._alpha * self._multiple * squared_norm
        best, best_value = 0.0, np.inf
        trial = high
        high_slope = np.nan
        for _ in range(MAX_TRIALS):
            risk = self._risk.exact(trial * self._scores)
            value = alpha / 2.0 * trial**2 * squared_norm + risk.value
            slope = float(risk.gradient @ self._scores)
            if value < best_value:
                best, best_value = trial, value
            derivative = alpha * trial * squared_norm + slope
            if abs(derivative) * (high - low) <= ACCURACY * self._solver.tol:
                break
            if derivative > 0.0:
                high, high_slope = trial, slope
            else:
                low, low_slope = trial, slope
            curvature = (high_slope - low_slope) / (high - low)
            trial = low - (alpha * low * squared_norm + low_slope) / (alpha * squared_norm + curvature)
            if not low < trial < high:
                break
        return best, best_value

    def _bound(self, alpha: float, value: float, multiple: float) -> float:
        """The bound of the planes for a new alpha; minus infinity if it cannot certify ``value`` within tol."""
        planes = self._planes
        hessian = planes.gram / alpha
        weights = maximise_on_simplex(hessian, planes.offsets, planes.weights, tolerance=1e-3 * self._solver.tol)
        # First without rounding, which needs no products of length d.
        if value - float(weights @ planes.offsets - weights @ hessian @ weights / 2.0) > self._solver.tol:
            return -np.inf
        return planes.lower_bound(self._design, alpha, value, multiple * float(np.linalg.norm(self._coef)))
