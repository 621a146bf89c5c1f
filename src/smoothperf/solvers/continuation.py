"""From one alpha to the next smaller one: what a solution says about its neighbour, so that little is left to do.

Four things carry over, none of which needs a pass over the data.

* Planes hold for every alpha (:mod:`smoothperf.certificate`), so the bound at a new alpha is known at once.
* So are the scores of any multiple ``t w`` of the last weights w: ``t f``. The best multiple is found in score space.
  Where the risk is still linear it is ``alpha_old / alpha_new`` and the new solution; else it is a good start.
* If the planes certify that multiple within tol, there is nothing to run.
* The curvature of the risk does not depend on alpha: L-BFGS knows it from the start, which saves a fifth of the passes
  where features are few, and next to none for text.

The first plane is made at w = 0, where ``J(0) = R(0)``. With ``b >= R(0) - slack`` it bounds the optimum by ``b -
|a|^2 / (2 alpha)``, so w = 0 is optimal within tol for every alpha of at least

    |a|^2 / (2 (tol - slack)).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..certificate import Bundle, Planes
from ..design import Design
from ..kernels import maximise_on_simplex
from ..measures import Risk
from ..objective import StartingWithScores
from ..row_space import smaller_space
from ..shifted import Shifted
from ..threads import one_blas_thread
from .base import Solver
from .monitor import Callback
from .result import Pairs, Result, Start, Status
from .smoothing import mu_for

Array = NDArray[np.float64]

#: Memory for the planes that are handed on, in bytes, and how many they are at least and at most: more were seen to
#: save no passes.
PLANE_MEMORY = 1 << 27
FEWEST_AND_MOST_PLANES = 5, 20
#: Smoothing of the first plane, as a share of tol and at most: at w = 0 it usually costs nothing, and of all planes
#: that touch there it picks the most even one.
FIRST_SLACK = 0.5, 0.03
#: Share of the tolerance that is left for rounding at the largest alpha.
MARGIN = 1e-3
#: The search for the best multiple ends when what is left to gain is below this share of tol.
ACCURACY = 0.2
#: Most evaluations of the risk in that search.
MAX_TRIALS = 3
#: Smoothing in that search, as a multiple of tol: enough for a cheap evaluation, little enough not to be misled.
SEARCH_SMOOTHING = 10.0


@dataclass(frozen=True)
class Solution:
    """The outcome for one alpha; as in :class:`~smoothperf.solvers.Result`, bound and gap are NaN for tight risks."""

    alpha: float
    coef: Array
    scores: Array
    objective: float
    lower_bound: float
    n_passes: int
    seconds: float
    status: Status
    stationarity_gap: float = math.nan

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
        What to run where the planes so far do not certify the best multiple.
    offset : ndarray of shape (n,), optional
        Scores to begin with.
    """

    def __init__(self, design: Design, risk: Risk, solver: Solver, offset: Array | None = None):
        begin = time.perf_counter()
        self._design = design
        self._risk = risk = risk if offset is None else Shifted(risk, offset)
        self._solver = solver
        share, most = FIRST_SLACK
        zero = np.zeros(design.shape[0])
        first = risk.smoothed(zero, mu_for(min(share * solver.tol, most), risk))
        plane = first.plane
        slope = design.rmatvec(plane.gradient)
        at_zero = risk.exact_value(zero)
        self._first_slack = max(0.0, at_zero - plane.offset)
        slope_scores = design.matvec(slope)
        space = smaller_space(design, design.shape, design.frobenius_norm)
        bundle = Bundle(design, 1.0, max_planes=2, tolerance=1.0, space=space)
        bundle.add(
            space.vector_of(plane.gradient, slope, slope_scores),
            plane.offset,
            rounding=plane.rounding,
            gradient_norm=float(np.linalg.norm(plane.gradient)),
        )
        bundle.solve()
        self._planes: Planes = bundle.heaviest(1)
        self._pairs: Pairs | None = None
        # At large alphas the solution is -slope/alpha, a multiple of this ray; R falls along it by |slope|^2.
        squared_norm = float(slope @ slope)
        self._first_squared_norm = squared_norm
        self._first_rounding = float(self._planes.per_radius[0])
        self._ray = _Ray(-slope, -slope_scores, squared_norm)
        self._place = _Place(0.0, at_zero, -squared_norm)
        # Cost of the first plane and of the scores of its slope; charged to the first solution.
        self._spent_passes, self._spent_seconds = 2, time.perf_counter() - begin

    def largest_alpha(self, tolerance: float) -> float:
        """Smallest alpha for which the first plane shows w = 0 to be optimal within a tolerance, or tol if larger.

        1 if the first slope is zero, or may be but for rounding: then w = 0 is optimal for every alpha.
        """
        if self._first_squared_norm <= self._first_rounding**2:
            return 1.0
        reached = (1.0 - MARGIN) * max(tolerance, self._solver.tol) - self._first_slack
        return self._first_squared_norm / (2.0 * reached)

    def start(self, alpha: float) -> Array:
        """Weights to start from at an alpha, the best multiple of the last solution; costs no pass over the data."""
        return self._best_place(alpha).multiple * self._ray.coef

    def solve(self, alpha: float, callback: Callback | None = None) -> Solution:
        """Minimise J for an alpha below the one before."""
        # Around all of it, not only runs of the solver: the search along the ray has products of scores, too.
        with one_blas_thread(unless=self._design.wants_blas_threads):
            return self._solve(alpha, callback)

    def _solve(self, alpha: float, callback: Callback | None) -> Solution:
        begin = time.perf_counter() - self._spent_seconds
        n_passes = self._spent_passes
        self._spent_passes, self._spent_seconds = 0, 0.0
        self._place = self._best_place(alpha)
        multiple = self._place.multiple
        coef, scores = multiple * self._ray.coef, multiple * self._ray.scores
        value = self._place.objective(alpha, self._ray)
        bound = self._bound(alpha, value)
        if value - bound <= self._solver.tol:
            value += self._risk.exact_value(scores) - self._place.risk
        status = Status.CONVERGED
        if value - bound > self._solver.tol:
            result = self._run(alpha, coef, scores, callback)
            assert result.scores is not None
            coef, scores, value, bound = result.coef, result.scores, result.objective, result.lower_bound
            n_passes += result.n_matvec + result.n_rmatvec
            status = result.status
        return Solution(alpha, coef, scores, value, bound, n_passes, time.perf_counter() - begin, status)

    def _run(self, alpha: float, coef: Array, scores: Array, callback: Callback | None) -> Result:
        """Run the solver from weights whose scores are known, and go on from its solution."""
        result = self._solver.run(
            StartingWithScores(self._design, self._risk, alpha, coef, scores),
            Start(coef, self._planes, pairs=self._pairs),
            callback,
            keep_planes=planes_to_keep(coef.size),
        )
        assert result.scores is not None
        assert result.planes is not None
        self._planes, self._pairs = result.planes, result.pairs
        squared_norm = float(result.coef @ result.coef)
        self._ray = _Ray(result.coef, result.scores, squared_norm)
        # At the minimum of J the derivative of R along w is -alpha |w|^2.
        self._place = _Place(1.0, result.objective - alpha / 2.0 * squared_norm, -alpha * squared_norm)
        return result

    def _best_place(self, alpha: float) -> _Place:
        """About the best multiple for a new alpha; never worse than the last one, T.

        The derivative of J is ``alpha t |w|^2 + R'(t)``. As R' increases, its zero lies between T and ``-R'(T) /
        (alpha |w|^2)``. Secants on R' close in on it. R is not negative, so its tangent at T tells nothing beyond the
        t where it is zero; there the search begins.
        """
        ray, best = self._ray, self._place
        if ray.squared_norm == 0.0 or best.slope >= 0.0:
            return best
        low, low_slope = best.multiple, best.slope
        high, high_slope = -best.slope / (alpha * ray.squared_norm), None
        trial = min(high, low - best.risk / best.slope)
        mu = mu_for(SEARCH_SMOOTHING * self._solver.tol, self._risk)
        for _ in range(MAX_TRIALS):
            scores = trial * ray.scores
            smoothed = self._risk.smoothed(scores, mu)
            ceiling = self._risk.exact_value(scores) if smoothed.exact is None else smoothed.exact.high
            place = _Place(trial, ceiling, float(smoothed.plane.gradient @ ray.scores))
            if place.objective(alpha, ray) < best.objective(alpha, ray):
                best = place
            derivative = alpha * trial * ray.squared_norm + place.slope
            if abs(derivative) * (high - low) <= ACCURACY * self._solver.tol:
                break
            if derivative > 0.0:
                high, high_slope = trial, place.slope
            else:
                low, low_slope = trial, place.slope
            if not low < high:
                break
            if high_slope is None:
                trial = high
            else:
                curvature = (high_slope - low_slope) / (high - low)
                trial = low - (alpha * low * ray.squared_norm + low_slope) / (alpha * ray.squared_norm + curvature)
            if not low < trial <= high:
                break
        return best

    def _bound(self, alpha: float, value: float) -> float:
        """The bound of the planes for a new alpha; minus infinity if it cannot certify ``value`` within tol."""
        planes = self._planes
        weights = maximise_on_simplex(
            planes.gram, 1.0 / alpha, planes.offsets, planes.weights, tolerance=1e-3 * self._solver.tol
        )
        # First without rounding, which needs no products of length d.
        if value - float(weights @ planes.offsets - weights @ planes.gram @ weights / (2.0 * alpha)) > self._solver.tol:
            return -np.inf
        coef_norm = self._place.multiple * float(np.sqrt(self._ray.squared_norm))
        return planes.lower_bound(self._design, alpha, value, coef_norm)


@dataclass(frozen=True, slots=True)
class _Ray:
    """Multiples of some weights, whose scores are known."""

    coef: Array
    scores: Array
    squared_norm: float


@dataclass(frozen=True, slots=True)
class _Place:
    """A multiple t on the ray, with R, or a close upper bound of it, and its derivative by t."""

    multiple: float
    risk: float
    slope: float

    def objective(self, alpha: float, ray: _Ray) -> float:
        return alpha / 2.0 * self.multiple**2 * ray.squared_norm + self.risk


def planes_to_keep(n_features: int) -> int:
    """How many planes are handed on."""
    return int(np.clip(PLANE_MEMORY // (8 * n_features), *FEWEST_AND_MOST_PLANES))
