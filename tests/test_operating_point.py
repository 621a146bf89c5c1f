"""The threshold: as much weight above it as was asked for, as far as ties allow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smoothperf.operating_point import threshold_for_weight

searching = settings(deadline=None, max_examples=200, derandomize=True)


def weight_above(scores, weights, threshold):
    c = np.ones(len(scores)) if weights is None else weights
    return c[scores > threshold].sum()


def best_possible(scores, weights, wanted):
    """Try a cut below each score and one above all."""
    return min(abs(weight_above(scores, weights, cut) - wanted) for cut in [-np.inf, *scores])


def check(scores, weights, wanted):
    threshold = threshold_for_weight(scores, weights, wanted)
    assert type(threshold) is float
    reached = weight_above(scores, weights, threshold)
    size = len(scores) if weights is None else weights.sum()
    assert abs(reached - wanted) <= best_possible(scores, weights, wanted) + 1e-12 * size
    return threshold


@searching
@given(
    scores=st.lists(st.one_of(st.integers(-3, 3).map(float), st.floats(-1e8, 1e8)), min_size=1, max_size=12),
    share=st.floats(0.0, 1.0),
)
def test_the_weight_above_is_as_close_as_ties_allow(scores, share):
    scores = np.array(scores)
    scores.flags.writeable = False
    check(scores, None, share * len(scores))
    check(scores, None, float(round(share * len(scores))))


@searching
@given(
    data=st.data(),
    scores=st.lists(st.integers(-2, 2).map(float), min_size=1, max_size=10),
    share=st.floats(0.0, 1.0),
)
def test_the_same_with_weights(data, scores, share):
    weight = st.sampled_from([0.0, 0.3, 1.0, 2.5])
    weights = np.array(data.draw(st.lists(weight, min_size=len(scores), max_size=len(scores))))
    scores = np.array(scores)
    scores.flags.writeable = weights.flags.writeable = False
    check(scores, weights, share * weights.sum())


@pytest.mark.parametrize("k", range(1, 5))
def test_it_lies_midway_between_neighbours(k):
    scores = np.array([4.0, -1.0, 2.0, 7.0, 0.0])
    ordered = np.sort(scores)[::-1]
    assert threshold_for_weight(scores, None, float(k)) == (ordered[k - 1] + ordered[k]) / 2


def test_everything_or_nothing():
    scores = np.array([1.0, 2.0, 2.0, 5.0])
    assert threshold_for_weight(scores, None, 4.0) < 1.0
    assert threshold_for_weight(scores, None, 0.0) >= 5.0
    assert weight_above(scores, None, threshold_for_weight(scores, None, 100.0)) == 4
    assert weight_above(scores, None, threshold_for_weight(scores, None, -1.0)) == 0


@pytest.mark.parametrize("level", [1.0, -1.0, 0.1, -0.3, 1e-300, 12345.678, 1e300, 0.0])
@pytest.mark.parametrize("ulps", [1, 2, 3])
def test_neighbours_that_are_adjacent_numbers(level, ulps):
    """Halving their distance rounds to one of them; it must be the lower one."""
    for _ in range(4):
        upper = level
        for _ in range(ulps):
            upper = np.nextafter(upper, np.inf)
        scores = np.array([level, upper, level - 1.0, upper])
        threshold = check(scores, None, 2.0)
        assert level <= threshold < upper
        level = np.nextafter(level, np.inf)


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1e8, 1e307])
def test_every_scale(scale):
    scores = scale * np.array([3.0, -2.0, 1.0, 0.5, -7.0])
    for k in range(6):
        threshold = check(scores, None, float(k))
        assert np.isfinite(threshold)
        assert weight_above(scores, None, threshold) == k


def test_constant_scores_are_all_or_nothing():
    scores = np.full(5, 0.25)
    assert weight_above(scores, None, check(scores, None, 2.0)) == 0
    assert weight_above(scores, None, check(scores, None, 3.0)) == 5


def test_zero_and_negative_zero_are_tied():
    scores = np.array([0.0, -0.0, 1.0])
    assert weight_above(scores, None, check(scores, None, 1.0)) == 1
    assert weight_above(scores, None, check(scores, None, 2.9)) == 3
