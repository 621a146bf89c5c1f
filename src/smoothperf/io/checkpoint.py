"""The state of a run in a file, every so many seconds, so that a run that was killed can go on.

The state is the best weights so far, the planes that certify them, and how much the risk was smoothed: with these, a
run goes on about where the one before ended. Planes hold only for the data and the measure that they come from; so a
checkpoint has a fingerprint of these, and is refused for any others. :mod:`smoothperf.io.checkpoint_file` has the file,
in which there is no code.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
import warnings
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

import numpy as np

from .._validation import positive_number
from ..certificate import Planes
from ..design.base import Array
from ..design.contents import contents
from ..measures import Measure, QueryMeasure
from ..measures.shifted import Shifted
from ..objective import RegularizedRisk
from ..penalties import Penalty, Quadratic
from .checkpoint_file import CheckpointError, State, read_state, write_state
from .streams import explain

#: Memory for the planes in a checkpoint, in bytes, and most of them.
PLANE_MEMORY = 1 << 27
MOST_PLANES = 20


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written in the middle of a run, which goes on."""


@dataclass(frozen=True)
class Checkpoint:
    """Where the state of a fit goes, and how often.

    Parameters
    ----------
    path : path-like
        The file; written under another name in the same folder and renamed. An error if it exists, unless the fit
        resumes: it may be all that is left of a long run.
    seconds : float, default=60
        Time between two states. The first is written at once, the last when the fit ends.
    resume : bool, default=False
        Go on from the state in the file, if there is one; it must be of the same data, measure and alpha.

    Examples
    --------
    >>> import tempfile
    >>> from smoothperf import MeasureClassifier
    >>> file = Path(tempfile.mkdtemp(), "fit.checkpoint")
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> clf = MeasureClassifier(alpha=0.1, checkpoint=Checkpoint(file)).fit(X, y)
    >>> again = MeasureClassifier(alpha=0.1, checkpoint=Checkpoint(file, resume=True)).fit(X, y)
    >>> abs(again.objective_ - clf.objective_) <= 1e-3
    True
    """

    path: str | os.PathLike[str]
    seconds: float = 60.0
    resume: bool = False

    def __post_init__(self) -> None:
        positive_number("seconds", self.seconds)


class CheckpointKeeper:
    """Writes the states of one run; see :class:`smoothperf.solvers.monitor.Keeper`.

    Parameters
    ----------
    checkpoint : Checkpoint or path-like
        Where to.
    fingerprint : dict
        What tells the problem from another: :func:`fingerprint`, or :func:`description`.

    Attributes
    ----------
    state : State or None
        What to go on from.
    """

    def __init__(self, checkpoint: Checkpoint | str | os.PathLike[str], fingerprint: dict[str, Any]):
        if not isinstance(checkpoint, (Checkpoint, str, os.PathLike)):
            raise ValueError(f"checkpoint must be a path or a Checkpoint, got {checkpoint!r}.")
        settings = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
        self._path = Path(settings.path)
        self._seconds = settings.seconds
        self._last = -math.inf
        self._fingerprint = fingerprint
        self.state: State | None = None
        if self._path.exists():
            if not settings.resume:
                raise CheckpointError(
                    f"{self._path}: there is a checkpoint already; resume from it, remove it, or name another file."
                )
            self.state = read_state(self._path, fingerprint)

    def due(self) -> bool:
        """Whether it is time to write a state."""
        return time.monotonic() - self._last >= self._seconds

    def most_planes(self, length: int) -> int:
        """How many planes of a length are worth keeping."""
        return worth_keeping(length)

    def keep(self, coef: Array, objective: float, planes: Planes, mu: float) -> None:
        """Write a state; if that fails, the first time is an error, any other a warning: nothing is lost then."""
        begin = self._last == -math.inf
        self._last = time.monotonic()
        try:
            write_state(self._path, self._fingerprint, State(coef, objective, planes, mu))
        except OSError as error:
            message = f"{self._path}: the checkpoint cannot be written: {explain(error)}"
            if begin:
                raise CheckpointError(f"{message}.") from error
            warnings.warn(
                f"{message}; the one before is as it was, and the fit goes on.", CheckpointWarning, stacklevel=2
            )


def worth_keeping(length: int) -> int:
    """How many planes of a length are worth keeping."""
    return int(np.clip(PLANE_MEMORY // (8 * length), 1, MOST_PLANES))


def fingerprint(
    objective: RegularizedRisk, measure: Measure | QueryMeasure, *, bound: str = "convex"
) -> dict[str, Any]:
    """What tells a problem from another, with the bound of the measure's loss: one pass over the data."""
    digest = hashlib.sha256()
    for array in objective.risk.examples.contents():
        digest.update(array.tobytes())
    if isinstance(objective.risk, Shifted):
        digest.update(objective.risk.base_scores.tobytes())
    return description(objective, measure, digest.hexdigest(), contents(objective.design), bound=bound)


def _digest(penalty: Penalty) -> str:
    """What tells a penalty from others of the same alpha."""
    digest = hashlib.sha256()
    for each in fields(cast(Any, penalty)):
        digest.update(np.asarray(getattr(penalty, each.name), dtype=np.float64).tobytes())
    return digest.hexdigest()[:16]


def description(
    objective: RegularizedRisk, measure: Measure | QueryMeasure, labels: str, entries: int, *, bound: str = "convex"
) -> dict[str, Any]:
    """Make a fingerprint of a digest of labels and weights, and of the contents of X; it is compared exactly."""
    return {
        "measure": repr(measure),
        "bound": bound,
        "alpha": objective.alpha,
        **({} if isinstance(objective.penalty, Quadratic) else {"penalty": _digest(objective.penalty)}),
        "shape": [objective.risk.examples.count, objective.design.shape[1]],
        "labels": labels[:16],
        "entries": f"{entries:016x}",
    }
