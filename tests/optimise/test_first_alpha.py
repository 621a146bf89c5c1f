"""The first alpha of paths with absolute values in the penalty: linear programs, generic solvers, and every door."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import oracles
from problems import gaussians
from smoothperf import LBFGS, PRBEP, ErrorRate, FBeta, LogLoss, PrecisionAtK, RecallAtK, ROCArea, SquaredHinge
from smoothperf.communicator import ALONE
from smoothperf.dask.design import SharedDesign
from smoothperf.design import BiasedDesign, as_design
from smoothperf.optimise.elastic_net import ElasticNet
from smoothperf.optimise.offset import Shifted
from smoothperf.optimise.path import PenalisedPath

ALL = [ROCArea(), PRBEP(), PrecisionAtK(20), RecallAtK(0.1), ErrorRate(), FBeta(), LogLoss(), SquaredHinge()]


def path_of(X, y, measure, tol=1e-3, *, bias=False, base=None, **penalty):
    design = as_design(X)
    risk = measure.bind(y)
    if base is not None:
        risk = Shifted(risk, base)
    return PenalisedPath(
        BiasedDesign(design, 1.0) if bias else design, risk, LBFGS(tol=tol), ElasticNet(1.0, bias=bias, **penalty)
    )


def least_by_linear_program(X, y, k, costs, lower=-np.inf):
    """The smallest alpha of which some gradient at 0 is within the box: places go to negatives as far as they can."""
    n = y.size
    target = np.where(y == 1, min(k, (y == 1).sum()) / (y == 1).sum(), max(0.0, k - (y == 1).sum()) / (y == -1).sum())
    rows = 2.0 / n * X.T
    sides = [np.column_stack([-rows, -costs])] + ([np.column_stack([rows, -costs])] if lower < 0.0 else [])
    limits = [-(rows @ target)] + ([rows @ target] if lower < 0.0 else [])
    totals = np.vstack([np.ones(n), y == 1]).astype(float)
    found = linprog(
        np.eye(1, n + 1, n)[0],
        A_ub=np.vstack(sides),
        b_ub=np.concatenate(limits),
        A_eq=np.column_stack([totals, np.zeros(2)]),
        b_eq=[k, max(0.0, k - (y == -1).sum())],
        bounds=[(0.0, 1.0)] * n + [(0.0, None)],
    )
    assert found.success
    return found.fun


@pytest.mark.parametrize(
    ("penalty", "costs", "lower"),
    [
        ({"l1_ratio": 1.0}, np.ones(12), -np.inf),
        ({"l1_ratio": 0.4, "factors": np.linspace(0.5, 2.0, 12)}, 0.4 * np.linspace(0.5, 2.0, 12), -np.inf),
        ({"l1_ratio": 1.0, "lower": 0.0}, np.ones(12), 0.0),
    ],
    ids=["lasso", "factors", "signs"],
)
@pytest.mark.parametrize(
    ("measure", "places"), [(PRBEP(), None), (PrecisionAtK(20), 20.0), (RecallAtK(0.6), 120.0)], ids=str
)
@pytest.mark.parametrize("n_positive", [40, 130])
def test_with_several_gradients_it_is_close_to_the_value_of_a_linear_program(
    n_positive, measure, places, penalty, costs, lower
):
    X, y = gaussians(n_positive, 200 - n_positive, n_features=12, shift=1.5, seed=1, informative=4)
    exact = least_by_linear_program(X, y, n_positive if places is None else places, costs, lower)
    assert exact > 0.0
    found = path_of(X, y, measure, 1e-5, **penalty).first_alpha()
    assert 0.98 * exact <= found <= 1.2 * exact


@pytest.mark.parametrize("factor", [1.0, 0.0], ids=["bias", "bias and a feature"])
@pytest.mark.parametrize("measure", [LogLoss(), SquaredHinge()], ids=lambda each: each.name)
def test_with_one_gradient_at_the_null_model_it_is_exact(measure, factor):
    """The others are stationary there, and the gradient of one of the rest is at its limit."""
    X, y = gaussians(30, 170, n_features=8, shift=1.0, seed=2, informative=3)
    X[:, 1:] += 1.0  # so that much depends on the bias
    factors = np.append(factor, np.ones(7))
    path = path_of(X, y, measure, bias=True, l1_ratio=0.5, factors=factors)
    alpha = path.first_alpha()

    def losses(z):
        if measure.name == "log_loss":
            return np.logaddexp(0.0, -z), -1.0 / (1.0 + np.exp(z))
        return np.maximum(0.0, 1.0 - z) ** 2, -2.0 * np.maximum(0.0, 1.0 - z)

    others = np.column_stack([X[:, :1] if factor == 0.0 else X[:, :0], np.ones(200)])
    costs = np.append(np.zeros(others.shape[1] - 1), 1.0)

    def objective(w):
        value, derivative = losses(y * (others @ w))
        return value.mean() + alpha / 2.0 * costs @ w**2, others.T @ (y * derivative) / 200 + alpha * costs * w

    w = minimize(objective, np.zeros(others.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-10}).x
    slope = X.T @ (y * losses(y * (others @ w))[1]) / 200
    assert np.abs(slope[factors > 0.0]).max() / 0.5 == pytest.approx(alpha, rel=1e-4)
    first, second = path.solve(alpha), path.solve(0.9 * alpha)
    assert not first.coef[:-1][factors > 0.0].any()
    assert np.isclose(first.coef[-1], w[-1], atol=1e-3)
    assert first.gap <= 1e-3
    assert second.gap <= 1e-3


def error_hinges(y, f):
    return cp.sum(cp.pos(1 - 2 * cp.multiply(y, f))) / len(y)


def break_even_hinges(y, f):
    tau, n_positive = cp.Variable(), int((y == 1).sum())
    missed = cp.pos(1.0 / n_positive - 2.0 / len(y) * f[y == 1] - tau)
    return cp.sum(missed) + cp.sum(cp.pos(2.0 / len(y) * f[y == -1] + tau))


@pytest.mark.parametrize(
    ("measure", "risk", "bias", "factor"),
    [
        (ErrorRate(), error_hinges, True, 1.0),
        (ErrorRate(), error_hinges, True, 0.0),
        (PRBEP(), break_even_hinges, False, 0.0),
    ],
    ids=["error rate", "error rate and a feature", "prbep and a feature"],
)
def test_the_null_model_is_optimal_within_tol_there_and_not_far_below(measure, risk, bias, factor):
    X, y = gaussians(30, 90, n_features=8, shift=1.5, seed=3, informative=3)
    factors, tol = np.append(np.ones(7), factor), 1e-4
    path = path_of(X, y, measure, tol, bias=bias, l1_ratio=1.0, factors=factors)
    alpha = path.first_alpha()
    whole = np.column_stack([X, np.ones(120)]) if bias else X
    s, q = (np.append(factors, 0.0), np.append(np.zeros(8), 1.0)) if bias else (factors, np.zeros(8))
    bounds = np.where((s == 0.0) & (q == 0.0), 1e3, np.inf)
    excess = []
    for strength in (alpha, alpha / 1.5):
        nothing = np.where(s > 0.0, 0.0, bounds)
        null = oracles.penalised_optimum(whole, lambda f: risk(y, f), strength * s, strength * q, -nothing, nothing)[1]
        best = oracles.penalised_optimum(whole, lambda f: risk(y, f), strength * s, strength * q, -bounds, bounds)[1]
        excess.append(null - best)
    assert excess[0] <= tol + 1e-7
    assert excess[1] > tol
    first = path.solve(alpha)
    assert first.gap <= tol
    assert not first.coef[s > 0.0].any()


@pytest.mark.parametrize(
    ("setting", "tol"),
    [
        ("plain", 1e-5),
        ("bias", 1e-3),
        ("bias", 1e-5),
        ("a free feature", 1e-4),
        ("signs", 1e-3),
        ("added to scores", 1e-3),
    ],
)
@pytest.mark.parametrize("measure", ALL, ids=lambda each: each.name)
def test_every_path_begins_with_no_feature_that_pays(measure, setting, tol):
    X, y = gaussians(40, 110, n_features=6, shift=1.2, seed=4, informative=3)
    factors = np.append(np.ones(5), 0.0) if setting == "a free feature" else np.ones(6)
    path = path_of(
        X,
        y,
        measure,
        tol,
        bias=setting == "bias" and measure.fits_bias,
        base=0.3 * X[:, 2] if setting == "added to scores" else None,
        l1_ratio=0.8,
        factors=factors,
        lower=0.0 if setting == "signs" else None,
    )
    alpha = path.first_alpha()
    first = path.solve(alpha)
    assert first.gap <= tol
    assert not first.coef[:6][factors > 0.0].any()
    assert path.solve(0.2 * alpha).coef[:6][factors > 0.0].any()


def test_a_risk_that_collapses_begins_at_a_thousandth():
    """If no direction helps, w = 0 is optimal for all alphas."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), np.where(np.arange(400) < 20, 1.0, -1.0)
    assert least_by_linear_program(X, y, 20, np.ones(3)) == pytest.approx(0.0, abs=1e-9)
    even = np.abs(2.0 / 400 * 20 * (X[y == 1].mean(axis=0) - X[y == -1].mean(axis=0))).max()
    path = path_of(X, y, PRBEP(), l1_ratio=1.0)
    alpha = path.first_alpha()
    assert alpha == pytest.approx(1e-3 * even, rel=1e-3)
    assert not path.solve(alpha).coef.any()


def test_it_is_1_where_features_say_nothing():
    X, y = np.zeros((20, 3)), np.where(np.arange(20) < 8, 1.0, -1.0)
    for measure in ALL[:2] + ALL[-2:]:
        assert path_of(X, y, measure, l1_ratio=1.0, bias=measure.fits_bias).first_alpha() == 1.0


@pytest.mark.parametrize("measure", [LogLoss(), ErrorRate()], ids=lambda each: each.name)
def test_columns_that_are_had_one_by_one(measure):
    X, y = gaussians(40, 110, n_features=6, shift=1.2, seed=5, informative=3)
    design = SharedDesign(as_design(X), ALONE)
    assert not design.gives_columns
    found = []
    for each in (design, as_design(X)):
        path = PenalisedPath(BiasedDesign(each, 1.0), measure.bind(y), LBFGS(), ElasticNet(1.0, 1.0, bias=True))
        found.append(path.first_alpha())
    assert found[0] == pytest.approx(found[1], rel=1e-4 if measure.name == "log_loss" else 0.2)
