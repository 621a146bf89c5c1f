"""The steps of the projection onto the capped simplex, each against its twin in NumPy.

``tests/measures/test_projection.py`` holds what they make together to one twin of the whole.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twins
from problems import frozen, random_scored, searching
from smoothperf.kernels import _top_k

EPS = np.finfo(np.float64).eps
#: Scales that are powers of 2 round nothing, so that values at an end are there for both.
LINES = st.tuples(
    st.sampled_from([1.0, 0.5, 2.0**20, 2.0**-20]), st.sampled_from([0.0, 0.25, -3.0]), st.sampled_from([0.0, -1.0])
)
seeds = st.integers(0, 10**6)


def rows(seed, most=1100):
    """Scores that are halves and general ones; none at all, one class, many."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([0, 1, 2, 7, 8, 9, 511, 513, most]))
    scores = rng.integers(-4, 5, size=n) / 2.0 if rng.random() < 0.5 else rng.normal(size=n)
    positive = frozen(rng.random(n) < rng.choice([0.0, 0.3, 1.0]), np.uint8)
    weights = frozen(rng.integers(0, 4, size=n) / 4.0) if rng.random() < 0.5 else None
    return rng, frozen(scores), positive, weights


def some_of(rng, values):
    """One of the values, something between them, or something far away."""
    return float(rng.choice([*values[:20], *rng.normal(size=5), -1e300, 1e300]))


@searching(40)
@given(seed=seeds, line=LINES, pieces=st.integers(1, 3))
def test_collect(seed, line, pieces):
    rng, scores, positive, weights = rows(seed)
    scale, shift, step = line
    low, high = sorted(some_of(rng, scale * scores + shift + step * positive) for _ in range(2))
    (kept, other), (kept_weights, other_weights) = np.full((2, 2, len(scores)), np.nan)
    found, expected = (
        module.collect(scores, positive, weights, *line, low, high, *room, pieces)
        for module, room in ((_top_k, (kept, kept_weights)), (twins, (other, other_weights)))
    )
    assert found == expected  # weights are quarters, so sums are exact
    for piece, (negatives, positives, _) in enumerate(found):
        begin, end = (len(scores) * k // pieces for k in (piece, piece + 1))
        for part in (slice(begin, begin + negatives), slice(end - positives, end)):
            np.testing.assert_allclose(kept[part], other[part], rtol=4 * EPS, atol=4 * EPS)
            if weights is not None:
                assert (kept_weights[part] == other_weights[part]).all()


@searching(40)
@given(seed=seeds, line=LINES, step=st.sampled_from([1, 2, 7, 1000]))
def test_sample(seed, line, step):
    _, scores, positive, _ = rows(seed)
    out, expected = np.full((2, -(-len(scores) // step)), np.nan)
    _top_k.sample(scores, positive, *line, step, out)
    twins.sample(scores, positive, *line, step, expected)
    np.testing.assert_allclose(out, expected, rtol=4 * EPS, atol=4 * EPS)


@searching(40)
@given(seed=seeds, scale=st.sampled_from([1.0, 1e-8, 1e8, 1e300]))
def test_sums_at(seed, scale):
    rng, scores, _, weights = rows(seed)
    values = scale * scores
    tau = some_of(rng, values)
    mass, lost, active = _top_k.sums_at(tau, values, weights)
    expected, left, inside = twins.sums_at(tau, values, weights)
    allowed = 64 * EPS * (1.0 + expected)
    assert mass + lost == pytest.approx(expected + left, abs=allowed)
    assert abs(lost) <= EPS * mass
    assert active == pytest.approx(inside, abs=64 * EPS * len(values))


def flips(values, search):
    """The verdict of a search on every value."""
    u = (1.0 - search.blend) * np.clip(values - search.tau, 0.0, 1.0)
    if search.blend > 0.0:
        u += search.blend * np.clip(values - search.other, 0.0, 1.0)
    return np.where((u > 0.0) & (u < 1.0), np.clip(u + search.correction, 0.0, 1.0), u)


def told(search, values, weights, above=0.0):
    """The search of a group: sums are made elsewhere."""
    go_on = True
    while go_on:
        mass, lost, active = twins.sums_at(search.tau, values, weights)
        go_on = search.tell(math.fsum((mass, lost, above, -search.total)), active)


@searching(60)
@given(seed=seeds, share=st.floats(0.02, 0.98), start=st.sampled_from([0.0, 0.7, -1e9, 1e300]))
def test_root_search(seed, share, start):
    """The two ends of a bracket share, where numbers are too coarse for u, what is left, so values with ties get it."""
    problem = random_scored(seed, most=60)
    values, weights, c = problem.scores, problem.weights, problem.c
    total = share * c.sum()
    size = 1.0 + np.abs(values).max()
    u = np.clip(values - twins.root(values, weights, total), 0.0, 1.0)
    for run in (lambda search: search.search(values, weights, 0.0), lambda search: told(search, values, weights)):
        search = _top_k.RootSearch(total, start, values.min() - 1.0, values.max(), True)
        run(search)
        assert search.outside == 0
        found = flips(values, search)
        assert c @ found == pytest.approx(total, rel=1e-12)
        if size < 1e6:
            np.testing.assert_allclose(
                found[c > 0.0], u[c > 0.0], rtol=0, atol=64 * EPS * size * c.max() / c[c > 0].min()
            )


@searching(40)
@given(seed=seeds, share=st.floats(0.02, 0.98), above=st.sampled_from([0.0, 0.5]))
def test_root_search_knows_on_which_side_of_an_interval_the_root_is(seed, share, above):
    problem = random_scored(seed, most=60, scales=(0, 1))
    rng = np.random.default_rng(seed)
    values, weights, c = problem.scores, problem.weights, problem.c
    total = share * c.sum() + above
    low, high = np.sort(rng.choice([*values, *rng.normal(size=3)], size=2, replace=False))
    search = _top_k.RootSearch(total, rng.normal(), low, high, False)
    search.search(values, weights, above)
    at_low, at_high = (sum(twins.sums_at(end, values, weights)[:2]) + above - total for end in (low, high))
    if abs(at_low) > 1e-9 * total and abs(at_high) > 1e-9 * total:
        assert search.outside == (-1 if at_low < 0.0 else 1 if at_high > 0.0 else 0)
        if search.outside == 0:
            assert c @ flips(values, search) + above == pytest.approx(total, rel=1e-12)
        else:
            assert search.tau == (low if search.outside < 0 else high)


@searching(40)
@given(seed=seeds, count=st.sampled_from([1, 2, 16, 256]), total=st.floats(0.0, 400.0))
def test_cells(seed, count, total):
    """Cells are open to the left; what is far away, however far, is above or nowhere."""
    rng, values, _, weights = rows(seed)
    if len(values) > 2:
        values = values.copy()
        values[:2] = 1e300, -1e300
    low = float(rng.integers(-5, 3)) / 2.0
    high = low + float(rng.choice([0.5, 1.0, 4.0]))
    cells, expected = np.full((2, count + 1), 0.5)
    _top_k.weigh_cells(values, weights, low, high, cells)
    twins.weigh_cells(values, weights, low, high, expected)
    assert (cells == expected).all()  # weights are quarters
    above = float(rng.integers(0, 3))
    found = _top_k.cut_of_cells(cells, above, total, low, high)
    assert found == pytest.approx(twins.cut_of_cells(cells, above, total, low, high), rel=1e-14)


@searching(40)
@given(seed=seeds, per_unit=st.sampled_from([1, 4, 128]), size=st.sampled_from([1, 2, 16, 500]))
def test_sums_of_cells_and_what_is_in_two_of_them(seed, per_unit, size):
    """The outermost cells are endless, and values come as they lie, with ones if there are no weights."""
    rng, values, _, weights = rows(seed)
    low = float(rng.integers(-5, 3)) / 2.0
    table, expected = np.full((2, 3, size), 0.5)
    _top_k.sum_cells(values, weights, low, per_unit, table)
    twins.sum_cells(values, weights, low, per_unit, expected)
    assert (table[:2] == expected[:2]).all()  # weights are quarters
    np.testing.assert_allclose(table[2], expected[2], rtol=1e-13, atol=1e-12 * per_unit)
    one, other = (int(cell) for cell in rng.integers(0, size, size=2))
    arguments = values, weights, low, per_unit, size, one, other
    kept, kept_weights, others, other_weights = np.full((4, len(values) + 1), np.nan)
    found = _top_k.pick_cells(*arguments, kept, kept_weights)
    assert found == twins.pick_cells(*arguments, others, other_weights)
    assert (kept[:found] == others[:found]).all()
    assert (kept_weights[:found] == other_weights[:found]).all()
    if found:
        with pytest.raises(ValueError, match="kept has length"):
            _top_k.pick_cells(*arguments, kept[:found], kept_weights)


@searching(40)
@given(seed=seeds, count=st.sampled_from([2, 16]))
def test_a_cut_is_as_close_to_the_best_as_it_says(seed, count):
    rng, values, _, weights = rows(seed, most=60)
    c = np.ones(len(values)) if weights is None else weights
    total, (low, high) = rng.uniform(0.0, 1.2) * c.sum(), np.sort(rng.normal(size=2))
    cells = np.zeros(count + 1)
    _top_k.weigh_cells(values, weights, low, high, cells)
    cut, looseness = _top_k.cut_of_cells(cells, 0.0, total, low, high)

    def bound(at):
        return c @ np.maximum(0.0, values - at) + total * at

    if looseness < np.inf:
        assert bound(cut) <= min(map(bound, values), default=0.0) + looseness + 1e-12 * (1.0 + c.sum())


@searching(50)
@given(seed=seeds, pieces=st.integers(1, 3), large=st.booleans(), data=st.data())
def test_finish(seed, pieces, large, data):
    """By the quick loops, and by the careful one, which is for large roots, corrections and blends."""
    rng, scores, positive, weights = rows(seed)
    scale, shift, shift_step = data.draw(LINES)
    tau = some_of(rng, scale * scores[:20] + shift) if large else rng.normal()
    tau = float(np.clip(tau, -1e9, 1e9))
    theta = tau + rng.normal()
    blend = data.draw(st.sampled_from([0.0, 0.0, 0.3]))
    correction = data.draw(st.sampled_from([0.0, 0.0, 1e-3, -0.2]))
    root = tau, correction, tau + 0.25, blend, theta
    direction = frozen(rng.normal(size=len(scores))) if data.draw(st.booleans()) else None
    gradient, expected_gradient = np.full((2, len(scores)), np.nan)
    line = scores, positive, weights, scale, shift, shift_step, 0.1, 0.4, 0.7, *root, direction
    found = _top_k.finish(*line, gradient, pieces)
    expected = twins.finish(*line, expected_gradient, 1)
    c = np.ones(len(scores)) if weights is None else weights
    # v is rounded before tau is taken off, or after.
    off = 16 * EPS * (8.0 + abs(tau) + scale * np.abs(scores).max(initial=0.0))
    assert (np.abs(gradient - expected_gradient) <= 0.7 * c * off).all()
    length = np.abs(scores).max(initial=0.0)
    x = 1.0 + abs(theta) + scale * length + 4.0
    q = 0.0 if direction is None else np.abs(direction).max(initial=0.0)
    for one, other, size in zip(found, expected, (1.0, 1.0, length, 1.0, x, q), strict=True):
        assert one == pytest.approx(other, abs=2.0 * (off + 512 * EPS) * max(size, EPS) * (c.sum() + EPS))
