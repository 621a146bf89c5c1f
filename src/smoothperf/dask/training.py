"""A run of a solver that outlives its workers.

The best weights so far and the planes that certify them are copied every second or so. When a worker is gone, its rows
are loaded again (:mod:`smoothperf.dask.placement`), and another run goes on from the copy, as one from a checkpoint
does: planes hold for the same rows whoever has them. So it ends with the same certificate.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from distributed import Client
from distributed.protocol.pickle import dumps

from ..certificate import Planes
from ..design.base import Array
from ..estimators.bias import Bias
from ..io.checkpoint import CheckpointKeeper, description, worth_keeping
from ..io.checkpoint_file import State
from ..measures import PRBEP, Measure, ROCArea, get_measure
from ..objective import RegularizedRisk
from ..solvers import Callback, Result, Solver
from ..solvers.story import Story
from .agreement import agree
from .inputs import sources
from .placement import Placement
from .remote import RemoteBlocks, WorkerLostError
from .server import Settings

logger = logging.getLogger("smoothperf.dask")

#: Seconds between two copies of the state, and how many times as long as a copy takes they are at least.
SECONDS = 1.0
RARELY = 50.0

T = TypeVar("T")


class Memory:
    """Keeps the state of a run; see :class:`smoothperf.solvers.monitor.Keeper`.

    Parameters
    ----------
    file : CheckpointKeeper, optional
        Is given the state as well, when it is time for that.

    Attributes
    ----------
    state : State or None
        What to go on from.
    """

    def __init__(self, file: CheckpointKeeper | None):
        self.state: State | None = None
        self._file = file
        self._due = 0.0

    def due(self) -> bool:
        """Whether it is time."""
        return time.monotonic() >= self._due or (self._file is not None and self._file.due())

    def most_planes(self, length: int) -> int:
        """How many planes of a length are worth keeping."""
        return worth_keeping(length)

    def keep(self, coef: Array, objective: float, planes: Planes, mu: float) -> None:
        """Keep a state, which may be the solver's own arrays."""
        begin = time.monotonic()
        self.state = State(coef.copy(), objective, planes, mu)
        if self._file is not None and self._file.due():
            self._file.keep(coef, objective, planes, mu)
        now = time.monotonic()
        self._due = now + max(SECONDS, RARELY * (now - begin))


@dataclass
class Training:
    """What one fit minimises, wherever its rows are at the time.

    Parameters
    ----------
    placement : Placement
        The rows.
    settings : Settings
        What the workers need to know.
    measure : Measure
        What is trained for.
    alpha : float
        Strength of the regulariser.
    """

    placement: Placement
    settings: Settings
    measure: Measure
    alpha: float

    def __post_init__(self) -> None:
        self._objective: RegularizedRisk | None = None
        self._blocks: RemoteBlocks | None = None

    def for_another(self, measure: Measure) -> Training:
        """The training for another measure on the same rows; they take turns."""
        return Training(self.placement, replace(self.settings, measure=dumps(measure)), measure, self.alpha)

    def on_all_rows(self, ask: Callable[[RegularizedRisk], T]) -> T:
        """Ask something about the objective; again, if workers are lost meanwhile."""
        while True:
            try:
                if self._objective is None or not self.placement.is_ready_for(self.settings):
                    design, self._blocks = self.placement.begin(self.settings)
                    self._objective = RegularizedRisk(design, self.measure.bind_blocks(self._blocks), self.alpha)
                return ask(self._objective)
            except WorkerLostError as loss:
                logger.warning("%s; its rows are loaded again, and the fit goes on.", loss)
                self._objective = None
                self.placement.mend()

    def run(
        self,
        solver: Solver,
        start: Array | None,
        callback: Callback | None,
        file: CheckpointKeeper | None,
    ) -> Result:
        """Minimise; what is lost with a worker are the iterations since the last copy of the state."""
        memory = Memory(file)
        if file is not None:
            memory.state = file.state
        story = Story(callback)

        def go_on(objective: RegularizedRisk) -> Result:
            state = memory.state
            story.continue_with(objective)
            return replace(solver, max_iter=max(0, solver.max_iter - story.iterations)).run(
                objective,
                start if state is None else state.coef,
                story.add,
                keeper=memory,
                planes=None if state is None else state.planes,
                mu=None if state is None else state.mu,
            )

        result = story.complete(self.on_all_rows(go_on))
        if file is not None and memory.state is not None:
            file.keep(result.coef, result.objective, memory.state.planes, memory.state.mu)
        return result

    def threshold(self, coef: Array) -> float:
        """Where the measure wants the scores of these weights cut."""

        def ask(objective: RegularizedRisk) -> float:
            assert self._blocks is not None
            return self.measure.threshold_of_blocks(self._blocks, objective.matvec(coef))

        return self.on_all_rows(ask)


@contextmanager
def objective_on(
    client: Client,
    measure: str | Measure,
    alpha: float,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    n_threads: int | None = None,
    patience: float = 60.0,
) -> Iterator[RegularizedRisk]:
    """The objective of a measure on rows of a cluster, as solvers take it; without a constant feature.

    A worker that is lost is an error here; :class:`Training` goes on.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> blocks = [(np.eye(4)[:2], [1, 1]), (np.eye(4)[2:], [-1, -1])]
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     with objective_on(client, "prbep", 0.1, blocks) as J:
    ...         J.exact(np.array([2.0, 2.0, 0.0, 0.0]))
    0.4
    """
    measure = get_measure(measure)
    placement = Placement(client, sources(X, y, sample_weight), n_threads=n_threads, patience=patience)
    try:
        design, blocks = placement.begin(agree(placement.summaries, Bias(measure, fit_intercept=False)))
        yield RegularizedRisk(design, measure.bind_blocks(blocks), alpha)
    finally:
        placement.close()


def convex_start(training: Training, bias: Bias, solver: Solver, callback: Callback | None) -> tuple[Result, Array]:
    """The run for a convex risk, and the weights to start the tight bound from, as in memory.

    See :mod:`smoothperf.estimators.tight`.
    """
    if training.on_all_rows(lambda objective: objective.risk.sums_over_examples):
        own = training.run(solver, None, callback, None)
        return own, own.coef
    ranking = training.for_another(ROCArea())
    result = ranking.run(solver, None, callback, None)
    if not bias.trained:
        return result, result.coef
    threshold = training.for_another(PRBEP()).threshold(result.coef)
    return result, bias.with_threshold(result.coef, threshold)


def fingerprint(training: Training, *, bound: str = "convex") -> dict[str, Any]:
    """What tells a problem from another, for checkpoints: one pass over the data."""
    settings, placement = training.settings, training.placement
    labels = repr((settings.classes.tolist(), settings.class_weights, [each.digest for each in placement.summaries]))
    digest = hashlib.sha256(labels.encode()).hexdigest()

    def ask(objective: RegularizedRisk) -> dict[str, Any]:
        return description(objective, training.measure, digest, placement.contents(), bound=bound)

    return training.on_all_rows(ask)
