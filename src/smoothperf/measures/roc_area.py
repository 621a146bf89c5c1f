r"""Area under the ROC curve: the fraction of (positive, negative) pairs in the right order.

    R(f)    = (1/M) sum_{i in P, j in N} c_i c_j max(0, 1 - (f_i - f_j)),    M = N+ N-            (roc-risk)
    R_mu(f) = (1/M) sum_{i in P, j in N} c_i c_j H(1 - (f_i - f_j))                             (roc-smoothed)

H is the Huber hinge of width ``kappa = mu M``: quadratic on [0, kappa], linear beyond. Pairs are never formed: the
smaller class is sorted, every example of the larger one looks up two positions in it
(:mod:`smoothperf.kernels._roc_area`): O(n log n_min). The prox-function is half the weighted sum of ``beta^2``, so
``D = M/2`` and ``R - kappa/2 <= R_mu <= R``.

Departures from the paper: equation (3) as printed charges ``max(d, 1 - d)`` per pair with ``d = f_i - f_j``, which
grows with a *correct* margin; the hinge is what is meant (docs/maths.md, slips). ``ROCArea(as_printed=True)`` keeps
the printed form for reproduction. The paper sorts both classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score

from .._validation import binary_labels, vector, weights_of
from ..kernels import pair_ramps
from .base import Array, Measure, Risk, RiskValue

EPS = float(np.finfo(np.float64).eps)
LONG_EPS = float(np.finfo(np.longdouble).eps)


class ROCAreaRisk(Risk):
    """The risk (roc-risk) for given labels and weights; made by :meth:`ROCArea.bind`."""

    shift_invariant: ClassVar[bool] = True

    def __init__(self, positive: NDArray[np.bool_], weights: Array | None):
        self.n_examples = positive.shape[0]
        self._rows = np.flatnonzero(positive), np.flatnonzero(~positive)
        self.weights = weights
        self._class_weights = tuple(None if weights is None else weights[rows] for rows in self._rows)
        mass = [
            float(rows.size if c is None else c.sum()) for rows, c in zip(self._rows, self._class_weights, strict=True)
        ]
        self._total = mass[0] + mass[1]
        self._pairs = mass[0] * mass[1]
        self.diameter = self._pairs / 2.0

    def exact(self, scores: Array) -> RiskValue:
        """``R`` and a subgradient, O(n log n_min)."""
        return self._hinges(scores, margin=1.0, kappa=0.0)

    def exact_value(self, scores: Array) -> float:
        """``R``; the gradient is a by-product."""
        return self.exact(scores).value

    def smoothed(self, scores: Array, mu: float, hint: float = float("nan")) -> RiskValue:
        """``R_mu`` and its gradient, O(n log n_min). ``hint`` is not used."""
        return self._hinges(scores, margin=1.0, kappa=mu * self._pairs)

    def lipschitz(self, mu: float) -> float:
        """``N / (kappa M)``: the Hessian is 1 / (kappa M) times the Laplacian of the active pairs, at most N."""
        return self._total / (mu * self._pairs**2)

    def _hinges(self, scores: Array, *, margin: float, kappa: float) -> RiskValue:
        """Mean over pairs of the (Huber) hinge of ``margin - (f_i - f_j)``."""
        centred = scores - scores.mean()
        # A pair is violated by z - a, where a = f_i sorted and z = margin + f_j; or, when there are fewer negatives,
        # a = -f_j sorted and z = margin - f_i.
        small, large = (0, 1) if self._rows[0].size <= self._rows[1].size else (1, 0)
        sign = 1.0 if small == 0 else -1.0
        a = sign * centred[self._rows[small]]
        z = margin + sign * centred[self._rows[large]]
        order = np.argsort(a)
        c_small, c_large = self._class_weights[small], self._class_weights[large]
        slopes_a, slopes_z = np.empty(a.shape[0]), np.empty(z.shape[0])
        ordered = a[order]
        value, height, slopes = pair_ramps(
            ordered, None if c_small is None else c_small[order], z, c_large, kappa, slopes_a, slopes_z
        )
        scale = sign / self._pairs
        gradient = np.empty(self.n_examples)
        gradient[self._rows[small][order]] = -scale * slopes_a
        gradient[self._rows[large]] = scale * slopes_z
        if c_small is not None and c_large is not None:
            gradient[self._rows[small]] *= c_small
            gradient[self._rows[large]] *= c_large
        # A slope is a difference of two ramps, summed in long double and stored in double, divided by kappa. A ramp
        # is no longer than the largest violation; z - kappa is rounded as well (docs/maths.md, rounding).
        sums = 4 * self.n_examples * LONG_EPS
        rounding = 256 * EPS + sums
        if kappa > 0.0:
            reach = max(0.0, float(z.max() - ordered[0])) + float(np.abs(z).max())
            rounding += (16 * EPS + sums) * reach / kappa
        return RiskValue(value / self._pairs, gradient, margin * slopes / self._pairs, height / self._pairs, rounding)


class PrintedROCAreaRisk(ROCAreaRisk):
    """Equation (3) as the paper prints it: ``max(d, 1 - d) = 1/2 + max(0, d - 1/2) + max(0, 1/2 - d)`` per pair.

    Both hinges are those of :class:`ROCAreaRisk` with margins 1/2 and -1/2, the second on the negated scores. For
    reproduction only: it pulls every pair to the margin 1/2 instead of rewarding a larger one.
    """

    def exact(self, scores: Array) -> RiskValue:
        """``R`` as printed, and a subgradient."""
        return self._two_sided(scores, kappa=0.0)

    def smoothed(self, scores: Array, mu: float, hint: float = float("nan")) -> RiskValue:
        """``R_mu`` of the printed form: ``beta_ij`` in [-1, 1] as in the paper's section 3.2."""
        return self._two_sided(scores, kappa=mu * self._pairs)

    def _two_sided(self, scores: Array, *, kappa: float) -> RiskValue:
        below = self._hinges(scores, margin=0.5, kappa=kappa)
        above = self._hinges(-scores, margin=-0.5, kappa=kappa)
        return RiskValue(
            0.5 + below.value + above.value,
            below.gradient - above.gradient,
            0.5 + below.offset + above.offset,
            0.5 + below.height + above.height,
            below.rounding + above.rounding,
        )


@dataclass(frozen=True)
class ROCArea(Measure):
    """Area under the ROC curve: how often a positive scores above a negative.

    Parameters
    ----------
    as_printed : bool, default=False
        Train with equation (3) of the paper as it is printed, for reproduction only (docs/maths.md says what is
        wrong with it).

    Examples
    --------
    >>> from smoothperf import ROCArea
    >>> ROCArea().score([1, 1, -1, -1], [0.9, 0.3, 0.5, 0.1])
    0.75
    >>> import numpy as np
    >>> round(ROCArea().bind([1, 1, -1, -1]).exact(np.array([0.9, 0.3, 0.5, 0.1])).value, 6)
    0.7
    """

    as_printed: bool = False
    name: ClassVar[str] = "roc_area"

    def bind(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ROCAreaRisk:
        """Return the convex risk (roc-risk) for given labels; see :meth:`Measure.bind`."""
        positive = binary_labels(y)
        return (PrintedROCAreaRisk if self.as_printed else ROCAreaRisk)(positive, weights_of(sample_weight, positive))

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Area under the ROC curve; a tied pair counts one half."""
        positive = binary_labels(y)
        f = vector("scores", scores, length=positive.shape[0])
        return float(roc_auc_score(positive, f, sample_weight=weights_of(sample_weight, positive)))
