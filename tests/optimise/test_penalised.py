"""Penalties that are not quadratic: the optimum of an independent solver, exact zeros, true bounds, every door."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest
import scipy.sparse as sp

import oracles
from groups import check_alike, examples_of, parts, perturb, perturb_solvers, run_group
from problems import gaussians
from promises import hold_tight
from smoothperf import (
    BMRM,
    LBFGS,
    PRBEP,
    ErrorRate,
    LogLoss,
    Nesterov,
    Newton,
    PrecisionAtK,
    ROCArea,
    SquaredHinge,
    Status,
)
from smoothperf.dask.design import SharedDesign
from smoothperf.design import BiasedDesign, as_design
from smoothperf.optimise import Retargeting, working_set
from smoothperf.optimise import segments as segments_module
from smoothperf.optimise.elastic_net import ElasticNet, Separable
from smoothperf.optimise.objective import RegularizedRisk
from smoothperf.optimise.offset import Shifted
from smoothperf.optimise.path import PenalisedPath, QuadraticPath, convex_path
from smoothperf.optimise.segments import PenalisedRun

#: Measures, and their risks for an independent solver.
FAMILIES = {
    "prbep": (PRBEP(), lambda y: oracles.top_k_planes(y, int((y == 1).sum()), precision=True)),
    "precision@k": (PrecisionAtK(3), lambda y: oracles.top_k_planes(y, 3, precision=True)),
    "roc_area": (ROCArea(), lambda y: lambda f: oracles.roc_expression(y, f)),
    "error_rate": (ErrorRate(), lambda y: oracles.error_planes(y)),
    "log_loss": (LogLoss(), lambda y: lambda f: oracles.smooth_expression(y, f, "log_loss")),
    "squared_hinge": (SquaredHinge(), lambda y: lambda f: oracles.smooth_expression(y, f, "squared_hinge")),
}
FACTORS = np.array([0.0, 2.0, 0.5, 1.0])
PENALTIES = {
    "elastic net": {"l1_ratio": 0.5},
    "lasso": {"l1_ratio": 1.0},
    "factors": {"l1_ratio": 0.7, "factors": FACTORS},
    "lasso with factors": {"l1_ratio": 1.0, "factors": FACTORS},
    "positive": {"l1_ratio": 0.0, "lower": 0.0},
    "positive lasso": {"l1_ratio": 1.0, "lower": 0.0},
    "bounds": {"l1_ratio": 0.3, "lower": -0.1, "upper": [0.2, 0.0, np.inf, 0.05]},
    "lasso with bounds": {"l1_ratio": 1.0, "lower": -0.1, "upper": [0.2, 0.0, np.inf, 0.05]},
}
ALPHA, TOL = 0.02, 1e-5


def small_problem(seed=3):
    X, y = gaussians(3, 5, n_features=4, shift=1.0, seed=seed)
    X[:, 1] *= -1.0
    return X, y


def optimum(X, risk, alpha, *, l1_ratio=0.5, factors=1.0, lower=-np.inf, upper=np.inf, base=0.0):
    strength = alpha * np.broadcast_to(np.asarray(factors, dtype=float), X.shape[1])
    free = strength == 0.0
    lower = np.maximum(lower, np.where(free, -1e3, -np.inf))
    upper = np.minimum(upper, np.where(free, 1e3, np.inf))
    return oracles.penalised_optimum(X, risk, l1_ratio * strength, (1 - l1_ratio) * strength, lower, upper, base)[1]


def check_result(result, minimum, tol=TOL):
    assert result.status is Status.CONVERGED
    assert result.lower_bound <= minimum + 1e-8
    assert minimum - 1e-8 <= result.objective <= minimum + tol + 1e-8


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("family", FAMILIES)
def test_reaches_the_optimum_of_a_generic_solver(family, penalty):
    measure, risk = FAMILIES[family]
    X, y = small_problem()
    settings = PENALTIES[penalty]
    objective = RegularizedRisk(as_design(X), measure.bind(y), ElasticNet(ALPHA, **settings))
    result = LBFGS(tol=TOL, max_iter=5000).run(objective)
    check_result(result, optimum(X, risk(y), ALPHA, **settings))
    bound = objective.penalty
    assert (result.coef >= bound.lower).all()
    assert (result.coef <= bound.upper).all()


@pytest.mark.parametrize("penalty", ["elastic net", "lasso", "bounds"])
@pytest.mark.parametrize("measure", [PRBEP(), ROCArea()], ids=lambda each: each.name)
def test_cutting_planes_find_the_same(measure, penalty):
    X, y = small_problem()
    objective = RegularizedRisk(as_design(X), measure.bind(y), ElasticNet(ALPHA, **PENALTIES[penalty]))
    result = BMRM(tol=1e-4, max_iter=300).run(objective)
    other = LBFGS(tol=1e-4).run(objective)
    assert result.status is Status.CONVERGED
    assert max(result.lower_bound, other.lower_bound) <= min(result.objective, other.objective)


def test_cutting_planes_need_a_penalty_of_every_feature():
    X, y = small_problem()
    objective = RegularizedRisk(as_design(X), PRBEP().bind(y), ElasticNet(ALPHA, factors=FACTORS))
    with pytest.raises(ValueError, match="BMRM needs a penalty of every feature"):
        BMRM().run(objective)


@pytest.mark.parametrize("penalty", ["elastic net", "lasso", "positive lasso"])
@pytest.mark.parametrize("family", ["prbep", "roc_area", "log_loss"])
def test_given_scores_count(family, penalty):
    measure, risk = FAMILIES[family]
    X, y = small_problem()
    base = np.random.default_rng(0).normal(size=y.size)
    shifted = Shifted(measure.bind(y), base)
    result = LBFGS(tol=TOL).run(RegularizedRisk(as_design(X), shifted, ElasticNet(ALPHA, **PENALTIES[penalty])))
    check_result(result, optimum(X, risk(y), ALPHA, base=base, **PENALTIES[penalty]))
    quadratic = LBFGS(tol=TOL).run(RegularizedRisk(as_design(X), shifted, ALPHA))
    check_result(quadratic, optimum(X, risk(y), ALPHA, l1_ratio=0.0, base=base))


def larger_problem(seed=0, n_features=40):
    return gaussians(60, 140, n_features=n_features, shift=1.0, seed=seed, informative=5, scale=5.0)


def fit(X, y, measure, penalty, tol=1e-5, solver=None, **options):
    return (solver or LBFGS(tol=tol, **options)).run(RegularizedRisk(as_design(X), measure.bind(y), penalty))


@pytest.mark.parametrize("rho", [0.3, 1.0])
def test_conditions_of_optimality_hold(rho):
    """For a smooth risk: the gradient is within the subgradients of the penalty."""
    X, y = larger_problem()
    penalty = ElasticNet(0.01, rho, lower=-0.2).on(X.shape[1])
    objective = RegularizedRisk(as_design(X), LogLoss().bind(y), penalty)
    result = LBFGS(tol=1e-9).run(objective)
    w, slope = result.coef, objective.rmatvec(objective.risk.smoothed(result.scores, 0.0).plane.gradient)
    residual = slope + penalty.q * w
    inside = (w != 0.0) & (w > penalty.lower)
    assert np.abs(residual + penalty.s * np.sign(w))[inside].max() < 1e-4
    assert (np.abs(residual)[w == 0.0] <= penalty.s[w == 0.0] + 1e-4).all()
    on_bound = w == penalty.lower
    assert on_bound.any()
    assert (residual[on_bound] - penalty.s[on_bound] >= -1e-4).all()


@pytest.mark.parametrize("measure", [ROCArea(), PRBEP(), LogLoss()], ids=lambda each: each.name)
def test_weights_are_exactly_zero(measure):
    X, y = larger_problem()
    counts = [np.count_nonzero(fit(X, y, measure, ElasticNet(0.03, rho), tol=1e-3).coef) for rho in (0.1, 0.5, 1.0)]
    assert counts[0] >= counts[1] >= counts[2]
    assert 0 < counts[2] <= 15


def test_without_absolute_values_it_is_the_quadratic_penalty():
    X, y = larger_problem()
    plain = fit(X, y, ROCArea(), 0.01, tol=1e-7)
    other = fit(X, y, ROCArea(), ElasticNet(0.01, 0.0), tol=1e-7)
    np.testing.assert_allclose(other.objective, plain.objective, atol=2e-7)
    np.testing.assert_allclose(other.coef, plain.coef, atol=1e-2)


def test_positive_weights_of_columns_and_their_negatives_are_weights():
    X, y = larger_problem()
    for rho in (0.5, 1.0):
        free = fit(X, y, ROCArea(), ElasticNet(0.02, rho))
        both = fit(np.hstack([X, -X]), y, ROCArea(), ElasticNet(0.02, rho, lower=0.0))
        assert abs(free.objective - both.objective) <= 1e-5
        assert both.coef.min() >= 0.0


def test_factors_are_scales_of_columns():
    X, y = larger_problem()
    factors = np.exp(np.random.default_rng(1).normal(size=X.shape[1]))
    by_factors = fit(X, y, PRBEP(), ElasticNet(0.02, 1.0, factors=factors), tol=1e-4)
    by_scales = fit(X / factors, y, PRBEP(), ElasticNet(0.02, 1.0), tol=1e-4)
    assert abs(by_factors.objective - by_scales.objective) <= 1e-4


def test_a_bias_is_not_made_zero():
    X, y = larger_problem()
    design = BiasedDesign(as_design(X), 1.0)
    objective = RegularizedRisk(design, LogLoss().bind(y), ElasticNet(0.05, 1.0, bias=True))
    result = LBFGS(tol=1e-7).run(objective)
    ones = np.hstack([X, np.ones((len(y), 1))])
    s, q = np.append(np.full(X.shape[1], 0.05), 0.0), np.append(np.zeros(X.shape[1]), 0.05)
    _, minimum = oracles.penalised_optimum(ones, lambda f: oracles.smooth_expression(y, f, "log_loss"), s, q)
    check_result(result, minimum, 1e-7)
    assert result.coef[-1] != 0.0


def test_weights_count_as_copies():
    X, y = larger_problem()
    weights = np.random.default_rng(2).integers(0, 3, size=y.size)
    weights[:20] += 1
    penalty = ElasticNet(0.02, 0.8)
    weighted = LBFGS(tol=1e-5).run(RegularizedRisk(as_design(X), ROCArea().bind(y, weights), penalty))
    copied = fit(np.repeat(X, weights, axis=0), np.repeat(y, weights), ROCArea(), penalty)
    assert abs(weighted.objective - copied.objective) <= 1e-5


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array, np.float32])
def test_working_sets_find_the_same(make, monkeypatch):
    X, y = larger_problem(n_features=300)
    X = np.float32(X)
    measure, penalty = LogLoss(), ElasticNet(0.01, 1.0, bias=True)

    def run():
        return LBFGS(tol=1e-5).run(RegularizedRisk(BiasedDesign(as_design(make(X)), 2.0), measure.bind(y), penalty))

    plain = run()
    monkeypatch.setattr(working_set, "MANY_COLUMNS", 10)
    monkeypatch.setattr(working_set, "FIRST", 5)
    few = run()
    assert few.status is Status.CONVERGED
    assert max(plain.lower_bound, few.lower_bound) <= min(plain.objective, few.objective)
    assert abs(few.objective - plain.objective) <= 1e-5
    assert few.n_iter < plain.n_iter  # they are rounds
    assert few.n_matvec < plain.n_matvec


#: Rows of the members: the first has none, as a client that has no rows itself.
LENGTHS = [0, 50, 230, 20]
#: Bounds that some weights reach, and that limit the length of all.
NARROW = {"l1_ratio": 0.5, "lower": -0.05, "upper": 0.3}


def in_group(solver, measure, penalty, start=None):
    """The results of all members, of whom one may round differently, and the objective of all rows in one place."""
    X, y = gaussians(60, 240, 6)

    def member(communicator):
        threading.current_thread().perturbed = communicator.rank == 2
        part = parts(len(y), LENGTHS)[communicator.rank]
        risk = measure.risk(examples_of(y, None, part, communicator))
        return solver.run(RegularizedRisk(SharedDesign(as_design(X[part]), communicator), risk, penalty), start)

    return run_group(len(LENGTHS), member), RegularizedRisk(as_design(X), measure.bind(y), penalty)


def perturb_penalties(monkeypatch):
    """Change what members do with penalties between two rounds in the last bits; in one thread only."""
    perturb_solvers(monkeypatch)
    perturb(monkeypatch, segments_module, "along", outputs=(3,))
    perturb(monkeypatch, Separable, "value", by=1e-12)  # so much that it is seen in J


@pytest.mark.parametrize(
    ("measure", "solver", "settings"),
    [
        *itertools.product([PRBEP(), ROCArea()], [LBFGS(tol=1e-4)], [{"l1_ratio": 0.5}, {"l1_ratio": 1.0}, NARROW]),
        (ROCArea(), BMRM(tol=1e-2), NARROW),
    ],
    ids=lambda each: getattr(each, "name", type(each).__name__),
)
def test_members_of_a_group_end_with_the_same_weights(measure, solver, settings, monkeypatch):
    """Also if one of them rounds differently."""
    perturb_penalties(monkeypatch)
    results, whole = in_group(solver, measure, ElasticNet(1e-2, **settings))
    alone = LBFGS(tol=1e-4).run(whole)
    check_alike(results)
    for result in results:
        assert result.status is Status.CONVERGED
        assert max(result.lower_bound, alone.lower_bound) <= min(result.objective, alone.objective) + 1e-12


def test_the_tight_bound_in_a_group_with_a_member_that_rounds_differently(monkeypatch):
    perturb_penalties(monkeypatch)
    results, whole = in_group(Retargeting(tol=1e-3), PRBEP(), ElasticNet(1e-2, 0.5), np.ones(6))
    check_alike(results)
    hold_tight(results[0], whole, np.ones(6))


def test_the_first_member_says_where_a_line_ends():
    """The others may be on the other side of a bound by their rounding, and would not evaluate what it does."""
    X, y = gaussians(6, 14, 2)
    upper, coef, target = np.array([0.75, np.inf]), np.array([0.25, 0.5]), np.array([0.5, 0.25])

    def member(communicator):
        part = parts(len(y), [0, 10, 5, 5])[communicator.rank]
        risk = ROCArea().risk(examples_of(y, None, part, communicator))
        design = SharedDesign(as_design(X[part]), communicator)
        objective = RegularizedRisk(design, risk, ElasticNet(0.01, 0.5, upper=upper))
        run = PenalisedRun(objective, coef * (1.0 + 2.0**-52) if communicator.rank == 2 else coef)
        line = run.towards(run.starting_point(0.1), target)
        return [line.at(step, 0.1).value for step in (1.0, 2.0, 3.0)]

    one, two, three = run_group(4, member)[0]
    assert one < np.inf
    assert two < np.inf
    assert three == np.inf


@pytest.mark.parametrize("rho", [0.5, 1.0])
def test_tight_bounds_become_stationary(rho):
    X, y = larger_problem()
    objective = RegularizedRisk(as_design(X), PRBEP().bind(y), ElasticNet(1e-2, rho, lower=0.0))
    start = fit(X, y, ROCArea(), ElasticNet(1e-2, rho, lower=0.0), tol=1e-3).coef
    result = Retargeting(tol=1e-3).run(objective, start=start)
    hold_tight(result, objective, start)
    assert result.coef.min() >= 0.0
    # It bounds the loss.
    assert 1.0 - PRBEP().score(y, result.scores) <= result.objective + 1e-12


def test_tight_bounds_of_given_scores():
    X, y = larger_problem()
    base = X[:, 0] + 0.1
    risk = PRBEP().bind(y)
    for penalty in (0.01, ElasticNet(0.01, 0.5)):
        objective = RegularizedRisk(as_design(X), risk, penalty, offset=base)
        for start in (None, np.eye(X.shape[1])[1]):
            result = Retargeting(tol=1e-3).run(objective, start=start)
            assert result.status is Status.STATIONARY
            free = risk.loss_free(base + result.scores).value
            assert result.objective == pytest.approx(objective.exact(result.coef) - free, abs=1e-12)
            assert 1.0 - PRBEP().score(y, base + result.scores) <= result.objective + 1e-12


@pytest.mark.parametrize("measure", [ROCArea(), PRBEP(), LogLoss()], ids=lambda each: each.name)
@pytest.mark.parametrize("rho", [0.5, 1.0])
def test_a_path_begins_with_no_feature_and_certifies_each_alpha(measure, rho):
    X, y = larger_problem()
    path = convex_path(as_design(X), measure.bind(y), LBFGS(tol=1e-4), ElasticNet(1.0, rho))
    assert isinstance(path, PenalisedPath)
    largest = path.largest_alpha(1e-4)
    counts = []
    for alpha in largest * 0.6 ** np.arange(4):
        solution = path.solve(alpha)
        cold = fit(X, y, measure, ElasticNet(alpha, rho), tol=1e-4)
        assert solution.gap <= 1e-4
        assert max(solution.lower_bound, cold.lower_bound) <= min(solution.objective, cold.objective)
        counts.append(np.count_nonzero(solution.coef))
    assert counts[0] <= 1
    assert counts[-1] > counts[0]
    assert isinstance(convex_path(as_design(X), measure.bind(y), LBFGS()), QuadraticPath)


def test_the_largest_alpha_is_where_the_gradient_at_zero_is_within_the_penalty():
    """For a smooth risk, and in the limit of small tolerances."""
    X, y = larger_problem()
    risk = LogLoss().bind(y)
    slope = as_design(X).rmatvec(risk.smoothed(np.zeros(y.size), 0.0).plane.gradient)
    for settings, expected in (
        ({"l1_ratio": 1.0}, np.abs(slope).max()),
        ({"l1_ratio": 0.5}, 2.0 * np.abs(slope).max()),
        ({"l1_ratio": 1.0, "lower": 0.0}, -slope.min()),
    ):
        path = PenalisedPath(as_design(X), risk, LBFGS(tol=1e-12), ElasticNet(1.0, **settings))
        assert path.largest_alpha(1e-12) == pytest.approx(expected, rel=1e-3)
        assert not fit(X, y, LogLoss(), ElasticNet(1.001 * expected, **settings), tol=1e-6).coef.any()
        assert fit(X, y, LogLoss(), ElasticNet(0.9 * expected, **settings), tol=1e-6).coef.any()


def test_a_path_with_a_bias_begins_with_the_bias_alone():
    X, y = larger_problem()
    design = BiasedDesign(as_design(X), 1.0)
    path = convex_path(design, LogLoss().bind(y), LBFGS(tol=1e-4), ElasticNet(1.0, 1.0, bias=True))
    largest = path.largest_alpha(1e-3)
    first = path.solve(1.2 * largest)
    assert not first.coef[:-1].any()
    assert first.coef[-1] != 0.0
    assert path.solve(0.5 * largest).coef[:-1].any()


@pytest.mark.parametrize("solver", [Newton(), Nesterov()])
def test_solvers_for_the_quadratic_penalty_alone(solver):
    X, y = larger_problem()
    objective = RegularizedRisk(as_design(X), PRBEP().bind(y), ElasticNet(0.01))
    with pytest.raises(ValueError, match="minimises with the quadratic penalty only; use LBFGS"):
        solver.run(objective)


def test_a_start_outside_of_bounds_is_moved_inside():
    X, y = larger_problem()
    objective = RegularizedRisk(as_design(X), ROCArea().bind(y), ElasticNet(0.01, 0.5, lower=0.0))
    result = LBFGS(tol=1e-4).run(objective, start=np.full(X.shape[1], -1.0))
    assert result.status is Status.CONVERGED
    assert result.coef.min() >= 0.0


def test_one_product_each_way_in_an_iteration():
    X, y = larger_problem()
    result = fit(X, y, ROCArea(), ElasticNet(0.01, 0.9), tol=1e-5)
    assert result.n_matvec <= result.n_iter + 1
    assert result.n_rmatvec <= result.n_iter + 1


def test_features_without_a_penalty_are_held_within_a_thousand():
    X, y = np.array([[1.0], [2.0], [-1.0]]) * 1e-6, np.array([1, 1, -1])
    objective = RegularizedRisk(as_design(X), ROCArea().bind(y), ElasticNet(0.1, factors=[0.0]))
    result = LBFGS(tol=1e-3).run(objective)
    assert abs(result.coef[0]) == 1e3
    assert objective.penalty.held(result.coef).tolist() == [0]
