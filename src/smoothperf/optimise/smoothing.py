"""The amount of smoothing: the choice of mu, and when to shrink it.

``R - mu D <= R_mu <= R``, so ``mu = eps/D`` guarantees an error of at most eps. That is a worst case. At a given
point the plane of the smoothed risk lies below the exact risk by ``slack = R(f) - height``, which is known for one
exact evaluation and never above ``mu D``. At the minimiser of ``J_mu`` the certified gap *is* the slack
(docs/maths.md, slack), so as long as the slack is a small part of the gap, smoothing is not what keeps the gap
open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from .._validation import positive_number
from ..measures import Risk

#: Deviations ``mu D`` that make sense. Risks are about 1: with more smoothing nothing is left of them, and with less
#: there is nothing but rounding in the gradients.
LEAST, MOST = 1e-10, 1e3


def mu_for(deviation: float, risk: Risk) -> float:
    """Return the mu for which ``mu D`` is a given deviation; 0 for a risk that is smooth, where mu has no effect.

    Examples
    --------
    >>> from smoothperf import PRBEP, LogLoss
    >>> mu_for(1e-3, PRBEP().bind([1, 1, -1, -1, -1])), mu_for(1e-3, LogLoss().bind([1, -1]))
    (0.0005, 0.0)
    """
    return deviation / risk.diameter if risk.diameter > 0.0 else 0.0


def _checked_deviation(deviation: float | None) -> None:
    if not LEAST <= positive_number("deviation", deviation) <= MOST:
        raise ValueError(f"deviation must lie between {LEAST:g} and {MOST:g}, got {deviation!r}; try 1e-3.")


@runtime_checkable
class Smoothing(Protocol):
    """A rule for mu."""

    def first(self, risk: Risk) -> float:
        """Return the mu to begin with.

        Parameters
        ----------
        risk : Risk
            The risk.

        Returns
        -------
        float
            The first mu.
        """

    def following(self, mu: float, *, slack: float, gap: float) -> float:
        """Return the mu of the next iteration, never above ``mu``.

        Parameters
        ----------
        mu : float
            The last mu.
        slack : float
            Slack of the last plane.
        gap : float
            The gap so far.

        Returns
        -------
        float
            The next mu.
        """


@dataclass(frozen=True)
class Fixed(Smoothing):
    """One mu throughout, as in the paper.

    Parameters
    ----------
    mu : float, optional
        The smoothing parameter itself; ``mu D`` must lie between 1e-10 and 1000.
    deviation : float, optional
        Largest error of the smoothed risk, ``mu D``: the paper's mu = eps/D, 100 eps/D and 1000 eps/D for
        eps = 1e-3 are ``deviation=1e-3``, ``0.1`` and ``1.0``. Give either this or ``mu``.

    Examples
    --------
    >>> from smoothperf import PRBEP
    >>> Fixed(deviation=1e-3).first(PRBEP().bind([1, 1, -1, -1, -1]))
    0.0005
    """

    mu: float | None = None
    deviation: float | None = None

    def __post_init__(self) -> None:
        if (self.mu is None) == (self.deviation is None):
            raise ValueError(
                f"Fixed takes either mu or deviation, got mu={self.mu!r} and deviation={self.deviation!r}."
            )
        if self.mu is not None:
            positive_number("mu", self.mu)
        else:
            _checked_deviation(self.deviation)

    def first(self, risk: Risk) -> float:
        """``mu``, or ``deviation / D``; 0 for a risk that is smooth."""
        if risk.diameter == 0.0:
            return 0.0
        if self.mu is not None:
            if not LEAST <= self.mu * risk.diameter <= MOST:
                low, high = LEAST / risk.diameter, MOST / risk.diameter
                raise ValueError(
                    f"smoothing must lie between {low:.2g} and {high:.2g} for this measure and these labels, "
                    f'got mu={self.mu:g}; "adaptive" needs no number.'
                )
            return self.mu
        assert self.deviation is not None
        return mu_for(self.deviation, risk)

    def following(self, mu: float, *, slack: float, gap: float) -> float:
        """``mu``."""
        return mu


@dataclass(frozen=True)
class Adaptive(Smoothing):
    """Begin smooth, and shrink mu when the measured error of smoothing is what keeps the gap open.

    Parameters
    ----------
    deviation : float, default=0.03
        ``mu D`` to begin with.
    share : float, default=0.4
        Shrink when the slack exceeds this share of the gap.
    factor : float, default=0.4
        The factor of mu then.

    Examples
    --------
    >>> from smoothperf import PRBEP
    >>> smoothing = Adaptive()
    >>> mu = smoothing.first(PRBEP().bind([1, 1, -1, -1, -1]))
    >>> smoothing.following(mu, slack=0.001, gap=0.1) == mu   # smoothing is not what keeps the gap open
    True
    >>> smoothing.following(mu, slack=0.09, gap=0.1) < mu
    True
    """

    deviation: float = 0.03
    share: float = 0.4
    factor: float = 0.4

    def __post_init__(self) -> None:
        _checked_deviation(self.deviation)
        positive_number("share", self.share)
        if not 0.0 < self.factor < 1.0:
            raise ValueError(f"factor must lie between 0 and 1, got {self.factor!r}.")

    def first(self, risk: Risk) -> float:
        """``deviation / D``; 0 for a risk that is smooth."""
        return mu_for(self.deviation, risk)

    def following(self, mu: float, *, slack: float, gap: float) -> float:
        """``mu``, or ``factor * mu`` if ``slack > share * gap``."""
        return mu * self.factor if slack > self.share * gap else mu
