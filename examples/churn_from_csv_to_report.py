"""
A churn table, from CSV to report
=================================

Customers of a telephone company, in a CSV file as people have them: with words, with empty fields, with a column
that only says who it is. Four commands make a model of it, judge it, and write a page to show around.
"""

# %%
# The file
# --------
# Generated here, so that there is something to read. Leaving has to do with complaints, with the kind of contract
# and with how long somebody has been a customer; and with luck.

import contextlib
import csv
import shlex
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import smoothperf
from smoothperf.cli import app

folder = Path(tempfile.mkdtemp())


def write_customers(path, n, rng):
    """A table of n customers with words and missing values."""
    contract = rng.choice(["monthly", "yearly", "two years"], n, p=[0.5, 0.3, 0.2])
    payment = rng.choice(["card", "transfer", "cheque"], n, p=[0.5, 0.4, 0.1])
    months = rng.gamma(2.0, 14.0, n).round()
    complaints = rng.poisson(0.6, n)
    gigabytes = rng.lognormal(1.5, 0.8, n).round(1)
    logit = -2.9 + 0.8 * complaints - 0.03 * months + 1.4 * (contract == "monthly") + 0.5 * (payment == "cheque")
    left = rng.random(n) < 1 / (1 + np.exp(-logit))
    columns = {
        "customer": [f"C{number}" for number in range(10_000, 10_000 + n)],
        "months": months.astype(int),
        "contract": contract,
        "payment": np.where(rng.random(n) < 0.08, "", payment),
        "complaints": complaints,
        "gigabytes": np.where(rng.random(n) < 0.15, "", gigabytes.astype(str)),
        "left": np.where(left, "yes", "no"),
    }
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


rng = np.random.default_rng(0)
write_customers(folder / "customers.csv", 4000, rng)
write_customers(folder / "new.csv", 2000, rng)
print("".join((folder / "customers.csv").open().readlines()[:5]))

# %%
# Train
# -----
# In a terminal these lines begin with ``smoothperf``. The sales team can call one customer in ten, so the measure
# is how many of the leavers are among them.


def run(command):
    """Run a command as in a terminal, but in this process, in the folder of the tables."""
    print("$ smoothperf", command)
    with contextlib.chdir(folder):
        app(shlex.split(command), standalone_mode=False)


run("train customers.csv --label left --measure recall@10% --folds 3 -o churn.model")

# %%
# Judge
# -----
# On customers that the model has not seen, with intervals. Words and empty fields are read as in training.

run("evaluate churn.model new.csv --label left --quiet --bootstrap 200")

# %%
# Show
# ----
# One file that needs no network: curves, scores by class, weights, certificate, and a threshold to move.

run("report churn.model new.csv --label left -o report.html")

# %%
# Whom to call: the tenth of the new customers with the highest scores, with a column to know them by.

run("predict churn.model new.csv --id customer --at rate=10% -o calls.csv --quiet")
print("".join((folder / "calls.csv").open().readlines()[:4]))

# %%
# In Python
# ---------
# The model file holds a scikit-learn classifier that takes data frames. Times the spread of a feature its weights say
# how much it moves the scores. Every customer has one of the words of a column, so only differences between these
# count: their weights are shown less their mean.

import pandas as pd

model = smoothperf.load(folder / "churn.model")
new = pd.read_csv(folder / "new.csv")
X, left = np.asarray(model.features_of(new)), new["left"] == "yes"
weights, names = model.coef_[0].copy(), model.feature_names
for column in ("contract", "payment"):
    words = [i for i, name in enumerate(names) if name.startswith(column)]
    weights[words] -= np.average(weights[words], weights=X[:, words].mean(axis=0))
contribution = weights * X.std(axis=0)
order = np.argsort(np.abs(contribution))

fig, (ax, beside) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=(3, 4))
colours = np.where(contribution[order] > 0, "#D55E00", "#0072B2")
ax.barh(names[order].astype(str), contribution[order], color=colours)
ax.set_xlabel("weight x spread: to the right, leaves")

ranked = left.to_numpy()[np.argsort(-model.decision_function(new))]
called = np.arange(1, ranked.size + 1) / ranked.size
beside.plot(called, ranked.cumsum() / ranked.sum(), color="#D55E00", label="called by score")
beside.plot([0, 1], [0, 1], color="#333333", linestyle=":", label="called at random")
beside.plot(0.1, ranked[: ranked.size // 10].sum() / ranked.sum(), "o", color="#D55E00")
beside.set(xlabel="share of customers called", ylabel="share of the leavers reached")
beside.legend(loc="lower right")
plt.show()
