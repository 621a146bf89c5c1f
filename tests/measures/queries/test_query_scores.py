"""Precision, recall, average precision and reciprocal rank of queries, and the names of all measures of queries."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from groups import run_group
from problems import random_ranked
from query_oracles import orders_of_ties, positions
from smoothperf.measures import PRBEP
from smoothperf.measures.queries.goals import QueryAveragePrecision, ReciprocalRank
from smoothperf.measures.queries.names import QUERY_MEASURE_NAMES, get_query_measure
from smoothperf.measures.queries.ndcg import NDCG
from smoothperf.measures.queries.pairs import QueryROCArea
from smoothperf.measures.queries.queries import Queries
from smoothperf.measures.queries.top_k import QueryPrecision, QueryRecall

#: Measures that some of the short queries here count for.
NAMES = [name.replace("@10", "@2") for name in QUERY_MEASURE_NAMES]


def problem(seed, ties):
    grades, qid, _, scores, _ = random_ranked(seed, 5, kinds=3, ties=ties)
    return grades, scores, qid


def mean_over_queries(of_query, grades, scores, qid, more_than=1):
    values = []
    for rows in positions(qid):
        relevant = (grades[rows] > 0).astype(float)
        if 0 < relevant.sum() < len(rows) > more_than:
            values.append(of_query(relevant, scores[rows]))
    return np.mean(values)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_precision_and_recall_at_k(k, ties, seed):
    data = problem(seed, ties)

    def hits(relevant, scores):
        return np.mean([relevant[list(order[:k])].sum() for order in orders_of_ties(scores)])

    precision = mean_over_queries(lambda relevant, scores: hits(relevant, scores) / k, *data, k)
    recall = mean_over_queries(lambda relevant, scores: hits(relevant, scores) / relevant.sum(), *data, k)
    assert QueryPrecision(k).score(*data) == pytest.approx(precision, rel=1e-12)
    assert QueryRecall(k).score(*data) == pytest.approx(recall, rel=1e-12)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_average_precision(ties, seed):
    data = problem(seed, ties)
    assert QueryAveragePrecision().score(*data) == pytest.approx(mean_over_queries(average_precision_score, *data))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_reciprocal_rank(ties, seed):
    data = problem(seed, ties)

    def expected(relevant, scores):
        return 1.0 / np.sum(scores >= scores[relevant > 0].max())

    assert ReciprocalRank().score(*data) == pytest.approx(mean_over_queries(expected, *data))


def test_goals_are_trained_with_other_measures():
    grades, _, qid = problem(0, False)
    f = np.linspace(0.0, 1.0, qid.size)
    for goal, measure in ((QueryAveragePrecision(), QueryROCArea()), (ReciprocalRank(), NDCG())):
        assert goal.trained_with == measure
        assert goal.bind(grades, qid).exact_value(f) == measure.bind(grades, qid).exact_value(f)


def test_weights_of_queries():
    grades, scores, qid = problem(1, False)
    weights = np.array([2.0, 0.0, 1.0, 5.0])[qid]
    for name in NAMES:
        measure = get_query_measure(name)
        values = measure.of_queries(Queries.of(grades, qid, weights), scores)
        counts = np.array([2.0, 0.0, 1.0, 5.0])[list(dict.fromkeys(qid.tolist()))]
        counted = ~np.isnan(values)
        expected = np.average(values[counted], weights=counts[counted])
        assert measure.score(grades, scores, qid, weights) == pytest.approx(expected)


@pytest.mark.parametrize("name", NAMES)
def test_scores_of_groups(name):
    grades, scores, qid = problem(2, True)
    measure = get_query_measure(name)

    def program(communicator):
        mine = 1 + qid % 2 == communicator.rank  # the first member has no documents
        queries = Queries.of(grades[mine], qid[mine], communicator=communicator)
        before = len(communicator.rounds)
        found = measure.mean_score(queries, scores[mine].astype(float))
        # Squared losses ask for the unit of gains, too, and pooled for means over all members.
        assert len(communicator.rounds) == before + {"squared_loss": 4, "pooled_squared_loss": 6}.get(measure.name, 1)
        return found

    first, *others = run_group(3, program)
    assert others == [first] * 2
    assert first == pytest.approx(measure.score(grades, scores, qid), rel=1e-12)


@pytest.mark.parametrize("name", QUERY_MEASURE_NAMES)
def test_names_are_those_of_measures(name):
    assert get_query_measure(name).name == name
    assert get_query_measure(get_query_measure(name)) == get_query_measure(name)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("NDCG@5", "ndcg@5"),
        ("ndcg at 10", "ndcg@10"),
        ("ndcg_score", "ndcg"),
        ("MAP", "average_precision"),
        ("mean reciprocal rank", "reciprocal_rank"),
        ("MRR", "reciprocal_rank"),
        ("P@3", "precision@3"),
        ("pairwise", "roc_area"),
    ],
)
def test_other_words(written, name):
    assert get_query_measure(written).name == name


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("ndgc", "Did you mean 'ndcg'"),
        ("ndcg@", "write the number of places, as in 'ndcg@10'"),
        ("ndcg@ten", "as in 'ndcg@10'"),
        ("precision", "as in 'precision@10'"),
        (
            "roc_area@3",
            "measure 'roc_area@3' cannot be read: it looks at all places and has no @3; write 'roc_area' al",
        ),
        ("MRR@10", "has no @10; write 'MRR' alone"),
        ("map@10", "has no @10; write 'map' alone"),
        ("ncdg@10", r"one of 'ndcg', 'pairs', 'roc_area', .* got 'ncdg@10'\. Did you mean 'ndcg@10'\?"),
        ("prbep", r"got 'prbep'\. It is a measure of labels: use MeasureClassifier\."),
        (PRBEP(), r"got PRBEP\(\)\. It is a measure of labels: use MeasureClassifier\."),
        (3, "or a QueryMeasure object, got 3"),
    ],
)
def test_wrong_names(written, message):
    with pytest.raises(ValueError, match=message):
        get_query_measure(written)


@pytest.mark.parametrize(
    "measure", [QueryPrecision(3), QueryRecall(3), NDCG(3, discount=(1, 1, 1)), NDCG(discount=(2, 2, 2, 1))], ids=repr
)
def test_queries_of_few_documents_are_left_out(measure):
    """In every order all of their documents are at places that count the same."""
    grades, qid = np.array([1, 0, 2, 0, 0, 1, 0, 0, 1]), np.array([1, 1, 1, 2, 2, 2, 2, 3, 3])
    scores = np.linspace(1.0, 0.0, grades.size)
    queries = Queries.of(grades, qid, 1.0 + qid)
    assert measure.counted(queries).tolist() == [1]
    assert np.isnan(measure.of_queries(queries, scores)).tolist() == [True, False, True]
    long = qid == 2
    assert measure.score(grades, scores, qid) == measure.score(grades[long], scores[long], qid[long])
    risk, alone = measure.risk(queries), measure.bind(grades[long], qid[long])
    assert (risk.diameter, risk.score_scale) == pytest.approx((alone.diameter, alone.score_scale), rel=1e-14)
    assert risk.lipschitz(0.1) == pytest.approx(alone.lipschitz(0.1) / 3.0)  # whose weight is 3
    for found, expected in (
        (risk.exact(scores), alone.exact(scores[long])),
        (risk.smoothed(scores, 0.1), alone.smoothed(scores[long], 0.1)),
        (risk.loss_free(scores), alone.loss_free(scores[long])),
    ):
        assert found.value == pytest.approx(expected.value, rel=1e-14)
        np.testing.assert_allclose(found.plane.gradient[long], expected.plane.gradient, rtol=1e-14)
        assert not found.plane.gradient[~long].any()


@pytest.mark.parametrize("measure", [QueryPrecision(4), QueryRecall(4)], ids=repr)
def test_some_query_must_have_more_documents_than_places(measure):
    message = f"no query has more than 4 documents, .* and a weight: {measure.name} does not depend on the order"
    for run in (lambda: measure.bind([1, 0, 0, 1], [1] * 4), lambda: measure.score([1, 0], [0.0, 1.0], [1, 1])):
        with pytest.raises(ValueError, match=message):
            run()
    with pytest.raises(ValueError, match="no query counts for ndcg"):
        NDCG(discount=np.ones_like).bind([1, 0, 0, 1], [1] * 4)
