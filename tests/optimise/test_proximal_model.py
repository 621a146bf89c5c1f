"""The step of a quadratic model: its minimiser, in any units, by sweeps or by linear systems."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

import twins
from problems import searching
from smoothperf import LBFGS, ErrorRate, FBeta, PartialROCArea, ROCArea, Status
from smoothperf.design import BiasedDesign, as_design
from smoothperf.optimise import proximal_model
from smoothperf.optimise.elastic_net import ElasticNet
from smoothperf.optimise.objective import RegularizedRisk
from smoothperf.optimise.proximal_model import no_columns, proximal_step, units_of


@searching(40)
@given(seed=st.integers(0, 10_000))
def test_a_step_is_the_minimiser_whatever_the_units(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 12))
    root = rng.normal(size=(d, d))
    B, slope, coef = root @ root.T, 3.0 * rng.normal(size=d), rng.normal(size=d) * (rng.random(d) < 0.7)
    lower, upper = (-0.3, 0.4) if rng.random() < 0.5 else (-np.inf, np.inf)
    penalty = ElasticNet(0.5, float(rng.choice([0.0, 0.5, 1.0])), lower=lower, upper=upper).on(d)
    coef = penalty.clip(coef)
    expected = coef.copy()
    pay = penalty.s, penalty.q, penalty.lower, penalty.upper
    whole = B + 0.1 * np.eye(d)
    twins.minimise_model(slope, coef, *pay, 0.0, whole, np.eye(d), *no_columns(d), expected, 1e-15, 20_000)
    units = 10.0 ** rng.uniform(-3.0, 3.0, size=d)
    # sigma is the same for all weights in their units, so it is part of the matrix here.
    scaled = whole / np.outer(units, units)
    found = proximal_step(coef, penalty, units, slope / units, 1e-300, (scaled, np.eye(d)), no_columns(d), 1e-13)
    gradient = slope + whole @ (found - coef)
    expected_gradient = slope + whole @ (expected - coef)

    def value(z, gradient):
        return 0.5 * float((gradient + slope) @ (z - coef)) + penalty.value(z, float(z @ z))

    assert value(found, gradient) <= value(expected, expected_gradient) + 1e-9
    assert (found >= penalty.lower).all()
    assert (found <= penalty.upper).all()


def test_linear_systems_save_sweeps(monkeypatch):
    """Columns that resemble each other: thousands of sweeps without."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1)) + 0.02 * rng.normal(size=(200, 20))
    B, slope, zero = X.T @ X, -X.T @ X @ rng.normal(size=20), np.zeros(20)
    penalty = ElasticNet(1e-3, 1.0).on(20)
    args = zero, penalty, np.ones(20), slope, 1e-9, (B, np.eye(20)), no_columns(20)
    found = proximal_step(*args, 1e-10)
    monkeypatch.setattr(proximal_model, "_minimise_without_zeros", lambda *_: 0.0)
    few = proximal_step(*args, 1e-10)

    def value(z):
        return float(slope @ z + 0.5 * (z @ B @ z)) + penalty.value(z, float(z @ z))

    exact = zero.copy()
    pay = penalty.s, penalty.q, penalty.lower, penalty.upper
    twins.minimise_model(slope, zero, *pay, 1e-9, B, np.eye(20), *no_columns(20), exact, 1e-14, 3000)
    assert value(found) <= value(exact) + 1e-6 * abs(value(exact))
    assert value(found) < value(few) - 1e-4 * abs(value(found))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_units_are_for_columns_far_from_the_others(form):
    rng = np.random.default_rng(0)
    sizes = np.array([1.0, 3.0, 1e3, 1.0, 2.0, 1e6, 1e-5])
    X = rng.normal(size=(50, 7)) * sizes * (rng.random((50, 7)) < [1.0, 1.0, 0.05, 1.0, 1.0, 1.0, 1.0])
    units = units_of(as_design(form(X)))
    np.testing.assert_array_equal(units[:5], 1.0)  # one has large entries, but few
    assert 1e5 < units[5] < 1e7
    assert 1e-6 < units[6] < 1e-4
    np.testing.assert_allclose(units_of(as_design(form(1e3 * X))), units)


def test_sweeps_that_gain_little_are_not_the_end():
    """Columns that all but agree, and a start where sweeps creep: linear systems find the minimum all the same."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 1)) + 1e-3 * rng.normal(size=(50, 10))
    B, w = X.T @ X, rng.normal(size=10)
    penalty = ElasticNet(1e-7, 1.0).on(10)
    slope, start = -B @ w, np.full(10, w.sum() / 10.0)
    slope += B @ start  # that of the model whose minimum without a penalty is w
    found = proximal_step(start, penalty, np.ones(10), slope, 1e-12, (B, np.eye(10)), no_columns(10), 1e-2)
    np.testing.assert_allclose(found, w, atol=0.05)


@pytest.mark.parametrize("alpha", [1e-3, 1e-4])
def test_few_rows_with_curvature_and_small_alphas(alpha):
    """They ended at 1000 iterations, as sweeps alone do not solve the model of columns that resemble each other."""
    X, benign = load_breast_cancer(return_X_y=True)
    design = BiasedDesign(as_design(X[::2]), 1.0)
    objective = RegularizedRisk(design, ErrorRate().bind(benign[::2]), ElasticNet(alpha, 1.0, bias=True))
    assert LBFGS(max_iter=500).run(objective).status is Status.CONVERGED


@pytest.mark.parametrize("rho", [0.5, 1.0])
@pytest.mark.parametrize(
    "measure", [ROCArea(), PartialROCArea(0.05), FBeta(1.0), ErrorRate()], ids=lambda each: each.name
)
def test_features_of_all_sizes(measure, rho):
    """Columns of the breast cancer data differ by a factor of 1e5. In one unit, half of these do not end."""
    X, benign = load_breast_cancer(return_X_y=True)
    design = BiasedDesign(as_design(X[::2]), 1.0)
    penalty = ElasticNet(5e-3, rho, bias=True)
    result = LBFGS().run(RegularizedRisk(design, measure.bind(benign[::2]), penalty))
    assert result.status is Status.CONVERGED
