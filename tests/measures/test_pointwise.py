"""Error rate, balanced error rate and costs, against all labelings and scikit-learn's support vector machine."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.svm import LinearSVC

import oracles
from problems import plainly_scored, searching
from smoothperf import LBFGS, BalancedErrorRate, ErrorRate
from smoothperf.design import as_design
from smoothperf.optimise.objective import RegularizedRisk


@searching(20)
@given(problem=plainly_scored(scales=(-6, 0, 6)), costs=st.sampled_from([(1.0, 1.0), (10.0, 1.0), (0.3, 7.0)]))
def test_exact_value_is_the_maximum_over_all_labelings(problem, costs):
    y, scores = problem
    risk = ErrorRate(*costs).bind(y)
    allowed = 1e-13 * (1.0 + np.abs(scores).max())
    for value in (risk.exact(scores).value, risk.exact_value(scores), *risk.smoothed(scores, 0.1).exact):
        assert value == pytest.approx(oracles.error_risk(y, scores, costs), abs=allowed)


@searching(20)
@given(problem=plainly_scored(scales=(-6, 0, 6)))
def test_balanced_error_has_costs_that_make_the_classes_even(problem):
    y, scores = problem
    costs = y.size / (2.0 * (y == 1).sum()), y.size / (2.0 * (y == -1).sum())
    balanced, explicit = BalancedErrorRate().bind(y), ErrorRate(*costs).bind(y)
    assert balanced.exact_value(scores) == pytest.approx(explicit.exact_value(scores))
    assert balanced.exact_value(scores) == pytest.approx(oracles.error_risk(y, scores, costs))
    assert BalancedErrorRate().score(y, scores) == pytest.approx(balanced_accuracy_score(y > 0, scores > 0))
    assert ErrorRate().score(y, scores) == pytest.approx(accuracy_score(y > 0, scores > 0))


def test_score_with_costs_and_weights():
    y, scores, weights = [1, 1, -1, -1], [1.0, -1.0, 1.0, 0.0], [1.0, 2.0, 3.0, 4.0]
    assert ErrorRate(5.0, 1.0).score(y, scores, weights) == pytest.approx((5.0 * 1.0 + 4.0) / (5.0 * 3.0 + 7.0))
    assert ErrorRate(10.0, 2.0).score(y, scores, weights) == ErrorRate(5.0, 1.0).score(y, scores, weights)
    assert BalancedErrorRate().score(y, scores, weights) == pytest.approx((1.0 / 3.0 + 4.0 / 7.0) / 2.0)


@pytest.mark.parametrize("measure", [ErrorRate(), ErrorRate(3.0), BalancedErrorRate()])
def test_they_cut_at_zero(measure):
    assert measure.fits_bias
    assert measure.threshold([1, -1, -1], [5.0, 4.0, 3.0]) == 0.0
    assert measure.score([1, -1], [0.0, 0.0]) == measure.score([1, -1], [-1.0, -1.0])  # 0 is not above 0


@pytest.mark.parametrize("costs", [(0.0, 1.0), (1.0, -1.0), (float("nan"), 1.0), (float("inf"), 1.0), ("1", 1.0)])
def test_bad_costs(costs):
    with pytest.raises(ValueError, match=r"(positive|negative)_cost must be a finite number above 0, got"):
        ErrorRate(*costs)


@pytest.mark.parametrize("costs", [(1.0, 1.0), (4.0, 1.0)])
def test_the_optimum_is_that_of_a_support_vector_machine(costs):
    """Hinges of 1 - 2 y f: w = 2 v for our v, C = 4 q / (alpha Q) and J = alpha/4 of what LinearSVC minimises."""
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], [60, 140])
    X = rng.normal(size=(200, 5)) + 0.6 * (y[:, None] > 0)
    alpha, total = 1e-2, costs[0] * 60 + costs[1] * 140
    ours = LBFGS(tol=1e-9).run(RegularizedRisk(as_design(X), ErrorRate(*costs).bind(y), alpha))
    theirs = LinearSVC(
        loss="hinge",
        C=4.0 / (alpha * total),
        class_weight={1: costs[0], -1: costs[1]},
        fit_intercept=False,
        tol=1e-10,
        max_iter=1_000_000,
        random_state=0,
    ).fit(X, y)
    w = theirs.coef_[0]
    value = alpha / 8.0 * w @ w + np.where(y > 0, *costs) @ np.maximum(0.0, 1.0 - y * (X @ w)) / total
    assert ours.lower_bound <= value
    assert ours.objective == pytest.approx(value, abs=1e-7)
    np.testing.assert_allclose(2.0 * ours.coef, w, atol=2e-3)  # 2 sqrt(2 tol / alpha) is 9e-4
