"""Compiled kernels against their twins in NumPy, on whatever may come: types, ties, zeros, scales, ranges.

``test_twins`` knows which test holds which kernel; ``maximise_on_simplex`` has more of its own (``test_simplex_qp``).
"""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import twins
from problems import frozen, searching
from smoothperf import kernels
from smoothperf.kernels._roc_area import RampTable, sweep_bins

EPS = np.finfo(np.float64).eps


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


def drawn_levels(data, A):
    """A value for each row, or none; of both signs."""
    return data.draw(st.one_of(st.none(), vectors(A.rows)))


@searching(30)
@given(data=st.data(), A=sparse_arrays(), pieces=st.integers(1, 5), ones=st.booleans())
def test_gather(data, A, pieces, ones):
    x, levels = data.draw(vectors(A.columns)), drawn_levels(data, A)
    out, expected, size = np.full((3, A.rows), 7.0)
    kernels.gather(*A[:3], ones, levels, x, out, pieces)
    twins.gather(*A[:3], ones, levels, x, expected, 1)
    twins.gather(*A.absolute()[:3], ones, None if levels is None else np.abs(levels), np.abs(x), size, 1)
    assert (np.abs(out - expected) <= error_of_sums(len(A.data)) * size).all()


def scatter(indptr, indices, data, ones, g, out, pieces=1, *, levels=None, clear=False, module=kernels):
    """With room for sums that holds anything."""
    room = np.full(module.room_for_sums(len(out), pieces), np.nan)
    module.scatter(indptr, indices, data, ones, levels, g, out, clear, pieces, room)


@searching(30)
@given(data=st.data(), A=sparse_arrays(), pieces=st.integers(1, 5), ones=st.booleans(), clear=st.booleans())
def test_scatter(data, A, pieces, ones, clear):
    g, levels = data.draw(vectors(A.rows)), drawn_levels(data, A)
    out, expected, size = np.full((3, A.columns), 7.0)
    scatter(*A[:3], ones, g, out, pieces, levels=levels, clear=clear)
    scatter(*A[:3], ones, g, expected, levels=levels, clear=clear, module=twins)
    size_of_levels = None if levels is None else np.abs(levels)
    scatter(*A.absolute()[:3], ones, np.abs(g), size, levels=size_of_levels, module=twins)
    assert (np.abs(out - expected) <= error_of_sums(len(A.data)) * size).all()


LENGTHS = {"short": (0, 20), "long": (20, 120), "mixed": (0, 80)}


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS.keys())
@pytest.mark.parametrize("columns", [3, 150, 3000])
@pytest.mark.parametrize("known", ["nothing", "ones", "levels"])
@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("value_type", [np.float32, np.float64])
def test_products_with_many_rows(lengths, columns, known, index_type, value_type):
    """Rows of all lengths, several chunks of them, zeros among the coefficients, any number of pieces."""
    rng = np.random.default_rng(columns)
    rows = 2000
    counts = rng.integers(*lengths, size=rows)
    ends = np.cumsum(counts)
    indptr = frozen(np.append(0, ends), index_type)
    indices = frozen(rng.integers(0, columns, size=ends[-1]), index_type)
    levels = frozen(rng.normal(size=rows).astype(value_type)) if known == "levels" else None
    values = {"nothing": rng.normal(size=ends[-1]), "ones": np.ones(ends[-1])}
    values["levels"] = np.repeat(rng.normal(size=rows) if levels is None else levels, counts)
    data, ones = frozen(values[known], value_type), known == "ones"
    x, g = frozen(rng.normal(size=columns)), frozen(rng.normal(size=rows) * (rng.random(rows) < 0.7))
    X = sp.csr_matrix((data.astype(float), indices, indptr), shape=(rows, columns), copy=True)
    outs = np.empty((3, rows))
    for pieces, out in zip((1, 2, 7), outs, strict=True):
        kernels.gather(indptr, indices, data, ones, levels, x, out, pieces)
        total, fresh = np.full((2, columns), 0.5)
        scatter(indptr, indices, data, ones, g, total, pieces, levels=levels)
        scatter(indptr, indices, data, ones, g, fresh, pieces, levels=levels, clear=True)
        for result, before in ((total, 0.5), (fresh, 0.0)):
            np.testing.assert_allclose(result, before + X.T @ g, rtol=0, atol=1e-12 * (abs(X).T @ abs(g)).max())
    np.testing.assert_allclose(outs[0], X @ x, rtol=0, atol=1e-13 * (abs(X) @ abs(x)).max())
    assert (outs == outs[0]).all()  # a row's sum is a matter of that row alone
    short = indices.astype(np.uint16)
    for pointers in (indptr, indptr.astype(np.int64)):
        kernels.gather(pointers, short, data, ones, levels, x, outs[1], 2)
        scatter(pointers, short, data, ones, g, short_total := np.full(columns, 0.5), 7, levels=levels)
        assert (outs[1] == outs[0]).all()
        assert (short_total == total).all()


def test_pointers_go_with_indices():
    data, one = frozen([1.0]), np.ones(1)
    for pointer_type, index_type in ((np.int32, np.int64), (np.int64, np.int32)):
        with pytest.raises(TypeError, match="indptr must be of the type of indices, unless these are uint16"):
            kernels.gather(frozen([0, 1], pointer_type), frozen([0], index_type), data, False, None, one, one.copy(), 1)


def test_sums_over_rows_do_not_lose_digits_with_their_number():
    rows = 1_000_000
    indptr, indices = frozen(np.arange(rows + 1), np.int32), frozen(np.zeros(rows), np.int32)
    data, g, total = frozen(np.full(rows, 0.1)), frozen(np.full(rows, 1.0)), np.zeros(1)
    scatter(indptr, indices, data, False, g, total)
    assert total[0] == pytest.approx(math.fsum(data), rel=5e-13)  # added one by one: 1e-11


@searching(30)
@given(data=st.data(), A=sparse_arrays())
def test_half_gram(data, A):
    rows = frozen(data.draw(st.lists(st.integers(0, A.rows - 1), max_size=9) if A.rows else st.just([])), np.intp)
    weights = data.draw(vectors(len(rows)))
    out, expected, size = np.full((3, A.columns, A.columns), 7.0)
    kernels.half_gram(*A[:3], rows, weights, out)
    twins.half_gram(*A[:3], rows, weights, expected)
    twins.half_gram(*A.absolute()[:3], rows, np.abs(weights), size)
    assert (np.abs(out - expected) <= error_of_sums(len(rows) * (len(A.data) + 1)) * size).all()
    kernels.half_gram(A.indptr, A.indices.astype(np.uint16), A.data, rows, weights, again := np.full_like(out, 7.0))
    assert (again == out).all()


@searching(30)
@given(A=sparse_arrays(), distinct=st.booleans())
def test_row_norms(A, distinct):
    expected = twins.row_norms(A.indptr, A.data, distinct)
    assert kernels.row_norms(A.indptr, A.data, distinct) == pytest.approx(expected, rel=1e-14)
    if distinct:
        squares = [
            np.sum(A.data[begin:end].astype(float) ** 2) for begin, end in zip(A.indptr, A.indptr[1:], strict=False)
        ]
        assert expected[:2] == pytest.approx((math.sqrt(max(squares, default=0.0)), math.sqrt(sum(squares))), rel=1e-14)


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_scatter_does_not_read_rows_without_a_coefficient(index_type):
    indptr, indices = frozen([0, 2, 3, 5], index_type), frozen([0, 1, 1, 0, 2], index_type)
    data = frozen([1.0, 2.0, np.nan, 4.0, 5.0])
    out = np.zeros(3)
    scatter(indptr, indices, data, False, frozen([1.0, 0.0, -1.0]), out)
    assert out.tolist() == [-3.0, 2.0, -5.0]


def test_scatter_asks_for_room():
    indptr, indices, data = frozen([0, 1], np.int32), frozen([0], np.int32), frozen([1.0])
    with pytest.raises(ValueError, match="room for 2 numbers is too small"):
        kernels.scatter(indptr, indices, data, False, None, np.ones(1), np.zeros(1), False, 1, np.empty(2))


def test_single_precision_values_are_summed_in_double():
    indptr, indices = frozen([0, 3], np.int32), frozen([0, 1, 2], np.int32)
    data = frozen([1e8, 1.0, -1e8], np.float32)
    out = np.empty(1)
    kernels.gather(indptr, indices, data, False, None, np.ones(3), out, 1)
    assert out[0] == 1.0
    total = np.zeros(1)
    scatter(frozen([0, 1, 2, 3], np.int32), frozen([0, 0, 0], np.int32), data, False, np.ones(3), total)
    assert total[0] == 1.0
    large = frozen([3e30, 4e30], np.float32)  # the squares overflow in single precision
    norms = kernels.row_norms(frozen([0, 2], np.int32), large, True)[:2]
    assert norms == pytest.approx(2 * (math.hypot(*large.astype(float)),), rel=1e-14)


def test_loops_that_come_at_the_same_time():
    """From several threads, each with pieces of its own: the pool serves one, and the others do without."""
    rng = np.random.default_rng(0)
    X = sp.random(3000, 50, density=0.3, format="csr", random_state=0)
    xs = rng.normal(size=(8, 50))
    outs = np.empty((8, 3000))

    def multiply(k):
        for pieces in (1, 2, 3, 5) * 20:
            kernels.gather(X.indptr, X.indices, X.data, False, None, xs[k], outs[k], pieces)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(multiply, range(8)))
    np.testing.assert_allclose(outs, (X @ xs.T).T, atol=1e-12)


# --- examples by themselves -------------------------------------------------------------------------------------


@searching(30)
@given(data=st.data(), m=st.integers(1, 200), n=st.integers(1, 200), seed=st.integers(0, 1000))
def test_huber_sums(data, m, n, seed):
    rng = np.random.default_rng(seed)
    kappa = data.draw(st.sampled_from([1e-3, 0.1, 1.0, 50.0]))
    draw = data.draw(st.sampled_from([lambda size: rng.normal(size=size), lambda size: rng.integers(-2, 3, size=size)]))
    a, z = frozen(np.sort(draw(m))), frozen(draw(n) + 0.5)
    weights = data.draw(st.sampled_from([None, frozen(rng.exponential(size=m))]))
    found, expected = np.empty((2, n))
    kernels.huber_sums(a, weights, z, kappa, found)
    twins.huber_sums(a, weights, z, kappa, expected)
    # A difference of sums of squares divided by kappa.
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=64 * EPS * 40.0 * 8.0 * m / kappa)


@searching(40)
@given(seed=st.integers(0, 10**6))
def test_sorted_hinges(seed):
    """Ties, empty lists, lists of which one is beyond the other, any scale."""
    rng = np.random.default_rng(seed)
    lists = []
    for size in rng.choice([0, 1, 7, 200], size=2):
        numbers = rng.normal(size=size) if rng.random() < 0.5 else rng.integers(-3, 4, size=size)
        lists.append(frozen(np.sort(10.0 ** rng.choice([-9, 0, 0, 9]) * (numbers + rng.choice([0, 9])))))
    a, z = lists
    size = a.size * z.size * (np.abs(a).max(initial=0.0) + np.abs(z).max(initial=0.0))
    assert kernels.sorted_hinges(a, z) == pytest.approx(twins.sorted_hinges(a, z), abs=1e-13 * size)


@searching(30)
@given(data=st.data(), n=st.integers(1, 1100), seed=st.integers(0, 1000))
def test_pointwise_hinges(data, n, seed):
    rng = np.random.default_rng(seed)
    scale, kappa = (10.0 ** data.draw(st.sampled_from(exponents)) for exponents in ((-8, -1, 0, 3), (-9, -1, 0, 2)))
    scores = frozen(scale * rng.choice([rng.normal(size=n), rng.integers(-2, 3, size=n) / 2.0]))
    positive = frozen(rng.random(n) < 0.4, np.uint8)
    weights = data.draw(st.sampled_from([None, frozen(rng.exponential(size=n) * (rng.random(n) < 0.8))]))
    costs = data.draw(st.sampled_from([(1.0, 1.0), (1e6, 1e-6), (0.3, 7.0)]))
    pieces = data.draw(st.integers(1, 4))
    gradients = np.full((2, n), np.nan)
    found, expected = (
        module.pointwise_hinges(scores, positive, weights, *costs, kappa, 0.7, gradient, pieces)
        for module, gradient in zip((kernels, twins), gradients, strict=True)
    )
    np.testing.assert_allclose(*gradients, rtol=8 * EPS, atol=0.0)
    np.testing.assert_allclose(found[:3], expected[:3], rtol=1024 * EPS)
    assert found[3] == pytest.approx(expected[3], abs=1024 * EPS * np.abs(gradients[1] * scores).sum())


@searching(30)
@given(data=st.data(), n=st.integers(1, 1100), seed=st.integers(0, 1000))
def test_smooth_losses(data, n, seed):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** data.draw(st.sampled_from([-8, -1, 0, 1, 3]))
    scores = frozen(scale * rng.choice([rng.normal(size=n), rng.integers(-2, 3, size=n) / 2.0]))
    positive = frozen(rng.random(n) < 0.4, np.uint8)
    weights = data.draw(st.sampled_from([None, frozen(rng.exponential(size=n) * (rng.random(n) < 0.8))]))
    direction = data.draw(st.sampled_from([None, frozen(rng.normal(size=n))]))
    pieces = data.draw(st.integers(1, 4))
    exponentials = np.exp(-np.abs(scores))
    logs = None if weights is None else frozen(np.log1p(exponentials))
    c = 1.0 if weights is None else weights
    for name, more in (("logistic_losses", [logs]), ("squared_hinges", [])):
        gradients = np.tile(exponentials, (2, 1))
        found, expected = (
            getattr(module, name)(scores, positive, weights, *more, 0.7, direction, gradient, pieces)
            for module, gradient in zip((kernels, twins), gradients, strict=True)
        )
        np.testing.assert_allclose(*gradients, rtol=8 * EPS, atol=0.0)
        x = np.maximum(0.0, 1.0 - np.where(positive, 1.0, -1.0) * scores)
        terms = np.sum(c * np.ones(n)) if more else np.sum(c * (2.0 * x + x**2))
        np.testing.assert_allclose(found[:2], expected[:2], rtol=1024 * EPS, atol=4 * EPS * terms)
        along = 0.0 if direction is None else np.abs(gradients[1] * direction).sum()
        assert found[2] == pytest.approx(expected[2], abs=1024 * EPS * along)


# --- pairs ------------------------------------------------------------------------------------------------------


def ramps_of_pairs(
    ordered, ordered_weights, scores, weights, ordered_rows, other_rows, sign, centre, margin, kappa, scale, gradient
):
    """The steps of the kernel one after the other, called like their reference."""
    table, bins, slopes = RampTable(ordered, ordered_weights), np.zeros((len(ordered) + 1, 4)), np.empty(len(ordered))
    *sums, low, high = table.ramps(scores, weights, other_rows, sign, centre, margin, kappa, scale, gradient, bins)
    crowd, excess = sweep_bins(ordered, bins, kappa, slopes)
    table.look_up(scores, weights, ordered_rows, sign, centre, scale, slopes, gradient)
    return *sums, max(high - ordered[0], 0.0) + max(high, -low), crowd, excess


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
    (value, height, hinges, slopes, reach, crowd, excess), gradient = problem.run(ramps_of_pairs, kappa)
    (value_, height_, hinges_, slopes_, reach_, crowd_, excess_), gradient_ = problem.run(twins.pair_ramps, kappa)
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


@searching(30)
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
    numbers, gradient = problem.run(ramps_of_pairs, 0.5)
    again, scaled = problem.run(ramps_of_pairs, 0.5, scale=-0.25)
    assert again == numbers
    np.testing.assert_allclose(scaled, -0.25 * gradient, rtol=1e-15)


def test_a_pair_at_the_margin_has_no_slope():
    """The hinge of exactly 0 is not violated; its subgradient 0 is the one that is chosen."""
    (value, height, slopes, *_), gradient = pairs([1.0], [0.0]).run(ramps_of_pairs, 0.0)
    assert value == height == slopes == 0.0
    assert not gradient.any()


# --- the quadratic program --------------------------------------------------------------------------------------


@searching(30)
@given(
    seed=st.integers(0, 10**6), size=st.integers(1, 8), rank=st.integers(1, 8), scale=st.sampled_from([0.1, 1.0, 30.0])
)
def test_maximise_on_simplex(seed, size, rank, scale):
    """Only the value is compared: the maximiser need not be unique."""
    rng = np.random.default_rng(seed)
    factor, linear, start = rng.normal(size=(size, rank)), rng.normal(size=size), rng.dirichlet(np.ones(size))
    gram = np.full((size + 2, size + 3), np.nan)  # what lies beyond the planes is not read
    gram[:size, :size] = factor @ factor.T

    def value(x):
        return linear @ x - scale / 2.0 * np.sum((factor.T @ x) ** 2)

    x, x_ = (module.maximise_on_simplex(gram, scale, linear, start) for module in (kernels, twins))
    assert x.min() >= 0.0
    assert x.sum() == pytest.approx(1.0, abs=1e-14)
    assert value(x) >= value(x_) - 1e-9 * (1.0 + scale)
    assert value(x) <= value(x_) + 1e-6 * (1.0 + scale)


# --- vectors of a run -------------------------------------------------------------------------------------------


@searching(30)
@given(seed=st.integers(0, 10**6), shifted=st.booleans(), terms=st.integers(0, 12))
def test_sums_with_inner_products(seed, shifted, terms):
    """In weight space, and in row space, where an inner product pairs the two halves of a vector."""
    rng = np.random.default_rng(seed)
    length, shift = (2 * terms, terms) if shifted else (terms, 0)
    u, v, p, q = rng.normal(size=(4, length))
    for array in (u, v, p, q):
        array.flags.writeable = False

    def results(module):
        total, s, y = np.full((3, length), np.nan)
        numbers = [
            *module.sum_and_squares(u, 0.7, v, terms, shift, total),
            *module.inner_products(u, v, p, terms, shift),
            *module.differences(u, v, p, q, terms, shift, s, y),
        ]
        return numbers, np.concatenate([total, s, y])

    (numbers, sums), (expected_numbers, expected_sums) = results(kernels), results(twins)
    np.testing.assert_allclose(numbers, expected_numbers, rtol=0, atol=1e-13)
    np.testing.assert_allclose(sums, expected_sums, rtol=1e-14, atol=1e-15)


@searching(30)
@given(
    seed=st.integers(0, 10**6),
    shifted=st.booleans(),
    terms=st.integers(1, 12),
    rows=st.integers(1, 6),
    count=st.integers(1, 6),
)
def test_two_loop(seed, shifted, terms, rows, count):
    """In weight space, and in row space, where an inner product pairs the two halves of a vector."""
    rng = np.random.default_rng(seed)
    length, shift = (2 * terms, terms) if shifted else (terms, 0)
    steps, changes = rng.normal(size=(2, rows, length))
    curvatures = rng.uniform(0.5, 2.0, size=rows)
    order = rng.permutation(rows)[: min(count, rows)]
    p = rng.normal(size=length)
    expected = p.copy()
    for array in (steps, changes, curvatures, order):
        array.flags.writeable = False
    kernels.two_loop(steps, changes, curvatures, order, 0.3, terms, shift, p)
    twins.two_loop(steps, changes, curvatures, order, 0.3, terms, shift, expected)
    np.testing.assert_allclose(p, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@searching(25)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 12),
    rank=st.integers(0, 6),
    n_rows=st.integers(0, 9),
    bounded=st.booleans(),
)
def test_minimise_model(seed, d, rank, n_rows, bounded):
    """Both find the minimum, which is unique; neither goes up from where it begins."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(d, rank))
    spread = rng.uniform(0.0, 2.0, size=rank)
    m = np.ascontiguousarray(u * spread)
    V = rng.normal(size=(n_rows, d)) * (rng.random(size=(n_rows, d)) < 0.4)
    columns = sp.csc_array(V)
    sparse = columns.indptr.astype(np.int32), columns.indices.astype(np.int32), columns.data, n_rows
    gradient, start = rng.normal(size=(2, d))
    start[rng.random(d) < 0.5] = 0.0
    s, q = rng.choice([0.0, 0.3, 1.0], size=d), rng.choice([0.0, 0.5], size=d)
    lower, upper = np.full(d, -np.inf), np.full(d, np.inf)
    if bounded:
        lower, upper = -rng.choice([0.0, 0.2, np.inf], size=d), rng.choice([0.0, 0.2, np.inf], size=d)
        start = np.clip(start, lower, upper)
    arrays = (gradient, start, s, q, lower, upper)
    found, expected = start.copy(), start.copy()
    sweeps = kernels.minimise_model(*arrays, 0.7, u, m, *sparse, found, 1e-14, 100_000)
    twins.minimise_model(*arrays, 0.7, u, m, *sparse, expected, 1e-14, 100_000)
    assert 1 <= sweeps < 100_000
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    assert ((found >= lower) & (found <= upper)).all()

    def model(z):
        change = z - start
        quadratic = 0.35 * change @ change + 0.5 * change @ u @ (m.T @ change) + 0.5 * np.sum((V @ change) ** 2)
        return gradient @ change + quadratic + s @ np.abs(z) + 0.5 * q @ z**2

    assert model(found) <= model(expected) + 1e-9
    assert model(found) <= model(start) + 1e-12
    few = start.copy()
    assert kernels.minimise_model(*arrays, 0.7, u, m, *sparse, few, 1e-14, 1) == 1
    assert model(few) <= model(start) + 1e-12
