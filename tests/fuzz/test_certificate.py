"""Promises of every fit, on generated problems and against exact objectives in long double.

``make test`` looks at the first few, ``make test-thorough`` at 2,000 (the environment variable FUZZ_PROBLEMS). A
problem is its number: ``pytest "tests/fuzz/test_certificate.py::test_a_fit_keeps_its_promises[17]"`` repeats one.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fuzz.generator import Problem, generate
from oracles import LONG_EPS
from smoothperf import LBFGS, MeasureClassifier, Status
from smoothperf.design import as_design
from smoothperf.estimators.messages import ZeroModelWarning
from smoothperf.estimators.problem import make_solver
from smoothperf.io import open_store
from smoothperf.measures import get_measure
from smoothperf.optimise import working_set
from smoothperf.optimise.certificate import Planes
from smoothperf.optimise.elastic_net import ElasticNet
from smoothperf.optimise.objective import RegularizedRisk
from smoothperf.optimise.offset import Shifted
from smoothperf.tasks.bias import Bias

PROBLEMS = int(os.environ.get("FUZZ_PROBLEMS", "32"))
UNIT = 2.0**-53


class Judge:
    """Knows what the numbers of a fit may be off by, from docs/maths.md, rounding."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.n, self.d = problem.dense.shape
        dense = problem.dense
        # Of entries that are stored in two parts, the sizes add up.
        self.row_norm = float(np.sqrt((dense**2).sum(axis=1).max()))
        if "twice" in problem.described:
            self.row_norm = float(np.abs(dense).sum(axis=1).max())

    def evaluation(self, w: np.ndarray, unit: float) -> float:
        """(evaluation-rounding) for a unit roundoff."""
        scores = self.row_norm * float(np.linalg.norm(w))
        objective = float(self.problem.objective(w))
        d, n = self.d, self.n
        return 1.02 * unit * (2 * d * scores + (2 * n + 16) * (1 + 2 * scores) + (d + 8) * objective)

    def objective(self, w: np.ndarray) -> tuple[np.longdouble, float]:
        """J, and what that may be off by."""
        return self.problem.objective(w), self.evaluation(w, LONG_EPS)


def fitted(problem: Problem, solver: str) -> MeasureClassifier:
    """The convex fit of one solver; it warns if and only if it has not converged."""
    model = MeasureClassifier(problem.measure, bound="convex", solver=solver, **problem.settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(problem.X, problem.y, problem.weights)
    kinds = {each.category for each in caught}
    assert kinds <= {ConvergenceWarning, ZeroModelWarning}, [str(each.message) for each in caught]
    assert (ConvergenceWarning in kinds) == (model.result_.status is not Status.CONVERGED)
    return model


def check_numbers(judge: Judge, model: MeasureClassifier) -> None:
    """Objective, gap and status say what is."""
    result, settings = model.result_, judge.problem.settings
    true, error = judge.objective(result.coef)
    assert abs(result.objective - true) <= judge.evaluation(result.coef, UNIT) + error, (result.objective, true)
    assert result.gap == result.objective - result.lower_bound >= 0.0
    assert (result.status is Status.CONVERGED) == (result.gap <= settings["tol"])
    # Nobody asked to stop, and mu adapts: smoothing alone keeps no gap open.
    assert result.status not in (Status.STOPPED, Status.SMOOTHING_LIMIT)
    assert result.n_iter <= settings["max_iter"]
    if result.status is Status.ITERATION_LIMIT:
        assert result.n_iter == settings["max_iter"]


def planes(problem: Problem) -> Planes:
    """The planes of a run of the problem's solver, which an estimator does not keep."""
    measure, settings = get_measure(problem.measure), problem.settings
    X = open_store(problem.X).X if isinstance(problem.X, Path) else problem.X
    design = Bias(measure, settings["fit_intercept"], settings["intercept_scaling"]).design(as_design(X))
    objective = RegularizedRisk(design, measure.bind(problem.y, problem.weights), problem.alpha)
    solver = make_solver(problem.solver, tol=settings["tol"], max_iter=settings["max_iter"], smoothing="adaptive")
    return solver.run(objective, keep_planes=20).planes


def check_planes(judge: Judge, found: Planes, points: list[np.ndarray]) -> None:
    """Planes lie below the risk, but for the rounding that they come with."""
    dense, alpha = judge.problem.dense, np.longdouble(judge.problem.alpha)
    slopes = found.slopes.astype(np.longdouble)
    if slopes.shape[1] != judge.d:  # in row space: a gradient by the scores, and the scores of its slope
        slopes = slopes[:, : judge.n] @ dense
    for w in points:
        value, error = judge.objective(w)
        risk = value - alpha / 2 * (np.asarray(w, dtype=np.longdouble) ** 2).sum()
        heights = slopes @ w + found.offsets
        sizes = np.abs(slopes) @ np.abs(w) + np.abs(found.offsets)
        allowed = found.fixed + found.per_radius * float(np.linalg.norm(w)) + judge.d * LONG_EPS * sizes + error
        assert (heights <= risk + allowed).all(), (judge.problem.described, (heights - risk - allowed).max())


def some_penalty(rng: np.random.Generator, alpha: float, d: int, *, bias: bool) -> ElasticNet:
    """An elastic net, at times without a quadratic part, with factors of all sizes, or with bounds."""
    size = d - bias
    factors = 10.0 ** rng.uniform(-2, 2, size=size) * (rng.random(size) < 0.9) if rng.random() < 0.3 else None
    lower = -rng.choice([0.0, 0.1, np.inf], size=size) if rng.random() < 0.4 else None
    upper = rng.choice([0.0, 0.1, np.inf], size=size) if rng.random() < 0.4 else None
    ratio = float(rng.choice([0.0, rng.uniform(), 1.0, 1.0]))
    return ElasticNet(alpha, ratio, factors, lower, upper, bias=bias)


@pytest.mark.parametrize("seed", range(PROBLEMS))
def test_a_penalty_keeps_the_promises(seed, tmp_path, monkeypatch):
    problem = generate(seed, tmp_path)
    judge = Judge(problem)
    rng = np.random.default_rng(seed)
    measure, settings = get_measure(problem.measure), problem.settings
    X = open_store(problem.X).X if isinstance(problem.X, Path) else problem.X
    bias = Bias(measure, settings["fit_intercept"], settings["intercept_scaling"])
    alpha = float(10.0 ** rng.uniform(-5, 0))
    penalty = some_penalty(rng, alpha, judge.d, bias=bias.trained).on(judge.d)
    risk = measure.bind(problem.y, problem.weights)
    base = rng.normal(size=judge.n) if rng.random() < 0.3 else np.zeros(judge.n)
    if base.any():
        risk = Shifted(risk, base)
    if rng.random() < 0.5:
        monkeypatch.setattr(working_set, "MANY_COLUMNS", 2)
        monkeypatch.setattr(working_set, "FIRST", 1)
    objective = RegularizedRisk(bias.design(as_design(X)), risk, penalty)
    tol, limit = max(settings["tol"], 1e-9), min(settings["max_iter"], 100)
    result = LBFGS(tol=tol, max_iter=limit).run(objective)

    def value(w: np.ndarray) -> tuple[np.longdouble, float]:
        """J in long double, and what it may be off by."""
        w = np.asarray(w, dtype=np.longdouble)
        omega = penalty.s.astype(np.longdouble) @ np.abs(w) + penalty.q.astype(np.longdouble) @ w**2 / 2
        scores = base.astype(np.longdouble) + problem.dense @ w
        size = 1.0 + float(np.abs(base).max()) + judge.row_norm * float(np.linalg.norm(w.astype(float)))
        return omega + problem.risk(scores), 8 * (judge.n + judge.d + 16) * LONG_EPS * (size + float(omega))

    true, error = value(result.coef)
    size = 1.0 + float(np.abs(base).max()) + judge.row_norm * float(np.linalg.norm(result.coef))
    assert abs(result.objective - true) <= 8 * (judge.n + judge.d + 16) * UNIT * (size + float(true)) + error
    assert result.gap == result.objective - result.lower_bound >= 0.0
    assert (result.status is Status.CONVERGED) == (result.gap <= tol)
    assert penalty.value(result.coef, 0.0) < np.inf
    points = [np.zeros(judge.d), result.coef, 0.999 * result.coef]
    for scale in (1e-6, 1e-3, 1.0):
        points.append(penalty.clip(result.coef * (1.0 + scale * rng.normal(size=judge.d))))
        points.append(penalty.clip(result.coef + scale * rng.normal(size=judge.d)))
    for point in points:
        there, error = value(point)
        assert result.lower_bound <= there + error, (problem.described, penalty)


@pytest.mark.parametrize("seed", range(PROBLEMS))
def test_a_fit_keeps_its_promises(seed, tmp_path):
    problem = generate(seed, tmp_path)
    judge = Judge(problem)
    rng = np.random.default_rng(seed)
    models = {solver: fitted(problem, solver) for solver in problem.solvers}
    points = [np.zeros(judge.d)]
    for model in models.values():
        check_numbers(judge, model)
        coef = model.result_.coef
        noise = rng.normal(size=(2, coef.size))
        points += [coef, 0.999 * coef, coef * (1.0 + 1e-6 * noise[0]), coef + noise[1]]
    values = [judge.objective(point) for point in points]
    for name, model in models.items():
        result = model.result_
        assert all(result.lower_bound <= value + error for value, error in values), (problem.described, name)
        # So the gap is one of the true objective, too.
        true, error = judge.objective(result.coef)
        assert all(true - value <= result.gap + error + more for value, more in values), (problem.described, name)
    check_planes(judge, planes(problem), points)
