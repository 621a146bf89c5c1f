"""
A monotone scorecard
====================

A lender wants a score for loans. It may not say that somebody is a better risk *because* a payment was missed: no
customer would accept it, nor would a supervisor. But models find such things, and for a reason that more rows do not
cure: they learn from loans that were granted. This page trains with bounds on the signs, and with few features.
"""

# %%
# Loans that were granted
# -----------------------
# A clerk decided on past applications, and saw more than the file has: the person. Applicants with missed payments
# and overdrafts got their loan only if they made a good impression, and those pay back. So among the loans that were
# granted, an overdraft looks like a good sign. The new score has to do without the clerk: it is for all applicants.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from smoothperf import MeasureClassifier, regularization_path
from smoothperf.scorers import get_scorer


def make_applicants(n, rng):
    """The file on n applicants, whether the clerk said yes, and whether the loan is lost, or would be."""
    wealth, carelessness, impression = rng.normal(size=(3, n))
    file = pd.DataFrame(
        {
            "income": np.exp(0.5 * wealth + 0.2 * rng.normal(size=n)),
            "savings": np.exp(0.6 * wealth - 0.3 * carelessness + 0.6 * rng.normal(size=n)),
            "years in job": rng.exponential(5.0, size=n),
            "debt ratio": np.exp(-0.3 * wealth + 0.4 * rng.normal(size=n)),
            "card use": 1 / (1 + np.exp(-0.8 * carelessness + 0.6 * rng.normal(size=n))),
            "missed payments": rng.poisson(np.exp(0.7 * carelessness - 0.9)),
            "overdrafts": rng.poisson(np.exp(0.5 * carelessness - 0.5)),
            "enquiries": rng.poisson(1.5, size=n),
            "age": rng.integers(20, 66, size=n),
            "lives in a city": rng.random(n) < 0.4,
        }
    )
    past = file["missed payments"] + file["overdrafts"]
    granted = 0.8 * past + 0.2 * file["enquiries"] - 0.5 * wealth - 1.5 * impression < 1.2
    odds = 0.8 * carelessness - 0.8 * wealth + 0.1 * past + 0.1 * file["enquiries"] - 1.5 * impression - 3.0
    lost = rng.random(n) < 1 / (1 + np.exp(-odds))
    return file, granted.to_numpy(), lost.to_numpy()


rng = np.random.default_rng(0)
applied, granted, lost = make_applicants(12_000, rng)
X_train, y_train = applied[granted], lost[granted]
X_new, granted_new, y_new = make_applicants(50_000, rng)
print(f"{y_train.size:,} loans were granted, {y_train.mean():.1%} were lost; of all: {y_new.mean():.1%}")

# %%
# Bounds, by name
# ---------------
# The signs that everybody agrees on; age and city are left free. ``set_output`` keeps the names of the columns through
# the scaler, so that ``coef_bounds`` can use them. What is printed is the ROC area of new applicants: of all, and of
# those to whom the clerk would say yes.

UP, DOWN = (0.0, None), (None, 0.0)  # speaks for a loss, or against
SIGNS = {
    "income": DOWN,
    "savings": DOWN,
    "years in job": DOWN,
    "debt ratio": UP,
    "card use": UP,
    "missed payments": UP,
    "overdrafts": UP,
    "enquiries": UP,
}

scaler = StandardScaler().set_output(transform="pandas").fit(X_train)
X_train, X_new = scaler.transform(X_train), scaler.transform(X_new)

models = {
    "logistic regression": LogisticRegression(),
    "ROC area": MeasureClassifier("roc_area", alpha=1e-2),
    "log loss, with bounds": MeasureClassifier("log_loss", alpha=1e-3, coef_bounds=SIGNS),
    "ROC area, with bounds": MeasureClassifier("roc_area", alpha=1e-2, coef_bounds=SIGNS),
}
roc_area = get_scorer("roc_area")
for name, model in models.items():
    model.fit(X_train, y_train)
    of_all, of_some = roc_area(model, X_new, y_new), roc_area(model, X_new[granted_new], y_new[granted_new])
    print(f"{name:21}  {of_all:.3f} of all, {of_some:.3f} of those with a yes")

# %%
# What the columns weigh
# ----------------------
# Without bounds four weights have a sign that nobody could explain to a customer: that of the years in a job by
# chance, the others because of the clerk. For those whom the clerk would say yes to, that is the better model. With
# bounds these weights are exactly zero, and all applicants together are ordered much better. It is so with log loss,
# too: the bounds help here, not the measure.

free, bounded = models["ROC area"].coef_[0], models["ROC area, with bounds"].coef_[0]
allowed = [SIGNS.get(column, (None, None)) for column in X_train.columns]
wrong = [(low == 0.0 and w < 0) or (high == 0.0 and w > 0) for (low, high), w in zip(allowed, free, strict=True)]

places = np.arange(free.size)
fig, ax = plt.subplots()
ax.barh(places - 0.18, free, height=0.34, color="#BBBBBB", label="without bounds")
ax.barh(places[wrong] - 0.18, free[wrong], height=0.34, color="#D55E00", label="without bounds, of the wrong sign")
ax.barh(places + 0.18, bounded, height=0.34, color="#0072B2", label="with bounds")
ax.axvline(0.0, color="#333333", linewidth=1)
ax.set_yticks(places, X_train.columns)
ax.invert_yaxis()
ax.set(xlabel="weight; to the right it speaks for a loss")
ax.legend(loc="lower right")
plt.show()

# %%
# Few columns
# -----------
# ``l1_ratio=1`` leaves out what does not pay, and bounds hold all the same. A path shows in which order columns come
# in, from right to left, and what they are worth. (It is judged by the new applicants here, to show that; to choose
# from a path, take a validation set.) Every model on it has a certificate.

found = regularization_path(
    X_train, y_train, l1_ratio=1.0, coef_bounds=SIGNS, n_alphas=30, alpha_ratio=1e-2, validation=(X_new, y_new)
)
print(f"{found.alphas.size} models, each at most {found.gaps.max():.1e} above its optimum")

fig, (above, below) = plt.subplots(2, 1, sharex=True, height_ratios=(2, 3), figsize=(7.0, 5.6))
above.plot(found.alphas, found.validation_scores, color="#333333")
above.set(ylabel="ROC area")
colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
entered = [place for place in np.argsort(found.coefs[-1])[::-1] if found.coefs[:, place].any()]
for colour, place in zip(colours, entered, strict=False):
    below.plot(found.alphas, found.coefs[:, place], color=colour, label=X_train.columns[place])
below.axhline(0.0, color="#333333", linewidth=0.5)
below.set(xscale="log", xlabel="alpha", ylabel="weight")
below.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
plt.show()

# %%
# On your own data
# ----------------
# Here the clerk was made to hide what missed payments mean, and the new score to be for others than those who got a
# loan. Where new rows are like the training rows, and these are many, do not expect bounds to gain anything but a
# model that can be explained. Bounds that are *not* true cost what they cost: compare both on rows held out.
#
# Here three columns do nearly as well as five. :doc:`/sparse-models` has more: columns that are always in, several
# ratios to choose from, and how to begin with the score that is in use.
