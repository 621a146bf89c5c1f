"""Risks of queries in several processes, each with queries of its own: the same as in memory, in few rounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups import run_group
from problems import randomly_ranked, searching
from smoothperf.measures import NDCG, PooledSquaredLoss, Queries, QueryROCArea, QuerySquaredLoss, get_query_measure
from smoothperf.optimise.smoothing import mu_for

EPS = np.finfo(np.float64).eps
MEASURES = [
    NDCG(),
    NDCG(2),
    NDCG(3, tight_target="order"),
    QueryROCArea(),
    QueryROCArea(weighting="pairs"),
    get_query_measure("precision@2"),
    get_query_measure("recall@2"),
    QuerySquaredLoss(),
    PooledSquaredLoss(),
]
every_measure = pytest.mark.parametrize("measure", MEASURES, ids=repr)


@st.composite
def split_queries(draw):
    """Grades, scores, queries, weights and members: with ties, single documents, one grade only, and nothing at all."""
    kinds = {"scales": (-6, 0, 1, 6), "shifts": (0.0,), "weights": ("none", "whole", "wide")}
    grades, qid, weights, scores, rng = draw(randomly_ranked(6, **kinds))
    members = rng.integers(1, 4, size=qid.max() + 1)[qid]  # member 0 has no row
    return grades, scores, qid, weights, members


def in_group(measure, problem, program):
    """The results of a program of the risk and the rows of every member, by rank."""
    grades, _, qid, weights, members = problem

    def member(communicator):
        mine = members == communicator.rank
        queries = Queries.of(grades[mine], qid[mine], None if weights is None else weights[mine], communicator)
        return program(measure.risk(queries), mine)

    return run_group(4, member)


def joined(results, problem):
    """The numbers that everybody has, with the same bits, and the gradient of all."""
    _, scores, _, _, members = problem
    numbers = {repr((r.plane.offset, r.plane.rounding, r.value, r.height, r.exact, r.derivative)) for r in results}
    assert len(numbers) == 1
    found, gradient = results[0], np.empty_like(scores)
    for rank, result in enumerate(results):
        gradient[members == rank] = result.plane.gradient
    return found, gradient


def assert_tangent(results, near, value_of, problem):
    """A plane that touches at the scores and is nowhere above; between ties, members may choose another than memory."""
    scores = problem[1]
    found, gradient = joined(results, problem)
    off = 1e-12 * (1.0 + np.abs(scores).max()) ** 2
    assert found.value == pytest.approx(near.value, rel=1e-12, abs=off)
    assert found.plane.offset + gradient @ scores == pytest.approx(found.value, rel=1e-9, abs=off)
    for other in (-scores, np.roll(scores, 1), np.zeros_like(scores)):
        value = value_of(other)
        assert found.plane.offset + gradient @ other <= value + 1e-9 * (1.0 + abs(value)) + off


def assert_same(results, near, problem, mu):
    """All members together have what memory has, but for rounding."""
    scores = problem[1]
    found, gradient = joined(results, problem)
    size = (1.0 + np.abs(scores).max()) ** (2 if near.exact is not None and near.exact.low == near.value else 1)
    off = 64.0 * EPS * size * max(1.0, 1.0 / mu)
    assert found.value == pytest.approx(near.value, rel=1e-12, abs=off * size)
    assert found.height == pytest.approx(near.height, rel=1e-12, abs=off * size)
    assert found.plane.offset == pytest.approx(near.plane.offset, rel=1e-12, abs=off * size)
    assert np.abs(gradient - near.plane.gradient).sum() <= off
    assert found.plane.rounding >= 0.0
    if near.derivative is not None:
        assert found.derivative == pytest.approx(near.derivative, rel=1e-9, abs=off)


@every_measure
@searching(10)
@given(problem=split_queries(), deviation=st.sampled_from([1.0, 0.03]))
def test_risks_are_those_in_memory(measure, problem, deviation):
    grades, scores, qid, weights, _ = problem
    near = measure.bind(grades, qid, weights)
    mu = mu_for(deviation, near) if near.diameter > 0.0 else 1.0
    direction = np.cos(np.arange(len(qid)))

    def program(risk, mine):
        assert risk.diameter == pytest.approx(near.diameter, rel=1e-12, abs=1e-15)
        assert risk.lipschitz(mu) == pytest.approx(near.lipschitz(mu), rel=1e-12)
        assert risk.score_scale == pytest.approx(near.score_scale, rel=1e-12)
        assert (risk.examples.count, risk.examples.query_count) == (len(qid), len(np.unique(qid)))
        out = np.full(mine.sum(), np.nan)
        smoothed = risk.smoothed(scores[mine], mu, direction=direction[mine], out=out)
        assert smoothed.plane.gradient is out
        free = risk.loss_free(scores[mine]) if risk.has_loss_free else None
        score = measure.mean_score(risk.queries, scores[mine])
        return (
            smoothed,
            risk.exact(scores[mine]),
            risk.exact_value(scores[mine]),
            free,
            risk.weighed(scores[mine]),
            score,
        )

    smoothed, exact, values, free, weighed, score = zip(*in_group(measure, problem, program), strict=True)
    assert_same(smoothed, near.smoothed(scores, mu, direction=direction), problem, mu)
    assert_tangent(exact, near.exact(scores), near.exact_value, problem)
    assert len(set(values)) == 1
    size = 1.0 + np.abs(scores).max()
    assert values[0] == pytest.approx(near.exact_value(scores), rel=1e-12, abs=1e-13 * size)
    if near.has_loss_free:
        assert_tangent(free, near.loss_free(scores), lambda other: near.loss_free(other).value, problem)
    assert len(set(score)) == 1
    assert score[0] == pytest.approx(measure.score(grades, scores, qid, weights), rel=1e-12, abs=1e-13 * size)
    expected, members = near.weighed(scores), problem[-1]
    heaviest = 1.0 if weights is None else weights.max()
    for rank, part in enumerate(weighed):
        assert (np.abs(part - expected[members == rank]) <= 16 * EPS * size * heaviest).all()


@every_measure
def test_an_evaluation_takes_one_round(measure):
    """Of a few numbers, however many documents there are; pooled squares want their mean before."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(100), 30)
    problem = rng.integers(0, 3, qid.size).astype(float), rng.normal(size=qid.size), qid, None, 1 + qid % 3
    scores = problem[1]

    def program(risk, mine):
        communicator, counts = risk.examples.communicator, []
        programs = [
            lambda: risk.smoothed(scores[mine], 0.1, direction=scores[mine]),
            lambda: risk.exact(scores[mine]),
            lambda: risk.exact_value(scores[mine]),
            *([lambda: risk.loss_free(scores[mine])] if risk.has_loss_free else []),
        ]
        for evaluate in programs:
            communicator.rounds.clear()
            communicator.largest = 0
            evaluate()
            counts.append((len(communicator.rounds), communicator.largest))
        return counts

    for counts in in_group(measure, problem, program):
        most = 2 if isinstance(measure, PooledSquaredLoss) else 1
        assert all(rounds == most and largest <= 8 for rounds, largest in counts)


@pytest.mark.parametrize(
    ("grades", "weights", "message"),
    [
        ([1, 1, 0, 0], None, "no query has documents of two grades, of 2 queries with 4 documents"),
        ([1, 0, 0, 0], [0.0, 0.0, 1.0, 1.0], "no query counts for ndcg"),
    ],
)
def test_queries_of_two_grades_must_occur_somewhere(grades, weights, message):
    problem = (
        np.array(grades, float),
        None,
        np.array([0, 0, 1, 1]),
        None if weights is None else np.array(weights),
        np.array([1, 1, 2, 2]),
    )
    with pytest.raises(ValueError, match=message):
        in_group(NDCG(), problem, lambda risk, mine: None)
