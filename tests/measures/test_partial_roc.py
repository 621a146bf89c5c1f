"""The partial ROC area: its risk against all sets of negatives, both smoothings, and what is reported."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import oracles
from problems import plainly_scored, searching
from smoothperf import LBFGS, PartialROCArea, ROCArea
from smoothperf.design import as_design
from smoothperf.optimise.objective import RegularizedRisk


@searching(20)
@given(problem=plainly_scored(9, scales=(-6, 0, 6)), data=st.data())
def test_exact_value_is_the_maximum_over_all_sets_of_negatives(problem, data):
    y, scores = problem
    negatives = int((y == -1).sum())
    k = data.draw(st.integers(1, negatives))
    risk = PartialROCArea(k / negatives).bind(y)
    allowed = 1e-12 * (1.0 + np.abs(scores).max())
    for value in (risk.exact(scores).value, risk.exact_value(scores)):
        assert value == pytest.approx(oracles.partial_roc_risk(y, scores, k), abs=allowed)


@pytest.mark.parametrize("seed", range(8))
def test_smoothed_risk_is_that_of_a_convex_solver(seed):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([1, -1], rng.integers(2, 7, size=2)))
    scores, mu, share = rng.normal(size=y.size), 10.0 ** rng.uniform(-3, 0), rng.uniform(0.2, 0.9)
    value, gradient = oracles.partial_roc_smoothed(y, scores, mu, share)
    result = PartialROCArea(share).bind(y).smoothed(scores, mu)
    assert result.value == pytest.approx(value, abs=1e-6)
    np.testing.assert_allclose(result.plane.gradient, gradient, atol=1e-3)


@searching(20)
@given(problem=plainly_scored(9, scales=(-6, 0, 6)), mu=st.floats(1e-3, 1.0))
def test_all_negatives_are_the_roc_area(problem, mu):
    y, scores = problem
    whole, almost, roc = (measure.bind(y) for measure in (PartialROCArea(1.0), PartialROCArea(1.0 - 1e-13), ROCArea()))
    assert PartialROCArea(1).score(y, scores) == pytest.approx(ROCArea().score(y, scores), abs=1e-14)
    reach = 1.0 + np.abs(scores).max()
    allowed = 1e-11 * reach * (1.0 + reach / (mu * roc.diameter))  # differences of squares divided by kappa
    for risk in (whole, almost):
        assert risk.diameter == pytest.approx(roc.diameter)
        assert risk.exact_value(scores) == pytest.approx(roc.exact_value(scores), abs=allowed)
        one, other = risk.smoothed(scores, mu), roc.smoothed(scores, mu)
        assert one.value == pytest.approx(other.value, abs=allowed)
        np.testing.assert_allclose(one.plane.gradient, other.plane.gradient, atol=allowed)


def test_negatives_far_down_have_no_gradient():
    y = np.repeat([1, -1], [5, 50])
    scores = np.concatenate([np.ones(5), np.linspace(2.0, -3.0, 50)])
    gradient = PartialROCArea(0.1).bind(y).smoothed(scores, 1e-4).plane.gradient
    assert gradient[:5].all()
    assert gradient[5:10].all()
    assert not gradient[15:].any()


@searching(20)
@given(problem=plainly_scored(9, scales=(-6, 0, 6)), share=st.floats(0.05, 0.95))
def test_score_is_that_of_scikit_learn_on_another_scale(problem, share):
    y, scores = problem
    score = PartialROCArea(share).score(y, scores)
    assert -1e-15 <= score <= 1.0 + 1e-15
    standardised = (1.0 + (score - share / 2.0) / (1.0 - share / 2.0)) / 2.0
    assert standardised == pytest.approx(roc_auc_score(y, scores, max_fpr=share), abs=1e-12)


def test_score_of_the_top_negatives():
    """Three of four negatives are above one of the two positives; the highest one is above both."""
    y, scores = [-1, 1, -1, -1, 1, -1], [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    assert PartialROCArea(0.25).score(y, scores) == 0.0
    assert PartialROCArea(0.5).score(y, scores) == pytest.approx(0.25)
    assert PartialROCArea(0.75).score(y, scores) == pytest.approx(1.0 / 3.0)
    assert PartialROCArea(0.5).score(y, np.zeros(6)) == pytest.approx(0.25)


@pytest.mark.parametrize("max_fpr", [0.0, -0.1, 1.5, float("nan"), "0.1", True])
def test_bad_rates(max_fpr):
    with pytest.raises(ValueError, match=r"max_fpr must"):
        PartialROCArea(max_fpr)


@pytest.mark.parametrize("weighted", [False, True])
def test_training_for_it_is_certified(weighted):
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], [60, 240])
    X = rng.normal(size=(300, 5)) + 1.2 * (y[:, None] > 0)
    weights = rng.uniform(0.5, 2.0, 300) if weighted else None
    result = LBFGS(tol=1e-5).run(RegularizedRisk(as_design(X), PartialROCArea(0.1).bind(y, weights), 1e-3))
    assert result.gap <= 1e-5
    plain = LBFGS(tol=1e-5).run(RegularizedRisk(as_design(X), ROCArea().bind(y, weights), 1e-3))
    scores = [PartialROCArea(0.1).score(y, run.scores, weights) for run in (result, plain)]
    assert scores[0] > scores[1] - 0.02


def test_curvature_has_a_part_from_the_choice_of_negatives():
    """Two negatives compete for one place: what one gains the other loses, on top of the curvature of their pairs."""
    y = np.repeat([1, -1], [10, 2])
    risk, mu, step = PartialROCArea(0.5).bind(y), 0.105, 1e-4  # ramps of width 1.05, on which all pairs are at 1
    direction = np.concatenate([np.zeros(10), [step, -step]])
    change = risk.smoothed(direction, mu).plane.gradient - risk.smoothed(np.zeros(12), mu).plane.gradient
    curvature = np.linalg.norm(change) / np.linalg.norm(direction)
    pairs_alone = (10.0 + 1.0) / (mu * 10.0**2)
    assert pairs_alone < 1.2 * pairs_alone < curvature <= risk.lipschitz(mu)
