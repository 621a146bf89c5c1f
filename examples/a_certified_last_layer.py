"""
A last layer with a certificate
===============================

However a network was trained, its last layer is a linear model of what comes into it, and the best linear model can be
found for certain. :func:`smoothperf.torch.refit_last_layer` trains it for the measure that counts, says how far from
the optimum it stopped, and puts the bias where the measure wants the scores cut. It takes PyTorch:
``pip install 'smoothperf[torch]'``.
"""

# %%
# A network
# ---------
# It tells one digit from nine others, and was trained with cross-entropy, as most are. Rows are kept for its last
# layer: what comes into that layer has learnt the labels of the rows that the network was trained on.

import torch
from sklearn.datasets import load_digits

from smoothperf import FBeta
from smoothperf.torch import refit_last_layer

pixels, digit = load_digits(return_X_y=True)
X = torch.from_numpy(pixels / 16).float()
y = torch.from_numpy(digit == 8)
X_train, X_refit, X_new = X[:600], X[600:1200], X[1200:]
y_train, y_refit, y_new = y[:600], y[600:1200], y[1200:]

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for _ in range(100):
    for rows in torch.randperm(len(y_train)).split(100):
        optimizer.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(net(X_train[rows])[:, 0], y_train[rows].float()).backward()
        optimizer.step()


def f1():
    """F1 of the new digits whose score is above 0."""
    return FBeta().score(y_new.numpy(), net(X_new)[:, 0].detach().numpy())


print(f"F1 with cross-entropy: {f1():.3f}")

# %%
# Its last layer
# --------------
# Cross-validation on the rows that were kept chooses what to train the last layer with, how strongly to regularise,
# and the bias. The gap is a bound: no weights of this layer have an objective that is lower by more.

result = refit_last_layer(net, X_refit, y_refit, measure="f1")
print(f"F1 with the last layer refitted: {f1():.3f}")
print(f"objective {result.objective:.4f}, at most {result.gap:.4f} above the optimum")

# %%
# An operating point
# ------------------
# The bias can be one that keeps a rate on new rows: here a recall of 80 %, with a confidence of 90 %.

refit_last_layer(net, X_refit, y_refit, measure="average_precision", operating_point={"recall": 0.8, "confidence": 0.9})
above = net(X_new)[:, 0] > 0
print(f"recall {above[y_new].float().mean():.2f}, precision {y_new[above].float().mean():.2f}")
