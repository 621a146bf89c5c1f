"""Convex risks of scores by NumPy alone: values, and a subgradient with respect to the scores."""

import numpy as np


def roc_area(f, positive):
    """Mean over pairs of ``max(0, 1 - (f_i - f_j))``, i positive and j negative."""
    up, down = f[positive], f[~positive]
    pairs = up.size * down.size
    down_sorted = np.sort(down)
    place = np.searchsorted(down_sorted, up - 1.0, side="right")
    sums = np.concatenate([[0.0], down_sorted.cumsum()])
    count = down.size - place
    value = (count @ (1.0 - up) + (sums[-1] - sums[place]).sum()) / pairs
    g = np.empty_like(f)
    g[positive] = -count / pairs
    g[~positive] = np.searchsorted(np.sort(up), down + 1.0, side="left") / pairs
    return value, g


def prbep(f, positive):
    """Largest of ``b / n_pos + 2 / n (b largest of the negatives - b smallest of the positives)`` over b."""
    up, down = np.flatnonzero(positive), np.flatnonzero(~positive)
    up, down = up[np.argsort(f[up])], down[np.argsort(-f[down])]
    most = min(up.size, down.size)
    gains = 1.0 / up.size + 2.0 / f.size * (f[down[:most]] - f[up[:most]])
    b = int(np.argmax(np.concatenate([[0.0], gains.cumsum()])))
    g = np.zeros_like(f)
    g[down[:b]], g[up[:b]] = 2.0 / f.size, -2.0 / f.size
    return gains[:b].sum(), g


RISKS = {"roc_area": roc_area, "prbep": prbep}
