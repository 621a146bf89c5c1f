"""
A network for few false alarms
==============================

A bank blocks a payment when a network holds it to be fraud, and can afford to block one honest payment in fifty. What
counts is the left end of the ROC curve: how many frauds are found among the first 2 % of false alarms. Cross-entropy
looks at all payments alike. :class:`smoothperf.torch.MeasureLoss` looks at that end. It takes PyTorch:
``pip install 'smoothperf[torch]'``.
"""

# %%
# Payments
# --------
# Two in a hundred are fraud: some have a clear pattern, most are hard to tell from honest ones, and many honest
# payments are unusual in one way or another. Of all that, ten numbers are known.

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.metrics import roc_curve

from smoothperf import PartialROCArea
from smoothperf.torch import MeasureLoss


def make_payments(n, rng):
    """Ten features and a label for each of n payments."""
    X = rng.normal(size=(n, 10))
    fraud = rng.random(n) < 0.02
    clear = fraud & (rng.random(n) < 0.4)
    X[clear, :2] *= 2.5
    X[fraud & ~clear, 2:6] += 0.6
    unusual = ~fraud & (rng.random(n) < 0.1)
    X[unusual, 2:9] *= 1.8
    return torch.from_numpy(X).float(), torch.from_numpy(fraud).float()


rng = np.random.default_rng(0)
X, y = make_payments(8_000, rng)
X_new, y_new = make_payments(40_000, rng)

# %%
# Three losses
# ------------
# The networks are the same. A loss of ours is used as any other one: scores and labels of a batch. Batches are larger
# than usual, as each of them is to have some frauds: here about twenty. Learning rate and number of epochs are, for
# each loss, what was best for it on other payments.


def train(loss, rate, epochs):
    """Train two hidden layers of 64, and return the scores of new payments."""
    torch.manual_seed(0)
    layers = torch.nn
    net = layers.Sequential(
        layers.Linear(10, 64), layers.ReLU(), layers.Linear(64, 64), layers.ReLU(), layers.Linear(64, 1)
    )
    optimizer = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=0.05)
    for _ in range(epochs):
        for rows in torch.randperm(len(y)).split(1000):
            optimizer.zero_grad()
            loss(net(X[rows])[:, 0], y[rows]).backward()
            optimizer.step()
    with torch.no_grad():
        return net(X_new)[:, 0].numpy()


scores = {
    "cross-entropy": train(torch.nn.BCEWithLogitsLoss(), 6e-3, 40),
    "weighted": train(torch.nn.BCEWithLogitsLoss(pos_weight=torch.tensor(49.0)), 6e-3, 10),
    "MeasureLoss": train(MeasureLoss("roc_area@0.02"), 2e-3, 20),
}
area = PartialROCArea(0.02)
for name, found in scores.items():
    print(f"{name:15} mean height of the ROC curve up to 2 %: {area.score(y_new.numpy(), found):.3f}")

# %%
# The left end of the curve
# -------------------------

figure, axes = plt.subplots()
for name, found in scores.items():
    false_alarms, frauds = roc_curve(y_new, found)[:2]
    axes.plot(100 * false_alarms, 100 * frauds, label=name)
axes.axvline(2, color="0.6", linewidth=1)
axes.set(xlim=(0, 5), ylim=(0, 60), xlabel="honest payments that are blocked, %", ylabel="frauds that are found, %")
axes.legend(loc="lower right")
plt.show()
