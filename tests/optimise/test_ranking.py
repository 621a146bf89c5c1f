"""Risks of queries with the solvers: certified gaps that agree, tight bounds, and groups."""

import threading

import numpy as np
import pytest

from groups import check_alike, perturb, perturb_solvers, run_group
from problems import graded
from promises import hold_tight
from smoothperf.dask.design import SharedDesign
from smoothperf.design import as_design
from smoothperf.measures.queries import pairs as query_pairs
from smoothperf.measures.queries import risk as ranking_risk
from smoothperf.measures.queries.names import get_query_measure
from smoothperf.measures.queries.ndcg import NDCG
from smoothperf.measures.queries.queries import Queries
from smoothperf.optimise import BMRM, LBFGS, Nesterov, Status
from smoothperf.optimise.objective import RegularizedRisk
from smoothperf.optimise.retargeting import Retargeting


@pytest.fixture(scope="module")
def data():
    return graded(30, 12, shares=(0.5, 0.65, 0.85), noise=0.7)


NAMES = ["ndcg", "ndcg@3", "roc_area", "precision@3", "recall@3", "squared_loss"]
every_measure = pytest.mark.parametrize("name", NAMES)
every_solver = pytest.mark.parametrize("solver", [LBFGS, Nesterov, BMRM])
#: Queries of the members: the first has none, as a client that has no rows itself.
MEMBERS = [range(0), range(3), range(3, 27), range(27, 30)]


@pytest.mark.parametrize("weighted", [False, True])
@every_measure
def test_solvers_agree(data, name, weighted):
    X, y, qid = data
    weights = 1.0 + qid % 4 if weighted else None
    objective = RegularizedRisk(as_design(X), get_query_measure(name).bind(y, qid, weights), 0.02)
    results = [solver(tol=1e-3).run(objective) for solver in (LBFGS, BMRM, Nesterov)]
    for result in results:
        assert result.status is Status.CONVERGED
        assert 0.0 <= result.gap <= 1e-3
    assert max(result.lower_bound for result in results) <= min(result.objective for result in results)
    if weighted:  # queries count as often as their weights say
        copies = np.concatenate([np.flatnonzero(weights > times) for times in range(4)])
        ids = np.concatenate([qid[weights > times] + 100 * times for times in range(4)])
        copied = RegularizedRisk(as_design(X[copies]), get_query_measure(name).bind(y[copies], ids), 0.02)
        for result in results:
            assert copied.exact(result.coef) == pytest.approx(result.objective, rel=1e-12)


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


@pytest.mark.parametrize("noise", [0.0, 5.0])
def test_the_closer_bound_is_for_where_the_other_is_least_at_zero(noise):
    """All that is counted and shown is that of both runs, and nothing is done where one is enough."""
    X, y, qid = graded(20, 40, shares=(0.8, 0.95), noise=noise)
    start, design = np.array([2.0, -1.0, 0.5, 0.0]), as_design(X)
    results, objectives = {}, {}
    for target in ("auto", "best", "order"):
        objectives[target] = RegularizedRisk(design, NDCG(5, tight_target=target).bind(y, qid), 1e-3)
        rows = []
        results[target] = Retargeting(tol=1e-3).run(objectives[target], start, lambda row, rows=rows: rows.append(row))
        assert [row.iteration for row in rows] == list(range(len(rows))) == [*results[target].trace["iteration"]]
        assert objectives[target].n_matvec == results[target].n_matvec
        assert objectives[target].n_rmatvec == results[target].n_rmatvec
    auto, best, order = results.values()
    collapsed = best.objective > objectives["best"].exact(np.zeros(4)) - 1e-3
    assert collapsed == (noise > 0.0)
    np.testing.assert_array_equal(auto.coef, (order if collapsed else best).coef)
    assert auto.n_matvec == best.n_matvec + collapsed * order.n_matvec
    assert len(auto.trace) == len(best.trace) + collapsed * len(order.trace)


def test_a_run_that_was_stopped_has_no_sequel():
    X, y, qid = graded(10, 40, noise=5.0)
    objective = RegularizedRisk(as_design(X), NDCG(5).bind(y, qid), 1e-3)
    for method, callback in ((Retargeting(max_iter=0), None), (Retargeting(tol=1e-9), lambda row: True)):
        result = method.run(objective, np.ones(4), callback)
        assert result.status in (Status.ITERATION_LIMIT, Status.STOPPED)
        assert len(result.trace) == 1


def minimise(solver, measure, data, weights=None, start=None):
    """The results of all members on queries of their own."""
    X, y, qid = data

    def member(communicator):
        threading.current_thread().perturbed = communicator.rank == 2
        mine = np.isin(qid, MEMBERS[communicator.rank])
        queries = Queries.of(y[mine], qid[mine], None if weights is None else weights[mine], communicator)
        design = SharedDesign(as_design(X[mine]), communicator)
        return solver.run(RegularizedRisk(design, measure.risk(queries), 0.02), start)

    return run_group(len(MEMBERS), member)


@pytest.mark.parametrize("weighted", [False, True])
@every_solver
@every_measure
def test_a_group_finds_the_certified_optimum_of_all_rows(data, name, solver, weighted):
    X, y, qid = data
    measure, weights = get_query_measure(name), 1.0 + qid % 4 if weighted else None
    whole = RegularizedRisk(as_design(X), measure.bind(y, qid, weights), 0.02)
    reference = LBFGS(tol=1e-5).run(whole)
    results = minimise(solver(tol=1e-2), measure, data, weights)
    check_alike(results)
    assert results[0].status is Status.CONVERGED
    assert whole.exact(results[0].coef) == pytest.approx(results[0].objective, rel=1e-12)
    assert results[0].lower_bound <= reference.objective
    assert results[0].objective <= reference.objective + 1e-2


@every_solver
@every_measure
def test_a_member_that_rounds_differently_stays_with_the_others(data, name, solver, monkeypatch):
    """In the solver, or in what its queries add to the sums of all."""
    perturb_solvers(monkeypatch)
    perturb(monkeypatch, ranking_risk, "rank_queries", outputs=(12,))
    perturb(monkeypatch, query_pairs, "query_hinges", outputs=(8,))
    results = minimise(solver(tol=1e-2), get_query_measure(name), data)
    check_alike(results)
    assert results[0].status is Status.CONVERGED


@pytest.mark.parametrize(
    "measure", [NDCG(5), NDCG(5, tight_target="order"), get_query_measure("precision@3")], ids=repr
)
def test_the_tight_bound_in_a_group(data, measure, monkeypatch):
    X, y, qid = data
    perturb_solvers(monkeypatch)
    perturb(monkeypatch, ranking_risk, "rank_queries", outputs=(12,))
    start = np.array([1.0, -0.5, 0.2, 0.1])
    results = minimise(Retargeting(tol=1e-3), measure, data, start=start)
    check_alike(results)
    hold_tight(results[0], RegularizedRisk(as_design(X), measure.bind(y, qid), 0.02), start)


def test_the_closer_bound_in_a_group(monkeypatch):
    data = graded(30, 40, shares=(0.8, 0.95), noise=5.0)
    perturb_solvers(monkeypatch)
    start = np.array([2.0, -1.0, 0.5, 0.0])
    found = [
        minimise(Retargeting(tol=1e-3), NDCG(5, tight_target=target), data, start=start)
        for target in ("auto", "best", "order")
    ]
    check_alike(found[0])
    auto, best, order = (results[0] for results in found)
    assert not best.coef.any()
    X, y, qid = data
    whole = RegularizedRisk(as_design(X), NDCG(5, tight_target="order").bind(y, qid), 0.02)
    hold_tight(auto, whole, start)
    assert auto.n_iter > order.n_iter


@pytest.mark.parametrize("name", ["precision@3", "recall@3"])
def test_queries_of_few_documents_change_no_fit(data, name):
    """Those of no more than k documents, which every order suits alike."""
    X, y, qid = data
    short = np.concatenate([np.flatnonzero(qid == query)[:3] for query in np.unique(qid)])
    measure, solver = get_query_measure(name), LBFGS(tol=1e-3)
    alone = solver.run(RegularizedRisk(as_design(X), measure.bind(y, qid), 0.02))
    more = np.vstack([X, X[short]]), np.append(y, y[short]), np.append(qid, qid[short] + qid.max() + 1)
    both = solver.run(RegularizedRisk(as_design(more[0]), measure.bind(*more[1:]), 0.02))
    assert both.status is Status.CONVERGED
    assert (both.objective, both.lower_bound) == pytest.approx((alone.objective, alone.lower_bound), abs=1e-9)
