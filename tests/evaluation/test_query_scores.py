"""Scores of rankings query by query, and resamples of queries."""

import numpy as np
import pytest

from problems import graded
from smoothperf import NDCG
from smoothperf.evaluation import QueryScores, drawn_interval, query_resamples
from smoothperf.measures import Queries, get_query_measure


class Documents:
    """Features, grades and queries, as they come and by query."""

    def __init__(self, n_queries=12, seed=0):
        self.X, self.grades, self.qid = graded(n_queries, 5, weights=(1.0, 0.0), seed=seed)
        self.queries = Queries.of(self.grades, self.qid)


@pytest.mark.parametrize("name", ["ndcg@3", "roc_area", "average_precision", "precision@2"])
def test_mean_is_the_score_of_the_measure(name):
    data, measure = Documents(), get_query_measure(name)
    worth = QueryScores.of(measure, data.queries, data.X[:, 0])
    assert worth.mean() == pytest.approx(measure.score(data.grades, data.X[:, 0], data.qid))


def test_a_draw_is_the_score_of_copies_of_queries():
    data, measure = Documents(), NDCG(3)
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
