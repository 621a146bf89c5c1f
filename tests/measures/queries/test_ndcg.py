"""NDCG: its risk against all permutations, a generic solver and fractions; its score against scikit-learn."""

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

import query_oracles
from groups import run_group
from oracles import exact_plane
from problems import random_ranked, searching
from query_oracles import RankingProblem, log_discounts
from smoothperf.measures.queries.ndcg import NDCG
from smoothperf.measures.queries.queries import Queries
from smoothperf.measures.queries.top_k import QueryPrecision, QueryRecall
from smoothperf.optimise.certificate import accumulated
from smoothperf.threads import use_threads

#: The measures whose risk is that of gains at places, with what the oracle needs to know of them: gains of grades,
#: discounts of so many places, and the unit.
MEASURES = {
    "ndcg": (NDCG(), lambda y: 2.0**y - 1.0, log_discounts, None),
    "ndcg@2": (NDCG(2), lambda y: 2.0**y - 1.0, lambda m: log_discounts(m, 2), None),
    "linear": (NDCG(gain="linear"), lambda y: y, log_discounts, None),
    "table": (NDCG(gain=(0, 1, 5, 6), discount=(3, 3, 1)), lambda y: np.array([0, 1, 5, 6.0])[y.astype(int)],
              lambda m: [3.0, 3.0, 1.0, *[0.0] * m][:m], None),
    "function": (NDCG(gain=np.sqrt, discount=lambda p: 1.0 / p), np.sqrt, lambda m: [1.0 / p for p in range(1, m + 1)],
                 None),
    "precision@2": (QueryPrecision(2), lambda y: (y > 0) * 1.0, lambda m: [1.0, 1.0, *[0.0] * m][:m], lambda g: 2),
    "recall@2": (QueryRecall(2), lambda y: (y > 0) * 1.0, lambda m: [1.0, 1.0, *[0.0] * m][:m], sum),
}  # fmt: skip
every_measure = pytest.mark.parametrize("case", MEASURES.values(), ids=MEASURES.keys())


class Problem:
    """Documents of queries, by a seed, and what a measure makes of them."""

    def __init__(self, seed, most=5, scales=(0,)):
        self.grades, self.qid, self.weights, self.scores, self.rng = random_ranked(seed, most, scales=scales)

    def oracle(self, case, number=float):
        _, gain, discounts, unit = case
        return RankingProblem(
            gain(self.grades), self.qid, discounts(self.grades.size), self.weights, unit=unit, number=number
        )

    def risk(self, case):
        return case[0].bind(self.grades, self.qid, self.weights)


@every_measure
@pytest.mark.parametrize("seed", range(12))
def test_brute_force(case, seed):
    problem = Problem(seed)
    oracle, risk, f = problem.oracle(case), problem.risk(case), problem.scores
    found = risk.exact(f)
    expected = oracle.brute_force(f)
    size = 1e-13 * (1.0 + np.abs(f).max())
    assert found.value == pytest.approx(expected, abs=size)
    assert risk.exact_value(f) == pytest.approx(expected, abs=size)
    assert found.plane.gradient @ f + found.plane.offset == pytest.approx(expected, abs=size)
    assert risk.diameter == pytest.approx(oracle.diameter(), rel=1e-12)
    assert np.abs(found.plane.gradient).sum() <= 2.0 + 1e-12
    free = risk.loss_free(f)
    best_only = isinstance(case[0], NDCG)
    assert free.value == pytest.approx(oracle.brute_force(f, loss=0.0, best_only=best_only), abs=size)
    assert free.plane.gradient @ f == pytest.approx(free.value, abs=size)


@pytest.mark.parametrize("seed", range(8))
def test_tight_bounds(seed):
    problem = Problem(seed)
    f = problem.rng.normal(size=problem.grades.size)  # no ties
    loss = 1.0 - NDCG().score(problem.grades, f, problem.qid, problem.weights)
    order, best = (
        (risk := NDCG(tight_target=target).bind(problem.grades, problem.qid, problem.weights))
        and risk.exact_value(f) - risk.loss_free(f).value
        for target in ("order", "best")
    )
    oracle = problem.oracle(MEASURES["ndcg"])
    assert NDCG(tight_target="order").bind(problem.grades, problem.qid, problem.weights).loss_free(
        f
    ).value == pytest.approx(oracle.brute_force(f, loss=0.0), abs=1e-12)
    assert loss - 1e-12 <= order <= best + 1e-12
    assert order <= oracle.brute_force(np.zeros(f.size)) + 1e-12  # the largest loss


@every_measure
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mu", [0.02, 0.5])
def test_smoothed_against_a_generic_solver(case, seed, mu):
    problem = Problem(seed, most=4)
    value, gradient = problem.oracle(case).smoothed(problem.scores, mu)
    found = problem.risk(case).smoothed(problem.scores, mu)
    assert found.value == pytest.approx(value, abs=1e-6 * (1.0 + np.abs(problem.scores).max()))
    np.testing.assert_allclose(found.plane.gradient, gradient, atol=1e-4)


@every_measure
@given(seed=st.integers(0, 10**6), mu=st.sampled_from([1e-9, 1e-6, 1e-3, 0.1, 1.0, 1e3]))
@searching(25)
def test_planes_are_true(case, seed, mu):
    """By fractions, so that the rounding bounds are judged as they are stated."""
    problem = Problem(seed, most=8, scales=(-8, -3, 0, 3, 8))
    truth, risk, f = problem.oracle(case, Fraction), problem.risk(case), problem.scores
    planes = [risk.exact(f), risk.smoothed(f, mu)]
    exact = truth.risk(f)
    largest = float(np.abs(f).max())
    rounding = Fraction(accumulated(2 * f.size + 16) * (1.0 + 2.0 * largest + float(exact)))
    assert abs(Fraction(planes[0].value) - exact) <= rounding
    assert abs(Fraction(risk.exact_value(f)) - exact) <= rounding
    assert exact - Fraction(mu * risk.diameter) - rounding <= Fraction(planes[1].value) <= exact + rounding
    others = [f, np.zeros(f.size), -f, problem.rng.normal(size=f.size), f + problem.rng.normal(size=f.size)]
    for found in planes:
        assert abs(exact_plane(found.plane.gradient, found.plane.offset, f) - Fraction(found.height)) <= 2 * rounding
        assert found.plane.rounding < 1e-12
        for other in others:
            slack = Fraction(found.plane.rounding * (1.0 + float(np.abs(other).max())))
            assert exact_plane(found.plane.gradient, found.plane.offset, other) <= truth.risk(other) + slack


@every_measure
@pytest.mark.parametrize("seed", range(4))
def test_gradients_and_derivatives(case, seed):
    problem = Problem(seed)
    risk, f, mu = problem.risk(case), problem.scores, 0.3
    direction = problem.rng.normal(size=f.size)
    out = np.empty_like(f)
    found = risk.smoothed(f, mu, direction=direction, out=out)
    assert found.plane.gradient is out
    assert found.derivative == pytest.approx(out @ direction, abs=1e-12)
    step = 1e-5
    slope = (risk.smoothed(f + step * direction, mu).value - risk.smoothed(f - step * direction, mu).value) / (2 * step)
    assert slope == pytest.approx(found.derivative, abs=1e-4)
    # The Lipschitz bound, in the norm of the weights.
    other = risk.smoothed(f + direction, mu).value
    c = 1.0 if problem.weights is None else problem.weights
    most = found.value + found.derivative + risk.lipschitz(mu) / 2.0 * float(np.sum(c * direction**2))
    assert found.value + found.derivative - 1e-12 <= other <= most + 1e-12


@every_measure
def test_shifts_of_queries_change_nothing(case):
    problem = Problem(3)
    risk, f = problem.risk(case), problem.rng.normal(size=problem.grades.size)
    shifted = f + np.array([3.0, -1.0, 4.0, 5.0, 6.0])[problem.qid]
    assert risk.exact_value(shifted) == pytest.approx(risk.exact_value(f), abs=1e-12)
    np.testing.assert_allclose(risk.weighed(shifted), risk.weighed(f), atol=1e-12)


@every_measure
def test_weights_are_copies_of_queries(case):
    problem = Problem(5)
    n = problem.grades.size
    weights = np.array([2, 1, 3, 1, 2])[problem.qid]
    copy = np.concatenate([np.arange(weights[row]) for row in range(n)])
    rows = np.repeat(np.arange(n), weights)
    weighted = case[0].bind(problem.grades, problem.qid, weights)
    copied = case[0].bind(problem.grades[rows], problem.qid[rows] + 10 * copy)
    f = problem.scores
    one, many = weighted.smoothed(f, 0.2), copied.smoothed(f[rows], 0.2)
    assert one.value == pytest.approx(many.value, abs=1e-12)
    assert weighted.exact_value(f) == pytest.approx(copied.exact_value(f[rows]), abs=1e-12)
    np.testing.assert_allclose(one.plane.gradient, np.bincount(rows, many.plane.gradient, n), atol=1e-12)
    assert (weighted.diameter, weighted.score_scale) == pytest.approx((copied.diameter, copied.score_scale))
    assert weighted.lipschitz(0.1) == pytest.approx(copied.lipschitz(0.1))
    score = case[0].score(problem.grades, f, problem.qid, weights)
    assert score == pytest.approx(case[0].score(problem.grades[rows], f[rows], problem.qid[rows] + 10 * copy))


@every_measure
@pytest.mark.parametrize("size", [1, 2, 3])
def test_groups(case, size):
    problem = Problem(11)
    # Member 0 has no queries, unless it is alone.
    owner = np.zeros(5, int) if size == 1 else 1 + np.arange(5) % (size - 1)
    rows = [np.flatnonzero(owner[problem.qid] == rank) for rank in range(size)]
    whole = problem.risk(case)
    f, direction = problem.scores, np.linspace(-1.0, 1.0, problem.scores.size)

    def program(communicator):
        mine = rows[communicator.rank]
        weights = None if problem.weights is None else problem.weights[mine]
        queries = Queries.of(problem.grades[mine], problem.qid[mine], weights, communicator)
        risk = case[0].risk(queries)
        assert len(communicator.rounds) <= 3
        before = len(communicator.rounds)
        found = risk.smoothed(f[mine], 0.2, direction=direction[mine])
        exact = risk.exact(f[mine])
        assert len(communicator.rounds) - before == (2 if size > 1 else 0)
        score = case[0].mean_score(queries, f[mine])
        numbers = (
            found.value,
            found.height,
            found.plane.offset,
            found.derivative,
            exact.value,
            risk.exact_value(f[mine]),
        )
        others = risk.loss_free(f[mine]).value, risk.diameter, risk.lipschitz(0.2), risk.score_scale, score
        return (*numbers, *others), found.plane.gradient, exact.plane.gradient, risk.weighed(f[mine])

    results = run_group(size, program)
    assert len({numbers for numbers, *_ in results}) == 1  # the same bits
    found, exact = whole.smoothed(f, 0.2, direction=direction), whole.exact(f)
    score = case[0].score(problem.grades, f, problem.qid, problem.weights)
    expected = (
        *(found.value, found.height, found.plane.offset, found.derivative, exact.value, exact.value),
        *(whole.loss_free(f).value, whole.diameter, whole.lipschitz(0.2), whole.score_scale, score),
    )
    assert results[0][0] == pytest.approx(expected, abs=1e-12)
    for rank, (_, smoothed, subgradient, weighed) in enumerate(results):
        np.testing.assert_allclose(smoothed, found.plane.gradient[rows[rank]], atol=1e-13)
        np.testing.assert_allclose(subgradient, exact.plane.gradient[rows[rank]], atol=1e-13)
        np.testing.assert_allclose(weighed, whole.weighed(f)[rows[rank]], atol=1e-12)


@pytest.mark.parametrize("shape", [(100_000, 10), (10, 100_000)])
def test_many_and_long_queries(shape):
    """A million documents; one evaluation takes less than a tenth of a second."""
    rng = np.random.default_rng(0)
    n = shape[0] * shape[1]
    grades, qid, f = rng.integers(0, 5, size=n), np.repeat(np.arange(shape[0]), shape[1]), rng.normal(size=n)
    risk = NDCG(10).bind(grades, qid)
    with use_threads(1):
        one = risk.smoothed(f, 0.1)
    with use_threads(3):
        many = risk.smoothed(f, 0.1)
    assert one.value == pytest.approx(many.value, rel=1e-12)
    np.testing.assert_array_equal(one.plane.gradient, many.plane.gradient)
    assert risk.exact_value(f) - 0.1 * risk.diameter <= one.value <= risk.exact_value(f)
    assert one.plane.rounding < (1e-11 if shape[1] == 10 else 1e-8)
    some = 1000 * shape[1] if shape[0] > 1000 else n
    score = NDCG(10, gain="linear").score(grades[:some], f[:some], qid[:some])
    expected = ndcg_score(grades[:some].reshape(-1, shape[1]), f[:some].reshape(-1, shape[1]), k=10)
    assert score == pytest.approx(expected, rel=1e-10)


# --- scores -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [None, 1, 3, 50])
@pytest.mark.parametrize("ties", [False, True])
def test_score_is_that_of_scikit_learn(k, ties):
    rng = np.random.default_rng(1)
    grades = rng.integers(0, 4, size=(20, 8))
    grades[:, :2] = 0, 1
    scores = rng.integers(0, 3, size=grades.shape) if ties else rng.normal(size=grades.shape)
    qid = np.repeat(np.arange(20), 8)
    order = rng.permutation(qid.size)
    for gain, true in (("linear", grades), ("exponential", 2.0**grades - 1.0)):
        found = NDCG(k, gain=gain).score(grades.ravel()[order], scores.ravel()[order], qid[order])
        assert found == pytest.approx(ndcg_score(true, scores, k=k), rel=1e-12)


def test_ties_are_the_average_of_their_orders():
    grades, scores = np.array([2, 0, 1, 0]), np.array([1.0, 1.0, 0.0, 0.0])
    qid = np.zeros(4)
    orders = query_oracles.orders_of_ties(scores)
    assert len(orders) == 4
    expected = []
    for order in orders:
        strict = np.empty(4)
        strict[list(order)] = -np.arange(4)
        expected.append(NDCG(3).score(grades, strict, qid))
    assert NDCG(3).score(grades, scores, qid) == pytest.approx(np.mean(expected), rel=1e-12)


def test_queries_that_every_order_suits_are_left_out():
    grades, scores, qid = [1, 0, 2, 2, 0, 0, 3], [0.0, 1.0, 0.0, 5.0, 1.0, 2.0, 0.0], [1, 1, 2, 2, 3, 3, 4]
    assert NDCG().score(grades, scores, qid) == NDCG().score([1, 0], [0.0, 1.0], [1, 1])
    values = NDCG().of_queries(Queries.of(grades, qid), np.array(scores))
    assert np.isnan(values).tolist() == [False, True, True, True]
    risk, alone = NDCG().bind(grades, qid), NDCG().bind([1, 0], [1, 1])
    found = risk.smoothed(np.array(scores), 0.1)
    assert found.value == alone.smoothed(np.array(scores[:2]), 0.1).value
    assert not found.plane.gradient[2:].any()
    assert not risk.exact(np.array(scores)).plane.gradient[2:].any()
    assert not risk.loss_free(np.array(scores)).plane.gradient[2:].any()


@pytest.mark.parametrize(
    ("measure", "grades", "message"),
    [
        (NDCG(), [2000, 0], r"a document of grade 2000 would gain inf.*use gain='linear', or smaller grades"),
        (NDCG(gain=lambda y: y - 1.0), [2, 0], "a document of grade 0 would gain -1"),
        (NDCG(gain=lambda y: 1.0), [2, 0], "gain must return a finite number for each entry"),
        (NDCG(gain=(0, 1)), [2, 0], "gain has entries for the grades 0 to 1, but there is grade 2"),
        (NDCG(gain=(0, 1)), [0.5, 0], "but there is grade 0.5"),
        (NDCG(gain=lambda y: 0.0 * y), [2, 0], "no query counts for ndcg"),
        (NDCG(discount=(1, 2)), [2, 0], "must not rise or become negative"),
        (NDCG(discount=(0, 0)), [2, 0], "above 0 for the first place"),
        (NDCG(discount=lambda p: 1.0 - p), [2, 0], "above 0 for the first place"),
    ],
)
def test_errors_of_gains_and_discounts(measure, grades, message):
    with pytest.raises(ValueError, match=message):
        measure.bind(grades, [1, 1])


def test_errors_of_parameters():
    with pytest.raises(ValueError, match="k must be a whole number of at least 1, got 0"):
        NDCG(0)
    with pytest.raises(ValueError, match="gain must be 'exponential', 'linear', a function or a sequence"):
        NDCG(gain="cubic")
    with pytest.raises(ValueError, match="tight_target must be one of 'auto', 'best', 'order', got 'first'"):
        NDCG(tight_target="first")
    with pytest.raises(ValueError, match="scores has 1 entries"):
        NDCG().score([1, 0], [0.0], [1, 1])
    with pytest.raises(ValueError, match=r"sample_weight adds up to 2e\+100 over queries"):
        NDCG().bind([1, 0, 1, 0], [1, 1, 2, 2], [1e100] * 4)
    with pytest.raises(ValueError, match="no query counts for ndcg"):
        NDCG().bind([1, 0], [1, 1], [0.0, 0.0])


def test_values():
    assert NDCG(gain=[0, 1]) == NDCG(gain=(0.0, 1.0))
    assert hash(NDCG(10)) == hash(NDCG(10))
    assert NDCG(10) != NDCG(5)
    assert (NDCG().name, NDCG(5).name) == ("ndcg", "ndcg@5")


@pytest.mark.parametrize("value", [5, None, ["a"], [], [np.inf, 1.0], [np.nan], "cubic"])
@pytest.mark.parametrize("name", ["gain", "discount"])
def test_gains_and_discounts_are_words_functions_or_numbers(name, value):
    message = f"{name} must be '(exponential', 'linear|log2)', a function or a sequence of finite numbers, got "
    with pytest.raises(ValueError, match=message + re.escape(repr(value))):
        NDCG(**{name: value})
