"""From one alpha to the next smaller one: what a solution says about its neighbour, so that little is left to do.

Of a convex risk (:class:`ConvexPath`) carry over, without a pass over the data,

* planes, which hold for every alpha and penalty (:mod:`.certificate`), so that the bound at a new alpha is
  known at once; where it certifies the weights so far within tol, there is nothing to run;
* the weights, to start from;
* the curvature of the risk: L-BFGS knows it from the start, which saves a fifth of the passes where features are few,
  and next to none for text.

With the quadratic penalty (:class:`QuadraticPath`) more is known. The scores of any multiple ``t w`` of the last
weights w are ``t f``, and the best multiple is found in score space. Where the risk is still linear it is ``alpha_old /
alpha_new`` and the new solution; else it is a good start. The first plane is made at w = 0, where ``J(0) = R(0)``. With
``b >= R(0) - slack`` it bounds the optimum by ``b - |a|^2 / (2 alpha)``, so w = 0 is optimal within tol for every alpha
of at least

    |a|^2 / (2 (tol - slack)).

With other penalties (:class:`PenalisedPath`) a path starts where no feature that pays for absolute values has a weight
yet (:mod:`smoothperf.optimise.first_alpha`).

Of a tight bound (:class:`TightPath`) planes and curvature hold for a single step. What carries over are the weights.
Each alpha has two starts: the minimiser of a convex risk that does not collapse, which has a path of its own, and the
weights at the alpha before. The best multiple of each is looked for in score space.

The weights before are in a valley that was deep where weights had to be small. Often they begin lower than the convex
minimiser and end higher. So a path runs from the latter, and once more from the weights before if these, as they are,
are better than what was found. Then objectives never rise as alphas fall. (Measured by benchmarks/tight_path.py on five
data sets and measures: objectives are lower than those of separate fits by 0.0015 on average, with 0.89 of the passes.
With the lower of both starts alone, on the sets that this was picked on, they are higher by 0.0066 with 0.6 of the
passes.) The automatic choice, where rows held out decide, follows the lower start alone.

A path begins where the convex risk has no weights yet, or next to none: at its largest alpha, in the strength that
suits the scores of the tight one (:func:`relative_strength`). There w = 0 is about as good as what is found. That is a
place to begin, not a statement on a global minimum.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._arrays import Array
from ..design import Design
from ..kernels import maximise_on_simplex
from ..measures import Risk
from ..threads import one_blas_thread
from .base import ConvexSolver, Solver, planes_to_keep
from .certificate import Bundle, Planes
from .elastic_net import Separable
from .first_alpha import FirstAlpha, where_they_vanish
from .known_scores import StartingWithScores
from .monitor import Callback
from .objective import RegularizedRisk
from .offset import with_offset
from .penalties import Penalty, Quadratic
from .result import CurvaturePairs, Result, Start, Status, TraceRow
from .retargeting import Retargeting, value_of_start
from .smoothing import mu_for
from .weight_space import WeightSpace, smaller_space

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
#: Below this l1_ratio weights come in so slowly that a path would begin with many alphas at which nothing happens.
LEAST_RATIO = 1e-3


@dataclass(frozen=True)
class Solution:
    """The outcome for one alpha; as in :class:`~smoothperf.optimise.Result`, bound and gap are NaN for tight risks."""

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


class ConvexPath(ABC):
    """Minimises J for one alpha after another, each smaller than the one before.

    Parameters
    ----------
    design, risk : Design and Risk
        The data.
    solver : Solver
        The run where the planes so far do not certify what is known.
    offset : ndarray of shape (n,), optional
        Offset of the scores.
    """

    def __init__(self, design: Design, risk: Risk, solver: Solver, offset: Array | None = None):
        self._design, self._solver = design, solver
        self._risk = risk if offset is None else with_offset(risk, offset)
        self._solutions: dict[float, Solution] = {}  # those that several ask for
        self._planes: Planes | None = None
        self._pairs: CurvaturePairs | None = None
        # What it took to find where to begin; charged to the first solution.
        self._spent_passes, self._spent_seconds = 0, 0.0

    def first_alpha(self) -> float | None:
        """The alpha at which the first weight that pays for an absolute value comes in; None if none pays."""
        return None

    @abstractmethod
    def largest_alpha(self, tolerance: float) -> float:
        """Smallest alpha for which a plane shows that no feature helps within a tolerance, or tol if larger.

        1 if none helps at all.
        """

    def begin(self, tolerance: float) -> float:
        """The first alpha of a path: that of the first weight, or the largest."""
        first = self.first_alpha()
        return self.largest_alpha(tolerance) if first is None else first

    @abstractmethod
    def start(self, alpha: float) -> Array:
        """Weights to start from at an alpha; costs no pass over the data."""

    def at(self, alpha: float, callback: Callback | None = None) -> Solution:
        """The minimiser for an alpha, kept for whoever asks next; the callback watches if it has yet to be found."""
        if alpha not in self._solutions:
            self._solutions[alpha] = self.solve(alpha, callback)
        return self._solutions[alpha]

    def solve(self, alpha: float, callback: Callback | None = None) -> Solution:
        """Minimise J for an alpha below the one before."""
        # Around all of it, not only runs of the solver: what comes before has products of scores, too.
        with one_blas_thread(unless=self._design.wants_blas_threads):
            return self._solve(alpha, callback)

    def _solve(self, alpha: float, callback: Callback | None) -> Solution:
        begin = time.perf_counter() - self._spent_seconds
        n_passes = self._spent_passes
        self._spent_passes, self._spent_seconds = 0, 0.0
        coef, scores, value, bound = self._known(alpha)
        status = Status.CONVERGED
        if value - bound > self._solver.tol:
            result = self._solver.run(
                StartingWithScores(self._design, self._risk, self._penalty_at(alpha), coef, scores),
                Start(coef, self._planes, pairs=self._pairs),
                callback,
                keep_planes=planes_to_keep(coef.size),
            )
            assert result.scores is not None
            self._planes, self._pairs = result.planes, result.pairs
            self._go_on_from(alpha, result, result.scores)
            coef, scores, value, bound = result.coef, result.scores, result.objective, result.lower_bound
            n_passes += result.n_matvec + result.n_rmatvec
            status = result.status
        return Solution(alpha, coef, scores, value, bound, n_passes, time.perf_counter() - begin, status)

    def _planes_bound(self, penalty: float | Penalty, value: float, coef_norm: float) -> float:
        """The certified bound of the planes, of which only the first member of a group has all."""
        assert self._planes is not None
        examples = self._risk.examples
        n_rows = None if examples.alone else examples.count
        return self._planes.lower_bound(self._design, penalty, value, coef_norm, n_rows)

    @abstractmethod
    def _penalty_at(self, alpha: float) -> Penalty:
        """The penalty in a strength."""

    @abstractmethod
    def _known(self, alpha: float) -> tuple[Array, Array, float, float]:
        """Weights that are known, their scores, J there for a new alpha, and a bound; -inf if that is of no use."""

    @abstractmethod
    def _go_on_from(self, alpha: float, result: Result, scores: Array) -> None:
        """Take note of a new solution."""


class QuadraticPath(ConvexPath):
    """:class:`ConvexPath` for the quadratic penalty."""

    def __init__(self, design: Design, risk: Risk, solver: Solver, offset: Array | None = None):
        begin = time.perf_counter()
        super().__init__(design, risk, solver, offset)
        risk = self._risk
        share, most = FIRST_SLACK
        zero = np.zeros(design.shape[0])
        first = risk.smoothed(zero, mu_for(min(share * solver.tol, most), risk))
        plane = first.plane
        slope = design.rmatvec(plane.gradient)
        at_zero = risk.exact_value(zero)
        self._first_slack = max(0.0, at_zero - plane.offset)
        slope_scores = design.matvec(slope)
        alone, n_rows = risk.examples.alone, risk.examples.count
        space = smaller_space(design, design.shape, design.frobenius_norm) if alone else WeightSpace(design, slope.size)
        bundle = Bundle(design, 1.0, max_planes=2, tolerance=1.0, space=space, n_rows=n_rows)
        bundle.add(
            space.vector_of(plane.gradient, slope, slope_scores),
            plane.offset,
            rounding=plane.rounding,
            gradient_norm=math.sqrt(risk.examples.total(float(plane.gradient @ plane.gradient))[0]),
        )
        bundle.solve()
        self._planes = planes = bundle.heaviest(1)
        # At large alphas the solution is -slope/alpha, a multiple of this ray; R falls along it by |slope|^2.
        (squared_norm,) = risk.examples.agreed(float(slope @ slope))
        self._first_squared_norm = squared_norm
        self._first_rounding = float(planes.per_radius[0])
        self._ray = _Ray(-slope, -slope_scores, squared_norm)
        self._place = _Place(0.0, at_zero, -squared_norm)
        # Of the first plane, and of the scores of its slope.
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

    def _penalty_at(self, alpha: float) -> Penalty:
        return Quadratic(alpha)

    def _known(self, alpha: float) -> tuple[Array, Array, float, float]:
        self._place = self._best_place(alpha)
        multiple = self._place.multiple
        coef, scores = multiple * self._ray.coef, multiple * self._ray.scores
        value = self._place.objective(alpha, self._ray)
        # Members of a group decide by the bound of the first, who has the planes.
        examples = self._risk.examples
        (bound,) = examples.agreed(self._bound(alpha, value) if examples.leads else -math.inf)
        if value - bound <= self._solver.tol:
            value += self._risk.exact_value(scores) - self._place.risk
        return coef, scores, value, bound

    def _go_on_from(self, alpha: float, result: Result, scores: Array) -> None:
        (squared_norm,) = self._risk.examples.agreed(float(result.coef @ result.coef))
        self._ray = _Ray(result.coef, scores, squared_norm)
        # At the minimum of J the derivative of R along w is -alpha |w|^2.
        self._place = _Place(1.0, result.objective - alpha / 2.0 * squared_norm, -alpha * squared_norm)

    def _best_place(self, alpha: float) -> _Place:
        """About the best multiple for a new alpha; never worse than the last one, T.

        The derivative of J is ``alpha t |w|^2 + R'(t)``. As R' increases, its zero lies between T and ``-R'(T) /
        (alpha |w|^2)``. Secants on R' close in on it. R is not negative, so its tangent at T gives no bound beyond the
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
            examples = self._risk.examples
            (slope,) = examples.total(float(smoothed.plane.gradient @ ray.scores))
            (ceiling,) = examples.agreed(ceiling)
            place = _Place(trial, ceiling, slope)
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
        assert planes is not None
        weights: Array = maximise_on_simplex(
            planes.gram, 1.0 / alpha, planes.offsets, planes.weights, tolerance=1e-3 * self._solver.tol
        )
        # First without rounding, which needs no products of length d.
        if value - float(weights @ planes.offsets - weights @ planes.gram @ weights / (2.0 * alpha)) > self._solver.tol:
            return -np.inf
        coef_norm = self._place.multiple * float(np.sqrt(self._ray.squared_norm))
        return self._planes_bound(alpha, value, coef_norm)


class PenalisedPath(ConvexPath):
    """:class:`ConvexPath` for penalties that are not quadratic.

    Parameters
    ----------
    design, risk, solver, offset
        As there.
    penalty : Penalty
        The penalty, in any strength.
    """

    def __init__(self, design: Design, risk: Risk, solver: Solver, penalty: Penalty, offset: Array | None = None):
        super().__init__(design, risk, solver, offset)
        bound = penalty.on(design.shape[1])
        assert not bound.is_quadratic
        self._penalty = bound
        self._coef = np.zeros(design.shape[1])
        self._scores = np.zeros(design.shape[0])
        self._first = math.nan, -math.inf  # an alpha, and a bound that is known for it

    def first_alpha(self) -> float | None:
        """The alpha at which the first weight that pays for an absolute value comes in; to begin the path there.

        None if none pays, or next to nothing. See :class:`FirstAlpha` for how exact it is.
        """
        penalty = self._penalty
        paying = penalty.l1 > 0.0
        if not paying.any() or (penalty.l1 < LEAST_RATIO * (penalty.l1 + penalty.l2))[paying].any():
            return None
        begin = time.perf_counter()
        first = FirstAlpha(self._design, self._risk, self._solver, penalty)
        found = first.find()
        self._coef, self._scores, self._planes = first.null.coef, first.null.scores, first.planes
        self._first = found, first.bound
        self._spent_passes += first.passes
        self._spent_seconds += time.perf_counter() - begin
        return found

    def largest_alpha(self, tolerance: float) -> float:
        """Smallest alpha for which the plane of no features shows them to be none within a tolerance, or tol if larger.

        1 if no feature helps at all.
        """
        begin = time.perf_counter()
        tolerance = (1.0 - MARGIN) * max(tolerance, self._solver.tol)
        penalty, scores = self._penalty, self._scores
        paying = penalty.l1 > 0.0
        slope, slack = self._plane(scores)
        if paying.any() and not paying.all():
            # The others may have weights of their own before any of these has one. Their strength is about what the
            # largest alpha will be.
            first = FirstAlpha(self._design, self._risk, self._solver, penalty)
            null = first.null_model(where_they_vanish(penalty, slope) or 1.0)
            self._spent_passes += first.passes
            slope, slack = self._plane(null.scores)
        counted = paying if paying.any() else np.ones_like(paying)
        some = penalty.some(np.flatnonzero(counted))
        left = max(tolerance - slack, 0.5 * tolerance)
        found = _smallest_alpha(some, -slope[counted], self._risk.exact_value(scores), left)
        self._spent_seconds += time.perf_counter() - begin
        return found

    def start(self, alpha: float) -> Array:
        """Weights to start from at an alpha: those of the last one."""
        return self._coef

    def _penalty_at(self, alpha: float) -> Separable:
        return self._penalty.with_alpha(alpha)

    def _known(self, alpha: float) -> tuple[Array, Array, float, float]:
        penalty = self._penalty_at(alpha)
        square = float(self._coef @ self._coef)
        value = penalty.value(self._coef, square) + self._risk.exact_value(self._scores)
        first, bound = self._first
        if alpha != first:
            bound = -math.inf
        if value - bound > self._solver.tol and self._planes is not None:
            bound = self._planes_bound(penalty, value, math.sqrt(square))
        value, bound = self._risk.examples.agreed(value, bound)
        return self._coef, self._scores, value, bound

    def _go_on_from(self, alpha: float, result: Result, scores: Array) -> None:
        self._coef, self._scores = result.coef, scores

    def _plane(self, scores: Array) -> tuple[Array, float]:
        """The slope of a plane at some scores, and how far it is below the risk there."""
        share, most = FIRST_SLACK
        smoothed = self._risk.smoothed(scores, mu_for(min(share * self._solver.tol, most), self._risk))
        self._spent_passes += 1
        below = max(0.0, self._risk.exact_value(scores) - smoothed.height)
        return self._design.rmatvec(smoothed.plane.gradient), below


def convex_path(
    design: Design, risk: Risk, solver: Solver, penalty: Penalty | None = None, offset: Array | None = None
) -> ConvexPath:
    """Return what follows falling alphas for a penalty, whose own alpha does not matter; by default the quadratic."""
    if penalty is None or penalty.is_quadratic:
        return QuadraticPath(design, risk, solver, offset)
    return PenalisedPath(design, risk, solver, penalty, offset)


class TightPath:
    """Stationary points of ``J_tight`` for one alpha after another, each smaller than the one before.

    Parameters
    ----------
    design, risk : Design and Risk
        The data.
    solver : ConvexSolver
        The solver of the convex steps, which says what tolerance they have.
    penalty : Penalty or None
        Of the weights, in any strength; quadratic if None.
    convex : ConvexPath
        Path of a risk that does not collapse, whose minimisers all who start from them on the same rows share.
    weights : callable, optional
        Makes weights of this design from a solution of ``convex``; those themselves by default.
    offset : ndarray of shape (n,), optional
        Offset of the scores.
    strength : float, default=1.0
        Alpha of the start, as a multiple of the alpha here.
    thorough : bool, default=True
        Whether both starts may be followed, or the lower one alone.
    """

    def __init__(
        self,
        design: Design,
        risk: Risk,
        solver: ConvexSolver,
        penalty: Penalty | None,
        convex: ConvexPath,
        weights: Callable[[Solution], Array] | None = None,
        *,
        offset: Array | None = None,
        strength: float = 1.0,
        thorough: bool = True,
    ):
        self._design, self._risk, self._solver, self._offset = design, risk, solver, offset
        self._penalty = Quadratic(1.0) if penalty is None else penalty
        self._convex = convex
        self._weights_of = weights or (lambda solution: solution.coef)
        self._strength = strength
        self._thorough = thorough
        self._last: Solution | None = None

    def begin(self, tolerance: float) -> float:
        """The first alpha of a path: that of the convex risk, which may be where the first feature comes in."""
        return self._convex.begin(tolerance) / relative_strength(self._risk, self._penalty)

    def solve(self, alpha: float, callback: Callback | None = None) -> Solution:
        """Find a stationary point for an alpha, no larger than the one before. Passes for its start count."""
        begin = time.perf_counter()
        convex = self._convex.at(alpha * self._strength, callback)

        def look(row: TraceRow) -> bool | None:
            # Whoever has stopped the run for the start stops this one, too.
            stop = None if callback is None else callback(row)
            return stop or convex.status is Status.STOPPED

        first = self._start(alpha, self._weights_of(convex), convex)
        last = None if self._last is None else self._start(alpha, self._last.coef, self._last)
        starts = [first] if last is None else [first, last]
        if not self._thorough:
            first, last = min(starts, key=_PathStart.value), None
        result = first.run(self._solver, look)
        if last is not None and result.status is not Status.STOPPED and last.value() < result.objective:
            result = min(result, last.run(self._solver, look), key=lambda each: each.objective)
        assert result.scores is not None
        self._last = Solution(
            alpha,
            result.coef,
            result.scores,
            result.objective,
            result.lower_bound,
            convex.n_passes + sum(start.objective.n_matvec + start.objective.n_rmatvec for start in starts),
            time.perf_counter() - begin,
            result.status,
            result.stationarity_gap,
        )
        return self._last

    def _start(self, alpha: float, coef: Array, known: Solution) -> _PathStart:
        """Weights to start from; their scores are those of a solution if its weights are the same."""
        penalty = self._penalty.with_alpha(alpha)
        objective = StartingWithScores(self._design, self._risk, penalty, known.coef, known.scores, offset=self._offset)
        return _PathStart(coef, objective)


def relative_strength(risk: Risk, penalty: Penalty) -> float:
    """The factor of alpha for a risk whose scores are about 1, with weights that count as much.

    For scores that are s times as large it is ``s^2``, as squares are; with absolute values, which decide what features
    come in, it is s.
    """
    return risk.score_scale if penalty.has_absolute_values else risk.score_scale**2


@dataclass(frozen=True)
class _PathStart:
    """Weights to start from, and the objective that counts the products of a run from there."""

    coef: Array
    objective: RegularizedRisk

    def value(self) -> float:
        """``J_tight`` at the best multiple."""
        return value_of_start(self.objective, self.coef)

    def run(self, solver: ConvexSolver, callback: Callback) -> Result:
        """Minimise from here."""
        return Retargeting.with_steps_of(solver).run(self.objective, self.coef, callback)


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


def _smallest_alpha(penalty: Separable, v: Array, ceiling: float, tolerance: float) -> float:
    """Smallest alpha whose ``Omega*(v)`` is within a tolerance, by bisection: it falls as alpha grows."""

    def within(alpha: float) -> bool:
        value, excess = penalty.with_alpha(alpha).conjugate(v, ceiling)
        return value + excess * ceiling <= tolerance

    if not v.any() or within(1e-300):
        return 1.0
    low, high = 1e-300, 1e300
    while high > 1.0001 * low:
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (low, middle) if within(middle) else (middle, high)
    return high
