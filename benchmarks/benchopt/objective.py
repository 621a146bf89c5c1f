"""A linear model of least regularised risk, for ROC area or the precision/recall break-even point."""

import numpy as np
from benchmark_utils.risks import RISKS
from benchopt import BaseObjective


class Objective(BaseObjective):
    """``alpha / 2 |beta|^2 + R(X beta)``, and how much of it is proven to be above the optimum."""

    name = "Linear ROC area and PRBEP"
    min_benchopt_version = "1.7"
    test_dataset_name = "generated"
    parameters = {"measure": ["roc_area", "prbep"], "alpha": [1e-3]}

    def set_data(self, X, y):
        """Keep the data; labels are -1 and 1."""
        self.X, self.y = X, y

    def get_objective(self):
        """Return what solvers get."""
        return {"X": self.X, "y": self.y, "measure": self.measure, "alpha": self.alpha}

    def evaluate_result(self, beta, lower_bound=None):
        """Return the value, the bound, and their difference; the last two are NaN for solvers without a bound."""
        risk, _ = RISKS[self.measure](self.X @ beta, self.y > 0)
        value = float(0.5 * self.alpha * beta @ beta + risk)
        bound = np.nan if lower_bound is None else float(lower_bound)
        return {"value": value, "lower_bound": bound, "certified_gap": value - bound}

    def get_one_result(self):
        """Return a result of the right shape."""
        return {"beta": np.zeros(self.X.shape[1])}
