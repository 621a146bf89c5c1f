"""Training in a group: the solvers of the estimator in memory, which each member runs on its own rows.

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

from .._arrays import Array
from ..communicator import Communicator
from ..estimators.checkpoint import Checkpoint, so_far
from ..measures.examples import Supervision
from ..optimise import Callback, ConvexSolver, Observer, Result, Retargeting, Solver, TraceRow
from ..optimise.joined_runs import FollowingRun, JoinedRuns
from ..optimise.monitor import Weights
from ..optimise.objective import RegularizedRisk
from ..optimise.penalties import Penalty
from ..optimise.result import Start
from ..tasks.base import Candidate, Ending, Task
from ..tasks.tight import first_run
from ..tasks.training import check_suits
from .design import SharedDesign
from .parts import Part

#: Least time between two copies of the best weights, in seconds.
SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Job:
    """A task, one of its bounds, penalty and solver; without rows, which stay with the members.

    Attributes
    ----------
    task, candidate : Task and Candidate
        The kind of rows, and the risk to train with.
    penalty : Penalty
        Of the weights.
    solver : ConvexSolver
        Of the convex bound.
    """

    task: Task[Any, Any]
    candidate: Candidate
    penalty: Penalty
    solver: ConvexSolver

    @classmethod
    def of(cls, task: Task[Any, Any], bound: str, alpha: float, solver: ConvexSolver) -> Job:
        """The job of a task with one of its bounds."""
        candidate = task.candidate(bound)
        return cls(task=task, candidate=candidate, penalty=task.penalty(candidate).with_alpha(alpha), solver=solver)

    @property
    def tight(self) -> bool:
        """Whether it is the tight bound."""
        return self.candidate.bound == "tight"


class GroupFit(NamedTuple):
    """The result of a fit, without its scores, the model that they have led to, and what to go on with if it is none.

    Attributes
    ----------
    result, ending : Result and Ending
        The outcome.
    instead : Candidate or None
        The candidate for risks that are least at w = 0 whatever alpha is.
    """

    result: Result
    ending: Ending
    instead: Candidate | None = None


class Resumable:
    """A run of a solver that another group can go on with, as the client keeps it.

    Parameters
    ----------
    callback : callable, optional
        Is shown every row, as one of the whole run.
    start : ndarray, optional
        Weights to begin with.

    Attributes
    ----------
    start : ndarray or None
        The start, or where to go on: the best weights so far, a while ago.
    mu : float or None
        The smoothing there.
    """

    def __init__(self, callback: Callback | None, start: Array | None = None):
        self.joined = JoinedRuns(callback)
        self.start = start
        self.mu: float | None = None
        self._due = 0.0

    def observe(self, row: TraceRow, weights: Weights) -> None:
        """Keep the best weights so far, if it is time."""
        if time.monotonic() >= self._due:
            self.start, self.mu = weights(best=True).copy(), row.mu
            self._due = time.monotonic() + SECONDS


class Notes:
    """Notes of how far a fit has come; those of the client count.

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
        self.resumable: Resumable | None = None

    def needs_convex_start(self) -> bool:
        """Whether a fit of the tight bound has yet to find where to begin."""
        return self._first is None and self._start is None

    def before(self) -> Resumable:
        """The run for the start of a fit of the tight bound."""
        self.resumable = self.resumable or Resumable(self._callback)
        return self.resumable

    def begin_with(self, first: Result, start: Array) -> None:
        """Take note of the start, and of the run that has found it."""
        self._first, self._start, self.resumable = first, start, None

    def main(self) -> Resumable:
        """The run itself."""
        callback = self._callback if self._first is None else FollowingRun(self._first, self._callback).add
        self.resumable = self.resumable or Resumable(callback, self._start)
        return self.resumable

    def complete(self, result: Result) -> Result:
        """The result of all runs together."""
        return result if self._first is None else FollowingRun(self._first, None).join(result)


def train(job: Job, part: Part, communicator: Communicator, notes: Notes | None = None) -> GroupFit:
    """Fit to the rows of all members; those of this one are ``part``. Every member calls it; member 0's notes count."""
    notes = notes or Notes()
    task, candidate = job.task, job.candidate
    examples = part.examples(communicator)
    risk = task.risk(candidate, examples)
    check_suits(candidate, risk, job.penalty, job.solver)
    design = SharedDesign(task.design(candidate, part.design), communicator)
    objective = RegularizedRisk(design, risk, job.penalty, part.offset)
    if job.tight:
        result = _minimise_tight(job, examples, objective, notes)
    else:
        result = _run(job.solver, objective, notes.main(), _checkpoint(job, examples, objective, notes))
    ending = task.ending(candidate, examples, objective, result, job.solver.tol)
    return GroupFit(replace(result, scores=None), ending, task.instead(candidate, risk))


def _minimise_tight(job: Job, examples: Supervision, objective: RegularizedRisk, notes: Notes) -> Result:
    if any(objective.agreed(notes.needs_convex_start())):
        solver = cast(ConvexSolver, _Resumed(job.solver, notes.before()))
        notes.begin_with(*first_run(job.task, job.candidate, examples, objective, solver))
    method = Retargeting.with_steps_of(job.solver)
    return notes.complete(_run(method, objective, notes.main(), _checkpoint(job, examples, objective, notes)))


def _checkpoint(job: Job, examples: Supervision, objective: RegularizedRisk, notes: Notes) -> Observer | None:
    """Observer that keeps the model so far, if the client wants that: all members work on where it cuts."""
    communicator = objective.communicator
    if not any(objective.agreed(notes.checkpoint is not None)):
        return None

    def observe(row: TraceRow, weights: Weights) -> None:
        if any(objective.agreed(notes.checkpoint is not None and notes.checkpoint.due())):
            result = so_far(row, communicator.broadcast(weights(best=True)).copy(), objective, tight=job.tight)
            ending = job.task.ending(job.candidate, examples, objective, result, job.solver.tol)
            if notes.checkpoint is not None:
                notes.checkpoint.keep(replace(result, scores=None), ending)

    return observe


@dataclass(frozen=True)
class _Resumed:
    """A solver that goes on where the client says."""

    solver: Solver
    resumable: Resumable

    def run(self, objective: RegularizedRisk, callback: Callback | None = None) -> Result:
        return _run(self.solver, objective, self.resumable)


def _run(
    solver: Solver, objective: RegularizedRisk, resumable: Resumable, checkpoint: Observer | None = None
) -> Result:
    """Run a solver from the weights that the client sends, for as many iterations as are left."""
    spent, begin = _whereabouts(objective, resumable)
    rest: Solver = replace(cast(Any, solver), max_iter=max(0, cast(Any, solver).max_iter - spent))

    def observe(row: TraceRow, weights: Weights) -> None:
        resumable.observe(row, weights)
        if checkpoint is not None:
            checkpoint(row, weights)

    resumable.joined.continue_with(objective)
    return resumable.joined.complete(rest.run(objective, begin, resumable.joined.add, observer=observe))


def _whereabouts(objective: RegularizedRisk, resumable: Resumable) -> tuple[int, Start]:
    """Iterations that are spent, and weights and mu to go on from, all as the client has them."""
    communicator = objective.communicator
    start = resumable.start
    mu = math.nan if resumable.mu is None else resumable.mu
    spent, begun, mu = objective.agreed(resumable.joined.iterations, start is not None, mu)
    coef = communicator.broadcast(np.zeros(objective.design.shape[1]) if start is None else start) if begun else None
    return int(spent), Start(coef, mu=None if math.isnan(mu) else mu)
