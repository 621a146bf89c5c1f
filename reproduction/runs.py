"""One way of training on one problem, with its exact objective and its test score against CPU time.

Looking is not part of the time: the clock stands still while an iterate is evaluated exactly and on the test rows. It
is CPU time of one thread, so that whatever else the machine does disturbs little.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from smoothperf.design import as_design
from smoothperf.design.base import Array
from smoothperf.measures import Measure
from smoothperf.optimise import BMRM, LBFGS, Nesterov, Solver, Status, TraceRow
from smoothperf.optimise.objective import RegularizedRisk
from smoothperf.optimise.smoothing import Fixed
from smoothperf.threads import use_threads

from .datasets import Part
from .settings import EPS, TOL

#: Runs below so many CPU seconds are repeated, so many times in all, and the fastest counts: they take the same steps.
SHORT = 1.0
REPETITIONS = 3
#: CPU time grows by this factor from one snapshot to the next.
SNAPSHOT_FACTOR = 1.1
#: Iterations that all get a snapshot.
FIRST = 3
#: The paper's buffer of L-BFGS.
MEMORY = 6
MAX_ITER = 1_000_000
#: The fixed mu of the paper, as multiples of eps/D.
FACTORS = {"mu x 1": 1.0, "mu x 100": 100.0, "mu x 1000": 1000.0}
ADAPTIVE, NESTEROV, CUTTING_PLANES = "adaptive", "nesterov", "bmrm"
METHODS = (*FACTORS, ADAPTIVE, NESTEROV, CUTTING_PLANES)
ENDS = {
    Status.CONVERGED: "converged",
    Status.SMOOTHING_LIMIT: "solved for its mu",
    Status.STOPPED: "stopped at the time limit",
    Status.PRECISION_LIMIT: "precision limit",
    Status.ITERATION_LIMIT: "iteration limit",
}
STOPPED = ENDS[Status.STOPPED]
STALLED = "no more progress"
#: A run with a fixed mu has stalled if so many iterations in a row lower its smoothed objective by no more than this:
#: rounding, or the accuracy of a risk, may keep its gradient from falling as far as a proof of the end asks for.
PATIENCE = 30
PROGRESS = 1e-3 * TOL


@dataclass(frozen=True)
class Problem:
    """A set, a measure and a strength of regularisation."""

    dataset: str
    relation: str
    train: Part
    test: Part
    measure: Measure
    alpha: float


@dataclass(frozen=True)
class Run:
    """The end of a run; a line of runs-MEASURE.csv.

    Attributes
    ----------
    dataset, relation, measure, method : str
        The set, its relation to the paper's, the measure and the method.
    alpha, mu : float
        The paper's lambda, and the mu that the run began with (0 without smoothing).
    end : str
        The reason for its end.
    cpu_seconds : float
        Without looking at it on the way.
    iterations, passes : int
        Iterations, and products with X and its transpose.
    objective, lower_bound : float
        The best exact objective, and a certified bound of the optimum.
    certified_seconds : float
        CPU time at which the certified gap was eps; NaN if never.
    """

    dataset: str
    relation: str
    measure: str
    method: str
    alpha: float
    mu: float
    end: str
    cpu_seconds: float
    iterations: int
    passes: int
    objective: float
    lower_bound: float
    certified_seconds: float


@dataclass(frozen=True)
class Snapshot:
    """A moment of a run; a line of trace-MEASURE.csv.

    Attributes
    ----------
    dataset, method : str
        Of the run.
    iteration : int
        From 0.
    cpu_seconds : float
        So far.
    best : float
        The best exact objective so far.
    score : float
        The measure of this iterate on the test rows.
    """

    dataset: str
    method: str
    iteration: int
    cpu_seconds: float
    best: float
    score: float


class Stopwatch:
    """CPU time of this process, with pauses."""

    def __init__(self) -> None:
        self._begin = time.process_time()
        self._paused_at = 0.0

    @property
    def seconds(self) -> float:
        """CPU time without pauses."""
        return time.process_time() - self._begin

    def pause(self) -> None:
        """Stop."""
        self._paused_at = time.process_time()

    def resume(self) -> None:
        """Go on as if there had been no pause."""
        self._begin += time.process_time() - self._paused_at


class Recorder:
    """Looks at a run from outside: takes snapshots, and ends it when its time is up.

    Parameters
    ----------
    problem : Problem
        For the names and the test rows.
    objective : RegularizedRisk
        The function that is minimised.
    method : str
        Name of the method.
    limit : float
        CPU seconds.
    """

    def __init__(self, problem: Problem, objective: RegularizedRisk, method: str, limit: float):
        self._problem = problem
        self._objective = objective
        self._method = method
        self._limit = limit
        self._next = 0.0
        self._lowest = math.inf
        self._lowered_at = 0
        self._seconds = 0.0
        self.best = math.inf
        self.certified_seconds = math.nan
        self.stalled = False
        self.snapshots: list[Snapshot] = []
        self.clock = Stopwatch()

    def observe(self, row: TraceRow, weights: Callable[[], Array]) -> None:
        """Look at an iterate."""
        self._seconds = self.clock.seconds
        self.clock.pause()
        self.best = min(self.best, row.objective)
        if math.isnan(self.certified_seconds) and row.gap <= EPS:
            self.certified_seconds = self._seconds
        if row.iteration <= FIRST or self._seconds >= self._next:
            self.take(row.iteration, self._seconds, weights())
            self._next = SNAPSHOT_FACTOR * self._seconds
        self.clock.resume()

    def take(self, iteration: int, seconds: float, weights: Array) -> None:
        """Take a snapshot of given weights."""
        objective, problem = self._objective, self._problem
        risk = objective.risk.exact_value(objective.design.matvec(weights))
        self.best = min(self.best, objective.alpha / 2.0 * float(weights @ weights) + risk)
        score = problem.measure.score(problem.test.y, np.asarray(problem.test.X @ weights))
        self.snapshots.append(Snapshot(problem.dataset, self._method, iteration, seconds, self.best, score))

    def is_over(self, row: TraceRow) -> bool:
        """Say whether to stop: when the time is up, or when nothing more happens."""
        if row.smoothed_objective < self._lowest - PROGRESS:
            self._lowest, self._lowered_at = row.smoothed_objective, row.iteration
        self.stalled = self._method in FACTORS and row.iteration - self._lowered_at >= PATIENCE
        return self.stalled or self._seconds > self._limit


def paper_mu(measure: str, y: Any, factor: float) -> float:
    """``factor * eps / D`` with the paper's D: n/2 for PRBEP, m/2 for ROC area with its m pairs.

    For PRBEP the largest value of the prox-function is min(n+, n-), which is smaller, so the worst case of these runs
    is below ``factor * eps``.

    Examples
    --------
    >>> paper_mu("prbep", np.array([1, -1, -1, -1]), 1.0), paper_mu("roc_area", np.array([1, -1, -1, -1]), 1.0)
    (0.0005, 0.0006666666666666666)
    """
    n, positives = y.shape[0], int((y > 0).sum())
    diameter = n / 2.0 if measure == "prbep" else positives * (n - positives) / 2.0
    return float(factor * EPS / diameter)


def solver_of(method: str, measure: str, y: Any) -> Solver:
    """Return the solver behind a method's name."""
    if method in FACTORS:
        smoothing = Fixed(mu=paper_mu(measure, y, FACTORS[method]))
        return LBFGS(tol=TOL, max_iter=MAX_ITER, memory=MEMORY, smoothing=smoothing)
    if method == ADAPTIVE:
        return LBFGS(tol=TOL, max_iter=MAX_ITER)
    if method == NESTEROV:
        return Nesterov(tol=TOL, max_iter=MAX_ITER)
    return BMRM(tol=TOL, max_iter=MAX_ITER)


def train(problem: Problem, method: str, *, limit: float) -> tuple[Run, list[Snapshot]]:
    """Train, and return the run and its snapshots; a short run is repeated, and the fastest returned."""
    found = [train_once(problem, method, limit=limit)]
    while found[0][0].cpu_seconds < SHORT and len(found) < REPETITIONS:
        found.append(train_once(problem, method, limit=limit))
    return min(found, key=lambda each: each[0].cpu_seconds)


def train_once(problem: Problem, method: str, *, limit: float) -> tuple[Run, list[Snapshot]]:
    """Train, and return the run and its snapshots."""
    name = problem.measure.name
    solver = solver_of(method, name, problem.train.y)
    with use_threads(1):
        objective = RegularizedRisk(as_design(problem.train.X), problem.measure.bind(problem.train.y), problem.alpha)
        recorder = Recorder(problem, objective, method, limit)
        result = solver.run(objective, callback=recorder.is_over, observer=recorder.observe)
        seconds = recorder.clock.seconds
        recorder.take(result.n_iter, seconds, result.coef)
    run = Run(
        dataset=problem.dataset,
        relation=problem.relation,
        measure=name,
        method=method,
        alpha=problem.alpha,
        mu=result.trace.rows[0].mu,
        end=STALLED if recorder.stalled and result.status is Status.STOPPED else ENDS[result.status],
        cpu_seconds=seconds,
        iterations=result.n_iter,
        passes=result.n_matvec + result.n_rmatvec,
        objective=result.objective,
        lower_bound=result.lower_bound,
        certified_seconds=recorder.certified_seconds,
    )
    return run, recorder.snapshots
