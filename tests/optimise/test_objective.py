"""The objective, its points and its lines."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from problems import MEASURES, gaussians, problem
from smoothperf.optimise.objective import Run


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_gradient_by_finite_differences(measure):
    X, y = gaussians(10, 15)
    objective = problem(measure, X, y, 0.3)
    run = Run(objective)
    mu = 0.05 / objective.risk.diameter
    w = np.array([0.3, -0.2, 0.1])
    numeric = oracles.central_differences(lambda v: run.evaluate(np.array(v), mu).value, w, 1e-6)
    np.testing.assert_allclose(run.evaluate(w, mu).gradient, numeric, atol=1e-7)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_exact_is_the_definition(measure):
    X, y = gaussians(10, 15)
    w = np.array([0.3, -0.2, 0.1])
    expected = 0.15 * w @ w + measure.bind(y).exact(X @ w).value
    assert problem(measure, X, y, 0.3).exact(w) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_a_line_agrees_with_points_on_it_and_never_touches_x(measure):
    X, y = gaussians(10, 15)
    objective = problem(measure, X, y, 0.3)
    run = Run(objective)
    mu = 0.05 / objective.risk.diameter
    w, p = np.array([0.3, -0.2, 0.1]), np.array([-1.0, 0.5, 2.0])
    line = run.along(run.evaluate(w, mu), p.copy())
    before = objective.n_matvec, objective.n_rmatvec
    found = [line.at(step, mu) for step in (0.0, 0.1, 1.0, 7.0)]
    origin = line.origin(mu)
    other = line.origin(mu / 2)
    assert (objective.n_matvec, objective.n_rmatvec) == before
    for trial in found:
        point = run.evaluate(w + trial.step * p, mu)
        assert trial.value == pytest.approx(point.value, abs=1e-12)
        assert trial.derivative == pytest.approx(point.gradient @ p, abs=1e-10)
        # A line ends with the point that is taken from it.
        found_point = run.along(run.evaluate(w, mu), p.copy()).point(trial)
        np.testing.assert_allclose(found_point.gradient, point.gradient, atol=1e-12)
        np.testing.assert_allclose(found_point.coef, point.coef)
    assert origin.value == pytest.approx(found[0].value, abs=1e-14)
    assert other.value == pytest.approx(run.evaluate(w, mu / 2).value, abs=1e-12)


def test_a_line_uses_the_memory_of_forgotten_trials_again():
    from smoothperf import ROCArea

    X, y = gaussians(10, 15)
    objective = problem(ROCArea(), X, y, 0.3)
    run = Run(objective)
    line = run.along(run.evaluate(np.array([0.3, -0.2, 0.1]), 0.1), np.array([-1.0, 0.5, 2.0]))
    kept, origin = line.at(0.5, 0.1), line.at(0.0, 0.2)
    values = kept.scores.copy(), kept.risk.plane.gradient.copy(), origin.scores.copy()
    forgotten = line.at(1.0, 0.1)
    line.forget(forgotten)
    again = line.at(2.0, 0.1)
    vectors = {id(forgotten.scores), id(forgotten.risk.plane.gradient)}
    assert vectors == {id(again.scores), id(again.risk.plane.gradient)}
    line.forget(origin)  # whose scores are those of the start
    line.forget(line.at(3.0, 0.1))
    for vector, before in zip((kept.scores, kept.risk.plane.gradient, origin.scores), values, strict=True):
        np.testing.assert_array_equal(vector, before)


def test_excess_bounds_the_distance_to_the_smoothed_minimum():
    from smoothperf import LBFGS, Fixed, ROCArea

    X, y = gaussians(10, 15)
    objective = problem(ROCArea(), X, y, 0.3)
    run = Run(objective)
    mu = 0.1 / objective.risk.diameter
    w = LBFGS(tol=1e-12, smoothing=Fixed(mu=mu)).run(objective).coef
    minimum = run.evaluate(w, mu).value
    for step in (1e-3, 1e-1, 1.0):
        point = run.evaluate(w + step, mu)
        above = point.value - minimum
        assert point.excess >= 0.99 * above


def test_rows_and_labels_must_match():
    X, y = gaussians(3, 4)
    with pytest.raises(ValueError, match="X has 7 rows but y has 6 labels"):
        problem(MEASURES[0], X, y[:-1], 1.0)
