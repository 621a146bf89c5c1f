"""
Shapes of a churn table
=======================

Who leaves? A table of customers has words, dates, numbers and holes. A model with a curve for each column is a sum that
can be looked at, column by column, and goes into a database as one expression.
"""

# %%
# Customers
# ---------
# Made up. New customers leave, and those whose contract has just ended after a year; few calls and many calls to the
# hotline are both bad signs. None of that is a straight line.

import sqlite3

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from smoothperf import MeasureClassifierCV, plots
from smoothperf.export import to_sql
from smoothperf.features import Shapes, TableEncoder
from smoothperf.scorers import get_scorer

rng = np.random.default_rng(0)
n = 6000
customers = pd.DataFrame(
    {
        "months": rng.gamma(2.0, 9.0, n).round(1),
        "calls": rng.gamma(2.0, 2.0, n).round(1),
        "contract": rng.choice(["monthly", "yearly", "business"], n, p=[0.5, 0.3, 0.2]),
        "gigabytes": rng.lognormal(1.5, 0.8, n).round(1),
        "age": rng.integers(18, 85, n).astype(float),
    }
)
logit = 2.0 * np.exp(-customers["months"] / 4.0) + 2.5 * np.exp(-(((customers["months"] - 13.0) / 2.0) ** 2))
logit += 0.5 * np.abs(customers["calls"] - 4.0) + 0.8 * (customers["contract"] == "monthly") - 3.2
left = rng.random(n) < 1.0 / (1.0 + np.exp(-logit))
customers.loc[rng.random(n) < 0.15, "gigabytes"] = np.nan

# %%
# Lines and curves
# ----------------
# The same measure, the same table: the average precision of new customers.

columns = TableEncoder()
lines = MeasureClassifierCV("roc_area", features=columns).fit(customers[:4000], left[:4000])
curves = MeasureClassifierCV("roc_area", features=make_pipeline(columns, Shapes()))
curves.fit(customers[:4000], left[:4000])
average_precision = get_scorer("average_precision")
for name, model in (("lines", lines), ("curves", curves)):
    print(f"{name:6}  average precision {average_precision(model, customers[4000:], left[4000:]):.3f}")

# %%
# What the columns add
# --------------------
# The column that moves scores most comes first; all have the same scale. What was put into the table is there again:
# the first months, the thirteenth, and calls that are few or many. The bands, of 95 %, are for the curve that other
# customers to train on would lead to on average. (``smoothperf report`` shows the same in a page.)

plots.shapes(curves, customers[4000:], figure=plt.figure(figsize=(9.0, 4.6), layout="constrained"))
plt.show()

# %%
# Into the database
# -----------------
# The whole model as one expression: scales, curves, words and missing values.

with sqlite3.connect(":memory:") as database:
    customers[4000:].to_sql("customers", database, index=False)
    scores = [score for (score,) in database.execute(f"SELECT {to_sql(curves)} FROM customers")]
print(f"largest difference of 2,000 scores: {np.abs(scores - curves.decision_function(customers[4000:])).max():.0e}")
