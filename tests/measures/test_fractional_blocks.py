"""F-beta and the Jaccard index of rows in blocks: what one block says, in few rounds, and planes that hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from far_blocks import in_blocks
from smoothperf import FBeta, Jaccard
from smoothperf.kernels import fractional_search
from smoothperf.kernels._fractional import LevelSearch, flip_sums, level_sets
from smoothperf.kernels.fractional_flips import FractionalLoss, sorted_side
from smoothperf.kernels.fractional_summary import Groups, Summary, Window, groups

MEASURES = {"f1": FBeta(), "f0.5": FBeta(0.5), "f2": FBeta(2.0), "jaccard": Jaccard()}
TRUTHS = {"f1": (1, 1), "f0.5": (0.25, 1), "f2": (4, 1), "jaccard": (1, 0)}
every_measure = pytest.mark.parametrize("name", MEASURES)
searching = settings(deadline=None, max_examples=12, derandomize=True)


def random_problem(seed, most=60):
    """Ties, constants, clusters and general position; one positive at times; weights and scales of all kinds."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most))
    y = np.where(rng.random(n) < rng.choice([0.02, 0.3, 0.5, 0.97]), 1, -1)
    y[rng.permutation(n)[:2]] = 1, -1
    scores = rng.choice(
        [
            rng.integers(-3, 4, size=n).astype(float),
            rng.normal(size=n) + 0.5 * y,
            np.ones(n),
            -1.0 * y,
            y + 1e-9 * rng.normal(size=n),
            np.exp(5.0 * rng.normal(size=n)) * rng.choice([-1.0, 1.0], size=n),
        ]
    )
    scores = 10.0 ** rng.choice([-8, -3, 0, 0, 0, 2, 5]) * (scores + rng.choice([0.0, 1.0, -7.5]))
    weights = [None, rng.integers(0, 4, size=n) + 0.0, rng.exponential(size=n), 10.0 ** rng.integers(-6, 7, size=n)]
    weights = weights[rng.integers(len(weights))]
    if weights is not None:
        for label in (1, -1):
            if not weights[y == label].any():
                weights[np.flatnonzero(y == label)[0]] = 1.0
    return y, scores, weights


def random_lengths(seed, y):
    """One to five blocks, some of them with one class only or without rows; the rows in an order that does it."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, len(y) + 1, size=rng.integers(0, 5)))
    return np.diff(np.concatenate([[0], cuts, [len(y)]])).astype(int)


def bound_in_blocks(measure, y, weights, lengths):
    blocks = in_blocks(measure, y, weights, lengths)
    return measure.bind_blocks(blocks), blocks


def with_few_groups(number, measure, y, weights, lengths):
    """The risk in blocks that send so few groups that small problems need rounds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fractional_search, "GROUPS", number)
        patch.setattr(fractional_search, "FEWEST_GROUPS", number)
        return bound_in_blocks(measure, y, weights, lengths)


def assert_same(far, near, scores):
    """Up to the rounding that both own up to, and where that is harmless, to twelve digits.

    The planes may differ by a little more where roots are a matter of rounding.
    """
    apart = (far.rounding + near.rounding) * (1.0 + np.abs(scores).max())
    assert far.value == pytest.approx(near.value, abs=apart, rel=1e-12)
    assert far.height == pytest.approx(near.height, abs=10.0 * apart, rel=1e-12)
    assert far.offset == pytest.approx(near.offset, abs=10.0 * apart, rel=1e-12)


@every_measure
@pytest.mark.parametrize("n_groups", [2, 5])
@searching
@given(seed=st.integers(0, 10**6), sort=st.booleans())
def test_exact_risk_is_that_of_one_block(name, n_groups, seed, sort):
    measure = MEASURES[name]
    y, scores, weights = random_problem(seed)
    if sort:  # blocks of one class
        order = np.argsort(y, kind="stable")
        y, scores, weights = y[order], scores[order], None if weights is None else weights[order]
    risk, blocks = with_few_groups(n_groups, measure, y, weights, random_lengths(seed, y))
    near = measure.bind(y, weights)
    f = blocks.vectors.scattered(scores)
    result, expected = risk.exact(f), near.exact(scores)
    assert_same(result, expected, scores)
    scale = 1.0 + np.abs(scores).max()
    assert risk.exact_value(f) == pytest.approx(near.exact_value(scores), rel=1e-14, abs=1e-14 * scale)
    assert risk.n_examples == len(y)
    assert risk.diameter == pytest.approx(near.diameter, rel=1e-14)


@every_measure
@pytest.mark.parametrize("n_groups", [2, 5])
@searching
@given(seed=st.integers(0, 10**6), mu=st.sampled_from([1e-9, 1e-6, 1e-3, 0.1, 1.0, 1e3]))
def test_smoothed_risk_is_that_of_one_block(name, n_groups, seed, mu):
    measure = MEASURES[name]
    y, scores, weights = random_problem(seed)
    risk, blocks = with_few_groups(n_groups, measure, y, weights, random_lengths(seed, y))
    near = measure.bind(y, weights)
    mu /= near.diameter
    result, expected = risk.smoothed(blocks.vectors.scattered(scores), mu), near.smoothed(scores, mu)
    assert_same(result, expected, scores)
    assert result.error == expected.error
    scale = 1.0 + np.abs(scores).max()
    assert result.ceiling == pytest.approx(expected.ceiling, rel=1e-14, abs=1e-14 * scale)


@every_measure
@settings(searching, max_examples=8)
@given(seed=st.integers(0, 10**6), mu=st.sampled_from([1e-6, 1e-2, 1.0]))
def test_planes_of_blocks_are_nowhere_above_the_risk(name, seed, mu):
    """In rational arithmetic, where they were made and elsewhere."""
    p, r = TRUTHS[name]
    y, scores, weights = random_problem(seed, most=9)
    risk, blocks = with_few_groups(2, MEASURES[name], y, weights, random_lengths(seed, y))
    f = blocks.vectors.scattered(scores)
    for result in (risk.exact(f), risk.smoothed(f, mu / risk.diameter)):
        gradient = blocks.vectors.gathered(result.gradient)
        for elsewhere in (scores, -scores, np.zeros(len(y)), np.random.default_rng(seed).normal(size=len(y))):
            plane = oracles.exact_plane(gradient, result.offset, elsewhere)
            truth = oracles.exact_fractional(y, elsewhere, weights, p=p, r=r)
            assert plane <= truth + result.rounding * (1.0 + np.abs(elsewhere).max())


@pytest.fixture(scope="module")
def large_problem():
    rng = np.random.default_rng(2)
    y = np.where(rng.random(20_000) < 0.2, 1, -1)
    return y, np.round(rng.normal(size=20_000) + 0.4 * y - 0.3, 5)


@pytest.mark.parametrize("weighted", [False, True], ids=["unit", "weighted"])
@pytest.mark.parametrize("deviation", [0.1, 1e-2, 1e-3, 1e-4])
def test_many_rows_in_blocks_take_few_rounds_and_bytes(large_problem, deviation, weighted):
    y, scores = large_problem
    weights = np.random.default_rng(4).exponential(size=y.size) if weighted else None
    near = FBeta().bind(y, weights)
    risk, blocks = bound_in_blocks(FBeta(), y, weights, [5_000, 1, 10_000, 4_999])
    blocks.rounds.clear()
    mu = deviation / near.diameter
    result, expected = risk.smoothed(blocks.vectors.scattered(scores), mu), near.smoothed(scores, mu)
    assert result.value == pytest.approx(expected.value, rel=1e-13)
    gradient = blocks.vectors.gathered(result.gradient)
    assert np.abs(gradient - expected.gradient).sum() <= 1e-12 * np.abs(expected.gradient).sum()
    assert result.ceiling == pytest.approx(expected.ceiling, rel=1e-14)
    assert blocks.rounds.count("sort") == blocks.rounds.count("flip_smoothed") == 1
    assert blocks.rounds.count("answer") <= 8
    assert blocks.traffic < 2.5e6


def test_exact_risk_of_many_rows_takes_few_rounds_and_bytes(large_problem):
    y, scores = large_problem
    risk, blocks = bound_in_blocks(FBeta(), y, None, [5_000, 1, 10_000, 4_999])
    result, expected = risk.exact(blocks.vectors.scattered(scores)), FBeta().bind(y).exact(scores)
    np.testing.assert_array_equal(blocks.vectors.gathered(result.gradient), expected.gradient)
    assert result.value == pytest.approx(expected.value, rel=1e-14)
    assert blocks.rounds.count("answer") <= 3
    assert blocks.traffic < 3e5


def test_repeated_evaluations_are_bit_identical(large_problem):
    y, scores = large_problem
    risk, blocks = bound_in_blocks(FBeta(), y, None, [12_000, 8_000])
    f = blocks.vectors.scattered(scores)
    mu = 1e-2 / risk.diameter
    one = risk.smoothed(f, mu)
    risk.exact(blocks.vectors.scattered(-scores))
    other = risk.smoothed(f, mu)
    assert (one.value, one.offset, one.height, one.ceiling) == (other.value, other.offset, other.height, other.ceiling)
    np.testing.assert_array_equal(blocks.vectors.gathered(one.gradient), blocks.vectors.gathered(other.gradient))


def test_too_many_levels_are_too_many_in_blocks_as_well():
    y, scores = np.array([1, 1, 1, -1, -1, -1]), np.array([1.0, 1.0, 1.0, -1e3, -1e3, -1e3])
    near = Jaccard().bind(y)
    risk, blocks = with_few_groups(1, Jaccard(), y, None, [4, 2])
    expected = near.smoothed(scores, 1e-6 / near.diameter)
    assert expected.error > 0.0
    assert risk.smoothed(blocks.vectors.scattered(scores), 1e-6 / near.diameter).error == expected.error


def test_weights_are_those_of_the_rows_in_memory_only():
    weights = np.array([1.0, 2.0, 0.5])
    assert FBeta().bind([1, -1, 1], weights).weights is not None
    risk, _ = bound_in_blocks(FBeta(), np.array([1, -1, 1]), weights, [2, 1])
    assert risk.weights is None


@pytest.mark.parametrize(("n_blocks", "expected"), [(1, 2048), (2, 1024), (16, 128), (200, 32)])
def test_the_more_blocks_the_fewer_groups_of_each(n_blocks, expected):
    y = np.resize([1, -1], 2 * n_blocks)
    _, blocks = bound_in_blocks(FBeta(), y, None, [2] * n_blocks)
    asked = []

    class Noting(type(blocks._blocks[0])):
        def sort(self, scores, most):
            asked.append(most)
            return super().sort(scores, most)

    for block in blocks._blocks:
        block.__class__ = Noting
    risk = FBeta().bind_blocks(blocks)
    risk.exact_value(blocks.vectors.constant(0.5))
    assert asked == [expected] * n_blocks


# --- parts ------------------------------------------------------------------------------------------------------


def side_of(margins, weights=None):
    margins = np.array(margins, dtype=float)
    return sorted_side(margins, weights, np.empty(margins.size + 1), np.empty(margins.size + 1))


@searching
@given(seed=st.integers(0, 10**6), most=st.integers(1, 6))
def test_groups_cover_a_side(seed, most):
    rng = np.random.default_rng(seed)
    margins, weights = rng.integers(-4, 5, size=rng.integers(0, 30)) / 2.0, None
    if seed % 2:
        weights = rng.exponential(size=margins.size)
    low, high = np.sort(rng.integers(-4, 5, size=2))
    table = groups(side_of(margins, weights), Window(low, high), most).table
    c = np.ones(margins.size) if weights is None else weights
    assert table[2].sum() == pytest.approx(c.sum())
    assert table[3].sum() == pytest.approx(c @ margins)
    inside = (table[1] >= low) & (table[0] <= high)
    assert inside.sum() <= most
    assert ((table[0] >= low) & (table[1] <= high))[inside].all()
    assert table.shape[1] <= most + 2


def test_summary_without_equal_margins_is_not_exact():
    side = side_of([1.0, 2.0, 2.0, 5.0])
    assert not Summary([groups(side, Window(), 2)]).exact
    assert Summary([groups(side, Window(2.0, 2.0), 1)], Window(2.0, 2.0)).exact
    assert Summary([Groups(np.array([[1.0], [1.0], [3.0], [3.0]]), 0.0, 0.0)]).exact


def test_searches_that_creep_make_longer_steps():
    """Far narrower ramps than their distance: steps of Newton's method go from each to the next, thousands of them."""
    m = 4000
    sides = side_of(np.arange(m) + 1.0), side_of([1e9])
    loss = FractionalLoss(1.0, 1.0, 2.0 * m)
    levels, _, steps = level_sets(*sides, loss, 2.0 / m, 1e-6, 1e3, 64)
    assert steps < 100
    np.testing.assert_allclose(levels[3], levels[0] / 64, rtol=0, atol=1e-9)  # each level is attained


def test_searches_with_sums_from_elsewhere_find_the_same_levels():
    rng = np.random.default_rng(0)
    sides = side_of(rng.normal(size=300) + 1.0), side_of(rng.normal(size=700) + 1.0)
    loss, count, width = FractionalLoss(1.0, 1.0, 600.0), 256, 0.1
    levels, _, _ = level_sets(*sides, loss, 2e-3, width, 1e-2, count)
    search = LevelSearch(levels[0].copy(), np.zeros(levels.shape[1]), loss, 2e-3, width, count, *(s.top for s in sides))
    while search.advance(*(flip_sums(side, z, width) for side, z in zip(sides, search.places(), strict=True))):
        pass
    np.testing.assert_allclose(search.levels[:4], levels[:4], rtol=1e-12)
