"""Line search on a convex function of one variable whose trials are cheap.

``phi(t) = J_mu(w + t p)`` is convex and continuously differentiable, and a trial costs O(n) without touching X, while
every iteration saved saves two passes over X. So the search aims for a nearly flat point,
``|phi'(t)| <= flatness |phi'(0)|`` and ``phi(t) <= phi(0)`` (strong Wolfe with a small constant), by secant steps on
phi' inside a bracket; where phi' is nearly a jump and secants creep along one side, by bisection.
"""

from __future__ import annotations

from typing import Protocol

from .objective import Point, Trial

#: Relative slack for comparing two values of the objective that differ by rounding only.
ROUNDING = 1e-14


class Searchable(Protocol):
    """A line, as far as the search needs to know it."""

    def at(self, step: float, mu: float) -> Trial:
        """Return the trial at a step."""

    def forget(self, trial: Trial) -> None:
        """Use the memory of a trial's vectors again; only its numbers are needed from now on."""


def flat_point(
    line: Searchable,
    origin: Trial,
    *,
    flatness: float,
    first: float = 1.0,
    max_trials: int = 60,
    noise: float = ROUNDING,
) -> Trial | None:
    """Return a trial with a lower value and a slope close to zero; None if rounding hides every descent.

    Parameters
    ----------
    line : Line
        Gives the trial at any step and mu.
    origin : Trial
        The trial at step 0 and the mu to search with; its derivative must be negative.
    flatness : float
        Fraction of the initial slope that is flat enough.
    first : float
        The step to try first.
    max_trials : int
        Most trials; the lowest so far is returned then.
    noise : float
        Relative rise of the value that counts as none.
    """
    visible = ROUNDING * abs(origin.value)
    ceiling = origin.value + noise * abs(origin.value)
    target = flatness * -origin.derivative
    left, right = origin, None
    best: Trial | None = None
    step = first
    same_side = 0  # positive: trials in a row that became the right end; negative: the left end
    for _ in range(max_trials):
        trial = line.at(step, origin.mu)
        low_enough = trial.value <= ceiling
        if low_enough and abs(trial.derivative) <= target:
            return trial
        if low_enough and (best is None or trial.value < best.value):
            best, other = trial, best
        else:
            other = trial
        if other is not None:
            line.forget(other)
        if low_enough and trial.derivative < 0.0:
            left = trial
            same_side = min(same_side, 0) - 1
        else:
            right = trial
            same_side = max(same_side, 0) + 1
        if right is None:
            step = _beyond(origin, left)
        else:
            step = _between(left, right, bisect=abs(same_side) > 1)
            if not left.step < step < right.step:
                break  # no number is left between the two
            if -left.derivative * (right.step - left.step) <= visible:
                break  # phi is convex: what lies between the two is not lower by more than that
    return best


def check_flatness(flatness: float) -> None:
    """Refuse a number that is not between 0 and 1."""
    if not 0.0 < flatness < 1.0:
        raise ValueError(f"flatness must lie between 0 and 1, got {flatness!r}.")


def first_step(point: Point, origin: Trial, *, farthest: float) -> float:
    """The step to try first. From 0 on it goes to where the tangent is 0, as J is never less; ``farthest`` at most.

    (Measured with L-BFGS on ten data sets against a step of 1: 6% fewer evaluations, as many iterations.)
    """
    return 1.0 if point.coef_square > 0.0 else min(origin.value / -origin.derivative, farthest)


def _beyond(origin: Trial, left: Trial) -> float:
    """Extrapolate the secant of the derivative to zero, by a factor of 2 to 10."""
    rise = left.derivative - origin.derivative
    secant = left.step * -origin.derivative / rise if rise > 0.0 else float("inf")
    return min(max(secant, 2.0 * left.step), 10.0 * left.step)


def _between(left: Trial, right: Trial, *, bisect: bool) -> float:
    """Zero of the secant of the derivative, not too close to an end; or the middle."""
    width = right.step - left.step
    rise = right.derivative - left.derivative
    if bisect or not 0.0 < rise < float("inf"):
        return left.step + 0.5 * width
    secant = left.step - left.derivative * width / rise
    return min(max(secant, left.step + 0.1 * width), right.step - 0.1 * width)
