"""Linear models while they are trained, and what a run leaves with them."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from .. import __version__
from .._arrays import Array
from ..optimise import Callback, ConvexSolver, Result
from ..optimise.joined_runs import FollowingRun
from ..tasks.base import C, Ending, K, Rows, Task
from ..tasks.features import R, prepared
from ..tasks.training import Training
from ..threads import use_threads
from .checkpoint import Checkpoint
from .fitted import FittedModel
from .messages import ENDED_WELL, make_callback, report_end, say_tight


class CertifiedModel(FittedModel):
    """Base of all estimators: runs, and what they leave."""

    alpha: float
    bound: Any
    n_threads: int | None
    verbose: int
    callback: Callback | None
    checkpoint: Any
    coef_: Array
    objective_: float
    lower_bound_: float
    gap_: float
    stationarity_gap_: float
    n_iter_: int
    result_: Result
    origin_: dict[str, str]

    def _minimise(
        self, task: Task[K, C], candidate: C, rows: Rows[K], solver: ConvexSolver, start: Array | None
    ) -> tuple[Training[K, C], Result, Ending]:
        """Train with a candidate, from weights to start from if there are any; with another where that collapses."""
        checkpoint = None if self.checkpoint is None else Checkpoint(self, begun=start is not None)

        def run(candidate: C, callback: Callback | None) -> tuple[Training[K, C], Result, Ending]:
            training = Training(task, candidate, rows, solver)
            training.check()
            observer = None if checkpoint is None else checkpoint.observer(training)
            result = training.fit(self.alpha, start, callback, observer)
            self._report(result, solver.tol, rows.offset)
            return training, result, training.ending(self.alpha, result)

        with use_threads(self.n_threads):
            training, result, ending = run(candidate, self._callback())
            other = task.instead(candidate, training.risk) if self._has_collapsed(ending) else None
            if other is not None:
                following = FollowingRun(result, self._callback())
                _, later, its_ending = run(other, following.add)
                if self._takes(task, its_ending):
                    result, ending = following.join(later), its_ending
        return training, result, ending

    def _has_collapsed(self, ending: Ending) -> bool:
        """Whether another bound is to be tried, as that of the run is least at w = 0."""
        return self.bound == "auto" and ending.empty

    def _takes(self, task: Task[Any, Any], later: Ending) -> bool:
        """Whether the other bound is not least at w = 0, too, of which the first one has proof; says so."""
        if not later.empty:
            say_tight(task.measure.name)
        return not later.empty

    def _callback(self) -> Callback | None:
        """The user's callback, with progress on standard error if there is to be some."""
        return make_callback(self.verbose, self.callback) if self.verbose else self.callback

    def _report(self, result: Result, tol: float, offset: Array | None = None) -> None:
        """Say how a run ended, if it did not end well or everything is to be said."""
        if self.verbose or result.status not in ENDED_WELL:
            report_end(result, tol, self.verbose, offset)

    def _keep_ending(self, result: Result, ending: Ending) -> None:
        """Make the outcome of a run the fitted model."""
        raise NotImplementedError

    def _prepare(self, rows: R) -> R:
        """The rows with their features; the transformer that makes them is kept for new rows."""
        if rows.features is None:
            self.__dict__.pop("features_", None)  # of another fit
            return rows
        whole, fitted = prepared(rows)
        self._keep_transformer(fitted, rows.X.shape[1])
        return whole

    @property
    def bound_(self) -> str:
        """Bound that was minimised: "convex", or "tight", of whose minimum there is no lower bound."""
        return "tight" if math.isnan(self.lower_bound_) else "convex"

    def _keep_result(self, result: Result) -> None:
        """Remember what a run has to say."""
        self.objective_ = result.objective
        self.lower_bound_ = result.lower_bound
        self.gap_ = result.gap
        self.stationarity_gap_ = result.stationarity_gap
        self.n_iter_ = result.n_iter
        # Nobody needs the scores of the training set any more, which are a vector of its length.
        self.result_ = replace(result, scores=None)
        self.origin_ = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "smoothperf": __version__}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
