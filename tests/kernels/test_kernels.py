"""Every compiled kernel against its twin in NumPy, on whatever may come: types, ties, zeros, scales, ranges."""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smoothperf import kernels
from smoothperf.kernels import reference

EPS = np.finfo(np.float64).eps
searching = settings(deadline=None, max_examples=100, derandomize=True)


def frozen(values, dtype=np.float64):
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


def test_every_kernel_has_a_twin():
    assert set(kernels.__all__) <= set(vars(reference))


# --- sparse products --------------------------------------------------------------------------------------------


TYPES = [(value, index) for value in (np.float32, np.float64) for index in (np.int32, np.int64)]


class Sparse(NamedTuple):
    """The arrays of a CSR matrix, read-only, and its number of columns."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    columns: int

    @property
    def rows(self):
        return len(self.indptr) - 1

    def absolute(self):
        return self._replace(data=np.abs(self.data))


@st.composite
def sparse_arrays(draw):
    """Rows of any length, empty ones too, with indices in any order and repeated; every pair of types."""
    value_type, index_type = draw(st.sampled_from(TYPES))
    columns = draw(st.integers(1, 6))
    lengths = draw(st.lists(st.integers(0, 5), min_size=0, max_size=7))
    count = sum(lengths)
    indices = draw(st.lists(st.integers(0, columns - 1), min_size=count, max_size=count))
    value = st.one_of(
        st.integers(-3, 3).map(float), st.floats(-1e3, 1e3, width=32), st.sampled_from([1e-8, -1e8, 3e15])
    )
    data = draw(st.lists(value, min_size=count, max_size=count))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return Sparse(frozen(indptr, index_type), frozen(indices, index_type), frozen(data, value_type), columns)


def vectors(length):
    entry = st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-1e6, 1e6))
    return st.lists(entry, min_size=length, max_size=length).map(frozen)


def error_of_sums(count):
    return 2.0 * (count + 1) * EPS


@searching
@given(data=st.data(), A=sparse_arrays())
def test_gather(data, A):
    x = data.draw(vectors(A.columns))
    start = data.draw(st.integers(0, A.rows))
    stop = data.draw(st.integers(start, A.rows))
    out, expected, size = np.full((3, A.rows), 7.0)
    kernels.gather(*A[:3], x, out, start, stop)
    reference.gather(*A[:3], x, expected, start, stop)
    reference.gather(*A.absolute()[:3], np.abs(x), size, start, stop)
    assert (np.abs(out - expected) <= error_of_sums(len(A.data)) * size).all()
    assert (np.delete(out, slice(start, stop)) == 7.0).all()


@searching
@given(data=st.data(), A=sparse_arrays())
def test_scatter(data, A):
    g = data.draw(vectors(A.rows))
    start = data.draw(st.integers(0, A.rows))
    stop = data.draw(st.integers(start, A.rows))
    out, expected, size = np.full((3, A.columns), 7.0)
    kernels.scatter(*A[:3], g, out, start, stop)
    reference.scatter(*A[:3], g, expected, start, stop)
    reference.scatter(*A.absolute()[:3], np.abs(g), size, start, stop)
    assert (np.abs(out - expected) <= error_of_sums(len(A.data)) * size).all()


@searching
@given(data=st.data(), A=sparse_arrays())
def test_half_gram(data, A):
    rows = frozen(data.draw(st.lists(st.integers(0, A.rows - 1), max_size=9) if A.rows else st.just([])), np.intp)
    weights = data.draw(vectors(len(rows)))
    out, expected, size = np.full((3, A.columns, A.columns), 7.0)
    kernels.half_gram(*A[:3], rows, weights, out)
    reference.half_gram(*A[:3], rows, weights, expected)
    reference.half_gram(*A.absolute()[:3], rows, np.abs(weights), size)
    assert (np.abs(out - expected) <= error_of_sums(len(rows) * (len(A.data) + 1)) * size).all()


@searching
@given(A=sparse_arrays(), distinct=st.booleans())
def test_row_norms(A, distinct):
    expected = reference.row_norms(A.indptr, A.data, distinct)
    assert kernels.row_norms(A.indptr, A.data, distinct) == pytest.approx(expected, rel=1e-14)
    if distinct:
        squares = [
            np.sum(A.data[begin:end].astype(float) ** 2) for begin, end in zip(A.indptr, A.indptr[1:], strict=False)
        ]
        assert expected == pytest.approx((math.sqrt(max(squares, default=0.0)), math.sqrt(sum(squares))), rel=1e-14)


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_scatter_does_not_read_rows_without_a_coefficient(index_type):
    indptr, indices = frozen([0, 2, 3, 5], index_type), frozen([0, 1, 1, 0, 2], index_type)
    data = frozen([1.0, 2.0, np.nan, 4.0, 5.0])
    out = np.zeros(3)
    kernels.scatter(indptr, indices, data, frozen([1.0, 0.0, -1.0]), out, 0, 3)
    assert out.tolist() == [-3.0, 2.0, -5.0]


def test_single_precision_values_are_summed_in_double():
    indptr, indices = frozen([0, 3], np.int32), frozen([0, 1, 2], np.int32)
    data = frozen([1e8, 1.0, -1e8], np.float32)
    out = np.empty(1)
    kernels.gather(indptr, indices, data, np.ones(3), out, 0, 1)
    assert out[0] == 1.0
    total = np.zeros(1)
    kernels.scatter(frozen([0, 1, 2, 3], np.int32), frozen([0, 0, 0], np.int32), data, np.ones(3), total, 0, 3)
    assert total[0] == 1.0
    large = frozen([3e30, 4e30], np.float32)  # the squares overflow in single precision
    norms = kernels.row_norms(frozen([0, 2], np.int32), large, True)
    assert norms == pytest.approx(2 * (math.hypot(*large.astype(float)),), rel=1e-14)


def test_ranges_of_rows_may_run_in_threads():
    rng = np.random.default_rng(0)
    rows, columns = 1000, 50
    lengths = rng.integers(0, 20, size=rows)
    indptr = frozen(np.concatenate([[0], np.cumsum(lengths)]), np.int64)
    indices = frozen(rng.integers(0, columns, size=lengths.sum()), np.int64)
    data, x = frozen(rng.normal(size=lengths.sum())), frozen(rng.normal(size=columns))
    whole, pieces = np.empty(rows), np.empty(rows)
    kernels.gather(indptr, indices, data, x, whole, 0, rows)
    with ThreadPoolExecutor(4) as pool:
        starts = range(0, rows, 100)
        list(pool.map(lambda s: kernels.gather(indptr, indices, data, x, pieces, s, s + 100), starts))
    np.testing.assert_array_equal(pieces, whole)


# --- the capped simplex -----------------------------------------------------------------------------------------


class Projection(NamedTuple):
    """The arguments of top_k_smoothed, but for where to start and where the gradient goes."""

    scores: np.ndarray
    positive: np.ndarray
    weights: np.ndarray | None
    total: float
    slope: float
    gain: float
    target_positive: float
    target_negative: float
    mu: float

    def run(self, kernel, start=0.0):
        gradient = np.full(len(self.scores), np.nan)
        return *kernel(*self, start, gradient), gradient

    @property
    def c(self):
        return np.ones(len(self.scores)) if self.weights is None else self.weights

    @property
    def target(self):
        return np.where(self.positive == 1, self.target_positive, self.target_negative)

    @property
    def size(self):
        """Largest of the numbers that the root is found among, in units of mu."""
        return 1.0 + (self.slope * np.abs(self.scores).max() + self.gain) / self.mu


def projection(labels, scores, weights, k, mu):
    """As a measure with k predicted positives sets it up: the target is the average perfect labeling."""
    positive = np.array(labels)
    c = np.ones(len(labels)) if weights is None else np.array(weights)
    positives, total = c[positive == 1].sum(), c.sum()
    targets = (k / positives, 0.0) if k <= positives else (1.0, (k - positives) / (total - positives))
    return Projection(
        frozen(scores),
        frozen(positive, np.uint8),
        None if weights is None else frozen(weights),
        float(k),
        2.0 / total,
        1.0 / positives,
        *map(float, targets),
        mu,
    )


@st.composite
def projections(draw, exponents, scales):
    n = draw(st.integers(2, 12))
    labels = draw(st.lists(st.sampled_from([0, 1]), min_size=n, max_size=n).filter(lambda y: len(set(y)) == 2))
    whole, general = st.integers(-3, 3).map(float), st.floats(-3.0, 3.0)
    entry = draw(st.sampled_from([whole, general, st.just(1.0)]))
    scale = 10.0 ** draw(st.sampled_from(scales))
    scores = [scale * draw(entry) for _ in range(n)]
    mu = 10.0 ** draw(st.sampled_from(exponents))
    if draw(st.booleans()):
        return projection(labels, scores, None, draw(st.integers(1, n - 1)), mu)
    weights = [draw(st.sampled_from([0.0, 1.0, 2.0, 0.1, 3.7, 1e3])) for _ in range(n)]
    weights[labels.index(1)] += 0.5
    weights[labels.index(0)] += 0.5
    return projection(labels, scores, weights, draw(st.floats(0.05, 0.95)) * sum(weights), mu)


def assert_same_projection(problem, start=0.0):
    missed, excess, inner, prox, root, n_pass, gradient = problem.run(kernels.top_k_smoothed, start)
    missed_, excess_, inner_, prox_, _, _, gradient_ = problem.run(reference.top_k_smoothed)
    c, mass, largest = problem.c, problem.c.sum(), np.abs(problem.scores).max()
    # Both know the root to a few units in the last place of the numbers involved.
    off = 64.0 * EPS * problem.size
    assert (np.abs(gradient - gradient_) <= problem.slope * c * off).all()
    assert missed == pytest.approx(missed_, abs=off * mass)
    assert excess == pytest.approx(excess_, abs=off * mass)
    assert inner == pytest.approx(inner_, abs=off * mass * largest)
    assert prox == pytest.approx(prox_, abs=off * mass)
    assert n_pass >= 1
    # A root need not be unique, but what it selects is. It is known less well: it is not alone in making u.
    v = problem.target + (problem.slope * problem.scores - problem.gain * (problem.positive == 1)) / problem.mu
    u = problem.target + gradient_ / (problem.slope * np.where(c > 0, c, np.inf))
    inside = c > 0
    assert (np.abs(np.clip(v - root / problem.mu, 0.0, 1.0) - u)[inside] <= 16.0 * off).all()


@searching
@given(problem=projections(exponents=range(-4, 7), scales=(-8, -2, 0, 1)))
def test_top_k_smoothed(problem):
    assert_same_projection(problem)


@searching
@given(
    problem=projections(exponents=range(-4, 7), scales=(-8, -2, 0, 1)),
    start=st.one_of(st.floats(-10.0, 10.0), st.floats(-1e300, 1e300)),
)
def test_top_k_smoothed_from_any_start(problem, start):
    assert_same_projection(problem, start)


@pytest.mark.parametrize("scale", [-8, 0, 4, 8])
@pytest.mark.parametrize("exponent", [-12, -9, -3, 6])
@settings(searching, max_examples=20)
@given(data=st.data())
def test_top_k_smoothed_predicts_the_right_weight_at_every_scale(exponent, scale, data):
    """``sum c u`` is the total, and the rounding that is left is known, whatever the scale of the scores and of mu."""
    problem = data.draw(projections((exponent,), (scale,)))
    missed, excess, inner, prox, _, _, gradient = problem.run(kernels.top_k_smoothed)
    c, target = problem.c, problem.target
    weight = math.fsum([*(gradient / problem.slope), *(c * target)])
    assert weight - problem.total == pytest.approx(excess, abs=16 * EPS * c.sum())
    assert abs(excess) <= 512 * EPS * problem.total + 8 * EPS * c.sum()
    u = target + gradient / (problem.slope * np.where(c > 0, c, np.inf))
    assert u.min() >= -4 * EPS
    assert u.max() <= 1.0 + 4 * EPS
    # The three sums describe the same u.
    positive = problem.positive == 1
    assert missed == pytest.approx(math.fsum(c[positive] * (1.0 - u[positive])), abs=32 * EPS * c.sum())
    assert inner == pytest.approx(
        math.fsum(c * problem.scores * (u - target)), abs=32 * EPS * np.abs(problem.scores).max() * c.sum()
    )
    assert prox == pytest.approx(math.fsum(c * (u - target) ** 2) / 2.0, abs=32 * EPS * c.sum())


@pytest.mark.parametrize("n", [511, 512, 513, 1537])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, 100, 400])
def test_top_k_smoothed_in_blocks(n, weighted, k):
    rng = np.random.default_rng(n)
    labels = (rng.random(n) < 0.3).astype(int)
    weights = rng.exponential(size=n) if weighted else None
    assert_same_projection(projection(labels, rng.normal(size=n), weights, k, 1e-3))


@pytest.mark.parametrize("scores", [[0.0, 0.0], [1.0, -1.0], [-1.0, 1.0]])
@pytest.mark.parametrize("mu", [1e-3, 0.7, 100.0])
def test_top_k_smoothed_of_two(scores, mu):
    assert_same_projection(projection([1, 0], scores, None, 1, mu))


def test_the_root_is_a_good_place_to_start_from():
    rng = np.random.default_rng(3)
    n = 2000
    problem = projection((rng.random(n) < 0.1).astype(int), rng.normal(size=n), None, 200, 1e-4)
    *_, root, cold, _ = problem.run(kernels.top_k_smoothed)
    *_, again, warm, _ = problem.run(kernels.top_k_smoothed, root)
    assert cold > 2
    assert warm <= 2
    assert again == pytest.approx(root, rel=1e-12)
    # It is in units of the scores, so it also serves another mu.
    *_, other, _ = problem._replace(mu=1.1e-4).run(kernels.top_k_smoothed, root)
    assert other < cold


# --- pairs ------------------------------------------------------------------------------------------------------


class Pairs(NamedTuple):
    """Scores in any order, with the rows of the class that is sorted and of the other."""

    scores: np.ndarray
    weights: np.ndarray | None
    ordered_rows: np.ndarray
    other_rows: np.ndarray
    sign: float = 1.0
    centre: float = 0.0
    margin: float = 1.0

    def run(self, kernel, kappa, scale=1.0):
        a = self.sign * (self.scores[self.ordered_rows] - self.centre)
        order = np.argsort(a)
        weights = None if self.weights is None else frozen(self.weights[self.ordered_rows][order])
        gradient = np.full(len(self.scores), np.nan)
        numbers = kernel(frozen(a[order]), weights, *self[:6], self.margin, kappa, scale, gradient)
        return numbers, gradient


def pairs(ordered, others, weights=None, *, seed=0, **more):
    """Pairs of two lists, whose examples are shuffled; ``weights`` are those of the first list, then of the second."""
    n = len(ordered) + len(others)
    place = np.random.default_rng(seed).permutation(n)
    scores, moved = np.empty(n), np.empty(n)
    scores[place] = [*ordered, *others]
    if weights is not None:
        moved[place] = weights
    ordered_rows, other_rows = np.sort(place[: len(ordered)]), np.sort(place[len(ordered) :])
    return Pairs(
        frozen(scores),
        None if weights is None else frozen(moved),
        frozen(ordered_rows, np.int64),
        frozen(other_rows, np.int64),
        **more,
    )


@st.composite
def pair_lists(draw):
    whole, general = st.integers(-4, 4).map(float), st.floats(-4.0, 4.0)
    entry = draw(st.sampled_from([whole, whole.map(lambda x: x / 2), general, st.one_of(whole, general)]))
    scale = 10.0 ** draw(st.sampled_from([0, 0, 0, -8, -3, 3, 8]))
    ordered = [scale * draw(entry) for _ in range(draw(st.integers(1, 8)))]
    others = [scale * draw(entry) for _ in range(draw(st.integers(1, 12)))]
    weight = st.sampled_from([0.0, 1.0, 2.0, 0.1, 3.7])
    return pairs(
        ordered,
        others,
        [draw(weight) for _ in [*ordered, *others]] if draw(st.booleans()) else None,
        seed=draw(st.integers(0, 5)),
        sign=draw(st.sampled_from([1.0, -1.0])),
        centre=draw(st.sampled_from([0.0, 0.5, -3.0])),
        margin=draw(st.sampled_from([1.0, 0.5, -0.5, 0.0])),
    )


def assert_same_ramps(problem, kappa):
    (value, height, hinges, slopes, reach, crowd, excess), gradient = problem.run(kernels.pair_ramps, kappa)
    (value_, height_, hinges_, slopes_, reach_, crowd_, excess_), gradient_ = problem.run(reference.pair_ramps, kappa)
    c = np.ones(len(problem.scores)) if problem.weights is None else problem.weights
    ordered_mass, other_mass = c[problem.ordered_rows].sum(), c[problem.other_rows].sum()
    length = 2.0 * np.abs(problem.scores - problem.centre).max() + abs(problem.margin)
    off = 32.0 * EPS * (1.0 + (length / kappa if kappa > 0.0 else 0.0))
    opposite = np.empty(len(c))
    opposite[problem.ordered_rows], opposite[problem.other_rows] = other_mass, ordered_mass
    assert (np.abs(gradient - gradient_) <= off * c * opposite).all()
    assert slopes == pytest.approx(slopes_, abs=off * ordered_mass * other_mass)
    assert value == pytest.approx(value_, abs=off * length * ordered_mass * other_mass)
    assert height == pytest.approx(height_, abs=off * length * ordered_mass * other_mass)
    assert hinges == pytest.approx(hinges_, abs=32.0 * EPS * length * ordered_mass * other_mass)
    assert reach == pytest.approx(reach_, rel=1e-14)
    assert crowd == pytest.approx(crowd_, rel=1e-14)
    assert excess == pytest.approx(excess_, abs=off * length * other_mass)


@searching
@given(problem=pair_lists(), kappa=st.sampled_from([0.0, 1e-12, 1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 7.3, 1e3, 1e8]))
def test_pair_ramps(problem, kappa):
    assert_same_ramps(problem, kappa)


@pytest.mark.parametrize("kappa", [0.0, 0.5, 1.0, 100.0])
@pytest.mark.parametrize(("m", "count"), [(1, 1), (1, 300), (300, 1), (63, 64), (64, 333), (257, 90)])
@pytest.mark.parametrize("weighted", [False, True])
def test_pair_ramps_of_many(kappa, m, count, weighted):
    rng = np.random.default_rng(m)
    ordered, others = np.round(rng.normal(size=m), 1), np.round(rng.normal(size=count), 1)
    weights = rng.exponential(size=m + count) if weighted else None
    assert_same_ramps(pairs(ordered, others, weights), kappa)


CROWDS = {
    "all the same": [0.3] * 40,
    "an outlier above": [*np.linspace(0.0, 1e-3, 40), 1e6],
    "an outlier below": [-1e6, *np.linspace(0.0, 1e-3, 40)],
    "two clusters": [*np.linspace(-1.0, -1.0 + 1e-9, 20), *np.linspace(1.0, 1.0 + 1e-9, 20)],
    "powers of ten": [10.0**e for e in range(-20, 8)],
    "next to each other": [1.0 + k * EPS for k in range(30)],
    "subnormal distance": [k * 5e-324 for k in range(30)],
}


@pytest.mark.parametrize("kappa", [0.0, 1e-9, 0.1, 2.0])
@pytest.mark.parametrize("ordered", CROWDS.values(), ids=CROWDS.keys())
def test_pair_ramps_of_lists_that_are_crowded_in_places(ordered, kappa):
    """However uneven the list is, every look-up finds its place, also from far outside."""
    others = [*ordered, *(np.array(ordered) - 1.0), *(np.array(ordered) + kappa), -1e12, 1e7, 0.0, -1.0]
    assert_same_ramps(pairs(ordered, others), kappa)
    assert_same_ramps(pairs(ordered, others, margin=0.0), kappa)


def test_the_gradient_is_scaled():
    problem = pairs([0.0, 1.0, 1.5], [1.2, -3.0, 2.0], [1.0, 0.0, 2.5, 1.0, 3.0, 0.5])
    numbers, gradient = problem.run(kernels.pair_ramps, 0.5)
    again, scaled = problem.run(kernels.pair_ramps, 0.5, scale=-0.25)
    assert again == numbers
    np.testing.assert_allclose(scaled, -0.25 * gradient, rtol=1e-15)


def test_a_pair_at_the_margin_has_no_slope():
    """The hinge of exactly 0 is not violated; its subgradient 0 is the one that is chosen."""
    (value, height, slopes, *_), gradient = pairs([1.0], [0.0]).run(kernels.pair_ramps, 0.0)
    assert value == height == slopes == 0.0
    assert not gradient.any()
