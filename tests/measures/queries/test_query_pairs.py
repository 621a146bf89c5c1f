"""Pairs within queries: the risk one pair at a time in fractions, the score against scikit-learn."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from groups import run_group
from oracles import exact_plane
from problems import random_ranked, searching
from query_oracles import exact_query_pairs, positions
from smoothperf import ROCArea
from smoothperf.measures.queries.pairs import QueryROCArea
from smoothperf.measures.queries.queries import Queries
from smoothperf.optimise.certificate import accumulated

every_weighting = pytest.mark.parametrize("weighting", ["queries", "pairs"])


class Problem:
    """Documents of queries with many kinds of grades, by a seed, and what is made of their pairs."""

    def __init__(self, seed, scales=(0,)):
        drawn = random_ranked(seed, 8, kinds=8, best=2.5, scales=scales)
        self.grades, self.qid, self.weights, self.scores, self.rng = drawn

    def risk(self, weighting):
        return QueryROCArea(weighting).bind(self.grades, self.qid, self.weights)

    def truth(self, weighting, scores, mu=0.0, margin=1):
        return exact_query_pairs(
            self.grades, self.qid, scores, mu, self.weights, by_pairs=weighting == "pairs", margin=margin
        )


@every_weighting
@given(seed=st.integers(0, 10**6), mu=st.sampled_from([1e-9, 1e-6, 1e-3, 0.1, 1.0, 1e3]))
@searching(40)
def test_values_and_planes_are_true(weighting, seed, mu):
    problem = Problem(seed, scales=(-8, -3, 0, 3, 8))
    risk, f = problem.risk(weighting), problem.scores
    exact, smoothed, free = risk.exact(f), risk.smoothed(f, mu), risk.loss_free(f)
    truth, smoothed_truth = problem.truth(weighting, f), problem.truth(weighting, f, mu)
    largest = float(np.abs(f).max())
    rounding = Fraction(accumulated(2 * f.size + 16) * (1.0 + 2.0 * largest + float(truth)))
    assert abs(Fraction(exact.value) - truth) <= rounding
    assert abs(Fraction(risk.exact_value(f)) - truth) <= rounding
    assert abs(Fraction(smoothed.value) - smoothed_truth) <= rounding
    assert smoothed.exact.low == smoothed.exact.high
    assert abs(Fraction(smoothed.exact.high) - truth) <= rounding
    assert abs(Fraction(free.value) - problem.truth(weighting, f, margin=0)) <= rounding
    assert free.plane.offset == 0.0
    others = [f, np.zeros(f.size), -f, problem.rng.normal(size=f.size), f + problem.rng.normal(size=f.size)]
    for found, margin in ((exact, 1), (smoothed, 1), (free, 0)):
        assert abs(exact_plane(found.plane.gradient, found.plane.offset, f) - Fraction(found.height)) <= 2 * rounding
        assert found.plane.rounding < 1e-12
        assert np.abs(found.plane.gradient).sum() <= 2.0 + 1e-12
        for other in others:
            slack = Fraction(found.plane.rounding * (1.0 + float(np.abs(other).max())))
            height = exact_plane(found.plane.gradient, found.plane.offset, other)
            assert height <= problem.truth(weighting, other, margin=margin) + slack


@every_weighting
@pytest.mark.parametrize("seed", range(6))
def test_gradients_and_derivatives(weighting, seed):
    problem = Problem(seed)
    risk, f, mu = problem.risk(weighting), problem.scores, 0.7
    direction = problem.rng.normal(size=f.size)
    out = np.empty_like(f)
    found = risk.smoothed(f, mu, direction=direction, out=out)
    assert found.plane.gradient is out
    assert found.derivative == pytest.approx(out @ direction, abs=1e-12)
    step = 1e-6
    slope = (risk.smoothed(f + step * direction, mu).value - risk.smoothed(f - step * direction, mu).value) / (2 * step)
    assert slope == pytest.approx(found.derivative, abs=1e-5)
    c = 1.0 if problem.weights is None else problem.weights
    most = found.value + found.derivative + risk.lipschitz(mu) / 2.0 * float(np.sum(c * direction**2))
    assert found.value + found.derivative - 1e-12 <= risk.smoothed(f + direction, mu).value <= most + 1e-12


@pytest.mark.parametrize(
    ("weighting", "weights"), [("queries", (1.0, 3.0)), ("queries", (4.0, 1.0)), ("pairs", (1.0, 3.0))]
)
def test_the_lipschitz_bound_is_attained(weighting, weights):
    """By a query of two documents, or by the longer one where pairs count, if all pairs are on the ramp."""
    qid = np.repeat([0, 1], [2, 4])
    risk = QueryROCArea(weighting).bind([1, 0, 0, 0, 0, 1], qid, np.array(weights)[qid])
    directions = np.array([[1.0, -1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 1.0, -3.0]])
    mu, zero = 10.0, np.zeros(6)
    bends = []
    for h in 0.1 * directions:
        start = risk.smoothed(zero, mu, direction=h)
        bend = risk.smoothed(h, mu).value - start.value - start.derivative
        bends.append(bend / (np.sum(np.array(weights)[qid] * h**2) / 2.0))
    assert risk.lipschitz(mu) == pytest.approx(max(bends), rel=1e-9)


def test_one_query_with_two_grades_is_roc_area():
    rng = np.random.default_rng(0)
    y, f = rng.integers(0, 2, size=50), rng.normal(size=50)
    ours, roc = QueryROCArea().bind(y, np.zeros(50)), ROCArea().bind(y)
    assert ours.exact_value(f) == pytest.approx(roc.exact_value(f), rel=1e-12)
    mu = 0.3
    one, other = ours.smoothed(f, mu), roc.smoothed(f, mu * ours.diameter / roc.diameter)
    assert one.value == pytest.approx(other.value, rel=1e-12)
    np.testing.assert_allclose(one.plane.gradient, other.plane.gradient, atol=1e-12)
    assert QueryROCArea().score(y, f, np.zeros(50)) == pytest.approx(roc_auc_score(y, f), rel=1e-12)


@every_weighting
def test_score_by_pairs(weighting):
    for seed in range(20):
        problem = Problem(seed)
        areas, weights = [], []
        for rows in positions(problem.qid):
            pairs = [(i, j) for i, j in product(rows, rows) if problem.grades[i] > problem.grades[j]]
            if pairs:
                f = problem.scores
                areas.append(np.mean([0.5 * (f[i] > f[j]) + 0.5 * (f[i] >= f[j]) for i, j in pairs]))
                c = 1.0 if problem.weights is None else problem.weights[rows[0]]
                weights.append(c * (len(pairs) if weighting == "pairs" else 1))
        score = QueryROCArea(weighting).score(problem.grades, problem.scores, problem.qid, problem.weights)
        assert score == pytest.approx(np.average(areas, weights=weights), rel=1e-12)


@every_weighting
def test_weights_are_copies_of_queries(weighting):
    problem = Problem(2)
    n, f = problem.grades.size, problem.scores
    weights = np.array([2, 1, 3, 1, 2])[problem.qid]
    rows = np.repeat(np.arange(n), weights)
    qid = problem.qid[rows] + 10 * np.concatenate([np.arange(weights[row]) for row in range(n)])
    measure = QueryROCArea(weighting)
    weighted, copied = measure.bind(problem.grades, problem.qid, weights), measure.bind(problem.grades[rows], qid)
    one, many = weighted.smoothed(f, 0.2), copied.smoothed(f[rows], 0.2)
    assert one.value == pytest.approx(many.value, abs=1e-12)
    np.testing.assert_allclose(one.plane.gradient, np.bincount(rows, many.plane.gradient, n), atol=1e-12)
    assert weighted.lipschitz(0.1) == pytest.approx(copied.lipschitz(0.1))
    score = measure.score(problem.grades, f, problem.qid, weights)
    assert score == pytest.approx(measure.score(problem.grades[rows], f[rows], qid))


@every_weighting
@pytest.mark.parametrize("size", [2, 3])
def test_groups(weighting, size):
    problem = Problem(11)
    owner = 1 + np.arange(5) % (size - 1)  # member 0 has no queries
    rows = [np.flatnonzero(owner[problem.qid] == rank) for rank in range(size)]
    measure, f = QueryROCArea(weighting), problem.scores
    whole = measure.bind(problem.grades, problem.qid, problem.weights)

    def program(communicator):
        mine = rows[communicator.rank]
        weights = None if problem.weights is None else problem.weights[mine]
        queries = Queries.of(problem.grades[mine], problem.qid[mine], weights, communicator)
        risk = measure.risk(queries)
        assert len(communicator.rounds) <= 3
        found = risk.smoothed(f[mine], 0.2, direction=f[mine])
        assert len(communicator.rounds) <= 4
        numbers = found.value, found.height, found.plane.offset, found.derivative, found.exact.high
        others = risk.exact_value(f[mine]), risk.lipschitz(0.2), measure.mean_score(queries, f[mine])
        return (*numbers, *others), found.plane.gradient

    results = run_group(size, program)
    assert len({numbers for numbers, _ in results}) == 1
    found = whole.smoothed(f, 0.2, direction=f)
    expected = (
        *(found.value, found.height, found.plane.offset, found.derivative, found.exact.high),
        *(whole.exact_value(f), whole.lipschitz(0.2)),
        measure.score(problem.grades, f, problem.qid, problem.weights),
    )
    assert results[0][0] == pytest.approx(expected, abs=1e-12)
    for rank, (_, gradient) in enumerate(results):
        np.testing.assert_allclose(gradient, found.plane.gradient[rows[rank]], atol=1e-13)


@pytest.mark.parametrize(("queries", "size", "grades"), [(100_000, 10, 5), (10, 100_000, 100_000)])
def test_many_and_long_queries(queries, size, grades):
    """As many grades as documents, too; a million documents take a fraction of a second."""
    rng = np.random.default_rng(0)
    n = queries * size
    y, qid = rng.integers(0, grades, size=n), np.repeat(np.arange(queries), size)
    f = y / grades + rng.normal(size=n)
    risk = QueryROCArea().bind(y, qid)
    found = risk.smoothed(f, 0.1)
    assert risk.exact_value(f) - 0.05 <= found.value <= risk.exact_value(f) == pytest.approx(found.exact.high)
    assert found.plane.gradient @ f + found.plane.offset == pytest.approx(found.height, rel=1e-9)
    assert found.plane.rounding < 1e-8


def test_errors():
    with pytest.raises(ValueError, match="weighting must be one of 'queries', 'pairs', got 'documents'"):
        QueryROCArea("documents")
    with pytest.raises(ValueError, match="no query counts for roc_area"):
        QueryROCArea().bind([1, 0], [1, 1], [0.0, 0.0])
