"""Newton's method: the optimum of an independent solver, exact steps, few passes, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import oracles
from problems import gaussians, problem, searching
from smoothperf import BMRM, LBFGS, PRBEP, Fixed, Newton, ROCArea, Status
from smoothperf.design import as_design
from smoothperf.optimise import Start, newton
from smoothperf.optimise.objective import RegularizedRisk, Run


@pytest.mark.parametrize("alpha", [1.0, 1e-2, 1e-4])
def test_reaches_the_optimum_of_a_generic_solver(alpha):
    X, y = gaussians(n_positive=4, n_negative=6)
    coef, minimum = oracles.prbep_optimum(X, y, alpha)
    result = Newton(tol=1e-6).run(problem(PRBEP(), X, y, alpha))
    assert result.status is Status.CONVERGED
    assert result.lower_bound <= minimum + 1e-8
    assert minimum - 1e-8 <= result.objective <= minimum + 1e-6 + 1e-8
    assert np.linalg.norm(result.coef - coef) <= np.sqrt(2 * (result.gap + 2e-8) / alpha)


@searching(25)
@given(
    n_positive=st.integers(1, 4),
    n_negative=st.integers(1, 4),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    log_alpha=st.floats(-5, 1),
    seed=st.integers(0, 1000),
)
def test_converges_below_no_optimum(n_positive, n_negative, scale, log_alpha, seed):
    X, y = gaussians(n_positive, n_negative, 2, scale=scale, seed=seed)
    alpha = 10.0**log_alpha * scale**2
    coef, _ = oracles.prbep_optimum(X, y, alpha)
    above = problem(PRBEP(), X, y, alpha).exact(coef)
    result = Newton(tol=1e-7).run(problem(PRBEP(), X, y, alpha))
    assert result.status is Status.CONVERGED
    assert max(result.trace["lower_bound"]) <= above
    assert result.objective >= result.lower_bound


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(40, 60, 5), (6, 9, 30), (4, 6, 80)], ids=str)
def test_agrees_with_the_other_solvers(shape, weighted):
    # The last two have more columns than rows; the last one so many that other solvers work in the space of rows.
    X, y = gaussians(*shape)
    weights = np.arange(y.size) % 3 + 1.0 if weighted else None
    results = [solver(tol=1e-6).run(problem(PRBEP(), X, y, 1e-2, weights)) for solver in (Newton, LBFGS, BMRM)]
    for result in results:
        assert result.status is Status.CONVERGED
        assert result.coef.shape == (X.shape[1],)
    assert max(r.lower_bound for r in results) <= min(r.objective for r in results)


def test_weights_are_copies():
    X, y = gaussians(20, 30)
    weights = np.arange(50) % 4
    weights[y > 0] += 1
    again = np.repeat(np.arange(50), weights)
    weighted = Newton(tol=1e-7).run(problem(PRBEP(), X, y, 1e-2, weights))
    copied = Newton(tol=1e-7).run(problem(PRBEP(), X[again], y[again], 1e-2))
    assert weighted.n_iter == copied.n_iter
    np.testing.assert_allclose(weighted.coef, copied.coef, atol=1e-6)


@pytest.mark.parametrize(
    "enter",
    [
        np.asfortranarray,
        lambda A: A.astype(np.float32),
        sp.csr_array,
        sp.csc_array,
        lambda A: sp.csr_array(np.float32(A)),
    ],
    ids=["Fortran", "float32", "CSR", "CSC", "CSR float32"],
)
def test_every_door_leads_to_the_same_weights(enter):
    X, y = gaussians(40, 60, 4)
    X = np.round(8 * X) / 8  # exact in float32
    expected = Newton(tol=1e-6).run(problem(PRBEP(), X, y, 1e-2))
    result = Newton(tol=1e-6).run(problem(PRBEP(), enter(X), y, 1e-2))
    assert result.n_iter == expected.n_iter
    np.testing.assert_allclose(result.coef, expected.coef, atol=1e-8)


def minimiser(objective, mu):
    """Of the smoothed objective, by gradients alone."""
    point = Run(objective).evaluate(np.zeros(objective.design.shape[1]), mu)
    found = scipy.optimize.minimize(
        lambda w: (lambda p: (p.value, p.gradient))(Run(objective).evaluate(w, mu)),
        point.coef,
        jac=True,
        method="BFGS",
        options={"gtol": 1e-11, "maxiter": 2000},
    )
    return found.x


@pytest.mark.parametrize("following", [1.0, 0.98], ids=["same mu", "smaller mu"])
@pytest.mark.parametrize("weighted", [False, True])
def test_step_lands_on_the_minimiser_while_the_active_rows_stay(weighted, following):
    X, y = gaussians(30, 50)
    weights = np.arange(80) % 3 + 1.0 if weighted else None
    objective = problem(PRBEP(), X, y, 1e-1, weights)
    mu = 0.1 / objective.risk.diameter
    # From the minimiser for mu itself, or from a point near it.
    coef = minimiser(objective, mu)
    if following == 1.0:
        coef = coef + 1e-5
    point = Run(objective).evaluate(coef, mu)
    curvature = objective.risk.curvature(point.scores, point.risk, mu, following * mu)
    step = newton.direction(objective, point, curvature)
    target = minimiser(objective, following * mu)
    there = Run(objective).evaluate(target, following * mu)
    rows = objective.risk.curvature(there.scores, there.risk, following * mu, following * mu).rows
    np.testing.assert_array_equal(curvature.rows, rows)  # the premise
    assert np.linalg.norm(target - coef) > 1e-6
    np.testing.assert_allclose(coef + step, target, atol=1e-7 * np.linalg.norm(target))


def test_direction_without_active_rows_is_that_of_the_regulariser():
    X, y = np.array([[9.0], [8.0], [-8.0], [-9.0]]), [1, 1, -1, -1]
    objective = problem(PRBEP(), X, y, 0.5)
    point = Run(objective).evaluate(np.array([10.0]), 0.01)
    curvature = objective.risk.curvature(point.scores, point.risk, 0.01, 0.01)
    assert curvature.rows.size == 0
    np.testing.assert_allclose(newton.direction(objective, point, curvature), [-10.0])


def test_large_column_means_do_not_stop_it():
    X, y = gaussians(40, 60, 4)
    shifted = X + np.array([0.0, 1e3, 1e6, 1e7])
    # The risk does not change when all scores shift; rounding makes the centred matrix indefinite.
    objective = RegularizedRisk(as_design(shifted), PRBEP().bind(y), 1e-4)
    point = Run(objective).evaluate(np.zeros(4), 1e-4)
    direction = newton.direction(objective, point, objective.risk.curvature(point.scores, point.risk, 1e-4, 1e-4))
    assert direction @ point.gradient < 0.0
    expected = Newton(tol=1e-3).run(problem(PRBEP(), X, y, 1e-4))
    result = Newton(tol=1e-3, max_iter=300).run(objective)
    assert result.objective <= expected.objective + 2e-3


def test_rounding_that_makes_the_matrix_indefinite_is_made_up_for(monkeypatch):
    X, y = gaussians(400, 600, 4)
    objective = problem(PRBEP(), 1e-3 * X + 1e7, y, 1e-4)
    point = Run(objective).evaluate(np.zeros(4), 1e-4)
    curvature = objective.risk.curvature(point.scores, point.risk, 1e-4, 1e-4)
    monkeypatch.setattr(newton, "ROUNDING", 1e-18)  # too little for this matrix
    direction = newton.direction(objective, point, curvature)
    assert direction @ point.gradient < 0.0
    assert not np.array_equal(direction, -point.gradient)


def test_takes_one_pass_each_way_per_iteration_and_fewer_than_lbfgs():
    X, y = gaussians(300, 500, 10, shift=0.2)
    X *= np.logspace(0.0, -1.5, 10)
    objective = problem(PRBEP(), X, y, 1e-4)
    rows = []
    result = Newton(tol=1e-6).run(objective, callback=rows.append)
    assert result.status is Status.CONVERGED
    assert result.n_matvec == result.n_rmatvec == result.n_iter + 1
    assert (objective.n_matvec, objective.n_rmatvec) == (result.n_matvec, result.n_rmatvec)
    assert rows == result.trace.rows
    assert result.gap == result.objective - result.lower_bound <= 1e-6
    assert result.objective == problem(PRBEP(), X, y, 1e-4).exact(result.coef)
    assert 2 * result.n_iter < LBFGS(tol=1e-6).run(problem(PRBEP(), X, y, 1e-4)).n_iter


def test_warm_start_and_planes_carry_over():
    X, y = gaussians(100, 150)
    first = Newton(tol=1e-5).run(problem(PRBEP(), X, y, 1e-2), keep_planes=50)
    start = first.coef.copy()
    start.flags.writeable = False
    again = Newton(tol=1e-5).run(problem(PRBEP(), X, y, 1e-2), Start(start, first.planes))
    assert again.n_iter == 0
    other = Newton(tol=1e-5).run(problem(PRBEP(), X, y, 5e-3), Start(start, first.planes))
    assert other.status is Status.CONVERGED
    assert other.n_iter < Newton(tol=1e-5).run(problem(PRBEP(), X, y, 5e-3)).n_iter


def test_ends_are_reported():
    X, y = gaussians(30, 50)
    objective = problem(PRBEP(), X, y, 1e-3)
    assert Newton(tol=1e-9, max_iter=4).run(objective).status is Status.ITERATION_LIMIT
    assert Newton(tol=1e-9).run(objective, callback=lambda row: row.iteration == 2).status is Status.STOPPED
    assert Newton(tol=1e-6, smoothing=Fixed(deviation=0.5)).run(objective).status is Status.SMOOTHING_LIMIT
    hopeless = Newton(tol=1e-300, max_iter=100).run(objective)
    assert hopeless.status in (Status.PRECISION_LIMIT, Status.ITERATION_LIMIT)
    assert 0.0 < hopeless.gap < 1e-9


def test_refuses_what_it_cannot_do(monkeypatch):
    X, y = gaussians(10, 20, 3)
    objective = problem(ROCArea(), X, y, 1e-2)
    with pytest.raises(ValueError, match=r"Newton needs second derivatives, which .* lacks; use LBFGS"):
        Newton().run(objective)
    assert (objective.n_matvec, objective.n_rmatvec) == (0, 0)
    monkeypatch.setattr(newton, "MOST_FEATURES", 2)
    with pytest.raises(ValueError, match=r"of which X has 3 \(at most 2\); use LBFGS"):
        Newton().run(problem(PRBEP(), X, y, 1e-2))


def test_few_planes_still_give_a_true_bound():
    X, y = gaussians(40, 60, 5)
    full = Newton(tol=1e-5).run(problem(PRBEP(), X, y, 1e-3))
    few = replace(Newton(tol=1e-5), max_planes=5).run(problem(PRBEP(), X, y, 1e-3))
    assert max(few.trace["lower_bound"]) <= full.objective
    assert few.objective >= full.lower_bound
