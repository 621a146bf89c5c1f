"""
False alarms below 1 %
======================

A monitor looks at machines all day. Almost always nothing is wrong, so a false positive rate of 5 % would mean
dozens of false alarms for every fault. Wanted is the recall at a false positive rate of at most 1 %, and of the
whole ROC curve only the leftmost hundredth counts.
"""

# %%
# Machines
# --------
# One machine in twenty has a fault, of two kinds. *Seized* bearings run hot and loud, and some other readings fall.
# *Worn* ones show in other readings, by less, and run a little cooler than usual. That the two pull in different
# directions is made up, and it is why training for one end of the curve pays here.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_curve

from smoothperf import MeasureClassifier
from smoothperf.scorers import get_scorer


def make_readings(n, rng):
    """Ten readings of each of n machines, and whether there is a fault."""
    X = rng.normal(size=(n, 10))
    fault = rng.random(n) < 0.05
    seized = fault & (rng.random(n) < 0.5)
    worn = fault & ~seized
    X[seized, :4] += [2.5, 2.0, -1.0, -1.0]
    X[worn, :6] += [-0.8, -0.3, 1.2, 1.2, 0.9, 0.9]
    return X, fault


rng = np.random.default_rng(1)
X_train, y_train = make_readings(12_000, rng)
X_held_out, y_held_out = make_readings(12_000, rng)
X_new, y_new = make_readings(40_000, rng)

# %%
# Three ways to train
# -------------------
# For all decisions alike (logistic regression), for the whole curve (ROC area), and for its first hundredth
# (``roc_area@0.01``, the tight bound).

models = {
    "logistic regression": LogisticRegression().fit(X_train, y_train),
    "ROC area": MeasureClassifier("roc_area", alpha=1e-3).fit(X_train, y_train),
    "ROC area up to 1 %": MeasureClassifier("roc_area@0.01", alpha=1e-2, bound="tight").fit(X_train, y_train),
}
goal = get_scorer("recall@fpr=1%")
for name, model in models.items():
    print(f"{name:20} finds {goal(model, X_new, y_new):.0%} of the faults with 1 % false alarms")

fig, ax = plt.subplots()
for (name, model), colour in zip(models.items(), ("#0072B2", "#009E73", "#D55E00"), strict=True):
    rates = roc_curve(y_new, model.decision_function(X_new))
    ax.plot(rates[0], rates[1], color=colour, label=name)
ax.axvline(0.01, color="#333333", linewidth=1, linestyle=":")
ax.set(xscale="log", xlim=(1e-4, 1), ylim=(0, 1.02), xlabel="false positive rate (logarithmic)", ylabel="recall")
ax.legend(loc="lower right")
plt.show()

# %%
# Where few false alarms are allowed, the third model finds far more faults: it has settled for the kind that can be
# told from healthy machines so surely. To the right it is the worst by far. Who asks for one end of a curve gets
# that end. Where all faults are of one kind, the three curves are about the same, and logistic regression is the
# safe choice: :doc:`on real data </does-it-pay>` that is the common case. ``MeasureClassifierCV("recall@fpr=1%")``
# lets held-out rows decide.
#
# The threshold
# -------------
# The curve is one thing, the alarm is another: a threshold has to be chosen, on rows that were not trained on, and
# must hold on new ones. The bound is exact for the false positive rate, an order statistic of the negatives'
# scores.

monitor = models["ROC area up to 1 %"].set_operating_point(X_held_out, y_held_out, fpr=0.01)
alarm = monitor.predict(X_new)
print(f"promised: at most {monitor.expected_['fpr']['high']:.2%} false alarms, with 90 % confidence")
print(f"on new rows: {alarm[~y_new].mean():.2%} false alarms, {alarm[y_new].mean():.0%} of the faults found")
