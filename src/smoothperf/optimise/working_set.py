r"""Few columns at a time: where most weights are zero, X is read for the others only.

With absolute values in the penalty most weights of the minimiser are zero. So a small problem is solved first, on a
*working set* W of columns (copied: they are few); its weights, with zeros elsewhere, are feasible for all columns. The
planes of its certificate, with their weights, sum up to one plane in scores,

    R(f) >= <g, f> + b      for every f,       g = sum_k x_k g_k,  b = sum_k x_k b_k,            (plane-of-a-set)

which knows nothing of columns. One product ``a = X^T g`` makes it a plane for all weights: it bounds the whole problem,
and tells which columns were missed, ``|a_i| > s_i``. Those join W, and so on until the gap of the whole problem is
within the tolerance. (Johnson and Guestrin, 2015; Massias, Gramfort and Salmon, 2018, for smooth losses.)

Cost of a round: some dozens of iterations with the columns of W, one product with the transpose of X and a pass to
copy columns. Products with a part of the entries of X count as that part of a pass.

A round while many columns are missed ends as soon as it gains little: its last digits would be those of the wrong
columns. What it knows goes on to the next one, the plane of its certificate and the curvature on columns in both.

No column is dropped for good. The certificate leaves a set of planes, any of which may be the one of the minimiser: the
conjugate risk is not strongly convex in g unless the risk is smooth, so that a small gap does not confine g to a small
ball, which is what proofs that a weight *is* zero rest on. There are others, for penalties with curvature and gaps far
below the usual tolerance (docs/maths.md, screening).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from . import proximal
from .elastic_net import Separable
from .monitor import Monitor
from .objective import Estimate, RegularizedRisk
from .proximal_model import units_of
from .result import Result, Start, Status, TraceRow
from .segments import PenalisedRun

#: Columns from which on it pays.
MANY_COLUMNS = 1000
#: Columns to begin with at least, how many there are for each weight that is not zero, and by how many times their
#: number a round may add to them.
FIRST, PER_WEIGHT, GROWTH = 100, 2, 2
#: Tolerance of a round, as a share of the gap of the whole problem, and of the tolerance.
SHARE, LEAST_SHARE = 0.1, 0.9
#: As long as more columns are missed than this share of the set, a round ends when a few iterations have gained less
#: than a share of what it has gained.
MISSED, FEW, LITTLE = 0.02, 4, 0.1
#: Columns with an ``|a_i|`` beyond this share of s_i come first.
NEAR = 0.7
#: Most planes of a round.
PLANES = 40


def pays(run: PenalisedRun) -> bool:
    """Whether columns can be had, and enough of them pay for absolute values."""
    d = run.design.shape[1]
    return d >= MANY_COLUMNS and 2 * int(np.count_nonzero(run.penalty.l1)) >= d and run.design.gives_columns


def minimise(solver: proximal.ProximalSettings, run: PenalisedRun, monitor: Monitor, memory_size: int) -> Result:
    """Solve on few columns, look at all, and repeat."""
    penalty, d = run.penalty, run.design.shape[1]
    point = run.starting_point(monitor.first_mu(solver.smoothing))
    monitor.add_plane(point.slope, point.risk.plane, point.steepness, at_once=True)
    exact = run.exact_at(point)
    status = monitor.record(point.coef, point.coef_square, exact, point.value, point.mu, scores=point.scores)
    coef, slope, mu = point.coef, point.slope, point.mu
    size, share, iterations, passes = FIRST, SHARE, 0, _PartsOfPasses(run)
    plane, steepness = point.risk.plane, point.steepness
    units, metric, before, complete = units_of(run.design), None, np.arange(0), False
    while status is None:
        size = min(max(size, PER_WEIGHT * int(np.count_nonzero(coef))), d)
        chosen = _working_set(penalty, coef, slope, size)
        small = RegularizedRisk(run.design.columns(chosen), run.risk, penalty.some(chosen))
        inner = PenalisedRun(small, coef[chosen])
        watch = Monitor(
            inner,
            tol=max(share * monitor.gap, LEAST_SHARE * solver.tol),
            max_iter=max(0, solver.max_iter - iterations),
            max_planes=solver.max_planes or PLANES,
            callback=None if complete else _Slow(),
            start=Start(mu=mu),
            carry_gradients=True,
        )
        watch.add_plane(slope[chosen], plane, steepness)
        here = units[chosen]
        metric = proximal.Metric(memory_size, here) if metric is None else metric.moved(before, chosen, here)
        before = chosen
        ended = proximal.descend(solver, inner, watch, metric)
        result = watch.result(ended)
        passes.count(small)
        iterations += result.n_iter
        mu = result.smoothing

        coef = np.zeros(d)
        coef[chosen] = result.coef
        plane = watch.bundle.sum_of_planes()
        slope = run.space.slope(plane.gradient)
        steepness = float(np.linalg.norm(plane.gradient))
        monitor.bundle.forget()  # the new plane has what the last one could give
        monitor.add_plane(slope, plane, steepness, at_once=True)
        square = float(coef @ coef)
        smoothed = result.trace.rows[-1].smoothed_objective
        status = monitor.record(coef, square, Estimate(result.objective, result.objective), smoothed, mu)
        limit = penalty.s * (1.0 + 1e-9)
        missed = (slope < -limit) & (penalty.upper > 0.0) | (slope > limit) & (penalty.lower < 0.0)
        missed[chosen] = False
        n_missed = int(np.count_nonzero(missed))
        if status is None and iterations >= solver.max_iter:
            status = Status.ITERATION_LIMIT
        complete = n_missed <= MISSED * chosen.size
        if status is None and n_missed == 0:
            if result.status not in (Status.CONVERGED, Status.STOPPED):
                status = result.status
            share *= 0.3
        size = max(size, chosen.size + min(GROWTH * chosen.size, n_missed))
    return monitor.result(status)


class _Slow:
    """Says when iterations have begun to gain little."""

    def __init__(self) -> None:
        self._values: list[float] = []

    def __call__(self, row: TraceRow) -> bool:
        values = self._values
        values.append(row.smoothed_objective)
        if len(values) <= FEW:
            return False
        return values[-1 - FEW] - values[-1] < LITTLE * (values[0] - values[-1])


class _PartsOfPasses:
    """Adds products with some columns to those that an objective counts, as parts of a pass."""

    def __init__(self, run: PenalisedRun):
        self._objective = run.objective
        self._left = np.zeros(2)

    def count(self, small: RegularizedRisk) -> None:
        part = small.design.n_entries / max(1, self._objective.design.n_entries)
        self._left += part * np.array([small.n_matvec, small.n_rmatvec])
        matvecs, rmatvecs = (int(each) for each in self._left)
        self._left -= matvecs, rmatvecs
        self._objective.n_matvec += matvecs
        self._objective.n_rmatvec += rmatvecs


def _working_set(penalty: Separable, coef: Array, slope: Array, size: int) -> NDArray[np.intp]:
    """The columns with weights, those that pay for no absolute values, and those whose ``|a_i| / s_i`` is largest."""
    with np.errstate(divide="ignore", invalid="ignore"):
        closeness = np.abs(slope) / penalty.s
    closeness[(slope < 0.0) & (penalty.upper <= 0.0) | (slope > 0.0) & (penalty.lower >= 0.0)] = 0.0
    closeness[(coef != 0.0) | (penalty.s == 0.0)] = np.inf
    size = max(size, int(np.isinf(closeness).sum()))
    if size >= coef.size:
        return np.arange(coef.size)
    near = np.flatnonzero(closeness >= NEAR)  # so that few are sorted
    if near.size < size:
        near = np.arange(coef.size)
    return np.sort(near[np.argpartition(closeness[near], -size)[-size:]])
