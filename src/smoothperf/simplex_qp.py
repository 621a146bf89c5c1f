"""A small quadratic program on the probability simplex, by an active-set method with a warm start.

    maximise   q(x) = b.x - x.H x / 2      subject to   x >= 0,  sum x = 1                       (simplex-qp)

H is a Gram matrix of K planes, K up to a few hundred, of which few carry weight. The method keeps the set S of weights that may
be positive, solves the equality-constrained problem on S by a Cholesky factorisation, steps towards its solution until a weight
hits zero (which then leaves S), and otherwise admits the plane that violates optimality most. O(|S|^3 + K |S|) a change; between
two calls the active set changes by a few planes.

Why not a library: the general solvers (OSQP, Clarabel, quadprog) cannot be warm-started from an active set or would be a
dependency for thirty lines, and accuracy is not at stake: whatever x comes back, its value is a true bound (docs/maths.md,
certificate). The tests compare it with one of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]

#: Added to the diagonal, relative to its mean, so that nearly equal planes do not break the factorisation.
RIDGE = 1e-14


def maximise_on_simplex(
    hessian: Array, linear: Array, start: Array, *, tolerance: float = 1e-12, max_changes: int = 1000
) -> Array:
    """Return weights that maximise (simplex-qp) within ``tolerance``.

    Parameters
    ----------
    hessian : ndarray of shape (K, K)
        Symmetric positive semi-definite H.
    linear : ndarray of shape (K,)
        b.
    start : ndarray of shape (K,)
        A point of the simplex; few non-zeros make a fast start.
    tolerance : float
        The value of q that may be lost.
    max_changes : int
        Most changes of the active set; the value never decreases, so an early stop costs quality only.

    Examples
    --------
    >>> maximise_on_simplex(np.eye(2), np.array([0.0, 0.5]), np.array([1.0, 0.0]))
    array([0.25, 0.75])
    """
    x = start.copy()
    active = np.flatnonzero(x)
    ridge = RIDGE * max(float(np.trace(hessian)) / x.size, np.finfo(float).tiny)
    for _ in range(max_changes):
        target, level = _maximise_on_support(hessian, linear, active, ridge)
        current = x[active]
        shrinking = target < 0.0
        if shrinking.any():
            ratios = current[shrinking] / (current[shrinking] - target[shrinking])
            step = float(ratios.min())
            x[active] = np.maximum(current + step * (target - current), 0.0)
            x[active[shrinking][ratios <= step]] = 0.0
            active = active[x[active] > 0.0]
            continue
        x[active] = target
        violation = linear - hessian[:, active] @ target - level
        violation[active] = -np.inf
        entering = int(violation.argmax())
        # By concavity no point of the simplex is better by more than the largest violation.
        if violation[entering] <= tolerance:
            break
        active = np.append(active, entering)
    normalised: Array = x / x.sum()
    return normalised


def _maximise_on_support(hessian: Array, linear: Array, active: NDArray[Any], ridge: float) -> tuple[Array, float]:
    """Maximise on the affine hull ``sum x = 1`` of a support; returns x there and the multiplier of the sum."""
    sides = np.column_stack([linear[active], np.ones(active.size)])
    while True:
        matrix = hessian[np.ix_(active, active)]
        matrix.flat[:: active.size + 1] += ridge
        _, solution, failed = lapack.dposv(matrix, sides)
        if not failed:
            break
        ridge *= 100.0
    level = (float(solution[:, 0].sum()) - 1.0) / float(solution[:, 1].sum())
    return solution[:, 0] - level * solution[:, 1], level
