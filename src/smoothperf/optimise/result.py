"""The start of a run, and its result: weights, the certificate, how it ended and how it got there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from .certificate import Planes


class Status(Enum):
    """The end of a run, in words.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> clf = MeasureClassifier(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> clf.result_.status.name, clf.result_.status.value
    ('CONVERGED', 'The certified gap is within the tolerance.')
    """

    CONVERGED = "The certified gap is within the tolerance."
    ITERATION_LIMIT = "The iteration limit was reached before the certified gap was within the tolerance."
    SMOOTHING_LIMIT = "The smoothed objective is solved, but mu is too large to certify the tolerance."
    PRECISION_LIMIT = "Floating-point precision does not allow further progress."
    STOPPED = "The callback asked to stop."
    STATIONARY = "The last convex step could lower the tight bound by no more than the tolerance."


@dataclass(frozen=True)
class CurvaturePairs:
    """Curvature of the risk to hand from one run to the next on the same design and risk, whatever alpha is.

    Attributes
    ----------
    steps, changes : ndarray of shape (m, d)
        Steps s and gradient changes of ``J_mu``; only the rows in ``order`` are in use.
    order : list of int
        These rows, oldest first.
    alpha : float
        The alpha of J; for another one the changes differ by the difference times s.
    """

    steps: Array
    changes: Array
    order: list[int]
    alpha: float


@dataclass(frozen=True, eq=False)
class Start:
    """State that a run goes on from; all of it may be missing.

    Parameters
    ----------
    weights : ndarray of shape (d,), optional
        The start; zero by default.
    planes : Planes, optional
        ``Result.planes`` of an earlier run on the same design and risk, with any alpha. They are taken on trust: planes
        of other data make the bound wrong.
    mu : float, optional
        ``Result.smoothing`` of a run on the same objective that ended here; :class:`~smoothperf.Adaptive` smoothing
        goes on with it.
    pairs : CurvaturePairs, optional
        ``Result.pairs`` of such a run, to know the curvature from the start; used by L-BFGS.

    Examples
    --------
    >>> from smoothperf import LBFGS, ROCArea
    >>> from smoothperf.design import as_design
    >>> from smoothperf.optimise.objective import RegularizedRisk
    >>> J = RegularizedRisk(as_design(np.eye(4)), ROCArea().bind([1, 1, -1, -1]), 0.1)
    >>> first = LBFGS(tol=1e-6).run(J, keep_planes=5)
    >>> LBFGS(tol=1e-6).run(J, Start(first.coef, first.planes)).n_iter   # nothing is left to do
    0
    """

    weights: Array | None = None
    planes: Planes | None = None
    mu: float | None = None
    pairs: CurvaturePairs | None = None

    @classmethod
    def of(cls, start: Start | Array | None) -> Start:
        """Return the start at some weights, or one that is complete as it is.

        Parameters
        ----------
        start : Start or ndarray of shape (d,), optional
            A start, or its weights; zero by default.

        Returns
        -------
        Start
            The start.
        """
        return start if isinstance(start, Start) else cls(None if start is None else np.asarray(start))


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One iteration.

    Attributes
    ----------
    iteration : int
        Counted from 0, the starting point.
    seconds : float
        Since the start of the run.
    passes : int
        Products with X and its transpose so far.
    objective : float
        J at this iterate, from its scores as they were updated; or a close upper bound, where that is a by-product
        and J is not.
    smoothed_objective : float
        J_mu at the point of the last gradient; equals ``objective`` for solvers that do not smooth.
    lower_bound : float
        Best certified bound so far.
    gap : float
        Least ``objective`` so far, or J(0) if that is less, less ``lower_bound``; so it is an upper bound of the gap.
    mu : float
        Smoothing parameter; 0 for none.
    exact : bool
        Whether ``objective`` is J itself, not an upper bound.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> clf = MeasureClassifier(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> last = clf.result_.trace.rows[-1]
    >>> last.gap <= 1e-3, last.objective >= last.lower_bound
    (True, True)
    """

    iteration: int
    seconds: float
    passes: int
    objective: float
    smoothed_objective: float
    lower_bound: float
    gap: float
    mu: float
    exact: bool = True


@dataclass
class Trace:
    """The rows of all iterations; ``trace["objective"]`` is a column as an array.

    Parameters
    ----------
    rows : list of TraceRow
        A row for each iteration.

    Examples
    --------
    >>> trace = Trace([TraceRow(0, 0.0, 1, 1.0, 0.9, 0.0, 1.0, 0.1), TraceRow(1, 0.1, 3, 0.8, 0.7, 0.5, 0.3, 0.1)])
    >>> trace["gap"]
    array([1. , 0.3])
    """

    rows: list[TraceRow] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[TraceRow]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> NDArray[np.float64]:
        known = tuple(f.name for f in fields(TraceRow))
        if column not in known:
            raise KeyError(f"a trace has the columns {', '.join(known)}, not {column!r}")
        return np.array([getattr(row, column) for row in self.rows])


class FalseBoundError(ValueError):
    """A lower bound is above the objective of weights that were found, so it is a bound of something else."""


def check_gap(objective: float, lower_bound: float) -> None:
    """Refuse a negative gap: rounding is taken off the bound, so a true one is never above an objective."""
    if objective - lower_bound < 0.0:
        raise FalseBoundError(
            f"the lower bound {lower_bound:.9g} is above {objective:.9g}, the objective of weights that were found: "
            "the planes that the run was given, by an earlier run, do not belong to these data; "
            "begin without them."
        )


@dataclass(frozen=True)
class Result:
    """Outcome of a run. A negative gap is a :class:`FalseBoundError`.

    Attributes
    ----------
    coef : ndarray of shape (d,)
        The best weights found; never worse than none at all.
    objective : float
        Exact J at ``coef``.
    lower_bound : float
        Certified lower bound of the minimum of J.
    gap : float
        ``objective - lower_bound``: how far from the optimum ``coef`` can be at most.
    smoothing : float
        Last mu; 0 for solvers that do not smooth.
    n_iter, n_matvec, n_rmatvec : int
        Iterations, and products with X and its transpose.
    seconds : float
        Wall-clock time.
    status : Status
        The end of the run, in words.
    trace : Trace
        One row per iteration.
    scores : vector or None
        ``X coef``: an array of shape (n,) where the rows are in this process.
    planes : Planes or None
        The planes that made the bound, for a later run on the same design and risk; only if asked for.
    pairs : CurvaturePairs or None
        The curvature that L-BFGS has seen, for the same purpose.
    stationarity_gap : float
        For a tight bound, which has no ``lower_bound`` and no ``gap`` (both are NaN): what the last convex step could
        gain at most. NaN otherwise.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> clf = MeasureClassifier(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> result = clf.result_
    >>> result.gap == result.objective - result.lower_bound <= 1e-3
    True
    >>> bool(result.trace["passes"][-1] <= result.n_matvec + result.n_rmatvec)
    True
    """

    coef: Array
    objective: float
    lower_bound: float
    gap: float
    smoothing: float
    n_iter: int
    n_matvec: int
    n_rmatvec: int
    seconds: float
    status: Status
    trace: Trace = field(repr=False)
    scores: Array | None = field(default=None, repr=False)
    planes: Planes | None = field(default=None, repr=False)
    pairs: CurvaturePairs | None = field(default=None, repr=False)
    stationarity_gap: float = float("nan")

    def __post_init__(self) -> None:
        check_gap(self.objective, self.lower_bound)

    @property
    def reached(self) -> float:
        """The figure that a tolerance is held against: ``gap``, or ``stationarity_gap`` for a tight bound."""
        return self.stationarity_gap if np.isnan(self.gap) else self.gap
