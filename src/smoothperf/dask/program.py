"""What every member of a group runs to train: the solvers of the estimator in memory, each member on its own rows.

The client is member 0. It has no rows, but what only one may have: the callback, the file of a checkpoint, and
notes of how far the fit has come. The others learn from it where to begin, so that a group that is started again goes
on with the fit of one that broke, from the best weights so far.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np

from ..communicator import Communicator, agreed
from ..design import SharedDesign
from ..design.base import Array
from ..estimators.checkpoint import Checkpoint, so_far
from ..measures.examples import Supervision
from ..optimise import Callback, ConvexSolver, Observer, Result, Retargeting, Solver, TraceRow
from ..optimise.monitor import Weights
from ..optimise.objective import RegularizedRisk
from ..optimise.penalties import Penalty
from ..optimise.result import Start
from ..optimise.story import Sequel, Story
from ..tasks.base import Candidate, Ending, Task
from ..tasks.tight import first_run
from ..tasks.training import check_suits
from .parts import Part

#: Least time between two copies of the best weights, in seconds.
SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is minimised, and how; without rows, which stay with the members.

    Attributes
    ----------
    task, candidate : Task and Candidate
        What is trained for, and with.
    penalty : Penalty
        Of the weights.
    solver : ConvexSolver
        Of the convex bound.
    """

    task: Task[Any, Any]
    candidate: Candidate
    penalty: Penalty
    solver: ConvexSolver

    @property
    def tight(self) -> bool:
        """Whether it is the tight bound."""
        return self.candidate.bound == "tight"


class Trained(NamedTuple):
    """The result of a fit, without its scores, and the model that they have led to."""

    result: Result
    ending: Ending


class Leg:
    """A run of a solver, however many groups it takes, as the client keeps it.

    Parameters
    ----------
    callback : callable, optional
        Is shown every row, as one of the whole run.
    start : ndarray, optional
        Weights to begin with.

    Attributes
    ----------
    start : ndarray or None
        Where to begin or go on: the best weights so far, a while ago.
    mu : float or None
        The smoothing there.
    """

    def __init__(self, callback: Callback | None, start: Array | None = None):
        self.story = Story(callback)
        self.start = start
        self.mu: float | None = None
        self._due = 0.0

    def observe(self, row: TraceRow, weights: Weights) -> None:
        """Keep the best weights so far, if it is time."""
        if time.monotonic() >= self._due:
            self.start, self.mu = weights(best=True).copy(), row.mu
            self._due = time.monotonic() + SECONDS


class Notes:
    """How far a fit has come; the client alone has them.

    Parameters
    ----------
    callback : callable, optional
        The user's.
    start : ndarray, optional
        Weights to begin with.
    checkpoint : Checkpoint, optional
        Keeps the model so far.
    """

    def __init__(
        self,
        callback: Callback | None = None,
        start: Array | None = None,
        checkpoint: Checkpoint | None = None,
    ):
        self._callback = callback
        self._start = start if start is not None and start.any() else None
        self.checkpoint = checkpoint
        self._first: Result | None = None
        self.leg: Leg | None = None

    def needs_convex_start(self) -> bool:
        """Whether a fit of the tight bound has yet to find where to begin."""
        return self._first is None and self._start is None

    def before(self) -> Leg:
        """The run for the start of a fit of the tight bound."""
        self.leg = self.leg or Leg(self._callback)
        return self.leg

    def begin_with(self, first: Result, start: Array) -> None:
        """Take note of the start, and of the run that has found it."""
        self._first, self._start, self.leg = first, start, None

    def main(self) -> Leg:
        """The run itself."""
        callback = self._callback if self._first is None else Sequel(self._first, self._callback).add
        self.leg = self.leg or Leg(callback, self._start)
        return self.leg

    def complete(self, result: Result) -> Result:
        """The result of all runs together."""
        return result if self._first is None else Sequel(self._first, None).join(result)


def train(job: Job, part: Part, communicator: Communicator, notes: Notes | None = None) -> Trained:
    """Fit to the rows of all members; those of this one are ``part``. Every member calls it; member 0 has notes."""
    task, candidate = job.task, job.candidate
    examples = part.examples(communicator)
    risk = task.risk(candidate, examples)
    check_suits(candidate, risk, job.penalty, job.solver)
    design = SharedDesign(task.design(candidate, part.design), communicator)
    objective = RegularizedRisk(design, risk, job.penalty, part.offset)
    if job.tight:
        result = _minimise_tight(job, examples, objective, notes)
    else:
        observer = _checkpoint(job, examples, objective, notes)
        result = _run(job.solver, objective, None if notes is None else notes.main(), observer)
    ending = task.ending(candidate, examples, objective, result, job.solver.tol)
    return Trained(replace(result, scores=None), ending)


def _minimise_tight(job: Job, examples: Supervision, objective: RegularizedRisk, notes: Notes | None) -> Result:
    if any(agreed(objective.communicator, notes is not None and notes.needs_convex_start())):
        solver = cast(ConvexSolver, _Resumed(job.solver, None if notes is None else notes.before()))
        first, start = first_run(job.task, job.candidate, examples, objective, solver)
        if notes is not None:
            notes.begin_with(first, start)
    observer = _checkpoint(job, examples, objective, notes)
    method = Retargeting.with_steps_of(job.solver)
    result = _run(method, objective, None if notes is None else notes.main(), observer)
    return result if notes is None else notes.complete(result)


def _checkpoint(job: Job, examples: Supervision, objective: RegularizedRisk, notes: Notes | None) -> Observer | None:
    """What keeps the model so far, if the client wants that: all members work on where its scores are cut."""
    communicator = objective.communicator
    if not any(agreed(communicator, notes is not None and notes.checkpoint is not None)):
        return None

    def observe(row: TraceRow, weights: Weights) -> None:
        if any(agreed(communicator, notes is not None and notes.checkpoint is not None and notes.checkpoint.due())):
            result = so_far(row, communicator.broadcast(weights(best=True)).copy(), objective, tight=job.tight)
            ending = job.task.ending(job.candidate, examples, objective, result, job.solver.tol)
            if notes is not None and notes.checkpoint is not None:
                notes.checkpoint.keep(replace(result, scores=None), ending)

    return observe


@dataclass(frozen=True)
class _Resumed:
    """A solver that goes on where the client says."""

    solver: Solver
    leg: Leg | None

    def run(self, objective: RegularizedRisk, callback: Callback | None = None) -> Result:
        return _run(self.solver, objective, self.leg)


def _run(solver: Solver, objective: RegularizedRisk, leg: Leg | None, checkpoint: Observer | None = None) -> Result:
    """Run a solver from the weights that the client sends, for as many iterations as are left."""
    spent, begin = _whereabouts(objective, leg)
    rest: Solver = replace(cast(Any, solver), max_iter=max(0, cast(Any, solver).max_iter - spent))
    if leg is None:
        return rest.run(objective, begin, observer=checkpoint)

    def observe(row: TraceRow, weights: Weights) -> None:
        leg.observe(row, weights)
        if checkpoint is not None:
            checkpoint(row, weights)

    leg.story.continue_with(objective)
    return leg.story.complete(rest.run(objective, begin, leg.story.add, observer=observe))


def _whereabouts(objective: RegularizedRisk, leg: Leg | None) -> tuple[int, Start]:
    """Iterations that are spent, and weights and mu to go on from, all as the client has them."""
    communicator = objective.communicator
    start = None if leg is None else leg.start
    spent, begun, mu = agreed(
        communicator,
        0 if leg is None else leg.story.iterations,
        start is not None,
        math.nan if leg is None or leg.mu is None else leg.mu,
    )
    coef = communicator.broadcast(np.zeros(objective.design.shape[1]) if start is None else start) if begun else None
    return int(spent), Start(coef, mu=None if math.isnan(mu) else mu)
