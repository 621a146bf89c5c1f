"""The tight bound: a difference of convex functions, minimised by convex steps with ever better targets.

A risk is ``R(f) = max_z [Delta(z) + <z - t, f>]`` over labelings z, with a target t. Its *loss-free twin*
``R0(f) = max_z <z - t, f>`` is attained by the labeling ``z*(f)`` that the scores choose themselves. The tight risk is

    R_tight(f) = R(f) - R0(f),        Delta(z*(f)) <= R_tight(f) <= max Delta                          (tight-risk)

so it bounds the loss as R does, but does not grow without limit, and w = 0, where it is max Delta, is no minimum as
soon as some direction ranks better than chance. For any labeling z_t, ``R0(f) >= <z_t - t, f>``, hence

    R_tight(f) <= R(f) - <z_t - t, f> = max_z [Delta(z) + <z - z_t, f>]                                   (retargeted)

with equality where ``z_t = z*(f)``: the convex risk with z_t as its target. A step chooses ``z_t = z*(X w_t)`` and
minimises ``(alpha/2) |w|^2`` plus that, with any solver and its certificate; it never increases

    J_tight(w) = (alpha/2) |w|^2 + R_tight(X w).                                                     (tight-objective)

With L_t the certified bound of a step, ``J_tight(w_t) - L_t`` is what the step can gain at most. When that is within
the tolerance, w_t is *stationary to tol*: a local statement, not one about the global minimum. The first step starts at
the best multiple of the weights that are given, and the others start beyond the end of the step before, on the same
line, as far as that lowers ``J_tight`` (Aragón Artacho, Fleming and Vuong, 2018). Both are found in score space.

Where the bound asks for more than the data have, steps end at ``w = 0``, or no lower than there. A risk that knows of a
closer bound (:meth:`~smoothperf.measures.risk.Risk.closer_bound`) is then trained with that one, from the same start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from .._arrays import Array
from ..measures.curvature import Curvature
from ..measures.risk import EPS, Interval, Plane, Risk, RiskValue
from .base import ConvexSolver, Solver
from .certificate import evaluation_rounding
from .joined_runs import FollowingRun, JoinedRuns
from .known_scores import StartingWithScores
from .lbfgs import LBFGS
from .monitor import Callback, Observer
from .objective import RegularizedRisk
from .result import Result, Start, Status, TraceRow

#: A step ends once it has gained this share of the most that it can gain.
ENOUGH = 0.5
#: Tolerance of a step, as a share of that of the whole: the other part is for what the step gains.
SHARE = 0.5
#: Iterations after which a step ends, while steps still gain more than the tolerance. (Measured by benchmarks/tight.py:
#: with 8 or 16 F1 and PRBEP take 10 to 20% more passes, to objectives that are as good.)
SHORT = 4
#: Lengths tried beyond a step, in steps. (Measured by benchmarks/tight.py, in passes of ROC area: partial ROC area
#: 6.3 without it and 3.9 with it, F1 6.6 and 4.7, at lower objectives.)
STEPS = [2.0**power for power in range(6)]
#: Multiples of the start that are tried; then half and twice the best of them.
SCALES = [4.0**power for power in range(-6, 11)]


class Retargeted(Risk):
    """``R(f) - <g, f> - h`` with a fixed plane (g, h): the risk (retargeted) for ``g = z_t - t``.

    h is 0, unless scores begin at an offset.

    Parameters
    ----------
    risk : Risk
        R.
    labeling : RiskValue
        ``R.loss_free`` at the scores that choose the target.
    n_features : int
        Columns of X, for the rounding of scores.
    """

    def __init__(self, risk: Risk, labeling: RiskValue, n_features: int):
        super().__init__(risk.examples)
        self._risk = risk
        self._linear, self._constant = labeling.plane.gradient, labeling.plane.offset
        self.diameter = risk.diameter
        self.has_curvature = risk.has_curvature
        # Gradients of R, and g, have sizes that sum up to 2 at most (docs/maths.md, tight-rounding). Differences of
        # them are rounded, and so is <g, f>, whose scores are rounded themselves.
        self._difference_rounding = 8 * EPS
        self.extra_rounding = labeling.plane.rounding + (4 * (risk.examples.count + 16) + 2 * n_features) * EPS

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        """That of R."""
        return self._risk.shift_invariant

    def exact(self, scores: Array) -> RiskValue:
        """``R - <g, f>`` and a subgradient."""
        return self._less(self._risk.exact(scores), scores, None)

    def exact_value(self, scores: Array) -> float:
        """``R - <g, f>``."""
        return self._risk.exact_value(scores) - (self._inner(scores)[0] + self._constant)

    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """``R_mu - <g, f>`` and its gradient."""
        return self._less(self._risk.smoothed(scores, mu, hint, direction, out), scores, direction)

    def lipschitz(self, mu: float) -> float:
        """That of R."""
        return self._risk.lipschitz(mu)

    def weighed(self, scores: Array) -> Array:
        """That of R."""
        return self._risk.weighed(scores)

    def curvature(self, scores: Array, smoothed: RiskValue, mu: float, following: float) -> Curvature:
        """That of R, which knows its active examples by its own gradient."""
        plane = smoothed.plane._replace(gradient=smoothed.plane.gradient + self._linear)
        return self._risk.curvature(scores, replace(smoothed, plane=plane), mu, following)

    def _inner(self, *vectors: Array) -> tuple[float, ...]:
        """``<g, v>`` for each of some vectors, in one round."""
        return self.examples.total(*(float(self._linear @ vector) for vector in vectors))

    def _less(self, risk: RiskValue, scores: Array, direction: Array | None) -> RiskValue:
        """A value of R less ``<g, f>``; its gradient is changed in place."""
        inner, *along = self._inner(scores, *([] if direction is None else [direction]))
        inner += self._constant
        plane, exact = risk.plane, risk.exact
        np.subtract(plane.gradient, self._linear, out=plane.gradient)
        return RiskValue(
            Plane(plane.gradient, plane.offset - self._constant, plane.rounding + self._difference_rounding),
            risk.value - inner,
            risk.height - inner,
            exact=None if exact is None else Interval(exact.low - inner, exact.high - inner),
            hint=risk.hint,
            derivative=None if risk.derivative is None else risk.derivative - along[0],
        )


@dataclass(frozen=True, kw_only=True)
class Retargeting(Solver):
    """Minimises the tight bound of a risk by convex steps, each with the labeling that the scores chose as target.

    Parameters
    ----------
    tol : float, default=1e-3
        Stop when a convex step can gain no more than this.
    max_iter : int, default=1000
        Most iterations of all steps together.
    convex : ConvexSolver, default=LBFGS()
        The solver of the steps; with a tolerance and limits that follow from those here.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf import PRBEP
    >>> from smoothperf.design import as_design
    >>> from smoothperf.optimise.objective import RegularizedRisk
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(400, 3)), np.repeat([1, -1], [40, 360])
    >>> X[:40, 0] += 1.0
    >>> J = RegularizedRisk(as_design(X), PRBEP().bind(y), 1e-3)
    >>> bool(LBFGS(tol=1e-3).run(J).coef.any())   # the convex bound has collapsed
    False
    >>> result = Retargeting(tol=1e-3).run(J, start=np.array([1.0, 0.0, 0.0]))
    >>> result.status.name, result.stationarity_gap <= 1e-3, result.objective < J.exact(np.zeros(3))
    ('STATIONARY', True, True)
    """

    max_iter: int = 1000
    convex: ConvexSolver = field(default_factory=LBFGS)

    @classmethod
    def with_steps_of(cls, solver: ConvexSolver, *, after: Result | None = None) -> Retargeting:
        """The method that takes its steps with a solver, to the same tolerance; ``after`` a run for the start.

        Parameters
        ----------
        solver : ConvexSolver
            The solver of the steps.
        after : Result, optional
            A run before, whose iterations count.

        Returns
        -------
        Retargeting
        """
        before = 0 if after is None else len(after.trace)
        return cls(tol=solver.tol, max_iter=max(0, solver.max_iter - before), convex=solver)

    def run(
        self,
        objective: RegularizedRisk,
        start: Start | Array | None = None,
        callback: Callback | None = None,
        *,
        observer: Observer | None = None,
        keep_planes: int = 0,
    ) -> Result:
        """Minimise ``J_tight`` from the best multiple of a start; see :meth:`Solver.run`.

        Without a start, or from zero, the first step is the convex problem itself. Planes are of no use here, as
        those of a step hold for its own target only, and none are returned. In the trace, objective, lower bound and
        gap are those of the step; the callback may stop the run.
        """
        if not objective.risk.has_loss_free:
            raise ValueError(f"{type(objective.risk).__name__} is no maximum over labelings: it has no tight bound.")
        begin = Start.of(start)
        result = self._run(objective, begin, callback, observer)
        closer = objective.risk.closer_bound()
        if closer is None or not self._is_no_better_than_zero(objective, result):
            return result
        following = FollowingRun(result, callback)
        rest = replace(self, max_iter=max(0, self.max_iter - len(result.trace)))
        again = RegularizedRisk(objective.design, closer, objective.penalty)
        try:
            return following.join(rest._run(again, replace(begin, pairs=None), following.add, observer))
        finally:
            objective.n_matvec += again.n_matvec
            objective.n_rmatvec += again.n_rmatvec

    def _is_no_better_than_zero(self, objective: RegularizedRisk, result: Result) -> bool:
        """Whether a run has ended where ``J_tight`` is as high as at w = 0, within the tolerance."""
        if result.status is not Status.STATIONARY:
            return False
        zero = objective.risk.exact_value(objective.scores_of_zero())
        return any(objective.agreed(result.objective > zero - self.tol))

    def _run(
        self,
        objective: RegularizedRisk,
        start: Start,
        callback: Callback | None,
        observer: Observer | None,
    ) -> Result:
        """Minimise ``J_tight`` of this risk, whatever comes of it."""
        joined = JoinedRuns(callback)
        before = objective.n_matvec
        here = _best_multiple(objective, start.weights)
        joined.count(objective.n_matvec - before)
        previous, mu, pairs = math.inf, start.mu, start.pairs
        while True:
            step = StartingWithScores(
                objective.design, here.majorant(objective), objective.penalty, here.coef, here.scores
            )
            joined.continue_with(step)
            # J_tight here, but for rounding that may have lowered it.
            highest = here.value + _evaluation_rounding(step, here)
            watch = _StepWatch(joined, highest, self.tol)
            left = max(0, self.max_iter - joined.iterations)
            # As long as steps gain much, the next target is worth more than the rest of this one.
            limit = min(SHORT, left) if previous - here.value > self.tol else left
            try:
                begin = Start(here.coef, mu=mu, pairs=pairs)
                solver = replace(self.convex, tol=SHARE * self.tol, max_iter=limit)
                result = solver.run(step, begin, watch.look, observer=observer, keep_planes=1)
            finally:  # also if rows are lost on the way
                objective.n_matvec += step.n_matvec
                objective.n_rmatvec += step.n_rmatvec
            # The next step begins near the end of this one. (Measured: 8% fewer passes.)
            pairs, mu = result.pairs, result.smoothing
            gain = highest - result.lower_bound
            previous = here.value
            assert result.scores is not None
            there = _Here.of(objective, result.coef, result.scores)
            # In a group the first member alone has the callback of a user.
            stopped = any(objective.agreed(watch.stopped_by_user))
            status = self._ended(result, gain, stopped=stopped, more=joined.iterations <= self.max_iter)
            if status is not None:
                nan = float("nan")
                return joined.complete(
                    replace(
                        result,
                        objective=there.value,
                        lower_bound=nan,
                        gap=nan,
                        stationarity_gap=gain,
                        status=status,
                        planes=None,
                        pairs=None,
                    )
                )
            here = there.further_from(here, objective)

    def _ended(self, result: Result, gain: float, *, stopped: bool, more: bool) -> Status | None:
        """The end of the run with a step; None if another one is due, for which there must be more iterations."""
        if gain <= self.tol:
            return Status.STATIONARY
        if stopped:
            return Status.STOPPED
        if result.status in (Status.CONVERGED, Status.STOPPED, Status.ITERATION_LIMIT):
            return None if more else Status.ITERATION_LIMIT
        return result.status


class _StepWatch:
    """Looks at every row of a step, and ends the step when it has gained enough, or has nothing to gain."""

    def __init__(self, joined: JoinedRuns, value: float, tol: float):
        self._joined = joined
        self._value = value
        self._tol = tol
        self.stopped_by_user = False

    def look(self, row: TraceRow) -> bool:
        """Whether the step is over."""
        if self._joined.add(row):
            self.stopped_by_user = True
            return True
        possible = self._value - row.lower_bound
        return possible <= self._tol or row.gap <= ENOUGH * possible


@dataclass(frozen=True)
class _Here:
    """Weights, their scores, ``J_tight`` there, and the labeling that they choose (None where all scores are zero)."""

    coef: Array
    scores: Array
    value: float
    labeling: RiskValue | None
    #: The scores are rounded as those of weights of this norm are.
    reach: float

    @classmethod
    def of(cls, objective: RegularizedRisk, coef: Array, scores: Array, reach: float | None = None) -> _Here:
        risk = objective.risk
        (square,) = objective.agreed(float(coef @ coef))
        labeling = risk.loss_free(scores) if square > 0.0 or objective.offset is not None else None
        free = 0.0 if labeling is None else labeling.value
        value = objective.regulariser(coef, square) + risk.exact_value(scores) - free
        return cls(coef, scores, value, labeling, math.sqrt(square) if reach is None else reach)

    def further_from(self, before: _Here, objective: RegularizedRisk) -> _Here:
        """The best point found on the line from the last one through this one; steps double as long as they gain."""
        move = self.scores - before.scores
        best = self
        for step in STEPS:
            scores = self.scores + step * move
            reach = self.reach + step * (self.reach + before.reach)
            further = _Here.of(objective, self.coef + step * (self.coef - before.coef), scores, reach)
            if further.value >= best.value:
                break
            best = further
        return best

    def majorant(self, objective: RegularizedRisk) -> Risk:
        """The convex risk that bounds the tight one from above, and touches it here."""
        if self.labeling is None:
            return objective.risk
        return Retargeted(objective.risk, self.labeling, objective.design.shape[1])


def value_of_start(objective: RegularizedRisk, start: Array) -> float:
    """``J_tight`` at the best multiple of some weights: a run from there ends no higher."""
    return _best_multiple(objective, start).value


def _best_multiple(objective: RegularizedRisk, start: Array | None) -> _Here:
    """The multiple of a start with the lowest ``J_tight``: one product with X, the rest in score space."""
    risk = objective.risk
    if start is None or not np.any(start):
        return _Here.of(objective, np.zeros(objective.design.shape[1]), objective.scores_of_zero())
    start = objective.penalty.clip(start)
    scores = objective.matvec(start)
    (square,) = objective.agreed(float(start @ start))
    free = risk.loss_free(scores).value

    def value(scale: float) -> float:
        if objective.offset is not None:
            return _Here.of(objective, scale * start, scale * scores).value
        penalty = objective.regulariser(scale * start, scale**2 * square)
        return penalty + risk.exact_value(scale * scores) - scale * free

    scale = min(SCALES, key=value)
    scale = min((scale, scale / 2.0, 2.0 * scale), key=value)
    return _Here.of(objective, scale * start, scale * scores)


def _evaluation_rounding(objective: RegularizedRisk, here: _Here) -> float:
    """The rounding error of J there, at most."""
    risk = objective.risk
    return evaluation_rounding(objective.design, risk.examples.count, here.value, here.reach, risk.extra_rounding)
