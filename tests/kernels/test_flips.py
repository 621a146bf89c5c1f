"""Kernels of F-beta and the Jaccard index, each against its twin in NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twins
from problems import random_scored, searching
from smoothperf.kernels._best_flips import best_flips, prefix_sums
from smoothperf.kernels._flips import flip_along, ramp_table
from smoothperf.kernels._levels import level_sets, ramp_masses
from smoothperf.measures.flips import FractionalLoss, sorted_side, step_table

LOSSES = {"f1": (1.0, 1.0), "f2": (4.0, 1.0), "f0.1": (0.01, 1.0), "jaccard": (1.0, 0.0)}
every_loss = pytest.mark.parametrize(("p", "r"), LOSSES.values(), ids=LOSSES.keys())


def flips_below(margins, cut, share):
    """The flips that ``flip_along`` makes of the margins of one class with a ``step_table``."""
    return np.where(margins < cut, 1.0, np.where(margins == cut, share, 0.0))


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


@searching(20)
@given(seed=st.integers(0, 10**6))
def test_thresholds_flip_what_their_twin_does(seed):
    rng = np.random.default_rng(seed)
    scores, positive, weights = random_rows(rng)
    cuts, shares = rng.integers(-2, 3, size=2) / 2.0, rng.random(2)
    gradient = np.full(scores.size, np.nan)
    tables = [step_table(*threshold) for threshold in zip(cuts, shares, strict=True)]
    inner = flip_along(scores, positive.view(np.uint8), weights, *tables, 0.25, gradient)
    expected, sum_of_all = expected_gradient(
        scores, positive, weights, 0.25, lambda x, label: flips_below(x, cuts[label], shares[label])
    )
    np.testing.assert_allclose(gradient, expected, rtol=1e-15)
    assert inner == pytest.approx(sum_of_all, rel=1e-12, abs=1e-12 * (1.0 + np.abs(scores).sum()))


@searching(20)
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
    inner = flip_along(scores, positive.view(np.uint8), weights, *tables, 0.25, gradient)
    expected, sum_of_all = expected_gradient(
        scores, positive, weights, 0.25, lambda x, label: twins.flips_along(x, *ramps[label], width)
    )
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-12 * (1.0 if weights is None else 20.0))
    assert inner == pytest.approx(sum_of_all, rel=1e-9, abs=1e-11 * (1.0 + np.abs(scores).sum()))


@searching(20)
@given(seed=st.integers(0, 10**6))
def test_prefix_sums(seed):
    """Over nothing too; mass is left alone without weights."""
    rng = np.random.default_rng(seed)
    scores, _, weights = random_rows(rng)
    x = np.sort(scores)
    found, expected = np.full((2, 3, x.size + 1), np.nan)
    for module_sums, (mass, first, second) in ((prefix_sums, found), (twins.prefix_sums, expected)):
        module_sums(x, weights, None if weights is None else mass, first, second)
    sizes = np.cumsum([np.ones_like(x), np.abs(x), x**2], axis=1).max(axis=1, initial=0.0)
    for one, other, size in zip(found, expected, sizes, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * size * (1.0 if weights is None else 20.0))


def side_of(margins, weights=None):
    margins = np.array(margins, dtype=float)
    return sorted_side(margins, weights, np.empty(margins.size + 1), np.empty(margins.size + 1))


def both_sides(problem):
    """Margins of positives and of negatives, sorted, and of all."""
    margins, weights = problem.y * problem.scores, problem.weights
    return [side_of(margins[m], None if weights is None else weights[m]) for m in (problem.y == 1, problem.y == -1)], (
        margins,
        problem.y == 1,
        problem.c,
    )


@every_loss
@searching(20)
@given(seed=st.integers(0, 10**6), steep=st.sampled_from([0.1, 2.0, 50.0]))
def test_best_flips(p, r, seed, steep):
    problem = random_scored(seed, most=25, scales=(-8, -1, 0, 3))
    sides, rows = both_sides(problem)
    loss, slope = FractionalLoss(p, r, (p + r) * problem.masses[0]), steep / problem.c.sum()
    value, missed, false, _ = best_flips(*sides, loss, slope)
    size = 1.0 + steep * np.abs(problem.scores).max()
    assert value == pytest.approx(twins.fractional_best(*rows, loss, slope), abs=1e-12 * size)
    # The flips that it names are worth that.
    cost = 0.0
    for side, weight in zip(sides, (missed, false), strict=True):
        mass = np.arange(side.x.size + 1.0) if side.mass is None else side.mass
        cost += np.interp(weight, mass, side.first)
    assert loss.at(missed, false) - slope * cost == pytest.approx(value, abs=1e-11 * size)
    # Whole examples are missed.
    assert missed == round(missed) if sides[0].mass is None else missed in sides[0].mass


def test_best_flips_of_nothing():
    """No examples of a class, or none at all, as a member of a group may have."""
    loss = FractionalLoss(1.0, 1.0, 2.0)
    for positives, negatives in (([], []), ([-1.0], []), ([], [-1.0, 2.0])):
        margins, positive = np.array(positives + negatives), np.arange(len(positives + negatives)) < len(positives)
        expected = twins.fractional_best(margins, positive, np.ones(margins.size), loss, 0.5)
        assert best_flips(side_of(positives), side_of(negatives), loss, 0.5)[0] == pytest.approx(expected)


@every_loss
@searching(6)
@given(seed=st.integers(0, 10**6), width=st.sampled_from([0.05, 1.0]))
def test_level_sets(p, r, seed, width):
    problem = random_scored(seed, most=15, scales=(-3, 0), weights=("none", "whole", "real"))
    sides, (margins, positive, c) = both_sides(problem)
    loss, slope, nu = FractionalLoss(p, r, (p + r) * problem.masses[0]), 2.0 / problem.c.sum(), 0.05
    value, _, _, levels, _ = level_sets(*sides, loss, slope, width, nu, 64)
    expected, beta = twins.fractional_levels(margins, positive, c, loss, slope, width, nu, 64)
    size = 1.0 + np.abs(margins).max()
    assert value == pytest.approx(expected, abs=1e-11 * size)
    of_negatives, of_positives = (twins.flips_along(margins, z, levels[2], width) for z in levels[3:])
    np.testing.assert_allclose(np.where(positive, of_positives, of_negatives)[c > 0], beta[c > 0], rtol=0, atol=1e-8)


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


@searching(20)
@given(seed=st.integers(0, 10**6), width=st.sampled_from([1e-3, 0.5, 10.0]))
def test_masses_of_ramps_are_those_of_their_twin_or_a_little_less(seed, width):
    rng = np.random.default_rng(seed)
    margins, z = rng.normal(size=rng.choice([0, 1, 30, 800])), np.sort(rng.normal(size=5))
    weights = rng.exponential(size=margins.size) if seed % 2 else None
    side = sorted_side(margins.copy(), weights, np.empty(margins.size + 1), np.empty(margins.size + 1))
    c = np.ones(margins.size) if weights is None else weights
    expected = np.array([c @ twins.flips_along(margins, np.array([place]), np.ones(1), width) for place in z])
    masses = ramp_masses(side, z, width)
    np.testing.assert_allclose(masses, expected, rtol=1e-9, atol=1e-9)
    assert (masses <= expected * (1.0 + 1e-14)).all()


def test_levels_of_a_class_without_examples_are_refused():
    with pytest.raises(ValueError, match="positives has length 0 where at least 1 is needed"):
        level_sets(side_of([]), side_of([1.0]), FractionalLoss(1.0, 1.0, 2.0), 1.0, 0.1, 0.01, 64)
