"""Log loss and squared hinge, against scikit-learn's logistic regression and support vector machine."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.svm import LinearSVC

from problems import gaussians, problem, searching
from smoothperf import (
    BMRM,
    LBFGS,
    Adaptive,
    Fixed,
    LogLoss,
    MeasureClassifier,
    Nesterov,
    Newton,
    SquaredHinge,
    Status,
    regularization_path,
)

MEASURES = [LogLoss(), SquaredHinge()]
every_measure = pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
SOLVERS = [LBFGS(tol=1e-6), Newton(tol=1e-6), Nesterov(tol=1e-6), Nesterov(tol=1e-6, form="convex"), BMRM(tol=1e-4)]


def losses(measure, y, scores):
    """The loss of every example, as it is written in books."""
    z = np.asarray(y) * np.asarray(scores)
    return np.logaddexp(0.0, -z) if measure == LogLoss() else np.maximum(0.0, 1.0 - z) ** 2


def peer(measure, alpha, total):
    """The model of scikit-learn, without an intercept."""
    C = 1.0 / (alpha * total)
    if measure == LogLoss():
        return LogisticRegression(C=C, fit_intercept=False, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    return LinearSVC(C=C, fit_intercept=False, tol=1e-12, max_iter=100_000, dual=False)


@every_measure
@searching(20)
@given(
    rows=st.lists(st.tuples(st.sampled_from([-1, 1]), st.floats(-40.0, 40.0), st.floats(0.0, 5.0)), min_size=2),
    mu=st.sampled_from([0.0, 1e-3, 1.0]),
)
def test_every_evaluation_is_the_mean_loss(measure, rows, mu):
    y, scores, weights = (np.array(column) for column in zip(*rows, (1, 0.0, 1.0), (-1, 0.0, 1.0), strict=True))
    risk = measure.bind(y, weights)
    expected = np.average(losses(measure, y, scores), weights=weights)
    exact, smoothed = risk.exact(scores), risk.smoothed(scores, mu)
    for value in (
        exact.value,
        exact.height,
        smoothed.value,
        smoothed.height,
        *smoothed.exact,
        risk.exact_value(scores),
    ):
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert measure.score(y, scores, weights) == pytest.approx(-expected, rel=1e-12, abs=1e-15)
    assert risk.diameter == 0.0
    np.testing.assert_array_equal(exact.plane.gradient, smoothed.plane.gradient)


@every_measure
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [2, 511, 513, 3000, 200_000])  # of which the last is cut into pieces
def test_sums_on_the_way_are_those_of_the_gradient(measure, n, weighted):
    rng = np.random.default_rng(n)
    y, scores, direction = np.where(np.arange(n) % 3, 1, -1), rng.normal(size=n), rng.normal(size=n)
    risk = measure.bind(y, rng.exponential(size=n) if weighted else None)
    found = risk.smoothed(scores, 0.1, direction=direction)
    assert found.derivative == pytest.approx(found.plane.gradient @ direction, rel=1e-9, abs=1e-14)
    assert found.plane.offset == pytest.approx(found.height - found.plane.gradient @ scores, rel=1e-10)
    assert risk.smoothed(scores, 0.1).derivative is None


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5]], ids=["unit", "weighted"])
@pytest.mark.parametrize(("measure", "scores"), [(LogLoss(), np.zeros(3)), (SquaredHinge(), np.zeros(3))])
def test_lipschitz_constant_is_attained(measure, scores, weights):
    risk = measure.bind([1, 1, -1], weights)
    step = np.array([1e-5, 0.0, 0.0])
    change = risk.exact(scores + step).plane.gradient - risk.exact(scores).plane.gradient
    c = 1.0 if weights is None else weights[0]
    assert change[0] == pytest.approx(risk.lipschitz(0.1) * c * 1e-5, rel=1e-9)
    assert risk.lipschitz(0.0) == risk.lipschitz(5.0)


@every_measure
@searching(20)
@given(seed=st.integers(0, 1000), weighted=st.booleans(), scale=st.sampled_from([0.1, 1.0, 5.0]))
def test_curvature_is_the_derivative_of_the_gradient(measure, seed, weighted, scale):
    rng = np.random.default_rng(seed)
    y, scores = np.where(np.arange(12) % 3, 1, -1), scale * rng.normal(size=12)
    weights = rng.integers(0, 4, size=12) + (np.arange(12) < 2) if weighted else None  # some of each class
    step = 1e-5
    scores[np.abs(y * scores - 1.0) < 2 * step] += 0.1  # where squared hinges have no second derivative
    risk = measure.bind(y, weights)
    curvature = risk.curvature(scores, risk.exact(scores), 0.0, 0.0)
    found = np.zeros(12)
    found[curvature.rows] = curvature.weights
    change = risk.exact(scores + step).plane.gradient - risk.exact(scores - step).plane.gradient
    np.testing.assert_allclose(found, change / (2 * step), atol=1e-9)
    assert not curvature.centred
    assert not curvature.change.any()


@every_measure
@pytest.mark.parametrize("weighted", [False, True])
def test_newton_takes_few_steps(measure, weighted):
    X, y = gaussians(300, 700, 20)
    X *= np.logspace(0.0, -2.0, 20)
    weights = np.random.default_rng(1).uniform(0.0, 3.0, size=1000) if weighted else None
    newton, lbfgs = (s.run(problem(measure, X, y, 1e-6, weights)) for s in (Newton(tol=1e-8), LBFGS(tol=1e-8)))
    assert newton.status is Status.CONVERGED
    assert newton.n_iter <= 10
    assert lbfgs.n_iter > 3 * newton.n_iter
    assert max(newton.lower_bound, lbfgs.lower_bound) <= min(newton.objective, lbfgs.objective)


@every_measure
def test_huge_scores(measure):
    """Chances are 0 and 1 then, squares overflow, and nobody is warned of either."""
    y, scores = [1, -1, 1, -1], np.array([1e300, -1e300, 800.0, -800.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for weights in (None, [1.0, 0.0, 1.0, 2.0]):
            risk = measure.bind(y, weights)
            right, wrong = risk.smoothed(scores, 0.1), risk.smoothed(-scores, 0.1)
            assert (right.value, right.plane.offset) == pytest.approx((0.0, 0.0), abs=1e-15)
            assert not right.plane.gradient.any()
            assert np.isfinite(wrong.plane.gradient).all()
            assert wrong.value == pytest.approx(np.average([1e300, 1e300, 800.0, 800.0], weights=weights)) or (
                measure == SquaredHinge() and wrong.value == np.inf
            )
    assert LogLoss().bind(y).exact(-scores).plane.offset == pytest.approx(0.0, abs=1e-15)


@every_measure
def test_examples_without_weight_may_score_anything(measure):
    y, scores, weights = [1, -1, 1], np.array([0.5, 0.5, -1e100]), np.array([1.0, 1.0, 0.0])
    found, without = measure.bind(y, weights).exact(scores), measure.bind(y[:2]).exact(scores[:2])
    assert found.value == pytest.approx(without.value)
    assert found.plane.offset == pytest.approx(without.plane.offset)
    assert found.plane.gradient[2] == 0.0


@every_measure
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1e-1, 1e-3])
def test_the_optimum_is_that_of_scikit_learn(measure, alpha, weighted):
    X, y = gaussians(60, 140, 5)
    weights = np.random.default_rng(1).uniform(0.0, 3.0, size=200) if weighted else None
    total = 200.0 if weights is None else weights.sum()
    w = peer(measure, alpha, total).fit(X, y, sample_weight=weights).coef_[0]
    value = alpha / 2.0 * w @ w + np.average(losses(measure, y, X @ w), weights=weights)
    ours = LBFGS(tol=1e-13).run(problem(measure, X, y, alpha, weights))
    assert ours.lower_bound <= value
    assert ours.objective == pytest.approx(value, abs=1e-10)
    np.testing.assert_allclose(ours.coef, w, atol=1e-6 * np.abs(w).max())


@every_measure
@pytest.mark.parametrize("height", [1.0, 5.0])
def test_the_bias_is_the_weight_of_a_constant_column(measure, height):
    X, y = gaussians(60, 140, 5)
    theirs = peer(measure, 1e-3, 200.0).fit(np.column_stack([X, np.full(200, height)]), y)
    ours = MeasureClassifier(measure, 1e-3, tol=1e-11, intercept_scaling=height).fit(X, y)
    np.testing.assert_allclose(ours.coef_[0], theirs.coef_[0, :-1], atol=1e-4)
    assert ours.intercept_[0] == pytest.approx(height * theirs.coef_[0, -1], abs=1e-4)
    assert ours.score(X, y) == pytest.approx(-losses(measure, y, ours.decision_function(X)).mean())
    np.testing.assert_array_equal(ours.predict(X), np.where(ours.decision_function(X) > 0.0, 1, -1))
    if measure == SquaredHinge():
        svm = LinearSVC(C=1.0 / (1e-3 * 200), intercept_scaling=height, tol=1e-10, dual=False).fit(X, y)
        assert ours.intercept_[0] == pytest.approx(svm.intercept_[0], abs=1e-4)


@every_measure
def test_class_weights_are_sample_weights(measure):
    X, y = gaussians(20, 180, 3)
    ours = MeasureClassifier(measure, 1e-2, tol=1e-10, class_weight="balanced", fit_intercept=False).fit(X, y)
    theirs = peer(measure, 1e-2, 200.0).set_params(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


@every_measure
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: f"{type(solver).__name__}-{getattr(solver, 'form', '')}")
def test_solvers_certify_the_same_optimum(measure, solver):
    X, y = gaussians(60, 140, 4)
    best = LBFGS(tol=1e-12).run(problem(measure, X, y, 1e-2)).objective
    result = solver.run(problem(measure, X, y, 1e-2))
    assert result.status is Status.CONVERGED
    assert result.smoothing == 0.0
    assert result.lower_bound <= best
    assert best - 1e-12 <= result.objective <= best + solver.tol  # which is no closer itself


@every_measure
@pytest.mark.parametrize("smoothing", [Adaptive(), Fixed(mu=0.5), Fixed(deviation=0.5)])
@pytest.mark.parametrize("solver", [LBFGS, Nesterov, Newton])
def test_smoothing_has_no_effect(measure, solver, smoothing):
    X, y = gaussians(60, 140, 4)
    plain, other = (run.run(problem(measure, X, y, 1e-2)) for run in (solver(), solver(smoothing=smoothing)))
    np.testing.assert_array_equal(plain.coef, other.coef)
    assert (plain.n_iter, plain.objective, plain.smoothing) == (other.n_iter, other.objective, 0.0)


@every_measure
@pytest.mark.parametrize("solver", [LBFGS, Nesterov, Newton])
def test_what_rounding_forbids_is_not_blamed_on_smoothing(measure, solver):
    X, y = gaussians(60, 140, 4)
    result = solver(tol=1e-300).run(problem(measure, X, y, 1e-1))
    assert result.status is Status.PRECISION_LIMIT
    assert 0.0 < result.gap < 1e-10


@every_measure
def test_no_exact_evaluation_is_needed_along_the_way(measure, monkeypatch):
    X, y = gaussians(60, 140, 4)
    objective = problem(measure, X, y, 1e-4)
    calls = []
    exact_value = objective.risk.exact_value
    monkeypatch.setattr(objective.risk, "exact_value", lambda scores: calls.append(1) or exact_value(scores))
    assert LBFGS(tol=1e-6).run(objective).n_iter > 5
    assert len(calls) == 2  # at zero, and at the end, with scores that are computed afresh


@every_measure
def test_certificates_hold_where_values_are_large(measure):
    """Started far away, J is large, and so is what rounding may do to it."""
    X, y = gaussians(60, 140, 4, scale=1e3)
    best = LBFGS(tol=1e-9).run(problem(measure, X, y, 1e-2))
    for scale in (1.0, 1e4):
        start = scale * np.random.default_rng(3).normal(size=4)
        far = LBFGS(tol=1e-6, max_iter=1).run(problem(measure, X, y, 1e-2), start)
        assert far.lower_bound <= best.objective
        assert far.objective >= best.lower_bound


@every_measure
def test_path(measure):
    X, y = gaussians(60, 140, 4)
    path = regularization_path(X, y, measure=measure, n_alphas=5, tol=1e-5)
    assert max(path.gaps) <= 1e-5
    for alpha, objective in zip(path.alphas, path.objectives, strict=True):
        clf = MeasureClassifier(measure, alpha, tol=1e-5).fit(X, y)
        assert clf.objective_ == pytest.approx(objective, abs=1e-5)


@searching(20)
@given(rows=st.lists(st.tuples(st.booleans(), st.floats(-9.0, 9.0)), min_size=1))
def test_log_loss_is_that_of_the_chances(rows):
    y, scores = (np.array(column) for column in zip(*rows, (True, 0.5), (False, 0.5), strict=True))
    assert LogLoss().score(y, scores) == pytest.approx(-log_loss(y, expit(scores)), rel=1e-9, abs=1e-12)


@every_measure
def test_they_cut_at_zero_but_judge_more_than_decisions(measure):
    assert measure.fits_bias
    assert not measure.judges_decisions
    assert measure.threshold([1, -1, -1], [5.0, 4.0, 3.0]) == 0.0
    assert measure.score([1, -1], [0.5, -0.5]) > measure.score([1, -1], [0.1, -0.1])
