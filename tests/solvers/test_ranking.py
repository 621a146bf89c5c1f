"""Risks of queries with the solvers: certified gaps that agree, tight bounds, and groups."""

import numpy as np
import pytest
import scipy.sparse as sp

from groups import run_group
from smoothperf.design import SharedDesign, as_design
from smoothperf.measures.ndcg import NDCG
from smoothperf.measures.queries import Queries
from smoothperf.measures.query_names import get_query_measure
from smoothperf.objective import RegularizedRisk
from smoothperf.solvers import BMRM, LBFGS, Nesterov, Newton, Status
from smoothperf.solvers.retargeting import Retargeting


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(30), 12)
    X = rng.normal(size=(qid.size, 4))
    hidden = X @ [2.0, -1.0, 0.5, 0.0] + rng.normal(scale=0.7, size=qid.size)
    return X, np.digitize(hidden, [0.0, 1.0, 2.5]).astype(float), qid


@pytest.mark.parametrize("name", ["ndcg", "ndcg@3", "roc_area", "precision@3", "recall@3"])
def test_solvers_agree(data, name):
    X, y, qid = data
    objective = RegularizedRisk(as_design(X), get_query_measure(name).bind(y, qid), 0.02)
    results = [solver(tol=1e-3).run(objective) for solver in (LBFGS, BMRM, Nesterov)]
    for result in results:
        assert result.status is Status.CONVERGED
        assert 0.0 <= result.gap <= 1e-3
    assert max(result.lower_bound for result in results) <= min(result.objective for result in results)


@pytest.mark.parametrize("order", ["by query", "any"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_newton_finds_the_minimiser_for_pairs_in_few_steps(data, form, order):
    X, y, qid = data
    rows = np.arange(y.size) if order == "by query" else np.random.default_rng(1).permutation(y.size)
    weights = 1.0 + qid % 3
    risk = get_query_measure("roc_area").bind(y[rows], qid[rows], weights[rows])
    objective = RegularizedRisk(as_design(form(X[rows])), risk, 1e-3)
    results = [solver(tol=1e-6).run(objective) for solver in (Newton, LBFGS)]
    for result in results:
        assert result.status is Status.CONVERGED
        assert 0.0 <= result.gap <= 1e-6
    assert results[0].n_iter < results[1].n_iter
    np.testing.assert_allclose(results[0].coef, results[1].coef, atol=0.1)


def test_newton_takes_tight_steps_for_pairs(data):
    X, y, qid = data
    objective = RegularizedRisk(as_design(X), get_query_measure("roc_area").bind(y, qid), 1e-3)
    result = Retargeting(tol=1e-4, convex=Newton()).run(objective, start=np.array([1.0, -1.0, 0.0, 0.0]))
    assert result.status is Status.STATIONARY
    assert result.objective < objective.exact(np.zeros(4))


@pytest.mark.parametrize("target", ["best", "order"])
def test_tight_bound(data, target):
    X, y, qid = data
    measure = NDCG(5, tight_target=target)
    design = as_design(X)
    pairs = LBFGS(tol=1e-3).run(RegularizedRisk(design, get_query_measure("roc_area").bind(y, qid), 1e-2))
    objective = RegularizedRisk(design, measure.bind(y, qid), 1e-3)
    result = Retargeting(tol=1e-3).run(objective, start=pairs.coef)
    assert result.status is Status.STATIONARY
    assert result.objective < objective.exact(np.zeros(4))
    assert measure.score(y, X @ result.coef, qid) > 0.85


def test_a_group_finds_the_same(data):
    X, y, qid = data
    alone = LBFGS(tol=1e-4).run(RegularizedRisk(as_design(X), NDCG().bind(y, qid), 0.02))

    def program(together):
        mine = qid % 2 == together.rank
        queries = Queries.of(y[mine], qid[mine], together=together)
        design = SharedDesign(as_design(X[mine]), together)
        return LBFGS(tol=1e-4).run(RegularizedRisk(design, NDCG().risk(queries), 0.02))

    first, second = run_group(2, program)
    np.testing.assert_array_equal(first.coef, second.coef)
    assert first.status is Status.CONVERGED
    assert first.objective == pytest.approx(alone.objective, abs=1e-4)


def test_nothing_to_choose(data):
    """Precision of more documents than queries have: the same for every order."""
    X, y, qid = data
    measure = get_query_measure("precision@50")
    risk = measure.bind(y, qid)
    assert risk.diameter == 0.0
    result = LBFGS(tol=1e-3).run(RegularizedRisk(as_design(X), risk, 0.1))
    assert result.status is Status.CONVERGED
    assert not result.coef.any()
    assert result.objective == pytest.approx(1.0 - measure.score(y, X[:, 0], qid))
