"""Base of the estimators for a cluster: the client, the fit by a group of workers, the model without a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from distributed import Client, default_client
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array
from .._validation import positive_number
from ..estimators.checkpoint import Checkpoint
from ..estimators.linear import CertifiedModel
from ..estimators.problem import solver_of
from ..optimise import Callback, Newton
from ..optimise.base import ConvexSolver
from ..optimise.joined_runs import FollowingRun
from ..threads import check_n_threads
from .agreement import common_names
from .blocks import LABELS, RowKind, Summary
from .connection import Traffic
from .group import Member
from .inputs import Source
from .parts import Settings, moves_of
from .placement import Placement, Program
from .prediction import is_lazy, lazily
from .program import GroupFit, Job, Notes, train

#: What the client does while all others run a program.
Here = Callable[[Any, Member], Any]
#: Parameters that the estimator in memory does not have.
OF_CLUSTERS = ("client", "patience")
OF_FITS = {"traffic_", "n_losses_"}


class OnCluster(CertifiedModel):
    """Base of the estimators for rows on the workers of a Dask cluster, before the estimator in memory.

    Attributes
    ----------
    in_memory : type
        That estimator.
    """

    in_memory: ClassVar[type[Any]]
    client: Client | None
    patience: float
    n_threads: int | None
    verbose: int
    callback: Callback | None
    checkpoint: str | os.PathLike[str] | Callable[[Any], object] | None

    def _solver(self) -> ConvexSolver:
        """The solver and the threads, checked before the work begins."""
        solver = solver_of(self)
        if isinstance(solver, Newton):
            raise ValueError('solver "newton" needs all rows in memory; use "lbfgs".')
        check_n_threads(self.n_threads)
        return solver

    def _train(
        self,
        make_job: Callable[[int], Job],
        sources: Sequence[Source],
        settle: Callable[[list[Summary]], Settings],
        start: Callable[[], Array | None],
        *,
        kind: RowKind = LABELS,
    ) -> GroupFit:
        """Place blocks, settle what they have in common, and have all members run the job for so many features."""
        with self._placed(sources, settle, kind) as run_all:
            job = make_job(self.n_features_in_)
            callback = self._callback()
            begin = start()
            keeps = self.checkpoint is not None
            checkpoint = Checkpoint(self, begun=begin is not None) if keeps else None

            def run(job: Job, callback: Callback | None) -> GroupFit:
                notes = Notes(callback, begin, checkpoint)
                found: GroupFit = run_all(partial(train, job), partial(train, job, notes=notes))
                self._report(found.result, job.solver.tol)
                return found

            found = run(job, callback)
            if found.instead is not None and self._has_collapsed(found.ending):
                following = FollowingRun(found.result, callback)
                later = run(replace(job, candidate=found.instead), following.add)
                if self._takes(job.task, later.ending):
                    found = later._replace(result=following.join(later.result))
        self.traffic_ += Traffic(iterations=max(1, found.result.n_iter))
        self._keep_ending(found.result, found.ending)
        if self.verbose:
            print(f"{self.traffic_}", file=sys.stderr, flush=True)
        return found

    @contextmanager
    def _placed(
        self, sources: Sequence[Source], settle: Callable[[list[Summary]], Settings], kind: RowKind = LABELS
    ) -> Iterator[Callable[[Program, Here], Any]]:
        """Blocks on workers, and what has all members run a program, with this process's own form of it."""
        patience = positive_number("patience", self.patience)
        placement = Placement(self._cluster(), sources, n_threads=self.n_threads, patience=patience, kind=kind)
        try:
            settings = settle(placement.summaries)
            self._keep_features(settings.n_features, common_names(placement.summaries))
            moves = moves_of(placement.summaries_by_group)
            yield lambda program, here: placement.run(settings, program, here, moves)
        finally:
            placement.close()
        self.traffic_: Traffic = placement.traffic
        self.n_losses_ = placement.losses

    def _keep_features(self, n_features: int, names: list[str] | None) -> None:
        """Remember what scikit-learn keeps of the columns."""
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def to_local(self) -> Any:
        """Return the fitted model as one that needs no cluster; it shares the arrays.

        Returns
        -------
        model : MeasureClassifier or MeasureRanker
            Of :mod:`smoothperf` itself.
        """
        parameters = self.get_params(deep=False)
        model = self.in_memory(**{name: parameters[name] for name in parameters if name not in OF_CLUSTERS})
        model.set_params(callback=None, checkpoint=None)
        fitted = {name for name in vars(self) if name.endswith("_") and not name.startswith("_")} - OF_FITS
        for name in fitted:
            setattr(model, name, getattr(self, name))
        return model

    def _predicted(self, method: str, X: Any, *beside: Any) -> Any:
        """The result of a method of the estimator in memory: later, for what Dask computes later, or now."""
        check_is_fitted(self)
        if is_lazy(X):
            return lazily(self.to_local(), method, X, *beside)
        return getattr(super(), method)(X, *beside)

    def _is_in_memory(self, X: Any) -> bool:
        """Whether test data are here, so that a fitted model needs no cluster for its score."""
        check_is_fitted(self)
        return not is_lazy(X) and hasattr(X, "shape")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file; :func:`smoothperf.load` reads it as one that needs no cluster.

        Parameters
        ----------
        path : path-like
            The file.
        """
        check_is_fitted(self)
        self.to_local().save(path)

    def __sklearn_clone__(self) -> Self:
        # A client is not copied: the copy works on the same cluster.
        parameters = {
            name: clone(value, safe=False) for name, value in self.get_params(deep=False).items() if name != "client"
        }
        return type(self)(client=self.client, **parameters)

    def __getstate__(self) -> Any:
        # A client belongs to its process; a copy elsewhere uses the client that is there.
        return {**super().__getstate__(), "client": None}

    def _cluster(self) -> Client:
        client = self.client
        if client is None:
            try:
                client = default_client()
            except ValueError as error:
                raise ValueError(
                    "there is no Dask client: make one with distributed.Client(...), or pass it."
                ) from error
        if not isinstance(client, Client) or client.asynchronous:
            raise ValueError(f"client must be a distributed.Client that is not asynchronous, got {client!r}.")
        return client
