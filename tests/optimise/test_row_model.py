"""Steps by the Hessian of few rows: the minimiser of the model as a matrix, damping, and what it is good for."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import twins
from problems import gaussians
from smoothperf import LBFGS, PRBEP, PrecisionAtK, ROCArea, SquaredHinge, Status
from smoothperf.design import BiasedDesign, as_design
from smoothperf.optimise import row_model, working_set
from smoothperf.optimise.elastic_net import ElasticNet
from smoothperf.optimise.objective import RegularizedRisk
from smoothperf.optimise.row_model import FIRST_DAMPING, RowModel
from smoothperf.optimise.segments import PenalisedRun


@pytest.mark.parametrize(("n_features", "few_columns"), [(3, 0), (45, 0), (45, 45)])  # B is formed, or not, or is
@pytest.mark.parametrize(
    ("measure", "mu", "following"), [(PRBEP(), 0.02, 0.02), (PRBEP(), 0.02, 0.01), (SquaredHinge(), 0.0, 0.0)]
)
def test_a_step_minimises_the_model(n_features, few_columns, measure, mu, following, monkeypatch):
    monkeypatch.setattr(row_model, "ACCURACY", 1e-14)
    monkeypatch.setattr(row_model, "FEW_ROWS", 1.0)
    monkeypatch.setattr(row_model, "FEW_COLUMNS", few_columns)
    X, y = gaussians(30, 50, n_features=n_features, shift=0.5, seed=2)
    risk, penalty = measure.bind(y), ElasticNet(0.01, 0.8, lower=-0.5).on(n_features)
    run = PenalisedRun(RegularizedRisk(as_design(sp.csr_array(X)), risk, penalty), np.linspace(-0.4, 0.3, n_features))
    point = run.starting_point(mu)
    curvature = risk.curvature(point.scores, point.risk, mu, following)
    assert (2 * n_features**2 <= n_features * curvature.rows.size) == (n_features == 3)
    rows, k = X[curvature.rows], curvature.weights
    C = np.diag(k) - np.outer(k, k) / k.sum() if curvature.centred else np.diag(k)
    hessian = rows.T @ C @ rows
    sigma = FIRST_DAMPING * float(k @ (rows**2).sum(axis=1)) / n_features
    expected = point.coef.copy()
    none = np.zeros(n_features + 1, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0), 0
    slope = point.slope + rows.T @ curvature.change
    pay = penalty.s, penalty.q, penalty.lower, penalty.upper
    twins.minimise_model(slope, point.coef, *pay, sigma, hessian, np.eye(n_features), *none, expected, 1e-14, 5000)
    found = RowModel().step(run, point, following, np.ones(n_features))
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


def test_not_where_many_rows_have_curvature_or_none_is_known():
    X, y = gaussians(60, 140, n_features=5)
    for measure in (PRBEP(), ROCArea()):
        run = PenalisedRun(RegularizedRisk(as_design(X), measure.bind(y), ElasticNet(0.01, 1.0)))
        assert RowModel().step(run, run.starting_point(1.0), 1.0, np.ones(5)) is None


def test_damping_follows_the_steps():
    model = RowModel()
    model.learn(0.5)
    assert model._damping == FIRST_DAMPING
    model.learn(0.1)
    assert model._damping == pytest.approx(4.0 * FIRST_DAMPING)
    model.learn(1.0)
    assert model._damping == pytest.approx(1.2 * FIRST_DAMPING)
    for _ in range(100):
        model.learn(1.0)
    assert model._damping == row_model.LEAST_DAMPING


@pytest.mark.parametrize("measure", [PRBEP(), PrecisionAtK(20), PrecisionAtK(100)], ids=lambda each: each.name)
def test_few_features_of_top_k_measures_converge_at_small_alphas(measure):
    """By L-BFGS alone half of these end at 1000 iterations, as the bound waits for the gradient in every column."""
    X, benign = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[::2], np.where(benign[::2] == 0, 1, -1)
    result = LBFGS().run(RegularizedRisk(as_design(X), measure.bind(y), ElasticNet(1e-4, 1.0)))
    assert result.status is Status.CONVERGED
    assert result.n_iter < 500


@pytest.mark.parametrize("lower", [-np.inf, 0.0])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_array])
def test_working_sets_and_all_columns_find_the_same(make, lower, monkeypatch):
    X, y = gaussians(60, 140, n_features=300, shift=1.0, informative=5, scale=5.0)
    design = BiasedDesign(as_design(make(X)), 1.0)
    results = []
    for many in (10**6, 10):
        monkeypatch.setattr(working_set, "MANY_COLUMNS", many)
        monkeypatch.setattr(working_set, "FIRST", 5)
        penalty = ElasticNet(0.02, 1.0, lower=lower, bias=True)
        results.append(LBFGS(tol=1e-5).run(RegularizedRisk(design, PRBEP().bind(y), penalty)))
    plain, few = results
    assert plain.status is few.status is Status.CONVERGED
    assert max(plain.lower_bound, few.lower_bound) <= min(plain.objective, few.objective)
    assert 0 < np.count_nonzero(few.coef) < 150
    assert few.coef[:-1].min() >= lower
