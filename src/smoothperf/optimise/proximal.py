r"""L-BFGS for penalties that are not quadratic: a proximal step in its metric, then a search on the line through it.

The smoothed risk alone is modelled, Omega is taken as it is:

    z = argmin  <a, z - w> + (1/2) <z - w, B (z - w)> + Omega(z),       a = X^T grad R_mu            (proximal-step)

B is the metric of L-BFGS from the last m pairs ``s = w' - w``, ``y = a' - a`` in compact form (Byrd, Nocedal and
Schnabel, 1994),

    B = sigma I - [sigma S, Y] K^-1 [sigma S, Y]^T,       K = [[sigma S^T S, L], [L^T, -D]],             (compact)

with ``sigma = <y, y> / <s, y>`` of the last pair, L the part of ``S^T Y`` below its diagonal D. The model has low rank
beside sigma, so that a coordinate of it costs O(m) (:mod:`smoothperf.kernels._quadratic_model`). Exact zeros of z are
those of the next w where the search takes the whole step, and that is the first one that it tries. Where few rows have
curvature, B is the Hessian itself (:mod:`smoothperf.optimise.row_model`).

As for L-BFGS itself: one product with X an iteration, one with its transpose, O(n) per trial of the search; and
O(m^2 d) for the model, of which weights that stay zero take one sweep.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from .elastic_net import Separable
from .line_search import flat_point
from .monitor import Descent, Monitor
from .objective import Point
from .proximal_model import no_columns, proximal_step, units_of
from .result import CurvaturePairs, Result, Status
from .row_model import RowModel
from .segments import PenalisedRun
from .smoothing import Smoothing

#: Iterations without visible progress after which there will be none.
PATIENCE = 30
#: Number of smaller mu that are tried then.
RETRIES = 3
#: A pair shows curvature if ``<s, y>`` is above rounding.
ROUNDING = 1e-12
#: The model is solved until a sweep over all weights gains no more than this share of what all sweeps have. (Measured
#: with error rate and ROC area: with 1e-3, as many passes take up to 2.6 times as long where columns are many. Where
#: they are few, more accurate steps cost little, and the last digits of the bound need them.)
MODEL_ACCURACY, ACCURACY_OF_FEW = 1e-2, 1e-3
#: Up to so many weights, more pairs than usual are kept, as many as there may be weights: all of B is found out then,
#: and its minimum by linear systems. (Measured with F1 and partial ROC area on eleven fits that take hundreds of
#: iterations: with 60 pairs 4% more of them, and 1000 iterations end at 2e-2 instead of 1.2e-3 for 100 columns that
#: resemble each other.)
FEW_WEIGHTS = 120
#: Jump of J_mu, relatively, where bins of scores move; and after how many steps in a row of which only
#: derivatives say that they lead down mu is made smaller, where there are none. (Measured with ROC area along paths
#: with an l1_ratio of 1: on a9a 566 passes instead of 1020, on mammography 324 instead of 414, elsewhere the same.)
NOISE_OF_BINS, MOST_BLIND = 1e-7, 2


class ProximalSettings(Protocol):
    """Hyper-parameters of :class:`~smoothperf.LBFGS` that count here."""

    @property
    def tol(self) -> float:
        """Largest gap."""

    @property
    def max_iter(self) -> int:
        """Most iterations."""

    @property
    def max_planes(self) -> int | None:
        """Most planes of the certificate."""

    @property
    def smoothing(self) -> Smoothing:
        """The choice of mu."""

    @property
    def flatness(self) -> float:
        """The flatness that ends a search of a line."""


def minimise(solver: ProximalSettings, run: PenalisedRun, monitor: Monitor, memory_size: int) -> Result:
    """Go downhill until the monitor is content or nothing helps."""
    if run.space.length <= FEW_WEIGHTS:
        memory_size = max(memory_size, FEW_WEIGHTS)
    metric = Metric(memory_size, units_of(run.design))
    if monitor.pairs is not None:
        metric.adopt(monitor.pairs)
    status = descend(solver, run, monitor, metric)
    return monitor.result(status, metric.pairs())


def descend(solver: ProximalSettings, run: PenalisedRun, monitor: Monitor, metric: Metric) -> Status:
    """Report points to the monitor until it says how the run ended, or nothing helps."""
    leads = run.leads
    descent = Descent(run, monitor, solver.smoothing, tol=solver.tol, patience=PATIENCE)
    point = run.starting_point(descent.mu)
    finer = _Finer(solver.smoothing)
    blind = 0
    while True:
        status = descent.status(point)
        if status is not None:
            return status
        mu, is_stuck = descent.mu, descent.is_stuck(point)
        if is_stuck or blind >= MOST_BLIND:
            mu, blind = finer.after(point.mu), 0
            if is_stuck and mu == point.mu:
                return Status.PRECISION_LIMIT

        # In a group all take the first member's step, so that the others need none of their own.
        newton = metric.rows.step(run, point, mu, metric.units)
        target = newton if newton is not None else metric.step(point, run.penalty) if leads else point.coef
        line = run.towards(point, target)
        origin = line.origin(mu)
        if origin.derivative >= 0.0:
            trial = origin
            metric.clear()
        else:
            found = flat_point(line, origin, flatness=solver.flatness)
            if found is not None and found.value >= origin.value:
                found = None  # Nothing was gained. (Measured with bins: runs crept on by 1000 steps of 1e-4.)
            if found is None and (again := line.at(0.0, mu)).derivative < 0.0:
                # Bins of scores (measures/bins.py) lie elsewhere on every line, which moves J_mu a little, and absolute
                # values ask for descents that are smaller still: there only derivatives can tell.
                found = flat_point(line, again, flatness=solver.flatness, noise=NOISE_OF_BINS)
                blind += 1
            else:
                blind = 0
            if found is None and newton is None:
                if run.agreed(len(metric)) == (0.0,):
                    mu = finer.after(mu)
                    if mu == origin.mu:
                        return Status.PRECISION_LIMIT
                    origin = line.at(0.0, mu)
                metric.clear()
            trial = found or origin
        if newton is not None:
            metric.rows.learn(trial.step)
        following = line.point(trial)
        if leads and following.mu == point.mu and trial.step > 0.0:
            metric.push(following.coef - point.coef, following.slope - point.slope)
        point = following


class _Finer:
    """Smaller mu for a run that is stuck.

    Where bins of scores (measures/bins.py) are too coarse for the last digits, there are none for a small mu.
    """

    def __init__(self, smoothing: Smoothing):
        self._smoothing = smoothing
        self._left = RETRIES

    def after(self, mu: float) -> float:
        """The next one; the same if there have been several, or the rule has only one."""
        if self._left == 0:
            return mu
        self._left -= 1
        return self._smoothing.following(mu, slack=math.inf, gap=1.0)


class Metric:
    """B of (compact), from pairs that are scaled so that ``<s, y> = 1``.

    Parameters
    ----------
    size : int
        Most pairs.
    units : ndarray of shape (d,)
        In which weights are measured (:mod:`smoothperf.optimise.proximal_model`).

    Attributes
    ----------
    units
        The same.
    rows : RowModel
        The model in its place where few rows have curvature.
    """

    def __init__(self, size: int, units: Array):
        self._size = size
        self.units = units
        self._steps: list[Array] = []  # oldest first
        self._changes: list[Array] = []
        self._seen = 0
        self.rows = RowModel()

    def __len__(self) -> int:
        return len(self._steps)

    def clear(self) -> None:
        """Forget all pairs."""
        self._steps.clear()
        self._changes.clear()

    def push(self, step: Array, change: Array) -> None:
        """Remember a pair if it shows curvature; as many as L-BFGS does."""
        self._accept(self.units * step, change / self.units)
        self._seen += 1
        kept = min(self._size, self._seen // 3 + 3)
        del self._steps[:-kept], self._changes[:-kept]

    def _accept(self, step: Array, change: Array) -> None:
        curvature = float(step @ change)
        if curvature > ROUNDING * math.sqrt(float(step @ step) * float(change @ change)):
            scale = 1.0 / math.sqrt(curvature)
            self._steps.append(scale * step)
            self._changes.append(scale * change)

    def pairs(self) -> CurvaturePairs | None:
        """Return what is remembered, for a later run; the changes are those of the risk alone."""
        if not self._steps:
            return None
        steps, changes = np.array(self._steps) / self.units, np.array(self._changes) * self.units
        return CurvaturePairs(steps, changes, list(range(len(self))), 0.0)

    def adopt(self, pairs: CurvaturePairs) -> None:
        """Begin with the pairs of an earlier run."""
        chosen = pairs.order[-self._size :]
        self._seen = 3 * max(0, len(chosen) - 3)
        for earlier in chosen:
            step = pairs.steps[earlier]
            self._accept(self.units * step, (pairs.changes[earlier] - pairs.alpha * step) / self.units)

    def moved(self, old: NDArray[np.intp], new: NDArray[np.intp], units: Array) -> Metric:
        """Return the same metric on other columns, both in ascending order; pairs are zero on those that come in."""
        other = Metric(self._size, units)
        other._seen, other.rows = self._seen, self.rows
        _, there, here = np.intersect1d(old, new, assume_unique=True, return_indices=True)
        for step, change in zip(self._steps, self._changes, strict=True):
            s, y = np.zeros((2, new.size))
            s[here], y[here] = step[there], change[there]
            other._accept(s, y)
        return other

    def step(self, point: Point, penalty: Separable) -> Array:
        """``z`` of (proximal-step), about."""
        units = self.units
        slope = point.slope / units
        if not self._steps:
            sigma = _first_curvature(point.value, slope, penalty.s / units)
            low_rank = np.empty((slope.size, 0)), np.empty((slope.size, 0))
        else:
            sigma, low_rank = self._compact()
        accuracy = ACCURACY_OF_FEW if slope.size <= FEW_WEIGHTS else MODEL_ACCURACY
        return proximal_step(point.coef, penalty, units, slope, sigma, low_rank, no_columns(slope.size), accuracy)

    def _compact(self) -> tuple[float, tuple[Array, Array]]:
        """sigma, U and M with ``B = sigma I + U M^T``."""
        S, Y = np.array(self._steps), np.array(self._changes)
        k = len(self)
        sigma = float(Y[-1] @ Y[-1])  # as <s, y> = 1
        u = np.concatenate([S, Y])
        inner = S @ u.T
        L = np.tril(inner[:, k:], -1)
        middle = np.block([[inner[:, :k] * sigma, L], [L.T, -np.eye(k)]])
        scale = np.repeat([sigma, 1.0], k)
        m = -(scale[:, None] * np.linalg.solve(middle, scale[:, None] * u))
        if 2 * k > u.shape[1]:  # all of B has fewer numbers
            return sigma, (u.T @ m, np.eye(u.shape[1]))
        return sigma, (np.ascontiguousarray(u.T), np.ascontiguousarray(m.T))


def _first_curvature(value: float, slope: Array, s: Array) -> float:
    """The sigma whose step makes the tangent of J_mu zero, as J is never less."""
    reduced = np.maximum(np.abs(slope) - s, 0.0)
    square = float(reduced @ reduced)
    return max(square / max(value, 1e-300), 1e-12) if square > 0.0 else 1.0
