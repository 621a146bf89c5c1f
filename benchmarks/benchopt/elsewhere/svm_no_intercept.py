"""smoothperf for benchopt's SVM without intercept, ``C sum max(0, 1 - y X b) + |b|^2 / 2``; for its ``solvers/``.

The risk of the error rate is the mean of ``max(0, 1 - 2 y X w)``, so b is 2 w, and all of it is C n times our objective
with ``alpha = 4 / (C n)``.
"""

from benchopt import BaseSolver

from smoothperf import LBFGS, ErrorRate
from smoothperf.design import as_design
from smoothperf.optimise.objective import RegularizedRisk


class Solver(BaseSolver):
    """L-BFGS on the smoothed hinge, to a certified gap of the hinge itself."""

    name = "smoothperf"
    requirements = ["pip::smoothperf"]
    sampling_strategy = "tolerance"

    def set_objective(self, X, y, C):
        """Bind the measure to the labels."""
        self.X, self.y, self.alpha = X, y, 4.0 / (C * X.shape[0])

    def run(self, tolerance):
        """Run until the certified gap of the mean is at most a tolerance."""
        objective = RegularizedRisk(as_design(self.X), ErrorRate().bind(self.y), self.alpha)
        self.result = LBFGS(tol=max(tolerance, 1e-9)).run(objective)

    def get_result(self):
        """Return the weights."""
        return {"beta": 2.0 * self.result.coef}
