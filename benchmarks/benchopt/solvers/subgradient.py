"""A plain subgradient method."""

import numpy as np
from benchmark_utils.risks import RISKS
from benchopt import BaseSolver
from benchopt.stopping_criterion import NoCriterion


class Solver(BaseSolver):
    """Steps of ``2 / (alpha (t + 1))``, and the mean of the iterates with weights t (Lacoste-Julien et al., 2012)."""

    name = "subgradient"
    sampling_strategy = "callback"
    stopping_criterion = NoCriterion(strategy="callback")

    def set_objective(self, X, y, measure, alpha):
        """Keep the data."""
        self.X, self.positive, self.risk, self.alpha = X, y > 0, RISKS[measure], alpha

    def run(self, cb):
        """Go on until it is enough."""
        w = self.mean = np.zeros(self.X.shape[1])
        t = 1
        while cb():
            _, g = self.risk(self.X @ w, self.positive)
            w = w - (self.alpha * w + self.X.T @ g) * 2.0 / (self.alpha * (t + 1))
            self.mean = self.mean + (w - self.mean) * 2.0 / (t + 2)
            t += 1

    def get_result(self):
        """Return the mean."""
        return {"beta": self.mean}
