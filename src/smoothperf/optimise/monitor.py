"""The part that all solvers share: the best point so far, the certificate, the trace and the decision to stop.

Every solver stops on one criterion, ``gap <= tol``, where ``gap`` is the best exact objective less the certified
bound. The best is that of all iterates and of w = 0, whose J costs no pass over the data. Of an iterate an upper and a
lower bound of J may be all that is known; where they do not tell which point is better, J is computed later on, from
scores that are kept.

Rounding ends a run as well (:class:`Precision`). Let ``S = B |w|``, with B the largest row norm of X; no score is
larger. A plane is known up to ``r (1 + S)`` with the risk's own bound r (docs/maths.md, eq. plane-rounding), which
grows with ``1 / mu`` for most risks. And two evaluations of J at the same place differ by a few units in the last place
of the largest term in them,

    noise = NOISE u (1 + 2 S),    u = 2^-53

(a typical error; docs/maths.md, eq. evaluation-rounding, has the bound that the certificate uses). From this follows

* when mu is small enough: the plane lies below the risk by ``slack <= mu D``, and as soon as that is little beside
  its rounding, a smaller mu makes the plane worse and not better, and evaluations slower;
* when a run is stuck: for some time neither J_mu nor the gap has fallen by more than the noise;
* what a solved J_mu says about an open gap: it is the slack (docs/maths.md, slack) or else rounding.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from .._arrays import Array
from ..design import Design
from ..measures import Plane
from .certificate import Bundle
from .objective import Estimate, Point, Run
from .result import CurvaturePairs, Result, Start, Status, Trace, TraceRow, check_gap
from .smoothing import Adaptive, Smoothing

#: Points that may be the best, before J is computed to tell. (Measured on a9a and w8a with ROC area, to a gap of 1e-5:
#: if there is but one, it is computed for a third of the iterates, which takes 10 to 20% of the time; with four, for a
#: fifteenth.)
MOST_INCUMBENTS = 4
#: Share of its rounding at which the slack of a plane is small enough. Less than 1, as the weights still
#: become better when planes do not.
LITTLE = 0.01
#: Units in the last place that are noise.
NOISE = 4.0
UNIT_ROUNDOFF = 2.0**-53

#: Called after every iteration; a true return value stops the run.
Callback = Callable[[TraceRow], bool | None]


class Weights(Protocol):
    """The weights of an iterate, for an observer."""

    def __call__(self, *, best: bool = False) -> Array:
        """Return them, or the best ones so far. They may be the solver's own array."""


#: Called after every iteration, before the callback, with a function that returns weights.
Observer = Callable[[TraceRow, Weights], None]


@dataclass(frozen=True, slots=True)
class _Incumbent:
    """A point that may be the best: its weights as a vector, with the square of their length, and J there.

    Its scores are there as long as J itself was not computed. Both are copies, as a run uses its memory again.
    """

    coef: Array
    coef_square: float
    objective: Estimate
    scores: Array | None = None


def _value(incumbent: _Incumbent) -> float:
    return incumbent.objective.value


class Monitor:
    """Watches one run. The solver reports planes and iterates; the monitor says when to stop and builds the result."""

    def __init__(
        self,
        run: Run,
        *,
        tol: float,
        max_iter: int,
        max_planes: int,
        callback: Callback | None,
        observer: Observer | None = None,
        start: Start | None = None,
        keep_planes: int = 0,
        carry_gradients: bool = False,
    ):
        start = start or Start()
        self._begin = time.perf_counter()
        self._run = run
        self._tol = tol
        self._max_iter = max_iter
        self._callback = callback
        # In a group the first member alone has a callback.
        self._is_watched = run.agreed(callback is not None) == (1.0,)
        self._observer = observer
        self._keep_planes = keep_planes if run.leads else 0  # only the first member has planes
        self._passes_before = run.objective.n_matvec, run.objective.n_rmatvec
        (n_planes,) = run.agreed(0 if start.planes is None else len(start.planes))
        zero = run.risk.exact_value(run.objective.scores_of_zero())
        self.bundle = Bundle(
            run.design,
            run.penalty,
            # A plane for each iterate, beside those of an earlier run, is all there can be.
            max_planes=min(max_planes, max_iter + 1 + int(n_planes)),
            tolerance=1e-3 * tol,
            space=run.space,
            extra_rounding=run.risk.extra_rounding,
            n_rows=run.risk.examples.count,
            communicator=run.communicator,
            ceiling=zero,
            carried=run.design.shape[0] if carry_gradients else 0,
        )
        if n_planes:
            self.bundle.adopt(start.planes, int(n_planes))
            self.bundle.solve()  # so that the first iterate is judged by the bound that they make
        self._first_mu = start.mu
        self.pairs = start.pairs
        self._trace = Trace()
        self._zero = _Incumbent(np.zeros(run.space.length), 0.0, Estimate(zero, zero))
        self._best = self._zero
        self._incumbents = [self._zero]
        self._mu = 0.0
        self.gap = np.inf

    def first_mu(self, smoothing: Smoothing) -> float:
        """The mu to begin with: what the rule says, or what a rule that shrinks it had come to in an earlier run."""
        first = smoothing.first(self._run.risk)
        return min(first, self._first_mu) if self._first_mu and isinstance(smoothing, Adaptive) else first

    def add_plane(self, slope: Array, plane: Plane, steepness: float, *, at_once: bool = False) -> None:
        """Report a cutting plane, with ``X^T g`` as a vector and ``|g|``; improve the bound at once or when cheap."""
        self.bundle.add(slope, plane.offset, rounding=plane.rounding, gradient_norm=steepness, gradient=plane.gradient)
        if at_once or self.bundle.overdue:
            self.bundle.solve()

    def catch_up(self) -> None:
        """Improve the bound with all planes that wait, before something is decided on the gap."""
        if self.bundle.waiting:
            self.bundle.solve()
            self._certify()

    def record(
        self,
        coef: Array,
        coef_square: float,
        exact: Estimate,
        smoothed: float,
        mu: float,
        *,
        scores: Array | None = None,
    ) -> Status | None:
        """Report an iterate, with the square of its length; returns how the run ended if it is to end.

        The scores are needed where ``exact`` is not J itself.
        """
        self._choose(_Incumbent(coef, coef_square, exact, scores))
        self._mu = mu
        bound = self._certify()
        if self.gap < 0.0:  # by rounding that scores have gathered, or because the bound is false
            self._evaluate_again()
            bound = self._certify()
            check_gap(_value(self._best), bound)
        row = TraceRow(
            iteration=len(self._trace),
            seconds=time.perf_counter() - self._begin,
            passes=sum(self._passes()),
            objective=exact.value,
            smoothed_objective=smoothed,
            lower_bound=bound,
            gap=self.gap,
            mu=mu,
            exact=exact.is_exact,
        )
        self._trace.rows.append(row)
        if self._observer is not None:
            self._observer(row, lambda *, best=False: self._weights_of(self._best.coef if best else coef))
        stop = self._callback is not None and bool(self._callback(row))
        if self._is_watched:
            stop = self._run.agreed(stop) == (1.0,)
        if self.gap <= self._tol:
            return Status.CONVERGED
        if stop:
            return Status.STOPPED
        if len(self._trace) > self._max_iter:
            return Status.ITERATION_LIMIT
        return None

    def result(self, status: Status, pairs: CurvaturePairs | None = None) -> Result:
        """Finish. The scores are computed once more from the weights, so that no drift of updates is left in J."""
        self.catch_up()
        coef, scores = self._evaluate_again()
        bound = self._certify()
        if status is Status.CONVERGED and self.gap > self._tol:
            status = Status.PRECISION_LIMIT
        elif status is not Status.STOPPED and self.gap <= self._tol:
            status = Status.CONVERGED  # thanks to the planes that waited
        n_matvec, n_rmatvec = self._passes()
        return Result(
            coef=coef,
            objective=_value(self._best),
            lower_bound=bound,
            gap=self.gap,
            smoothing=self._mu,
            n_iter=len(self._trace) - 1,
            n_matvec=n_matvec,
            n_rmatvec=n_rmatvec,
            seconds=time.perf_counter() - self._begin,
            status=status,
            trace=self._trace,
            scores=scores,
            planes=self.bundle.heaviest(self._keep_planes) if self._keep_planes else None,
            pairs=pairs if self._keep_planes else None,
        )

    def _choose(self, new: _Incumbent) -> None:
        """Take a point unless it is worse than another for sure, and drop those that are worse than it for sure."""
        if new.objective.floor >= _value(self._best):
            return
        scores = None if new.objective.is_exact or new.scores is None else self._run.kept_scores(new.scores)
        better = [each for each in self._incumbents if each.objective.floor < new.objective.value]
        self._keep_only([*better, replace(new, coef=new.coef.copy(), scores=scores)])
        if len(self._incumbents) > MOST_INCUMBENTS:
            self._compare()
        self._best = min(self._incumbents, key=_value)

    def _keep_only(self, incumbents: list[_Incumbent]) -> None:
        """Forget all but these; the scores of others are not needed any more."""
        for each in self._incumbents:
            if each.scores is not None and not any(each is other for other in incumbents):
                self._run.drop_scores(each.scores)
        self._incumbents = incumbents

    def _compare(self) -> None:
        """Compute J of all incumbents, and keep the best; no pass over the data."""
        if len(self._incumbents) > 1:
            self._best = min(map(self._exactly, self._incumbents), key=_value)
            self._keep_only([self._best])

    def _exactly(self, incumbent: _Incumbent) -> _Incumbent:
        if incumbent.objective.is_exact:
            return incumbent
        assert incumbent.scores is not None
        regulariser = self._run.regulariser(incumbent.coef, incumbent.coef_square)
        exact = regulariser + self._run.risk.exact_value(incumbent.scores)
        return replace(incumbent, objective=Estimate(exact, exact), scores=None)

    def _evaluate_again(self) -> tuple[Array, Array]:
        """Weights and scores of the best point, and J from these; one pass over the data, none for w = 0."""
        run, objective = self._run, self._run.objective
        self._compare()
        if self._best is not self._zero:
            coef = run.agreed_vector(run.space.weights(self._best.coef))
            scores = objective.matvec(coef)
            (square,) = run.agreed(float(coef @ coef))
            exact = run.regulariser(coef, square) + run.risk.exact_value(scores)
            if exact < _value(self._zero):
                self._best = _Incumbent(self._best.coef, square, Estimate(exact, exact))
                self._keep_only([self._best])
                return coef, scores
            self._best = self._zero
            self._keep_only([self._zero])
        return np.zeros(run.design.shape[1]), objective.scores_of_zero()

    def _weights_of(self, coef: Array) -> Array:
        """Weights for an observer; the products that they take are not counted."""
        objective = self._run.objective
        counts = objective.n_matvec, objective.n_rmatvec
        weights = self._run.space.weights(coef)
        objective.n_matvec, objective.n_rmatvec = counts
        return weights

    def _certify(self) -> float:
        best = self._best
        bound = self.bundle.lower_bound(_value(best), math.sqrt(max(best.coef_square, 0.0)))
        self.gap = _value(best) - bound
        return bound

    def _passes(self) -> tuple[int, int]:
        before, objective = self._passes_before, self._run.objective
        return objective.n_matvec - before[0], objective.n_rmatvec - before[1]


class Descent:
    """The part of every smoothing solver's loop that says whether it goes on, and with which mu.

    Parameters
    ----------
    run, monitor
        The objective, and those who watch it.
    smoothing : Smoothing
        The rule for mu.
    tol : float
        J is computed exactly where it may be within as much of the bound.
    patience : int
        See :class:`Precision`.
    at_once : bool, default=False
        Whether the bound is improved with every plane.

    Attributes
    ----------
    mu : float
        The one to follow.
    """

    def __init__(
        self, run: Run, monitor: Monitor, smoothing: Smoothing, *, tol: float, patience: int, at_once: bool = False
    ):
        self._run, self._monitor, self._smoothing = run, monitor, smoothing
        self._tol, self._at_once = tol, at_once
        self._precision = Precision(run.design, patience=patience)
        self.mu = monitor.first_mu(smoothing)

    def status(self, point: Point, iterate: tuple[Array, Array] | None = None) -> Status | None:
        """Report a point with its plane, and choose the next mu; returns how the run ended if it is to end.

        An iterate that is not the point itself is given by its weights as a vector and its scores.
        """
        run, monitor = self._run, self._monitor
        monitor.add_plane(point.slope, point.risk.plane, point.steepness, at_once=self._at_once)
        if iterate is None:
            exact = run.exact_at(point, good_enough=monitor.bundle.value + self._tol)
            status = monitor.record(point.coef, point.coef_square, exact, point.value, point.mu, scores=point.scores)
        else:
            coef, scores = iterate
            square = run.square(coef)
            value = run.regulariser(coef, square) + run.risk.exact_value(scores)
            status = monitor.record(coef, square, Estimate(value, value), point.value, point.mu)
        if status is not None:
            return status
        slack = point.slack((exact if iterate is None else run.exact_at(point)).value)
        if point.excess <= 1e-3 * monitor.gap:
            monitor.catch_up()
        self.mu = self._precision.next_mu(self._smoothing, point, slack=slack, gap=monitor.gap)
        if self.mu == point.mu and point.excess <= 1e-3 * monitor.gap:
            return self._precision.end(point, slack=slack, gap=monitor.gap)
        return None

    def is_stuck(self, point: Point) -> bool:
        """Whether nothing has come of the last iterations; to be asked once in each."""
        return self._precision.is_stuck(point, self._monitor.gap)


class Precision:
    """Watches what rounding lets see of a run.

    Parameters
    ----------
    design : Design
        X.
    patience : int
        Iterations with the same mu and without visible progress after which a run is stuck.
    """

    def __init__(self, design: Design, *, patience: int):
        self._row_norm = design.row_norm
        self._patience = patience
        self._mu = math.nan
        self._value = self._gap = math.inf
        self._idle = 0

    def next_mu(self, smoothing: Smoothing, point: Point, *, slack: float, gap: float) -> float:
        """The mu that follows by a rule; the same one where rounding hides what smoothing does."""
        return point.mu if self._hides(point, slack) else smoothing.following(point.mu, slack=slack, gap=gap)

    def end(self, point: Point, *, slack: float, gap: float) -> Status:
        """The end of a run in which J_mu is solved and mu is not to shrink."""
        smoothing_matters = slack > 0.5 * gap and not self._hides(point, slack)
        return Status.SMOOTHING_LIMIT if smoothing_matters else Status.PRECISION_LIMIT

    def is_stuck(self, point: Point, gap: float) -> bool:
        """Whether nothing has come of the last iterations; to be asked once in each."""
        noise = NOISE * UNIT_ROUNDOFF * (1.0 + 2.0 * self._largest_score(point))
        if point.mu != self._mu or point.value < self._value - noise or gap < self._gap - noise:
            self._mu, self._value, self._gap, self._idle = point.mu, point.value, gap, 0
        else:
            self._idle += 1
        return self._idle >= self._patience

    def _hides(self, point: Point, slack: float) -> bool:
        """Whether the slack is little beside the rounding of the plane."""
        return slack <= LITTLE * point.risk.plane.rounding * (1.0 + self._largest_score(point))

    def _largest_score(self, point: Point) -> float:
        return self._row_norm * math.sqrt(point.coef_square)
