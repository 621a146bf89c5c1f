"""The line search on convex functions of one variable."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import searching
from smoothperf.measures import Plane, RiskValue
from smoothperf.optimise.line_search import flat_point
from smoothperf.optimise.objective import Trial

NOTHING = np.zeros(0)


class Curve:
    """A line whose value and slope are given functions; remembers where it was asked."""

    def __init__(self, function, derivative):
        self.function, self.derivative, self.steps, self.forgotten = function, derivative, [], []

    def at(self, step, mu):
        assert mu == 1.0
        self.steps.append(step)
        nothing = RiskValue(Plane(NOTHING, 0.0, 0.0), 0.0, 0.0)
        return Trial(step, mu, self.function(step), self.derivative(step), NOTHING, nothing)

    def forget(self, trial):
        self.forgotten.append(trial.step)


def search(curve, **options):
    """The step that is found. Of all trials no more than two are kept at a time: the last, and the best before it."""
    found = flat_point(curve, curve.at(0.0, 1.0), **options)
    trials = curve.steps[1:]
    assert set(curve.forgotten) <= set(trials)
    assert len(trials) - 2 <= len(curve.forgotten) == len(set(curve.forgotten))
    assert found is None or found.step not in curve.forgotten
    return found


@searching(60)
@given(minimum=st.floats(1e-6, 1e6), curvature=st.floats(1e-3, 1e3), flatness=st.sampled_from([0.5, 0.2, 0.01]))
def test_quadratic(minimum, curvature, flatness):
    curve = Curve(lambda t: curvature * (t - minimum) ** 2, lambda t: 2 * curvature * (t - minimum))
    found = search(curve, flatness=flatness)
    assert abs(found.derivative) <= flatness * 2 * curvature * minimum
    assert found.value <= curvature * minimum**2


@searching(60)
@given(
    kinks=st.lists(st.floats(0.01, 100), min_size=1, max_size=8),
    widths=st.lists(st.floats(1e-4, 1.0), min_size=8, max_size=8),
)
def test_sums_of_huber_hinges(kinks, widths):
    """The kind of function that smoothed risks are: nearly piecewise linear, with a quadratic term."""

    def value(t):
        hinges = sum(
            np.clip(t - k, 0, h) ** 2 / (2 * h) + max(0.0, t - k - h) for k, h in zip(kinks, widths, strict=False)
        )
        return 5e-3 * t**2 - t + 2 * hinges

    def slope(t):
        return 1e-2 * t - 1 + 2 * sum(np.clip((t - k) / h, 0, 1) for k, h in zip(kinks, widths, strict=False))

    curve = Curve(value, slope)
    found = search(curve, flatness=0.2)
    assert found.value < 0.0
    assert abs(found.derivative) <= 0.2


def test_accepts_the_first_step_if_it_is_flat():
    curve = Curve(lambda t: (t - 1.05) ** 2, lambda t: 2 * (t - 1.05))
    found = search(curve, flatness=0.2)
    assert found.step == 1.0
    assert curve.steps == [0.0, 1.0]


def test_a_flat_slope_beyond_the_minimum_is_no_excuse_for_a_higher_value():
    # Falls steeply, then climbs gently for long: at t = 100 the slope is "flat" but the value is above the start.
    def value(t):
        return -t if t < 0.1 else -0.1 + 0.05 * (t - 0.1)

    curve = Curve(value, lambda t: -1.0 if t < 0.1 else 0.05)
    found = search(curve, flatness=0.2, first=100.0)
    assert found.value <= 0.0


def test_gives_up_when_nothing_is_lower():
    # Says downhill, but is not: what rounding looks like at the optimum.
    curve = Curve(lambda t: 1.0 + (1e-10 if t > 0 else 0.0), lambda t: -1e-16 if t == 0 else 1e-3)
    assert search(curve, flatness=0.2) is None


@pytest.mark.parametrize("first", [1e-8, 1.0, 1e8])
def test_any_first_step(first):
    curve = Curve(lambda t: np.cosh(t - 3.0), lambda t: np.sinh(t - 3.0) if t < 700 else np.inf)
    with np.errstate(over="ignore"):
        found = search(curve, flatness=0.2, first=first)
    assert abs(found.derivative) <= 0.2 * np.sinh(3.0)


def test_no_search_for_what_rounding_hides():
    """The slope jumps across 0, and what is left to gain is less than the value can show."""
    curve = Curve(lambda t: 1.0 + 1e-15 * abs(t - 0.3), lambda t: 1e-15 * np.sign(t - 0.3))
    found = search(curve, flatness=0.5)
    assert found.value <= curve.function(0.0) * (1.0 + 1e-14)
    assert len(curve.steps) <= 3
