"""smoothperf for benchopt's logreg_l2, ``sum log(1 + exp(-y X b)) + lmbd / 2 |b|^2``; for its ``solvers/``.

That is n times the mean log loss with ``alpha = lmbd / n``. Without an intercept, as ours is regularised.
"""

from benchopt import BaseSolver

from smoothperf import LBFGS, LogLoss
from smoothperf.design import as_design
from smoothperf.optimise.objective import RegularizedRisk


class Solver(BaseSolver):
    """L-BFGS to a certified gap."""

    name = "smoothperf"
    requirements = ["pip::smoothperf"]
    sampling_strategy = "tolerance"

    def skip(self, X, y, lmbd, fit_intercept):
        """Say what is not there."""
        return fit_intercept, "the intercept would be regularised" if fit_intercept else None

    def set_objective(self, X, y, lmbd, fit_intercept):
        """Bind the loss to the labels."""
        self.X, self.y, self.alpha = X, y, lmbd / X.shape[0]

    def run(self, tolerance):
        """Run until the certified gap of the mean is at most a tolerance."""
        objective = RegularizedRisk(as_design(self.X), LogLoss().bind(self.y), self.alpha)
        self.result = LBFGS(tol=max(tolerance, 1e-12)).run(objective)

    def get_result(self):
        """Return the weights."""
        return {"beta": self.result.coef}
