"""
Why w = 0, and what tight does about it
=======================================

Sometimes a fit with ``bound="convex"`` ends with a ``ZeroModelWarning``: the best weights are none at all, and the
default, ``bound="auto"``, goes on with the tight bound. Nothing is broken. The convex bound of the measure is so far
above it on noisy data that scores of zero are its true minimum, and the certificate proves it. This page shows that on
one figure, and what the tight bound does differently.
"""

# %%
# Noisy data
# ----------
# Twenty features, a tenth of the rows positive, and classes that overlap a lot.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from smoothperf import PRBEP, MeasureClassifier, ZeroModelWarning
from smoothperf.measures import get_measure


def make_noisy(n, rng):
    """Rows whose label is known for the most part from one direction, but never surely."""
    X = rng.normal(size=(n, 20))
    y = X[:, 0] + X[:, 1] + 2.0 * rng.normal(size=n)
    return X, y > np.quantile(y, 0.9)


rng = np.random.default_rng(0)
X_train, y_train = make_noisy(5000, rng)
X_new, y_new = make_noisy(20_000, rng)

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", ZeroModelWarning)
    convex = MeasureClassifier("prbep", alpha=1e-3, bound="convex").fit(X_train, y_train)
print(f"objective {convex.objective_:.4f}, certified gap {convex.gap_:.1e}, |w| = {np.linalg.norm(convex.coef_):.3f}")
print(f"{caught[0].category.__name__}: {str(caught[0].message)[:80]} ...")

# %%
# Along one line
# --------------
# Take good weights (those for ROC area), and multiply them by a number t. The order of the scores is the same for
# all t > 0, so one minus the measure is a step: high at 0, where all scores are equal, and lower everywhere else.
# The convex bound has to be above that step and convex, and here it rises from the start. It asks that *every*
# other labeling be worse by a margin, and with noise some labeling always is not.
#
# The tight bound takes off what the best labeling without the margin would have scored. It is not convex, but it
# comes down to the step as t grows.

direction = MeasureClassifier("roc_area", alpha=1e-3).fit(X_train, y_train).coef_[0]
scores = X_train @ direction / np.linalg.norm(direction)
risk = PRBEP().bind(y_train)
n, n_positive = y_train.size, int(y_train.sum())
lengths = np.linspace(0, 15, 91)


def best_labeling(scores):
    """Part that the tight bound takes off: (2/n) times the sum over positives of (largest scores - their own)."""
    top = np.sort(scores)[-n_positive:].sum()
    return 2 / n * (top - scores[y_train].sum())


convex_bound = np.array([risk.exact_value(t * scores) for t in lengths])
tight_bound = convex_bound - np.array([best_labeling(t * scores) for t in lengths])
error = 1 - get_measure("prbep").score(y_train, scores)

fig, ax = plt.subplots()
ax.plot(lengths, convex_bound, color="#0072B2", label="convex bound")
ax.plot(lengths, tight_bound, color="#D55E00", label="tight bound")
ax.plot([0, 0.05, 15], [1 - n_positive / n, error, error], color="#333333", linestyle=":", label="1 - PRBEP")
ax.plot(0, convex_bound[0], "o", color="#0072B2")
ax.annotate(
    "the minimum of the convex bound",
    (0, convex_bound[0]),
    xytext=(3.5, 1.05),
    arrowprops={"arrowstyle": "->", "color": "#0072B2"},
)
ax.set(xlabel="t, the length of the weights", ylabel="risk", ylim=(0.4, 2.0))
ax.legend(loc="upper left")
plt.show()

# %%
# What it is worth
# ----------------
# The tight fit starts from the minimiser for ROC area, and each of its steps is a convex problem with a
# certificate. What it ends at is a stationary point: the last step could gain ``stationarity_gap_`` at most.

tight = MeasureClassifier("prbep", alpha=1e-3, bound="tight").fit(X_train, y_train)
roc = MeasureClassifier("roc_area", alpha=1e-3).fit(X_train, y_train)
print(f"a step from here gains at most {tight.stationarity_gap_:.1e}")
for name, model in {"convex PRBEP": convex, "tight PRBEP": tight, "ROC area": roc}.items():
    print(f"{name:13} PRBEP on new rows: {get_measure('prbep').score(y_new, model.raw_scores(X_new)):.3f}")

# %%
# The convex model knows nothing (a tenth of the rows is positive, and its list is random). The tight one is as good
# as the data allow; so is ROC area here, whose convex risk never collapses. ``MeasureClassifierCV("prbep")`` tries
# all of them. The formulas are in :ref:`the mathematics <tight>`.
