r"""Smoothing by entropy over labelings instead of squares over examples: the alternative of the paper's section 2.1.2.

The risk of PRBEP is a maximum over all N = C(n, n+) labelings with n+ positives. Entropy on the simplex over these
makes it ``mu log mean exp(./mu)``, with deviation at most ``mu log N``, where log N grows like n. The constant of the
theorem is ``sqrt(D) |A|``, with A measured from the 1-norm to the 2-norm, so the length of its longest column counts:

    squares, the paper's design       sqrt(D) |A| <= sqrt(2) R                        constant
    entropy                           sqrt(log N) * max_z |(2/n) X^T (u_z - t)|       grows like sqrt(n)

The paper says that the latter "can be Omega(n R)", linear in n. That takes entropy on a simplex of total mass 1/n to be
1-strongly convex; it is n-strongly convex, which leaves sqrt(n).

Given that the number of predicted positives is fixed, the loss is a sum over examples, so that the labeling drawn with
probability ``exp(./mu)`` is one of independent coin tosses under the condition that they sum to n+. Its partition
function is an elementary symmetric polynomial: O(n n+) for value and gradient, where squares take O(n). So the
alternative can be run, and its iterations counted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from smoothperf._arrays import Array
from smoothperf.design import as_design
from smoothperf.measures import PRBEP, Risk, RiskValue
from smoothperf.measures.examples import Examples
from smoothperf.measures.risk import Plane
from smoothperf.optimise import Nesterov
from smoothperf.optimise.objective import RegularizedRisk
from smoothperf.optimise.smoothing import Fixed
from smoothperf.threads import use_threads

from .datasets import Part

ALPHA = 1e-2
ACCURACY = 0.02
SEED = 0
MAX_ITER = 20_000
#: Repetitions of an evaluation, for its time.
REPETITIONS = 5
#: Far above what rounding can do to the sums of logarithms here, and far below the accuracy.
ROUNDING = 1e-9


@dataclass(frozen=True)
class EntropyCount:
    """A line of entropy.csv.

    Attributes
    ----------
    n, positives : int
        Size of the problem.
    smoothing : str
        "squares" or "entropy".
    step : str
        "theorem" (L from the bound) or "backtracking" (L as met on the way).
    iterations : int
        Of the accelerated method until the gap is certified.
    reached : bool
        Whether it was.
    constant : float
        ``sqrt(D) |A|``.
    milliseconds : float
        CPU time of one evaluation of the smoothed risk.
    """

    n: int
    positives: int
    smoothing: str
    step: str
    iterations: int
    reached: bool
    constant: float
    milliseconds: float


class EntropyPRBEP(Risk):
    """PRBEP smoothed by the entropy of a distribution over labelings.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels.
    """

    examples: Examples
    shift_invariant: ClassVar[bool] = True

    def __init__(self, y: ArrayLike):
        super().__init__(Examples.of(y))
        self._exact = PRBEP().risk(self.examples)
        n, k = self.examples.count, self.examples.positives
        self.diameter = float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))

    def exact(self, scores: Array) -> RiskValue:
        """As without smoothing."""
        return self._exact.exact(scores)

    def exact_value(self, scores: Array) -> float:
        """As without smoothing."""
        return self._exact.exact_value(scores)

    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """``mu log mean exp(./mu)`` over labelings; O(n n+)."""
        n, k = self.examples.count, self.examples.positives
        target = self.examples.positive.astype(np.float64)
        theta = ((2.0 / n) * scores - target / k) / mu
        log_total, u = chosen_of_k(theta, k)
        gradient = np.multiply(2.0 / n, u - target, out=out)
        missed = 1.0 - float(u[self.examples.positive].sum()) / k
        value = mu * (log_total - self.diameter) + 1.0 - (2.0 / n) * float(scores @ target)
        return RiskValue(Plane(gradient, missed, ROUNDING), value, float(gradient @ scores) + missed)

    def lipschitz(self, mu: float) -> float:
        """``(1/mu)`` times the largest variance of ``(2/n) <u, h>``, ``|h| = 1``, over distributions of labelings.

        Two labelings differ by at most ``sqrt(2 min(n+, n-))``, and a variance is at most a quarter of the range
        squared.
        """
        n, k = self.examples.count, self.examples.positives
        return (2.0 / n) ** 2 * min(k, n - k) / (2.0 * mu)


def chosen_of_k(theta: Array, k: int) -> tuple[float, Array]:
    """Return ``log sum exp(theta_S)`` over the sets S of k examples, and how often each is in the set.

    ``e_j`` of the first i examples, all j at once, and ``e_j`` of the last ones, in logarithms; what example i is
    multiplied by is ``exp(theta_i)`` times the sum over j of ``e_j(before) e_{k-1-j}(after)``.

    Examples
    --------
    >>> total, u = chosen_of_k(np.zeros(4), 2)
    >>> round(math.exp(total), 6), u.round(6)
    (6.0, array([0.5, 0.5, 0.5, 0.5]))
    """
    before, after = _polynomials(theta, k), _polynomials(theta[::-1], k)
    total = float(before[-1, k])
    # Row i: examples before i, and examples after i with the order of j reversed.
    pairs = before[:-1, :k] + after[::-1][1:, :k][:, ::-1]
    largest = pairs.max(axis=1)
    sums = np.log(np.exp(pairs - largest[:, None]).sum(axis=1)) + largest
    return total, np.clip(np.exp(theta + sums - total), 0.0, 1.0)


def _polynomials(theta: Array, k: int) -> Array:
    """Logarithms of the elementary symmetric polynomials of degree 0 to k, of the first 0, 1, ... n numbers."""
    table = np.full((theta.shape[0] + 1, k + 1), -1e300)
    table[:, 0] = 0.0
    for i, value in enumerate(theta):
        np.logaddexp(table[i, 1:], table[i, :-1] + value, out=table[i + 1, 1:])
    return table


def count(part: Part, sizes: Sequence[int], *, limit: float = 60.0) -> list[EntropyCount]:
    """Count iterations for nested samples of the rows, of as many positives in a hundred."""
    rows = []
    with use_threads(1):
        for n in sizes:
            X, y = sample(part, n)
            for smoothing in ("squares", "entropy"):
                risk = PRBEP().bind(y) if smoothing == "squares" else EntropyPRBEP(y)
                for step in ("theorem", "backtracking"):
                    rows.append(_count(X, y, risk, smoothing, step, limit))
    return rows


def sample(part: Part, n: int) -> Part:
    """Draw n rows; a smaller sample is part of a larger one, but for rounding of the number of positives."""
    rng = np.random.default_rng(SEED)
    order = rng.permutation(part.y.shape[0])
    positive = part.y[order] > 0
    k = max(1, round(n * float(positive.mean())))
    rows = np.sort(np.concatenate([order[positive][:k], order[~positive][: n - k]]))
    return Part(part.X[rows], part.y[rows])


def _count(X: Any, y: Any, risk: Risk, smoothing: str, step: str, limit: float) -> EntropyCount:
    objective = RegularizedRisk(as_design(X), risk, ALPHA)
    mu = ACCURACY / (2.0 * risk.diameter)
    solver = Nesterov(tol=ACCURACY, max_iter=MAX_ITER, smoothing=Fixed(mu=mu), backtracking=step == "backtracking")
    begin = time.process_time()
    result = solver.run(objective, callback=lambda row: time.process_time() - begin > limit)
    begin = time.process_time()
    for _ in range(REPETITIONS):
        risk.smoothed(result.scores if result.scores is not None else np.zeros(y.shape[0]), mu)
    milliseconds = (time.process_time() - begin) / REPETITIONS * 1e3
    return EntropyCount(
        n=y.shape[0],
        positives=int((y > 0).sum()),
        smoothing=smoothing,
        step=step,
        iterations=result.n_iter,
        reached=result.gap <= ACCURACY,
        constant=constant(X, y, smoothing, risk.diameter),
        milliseconds=milliseconds,
    )


def constant(X: Any, y: Any, smoothing: str, diameter: float) -> float:
    """``sqrt(D) |A|`` of these rows: the largest singular value for squares, a bound of columns for entropy."""
    n = y.shape[0]
    if smoothing == "squares":
        return float(math.sqrt(diameter) * 2.0 / n * np.linalg.norm(X.toarray(), 2))
    radius = float(np.sqrt(X.multiply(X).sum(axis=1).max()))
    rarer = min(int((y > 0).sum()), int((y < 0).sum()))
    return float(math.sqrt(diameter) * (2.0 / n) * 2.0 * rarer * radius)
