"""The model so far in a file, once a minute: a fit that was killed is gone on with by a warm start from it."""

from __future__ import annotations

import math
import os
import time
import warnings
from copy import copy
from typing import Any

from .._arrays import Array
from ..io.model_file import ModelFileError
from ..optimise import Observer, Result, Status, Trace, TraceRow
from ..optimise.monitor import Weights
from ..optimise.objective import RegularizedRisk
from ..tasks.base import Ending
from ..tasks.training import Training

#: Seconds between two models. The first is written at once.
SECONDS = 60.0


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written in the middle of a fit, which goes on."""


class Checkpoint:
    """Keeps the model so far, now and then.

    Parameters
    ----------
    estimator : estimator
        The estimator. Its ``checkpoint`` is the file that the model is saved to, or a function that is given it.
    begun : bool
        Whether the fit begins with the weights of an earlier one. If not, a file that is there already is an error: it
        may be all that is left of a long fit.
    """

    def __init__(self, estimator: Any, *, begun: bool):
        target = estimator.checkpoint
        if not (callable(target) or isinstance(target, (str, os.PathLike))):
            raise ValueError(f"checkpoint must be a path or a function, got {target!r}.")
        if not callable(target) and not begun and os.path.exists(target):
            raise ModelFileError(
                f"{os.fspath(target)}: there is a model already; go on from it with warm_start=True, remove it, or "
                "name another file."
            )
        self._estimator = estimator
        self._save = target if callable(target) else lambda model: model.save(target)
        self._last = -math.inf

    def due(self) -> bool:
        """Whether it is time for a model."""
        return time.monotonic() - self._last >= SECONDS

    def keep(self, result: Result, ending: Ending) -> None:
        """Keep the model so far. If that fails, the first time is an error, any other a warning."""
        first, self._last = self._last == -math.inf, time.monotonic()
        model = copy(self._estimator)
        model._keep_ending(result, ending)
        try:
            self._save(model)
        except ModelFileError as error:
            if first:
                raise
            warnings.warn(f"{error} The fit goes on.", CheckpointWarning, stacklevel=2)

    def observer(self, training: Training[Any, Any]) -> Observer:
        """An observer that keeps the model so far of a run."""
        alpha = self._estimator.alpha
        objective = training.objective(alpha)

        def observe(row: TraceRow, weights: Weights) -> None:
            if self.due():
                result = so_far(row, weights(best=True).copy(), objective, tight=training.tight)
                self.keep(result, training.ending(alpha, result))

        return observe


def so_far(row: TraceRow, coef: Array, objective: RegularizedRisk, *, tight: bool) -> Result:
    """The result of a run that had stopped after an iteration; the product for its scores is not counted.

    Of the tight bound, whose rows are those of a convex step, nothing is certified.
    """
    objective_here = row.lower_bound + row.gap
    return Result(
        coef=coef,
        objective=objective_here,
        lower_bound=math.nan if tight else row.lower_bound,
        gap=math.nan if tight else objective_here - row.lower_bound,
        smoothing=row.mu,
        n_iter=row.iteration,
        n_matvec=objective.n_matvec,
        n_rmatvec=objective.n_rmatvec,
        seconds=row.seconds,
        status=Status.STOPPED,
        trace=Trace([row]),
        scores=objective.design.matvec(coef),
    )
