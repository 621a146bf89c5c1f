"""What :mod:`smoothperf.kernels.fractional_flips` computes, in plain NumPy and without any search; for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .fractional_flips import FractionalLoss

Array = NDArray[Any]


def fractional_best(
    margins: Array, positive: NDArray[np.bool_], weights: Array, loss: FractionalLoss, slope: float
) -> float:
    """``max delta(B, C) - slope sum c x beta`` over beta in [0, 1]^n: every kink of B with every piece of C."""
    p, r, M = loss
    sides = []
    for members in (positive, ~positive):
        order = np.argsort(margins[members], kind="stable")
        x, c = margins[members][order], weights[members][order]
        sides.append((x, np.append(0.0, np.cumsum(c)), np.append(0.0, np.cumsum(c * x))))
    (_, b, b_cost), (x, c, c_cost) = sides
    best = -np.inf
    for missed, missed_cost in zip(b, b_cost, strict=True):
        # On a piece the derivative by C is rise / (M - r B + C)^2 - slope x.
        rise = max(M - (p + r) * missed, 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            inside = np.where(x > 0.0, np.sqrt(rise / (slope * x)) - (M - r * missed), np.inf)
        for j, false in enumerate(np.append(np.clip(inside, c[:-1], c[1:]), 0.0)):
            cost = missed_cost + (c_cost[j] + x[j] * (false - c[j]) if j < x.size else 0.0)
            best = max(best, (p * missed + false) / (M - r * missed + false) - slope * cost)
    return float(best)


def fractional_levels(
    margins: Array,
    positive: NDArray[np.bool_],
    weights: Array,
    loss: FractionalLoss,
    slope: float,
    width: float,
    nu: float,
    count: int,
) -> tuple[float, Array]:
    """``nu log mean exp(./nu)`` over all levels ``t = k / count`` of ``t + V(t)``, and the mixture of their flips.

    ``V(t) = slope max sum c (-x beta + (w/2) beta (1 - beta))`` over beta in [0, 1]^n with ``delta(B, C) >= t``, by
    bisection for the multiplier of the constraint.
    """
    p, r, M = loss
    values, flips = np.empty(count + 1), np.empty((count + 1, margins.size))
    for k in range(count + 1):
        t = k / count
        coefficients = np.where(positive, p + r * t, 1.0 - t)

        def flipped(zeta: float, coefficients: Array = coefficients) -> Array:
            return np.clip(0.5 + (zeta * coefficients - margins) / width, 0.0, 1.0)

        def excess(zeta: float, coefficients: Array = coefficients, t: float = t) -> float:
            return float((weights * coefficients) @ flipped(zeta, coefficients)) - t * M

        low, high = 0.0, float(max(0.0, ((margins + width) / np.maximum(coefficients, 1e-300)).max()))
        if excess(low) >= 0.0:
            high = low
        while low < (middle := (low + high) / 2.0) < high:
            low, high = (middle, high) if excess(middle) < 0.0 else (low, middle)
        beta = flips[k] = flipped(high)
        values[k] = t - slope * float(weights @ (margins * beta - width / 2.0 * beta * (1.0 - beta)))
    shares = np.exp((values - values.max()) / nu)
    return float(values.max() + nu * np.log(shares.mean())), shares @ flips / shares.sum()
