"""Precision@k and recall@k: their risks against the maximum over all labelings, diameter, score, and bad k."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from problems import plainly_scored, searching
from smoothperf import LBFGS, PRBEP, Newton, PrecisionAtK, RecallAtK
from smoothperf.cuts.threshold_search import Ordering
from smoothperf.design import as_design
from smoothperf.optimise.objective import RegularizedRisk

both = pytest.mark.parametrize("kind", [PrecisionAtK, RecallAtK])


@st.composite
def problems(draw, most=8):
    """Labels, scores, and a number of places."""
    y, scores = draw(plainly_scored(most, scales=(-6, 0, 6)))
    return y, scores, draw(st.integers(1, len(y) - 1))


@both
@searching(20)
@given(problem=problems())
def test_exact_value_is_the_maximum_over_all_labelings(kind, problem):
    y, scores, k = problem
    risk = kind(k).bind(y)
    true = oracles.top_k_risk(y, scores, k, precision=kind is PrecisionAtK)
    allowed = 1e-13 * (1.0 + np.abs(scores).max())
    assert risk.exact(scores).value == pytest.approx(true, abs=allowed)
    assert risk.exact_value(scores) == pytest.approx(true, abs=allowed)


@both
@searching(20)
@given(problem=problems(), mu=st.floats(1e-4, 3.0))
def test_exact_value_and_ceiling_enclose_the_risk(kind, problem, mu):
    y, scores, k = problem
    risk = kind(k).bind(y)
    smoothed, exact = risk.smoothed(scores, mu), risk.exact_value(scores)
    allowed = 1e-12 * (1.0 + np.abs(scores).max())
    assert smoothed.value <= smoothed.height + allowed
    assert smoothed.height <= exact + allowed
    assert exact <= smoothed.exact.high + allowed


@both
@pytest.mark.parametrize("y", [[1, -1, -1, -1], [1, 1, 1, -1], [1, 1, -1, -1, -1], [1, 1, 1, -1, -1, -1, -1]])
def test_diameter_is_the_largest_value_of_the_prox_function(kind, y):
    y = np.array(y)
    for k in range(1, y.size):
        u = oracles.all_labelings(y.size, (0, 1))
        u = u[u.sum(axis=1) == k]
        hits = u @ (y == 1)
        target = u[hits == hits.max()].mean(axis=0)
        assert kind(k).bind(y).diameter == pytest.approx(((u - target) ** 2).sum(axis=1).max() / 2, rel=1e-14)


@both
@searching(20)
@given(problem=problems())
def test_as_many_places_as_positives_are_the_break_even_point(kind, problem):
    y, scores, _ = problem
    at_k, prbep = (measure.bind(y) for measure in (kind(int((y == 1).sum())), PRBEP()))
    assert at_k.diameter == prbep.diameter
    assert at_k.exact_value(scores) == prbep.exact_value(scores)
    one, other = at_k.smoothed(scores, 0.1), prbep.smoothed(scores, 0.1)
    assert (one.value, one.plane.offset, one.exact.high) == (other.value, other.plane.offset, other.exact.high)
    np.testing.assert_array_equal(one.plane.gradient, other.plane.gradient)


def test_least_risk_is_the_least_loss():
    """Three positives and k places: at best precision is min(1, 3/k) and recall min(1, k/3)."""
    y = np.array([1, 1, 1, -1, -1, -1, -1])
    for k in range(1, 7):
        scores = 1e3 * y
        assert PrecisionAtK(k).bind(y).exact_value(scores) == pytest.approx(1.0 - min(1.0, 3.0 / k), abs=1e-12)
        assert RecallAtK(k).bind(y).exact_value(scores) == pytest.approx(1.0 - min(1.0, k / 3.0), abs=1e-12)


@searching(20)
@given(problem=problems(9))
def test_scores_are_averages_over_ways_of_breaking_ties(problem):
    y, scores, k = problem
    hits = oracles.hits_among_the_highest(y, scores, k)
    assert PrecisionAtK(k).score(y, scores) == pytest.approx(hits / k, abs=1e-14)
    assert RecallAtK(k).score(y, scores) == pytest.approx(hits / (y == 1).sum(), abs=1e-14)


@both
def test_a_share_of_the_examples_may_end_within_one(kind):
    """30 % of five examples are one and a half: the best one, and half of the second."""
    y, scores = [-1, 1, 1, -1, -1], [3.0, 2.0, 1.0, 0.0, -1.0]
    assert kind(0.3).predicted_positive(y) == pytest.approx(1.5)
    assert kind(0.3).score(y, scores) == pytest.approx(0.5 / (1.5 if kind is PrecisionAtK else 2.0))
    assert kind(0.3).score(y, scores) == pytest.approx(kind(3).score(np.repeat(y, 2), np.repeat(scores, 2)))


def test_a_share_is_of_the_weight_and_a_count_too():
    y, weights = [1, -1, -1], [1.0, 2.0, 5.0]
    assert PrecisionAtK(0.25).predicted_positive(y, weights) == 2.0
    assert PrecisionAtK(3).predicted_positive(y, weights) == 3.0
    assert PrecisionAtK(3).score(y, [3.0, 2.0, 1.0], weights) == pytest.approx(1.0 / 3.0)


@both
@pytest.mark.parametrize("k", [0, -3, 0.0, 1.0, 2.5, -0.1, True, "7", None, float("nan")])
def test_bad_k(kind, k):
    with pytest.raises(ValueError, match=r"k must be a (count of at least 1|whole number of at least 1).* got"):
        kind(k)


@both
def test_more_places_than_examples(kind):
    with pytest.raises(ValueError, match=r"@6 needs at least 6 examples, but 5 examples are there; use a"):
        kind(6).score([1, 1, -1, -1, -1], np.arange(5.0))
    with pytest.raises(ValueError, match=r"@6 needs at least 6 examples, but 3 is the weight of all examples"):
        kind(6).bind([1, -1], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"@5 of 5 examples leaves nothing to choose"):
        kind(5).bind([1, 1, -1, -1, -1])
    assert 0.0 < kind(5).score([1, 1, -1, -1, -1], np.arange(5.0)) <= 1.0


@both
@pytest.mark.parametrize("k", [3, 20, 60, 0.31])
def test_newton_finds_what_lbfgs_finds(kind, k):
    """Second derivatives where the target is neither 0 nor 1."""
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], [30, 70])
    X = rng.normal(size=(100, 4)) + 0.5 * (y[:, None] > 0)
    objective = RegularizedRisk(as_design(X), kind(k).bind(y), 1e-3)
    newton, lbfgs = (solver(tol=1e-6).run(objective) for solver in (Newton, LBFGS))
    assert max(newton.gap, lbfgs.gap) <= 1e-6
    assert newton.objective == pytest.approx(lbfgs.objective, abs=1e-6)
    if lbfgs.coef.any():  # zero needs no second derivatives
        assert newton.n_iter < lbfgs.n_iter


@searching(20)
@given(data=st.data(), n=st.integers(1, 25))
def test_heaviest_takes_a_part_of_the_last_example(data, n):
    values = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n)), dtype=float)
    total = data.draw(st.floats(0.0, 1.0)) * n
    u = Ordering(values, None).heaviest(total)
    assert u.min() >= 0.0
    assert u.max() <= 1.0
    assert u.sum() == pytest.approx(total, abs=1e-13)
    assert ((u > 0.0) & (u < 1.0)).sum() <= 1
    assert values[u > 0.0].min(initial=np.inf) >= values[u < 1.0].max(initial=-np.inf)
