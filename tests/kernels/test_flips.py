"""Kernels of F-beta, the Jaccard index and the contingency table, each against its twin in NumPy.

``best_flips`` and ``level_sets`` are held against theirs in ``test_fractional``, where labels and scores are.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smoothperf.kernels import reference
from smoothperf.kernels._best_flips import prefix_sums
from smoothperf.kernels._flips import flip_exact, flip_smoothed, ramp_table
from smoothperf.kernels._levels import level_sets, ramp_masses
from smoothperf.measures.flips import FractionalLoss, sorted_side

searching = settings(deadline=None, max_examples=60, derandomize=True)


def random_rows(rng):
    """Ties, general position and large numbers; one class at times, or no rows at all."""
    n = int(rng.choice([0, 1, 5, 40, 1500]))
    scores = rng.choice([rng.integers(-3, 4, size=n) / 2.0, rng.normal(size=n), 1e6 * rng.normal(size=n)])
    positive = rng.random(n) < rng.choice([0.0, 0.3, 1.0])
    return scores, positive, rng.exponential(size=n) if rng.random() < 0.5 else None


def expected_gradient(scores, positive, weights, slope, beta_of):
    """``-slope c y beta`` and ``sum c x beta``, from the flips of the margins of a class."""
    x = np.where(positive, scores, -scores)
    beta = np.where(positive, beta_of(x, 1), beta_of(x, 0))
    weighted = beta if weights is None else weights * beta
    return -slope * np.where(positive, 1.0, -1.0) * weighted, float(x @ weighted)


@searching
@given(seed=st.integers(0, 10**6))
def test_thresholds_flip_what_their_twin_does(seed):
    rng = np.random.default_rng(seed)
    scores, positive, weights = random_rows(rng)
    cuts, shares = rng.integers(-2, 3, size=2) / 2.0, rng.random(2)
    gradient = np.full(scores.size, np.nan)
    inner = flip_exact(scores, positive.view(np.uint8), weights, cuts, shares, 0.25, gradient)
    expected, sum_of_all = expected_gradient(
        scores, positive, weights, 0.25, lambda x, label: reference.flips_below(x, cuts[label], shares[label])
    )
    np.testing.assert_allclose(gradient, expected, rtol=1e-15)
    assert inner == pytest.approx(sum_of_all, rel=1e-12, abs=1e-12 * (1.0 + np.abs(scores).sum()))


@searching
@given(seed=st.integers(0, 10**6), width=st.sampled_from([1e-3, 0.5, 10.0, 1e6]))
def test_ramps_flip_what_their_twin_does(seed, width):
    rng = np.random.default_rng(seed)
    scores, positive, weights = random_rows(rng)
    ramps = []
    for m in rng.integers(1, 30, size=2):
        z, shares = rng.choice([rng.normal(size=m), rng.integers(-1, 2, size=m) + 0.0]), rng.exponential(size=m)
        ramps.append((z, shares / shares.sum()))
    tables = [ramp_table(z, shares, width) for z, shares in ramps]
    for table in tables:
        assert (np.diff(table[0]) >= 0.0).all()
    gradient = np.full(scores.size, np.nan)
    inner = flip_smoothed(scores, positive.view(np.uint8), weights, *tables, 0.25, gradient)
    expected, sum_of_all = expected_gradient(
        scores, positive, weights, 0.25, lambda x, label: reference.flips_along(x, *ramps[label], width)
    )
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-12 * (1.0 if weights is None else 20.0))
    assert inner == pytest.approx(sum_of_all, rel=1e-9, abs=1e-11 * (1.0 + np.abs(scores).sum()))


@pytest.mark.parametrize("weighted", [False, True])
def test_prefix_sums_are_those_of_numpy(weighted):
    rng = np.random.default_rng(0)
    x, c = np.sort(rng.normal(size=50)), rng.exponential(size=50)
    mass, first, second = np.empty((3, 51))
    prefix_sums(x, c if weighted else None, mass if weighted else None, first, second)
    c = c if weighted else np.ones(50)
    for found, terms in ((mass if weighted else np.arange(51.0), c), (first, c * x), (second, c * x * x)):
        np.testing.assert_allclose(found, np.append(0.0, np.cumsum(terms)), rtol=1e-13, atol=1e-14)


def side_of(margins):
    margins = np.array(margins, dtype=float)
    return sorted_side(margins, None, np.empty(margins.size + 1), np.empty(margins.size + 1))


def test_searches_that_creep_make_longer_steps():
    """Far narrower ramps than their distance: steps of Newton's method go from each to the next, thousands of them."""
    m = 4000
    sides = side_of(np.arange(m) + 1.0), side_of([1e9])
    *_, levels, steps = level_sets(*sides, FractionalLoss(1.0, 1.0, 2.0 * m), 2.0 / m, 1e-6, 1e3, 64)
    assert steps < 100
    np.testing.assert_allclose(levels[1], levels[0] / 64, rtol=0, atol=1e-9)  # each level is attained


def test_shares_of_levels_are_those_of_the_soft_maximum():
    rng = np.random.default_rng(0)
    sides = side_of(rng.normal(size=300) + 1.0), side_of(rng.normal(size=700) + 1.0)
    value, offset, wobble, levels, _ = level_sets(*sides, FractionalLoss(1.0, 1.0, 600.0), 2e-3, 0.1, 1e-2, 256)
    assert levels[2].sum() == pytest.approx(1.0)
    assert (np.diff(levels[0]) > 0.0).all()
    assert offset == pytest.approx(levels[2] @ levels[1])
    assert 0.0 < wobble < 1e-12
    assert value > offset - 1.0


@searching
@given(seed=st.integers(0, 10**6), width=st.sampled_from([1e-3, 0.5, 10.0]))
def test_masses_of_ramps_are_those_of_their_twin_or_a_little_less(seed, width):
    rng = np.random.default_rng(seed)
    margins, z = rng.normal(size=rng.choice([0, 1, 30, 800])), np.sort(rng.normal(size=5))
    weights = rng.exponential(size=margins.size) if seed % 2 else None
    side = sorted_side(margins.copy(), weights, np.empty(margins.size + 1), np.empty(margins.size + 1))
    c = np.ones(margins.size) if weights is None else weights
    expected = np.array([c @ reference.flips_along(margins, np.array([place]), np.ones(1), width) for place in z])
    masses = ramp_masses(side, z, width)
    np.testing.assert_allclose(masses, expected, rtol=1e-9, atol=1e-9)
    assert (masses <= expected * (1.0 + 1e-14)).all()


def test_levels_of_a_class_without_examples_are_refused():
    with pytest.raises(ValueError, match="positives has length 0 where at least 1 is needed"):
        level_sets(side_of([]), side_of([1.0]), FractionalLoss(1.0, 1.0, 2.0), 1.0, 0.1, 0.01, 64)
