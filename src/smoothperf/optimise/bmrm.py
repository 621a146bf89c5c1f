"""BMRM, the cutting-plane baseline: what SVM-Perf and BMRM do for a quadratic regulariser.

Keep every exact cutting plane; go where the regulariser plus the maximum of the planes is smallest,

    w = argmin (alpha/2) |w|^2 + max_k <a_k, w> + b_k,

add the exact plane there, and repeat: O(1 / (alpha eps)) iterations, one product with X and one with its transpose
each. The minimum of the model is the certificate's bound (:mod:`.certificate`), found in the dual by a
warm-started active-set method that is exact to a thousandth of the tolerance; the bound is true whatever the
accuracy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .base import ConvexSolver
from .monitor import Monitor
from .objective import Estimate, Run
from .result import Result

#: Memory for planes if the user does not say how many, in bytes.
PLANE_MEMORY = 1 << 28


@dataclass(frozen=True, kw_only=True)
class BMRM(ConvexSolver):
    """Bundle method for regularised risk minimisation (1-slack cutting planes) on the exact objective.

    Parameters
    ----------
    tol : float, default=1e-3
        Stop when the certified gap is at most this.
    max_iter : int, default=10000
        Most iterations.
    max_planes : int, optional
        Most planes kept; as many as fit in 256 MiB by default.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf import PRBEP
    >>> from smoothperf.design import as_design
    >>> from smoothperf.optimise.objective import RegularizedRisk
    >>> objective = RegularizedRisk(as_design(np.eye(4)), PRBEP().bind([1, 1, -1, -1]), 0.1)
    >>> result = BMRM(tol=1e-6).run(objective)
    >>> result.status.name, round(result.objective, 4)
    ('CONVERGED', 0.05)
    """

    def _default_planes(self, run: Run) -> int:
        """As many as fit in the memory for planes, but between 50 and 1000."""
        return int(np.clip(PLANE_MEMORY // (8 * run.space.length), 50, 1000))

    def _minimise(self, run: Run, monitor: Monitor) -> Result:
        penalty = run.penalty
        if not penalty.is_quadratic and penalty.has_free_weights:
            raise ValueError("BMRM needs a penalty of every feature, as its first planes say nothing else; use LBFGS.")
        coef, scores = run.starting_vector()
        while True:
            risk = run.risk.exact(scores)
            plane = risk.plane
            slope, steepness = run.slope_and_square(plane.gradient)
            # At once, as it decides where to go next.
            monitor.add_plane(slope, plane, math.sqrt(steepness), at_once=True)
            coef_square = run.square(coef)
            exact = run.regulariser(coef, coef_square) + risk.value
            status = monitor.record(coef, coef_square, Estimate(exact, exact), exact, 0.0)
            if status is not None:
                return monitor.result(status)
            coef = run.agreed_vector(monitor.bundle.dual_coef)
            scores = run.space.scores(coef)
