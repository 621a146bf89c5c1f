r"""Newton's method on the smoothed objective, for risks whose curvature comes from few examples; d by d systems.

The smoothed risk of a top-k measure is piecewise quadratic. Only examples whose label is in doubt (0 < u_i < 1, the
*active* ones) have curvature, ``k_i = 4 c_i / (N^2 mu)``, and with them

    H = alpha I + X_a^T (diag(k) - k k^T / sum(k)) X_a                                       (newton-hessian)

is a generalised Hessian of J_mu: a centred covariance of the active rows. A step goes along ``p = -H^-1 g`` to a flat
point of the line, as in L-BFGS. Where mu shrinks to mu', g is that of J_mu' as it would be if the active set stayed
the same,

    g' = g + (mu/mu' - 1) X_a^T (g_a - k sum(g_a) / sum(k)),                                  (newton-predictor)

with g_a the risk's gradient on the active rows: the step follows the minimisers along mu. (The rows that are active at
mu' itself are a poor guide, because the ramps become narrower around scores that have not moved yet; with them a9a
takes up to 1.7 times the passes.)

Cost of an iteration: one product with X and one with its transpose, O(n) per trial of the line search, the Gram matrix
of the active rows and d^3/3 for the Cholesky factor. All rows are active at the start and few later on, so all the Gram
matrices of a run read as many entries as two to four passes do; they are not counted as passes.

It is for few features: then it needs a fraction of the passes of L-BFGS, the more so the smaller the tolerance. With
tens of thousands of features H could be used in conjugate gradients only, which seldom beat L-BFGS.

Log loss, squared hinge and error rates have the diagonal matrix alone, k_i being the second derivatives of the losses;
of the first two many rows are active throughout, but half a dozen steps are mostly enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.linalg.lapack import dposv

from .._arrays import Array
from ..measures import Curvature
from .base import ConvexSolver
from .line_search import check_flatness, first_step, flat_point
from .monitor import Descent, Monitor
from .objective import Point, RegularizedRisk, Run
from .result import Result, Status
from .smoothing import Adaptive, Smoothing

#: Most features: the matrix has 128 MiB, and its factor takes longer than most passes over data.
MOST_FEATURES = 4096
#: Rounding of a Gram matrix, relative to its trace.
ROUNDING = 1e-15
#: Iterations without visible progress after which there will be none.
PATIENCE = 30
#: Attempts to make the matrix positive definite, with a hundred times as much on the diagonal each time.
MOST_REPAIRS = 8


def _gradual() -> Adaptive:
    """Begin smoother and shrink in smaller steps than for L-BFGS: steps from one minimiser to the next are cheap."""
    return Adaptive(deviation=0.1, share=0.3, factor=0.5)


@dataclass(frozen=True, kw_only=True)
class Newton(ConvexSolver):
    """Semismooth Newton method on the smoothed objective, for few features and tight tolerances.

    For measures of a fixed number of predicted positives (PRBEP, precision@k, recall@k), error rates, log loss and
    squared hinge.

    Parameters
    ----------
    tol : float, default=1e-3
        Stop when the certified gap of the exact objective is at most this.
    max_iter : int, default=1000
        Most iterations.
    smoothing : Smoothing, default=Adaptive(deviation=0.1, share=0.3, factor=0.5)
        The rule for mu.
    flatness : float, default=0.5
        The line search ends where the slope is at most this fraction of the initial slope.
    max_planes : int, optional
        Most planes kept for the certificate; 40 by default, with which nothing is lost.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf import PRBEP
    >>> from smoothperf.design import as_design
    >>> from smoothperf.optimise.objective import RegularizedRisk
    >>> objective = RegularizedRisk(as_design(np.eye(4)), PRBEP().bind([1, 1, -1, -1]), 0.1)
    >>> result = Newton(tol=1e-6).run(objective)
    >>> result.status.name, round(result.objective, 4)
    ('CONVERGED', 0.05)
    """

    max_iter: int = 1000
    smoothing: Smoothing = field(default_factory=_gradual)
    flatness: float = 0.5

    in_weights: ClassVar[bool] = True
    quadratic_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flatness(self.flatness)

    def _minimise(self, run: Run, monitor: Monitor) -> Result:
        objective = run.objective
        if not objective.risk.has_curvature:
            raise ValueError(
                f"Newton needs second derivatives, which {type(objective.risk).__name__} lacks; use LBFGS."
            )
        if objective.design.shape[1] > MOST_FEATURES:
            raise ValueError(
                f"Newton solves systems in all features, of which X has {objective.design.shape[1]} "
                f"(at most {MOST_FEATURES}); use LBFGS."
            )
        # There are few iterations, and at a minimiser of J_mu the plane may close the gap: no bound is put off.
        descent = Descent(run, monitor, self.smoothing, tol=self.tol, patience=PATIENCE, at_once=True)
        point = run.starting_point(descent.mu)
        while True:
            status = descent.status(point)
            if status is not None:
                return monitor.result(status)
            if descent.is_stuck(point):
                return monitor.result(Status.PRECISION_LIMIT)

            mu = descent.mu
            curvature = objective.risk.curvature(point.scores, point.risk, point.mu, mu)
            line = run.along(point, direction(objective, point, curvature))
            origin = line.origin(mu)
            found = None
            if origin.derivative < 0.0:
                found = flat_point(line, origin, flatness=self.flatness, first=first_step(point, origin, farthest=1.0))
            if found is None and mu == point.mu:
                return monitor.result(Status.PRECISION_LIMIT)
            # Downhill for the old mu but not for the new one: stay, and take the new gradient here.
            following = line.point(found or origin)
            run.give_back(point, but=following)
            point = following


def direction(objective: RegularizedRisk, point: Point, curvature: Curvature) -> Array:
    """``-H^-1 g``, of (newton-hessian) and (newton-predictor)."""
    gradient = predicted_gradient(objective, point, curvature)
    hessian, trace = curvature.hessian(objective.design)
    np.fill_diagonal(hessian, hessian.diagonal() + objective.alpha)
    rounding = ROUNDING * trace
    for _ in range(MOST_REPAIRS):
        matrix = hessian.copy()  # which its factor overwrites
        np.fill_diagonal(matrix, hessian.diagonal() + rounding)
        _, solution, failed = dposv(matrix.T, gradient, lower=True, overwrite_a=True)
        if not failed:
            step: Array = -solution
            return step
        rounding *= 100.0  # which made it indefinite, as centring may when columns have large means
    return -gradient


def predicted_gradient(objective: RegularizedRisk, point: Point, curvature: Curvature) -> Array:
    """The gradient of J for the mu to follow, by (newton-predictor)."""
    if not np.any(curvature.change):
        return point.gradient
    coefficients = np.zeros(objective.design.shape[0])
    coefficients[curvature.rows] = curvature.change
    gradient: Array = point.gradient + objective.design.rmatvec(coefficients)
    return gradient
