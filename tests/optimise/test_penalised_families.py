"""Other penalties with all kinds of measures, with weights, and on larger problems, against independent solvers."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import oracles
from problems import gaussians, thorough
from smoothperf import (
    LBFGS,
    PRBEP,
    BalancedErrorRate,
    ErrorRate,
    FBeta,
    Jaccard,
    LogLoss,
    PartialROCArea,
    PrecisionAtK,
    RecallAtK,
    ROCArea,
    SquaredHinge,
    Status,
)
from smoothperf.design import as_design
from smoothperf.optimise.elastic_net import ElasticNet
from smoothperf.optimise.objective import RegularizedRisk

ALPHA, TOL = 0.02, 1e-5
N_POSITIVE, N_NEGATIVE = 3, 5


def partial_expression(y, scores, k):
    """The mean of the k largest of the negatives' mean hinges."""
    positives = [int(i) for i in np.flatnonzero(y == 1)]
    hinges = [
        sum(cp.pos(1 - (scores[i] - scores[int(j)])) for i in positives) / len(positives)
        for j in np.flatnonzero(y == -1)
    ]
    return cp.sum_largest(cp.hstack(hinges), k) / k


def balanced_planes(y):
    return oracles.error_planes(y, (1.0 / (y == 1).sum(), 1.0 / (y == -1).sum()))


#: Measures, and their risks for an independent solver.
FAMILIES = {
    "prbep": (PRBEP(), lambda y: oracles.top_k_planes(y, int((y == 1).sum()), precision=True)),
    "precision@3": (PrecisionAtK(3), lambda y: oracles.top_k_planes(y, 3, precision=True)),
    "recall@2": (RecallAtK(2), lambda y: oracles.top_k_planes(y, 2, precision=False)),
    "recall@4": (RecallAtK(4), lambda y: oracles.top_k_planes(y, 4, precision=False)),
    "roc_area": (ROCArea(), lambda y: lambda f: oracles.roc_expression(y, f)),
    "roc_area@0.4": (PartialROCArea(0.4), lambda y: lambda f: partial_expression(y, f, round(0.4 * (y == -1).sum()))),
    "error_rate": (ErrorRate(), oracles.error_planes),
    "balanced_error_rate": (BalancedErrorRate(), balanced_planes),
    "log_loss": (LogLoss(), lambda y: lambda f: oracles.smooth_expression(y, f, "log_loss")),
}
PENALTIES = {
    "elastic net": {"l1_ratio": 0.5},
    "lasso with factors": {"l1_ratio": 1.0, "factors": np.array([0.0, 2.0, 0.5, 1.0])},
    "lasso with bounds": {"l1_ratio": 1.0, "lower": -0.1, "upper": np.array([0.2, 0.0, 1.0, 0.05])},
}
#: Five negatives weigh 5 and three positives 5, so that copies are few enough for all labelings.
WEIGHTS = np.array([2, 1, 2, 0, 1, 2, 1, 1])


def small_problem():
    X, y = gaussians(N_POSITIVE, N_NEGATIVE, n_features=4, shift=1.0, seed=3)
    X[:, 1] *= -1.0
    return X, y


def settings_of(l1_ratio, factors=1.0, lower=-np.inf, upper=np.inf, d=4):
    """The arguments of ``oracles.penalised_optimum`` for a penalty."""
    strength = ALPHA * np.broadcast_to(np.asarray(factors, dtype=float), d)
    free = strength == 0.0
    lower = np.maximum(lower, np.where(free, -1e3, -np.inf))
    upper = np.minimum(upper, np.where(free, 1e3, np.inf))
    return l1_ratio * strength, (1.0 - l1_ratio) * strength, lower, upper


def run(X, y, measure, penalty, weights=None, tol=TOL):
    return LBFGS(tol=tol, max_iter=5000).run(RegularizedRisk(as_design(X), measure.bind(y, weights), penalty))


def check_result(result, low, high=None, tol=TOL):
    """The minimum is known to lie between two numbers, or to be one."""
    assert result.status is Status.CONVERGED
    assert result.lower_bound <= (low if high is None else high) + 1e-7
    assert low - 1e-7 <= result.objective <= (low if high is None else high) + tol + 1e-7


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("family", ["recall@2", "recall@4", "roc_area@0.4", "balanced_error_rate"])
def test_reaches_the_optimum_of_a_generic_solver(family, penalty):
    measure, risk = FAMILIES[family]
    X, y = small_problem()
    result = run(X, y, measure, ElasticNet(ALPHA, **PENALTIES[penalty]))
    check_result(result, oracles.penalised_optimum(X, risk(y), *settings_of(**PENALTIES[penalty]))[1])


@pytest.mark.parametrize("penalty", ["elastic net", "lasso with bounds"])
@pytest.mark.parametrize("family", FAMILIES)
def test_weights_are_copies_for_a_generic_solver(family, penalty):
    measure, risk = FAMILIES[family]
    X, y = small_problem()
    result = run(X, y, measure, ElasticNet(ALPHA, **PENALTIES[penalty]), WEIGHTS)
    rows, labels = np.repeat(X, WEIGHTS, axis=0), np.repeat(y, WEIGHTS)
    check_result(result, oracles.penalised_optimum(rows, risk(labels), *settings_of(**PENALTIES[penalty]))[1])


FRACTIONAL = {"f1": (FBeta(1.0), 1.0, 1.0), "f2": (FBeta(2.0), 4.0, 1.0), "jaccard": (Jaccard(), 1.0, 0.0)}


def fractional_plane(y, f, c, p, r):
    """The flips in [0, 1] that are worst at some scores, as a loss and slopes; exact, by looking at all candidates.

    Given how much is flipped of each class, the smallest margins are. Given the flips of the negatives, the loss is
    convex in those of the positives, so that these are at a kink; given the latter, it is concave between two kinks.
    """
    step = 2.0 / c.sum()
    sides = []
    for label in (1, -1):
        order = np.flatnonzero((y == label) & (c > 0))
        order = order[np.argsort(label * f[order])]
        sides.append((order, np.concatenate([[0.0], np.cumsum(c[order])])))
    (positives, b_masses), (negatives, c_masses) = sides
    total = b_masses[-1]
    best = None
    for n_missed, missed in enumerate(b_masses):
        base, rise = (p + r) * total - r * missed, (p + r) * (total - missed)
        for j, row in enumerate(negatives):
            begin, end, margin = c_masses[j], c_masses[j + 1], -f[row]
            flat = np.sqrt(rise / (step * margin)) - base if margin > 0 else end
            for false in (begin, np.clip(flat, begin, end), end):
                flips = np.zeros(y.size)
                flips[positives[:n_missed]] = 1.0
                flips[negatives[:j]] = 1.0
                flips[row] = (false - begin) / c[row]
                loss, slopes = oracles.fractional_loss(p, r, total, missed, false), -step * c * y * flips
                value = loss + slopes @ f
                if best is None or value > best[0]:
                    best = value, loss, slopes
    return best


def optimum_by_cutting_planes(X, y, c, p, r, penalty, gap=1e-6):
    """Bounds of the minimum of the penalised fractional risk: planes at the minimiser of those so far."""
    s, q, lower, upper = settings_of(**penalty)
    w, low, high, losses, slopes = np.zeros(4), -np.inf, np.inf, [], []
    for _ in range(200):
        value, loss, slope = fractional_plane(y, X @ w, c, p, r)
        high = min(high, value + s @ np.abs(w) + q @ w**2 / 2.0)
        if high - low <= gap:
            return low, high
        losses.append(loss)
        slopes.append(slope)
        w, low = oracles.penalised_optimum(X, (np.array(losses), np.array(slopes)), s, q, lower, upper)
        w = np.clip(w, lower, upper)
    raise AssertionError("cutting planes did not end")


@pytest.mark.parametrize(
    ("penalty", "weights"),
    [
        ("elastic net", WEIGHTS),
        ("lasso with bounds", None),
        *thorough(("elastic net", None), ("lasso with bounds", WEIGHTS)),
    ],
    ids=lambda each: each if isinstance(each, str) else "plain" if each is None else "weights",
)
@pytest.mark.parametrize("measure", FRACTIONAL)
def test_fractional_measures_reach_the_optimum_of_cutting_planes(measure, penalty, weights):
    spec, p, r = FRACTIONAL[measure]
    X, y = small_problem()
    result = run(X, y, spec, ElasticNet(ALPHA, **PENALTIES[penalty]), weights)
    c = np.ones(y.size) if weights is None else weights.astype(float)
    check_result(result, *optimum_by_cutting_planes(X, y, c, p, r, PENALTIES[penalty]))


@pytest.mark.parametrize("measure", FRACTIONAL)
def test_the_plane_of_worst_flips_is_the_risk(measure):
    _, p, r = FRACTIONAL[measure]
    _, y = small_problem()
    f = np.random.default_rng(0).normal(size=y.size)
    expected = float(oracles.exact_fractional(y, f, WEIGHTS, p=p, r=r))
    assert fractional_plane(y, f, WEIGHTS.astype(float), p, r)[0] == pytest.approx(expected, abs=1e-12)


def larger_problem():
    return gaussians(60, 140, n_features=40, shift=1.0, seed=0, informative=5, scale=5.0)


def pair_hinges(y, f):
    positives, negatives = np.flatnonzero(y == 1), np.flatnonzero(y == -1)
    margins = cp.reshape(f[positives], (len(positives), 1), order="C") - cp.reshape(
        f[negatives], (1, len(negatives)), order="C"
    )
    return cp.sum(cp.pos(1 - margins)) / (len(positives) * len(negatives))


def break_even_hinges(y, f):
    """PRBEP: flips in [0, 1], as many of the positives as of the negatives; tau is the multiplier of that."""
    tau, n_positive = cp.Variable(), int((y == 1).sum())
    missed = cp.pos(1.0 / n_positive - 2.0 / len(y) * f[y == 1] - tau)
    return cp.sum(missed) + cp.sum(cp.pos(2.0 / len(y) * f[y == -1] + tau))


def error_hinges(y, f):
    return cp.sum(cp.pos(1 - 2 * cp.multiply(y, f))) / len(y)


@pytest.mark.parametrize("penalty", [{"l1_ratio": 0.3, "lower": -0.2}, {"l1_ratio": 1.0}], ids=["bounds", "lasso"])
@pytest.mark.parametrize(
    ("measure", "risk"), [(ROCArea(), pair_hinges), (PRBEP(), break_even_hinges), (ErrorRate(), error_hinges)]
)
def test_larger_problems_reach_the_optimum_of_a_generic_solver(measure, risk, penalty):
    X, y = larger_problem()
    if isinstance(measure, ROCArea):
        X, y = X[::3], y[::3]  # there are fewer pairs for the other solver
    result = run(X, y, measure, ElasticNet(ALPHA, **penalty))
    minimum = oracles.penalised_optimum(X, lambda f: risk(y, f), *settings_of(**penalty, d=40))[1]
    check_result(result, minimum)


@pytest.mark.parametrize("rho", [0.3, 1.0])
@pytest.mark.parametrize("measure", [LogLoss(), SquaredHinge()], ids=lambda each: each.name)
def test_conditions_of_optimality_hold_with_weights(measure, rho):
    """For a smooth risk: the gradient is within the subgradients of the penalty."""
    X, y = larger_problem()
    weights = np.random.default_rng(1).uniform(0.2, 3.0, size=y.size)
    penalty = ElasticNet(0.01, rho, factors=np.linspace(0.5, 2.0, 40), lower=-0.1, upper=0.15).on(40)
    result = run(X, y, measure, penalty, weights, tol=1e-9)
    w, z = result.coef, y * (X @ result.coef)
    derivative = -1.0 / (1.0 + np.exp(z)) if measure.name == "log_loss" else -2.0 * np.maximum(0.0, 1.0 - z)
    slope = X.T @ (weights * y * derivative) / weights.sum() + penalty.q * w
    free = (w != 0.0) & (w > penalty.lower) & (w < penalty.upper)
    assert free.any()
    assert np.abs(slope + penalty.s * np.sign(w))[free].max() < 2e-4
    assert (np.abs(slope)[w == 0.0] <= penalty.s[w == 0.0] + 2e-4).all()
    assert (w == penalty.upper).any()
    assert (slope + penalty.s <= 2e-4)[w == penalty.upper].all()
    assert (slope - penalty.s >= -2e-4)[w == penalty.lower].all()
