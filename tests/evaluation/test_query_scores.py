"""What rankings are worth query by query, resamples of queries, and contests of rankers."""

import numpy as np
import pytest

from problems import graded
from smoothperf import NDCG
from smoothperf.evaluation import QueryScores, drawn_interval, query_resamples
from smoothperf.evaluation.ranking_comparison import Documents, FittedRanker, RankingContender, compare_rankings
from smoothperf.measures import Queries, get_query_measure


def documents(n_queries=12, seed=0):
    return Documents(*graded(n_queries, 5, weights=(1.0, 0.0), seed=seed))


@pytest.mark.parametrize("name", ["ndcg@3", "roc_area", "average_precision", "precision@2"])
def test_mean_is_the_score_of_the_measure(name):
    data, measure = documents(), get_query_measure(name)
    worth = QueryScores.of(measure, data.queries, data.X[:, 0])
    assert worth.mean() == pytest.approx(measure.score(data.grades, data.X[:, 0], data.qid))


def test_a_draw_is_the_score_of_copies_of_queries():
    data, measure = documents(), NDCG(3)
    worth = QueryScores.of(measure, data.queries, data.X[:, 0])
    for draw in query_resamples(12, 5, seed=1):
        copies = [(query, copy) for query in range(12) for copy in range(int(draw[query]))]
        rows = np.concatenate([np.flatnonzero(data.qid == query) for query, _ in copies])
        qid = np.repeat(np.arange(len(copies)), 5)
        assert worth.mean(draw) == pytest.approx(measure.score(data.grades[rows], data.X[rows, 0], qid))


def test_draws_without_a_query_that_counts():
    worth = QueryScores(np.array([0.5, np.nan]), np.ones(2))
    assert np.isnan(worth.mean(np.array([0.0, 2.0])))
    assert worth.mean(np.array([1.0, 1.0])) == 0.5
    assert drawn_interval([np.nan, 0.5, 0.5]) == (0.5, 0.5)
    assert np.isnan(drawn_interval([np.nan])).all()


def test_folds_hold_out_whole_queries_that_count():
    data = documents(20)
    data.grades[data.qid < 4] = 0.0
    folds = data.folds(4)
    held_out = np.concatenate([test for _, test in folds])
    counted = NDCG().counted(data.queries)
    assert sorted(held_out.tolist()) == np.flatnonzero(np.isin(data.qid, counted)).tolist()
    for train, test in folds:
        assert not np.isin(data.qid[train], data.qid[test]).any()
        assert train.size + test.size == data.qid.size
    with pytest.raises(ValueError, match="99 folds need 99 queries with documents of two grades, but there are"):
        data.folds(99)


def test_contests_are_paired_and_choose_for_each_column():
    train, judge = documents(20), documents(30, seed=1)

    def family(*columns):
        def models(data):
            part = [(data.queries, data.X[:, column]) for column in columns]
            return [
                FittedRanker(f"column {column}", lambda X, at=column: X[:, at], [held_out])
                for column, held_out in zip(columns, part, strict=True)
            ]

        return models

    players = [
        RankingContender("good", family(0), "ndcg@3"),
        RankingContender("chooses", family(1, 0)),
        RankingContender("bad", family(1)),
    ]
    measures = [NDCG(3), get_query_measure("roc_area")]
    good, chooses, bad = compare_rankings([(train, judge)], players, measures, n_resamples=30)
    assert good.values == chooses.values
    np.testing.assert_array_equal(good.samples["ndcg@3"], chooses.samples["ndcg@3"])
    assert chooses.strengths == {"ndcg@3": ["column 0"], "roc_area": ["column 0"]}
    assert good.values["ndcg@3"] == pytest.approx(NDCG(3).score(judge.grades, judge.X[:, 0], judge.qid))
    assert good.values["ndcg@3"] > bad.values["ndcg@3"]
    draws = list(query_resamples(Queries.of(judge.grades, judge.qid).sizes.size, 30, seed=0))
    worth = QueryScores.of(NDCG(3), judge.queries, judge.X[:, 1])
    np.testing.assert_allclose(bad.samples["ndcg@3"], [worth.mean(draw) for draw in draws])
