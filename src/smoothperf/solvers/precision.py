"""Where rounding ends a run.

Let ``S = B |w|``, with B the largest row norm of X; no score is larger. A plane is known up to ``r (1 + S)`` with the
risk's own bound r (docs/maths.md, eq. plane-rounding), which grows with ``1 / mu`` for most risks. And two evaluations
of J at the same place differ by a few units in the last place of the largest term in them,

    noise = NOISE u (1 + 2 S),    u = 2^-53

(a typical error; docs/maths.md, eq. evaluation-rounding, has the bound that the certificate uses). From this follows

* when mu is small enough: the plane lies below the risk by ``slack <= mu D``, and as soon as that is little beside
  its rounding, a smaller mu makes the plane worse and not better, and evaluations slower;
* when a run is stuck: for some time neither J_mu nor the gap has fallen by more than the noise;
* what a solved J_mu says about an open gap: it is the slack (docs/maths.md, slack) or else rounding.
"""

from __future__ import annotations

import math

from ..design import Design
from ..objective import Point
from .result import Status
from .smoothing import Smoothing

#: What part of its rounding the slack of a plane may be before mu is small enough. Less than 1, as the weights still
#: become better when planes do not.
LITTLE = 0.01
#: Units in the last place that are noise.
NOISE = 4.0
UNIT_ROUNDOFF = 2.0**-53


class Precision:
    """Watches what rounding lets see of a run.

    Parameters
    ----------
    design : Design
        X.
    patience : int
        Iterations with the same mu and without visible progress after which a run is stuck.
    """

    def __init__(self, design: Design, *, patience: int):
        self._row_norm = design.row_norm
        self._patience = patience
        self._mu = math.nan
        self._value = self._gap = math.inf
        self._idle = 0

    def next_mu(self, smoothing: Smoothing, point: Point, *, slack: float, gap: float) -> float:
        """The mu that follows by a rule; the same one where rounding hides what smoothing does."""
        return point.mu if self._hides(point, slack) else smoothing.following(point.mu, slack=slack, gap=gap)

    def end(self, point: Point, *, slack: float, gap: float) -> Status:
        """How a run ends in which J_mu is solved and mu is not to shrink."""
        smoothing_matters = slack > 0.5 * gap and not self._hides(point, slack)
        return Status.SMOOTHING_LIMIT if smoothing_matters else Status.PRECISION_LIMIT

    def is_stuck(self, point: Point, gap: float) -> bool:
        """Whether nothing has come of the last iterations; to be asked once in each."""
        noise = NOISE * UNIT_ROUNDOFF * (1.0 + 2.0 * self._largest_score(point))
        if point.mu != self._mu or point.value < self._value - noise or gap < self._gap - noise:
            self._mu, self._value, self._gap, self._idle = point.mu, point.value, gap, 0
        else:
            self._idle += 1
        return self._idle >= self._patience

    def _hides(self, point: Point, slack: float) -> bool:
        """Whether the slack is little beside the rounding of the plane."""
        return slack <= LITTLE * point.risk.plane.rounding * (1.0 + self._largest_score(point))

    def _largest_score(self, point: Point) -> float:
        return self._row_norm * math.sqrt(point.coef_square)
