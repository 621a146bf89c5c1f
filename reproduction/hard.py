r"""A data set on which cutting planes need as many iterations as the theory allows, 1 / (lambda eps).

One positive at the origin and k negatives, each on an axis of its own: ``x_j = -(n/2) G_j e_j``. With one positive,
PRBEP has k + 1 labelings, and

    R(w) = max(0, 1 - min_j G_j w_j),        J(w) = (lambda/2) |w|^2 + R(w).

A cutting plane speaks of one coordinate, ``1 - G_j w_j``. Where a coordinate has had no plane yet, w is zero, and there
the risk is 1, larger than on every coordinate that has had one. So each plane brings exactly one new coordinate, in
whatever order ties are broken. After t planes, with ``S_t = sum 1/G_j^2`` over these coordinates, the model's minimum
and the objective there are

    1 - 1 / (2 lambda S_t)     and     1 + 1 / (2 lambda S_t).

Nothing is gained on w = 0, where J = 1, before all k planes are there, and the gap that is known to remain is
``1 / (2 lambda S_t)``. Take as many negatives as make ``S_k = 1 / (4 lambda eps)``. Then the optimum is 2 eps below
w = 0, so w = 0 will not do; and the gap is above eps as long as t < k. So exactly k planes are needed, and

    k >= G^2 / (4 lambda eps)     with the smallest G.

The gradient of the smoothed risk speaks of all coordinates at once.

The idea that a cutting-plane method can be shown one coordinate at a time is that of lower bounds for nonsmooth convex
optimisation (Nemirovski and Yudin, 1983), and was applied to this method by Zhang, Saha and Vishwanathan (Lower bounds
on rate of convergence of cutting plane methods, NIPS 2010). The problem here is our own.

What it does not show: rows are long, n/2, because PRBEP gives each score the weight 2/n. What the theory counts, the
norm of subgradients, is at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from smoothperf._arrays import Array
from smoothperf.design import as_design
from smoothperf.measures import PRBEP
from smoothperf.optimise import BMRM, LBFGS, Nesterov, Solver
from smoothperf.optimise.objective import RegularizedRisk
from smoothperf.threads import use_threads

from .rates import reached

#: The G_j are drawn from here up to 1, so that no symmetry gives the solution away.
SMALLEST = 0.8
SEED = 0
OVER = 1e-9


@dataclass(frozen=True)
class HardCount:
    """A line of hard.csv.

    Attributes
    ----------
    method : str
        The method.
    alpha, eps : float
        lambda and the accuracy.
    negatives : int
        k, the iterations that a cutting-plane method needs.
    iterations : float
        Until the gap was certified to be eps.
    first_gain : float
        First iteration whose objective is below that of w = 0.
    error : float
        The final objective less the optimum, which is known.
    """

    method: str
    alpha: float
    eps: float
    negatives: int
    iterations: float
    first_gain: float
    error: float


def size_for(alpha: float, eps: float) -> int:
    """Return the smallest k with ``S_k >= 1 / (4 alpha eps)``.

    Examples
    --------
    >>> size_for(0.05, 0.05), size_for(0.05, 0.025)
    (81, 162)
    """
    needed = 1.0 / (4.0 * alpha * eps)
    return int(np.searchsorted(np.cumsum(1.0 / _scales(math.ceil(needed)) ** 2), needed)) + 1


def problem(negatives: int) -> tuple[sp.csr_matrix, NDArray[np.int64], Array]:
    """Return features, labels, and the G_j.

    Examples
    --------
    >>> X, y, G = problem(3)
    >>> X.shape, y
    ((4, 3), array([ 1, -1, -1, -1]))
    >>> bool(np.allclose(X.toarray()[1:], -2.0 * np.diag(G)))
    True
    """
    n = negatives + 1
    G = _scales(negatives)
    places = np.arange(negatives)
    X = sp.csr_matrix((-(n / 2.0) * G, (places + 1, places)), shape=(n, negatives))
    return X, np.where(np.arange(n) == 0, 1, -1), G


def optimum(G: Array, alpha: float) -> float:
    """Return min J: where all ``G_j w_j`` are equal, to ``s``, J is ``alpha S s^2 / 2 + max(0, 1 - s)``."""
    total = float((1.0 / G**2).sum())
    s = min(1.0, 1.0 / (alpha * total))
    return alpha * total * s**2 / 2.0 + 1.0 - s


def count(alphas: Iterable[float], accuracies: Sequence[float]) -> list[HardCount]:
    """Count the iterations of three methods, on a problem that is made for each alpha and eps."""
    rows = []
    with use_threads(1):
        for alpha in alphas:
            for eps in accuracies:
                negatives = size_for(alpha, eps)
                X, y, G = problem(negatives)
                objective = RegularizedRisk(as_design(X), PRBEP().bind(y), alpha)
                most = 2 * negatives
                solvers: dict[str, Solver] = {
                    "lbfgs": LBFGS(tol=eps),
                    "nesterov": Nesterov(tol=eps),
                    "bmrm": BMRM(tol=eps, max_iter=most, max_planes=most),
                }
                for method, solver in solvers.items():
                    result = solver.run(objective)
                    below = np.flatnonzero(result.trace["objective"] < 1.0 - OVER)
                    rows.append(
                        HardCount(
                            method,
                            alpha,
                            eps,
                            negatives,
                            reached(result.trace, eps),
                            float(below[0]) if below.size else math.nan,
                            result.objective - optimum(G, alpha),
                        )
                    )
    return rows


def _scales(count: int) -> Array:
    """The first G_j of an endless row."""
    return np.random.default_rng(SEED).uniform(SMALLEST, 1.0, count)
