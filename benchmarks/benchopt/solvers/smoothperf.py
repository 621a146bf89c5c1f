"""The solvers of this project, which prove how far they are from the optimum."""

from benchopt import BaseSolver
from benchopt.stopping_criterion import NoCriterion

from smoothperf import BMRM, LBFGS
from smoothperf.design import as_design
from smoothperf.measures import get_measure
from smoothperf.optimise.objective import RegularizedRisk

METHODS = {"lbfgs": LBFGS, "bmrm": BMRM}


class Solver(BaseSolver):
    """A run until the gap is certified to be at most 1e-6, with the best weights and the bound so far."""

    name = "smoothperf"
    requirements = ["pip::smoothperf"]
    parameters = {"method": ["lbfgs", "bmrm"]}
    sampling_strategy = "callback"
    stopping_criterion = NoCriterion(strategy="callback")

    def set_objective(self, X, y, measure, alpha):
        """Bind the measure to the labels."""
        self.X, self.y, self.measure, self.alpha = X, y, get_measure(measure), alpha

    def run(self, cb):
        """Run; after every iteration the best weights so far can be asked for."""
        objective = RegularizedRisk(as_design(self.X), self.measure.bind(self.y), self.alpha)

        def observe(row, weights):
            self.bound, self.weights = row.lower_bound, weights

        self.bound, self.weights = None, lambda best: objective.design.rmatvec(0.0 * self.y)
        solver = METHODS[self.method](tol=1e-6)
        result = solver.run(objective, observer=observe, callback=lambda row: not cb())
        self.bound, self.weights = result.lower_bound, lambda best: result.coef

    def get_result(self):
        """Return the best weights so far and what is proven."""
        return {"beta": self.weights(best=True).copy(), "lower_bound": self.bound}
