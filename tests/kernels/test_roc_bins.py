"""The steps of the sums over pairs by bins, each against its twin in NumPy.

``test_binned_pairs`` holds what they make together to all pairs, and planes to rational arithmetic.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twins
from problems import frozen, random_scored, searching
from smoothperf.kernels import _roc_bins

EPS = np.finfo(np.float64).eps
seeds = st.integers(0, 10**6)


def in_bins(seed, n, ramps):
    """Rows, or none as a member of a group may have; the grid that they are put on, and the number of its bins."""
    rng = np.random.default_rng(seed)
    problem = random_scored(seed, n=n or None, scales=(-3, 0), most=60)
    rows = problem.scores, problem.positive, problem.weights
    margin = float(rng.choice([1.0, 0.0, -0.5]))
    width = (problem.reach(margin) or 1.0) / ramps
    low = problem.scores.min()
    bins = int(problem.reach(margin) / width) + 2
    if n == 0:
        rows = tuple(None if column is None else column[:0] for column in rows)
    return rng, rows, (margin - min(low, low + margin), -margin, width), bins  # nothing is left of 0


number_of_rows = st.sampled_from([None, 0, 1100])
number_of_ramps = st.sampled_from([0.3, 1.0, 7.3, 64.0])


@searching(30)
@given(seed=seeds, pieces=st.integers(1, 3), n=number_of_rows, ramps=number_of_ramps)
def test_moments(seed, pieces, n, ramps):
    _, rows, grid, bins = in_bins(seed, n, ramps)
    span = (rows[0].min(), rows[0].max()) if len(rows[0]) else (0.0, 1.0)
    found, expected = np.full((2, 2 * pieces, bins, 2, 4), np.nan)
    ends = _roc_bins.bin_moments(*rows, *grid, *span, found)
    assert ends == twins.bin_moments(*rows, *grid, *span, expected)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12, atol=0.0)
    if len(rows[0]):
        # A score that there is no bin for is noticed, wherever it is.
        for short in ((span[0] + 1.0, span[1]), (span[0], span[1] - 1.0)):
            assert _roc_bins.bin_moments(*rows, *grid, *short, found) == ends


def moments_of(rng, bins, width):
    """Moments of a few examples in each bin; many bins are empty, or have one class."""
    moments = np.zeros((1, bins, 2, 4))
    n = int(rng.integers(1, 40))
    place, label = rng.integers(0, bins, size=n), rng.integers(0, 2, size=n)
    x = width * rng.choice([rng.random(n), np.zeros(n)])
    c = rng.choice([np.ones(n), 10.0 ** rng.integers(-6, 7, size=n), rng.integers(0, 2, size=n)])
    np.add.at(moments[0], (place, label), np.column_stack([c, c * x, c * x**2, np.ones(n)]))
    return frozen(moments[0])


@searching(50)
@given(seed=seeds, bins=st.integers(1, 40), r=st.sampled_from([1, 2, 3, 4, 16, 100]), width=st.sampled_from([0.1, 1e6]))
def test_lines(seed, bins, r, width):
    moments = moments_of(np.random.default_rng(seed), bins, width)
    lines, expected_lines = np.full((2, bins, 2, 2), np.nan)
    found = _roc_bins.bin_lines(moments, width, r, lines)
    expected = twins.bin_lines(moments, width, r, expected_lines)
    negatives, positives = moments[:, 0, 0].sum(), moments[:, 1, 0].sum()
    # Windows slide over bins, with errors relative to what has been in them.
    off = 64 * EPS * bins
    for label, others in ((0, positives), (1, negatives)):
        sizes = others * (1.0 + bins / r), others / (r * width)
        assert (np.abs(lines - expected_lines)[:, label] <= off * np.array(sizes)).all()
    pairs, (squares, ceiling, cornered, crowd) = negatives * positives, found
    assert squares == pytest.approx(expected[0], abs=off * (1.0 + bins / r) ** 2 * pairs)
    assert ceiling == pytest.approx(expected[1], abs=off * bins * width * pairs)
    assert cornered == pytest.approx(expected[2], abs=off * pairs)
    assert crowd == expected[3]


@searching(30)
@given(seed=seeds, pieces=st.integers(1, 3), n=number_of_rows, ramps=number_of_ramps, directed=st.booleans())
def test_gradient(seed, pieces, n, ramps, directed):
    rng, rows, grid, bins = in_bins(seed, n, ramps)
    scores, _, weights = rows
    lines, direction = frozen(rng.normal(size=(bins, 2, 2))), frozen(rng.normal(size=scores.size)) if directed else None
    gradient, expected_gradient = np.full((2, scores.size), np.nan)
    found = _roc_bins.bin_gradient(*rows, *grid, lines, -0.7, direction, gradient, pieces)
    expected = twins.bin_gradient(*rows, *grid, lines, -0.7, direction, expected_gradient, 1)
    c = (np.ones(scores.size) if weights is None else weights) * 5.0 * (1.0 + grid[2])
    assert (np.abs(gradient - expected_gradient) <= 16 * EPS * c).all()
    sizes = c.sum(), c @ np.abs(scores), c.sum() if direction is None else c @ np.abs(direction)
    for one, other, size in zip(found, expected, sizes, strict=True):
        assert one == pytest.approx(other, abs=1e-12 * size)
