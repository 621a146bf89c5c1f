r"""Nesterov's accelerated gradient method on the smoothed objective: the algorithm of the paper's theorem.

    w'  = v - grad J_mu(v) / L
    v'  = w' + theta (1 - theta) / (theta^2 + theta') (w' - w),      theta'^2 = (1 - theta') theta^2 + q theta'

with ``q = alpha / L`` (strongly convex: the error falls by 1 - sqrt(alpha/L) a step) or ``q = 0`` (convex: by
1/k^2). ``L = L_f |X|^2 + alpha`` where L_f is the risk's Lipschitz constant in scores and |X| comes from power
iteration; if the risk does not change when all scores shift, the norm of the column-centred X is what counts, which
is smaller. With mu = eps/D the number of iterations is O*(min{1/eps, 1/sqrt(alpha eps)}).

One product with X and one with its transpose per iteration (and one more with the transpose where mu shrinks, and a
few for the norm of X at the start): the scores of v' follow from those of w' and w.
Backtracking on L happens along the gradient in score space, so it costs no pass over X either (the paper expected
extra cost).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from .._validation import choice
from .base import ConvexSolver
from .monitor import Descent, Monitor
from .objective import Line, Point, RegularizedRisk, Run, Trial
from .result import Result, Status
from .smoothing import Adaptive, Smoothing

#: Power iteration approaches |X|^2 from below; this is what it is taken to have missed by. Backtracking mends the rest.
SAFETY = 1.05
#: Iterations without visible progress after which there will be none; momentum may lead uphill for a while.
PATIENCE = 200


@dataclass(frozen=True, kw_only=True)
class Nesterov(ConvexSolver):
    """Accelerated gradient method on the smoothed objective, with the quadratic penalty.

    Parameters
    ----------
    tol : float, default=1e-3
        Stop when the certified gap of the exact objective is at most this.
    max_iter : int, default=10000
        Most iterations.
    smoothing : Smoothing, default=Adaptive()
        The rule for mu.
    form : {"strongly_convex", "convex"}, default="strongly_convex"
        Whether the momentum uses that J is alpha-strongly convex.
    backtracking : bool, default=True
        Adapt L to the curvature met along the way, instead of the global constant.
    max_planes : int, optional
        Most planes kept for the certificate; 40 by default, with which nothing is lost.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf import PRBEP
    >>> from smoothperf.design import as_design
    >>> from smoothperf.optimise.objective import RegularizedRisk
    >>> objective = RegularizedRisk(as_design(np.eye(4)), PRBEP().bind([1, 1, -1, -1]), 0.1)
    >>> result = Nesterov(tol=1e-6).run(objective)
    >>> result.status.name, round(result.objective, 4)
    ('CONVERGED', 0.05)
    """

    smoothing: Smoothing = field(default_factory=Adaptive)
    form: str = "strongly_convex"
    backtracking: bool = True

    quadratic_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("form", self.form, ("strongly_convex", "convex"))

    def _minimise(self, run: Run, monitor: Monitor) -> Result:
        # Backtracking finds its own L; it only needs a first guess.
        squared_norm = SAFETY * squared_spectral_norm(run.objective, accuracy=0.3 if self.backtracking else 1e-3)
        alpha = run.alpha
        descent = Descent(run, monitor, self.smoothing, tol=self.tol, patience=PATIENCE)
        mu = descent.mu
        lipschitz = run.risk.lipschitz(mu) * squared_norm + alpha
        theta = 1.0
        leading = run.starting_point(mu)  # v: where gradients are taken
        coef, scores = leading.coef, leading.scores  # w: the iterate
        while True:
            status = descent.status(leading, (coef, scores))
            if status is not None:
                return monitor.result(status)
            mu = descent.mu
            if mu != leading.mu:
                # Another function from here on: take its gradient, and begin without momentum.
                lipschitz = (lipschitz - alpha) * leading.mu / mu + alpha
                leading = run.evaluate(leading.coef, mu, leading.scores)
                theta = 1.0
            if descent.is_stuck(leading):
                return monitor.result(Status.PRECISION_LIMIT)

            line = run.along(leading, -leading.gradient)
            if self.backtracking:
                lipschitz, trial = _descend(line, leading, 0.8 * lipschitz)
            else:
                trial = None
            step = 1.0 / lipschitz
            new_coef = line.coef_at(step)
            new_scores = trial.scores if trial is not None else line.scores_at(step)
            q = alpha / lipschitz if self.form == "strongly_convex" else 0.0
            new_theta = _next_theta(theta, q)
            momentum = theta * (1.0 - theta) / (theta**2 + new_theta)
            leading = run.evaluate(
                new_coef + momentum * (new_coef - coef), mu, new_scores + momentum * (new_scores - scores)
            )
            coef, scores, theta = new_coef, new_scores, new_theta


def squared_spectral_norm(objective: RegularizedRisk, *, accuracy: float) -> float:
    """``|C^(1/2) X|^2`` with the sample weights C by power iteration; two passes over the data a round.

    For shift-invariant risks it is that of the X whose columns are centred, because their Hessian maps constants to
    0.
    """
    n_features = objective.design.shape[1]
    v = np.random.default_rng(0).standard_normal(n_features)
    estimate = 0.0
    for _ in range(100):
        (length,) = objective.agreed(float(np.linalg.norm(v)))
        if length == 0.0:
            break
        v = objective.rmatvec(objective.risk.weighed(objective.matvec(v / length)))
        previous, (estimate,) = estimate, objective.agreed(float(np.linalg.norm(v)))
        if estimate - previous <= accuracy * estimate:
            break
    return estimate


def _next_theta(theta: float, q: float) -> float:
    """Positive root of ``x^2 = (1 - x) theta^2 + q x``."""
    b = theta**2 - q
    return (math.sqrt(b**2 + 4.0 * theta**2) - b) / 2.0


def _descend(line: Line, start: Point, lipschitz: float) -> tuple[float, Trial]:
    """Smallest tried L for which the gradient step descends as much as theory asks, ``|grad|^2 / (2 L)``."""
    trial = line.at(1.0 / lipschitz, start.mu)
    square = -line.origin(start.mu).derivative
    for _ in range(30):  # more would only chase rounding
        if trial.value <= start.value - square / (2.0 * lipschitz) + 1e-14 * abs(start.value):
            break
        lipschitz *= 2.0
        trial = line.at(1.0 / lipschitz, start.mu)
    return lipschitz, trial
