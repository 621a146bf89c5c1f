"""Penalties by themselves: values, conjugates by brute force, limits, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from problems import searching
from smoothperf.optimise.elastic_net import UNPENALISED, ElasticNet, Separable
from smoothperf.optimise.penalties import Quadratic, as_penalty, capped
from smoothperf.optimise.plane_weights import best_weights, weights_of_planes


def random_penalty(rng, d, *, curved=False):
    l1, l2 = rng.choice([0.0, 0.3, 1.0], size=d), rng.choice([0.5, 2.0] if curved else [0.0, 0.5, 2.0], size=d)
    lower, upper = -rng.choice([0.0, 0.5, np.inf], size=d), rng.choice([0.0, 0.5, np.inf], size=d)
    free = (l1 == 0.0) & (l2 == 0.0)
    lower[free], upper[free] = np.maximum(lower[free], -3.0), np.minimum(upper[free], 3.0)
    return Separable(0.7, l1, l2, lower, upper)


def highest(penalty, v, ceiling):
    """``max <v, w> - Omega(w)`` within bounds and ``Omega(w) <= ceiling``, by a general solver."""
    bounds = [(max(low, -1e3), min(high, 1e3)) for low, high in zip(penalty.lower, penalty.upper, strict=True)]
    # w = p - n with p, n >= 0 makes it smooth.
    d = v.size
    limits = [(0.0, high) for _, high in bounds] + [(0.0, -low) for low, _ in bounds]

    def omega(x):
        return penalty.s @ (x[:d] + x[d:]) + 0.5 * penalty.q @ (x[:d] - x[d:]) ** 2

    found = optimize.minimize(
        lambda x: omega(x) - v @ (x[:d] - x[d:]),
        np.zeros(2 * d),
        bounds=limits,
        constraints=[{"type": "ineq", "fun": lambda x: ceiling - omega(x)}],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return -found.fun


@searching(20)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 4), ceiling=st.sampled_from([0.3, 1.0, 5.0]))
def test_the_capped_conjugate_is_no_lower_than_the_true_one(seed, d, ceiling):
    rng = np.random.default_rng(seed)
    penalty, v = random_penalty(rng, d), rng.normal(size=d)
    value, excess = penalty.conjugate(v, ceiling)
    assert value >= 0.0
    assert excess >= 0.0
    assert value + ceiling * excess >= highest(penalty, v, ceiling) - 1e-6


@searching(20)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 6))
def test_the_conjugate_is_attained_by_the_minimiser(seed, d):
    rng = np.random.default_rng(seed)
    penalty, v = random_penalty(rng, d, curved=True), 2.0 * rng.normal(size=d)
    w = penalty.minimiser(-v)
    assert penalty.conjugate(v, np.inf).value == pytest.approx(v @ w - penalty.value(w, w @ w), abs=1e-12)
    for _ in range(10):
        other = penalty.clip(w + rng.normal(size=d))
        assert v @ other - penalty.value(other, other @ other) <= penalty.conjugate(v, np.inf).value + 1e-12


@searching(12)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 5), ceiling=st.sampled_from([0.1, 1.0]))
def test_no_weights_are_longer_than_the_radius(seed, d, ceiling):
    rng = np.random.default_rng(seed)
    penalty = random_penalty(rng, d)
    for scale in 10.0 ** rng.uniform(-2, 2, size=20):
        w = penalty.clip(scale * rng.normal(size=d))
        if penalty.value(w, w @ w) <= ceiling:
            assert np.linalg.norm(w) <= penalty.radius(ceiling) + 1e-12


@searching(12)
@given(seed=st.integers(0, 10**6))
def test_the_radius_does_not_depend_on_the_order_in_which_weights_are_summed(seed):
    """Else processors that sum in another order would have another bound, in the last bits."""
    rng = np.random.default_rng(seed)
    reach = rng.uniform(0.01, 1.0, size=100)
    penalty = Separable(0.7, np.zeros(100), np.zeros(100), -reach, 0.5 * reach)
    assert penalty.radius(1.0) == pytest.approx(np.linalg.norm(reach), rel=1e-15)
    assert penalty.some(rng.permutation(100)).radius(1.0) == penalty.radius(1.0)


def test_the_radius_of_bounds_whose_squares_are_too_large():
    penalty = Separable(1.0, np.zeros(2), np.zeros(2), np.array([-3e200, 0.0]), np.array([1e200, 4e200]))
    assert penalty.radius(1.0) == np.inf


def test_a_little_curvature_where_there_is_none():
    penalty = ElasticNet(0.1, 1.0, factors=[1.0, 2.0, 0.0]).on(3)
    soft = penalty.softened(1e-3, 1.0)
    assert (soft.q > 0.0).all()
    # As large as the ceiling and the bounds allow, it costs as much.
    np.testing.assert_allclose(0.5 * soft.q * np.array([10.0, 5.0, UNPENALISED]) ** 2, 1e-3)
    assert ElasticNet(0.1, 0.5).on(3).softened(1e-3, 1.0) is not None
    assert (ElasticNet(0.1, 0.5).on(3).softened(1e-3, 1.0).q == 0.05).all()


@searching(10)
@given(seed=st.integers(0, 10**6), planes=st.integers(1, 6))
def test_weights_of_planes_are_the_best(seed, planes):
    """By concavity, within the largest derivative less the mean one."""
    rng = np.random.default_rng(seed)
    penalty = random_penalty(rng, 5, curved=True)
    slopes, offsets = rng.normal(size=(planes, 5)), rng.normal(size=planes)
    x = best_weights(slopes, offsets, penalty, np.full(planes, 1.0 / planes), 1e-9)
    assert x.min() >= 0.0
    assert x.sum() == pytest.approx(1.0)

    def dual(weights):
        return offsets @ weights - penalty.conjugate(-(weights @ slopes), np.inf).value

    for other in rng.dirichlet(np.ones(planes), size=30):
        assert dual(other) <= dual(x) + 1e-7


@pytest.mark.parametrize("rho", [0.5, 1.0])
def test_weights_within_the_penalty_for_all_planes_do_not_matter(rho):
    rng = np.random.default_rng(1)
    slopes, offsets, start = 3.0 * rng.normal(size=(4, 5)), rng.uniform(size=4), np.full(4, 0.25)
    few = ElasticNet(0.8, rho).on(5)
    assert (np.abs(slopes).max(axis=0) > few.s).all()
    within = rng.uniform(-0.99, 0.99, size=(4, 20)) * 0.8 * rho
    order = rng.permutation(25)
    all_slopes, all_of_them = np.hstack([slopes, within])[:, order], ElasticNet(0.8, rho).on(25)
    options = {"tolerance": 1e-9, "ceiling": 1.0, "softness": 0.1}
    expected, softness = weights_of_planes(slopes, offsets, few, start, **options)
    found, same = weights_of_planes(all_slopes, offsets, all_of_them, start, **options)
    assert softness == same
    np.testing.assert_allclose(found, expected, atol=1e-9)


@searching(10)
@given(seed=st.integers(0, 10**6), planes=st.integers(1, 6))
def test_planes_and_the_sign_of_the_risk_bound_as_a_linear_program_does(seed, planes):
    """Without curvature: ``max <b, x>`` with ``|A^T x| <= s``, ``x >= 0``, ``sum x <= 1``; the rest is for R >= 0."""
    rng = np.random.default_rng(seed)
    penalty = ElasticNet(0.1, 1.0).on(5)
    slopes, offsets = rng.normal(size=(planes, 5)), rng.uniform(0.0, 1.0, size=planes)
    ceiling = 2.0  # above the program's value, so no bound that uses it is better
    x, softness = np.full(planes, 1.0 / planes), ceiling
    for _ in range(3):
        x, softness = weights_of_planes(slopes, offsets, penalty, x, 1e-8, ceiling, softness)
    assert x.min() >= 0.0
    assert x.sum() <= 1.0 + 1e-12
    found = float(offsets @ x) - capped(*penalty.conjugate(-(x @ slopes), ceiling), ceiling)
    matrix = np.vstack([slopes.T, -slopes.T, np.ones(planes)])
    program = optimize.linprog(-offsets, A_ub=matrix, b_ub=[*np.tile(penalty.s, 2), 1.0])
    assert found == pytest.approx(-program.fun, abs=1e-5)


def test_numbers_are_quadratic_penalties():
    assert as_penalty(0.5) == Quadratic(0.5)
    assert Quadratic(0.5).with_alpha(0.1) == Quadratic(0.1)
    assert Quadratic(0.5).on(7).value(np.empty(0), 4.0) == 1.0
    penalty = ElasticNet(0.5, 0.3)
    assert as_penalty(penalty) is penalty
    assert penalty.with_alpha(0.1).on(2).s.tolist() == pytest.approx([0.03, 0.03])


def test_outside_of_bounds_it_is_infinite():
    penalty = ElasticNet(0.5, 0.3, lower=0.0, upper=1.0).on(2)
    assert penalty.value(np.array([0.5, 0.0]), 0.25) < np.inf
    assert penalty.value(np.array([-0.5, 0.0]), 0.25) == np.inf
    assert penalty.value(np.array([0.5, 1.5]), 0.25) == np.inf


def test_a_bias_has_a_quadratic_penalty_of_its_own():
    penalty = ElasticNet(0.5, 1.0, factors=[2.0], lower=0.0, bias=True).on(2)
    assert penalty.s.tolist() == [1.0, 0.0]
    assert penalty.q.tolist() == [0.0, 0.5]
    assert penalty.lower.tolist() == [0.0, -np.inf]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 0.0}, "alpha must be a finite number above 0, got 0.0"),
        ({"l1_ratio": 1.5}, "l1_ratio must lie between 0 and 1, got 1.5"),
        ({"l1_ratio": "much"}, "l1_ratio must lie between 0 and 1, got 'much'"),
        ({"factors": [1.0]}, "penalty_factors must have one number for each of 2 features, got shape"),
        ({"factors": [1.0, -1.0]}, "penalty_factors must be finite and at least 0, got -1.0 for feature 1"),
        ({"factors": [np.inf, 1.0]}, "penalty_factors must be finite and at least 0, got inf for feature 0"),
        ({"factors": ["a", "b"]}, "penalty_factors must be numbers"),
        ({"lower": 1.0}, "lower must be at most 0, as 0 must be allowed, got 1.0 for feature 0"),
        ({"upper": [0.0, np.nan]}, "upper must be at least 0, as 0 must be allowed, got nan for feature 1"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        ElasticNet(**{"alpha": 0.1, **settings}).on(2)


def test_a_penalty_of_other_weights_is_refused():
    with pytest.raises(ValueError, match="the penalty is for 2 weights, but X has 3 columns"):
        ElasticNet(0.1).on(2).on(3)


def test_other_units_cost_the_same():
    rng = np.random.default_rng(0)
    penalty, units = random_penalty(rng, 6), 10.0 ** rng.uniform(-3.0, 3.0, size=6)
    there = penalty.in_units(units)
    for coef in penalty.clip(rng.normal(size=(5, 6))):
        assert there.value(units * coef, 0.0) == pytest.approx(penalty.value(coef, 0.0), rel=1e-12)
    v = rng.normal(size=6)
    for mine, other in zip(penalty.conjugate(v, 1.0), there.conjugate(v / units, 1.0), strict=True):
        assert other == pytest.approx(mine, rel=1e-9)
