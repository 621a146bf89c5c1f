r"""Area under the ROC curve: the fraction of (positive, negative) pairs in the right order.

    R(f)    = (1/M) sum_{i in P, j in N} c_i c_j max(0, 1 - (f_i - f_j)),    M = N+ N-            (roc-risk)
    R_mu(f) = (1/M) sum_{i in P, j in N} c_i c_j H(1 - (f_i - f_j))                             (roc-smoothed)

H is the Huber hinge of width ``kappa = mu M``: quadratic on [0, kappa], linear beyond. The prox-function is half the
weighted sum of ``beta^2``, so ``D = M/2`` and ``R - kappa/2 <= R_mu <= R``. Pairs are never formed:

- Exactly: the smaller class is sorted, every example of the larger one looks up two positions in it
  (:mod:`smoothperf.kernels._roc_area`): O(n log n_min).
- Smoothed, if examples are many and ramps not too short: all scores are put into bins a fraction of kappa wide
  (:mod:`smoothperf.kernels._roc_bins`): O(n). The planes are as true as the others; the value is a lower bound of
  R_mu, by (bin-loss) next to nothing below it.

Departures from the paper: equation (3) as printed charges ``max(d, 1 - d)`` per pair with ``d = f_i - f_j``, which
grows with a *correct* margin; the hinge is what is meant (docs/maths.md, slips). The paper sorts both classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arrays import Array
from ..kernels import sorted_hinges
from .base import Measure
from .bins import binned_hinges
from .examples import Examples
from .pairs import Pairs, mean_over_pairs
from .risk import Risk, RiskValue

#: With fewer examples sorting takes next to no time.
LEAST_EXAMPLES = 1 << 12


class ROCAreaRisk(Risk):
    """The risk (roc-risk) for given labels and weights; made by :meth:`ROCArea.risk`.

    Parameters
    ----------
    examples : Examples
        Labels and weights.
    """

    examples: Examples
    shift_invariant: ClassVar[bool] = True

    def __init__(self, examples: Examples):
        super().__init__(examples)
        positive = examples.positive
        self._pairs = Pairs(
            examples,
            (np.flatnonzero(positive), np.flatnonzero(~positive)),
            examples.weights,
            (examples.positives, examples.count - examples.positives),
            (examples.positive_weight, examples.negative_weight),
        )
        self._mass = examples.positive_weight * examples.negative_weight
        self.diameter = self._mass / 2.0

    def exact(self, scores: Array) -> RiskValue:
        """``R`` and a subgradient, O(n log n_min)."""
        return self._hinges(scores, margin=1.0, kappa=0.0)

    def loss_free(self, scores: Array) -> RiskValue:
        """``R0`` and its gradient: the hinge without its margin, of the pairs in the wrong order."""
        return self._hinges(scores, margin=0.0, kappa=0.0)

    def exact_value(self, scores: Array) -> float:
        """``R``; for unit weights and rows in memory by a sweep over both classes, sorted."""
        if self.examples.weights is not None or not self.examples.alone:
            return self.exact(scores).value
        positives, negatives = (np.sort(scores[rows]) for rows in self._pairs.rows)
        return sorted_hinges(positives, 1.0 + negatives) / self._mass

    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """``R_mu`` and its gradient: O(n) by bins where these pay, else O(n log n_min). A hint is a span nearby."""
        gradient = np.empty_like(scores) if out is None else out
        kappa = mu * self._mass
        if self.examples.count >= LEAST_EXAMPLES:
            value = binned_hinges(self.examples, scores, kappa, hint, direction, gradient)
            if value is not None:
                return value
        return self._hinges(scores, margin=1.0, kappa=kappa, direction=direction, gradient=gradient)

    def lipschitz(self, mu: float) -> float:
        """``N / (kappa M)``: the Hessian is 1 / (kappa M) times the Laplacian of the active pairs, at most N."""
        return self.examples.weight / (mu * self._mass**2)

    def _hinges(
        self,
        scores: Array,
        *,
        margin: float,
        kappa: float,
        direction: Array | None = None,
        gradient: Array | None = None,
    ) -> RiskValue:
        """Mean over pairs of the (Huber) hinge of ``margin - (f_i - f_j)``."""
        gradient = np.empty_like(scores) if gradient is None else gradient
        return mean_over_pairs(self._pairs, scores, margin=margin, kappa=kappa, gradient=gradient, direction=direction)


@dataclass(frozen=True)
class ROCArea(Measure):
    """Area under the ROC curve: how often a positive scores above a negative.

    Examples
    --------
    >>> from smoothperf import ROCArea
    >>> ROCArea().score([1, 1, -1, -1], [0.9, 0.3, 0.5, 0.1])
    0.75
    >>> import numpy as np
    >>> round(ROCArea().bind([1, 1, -1, -1]).exact(np.array([0.9, 0.3, 0.5, 0.1])).value, 6)
    0.7
    """

    name: ClassVar[str] = "roc_area"

    def risk(self, examples: Examples) -> ROCAreaRisk:
        """Return the convex risk (roc-risk)."""
        return ROCAreaRisk(examples)

    def score_of(self, examples: Examples, scores: Array) -> float:
        """Area under the ROC curve; a tied pair counts one half."""
        positive, weights = examples.positive, examples.weights
        above, below = scores[positive], scores[~positive]
        if weights is None:
            above.sort()
            below.sort()
            ordered = sum(int(np.searchsorted(below, above, side).sum()) for side in ("left", "right"))
            return ordered / (2 * above.size * below.size)
        order = np.argsort(below)
        below = below[order]
        lighter = np.append(0.0, np.cumsum(weights[~positive][order]))
        ordered_weights = sum(lighter[np.searchsorted(below, above, side)] for side in ("left", "right"))
        return float(weights[positive] @ ordered_weights / (2.0 * weights[positive].sum() * lighter[-1]))
