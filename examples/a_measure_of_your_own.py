"""
A measure of your own
=====================

A lender must not miss defaults, and must not turn away too many who would pay. A regulator looks at the worse of the
two rates: the share of defaults that is missed, and the share of good loans that is refused. So the measure is
``1 - max(miss rate, refusal rate)``. The library does not have it, but two small classes make it one of its measures.
"""

# %%
# The score
# ---------
# A :class:`~smoothperf.measures.Measure` knows no data. It says what a score vector is worth, whether the measure cuts
# at score 0 (then a bias is trained), and which risk is minimised.

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from smoothperf import MeasureClassifier
from smoothperf.measures import Interval, Measure, Plane, Risk, RiskValue


@dataclass(frozen=True)
class WorseRate(Measure):
    """One less the larger of the shares of positives and of negatives that are on the wrong side of 0."""

    fits_bias = True
    works_in_groups = False  # its sums are those of the rows in memory
    name = "worse_rate"

    def risk(self, examples):
        """The risk for labels and weights."""
        return WorseRateRisk(examples)

    def score_of(self, examples, scores):
        """The measure itself."""
        predicted = scores > 0
        missed = examples.here(examples.positive & ~predicted) / examples.positive_weight
        refused = examples.here(~examples.positive & predicted) / examples.negative_weight
        return 1.0 - max(missed, refused)


# %%
# The risk
# --------
# It must be convex, and it should not be below ``1 - score``. The mean hinge loss of a class is no less than the share
# of it that is on the wrong side, so
#
# .. math:: R(f) = \max(H_+, H_-), \qquad H_\pm = \sum_{i \in \pm} c_i \max(0, 1 - y_i f_i) / \sum_{i \in \pm} c_i
#
# will do. A :class:`~smoothperf.measures.Risk` answers with *planes* that lie below R everywhere, from which the
# certificate is made. Here they are easily had: for any ``beta`` in [0, 1] and shares ``s_+ + s_- = 1``,
#
# .. math:: R(f) \ge \sum_\pm s_\pm \sum_{i \in \pm} c_i \beta_i (1 - y_i f_i) / \sum_{i \in \pm} c_i.
#
# *Exactly*, beta is 1 where the hinge is not 0, and the worse class has all. *Smoothed*, hinges are rounded off over a
# width of ``mu``, and the classes are mixed by a soft maximum. Both make R smaller, by ``mu / 2`` and ``mu log 2`` at
# most: the sum of these is ``mu D``.


class WorseRateRisk(Risk):
    """The larger of the mean hinge losses of both classes."""

    shift_invariant = False
    has_loss_free = False  # no tight bound
    diameter = 0.5 + np.log(2.0)

    def __init__(self, examples):
        super().__init__(examples)
        weights = np.ones(examples.count) if examples.weights is None else examples.weights
        positive = examples.positive
        self.y = np.where(positive, 1.0, -1.0)
        self.shares = np.where(positive, weights / examples.positive_weight, weights / examples.negative_weight)

    def exact(self, scores):
        """``R``, and a plane that touches it."""
        return self._planes(scores, mu=0.0)

    def exact_value(self, scores):
        """``R`` alone."""
        return self.exact(scores).value

    def smoothed(self, scores, mu, hint=None, direction=None, out=None):
        """``R_mu``, and a plane close to R."""
        return self._planes(scores, mu)

    def lipschitz(self, mu):
        """The largest curvature of ``R_mu``."""
        # 1 / mu each of the hinges and of the soft maximum, in units of the class that weighs less.
        return 2.0 / (mu * min(self.examples.positive_weight, self.examples.negative_weight))

    def _planes(self, scores, mu):
        x = 1.0 - self.y * scores
        hinges = np.maximum(x, 0.0)
        beta = np.clip(x / mu, 0.0, 1.0) if mu else (x > 0.0).astype(float)
        rounded = beta * x - mu / 2.0 * beta**2  # the hinges, or a little less
        sides = [self.examples.positive, ~self.examples.positive]
        losses = np.array([self.shares[side] @ rounded[side] for side in sides])
        worst = losses.max()
        if mu:
            mixed = np.exp((losses - worst) / mu)
            value, mixed = worst + mu * np.log(mixed.mean()), mixed / mixed.sum()
        else:
            value, mixed = worst, np.eye(2)[losses.argmax()]
        weights = self.shares * beta * np.where(self.examples.positive, *mixed)
        # Sums of n numbers, of sizes that add up to 1 + max|f| at most, are off by less than n units in the last place.
        plane = Plane(-self.y * weights, float(weights.sum()), rounding=2.0 * scores.size * np.finfo(float).eps)
        exact = max(self.shares[side] @ hinges[side] for side in sides)
        return RiskValue(plane, float(value), float(weights @ x), exact=Interval(exact, exact))


# %%
# Is it right?
# ------------
# Three things can be checked with a few random scores: the plane is below R everywhere, ``R - mu D <= R_mu <= R``, and
# the gradient is what differences say.

rng = np.random.default_rng(0)
y = np.repeat([1, -1], [30, 270])
risk = WorseRate().bind(y)
for mu in (0.0, 0.1):
    here, there, step = rng.normal(size=(3, 300))
    value = risk.smoothed(here, mu) if mu else risk.exact(here)
    assert value.plane.gradient @ there + value.plane.offset <= risk.exact_value(there)
    assert -1e-12 <= risk.exact_value(here) - value.value <= mu * risk.diameter
ahead, behind = (risk.smoothed(here + side * 1e-6 * step, mu).value for side in (1, -1))
print(f"derivative {value.plane.gradient @ step:.7f}, by differences {(ahead - behind) / 2e-6:.7f}")

# %%
# Trained and certified
# ---------------------
# That is all. The measure is trained like those of the library: by any solver but Newton's method, with every penalty,
# to a certified gap.


def make_loans(n):
    """Six features, and whether a loan defaults: one in ten does."""
    defaults = rng.random(n) < 0.1
    X = rng.normal(size=(n, 6)) * np.where(defaults, 1.6, 1.0)[:, None]
    X[defaults, :2] += [1.3, -0.8]
    return X, defaults


X, y = make_loans(5000)
X_new, y_new = make_loans(20_000)
models = {
    "worse rate": MeasureClassifier(WorseRate(), alpha=1e-3, tol=1e-4),
    "balanced error rate": MeasureClassifier("balanced_error_rate", alpha=1e-3, tol=1e-4),
    "error rate": MeasureClassifier("error_rate", alpha=1e-3, tol=1e-4),
}
for name, model in models.items():
    worth = WorseRate().score(y_new, model.fit(X, y).decision_function(X_new))
    print(f"{name:20}  gap {model.gap_:.1e} after {model.n_iter_:2} iterations, {worth:.3f} on new loans")
other = MeasureClassifier(WorseRate(), alpha=1e-3, tol=1e-4, solver="bmrm", max_iter=2000).fit(X, y)
print(f"cutting planes agree: {other.objective_ - models['worse rate'].objective_:.1e}")

# %%
# The two rates
# -------------
# What the sum of all errors wants is to refuse nobody. The mean of both rates may trade one for the other; the worse of
# them is lowest where they are about the same.

fig, ax = plt.subplots()
rates = []
for model in models.values():
    predicted = model.predict(X_new)
    rates.append((np.mean(~predicted[y_new]), np.mean(predicted[~y_new])))
places = np.arange(len(models))
looks = [(-0.2, "#D55E00", "defaults missed"), (0.2, "#0072B2", "good loans refused")]
for (offset, color, label), values in zip(looks, zip(*rates, strict=True), strict=True):
    ax.bar(places + offset, values, 0.38, color=color, label=label)
ax.set_xticks(places, [f"trained for\n{name}" for name in models])
ax.set(ylabel="rate on new loans")
ax.legend()
plt.show()
