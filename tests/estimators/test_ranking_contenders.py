"""Those who meet our rankers in contests."""

import importlib.util

import numpy as np

from problems import graded
from smoothperf.estimators import ranking_contenders as contenders
from smoothperf.evaluation.ranking_comparison import Documents
from smoothperf.measures import get_query_measure


def documents(n_queries=15, seed=0):
    return graded(n_queries, 6, weights=(2.0, -1.0, 0.0), shuffled=True, seed=seed)


def test_contenders_rank_and_choose_by_queries_held_out(monkeypatch):
    monkeypatch.setattr(contenders, "C_GRID", (1e-2, 1.0))
    monkeypatch.setattr(contenders, "LEAVES", (2,))
    monkeypatch.setattr(contenders, "TREES", (3, 6))
    train, test = Documents(*documents(30)), Documents(*documents(20, seed=1))
    judge = get_query_measure("ndcg@3")
    players = contenders.ranking_contenders(["ndcg@3"])
    assert ("LightGBM" in [player.name for player in players]) == (importlib.util.find_spec("lightgbm") is not None)
    for player in players:
        models = player.family(train)
        worth = [judge.score(test.grades, model.score(test.X), test.qid) for model in models]
        assert max(worth) > (0.6 if player.name == "LightGBM" else 0.85), player.name
        if player.trained_for is None:
            assert len(models) > 1
            held_out = sum(queries.here_count for queries, _ in models[0].held_out)
            assert held_out == 6 * judge.counted(train.queries).size
        else:
            assert ", averaged with " in models[0].strength


def test_grades_that_trees_do_not_know():
    assert contenders.suits_trees(np.array([0.0, 4.0]))
    assert not contenders.suits_trees(np.array([0.0, 0.5]))
    assert not contenders.suits_trees(np.array([0.0, 31.0]))


def test_logistic_regression_where_all_are_relevant():
    X, y, qid = documents()
    models = list(contenders._logistic(Documents(X, y + 1.0, qid)))
    assert np.isfinite(models[0][1](X)).all()
