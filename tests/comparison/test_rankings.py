"""Methods and measures for documents of queries: paired, by whole queries, and honest about what was chosen."""

import importlib.util

import numpy as np
import pytest

from problems import graded
from smoothperf import NDCG
from smoothperf.comparison import ComparedRankings, Fitted, Method, compare, rankings, table, verdict
from smoothperf.comparison.table import MODEL
from smoothperf.evaluation import QueryScores, multiplicities
from smoothperf.measures import Queries
from smoothperf.tasks.base import HeldOut
from smoothperf.tasks.queries import QueryRows


def documents(n_queries=15, seed=0, **options):
    X, y, qid = graded(n_queries, 6, weights=(2.0, -1.0, 0.0), seed=seed, **options)
    return QueryRows(X, Queries.of(y, qid))


def test_methods_rank_and_choose_by_queries_held_out(monkeypatch):
    monkeypatch.setattr(rankings, "C_GRID", (1e-2, 1.0))
    monkeypatch.setattr(table, "C_GRID", (1e-2, 1.0))
    monkeypatch.setattr(rankings, "TREES", ((2, 3), (2, 6)))
    train, test = documents(30, shuffled=True), documents(20, seed=1, shuffled=True)
    methods = ComparedRankings(["ndcg@3"]).methods()
    assert ("LightGBM" in [method.name for method in methods]) == (importlib.util.find_spec("lightgbm") is not None)
    for method in methods:
        models = method.fit(train)
        worth = [NDCG(3).mean_score(test.known, model.scores(test.X)) for model in models]
        assert max(worth) > (0.6 if method.name == "LightGBM" else 0.85), method.name
        if method.trained_for is None:
            assert len(models) > 1
            held_out = sum(each.known.here_count for each in models[0].held_out)
            assert held_out == 6 * NDCG().counted(train.known).size
        else:
            assert ", averaged with " in models[0].strength


def test_grades_that_trees_do_not_know():
    assert rankings.suits_lambdarank(np.array([0.0, 4.0]))
    assert not rankings.suits_lambdarank(np.array([0.0, 0.5]))
    assert not rankings.suits_lambdarank(np.array([0.0, 31.0]))


def test_logistic_regression_where_all_are_relevant():
    X, y, qid = graded(15, 6, weights=(2.0, -1.0, 0.0), seed=0)
    models = rankings._logistic(QueryRows(X, Queries.of(y + 1.0, qid)))
    assert np.isfinite(models[0][1](X)).all()


def test_folds_hold_out_whole_queries_that_count():
    X, y, qid = graded(20, 5, weights=(1.0, 0.0), seed=0)
    y[qid < 4] = 0.0
    rows, kind = QueryRows(X, Queries.of(y, qid)), ComparedRankings()
    folds = list(kind.splits(rows, 4))
    held_out = np.concatenate([test for _, test in folds])
    counted = NDCG().counted(rows.known)
    assert sorted(held_out.tolist()) == np.flatnonzero(np.isin(qid, counted)).tolist()
    for train, test in folds:
        assert not np.isin(qid[train], qid[test]).any()
        assert train.size + test.size == qid.size
    with pytest.raises(ValueError, match="99 folds need 99 queries with documents of two grades, but there are"):
        list(kind.splits(rows, 99))


def test_lines_are_paired_and_choose_for_each_column():
    train, test = documents(20), documents(30, seed=1)

    def family(*columns):
        return lambda rows: [
            Fitted(
                f"column {at}",
                lambda X, at=at: X[:, at].copy(),
                [HeldOut(np.arange(rows.X.shape[0]), rows.known, rows.known, {MODEL: rows.X[:, at].copy()})],
            )
            for at in columns
        ]

    methods = [
        Method("good", family(0), "ndcg@3"),
        Method("chooses", family(2, 0)),
        Method("bad", family(2)),
    ]
    kind = ComparedRankings(["ndcg@3"], [test.known])
    good, chooses, bad = compare([(train, test)], methods, kind, n_resamples=30)
    assert good.values == chooses.values
    np.testing.assert_array_equal(good.samples["ndcg@3"], chooses.samples["ndcg@3"])
    assert chooses.strengths == {column: ["column 0"] for column in kind.tasks}
    assert good.values["ndcg@3"] == pytest.approx(NDCG(3).mean_score(test.known, test.X[:, 0].copy()))
    assert good.values["ndcg@3"] > bad.values["ndcg@3"]
    worth = QueryScores.of(NDCG(3), test.known, test.X[:, 2])
    draws = multiplicities(test.known.sizes.size, 30, seed=0)
    np.testing.assert_allclose(bad.samples["ndcg@3"], [worth.mean(draw) for draw in draws])
    assert verdict([good, bad], "ndcg@3").startswith("NDCG@3: training for NDCG@3 pays")
