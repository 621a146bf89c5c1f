"""The ROC area loss as the paper prints it, equation (3): ``max(d, 1 - d)`` per pair with ``d = f_i - f_j``.

It grows with a *correct* margin, so that it pulls every pair to the margin 1/2 instead of rewarding a larger one; the
library trains with the hinge ``max(0, 1 - d)``, which is meant (docs/maths.md, slips).

    max(d, 1 - d) = 1/2 + max(0, 1/2 - d) + max(0, d - 1/2)

Both hinges are those of the library, with the margin 1/2 on the scores and the margin -1/2 on the negated scores. At
most one of them is positive in a pair, so the smoothed form is the sum of the two Huber hinges, with
``beta = clip((d - 1/2) / kappa, -1, 1)`` as in the paper's section 3.2, the same ``D = M/2`` and the same Lipschitz
constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from smoothperf._arrays import Array
from smoothperf.measures import Risk, RiskValue, ROCArea
from smoothperf.measures.examples import Examples
from smoothperf.measures.risk import Interval, Plane
from smoothperf.measures.roc_area import ROCAreaRisk


class PrintedROCAreaRisk(ROCAreaRisk):
    """The risk of :class:`PrintedROCArea` for given labels and weights."""

    has_loss_free: ClassVar[bool] = False

    def loss_free(self, scores: Array) -> RiskValue:
        """Refuse: there is no margin to leave out."""
        return Risk.loss_free(self, scores)

    def exact(self, scores: Array) -> RiskValue:
        """``R`` as printed, and a subgradient."""
        return self._two_sided(scores, kappa=0.0)

    def exact_value(self, scores: Array) -> float:
        """``R`` as printed; the gradient is a by-product."""
        return self.exact(scores).value

    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """``R_mu`` of the printed form: ``beta_ij`` in [-1, 1] as in the paper's section 3.2."""
        return self._two_sided(scores, kappa=mu * self._mass, out=out)

    def _two_sided(self, scores: Array, *, kappa: float, out: Array | None = None) -> RiskValue:
        below = self._hinges(scores, margin=0.5, kappa=kappa, gradient=out)
        above = self._hinges(-scores, margin=-0.5, kappa=kappa)
        gradient = np.subtract(below.plane.gradient, above.plane.gradient, out=below.plane.gradient)
        rounding = below.plane.rounding + above.plane.rounding
        assert below.exact is not None
        assert above.exact is not None
        exact = 0.5 + below.exact.high + above.exact.high
        return RiskValue(
            Plane(gradient, 0.5 + below.plane.offset + above.plane.offset, rounding),
            0.5 + below.value + above.value,
            0.5 + below.height + above.height,
            exact=Interval(exact, exact),
        )


@dataclass(frozen=True)
class PrintedROCArea(ROCArea):
    """Area under the ROC curve, trained with equation (3) of the paper as it is printed.

    Examples
    --------
    >>> scores = np.array([4.0, 0.0])
    >>> ROCArea().bind([1, -1]).exact_value(scores), PrintedROCArea().bind([1, -1]).exact_value(scores)
    (0.0, 4.0)
    """

    def risk(self, examples: Examples) -> PrintedROCAreaRisk:
        """Return the convex risk of the printed form."""
        return PrintedROCAreaRisk(examples)
