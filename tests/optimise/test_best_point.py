"""A run returns the best point that it has seen, by exact objective, and never worse than w = 0."""

import itertools

import numpy as np
import pytest

from problems import gaussians, problem
from smoothperf import BMRM, LBFGS, PRBEP, ErrorRate, Nesterov, Newton, ROCArea


def exact(measure, X, y, alpha, coef):
    """J from the weights, with scores of their own."""
    objective = problem(measure, X, y, alpha)
    return alpha / 2.0 * float(coef @ coef) + objective.risk.exact_value(objective.design.matvec(coef))


def badly_scaled(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.choice([2, 5, 30]))
    X, y = gaussians(*rng.integers(2, 15, size=2), d, shift=rng.choice([0.0, 0.5, 2.0]), seed=seed)
    alpha, tol = 10.0 ** rng.integers(-8, 3), 10.0 ** rng.integers(-6, -1)
    return X * 10.0 ** rng.integers(-8, 9, size=d), y, alpha, tol, int(rng.choice([1, 3, 10, 50]))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("measure", "solver"),
    [
        *itertools.product([PRBEP(), ROCArea(), ErrorRate()], [LBFGS, Nesterov, BMRM]),
        *itertools.product([PRBEP(), ErrorRate()], [Newton]),  # ROC area has no curvature of the form that it takes
    ],
)
def test_no_iterate_is_better_and_neither_is_zero(measure, solver, seed):
    X, y, alpha, tol, max_iter = badly_scaled(seed)
    seen = [exact(measure, X, y, alpha, np.zeros(X.shape[1]))]

    def look(row, weights):
        seen.append(exact(measure, X, y, alpha, weights()))

    result = solver(tol=tol, max_iter=max_iter).run(problem(measure, X, y, alpha), observer=look)
    assert result.objective <= seen[0]
    assert result.objective <= min(seen) + 1e-12 * abs(min(seen))
    assert result.objective == pytest.approx(exact(measure, X, y, alpha, result.coef), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("solver", [LBFGS, Nesterov, BMRM, Newton])
def test_a_bad_start_is_not_returned(solver):
    X, y = gaussians(20, 30)
    start = np.full(3, 1e3)
    result = solver(max_iter=0).run(problem(PRBEP(), X, y, 1.0), start)
    assert result.objective == exact(PRBEP(), X, y, 1.0, np.zeros(3)) < 1.0 + 1e-12
    np.testing.assert_array_equal(result.coef, 0.0)
    np.testing.assert_array_equal(result.scores, 0.0)
    assert result.trace.rows[0].objective > 1e5
    assert result.trace.rows[0].gap <= 1.0


def test_a_bad_start_in_the_space_of_rows():
    X, y = gaussians(4, 5, 40)
    result = LBFGS(max_iter=0).run(problem(PRBEP(), X, y, 1.0), np.full(40, 1e3))
    np.testing.assert_array_equal(result.coef, np.zeros(40))
    assert result.objective == pytest.approx(1.0)


@pytest.mark.parametrize("measure", [PRBEP(), ROCArea()], ids=str)
def test_the_trace_says_what_is_exact(measure):
    """Otherwise it is an upper bound."""
    X, y = gaussians(2000, 3000, 5)
    rows = []

    def look(row, weights):
        rows.append((row, exact(measure, X, y, 1e-3, weights())))

    LBFGS(tol=1e-7).run(problem(measure, X, y, 1e-3), observer=look)
    assert {row.exact for row, _ in rows} == {True, False}
    for row, value in rows:
        if row.exact:
            assert row.objective == pytest.approx(value, rel=1e-10)
        else:
            assert row.objective >= value * (1.0 - 1e-10)
    BMRM(max_iter=3).run(problem(measure, X, y, 1e-3), callback=lambda row: not row.exact)
