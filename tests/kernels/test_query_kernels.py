"""Kernels over queries against their twins in NumPy: any lengths, ties, scales, orders of rows, threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twins
from smoothperf import kernels

EPS = np.finfo(np.float64).eps
searching = settings(deadline=None, max_examples=100, derandomize=True)


class Task:
    """Queries of random lengths with random numbers, by a seed."""

    def __init__(self, seed, most=30, most_places=None):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, most, size=rng.integers(1, 6))
        self.starts = np.append(0, np.cumsum(sizes))
        n = int(self.starts[-1])
        self.rows = None if rng.random() < 0.5 else rng.permutation(n)
        general, ties = rng.normal(size=n), rng.integers(-2, 3, size=n).astype(float)
        near = ties + 1e-9 * general
        self.scores = 10.0 ** rng.choice([-6, 0, 3]) * [general, ties, near, np.ones(n)][rng.integers(4)]
        self.relevance = rng.integers(0, 4, size=n) / 7.0
        self.target = rng.random(n)
        self.coefficients = rng.random(sizes.size) * (rng.random(sizes.size) < 0.8)
        self.discount = np.sort(rng.choice([rng.random(most + 5), rng.integers(0, 2, size=most + 5)]))[::-1].astype(
            float
        )
        self.discount = np.ascontiguousarray(self.discount)
        if most_places is not None:
            self.discount[rng.integers(0, most_places + 1) :] = 0.0
        self.first_places = None if rng.random() < 0.7 else rng.integers(0, 5, size=sizes.size)
        self.direction = None if rng.random() < 0.5 else rng.normal(size=n)
        self.levels = rng.integers(0, rng.choice([1, 2, 3, 50]), size=n)
        self.mu = rng.choice([0.0, 1e-3, 0.1, 1.0, 100.0])
        self.n = n

    def rank(self, module, pieces=1):
        gradient = np.full(self.n, np.nan)
        sums = module.rank_queries(
            self.scores,
            self.rows,
            self.starts,
            self.first_places,
            self.relevance,
            self.target,
            self.discount,
            self.coefficients,
            0.7,
            1.0,
            self.mu,
            self.direction,
            gradient,
            pieces,
        )
        return np.array(sums), gradient

    def hinges(self, module, pieces=1):
        gradient, by_query = np.full(self.n, np.nan), np.full(self.coefficients.size, np.nan)
        sums = module.query_hinges(
            self.scores,
            self.rows,
            self.starts,
            self.levels,
            self.coefficients,
            1.0,
            self.mu,
            self.direction,
            gradient,
            by_query,
            pieces,
        )
        return np.array(sums), gradient, by_query


seeds = st.integers(0, 10**6)


@given(seeds, st.sampled_from([(30, None), (30, 5), (200, 12)]))
@searching
def test_rankings(seed, lengths):
    task = Task(seed, *lengths)
    (sums, gradient), (expected, expected_gradient) = task.rank(kernels), task.rank(twins)
    size = 1.0 + np.abs(task.scores).max()
    # The twin works with keys as large as scores / mu.
    slack = 1e-13 * (size + (size / task.mu if task.mu > 0.0 else 0.0))
    np.testing.assert_allclose(gradient, expected_gradient, atol=slack, rtol=0)
    np.testing.assert_allclose(sums[:4], expected[:4], atol=50 * size * slack, rtol=0)
    assert 0.0 <= sums[4] <= 1e-12


@given(seeds, st.sampled_from([30, 30, 500]))
@searching
def test_hinges(seed, most):
    task = Task(seed, most)  # of up to 30 documents all pairs are looked at, of 500 not
    found, expected = task.hinges(kernels), task.hinges(twins)
    size = 1.0 + np.abs(task.scores).max()
    for values, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(values, wanted, atol=1e-11 * size * task.n, rtol=1e-11)


@given(seeds)
@searching
def test_documents_are_sorted_stably(seed):
    task = Task(seed, most=200)
    found, expected = np.empty(task.n, dtype=np.intp), np.empty(task.n, dtype=np.intp)
    kernels.sort_documents(task.scores, task.starts, found, 1)
    twins.sort_documents(task.scores, task.starts, expected, 1)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, 63, 64, 65, 66, 127, 129, 1000])
@pytest.mark.parametrize("values", [1, 2, 7, 10**6])
def test_sorts_of_any_length_are_stable(size, values):
    keys = np.random.default_rng(size).integers(-values, values, size=3 * size) / 3.0
    starts = np.arange(0, 3 * size + 1, size)
    found = np.empty(keys.size, dtype=np.intp)
    for given_keys in (keys, np.sort(keys), -np.sort(keys), np.zeros_like(keys), -0.0 * keys):
        kernels.sort_documents(given_keys, starts, found, 1)
        expected = np.argsort(-given_keys.reshape(3, size), axis=1, kind="stable") + starts[:-1, None]
        np.testing.assert_array_equal(found.reshape(3, size), expected)


@pytest.mark.parametrize("places", [0, 1, 3, 25])
@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("ties", [False, True])
def test_documents_that_are_not_sorted_get_no_discount(places, scale, ties):
    """With few places not all documents are sorted; those that are not, have none in the best point either."""
    rng = np.random.default_rng(places)
    n = 100
    z = scale * (rng.integers(0, 4, size=n) if ties else rng.normal(size=n))
    discount = np.zeros(n)
    discount[:places] = 1.0 / np.log2(2.0 + np.arange(places))
    gradient = np.empty(n)
    for mu in (0.0, 1.0):
        sums = kernels.rank_queries(
            z, None, np.array([0, n]), None, np.zeros(n), np.zeros(n), discount, np.ones(1), 1.0, 1.0, mu, None,
            gradient, 1,
        )  # fmt: skip
        expected = np.empty(n)
        expected[np.argsort(-z, kind="stable")] = discount
        if mu > 0.0:
            expected = twins.project_on_permutahedron(z, discount)
        np.testing.assert_allclose(gradient, expected, atol=1e-14 * (1.0 + scale) * n, rtol=0)
        assert sums[1] == pytest.approx(expected @ z, rel=1e-12, abs=1e-12 * (1.0 + scale**2))
        assert gradient.sum() == pytest.approx(discount.sum(), abs=1e-13 * (1.0 + scale))
        assert np.count_nonzero(gradient) >= places


@pytest.mark.parametrize("size", [2, 3, 40, 190, 200, 450])
@pytest.mark.parametrize("kappa", [0.0, 1e-3, 0.5])
def test_few_pairs_and_many_are_the_same(size, kappa):
    """Levels with gaps are always halved; without them, queries with few pairs look at all of these."""
    rng = np.random.default_rng(size)
    starts, one = np.array([0, size]), np.ones(1)
    levels = np.append(0, rng.integers(0, 2, size=size - 1))
    for scores in (rng.normal(size=size), rng.integers(-2, 3, size=size) / 2.0, np.zeros(size)):
        found = []
        for factor in (1, size + 1):
            gradient, by_query = np.empty(size), np.empty(1)
            sums = kernels.query_hinges(
                scores, None, starts, factor * levels, one, 1.0, kappa, scores, gradient, by_query, 1
            )
            found.append([*sums, *gradient, *by_query])
        np.testing.assert_allclose(found[0], found[1], rtol=1e-11, atol=1e-11 * size)


@pytest.mark.parametrize("pieces", [2, 3, 7])
def test_threads_change_rounding_only(pieces):
    for seed in range(20):
        task = Task(seed)
        for one, many in (
            (task.rank(kernels), task.rank(kernels, pieces)),
            (task.hinges(kernels), task.hinges(kernels, pieces)),
        ):
            for values, others in zip(one[1:], many[1:], strict=True):
                np.testing.assert_array_equal(values, others)
            np.testing.assert_allclose(one[0], many[0], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("queries", "size"), [(20_000, 5), (2, 50_000)])
def test_short_and_long_queries(queries, size):
    rng = np.random.default_rng(0)
    n = queries * size
    scores, starts = rng.normal(size=n), np.arange(0, n + 1, size)
    found = np.empty(n, dtype=np.intp)
    kernels.sort_documents(scores, starts, found, 2)
    np.testing.assert_array_equal(
        found.reshape(queries, size),
        np.argsort(-scores.reshape(queries, size), axis=1) + starts[:-1, None],
    )
    relevance, target = rng.random(n), np.full(n, 0.5)
    discount = 1.0 / np.log2(2.0 + np.arange(size))
    gradient = np.empty(n)
    coefficients = np.full(queries, 1.0)
    *_, departure = kernels.rank_queries(
        scores, None, starts, None, relevance, target, discount, coefficients, 1.0, 1.0, 0.3, None, gradient, 2
    )
    v = gradient.reshape(queries, size) + 0.5
    # In the hull: the same sum, and the largest p of them never more than the first p discounts.
    sums = np.cumsum(-np.sort(-v, axis=1), axis=1) - np.cumsum(discount)
    assert sums.max() < 1e-9
    assert np.abs(sums[:, -1]).max() < 1e-9
    assert departure < 1e-9 * queries
    # And nearest: no exchange of neighbouring places is better (first-order condition over all rankings).
    z = target + scores - relevance
    residual = (z / 1.0 - target) / 0.3 + target - v.ravel()
    best = np.sort(residual.reshape(queries, size), axis=1)[:, ::-1] @ discount
    np.testing.assert_allclose((residual * v.ravel()).reshape(queries, size).sum(axis=1), best, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("name", "length"), [("relevance", 3), ("target", 5), ("discount", 1), ("coefficients", 3)])
def test_lengths_are_checked(name, length):
    arguments = {
        "scores": np.zeros(4),
        "rows": None,
        "starts": np.array([0, 2, 4]),
        "first_places": None,
        "relevance": np.zeros(4),
        "target": np.zeros(4),
        "discount": np.ones(2),
        "coefficients": np.ones(2),
    }
    arguments[name] = np.zeros(length)
    with pytest.raises(ValueError, match=name):
        kernels.rank_queries(*arguments.values(), 1.0, 1.0, 0.0, None, None, 1)


@pytest.mark.parametrize("starts", [[1, 4], [0, 3, 2, 4], [0, 3], []])
def test_starts_are_checked(starts):
    with pytest.raises(ValueError, match=r"starts|documents"):
        kernels.sort_documents(np.zeros(4), np.array(starts, dtype=np.intp), np.zeros(4, dtype=np.intp), 1)


def test_no_documents():
    empty, none = np.zeros(0), np.zeros(1, dtype=np.intp)
    assert kernels.rank_queries(empty, None, none, None, empty, empty, empty, empty, 1.0, 1.0, 0.1, None, empty, 2) == (
        (0.0,) * 5
    )
    levels = np.zeros(0, dtype=np.intp)
    assert kernels.query_hinges(empty, None, none, levels, empty, 1.0, 0.1, None, empty, empty, 2) == (0.0,) * 5
    kernels.sort_documents(empty, none, levels, 2)
