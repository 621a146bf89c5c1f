"""The contract of solvers: hyper-parameters that do not change, and one method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arrays import Array
from .._validation import positive_number, whole_number
from ..threads import one_blas_thread
from .monitor import Callback, Monitor, Observer
from .objective import RegularizedRisk, Run
from .result import Result, Start
from .segments import PenalisedRun

#: Memory for the planes that are handed on, in bytes, and how many they are at least and at most: more were seen to
#: save no passes.
PLANE_MEMORY = 1 << 27
FEWEST_AND_MOST_PLANES = 5, 20


@dataclass(frozen=True, kw_only=True)
class Solver(ABC):
    """Frozen hyper-parameters; all state of a run lives in the run.

    Parameters
    ----------
    tol : float, default=1e-3
        Stop when the certified gap of the exact objective is at most this.
    max_iter : int
        Most iterations.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from smoothperf import LBFGS
    >>> isinstance(LBFGS(), Solver), replace(LBFGS(), tol=1e-6).tol
    (True, 1e-06)
    """

    tol: float = 1e-3
    max_iter: int = 10_000

    def __post_init__(self) -> None:
        positive_number("tol", self.tol)
        whole_number("max_iter", self.max_iter, at_least=0)

    @abstractmethod
    def run(
        self,
        objective: RegularizedRisk,
        start: Start | Array | None = None,
        callback: Callback | None = None,
        *,
        observer: Observer | None = None,
        keep_planes: int = 0,
    ) -> Result:
        """Minimise an objective to a certified gap.

        Parameters
        ----------
        objective : RegularizedRisk
            The objective.
        start : Start or ndarray of shape (d,), optional
            The start, and what is known there; an array is the weights alone. Zero by default.
        callback : callable, optional
            Called with a :class:`TraceRow` after every iteration; a true return value stops the run.
        observer : callable, optional
            Called after every iteration, before the callback, with the :class:`TraceRow` and a function that returns
            the weights of the iterate, or with ``best=True`` the best ones so far. They may be the solver's own array:
            copy what is kept, and change nothing.
        keep_planes : int, default=0
            Most planes that ``Result.planes`` has of this run, each of d numbers; if 0, neither planes nor pairs are
            kept.
        """


@dataclass(frozen=True, kw_only=True)
class ConvexSolver(Solver):
    """A solver that goes one way: from a start, with planes, to a certified gap.

    Parameters
    ----------
    tol : float, default=1e-3
        Stop when the certified gap of the exact objective is at most this.
    max_iter : int, default=10000
        Most iterations.
    max_planes : int, optional
        Most planes kept for the certificate; 40 by default, with which a smooth solver loses nothing.

    Examples
    --------
    >>> from smoothperf import BMRM, LBFGS
    >>> isinstance(BMRM(), ConvexSolver), LBFGS(max_planes=10).max_planes
    (True, 10)
    """

    max_planes: int | None = None

    #: Whether vectors must be weights, however many columns X has.
    in_weights: ClassVar[bool] = False
    #: Whether it knows no other penalty than the quadratic one.
    quadratic_only: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_planes is not None:
            whole_number("max_planes", self.max_planes, at_least=2)

    def run(
        self,
        objective: RegularizedRisk,
        start: Start | Array | None = None,
        callback: Callback | None = None,
        *,
        observer: Observer | None = None,
        keep_planes: int = 0,
    ) -> Result:
        """Minimise an objective to a certified gap; see :meth:`Solver.run`."""
        whole_number("keep_planes", keep_planes, at_least=0)
        with one_blas_thread(unless=objective.design.wants_blas_threads):
            begin = Start.of(start)
            run: Run
            if objective.penalty.is_quadratic:
                run = Run(objective, begin.weights, in_weights=self.in_weights)
            elif self.quadratic_only:
                raise ValueError(
                    f"{type(self).__name__} minimises with the quadratic penalty only; use LBFGS for other penalties."
                )
            else:
                run = PenalisedRun(objective, begin.weights)
            monitor = Monitor(
                run,
                tol=self.tol,
                max_iter=self.max_iter,
                max_planes=self.max_planes or self._default_planes(run),
                callback=callback,
                observer=observer,
                start=begin,
                keep_planes=keep_planes,
            )
            return self._minimise(run, monitor)

    def _default_planes(self, run: Run) -> int:
        """Planes that are worth keeping."""
        return 40

    @abstractmethod
    def _minimise(self, run: Run, monitor: Monitor) -> Result:
        """Report planes and iterates to the monitor until it says how the run ended."""


def planes_to_keep(n_features: int) -> int:
    """The number of planes that are handed on."""
    return int(np.clip(PLANE_MEMORY // (8 * n_features), *FEWEST_AND_MOST_PLANES))
