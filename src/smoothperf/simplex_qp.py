"""A small quadratic program on the probability simplex, by an active-set method with a warm start.

    maximise   q(x) = b.x - x.H x / 2      subject to   x >= 0,  sum x = 1                       (simplex-qp)

H is a Gram matrix of K planes, K up to about a thousand, of which few carry weight. The method (Wolfe's and
Kiwiel's) keeps a support S of planes that are affinely independent, solves the problem on their affine hull by a
Cholesky factorisation, steps towards that solution until a weight hits zero (which then leaves S), and otherwise
admits the plane that violates optimality most. A plane that depends on those in S replaces one of them. Since ``sum
x`` is fixed, adding a constant to all entries of H changes nothing but makes the matrix on an affinely independent
support positive definite. O(K |S|) for an admission, O(|S|^3) for an expulsion; between two calls the support
changes by a few planes.

Why not a library: of the general solvers (Clarabel, OSQP, quadprog) none can be warm-started from a support, each
would be a dependency, and accuracy is not at stake: whatever x comes back, its value is a true bound
(docs/maths.md, certificate). The tests hold it to one of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]

#: A plane counts as dependent on the support when its squared distance from it, relative to its size, is below this.
DEPENDENT = 1e-13


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
        Most planes to admit; the value never decreases, so an early stop costs quality only.

    Examples
    --------
    >>> maximise_on_simplex(np.eye(2), np.array([0.0, 0.5]), np.array([1.0, 0.0]))
    array([0.25, 0.75])
    """
    # A constant in b changes nothing but the value; without it, nothing large cancels.
    linear = linear - float(linear @ start)
    active = _Support(hessian, linear, start)
    best, best_value = start, -np.inf
    for _ in range(max_changes):
        active.optimise()
        x = active.x / active.x.sum()
        slope = linear - hessian[:, active.members] @ x[active.members]
        value = float(x @ (linear + slope)) / 2.0
        if not value > best_value:
            break  # rounding has taken over
        best, best_value = x, value
        # By concavity no point of the simplex is better by more than the largest violation.
        violation = slope - float(x @ slope)
        violation[active.members] = -np.inf
        entering = int(violation.argmax())
        if violation[entering] <= tolerance:
            break
        active.admit(entering)
    return best


class _Support:
    """Weights x >= 0, and the Cholesky factor of the matrix on their affinely independent support."""

    def __init__(self, hessian: Array, linear: Array, start: Array):
        self._hessian = hessian
        self._linear = linear
        # As large as the numbers at hand, so that the solution is neither lost in it nor dwarfs it.
        self._shift = max(float(np.trace(hessian)) / start.size, float(np.abs(linear).max())) or 1.0
        self.x = start.copy()
        self.members: list[int] = [int(k) for k in np.flatnonzero(start)]
        self._factor: Array = np.zeros((0, 0))
        self._factorise()

    def optimise(self) -> None:
        """Go to the best point of the support's affine hull, expelling members whose weight would turn negative."""
        while True:
            target = self._affine_optimum()
            current = self.x[self.members]
            shrinking = np.flatnonzero(target < 0.0)
            if shrinking.size == 0:
                self.x[self.members] = target
                return
            ratios = current[shrinking] / (current[shrinking] - target[shrinking])
            first = int(ratios.argmin())
            self.x[self.members] = np.maximum(current + ratios[first] * (target - current), 0.0)
            self._expel(int(shrinking[first]))

    def admit(self, k: int) -> None:
        """Let plane k into the support; if it depends on the members, trade it for one of them first."""
        while True:
            column = self._matrix(self.members, [k])[:, 0]
            size = self._hessian[k, k] + self._shift
            half = self._solve(column, transposed=False)
            squared_distance = size - float(half @ half)
            if squared_distance > DEPENDENT * size:
                break
            # Along (-z, 1) nothing but the linear part of q changes: go uphill until a weight is used up.
            z = self._solve(half, transposed=True)
            rate = float(self._slope([k])[0] - z @ self._slope(self.members))
            weights = self.x[self.members]
            if rate >= 0.0:
                limits = np.where(z > 0.0, weights / np.where(z > 0.0, z, 1.0), np.inf)
                used_up = int(limits.argmin())
                step = float(limits[used_up])
            else:
                limits = np.where(z < 0.0, -weights / np.where(z < 0.0, z, -1.0), np.inf)
                used_up = int(limits.argmin())
                step = -min(float(limits[used_up]), float(self.x[k]))
            self.x[self.members] = np.maximum(weights - step * z, 0.0)
            self.x[k] = max(self.x[k] + step, 0.0)
            if self.x[k] == 0.0:
                return
            self._expel(used_up)
        n = len(self.members)
        factor = np.zeros((n + 1, n + 1))
        factor[:n, :n] = self._factor
        factor[n, :n] = half
        factor[n, n] = np.sqrt(squared_distance)
        self._factor = factor
        self.members.append(k)

    def _affine_optimum(self) -> Array:
        n = len(self.members)
        sides = np.empty((n, 2))
        sides[:, 0] = self._linear[self.members]
        sides[:, 1] = 1.0
        solution = self._solve(self._solve(sides, transposed=False), transposed=True)
        multiplier = (float(solution[:, 0].sum()) - 1.0) / float(solution[:, 1].sum())
        optimum: Array = solution[:, 0] - multiplier * solution[:, 1]
        return optimum

    def _expel(self, position: int) -> None:
        self.x[self.members[position]] = 0.0
        del self.members[position]
        self._factorise()

    def _factorise(self) -> None:
        self._factor, dependent = lapack.dpotrf(self._matrix(self.members, self.members), lower=1, clean=1)
        if dependent:
            # Build the support up again, heaviest first; planes that depend on others are traded off on the way.
            candidates = sorted(self.members, key=lambda k: -self.x[k])
            self.members = []
            self._factor = np.zeros((0, 0))
            for k in candidates:
                self.admit(k)

    def _matrix(self, rows: list[int], columns: list[int]) -> Array:
        block: Array = self._hessian[np.ix_(rows, columns)] + self._shift
        return block

    def _slope(self, planes: list[int]) -> Array:
        slope: Array = self._linear[planes] - self._hessian[np.ix_(planes, self.members)] @ self.x[self.members]
        return slope

    def _solve(self, sides: Array, *, transposed: bool) -> Array:
        """Solve with the lower triangular factor, or with its transpose."""
        if sides.shape[0] == 0:
            return sides
        solution: Array = lapack.dtrtrs(self._factor, sides, lower=1, trans=int(transposed))[0]
        return solution
