"""
A scorecard in points
=====================

Banks judge loans by a card: points for the bins of each column, added up by hand if need be. This page goes from a CSV
file to such a card, with effects that rise or fall as everybody expects, and shows what the card costs.
"""

# %%
# A file of loans
# ---------------
# Made up: income, age, years in the job and missed payments of 6,000 people, and whether the loan was paid back. Some
# have not said what they earn.

import math
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from smoothperf import MeasureClassifier
from smoothperf.export import to_scorecard
from smoothperf.features import Shapes
from smoothperf.scorers import get_scorer

rng = np.random.default_rng(0)
n = 6000
wealth = rng.normal(size=n)
loans = pd.DataFrame(
    {
        "income": np.round(np.exp(8.0 + 0.6 * wealth + 0.2 * rng.normal(size=n)), -2),
        "age": rng.integers(20, 70, size=n),
        "years in job": np.minimum(rng.exponential(6.0, size=n).round(), 30.0),
        "missed payments": rng.poisson(np.exp(-0.8 - 0.4 * wealth)),
    }
)
odds = 1.0 + 1.2 * wealth + 0.6 * np.tanh(loans["years in job"] / 4.0) - 0.9 * np.sqrt(loans["missed payments"])
odds -= ((loans["age"] - 48.0) / 18.0) ** 2 / 2.0
loans["paid back"] = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-odds)), "yes", "no")
loans.loc[rng.random(n) < 0.1, "income"] = np.nan
file = Path(tempfile.mkdtemp(), "loans.csv")
loans.to_csv(file, index=False)
print("".join(file.open().readlines()[:4]))

# %%
# Steps that rise
# ---------------
# ``Shapes(degree=0, linear=False)`` makes steps at quantiles of each column: what a card can hold. Of income and years
# in the job more may not be worse, and of missed payments not better; age is free. Log loss makes scores log odds, so
# that points can double them.

table = pd.read_csv(file)
X, y = table.drop(columns="paid back"), table["paid back"]
SIGNS = {"income": 1, "years in job": 1, "missed payments": -1}
steps = Shapes(n_knots=6, degree=0, linear=False, monotonic_cst=SIGNS)
card = MeasureClassifier("log_loss", alpha=1e-4, features=steps).fit(X[:4000], y[:4000])
print(f"{card.gap_:.1e}: the loss is at most so much above that of the best card with these steps")
print(to_scorecard(card, base_score=600, base_odds=1, points_to_double=20))

# %%
# What a card costs
# -----------------
# Curves may be finer than steps, and a line per column coarser. On new loans:

roc_area = get_scorer("roc_area")
curves = MeasureClassifier("log_loss", alpha=1e-4, features=Shapes(monotonic_cst=SIGNS)).fit(X[:4000], y[:4000])
for name, model in (("steps", card), ("curves", curves)):
    print(f"{name:6}  ROC area of new loans {roc_area(model, X[4000:], y[4000:]):.3f}")

# %%
# Points, and the odds that they stand for
# ----------------------------------------
# The points of new loans in ten groups of the same size, against the share of them that were paid back: the line is
# what the card promises.

points = 600.0 + 20.0 / math.log(2.0) * card.decision_function(X[4000:])
paid = (y[4000:] == "yes").to_numpy()
groups = np.array_split(np.argsort(points), 10)
fig, ax = plt.subplots()
line = np.linspace(points.min(), points.max(), 100)
ax.plot(line, 1.0 / (1.0 + 2.0 ** (-(line - 600.0) / 20.0)), color="#BBBBBB", label="what the points say")
ax.plot([points[g].mean() for g in groups], [paid[g].mean() for g in groups], "o", color="#0072B2", label="new loans")
ax.set(xlabel="points", ylabel="share paid back")
ax.legend(loc="lower right")
plt.show()
