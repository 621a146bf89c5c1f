"""
Choosing alpha: a path
======================

``alpha`` is the strength of the regulariser: large, and the weights stay near zero; small, and they fit every
accident of the training rows. A *path* is the models for a whole range of alphas. Each starts from the one before
and takes over its certificate, so that the whole path costs a few times what its last model costs alone.
"""

# %%
# Digits with noise
# -----------------
# Handwritten digits that ship with scikit-learn: eights or not, with 100 features of pure noise beside the 64
# pixels, so that there is something to overfit.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from smoothperf import MeasureClassifier, regularization_path

pixels, digit = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
X = np.hstack([pixels / 16, 0.5 * rng.normal(size=(digit.size, 100))])
y = digit == 8
X_train, X_valid, y_train, y_valid = train_test_split(X, y, train_size=0.5, stratify=y, random_state=0)

found = regularization_path(X_train, y_train, measure="roc_area", n_alphas=25, validation=(X_valid, y_valid))
best = found.best
print(f"best alpha {found.alphas[best]:.2g}: ROC area {found.validation_scores[best]:.3f} on the validation rows")
last = MeasureClassifier("roc_area", alpha=found.alphas[-1]).fit(X_train, y_train).result_
print(
    f"{found.alphas.size} models took {found.n_passes.sum()} passes over the data, the last one from scratch takes "
    f"{last.n_matvec + last.n_rmatvec}"
)

# %%
# Scores along the path
# ---------------------
# From right to left the regulariser fades. On the training rows the measure only gets better; on rows held out
# there is a best alpha. (``smoothperf.plots.path(found)`` draws about the same and returns a figure to save.)

fig, ax = plt.subplots()
ax.plot(found.alphas, found.train_scores, color="#0072B2", label="training rows")
ax.plot(found.alphas, found.validation_scores, color="#D55E00", label="validation rows")
ax.plot(found.alphas[best], found.validation_scores[best], "o", color="#D55E00")
ax.set(xscale="log", xlabel="alpha", ylabel="ROC area")
ax.legend()
plt.show()

# %%
# Weights along the path
# ----------------------
# A line is a feature: pixels in blue, noise in grey. At the best alpha the pixels stand out; further left the noise
# is used, too.

fig, ax = plt.subplots()
ax.plot(found.alphas, found.coefs[:, 64:], color="#BBBBBB", linewidth=0.6)
ax.plot(found.alphas, found.coefs[:, :64], color="#0072B2", linewidth=0.8)
ax.axvline(found.alphas[best], color="#D55E00", linewidth=1.2, linestyle="--")
ax.annotate(
    "best on validation rows", (found.alphas[best], ax.get_ylim()[1]), xytext=(5, -10), textcoords="offset points"
)
ax.set(xscale="log", xlabel="alpha", ylabel="weight")
plt.show()

# %%
# A model for the best alpha
# --------------------------
# ``MeasureClassifier(alpha=found.alphas[best])`` is that model. ``MeasureClassifierCV`` does all of it at once,
# with folds, and also chooses what to train with.
