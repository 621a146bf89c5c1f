"""What every member of a group runs to train: the solvers of the estimator in memory, each member on its own rows.

The client is member 0. It has no rows, but what only one may have: the callback, the file of a checkpoint, and
notes of how far the fit has come. The others learn from it where to begin, so that a group that is started again goes
on with the fit of one that broke, from the best weights so far and the planes that certify them: planes hold for the
same rows whoever has them. So it ends with the same certificate.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, cast

import numpy as np

from ..certificate import Planes
from ..collective import Collective, agreed
from ..design import SharedDesign
from ..design.base import Array
from ..design.contents import contents
from ..io.checkpoint import Checkpoint, CheckpointKeeper, description, worth_keeping
from ..io.checkpoint_file import State
from ..measures.examples import Supervision
from ..objective import RegularizedRisk
from ..penalties import Penalty
from ..solvers import Callback, ConvexSolver, Result, Retargeting, Solver
from ..solvers.story import Sequel, Story
from ..tasks.base import Candidate, Ending, Task
from ..tasks.training import check_suits, first_run, shifted
from .parts import Part

#: Least time between two copies of the state: in seconds, and in units of what a copy takes.
SECONDS = 1.0
RARELY = 200.0


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
    """A run of a solver, however many groups it takes, as the client keeps it; see ``solvers.monitor.Keeper``.

    Parameters
    ----------
    callback : callable, optional
        Is shown every row, as one of the whole run.
    start : ndarray, optional
        Weights to begin with.
    file : CheckpointKeeper, optional
        Has a state to begin with, perhaps, and is given the state as well when it is time for that.
    """

    def __init__(self, callback: Callback | None, start: Array | None = None, file: CheckpointKeeper | None = None):
        self.story = Story(callback)
        self.start = start
        self.file = file
        self.state: State | None = None if file is None else file.state
        self._due = 0.0

    def due(self) -> bool:
        """Whether it is time."""
        return time.monotonic() >= self._due or (self.file is not None and self.file.due())

    def most_planes(self, length: int) -> int:
        """How many planes of a length are worth keeping."""
        return worth_keeping(length)

    def keep(self, coef: Array, objective: float, planes: Planes, mu: float) -> None:
        """Keep a state, which may be the solver's own arrays."""
        begin = time.monotonic()
        self.state = State(coef.copy(), objective, planes, mu)
        if self.file is not None and self.file.due():
            self.file.keep(coef, objective, planes, mu)
        now = time.monotonic()
        self._due = now + max(SECONDS, RARELY * (now - begin))

    def complete(self, result: Result) -> Result:
        """The result of the last run as that of all; the file has the state of the end."""
        if self.file is not None and self.state is not None:
            self.file.keep(result.coef, result.objective, self.state.planes, self.state.mu)
        return self.story.complete(result)


class Notes:
    """How far a fit has come; the client alone has them.

    Parameters
    ----------
    callback : callable, optional
        The user's.
    start : ndarray, optional
        Weights to begin with.
    checkpoint : Checkpoint or path-like, optional
        The file for states.
    labels : str
        A digest of labels and weights, for the file.
    """

    def __init__(
        self,
        callback: Callback | None = None,
        start: Array | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
        labels: str = "",
    ):
        self.checkpoint = checkpoint
        self._callback = callback
        self._start = start if start is not None and start.any() else None
        self._labels = labels
        self._file: CheckpointKeeper | None = None
        self._first: Result | None = None
        self.leg: Leg | None = None

    def open(self, job: Job, objective: RegularizedRisk, entries: int) -> None:
        """Open the file of the checkpoint."""
        assert self.checkpoint is not None
        bound = "tight" if job.tight else "convex"
        problem = description(objective, job.candidate.measure, self._labels, entries, bound=bound)
        self._file = CheckpointKeeper(self.checkpoint, problem)
        self.checkpoint = None

    def needs_convex_start(self) -> bool:
        """Whether a fit of the tight bound has yet to find where to begin."""
        return self._first is None and self._start is None and (self._file is None or self._file.state is None)

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
        self.leg = self.leg or Leg(callback, self._start, self._file)
        return self.leg

    def complete(self, result: Result) -> Result:
        """The result of all runs together."""
        return result if self._first is None else Sequel(self._first, None).join(result)


def train(job: Job, part: Part, together: Collective, notes: Notes | None = None) -> Trained:
    """Fit to the rows of all members; those of this one are ``part``. Every member calls it; member 0 has notes."""
    task, candidate = job.task, job.candidate
    examples = part.examples(together)
    risk = shifted(task.risk(candidate, examples), part.base_scores)
    check_suits(candidate, risk, job.penalty, job.solver)
    objective = RegularizedRisk(SharedDesign(task.design(candidate, part.design), together), risk, job.penalty)
    if any(agreed(together, notes is not None and notes.checkpoint is not None)):
        entries = contents(SharedDesign(task.design(candidate, part.as_they_came), together))
        if notes is not None:
            notes.open(job, objective, entries)
    if job.tight:
        result = _minimise_tight(job, examples, part.base_scores, objective, notes)
    else:
        result = _run(job.solver, objective, None if notes is None else notes.main())
    ending = task.ending(candidate, examples, objective, result, job.solver.tol)
    return Trained(replace(result, scores=None), ending)


def _minimise_tight(
    job: Job, examples: Supervision, offset: Array | None, objective: RegularizedRisk, notes: Notes | None
) -> Result:
    if any(agreed(objective.together, notes is not None and notes.needs_convex_start())):
        solver = cast(ConvexSolver, _Resumed(job.solver, None if notes is None else notes.before()))
        first, start = first_run(job.task, job.candidate, examples, offset, objective, solver)
        if notes is not None:
            notes.begin_with(first, start)
    result = _run(Retargeting.with_steps_of(job.solver), objective, None if notes is None else notes.main())
    return result if notes is None else notes.complete(result)


@dataclass(frozen=True)
class _Resumed:
    """A solver that goes on where the client says."""

    solver: Solver
    leg: Leg | None

    def run(self, objective: RegularizedRisk, callback: Callback | None = None) -> Result:
        return _run(self.solver, objective, self.leg)


def _run(solver: Solver, objective: RegularizedRisk, leg: Leg | None) -> Result:
    """Run a solver from the weights that the client sends, for as many iterations as are left."""
    spent, start, planes, mu = _whereabouts(objective, leg)
    rest: Solver = replace(cast(Any, solver), max_iter=max(0, cast(Any, solver).max_iter - spent))
    if leg is None:
        return rest.run(objective, start, planes=planes, mu=mu)
    leg.story.continue_with(objective)
    return leg.complete(rest.run(objective, start, leg.story.add, keeper=leg, planes=planes, mu=mu))


def _whereabouts(objective: RegularizedRisk, leg: Leg | None) -> tuple[int, Array | None, Planes | None, float | None]:
    """Iterations that are spent, and weights, planes and mu to go on from, all as the client has them."""
    together, d = objective.together, objective.design.shape[1]
    state = None if leg is None else leg.state
    start = None if leg is None else leg.start if state is None else state.coef
    known = state.planes if state is not None else _no_planes(0, 0)
    spent, begun, mu, n_planes, length = agreed(
        together,
        0 if leg is None else leg.story.iterations,
        start is not None,
        math.nan if state is None else state.mu,
        *known.slopes.shape,
    )
    coef = together.first(np.zeros(d) if start is None else start) if begun else None
    planes = None
    if not math.isnan(mu):
        like = known if leg is not None else _no_planes(int(n_planes), int(length))
        planes = Planes(**{each.name: together.first(getattr(like, each.name)) for each in fields(Planes)})
    return int(spent), coef, planes, None if math.isnan(mu) else mu


def _no_planes(count: int, length: int) -> Planes:
    """Planes of which nothing is known but how many and how long they are."""
    numbers = np.zeros(count)
    return Planes(np.zeros((count, length)), numbers, numbers, numbers, numbers, np.zeros((count, count)), numbers)
