"""Properties of every solver: the optimum of an independent solver, a true bound, honest books."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import oracles
from problems import gaussians, problem, searching
from smoothperf import BMRM, LBFGS, PRBEP, Adaptive, FBeta, Fixed, Nesterov, ROCArea, Status
from smoothperf.optimise import Start
from smoothperf.optimise.result import FalseBoundError

SOLVERS = [LBFGS, Nesterov, BMRM]
NESTEROV_VARIANTS = [
    Nesterov(tol=1e-4, form=form, backtracking=backtracking)
    for form, backtracking in itertools.product(("convex", "strongly_convex"), (True, False))
]


def optimum(measure, X, y, alpha):
    if isinstance(measure, PRBEP):
        return oracles.prbep_optimum(X, y, alpha)
    return oracles.roc_optimum(X, y, alpha)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("alpha", [1.0, 1e-2, 1e-4])
@pytest.mark.parametrize("measure", [PRBEP(), ROCArea()], ids=str)
def test_reaches_the_optimum_of_a_generic_solver(measure, alpha, solver):
    X, y = gaussians(n_positive=4, n_negative=6)
    coef, minimum = optimum(measure, X, y, alpha)
    result = solver(tol=1e-6, max_iter=20_000).run(problem(measure, X, y, alpha))
    assert result.status is Status.CONVERGED
    assert result.lower_bound <= minimum + 1e-8
    assert minimum - 1e-8 <= result.objective <= minimum + 1e-6 + 1e-8
    # Strong convexity turns the gap into a distance.
    assert np.linalg.norm(result.coef - coef) <= np.sqrt(2 * (result.gap + 2e-8) / alpha)


@pytest.mark.parametrize("solver", NESTEROV_VARIANTS, ids=str)
def test_every_form_of_the_accelerated_method_converges(solver):
    X, y = gaussians(20, 30)
    result = solver.run(problem(ROCArea(), X, y, 1e-2))
    assert result.status is Status.CONVERGED
    assert result.gap <= 1e-4


@searching(12)
@given(
    n_positive=st.integers(1, 4),
    n_negative=st.integers(1, 4),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    log_alpha=st.floats(-5, 1),
    seed=st.integers(0, 1000),
    prbep=st.booleans(),
)
def test_no_lower_bound_exceeds_the_optimum(n_positive, n_negative, scale, log_alpha, seed, prbep):
    X, y = gaussians(n_positive, n_negative, 2, scale=scale, seed=seed)
    measure = PRBEP() if prbep else ROCArea()
    alpha = 10.0**log_alpha * scale**2
    # The minimum by an independent program, from above: J at its solution, so its own inaccuracy cannot help us.
    coef, _ = optimum(measure, X, y, alpha)
    above = problem(measure, X, y, alpha).exact(coef)
    for solver in (
        LBFGS(tol=1e-7, max_iter=300),
        Nesterov(tol=1e-5, max_iter=300),
        BMRM(tol=1e-7, max_iter=300),
    ):
        result = solver.run(problem(measure, X, y, alpha))
        assert max(result.trace["lower_bound"]) <= above
        assert result.lower_bound <= above
        assert result.objective >= result.lower_bound


@pytest.mark.parametrize("solver", SOLVERS)
def test_books_are_honest(solver):
    X, y = gaussians(30, 50)
    objective = problem(PRBEP(), X, y, 1e-2)
    rows = []
    result = solver(tol=1e-5).run(objective, callback=rows.append)
    assert rows == result.trace.rows
    assert (objective.n_matvec, objective.n_rmatvec) == (result.n_matvec, result.n_rmatvec)
    assert result.n_iter == len(result.trace) - 1
    assert result.gap == result.objective - result.lower_bound
    assert result.gap <= 1e-5
    fresh = problem(PRBEP(), X, y, 1e-2)
    assert result.objective == fresh.exact(result.coef)
    np.testing.assert_array_equal(result.scores, fresh.matvec(result.coef))
    # What an iteration reports may be a little more than the exact objective, never less.
    assert result.objective <= min(result.trace["objective"]) + 1e-12
    assert result.objective == pytest.approx(min(result.trace["objective"]), abs=1e-4 if solver is LBFGS else 1e-12)
    assert np.all(np.diff(result.trace["lower_bound"]) >= -1e-12)
    assert np.all(np.diff(result.trace["passes"]) > 0)
    assert np.all(np.diff(result.trace["seconds"]) >= 0)
    assert result.seconds >= result.trace["seconds"][-1]


@pytest.mark.parametrize("measure", [PRBEP(), ROCArea()], ids=str)
def test_lbfgs_takes_one_pass_each_way_per_iteration(measure):
    X, y = gaussians(40, 80)
    result = LBFGS(tol=1e-6).run(problem(measure, X, y, 1e-3))
    assert result.n_iter > 5
    # One more of each: the gradient at the start, and the final check of the scores.
    assert result.n_matvec == result.n_iter + 1
    assert result.n_rmatvec == result.n_iter + 1


def test_smoothed_solvers_never_multiply_by_zero_weights_first():
    X, y = gaussians(10, 20)
    objective = problem(ROCArea(), X, y, 1e-2)
    LBFGS(max_iter=0).run(objective)
    assert (objective.n_matvec, objective.n_rmatvec) == (0, 1)  # only the first gradient


@pytest.mark.parametrize("solver", SOLVERS)
def test_warm_start_never_ends_worse_and_leaves_the_start_alone(solver):
    X, y = gaussians(30, 50)
    cold = solver(tol=1e-4).run(problem(ROCArea(), X, y, 1e-2))
    start = cold.coef.copy()
    start.flags.writeable = False
    warm = solver(tol=1e-4).run(problem(ROCArea(), X, y, 1e-2), start=start)
    assert warm.trace["objective"][0] == pytest.approx(cold.objective, abs=1e-12)
    assert warm.objective <= cold.objective + 1e-12
    assert warm.gap <= 1e-4


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("measure", [PRBEP(), ROCArea()], ids=str)
@pytest.mark.parametrize("iterations", [1, 2, 3, 300])
def test_planes_that_wait_for_a_cheap_moment_count_in_the_end(solver, measure, iterations):
    """With few entries in X inner products are dear beside passes, so planes wait; the result must not."""
    y = np.repeat([1, -1], [10, 20])
    X = np.eye(30) + np.outer(y > 0, np.eye(30)[0])
    waiting, at_once = (
        solver(tol=1e-4, max_iter=500).run(
            problem(measure, matrix, y, 1.0), callback=lambda row: row.iteration == iterations
        )
        for matrix in (sp.csr_matrix(X), X)
    )
    if iterations == 300:
        assert waiting.status is at_once.status is Status.CONVERGED
    else:
        assert waiting.lower_bound == pytest.approx(at_once.lower_bound, abs=1e-9 if waiting.gap > 1e-4 else 1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_callback_can_stop(solver):
    X, y = gaussians(30, 50)
    result = solver(tol=1e-9).run(problem(PRBEP(), X, y, 1e-3), callback=lambda row: row.iteration == 3)
    assert result.status is Status.STOPPED
    assert result.n_iter == 3
    assert result.gap == result.objective - result.lower_bound > 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_iteration_limit_is_reported(solver):
    X, y = gaussians(30, 50)
    result = solver(tol=1e-9, max_iter=4).run(problem(PRBEP(), X, y, 1e-3))
    assert result.status is Status.ITERATION_LIMIT
    assert result.n_iter == 4


@pytest.mark.parametrize("solver", [LBFGS, Nesterov])
def test_too_much_smoothing_is_reported(solver):
    X, y = gaussians(30, 50)
    result = solver(tol=1e-6, max_iter=5000, smoothing=Fixed(deviation=0.5)).run(problem(PRBEP(), X, y, 1e-1))
    assert result.status is Status.SMOOTHING_LIMIT
    assert result.gap > 1e-6


@pytest.mark.parametrize("multiple", [1, 100, 1000])
@pytest.mark.parametrize("measure", [PRBEP(), ROCArea()], ids=str)
def test_the_papers_choices_of_mu(measure, multiple):
    X, y = gaussians(30, 50)
    eps = 1e-3
    risk = measure.bind(y)
    by_mu = LBFGS(tol=eps, max_iter=200, smoothing=Fixed(mu=multiple * eps / risk.diameter))
    by_deviation = LBFGS(tol=eps, max_iter=200, smoothing=Fixed(deviation=multiple * eps))
    first = by_mu.run(problem(measure, X, y, 1e-3))
    second = by_deviation.run(problem(measure, X, y, 1e-3))
    assert first.objective == pytest.approx(second.objective, abs=1e-12)
    assert set(first.trace["mu"]) == {first.smoothing}
    if multiple == 1:
        assert first.status is Status.CONVERGED


def test_adaptive_smoothing_shrinks_when_it_must():
    X, y = gaussians(30, 50)
    result = LBFGS(tol=1e-7, smoothing=Adaptive(deviation=0.5)).run(problem(PRBEP(), X, y, 1e-1))
    assert result.status is Status.CONVERGED
    assert result.trace["mu"][0] > result.smoothing
    assert np.all(np.diff(result.trace["mu"]) <= 0)


@pytest.mark.parametrize(
    "solver", [LBFGS(tol=1e-4), Nesterov(tol=1e-4), BMRM(tol=1e-4)], ids=lambda s: type(s).__name__
)
def test_few_planes_still_give_a_true_bound(solver):
    X, y = gaussians(40, 60, 5)
    full = solver.run(problem(ROCArea(), X, y, 1e-3))
    few = replace(solver, max_planes=5, max_iter=300).run(problem(ROCArea(), X, y, 1e-3))
    assert max(few.trace["lower_bound"]) <= full.objective
    assert few.objective >= full.lower_bound
    assert few.trace["lower_bound"][-1] > 0.5 * full.lower_bound  # merging planes loses something, not everything


@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_are_copies(solver):
    X, y = gaussians(6, 9)
    weights = np.arange(15) % 4
    weights[y > 0] += 1
    again = np.repeat(np.arange(15), weights)
    weighted = solver(tol=1e-6, max_iter=5000).run(problem(ROCArea(), X, y, 1e-2, weights))
    copied = solver(tol=1e-6, max_iter=5000).run(problem(ROCArea(), X[again], y[again], 1e-2))
    assert weighted.lower_bound <= copied.objective
    assert copied.lower_bound <= weighted.objective


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LBFGS(tol=0.0), "tol must be a finite number above 0, got 0.0"),
        (lambda: Nesterov(tol=float("nan")), "tol must be a finite number above 0, got nan"),
        (lambda: BMRM(tol=-1), "tol must be a finite number above 0, got -1"),
        (lambda: LBFGS(max_iter=-1), "max_iter must be a whole number of at least 0, got -1"),
        (lambda: LBFGS(memory=0), "memory must be a whole number of at least 1, got 0"),
        (lambda: LBFGS(flatness=1.5), "flatness must lie between 0 and 1, got 1.5"),
        (lambda: Nesterov(form="fast"), "form must be one of 'strongly_convex', 'convex', got 'fast'"),
        (lambda: Fixed(), "Fixed takes either mu or deviation"),
        (lambda: Fixed(mu=1.0, deviation=1.0), "Fixed takes either mu or deviation"),
        (lambda: Fixed(mu=0.0), "mu must be a finite number above 0"),
        (lambda: Adaptive(factor=1.0), "factor must lie between 0 and 1"),
        (lambda: Fixed(deviation=1e-300), "deviation must lie between 1e-10 and 1000, got 1e-300"),
        (lambda: Adaptive(deviation=1e300), "deviation must lie between 1e-10 and 1000, got 1e\\+300"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("mu", [1e-300, 1e-13, 1e7, 1e300])
@pytest.mark.parametrize("measure", [PRBEP(), ROCArea(), FBeta()], ids=lambda measure: measure.name)
def test_smoothing_that_makes_no_sense(measure, mu):
    X, y = gaussians(10, 20)
    with pytest.raises(ValueError, match=r"smoothing must lie between .* and .* for this measure .* got mu=1e"):
        LBFGS(smoothing=Fixed(mu=mu)).run(problem(measure, X, y, 1e-2))


@pytest.mark.parametrize("solver", SOLVERS)
def test_planes_of_other_data_are_an_error_and_not_a_certificate(solver):
    """Planes of classes that overlap are false where the classes are apart."""
    X, y = gaussians(20, 30, shift=1.0)
    planes = solver(tol=1e-4).run(problem(PRBEP(), X, y, 1e-2), keep_planes=10).planes
    X, y = gaussians(20, 30, shift=3.0)
    with pytest.raises(FalseBoundError, match=r"the lower bound 0\.\d+ is above 0\.\d+.*do not belong to these data"):
        solver(tol=1e-4).run(problem(PRBEP(), X, y, 1e-2), Start(planes=planes))


def test_no_result_has_a_negative_gap():
    X, y = gaussians()
    result = LBFGS().run(problem(PRBEP(), X, y, 1e-2))
    with pytest.raises(FalseBoundError, match="the lower bound 2 is above 1"):
        replace(result, objective=1.0, lower_bound=2.0, gap=-1.0)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_rounding_is_no_false_bound(solver, scale):
    """As accurate as it gets, and a little farther: honest runs never end with that error."""
    X, y = gaussians(6, 9, 20, scale=scale)  # in the space of the rows, too
    for columns in (3, 20):
        result = solver(tol=1e-300, max_iter=300).run(problem(PRBEP(), X[:, :columns], y, 1e-3 * scale**2))
        assert result.gap >= 0.0
        assert min(result.trace["gap"]) >= 0.0
