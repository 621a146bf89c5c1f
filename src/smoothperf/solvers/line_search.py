"""Line search on a convex function of one variable whose trials are cheap.

``phi(t) = J_mu(w + t p)`` is convex and continuously differentiable, and a trial costs O(n) without touching X, while every
iteration saved saves two passes over X. So the search aims for a nearly flat point, ``|phi'(t)| <= flatness |phi'(0)|`` and
``phi(t) <= phi(0)`` (strong Wolfe with a small constant), by secant steps on phi' inside a bracket.
"""

from __future__ import annotations

from collections.abc import Callable

from ..objective import Trial

#: Relative slack for comparing two values of the objective that differ by rounding only.
ROUNDING = 1e-14


def flat_point(
    evaluate: Callable[[float], Trial], origin: Trial, *, flatness: float, first: float = 1.0, max_trials: int = 40
) -> Trial | None:
    """Return a trial with a lower value and a slope close to zero; None if rounding hides every descent.

    Parameters
    ----------
    evaluate : callable
        Trial at a given step.
    origin : Trial
        The trial at step 0; its derivative must be negative.
    flatness : float
        Fraction of the initial slope that is flat enough.
    first : float
        The step to try first.
    """
    ceiling = origin.value + ROUNDING * abs(origin.value)
    target = flatness * -origin.derivative
    left, right = origin, None
    best: Trial | None = None
    step = first
    for _ in range(max_trials):
        trial = evaluate(step)
        if trial.value <= ceiling and (best is None or trial.value < best.value):
            best = trial
        if trial.value <= ceiling and abs(trial.derivative) <= target:
            return trial
        if trial.derivative < 0.0 and trial.value <= ceiling:
            left = trial
        else:
            right = trial
        step = _next_step(origin, left, right)
        if right is not None and not left.step < step < right.step:
            break
    return best


def _next_step(origin: Trial, left: Trial, right: Trial | None) -> float:
    """Secant on the derivative; kept away from the ends of the bracket, or within a factor 2 to 10 beyond it."""
    if right is None:
        rise = left.derivative - origin.derivative
        secant = left.step * -origin.derivative / rise if rise > 0.0 else float("inf")
        return min(max(secant, 2.0 * left.step), 10.0 * left.step)
    width = right.step - left.step
    rise = right.derivative - left.derivative
    secant = left.step - left.derivative * width / rise if rise > 0.0 else left.step + width / 2.0
    return min(max(secant, left.step + 0.1 * width), right.step - 0.1 * width)
