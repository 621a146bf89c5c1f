"""Squared losses, within queries and pooled: values, gradients and planes in fractions, ridge regression, groups."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from groups import run_group
from problems import random_ranked, searching
from query_oracles import positions
from smoothperf.design import as_design
from smoothperf.measures import get_query_measure
from smoothperf.measures.queries.pooled_squares import PooledSquaredLoss
from smoothperf.measures.queries.queries import Queries
from smoothperf.measures.queries.squares import QuerySquaredLoss
from smoothperf.optimise import LBFGS
from smoothperf.optimise.objective import RegularizedRisk


def problem(seed):
    """Grades, queries, weights or None, and scores, perhaps far from 0."""
    return random_ranked(seed, 7, scales=range(-3, 4))[:4]


MEASURES = [QuerySquaredLoss(), PooledSquaredLoss("exponential")]
both = pytest.mark.parametrize("measure", MEASURES, ids=["within", "pooled"])


def truth(measure, grades, qid, weights, scores):
    """The risk, one document at a time, in fractions; scores may be fractions."""
    gains = [Fraction(2.0 ** float(grade) - 1) for grade in grades]
    variance = within if isinstance(measure, QuerySquaredLoss) else pooled
    unit = Fraction(np.sqrt(float(variance(gains, qid, weights, scores=[0] * len(gains)))))
    return variance([gain / unit for gain in gains], qid, weights, scores)


def within(gains, qid, weights, scores):
    """Weighted mean over queries of the mean square of what is left of gains, less the mean of the query."""
    parts, masses = [], []
    for rows in positions(qid):
        if len({gains[i] for i in rows}) == 1:
            continue
        difference = [Fraction(scores[i]) - gains[i] for i in rows]
        mean = sum(difference) / len(rows)
        parts.append(sum((each - mean) ** 2 for each in difference) / len(rows))
        masses.append(Fraction(1 if weights is None else float(weights[rows[0]])))
    return sum(mass * part for mass, part in zip(masses, parts, strict=True)) / sum(masses)


def pooled(gains, qid, weights, scores):
    """Weighted mean over documents of the square of what is left of gains, less the mean of all."""
    masses = [Fraction(1 if weights is None else float(weight)) for weight in (gains if weights is None else weights)]
    difference = [Fraction(score) - gain for score, gain in zip(scores, gains, strict=True)]
    mean = sum(mass * each for mass, each in zip(masses, difference, strict=True)) / sum(masses)
    return sum(mass * (each - mean) ** 2 for mass, each in zip(masses, difference, strict=True)) / sum(masses)


@both
@given(seed=st.integers(0, 10**6))
@searching(40)
def test_values_and_planes_are_true(measure, seed):
    grades, qid, weights, f = problem(seed)
    risk = measure.bind(grades, qid, weights)
    found, value = risk.smoothed(f, 1e-3), truth(measure, grades, qid, weights, f)
    size = 1.0 + float(np.square(f).max())
    assert abs(Fraction(found.value) - value) <= Fraction(1e-14 * size)
    assert found.value == found.height == found.exact.low == risk.exact(f).value
    assert risk.exact_value(f) == pytest.approx(found.value, rel=1e-14)
    rng = np.random.default_rng(seed)
    assert found.plane.rounding <= 1e-12 * size
    for other in (np.zeros(f.size), f, rng.normal(size=f.size), f + rng.normal(size=f.size)):
        plane = sum(Fraction(g) * Fraction(x) for g, x in zip(found.plane.gradient, other, strict=True))
        room = Fraction(found.plane.rounding * (1.0 + float(np.abs(other).max())))
        assert plane + Fraction(found.plane.offset) <= truth(measure, grades, qid, weights, other) + room


@both
@given(seed=st.integers(0, 10**6))
@searching(40)
def test_gradient_and_curvature(measure, seed):
    """A quadratic function is known by three values on a line."""
    grades, qid, weights, f = problem(seed)
    risk = measure.bind(grades, qid, weights)
    gradient = risk.exact(f).plane.gradient
    h = np.random.default_rng(seed).normal(size=f.size)
    there, here, back = (
        truth(measure, grades, qid, weights, [Fraction(x) + s * Fraction(y) for x, y in zip(f, h, strict=True)])
        for s in (1, 0, -1)
    )
    assert gradient @ h == pytest.approx(float(there - back) / 2, abs=1e-12 * (1 + np.square(f).max()))
    curved = (h**2).sum() if weights is None else (weights * h**2).sum()
    assert float(there + back - 2 * here) <= risk.lipschitz(0.1) * curved * (1 + 1e-12)


@both
@given(seed=st.integers(0, 10**6))
@searching(20)
def test_curvature_where_a_shift_changes_nothing(measure, seed):
    """Nesterov's method takes its steps by ``<h, weighed(h)>``, from which shifts are taken."""
    grades, qid, weights, f = problem(seed)
    risk = measure.bind(grades, qid, weights)
    rng = np.random.default_rng(seed)
    h = rng.normal(size=f.size) + 10.0 * rng.normal(size=1 + qid.max())[qid]  # differs between queries, above all
    there, here, back = (truth(measure, grades, qid, weights, list(map(Fraction, s * h))) for s in (1, 0, -1))
    curved = float(h @ risk.weighed(h))
    assert float(there + back - 2 * here) <= risk.lipschitz(0.1) * curved * (1 + 1e-9)


@both
def test_scores_far_from_zero_cost_no_digits(measure):
    grades, qid, weights, f = problem(3)
    risk = measure.bind(grades, qid, weights)
    near, far = risk.exact(f), risk.exact(f + 1e3)
    assert far.plane.rounding * 1e3 <= 1e-6  # what the plane may be off there
    assert far.value == pytest.approx(near.value, abs=1e-11)
    np.testing.assert_allclose(far.plane.gradient, near.plane.gradient, atol=1e-11)
    for other in (f, f + 1e3):  # still true
        plane = sum(Fraction(g) * Fraction(x) for g, x in zip(far.plane.gradient, other, strict=True))
        room = Fraction(far.plane.rounding * (1.0 + float(np.abs(other).max())))
        assert plane + Fraction(far.plane.offset) <= truth(measure, grades, qid, weights, other) + room


@pytest.mark.parametrize("name", ["squared_loss", "pooled_squared_loss"])
def test_score_is_minus_the_risk(name):
    grades, qid, weights, f = problem(3)
    measure = get_query_measure(name)
    assert measure.score(grades, f, qid, weights) == pytest.approx(-measure.bind(grades, qid, weights).exact_value(f))


def test_it_is_ridge_regression_on_centred_data():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(20), 7)
    X = rng.normal(size=(140, 3)) + qid[:, None]
    y = np.clip(np.round(X[:, 0] - qid + rng.normal(scale=0.3, size=140)), 0, None)
    y[::7], y[1::7] = 0, 1  # all queries count
    alpha = 0.1
    found = LBFGS(tol=1e-9).run(RegularizedRisk(as_design(X), QuerySquaredLoss("linear").bind(y, qid), alpha))
    centred = [column - np.repeat(column.reshape(20, 7).mean(axis=1), 7) for column in (*X.T, y)]
    ridge = Ridge(alpha=alpha * 140 / 2, fit_intercept=False).fit(
        np.column_stack(centred[:3]), centred[3] / centred[3].std()
    )
    np.testing.assert_allclose(found.coef, ridge.coef_, atol=2e-4)  # sqrt(2 tol / alpha)
    assert 0.0 <= found.gap <= 1e-9


def test_pooled_it_is_ridge_regression_with_an_intercept():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(20), 7)
    weights = np.repeat(rng.integers(1, 4, 20), 7)
    X = rng.normal(size=(140, 3)) + 5.0
    y = np.clip(np.round(X[:, 0] - 5.0 + rng.normal(scale=0.3, size=140)), 0, None)
    alpha = 0.1
    found = LBFGS(tol=1e-9).run(RegularizedRisk(as_design(X), PooledSquaredLoss().bind(y, qid, weights), alpha))
    deviation = np.sqrt(np.cov(y, fweights=weights, ddof=0))
    ridge = Ridge(alpha=alpha * weights.sum() / 2).fit(X, y / deviation, sample_weight=weights)
    np.testing.assert_allclose(found.coef, ridge.coef_, atol=2e-4)  # sqrt(2 tol / alpha)
    assert 0.0 <= found.gap <= 1e-9


def test_pooled_gains_that_are_all_equal():
    with pytest.raises(ValueError, match="no query counts for pooled_squared_loss"):
        PooledSquaredLoss(gain=[1, 1]).bind([0, 1, 0], [1, 1, 1])
    with pytest.raises(ValueError, match="no query counts for pooled_squared_loss"):
        PooledSquaredLoss(gain=[0, 0]).bind([0, 1, 0], [1, 1, 1])
    assert PooledSquaredLoss().full_name == "pooled_squared_loss"
    assert PooledSquaredLoss("exponential").full_name == "pooled_squared_loss, other gains"


@both
def test_a_group_finds_the_same(measure):
    grades, qid, weights, f = problem(5)
    whole = measure.bind(grades, qid, weights).exact(f)

    def program(communicator):
        mine = qid % 3 == communicator.rank - 1  # the first has no rows
        part = None if weights is None else weights[mine]
        risk = measure.risk(Queries.of(grades[mine], qid[mine], part, communicator))
        return risk.exact(f[mine]), risk.lipschitz(1.0)

    for found, lipschitz in run_group(4, program):
        assert found.value == pytest.approx(whole.value, rel=1e-12)
        assert found.plane.offset == pytest.approx(whole.plane.offset, rel=1e-10)
        assert lipschitz == pytest.approx(measure.bind(grades, qid, weights).lipschitz(1.0))
