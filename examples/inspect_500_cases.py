"""
Inspect 500 cases
=================

An insurer can look closely at 500 of 25,000 claims. What counts is how many of these 500 turn out to be fraud:
*precision@500*. How the other 24,500 are ordered does not matter at all, but most models spend their weights on it.
"""

# %%
# Claims
# ------
# Three percent are fraudulent, and there are two kinds of them. *Rings* claim for accidents that never happened:
# few, but with a clear pattern. *Exaggerators* add something to a true claim: more of them, hard to tell from the
# honest, and in two features on the other side. A linear model cannot have both.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from smoothperf import MeasureClassifier, MeasureClassifierCV
from smoothperf.scorers import get_scorer


def make_claims(n, rng):
    """Twelve features and a label for each of n claims."""
    X = rng.normal(size=(n, 12))
    fraud = rng.random(n) < 0.03
    ring = fraud & (rng.random(n) < 0.4)
    exaggerated = fraud & ~ring
    X[ring, :3] += [2.2, 2.2, -1.0]
    X[exaggerated, :6] += [-0.6, -0.6, 1.6, 0.9, 0.9, 0.5]
    return X, np.where(fraud, "fraud", "honest")


rng = np.random.default_rng(0)
X_train, y_train = make_claims(25_000, rng)
X_new, y_new = make_claims(25_000, rng)

# %%
# Two models
# ----------
# Logistic regression does justice to all claims, as well as it can. The other model is trained for the first 500
# places. Its risk is the *tight* bound of 1 - precision@500; :ref:`sphx_glr_gallery_why_w_is_zero.py` says why not
# the convex one.

everywhere = LogisticRegression().fit(X_train, y_train)
at_the_top = MeasureClassifier("precision@500", alpha=1e-3, bound="tight", pos_label="fraud").fit(X_train, y_train)

precision_at_500 = get_scorer("precision@500", pos_label="fraud")
for name, model in {"logistic regression": everywhere, "trained for precision@500": at_the_top}.items():
    print(f"{name:25}  {500 * precision_at_500(model, X_new, y_new):3.0f} of 500 new cases are fraud")

# %%
# The list, from the top
# ----------------------
# Trained for the top of the list, the model finds the rings, and lets the exaggerators go. Further down it is worse
# than logistic regression, and nobody will look there. It was told how many cases there is time for.


def found(scores):
    """Number of frauds among the first 1, 2, 3, ... cases."""
    return np.cumsum((y_new == "fraud")[np.argsort(-scores)])


inspected = np.arange(1, X_new.shape[0] + 1)
fig, ax = plt.subplots()
ax.plot(inspected, found(at_the_top.positive_scores(X_new)), color="#D55E00", label="trained for precision@500")
ax.plot(inspected, found(-everywhere.decision_function(X_new)), color="#0072B2", label="logistic regression")
ax.axvline(500, color="#333333", linewidth=1, linestyle=":")
ax.annotate("time for 500", (500, 8), xytext=(-6, 0), textcoords="offset points", ha="right")
ax.set(xscale="log", xlim=(20, 25_000), xlabel="cases inspected", ylabel="frauds found")
ax.legend(loc="upper left")
plt.show()

# %%
# On your own data
# ----------------
# Here the two kinds of fraud were made to pull in different directions. Where there is one kind, both models are
# alike, and plain logistic regression is the safer one. So let held-out rows decide:
# ``MeasureClassifierCV("precision@500")`` takes the special risk only if it is better than the baselines by more
# than the noise. To be quick, this one chooses from two risks on one validation set of 30 %.

choice = MeasureClassifierCV(
    "precision@500", bound=[("log_loss", "convex"), ("precision@500", "tight")], cv=0.3, pos_label="fraud"
)
choice.fit(X_train, y_train)
print(f"chosen: {choice.trained_for_}, alpha {choice.alpha_:.2g}")
print(f"{500 * precision_at_500(choice, X_new, y_new):.0f} of 500 new cases are fraud")
