"""
Kernel features where lines fail
================================

Rooms are comfortable where the heating suits the weather. That is nothing that one column says: the same heating is
right on one day and wrong on the next. No line tells it, and no sum of curves. Kernel features compare rows with some
of the training rows, and the model stays a linear one, with its certificate.
"""

# %%
# The choice
# ----------
# A list of features to choose from, the simplest first: all are tried on the same folds, and something less simple is
# taken only if it is better by more than a standard error. ``features="auto"`` has leaves of a random forest, too.

import matplotlib.pyplot as plt
import numpy as np

from smoothperf import MeasureClassifier, MeasureClassifierCV
from smoothperf.features import KernelFeatures, Shapes

rng = np.random.default_rng(0)
n = 1800
outside = rng.uniform(-10.0, 30.0, n)
heating = rng.uniform(0.0, 10.0, n)
wanted = 10.0 / (1.0 + np.exp((outside - 12.0) / 4.0))
comfortable = np.abs(heating - wanted) + 0.5 * rng.normal(size=n) < 1.5
X = np.column_stack([outside, heating])
new = slice(600, n)

kernel = KernelFeatures(n_components=100)
chosen = MeasureClassifierCV("roc_area", features=["linear", "additive", kernel], bound="convex", cv=3)
chosen.fit(X[:600], comfortable[:600])
for name, scores in chosen.feature_scores_.items():
    print(f"{name:16}  average precision {np.mean(scores):.3f} on rows held out")
print(f"ROC area of new rows: {chosen.score(X[new], comfortable[new]):.3f}")

# %%
# Where each says yes
# -------------------
# Columns as they are, curves, and kernel features: where the colour is blue, comfort is predicted. Dots are new rows.
# What curves add up to can only be a box with round corners.

ways = {"columns": None, "curves": Shapes(), "kernel features": KernelFeatures(3.0, n_components=100)}
across, up = np.meshgrid(np.linspace(-10.0, 30.0, 120), np.linspace(0.0, 10.0, 90))
grid = np.column_stack([across.ravel(), up.ravel()])
fig, panels = plt.subplots(1, 3, sharey=True, figsize=(9.0, 3.2))
for ax, (name, features) in zip(panels, ways.items(), strict=True):
    model = MeasureClassifier("log_loss", alpha=1e-4, features=features).fit(X[:600], comfortable[:600])
    model.set_operating_point(X[:600], comfortable[:600], rate=comfortable[:600].mean())
    called = model.predict(grid).reshape(across.shape)
    ax.contourf(across, up, called, levels=[-0.5, 0.5, 1.5], colors=["#F3E3D6", "#CFE3F2"])
    ax.scatter(*X[600:1000].T, c=np.where(comfortable[600:1000], "#0072B2", "#D55E00"), s=5)
    right = (model.predict(X[new]) == comfortable[new]).mean()
    ax.set_title(f"{name}: {right:.0%} right", fontsize="medium")
    ax.set_xlabel("outside, °C")
panels[0].set_ylabel("heating")
plt.show()

# %%
# What it costs
# -------------
# Kernel features are some hundred columns more, and nobody can look at what a column adds. ``smoothperf export`` writes
# them as an ONNX graph; SQL and scorecards are for lines and curves.
