"""Thresholds: as much weight above as was asked for, as far as ties allow; the best cut; the same in groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups import parts, run_group
from problems import searching
from smoothperf.measures.threshold_search import best_cut, filled, level_of, room_for_ties, threshold_for_weight

in_groups = searching(20)


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


@searching(50)
@given(
    scores=st.lists(st.one_of(st.integers(-3, 3).map(float), st.floats(-1e8, 1e8)), min_size=1, max_size=12),
    share=st.floats(0.0, 1.0),
)
def test_the_weight_above_is_as_close_as_ties_allow(scores, share):
    scores = np.array(scores)
    scores.flags.writeable = False
    check(scores, None, share * len(scores))
    check(scores, None, float(round(share * len(scores))))


@searching(50)
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


def test_scores_without_weight_are_below_the_cut_that_ties_with_others():
    """Cuts on either side of them leave the same weight above; the lowest of all is chosen."""
    scores = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    weights = np.array([0.0, 1.0, 0.0, 0.0, 1.0])
    assert threshold_for_weight(scores, weights, 1.0) == 1.5
    assert threshold_for_weight(scores, weights, 0.0) == 4.5
    assert threshold_for_weight(scores, weights, 2.0) < 1.0


# --- the best cut -----------------------------------------------------------------------------------------------


def f_score(positives, beta=1.0):
    return lambda hits, false: (1.0 + beta**2) * hits / (beta**2 * positives + hits + false)


def best_by_trying(scores, positive, weights, worth):
    """What the best of all cuts is worth."""
    c = np.ones(len(scores)) if weights is None else weights
    taken = [scores > cut for cut in [-np.inf, *scores]]
    return max(worth(c[above & positive].sum(), c[above & ~positive].sum()) for above in taken)


FEW_SCORES = [-1e300, -1.0, -0.5, 0.0, -0.0, 5e-324, 1e-300, 0.25, 1.0, float(np.nextafter(1.0, 2.0)), 7.0, 1e300]
SOME_SCORES = st.sampled_from(FEW_SCORES) | st.floats(-10.0, 10.0)


@st.composite
def cut_problems(draw, most=40):
    """Scores of every scale with ties, positives, weights and lengths of members, some of which are 0."""
    n = draw(st.integers(2, most))
    positive = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda y: 0 < sum(y) < len(y))))
    scores = np.array(draw(st.lists(SOME_SCORES, min_size=n, max_size=n)))
    weights = draw(st.none() | st.lists(st.integers(0, 4), min_size=n, max_size=n))
    if weights is not None:
        weights = np.array(weights, dtype=float)
        weights[positive.argmax()] = weights[positive.argmin()] = 1.0
    ends = sorted(draw(st.lists(st.integers(0, n), min_size=0, max_size=3)))
    return positive, scores, weights, np.diff([0, *ends, n])


def in_group(program, lengths, *columns):
    """Run a program on parts of columns; what all members say must be the same, to the last bit."""
    slices = parts(sum(lengths), lengths)

    def member(together):
        here = (None if column is None else column[slices[together.rank]].copy() for column in columns)
        return program(*here, together), len(together.rounds)

    results = run_group(len(lengths), member)
    assert len(set(results)) == 1
    return results[0]


@in_groups
@given(problem=cut_problems(), beta=st.sampled_from([0.5, 1.0, 2.0]))
def test_the_best_cut(problem, beta):
    positive, scores, weights, lengths = problem
    worth = f_score(float(positive.sum() if weights is None else weights[positive].sum()), beta)
    found = best_cut(scores, positive, weights, worth)
    c = np.ones(len(scores)) if weights is None else weights
    above = scores > found
    reached = worth(c[above & positive].sum(), c[above & ~positive].sum())
    assert reached == pytest.approx(best_by_trying(scores, positive, weights, worth), rel=1e-14)
    found_there, rounds = in_group(lambda p, f, c, together: best_cut(f, p, c, worth, together), lengths, *problem[:3])
    assert found_there == found
    assert rounds <= 14


@pytest.mark.parametrize("ties", [False, True])
def test_the_best_cut_of_many_scores_takes_few_rounds(ties):
    rng = np.random.default_rng(0)
    n = 300_000
    positive = rng.random(n) < 0.02
    scores = rng.standard_normal(n) + 1.5 * positive
    if ties:
        scores = np.where(rng.random(n) < 0.5, 0.0, np.round(scores, 3))
    worth = f_score(float(positive.sum()))
    found, rounds = in_group(
        lambda p, f, together: best_cut(f, p, None, worth, together), [n // 3, 0, n - n // 3], positive, scores
    )
    assert found == best_cut(scores, positive, None, worth)
    assert rounds <= 11


# --- groups -----------------------------------------------------------------------------------------------------


@in_groups
@given(problem=cut_problems(), share=st.floats(-0.1, 1.2), whole=st.booleans())
def test_thresholds_and_levels_in_groups_are_those_in_memory(problem, share, whole):
    _, scores, weights, lengths = problem
    wanted = share * (len(scores) if weights is None else weights.sum())
    wanted = float(round(wanted)) if whole else wanted
    found, rounds = in_group(
        lambda f, c, together: (threshold_for_weight(f, c, wanted, together), level_of(f, c, wanted, together)),
        lengths,
        scores,
        weights,
    )
    assert found == (threshold_for_weight(scores, weights, wanted), level_of(scores, weights, wanted))
    assert rounds <= 12


@in_groups
@given(problem=cut_problems(), share=st.floats(0.01, 0.99))
def test_places_at_the_level_go_to_the_first_members(problem, share):
    _, scores, weights, lengths = problem
    wanted = share * (len(scores) if weights is None else weights.sum())
    slices = parts(len(scores), lengths)

    def member(together):
        f = scores[slices[together.rank]]
        c = None if weights is None else weights[slices[together.rank]]
        level = level_of(f, c, wanted, together)
        return filled(f, c, level.at, room_for_ties(f, c, level, wanted, together))

    level = level_of(scores, weights, wanted)
    expected = filled(scores, weights, level.at, room_for_ties(scores, weights, level, wanted))
    found = np.concatenate(run_group(len(lengths), member))
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-13)
    c = np.ones(len(scores)) if weights is None else weights
    assert c @ found == pytest.approx(wanted, rel=1e-13)
