"""Thresholds: as much weight above as was asked for, as far as ties allow; the steady cut; the same in groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import oracles
from groups import parts, run_group
from problems import searching
from smoothperf.communicator import ALONE
from smoothperf.cuts import steady
from smoothperf.cuts.threshold_search import Ordering

in_groups = searching(20)


def steady_cut(scores, positive, weights, loss, communicator=ALONE):
    return steady.steady_cut(communicator.version(Ordering)(scores, weights), positive, loss)


def weight_above(scores, weights, threshold):
    c = np.ones(len(scores)) if weights is None else weights
    return c[scores > threshold].sum()


def best_possible(scores, weights, wanted):
    """Try a cut below each score and one above all."""
    return min(abs(weight_above(scores, weights, cut) - wanted) for cut in [-np.inf, *scores])


def check(scores, weights, wanted):
    threshold = Ordering(scores, weights).threshold(wanted)
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
    assert Ordering(scores, None).threshold(float(k)) == (ordered[k - 1] + ordered[k]) / 2


def test_everything_or_nothing():
    scores = np.array([1.0, 2.0, 2.0, 5.0])
    assert Ordering(scores, None).threshold(4.0) < 1.0
    assert Ordering(scores, None).threshold(0.0) >= 5.0
    assert weight_above(scores, None, Ordering(scores, None).threshold(100.0)) == 4
    assert weight_above(scores, None, Ordering(scores, None).threshold(-1.0)) == 0


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
    assert Ordering(scores, weights).threshold(1.0) == 1.5
    assert Ordering(scores, weights).threshold(0.0) == 4.5
    assert Ordering(scores, weights).threshold(2.0) < 1.0


# --- the steady cut ---------------------------------------------------------------------------------------------


def losses(positive, weights):
    """Losses by name, of weights above a cut: F-beta, Jaccard, and costs."""
    c = np.ones(len(positive)) if weights is None else weights
    p, n = float(c[positive].sum()), float(c[~positive].sum())
    return {
        "f1": lambda hits, false: 1.0 - 2.0 * hits / (p + hits + false),
        "f2": lambda hits, false: 1.0 - 5.0 * hits / (4.0 * p + hits + false),
        "jaccard": lambda hits, false: 1.0 - hits / (p + false),
        "error": lambda hits, false: (p - hits + false) / (p + n),
        "costs": lambda hits, false: 10.0 * (p - hits) + false,
        "balanced": lambda hits, false: (1.0 - hits / p + false / n) / 2.0,
    }


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

    def member(communicator):
        here = (None if column is None else column[slices[communicator.rank]].copy() for column in columns)
        return program(*here, communicator), len(communicator.rounds)

    results = run_group(len(lengths), member)
    assert len(set(results)) == 1
    return results[0]


@in_groups
@given(problem=cut_problems(), name=st.sampled_from(["f1", "f2", "jaccard", "error", "costs", "balanced"]))
def test_the_steady_cut(problem, name):
    """It is one of those next to the middle of the places that are close to the least loss, and never a bad one."""
    positive, scores, weights, lengths = problem
    loss = losses(positive, weights)[name]
    odds, cuts, places, closeness = oracles.steady_places(scores, positive, weights, loss)
    found = steady_cut(scores, positive, weights, loss)
    assert not np.isin(found, scores) or (np.nextafter(found, np.inf) == scores).any()

    least = cuts[:, 1].min()
    middle = closeness @ places / closeness.sum() if closeness.any() else odds(cuts[cuts[:, 1].argmin(), 0])
    c = np.ones(len(scores)) if weights is None else weights
    above = scores > found
    reached = loss(c[above & positive].sum(), c[above & ~positive].sum())
    assert reached <= 1.1 * least + 1e-11 * cuts[:, 1].max()
    falling = cuts[::-1]
    wanted = (cuts[0, 0] + 0.1 * min(c[positive].sum(), c[~positive].sum())) / (1.0 + np.exp(-places))
    wanted -= 0.05 * min(c[positive].sum(), c[~positive].sum())
    inside = [np.searchsorted(falling[:, 0], factor * wanted) for factor in (1.0 - 1e-9, 1.0 + 1e-9)]
    next_to_places = falling[inside[0][(inside[0] == inside[1]) & (inside[0] < len(falling))]]
    near = np.concatenate([next_to_places, cuts[cuts[:, 1] == least]])
    near = near[near[:, 1] <= 1.1 * least]
    assert abs(odds(c[above].sum()) - middle) <= np.abs(odds(near[:, 0]) - middle).min(initial=np.inf) + 1e-9

    there, rounds = in_group(
        lambda p, f, c, communicator: steady_cut(f, p, c, loss, communicator), lengths, *problem[:3]
    )
    assert there == found
    assert rounds <= 16


@pytest.mark.parametrize("ties", [False, True])
def test_the_steady_cut_of_many_scores_takes_few_rounds(ties):
    rng = np.random.default_rng(0)
    n = 300_000
    positive = rng.random(n) < 0.02
    scores = rng.standard_normal(n) + 1.5 * positive
    if ties:
        scores = np.where(rng.random(n) < 0.5, 0.0, np.round(scores, 3))
    loss = losses(positive, None)["f1"]
    found, rounds = in_group(
        lambda p, f, communicator: steady_cut(f, p, None, loss, communicator), [n // 3, 0, n - n // 3], positive, scores
    )
    assert found == steady_cut(scores, positive, None, loss)
    assert rounds <= 16


@searching(30)
@given(problem=cut_problems(), exponent=st.sampled_from([-300, -1, 1, 300]), name=st.sampled_from(["f1", "balanced"]))
def test_whole_weights_are_copies_and_their_unit_does_not_matter(problem, exponent, name):
    positive, scores, weights, _ = problem
    if weights is None:
        weights = np.arange(len(scores)) % 3 + 1.0
    found = steady_cut(scores, positive, weights, losses(positive, weights)[name])
    scaled = weights * 2.0**exponent
    assert found == steady_cut(scores, positive, scaled, losses(positive, scaled)[name])
    many, copied = (np.repeat(column, weights.astype(int)) for column in (positive, scores))
    above = steady_cut(copied, many, None, losses(many, None)[name])
    assert weights[scores > found].sum() == np.count_nonzero(copied > above)


@searching(30)
@given(data=st.data(), problem=cut_problems(), name=st.sampled_from(["f1", "f2", "jaccard", "error", "balanced"]))
def test_weights_of_every_size(data, problem, name):
    positive, scores, _, lengths = problem
    exponents = data.draw(st.lists(st.integers(-40, 40), min_size=len(scores), max_size=len(scores)))
    weights = 10.0 ** np.array(exponents)
    loss = losses(positive, weights)[name]
    above = scores > steady_cut(scores, positive, weights, loss)
    taken = [scores >= level for level in [*scores, np.inf]]
    least = min(loss(weights[each & positive].sum(), weights[each & ~positive].sum()) for each in taken)
    assert loss(weights[above & positive].sum(), weights[above & ~positive].sum()) <= 1.1 * max(least, 0.0) + 1e-11
    there, _ = in_group(
        lambda p, f, c, communicator: steady_cut(f, p, c, loss, communicator), lengths, positive, scores, weights
    )
    assert np.isfinite(there)


@pytest.mark.parametrize("name", ["f1", "f2", "jaccard", "error", "costs", "balanced"])
@pytest.mark.parametrize("positives", [1, 7, 500, 993])
def test_separate_classes_are_cut_midway_between_them(name, positives):
    """Even where the classes' sizes, or the costs, would draw an average to one side."""
    scores = np.concatenate([np.linspace(0.0, 1.0, 1000 - positives), np.linspace(2.0, 9.0, positives)])
    positive = np.arange(1000) >= 1000 - positives
    assert steady_cut(scores, positive, None, losses(positive, None)[name]) == 1.5


def noisy(seed):
    """Labels and scores with many small groups of ties."""
    rng = np.random.default_rng(seed)
    positive = rng.random(2000) < 0.15
    return positive, np.round(rng.normal(size=2000) + 1.2 * positive, 2) + 3.0


@pytest.mark.parametrize("name", ["f1", "jaccard", "error", "balanced"])
@pytest.mark.parametrize("seed", range(5))
def test_rounding_and_the_order_of_rows_move_it_little(name, seed):
    """Not further than closeness moves its mean, and the two cuts that are next to it, with their ties, lie apart."""
    positive, scores = noisy(seed)
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(4):
        order = rng.permutation(2000)
        p, f = positive[order], (scores * (1.0 + 1e-12 * rng.uniform(-1.0, 1.0, 2000)))[order]
        loss = losses(p, None)[name]
        odds, _, places, closeness = oracles.steady_places(f, p, None, loss)
        share = closeness / closeness.sum()
        found.append((odds(np.count_nonzero(f > steady_cut(f, p, None, loss))), share))
    for place, share in found:
        ends = places[(share > 0.0) | (found[0][1] > 0.0)]
        moved = np.ptp(ends) / 2.0 * np.abs(share - found[0][1]).sum()
        assert abs(place - found[0][0]) <= moved + 2.0 / 32.0


def test_noise_in_scores_moves_f1_on_new_rows_less_than_half_as_much_as_with_the_best_cut():
    """Means over problems: a hundredth of the scores' standard deviation, and F1 of known distributions."""
    rng = np.random.default_rng(0)
    rate, places = 0.1, np.linspace(-4.0, 7.0, 200)
    spreads, f1s = [], []
    for distance in np.repeat([1.0, 1.5, 2.0, 2.5], 10):
        positive = rng.random(1000) < rate
        scores = rng.normal(size=1000) + distance * positive
        hits, false = rate * norm.sf(places - distance), (1.0 - rate) * norm.sf(places)
        f1 = 2.0 * hits / (rate + hits + false)
        loss, found = losses(positive, None)["f1"], []
        for _ in range(8):
            known = scores + 0.01 * scores.std() * rng.normal(size=1000)
            order = known.argsort()[::-1]
            best = known[order][loss(positive[order].cumsum(), (~positive[order]).cumsum()).argmin()]
            found.append([best, steady_cut(known, positive, None, loss)])
        reached = np.interp(found, places, f1)
        spreads.append(np.ptp(reached, axis=0))
        f1s.append(reached.mean(axis=0))
    (best_spread, spread), (best_f1, steady_f1) = np.mean(spreads, axis=0), np.mean(f1s, axis=0)
    assert spread <= 0.4 * best_spread
    assert steady_f1 >= best_f1


@pytest.mark.parametrize("name", ["error", "balanced"])
def test_labels_and_scores_that_are_reversed_are_cut_at_the_same_place(name):
    for seed in range(5):
        positive, scores = noisy(seed)
        scores = scores + 1e-6 * np.random.default_rng(seed).random(2000)  # no ties
        above = np.count_nonzero(scores > steady_cut(scores, positive, None, losses(positive, None)[name]))
        reversed_cut = steady_cut(-scores, ~positive, None, losses(~positive, None)[name])
        below = np.count_nonzero(-scores > reversed_cut)
        assert abs(above + below - 2000) <= 2000 / 4 / 32 + 1


# --- groups -----------------------------------------------------------------------------------------------------


@in_groups
@given(problem=cut_problems(), share=st.floats(-0.1, 1.2), whole=st.booleans())
def test_thresholds_and_levels_in_groups_are_those_in_memory(problem, share, whole):
    _, scores, weights, lengths = problem
    wanted = share * (len(scores) if weights is None else weights.sum())
    wanted = float(round(wanted)) if whole else wanted
    found, rounds = in_group(
        lambda f, c, communicator: (
            communicator.version(Ordering)(f, c).threshold(wanted),
            communicator.version(Ordering)(f, c).level(wanted),
        ),
        lengths,
        scores,
        weights,
    )
    assert found == (Ordering(scores, weights).threshold(wanted), Ordering(scores, weights).level(wanted))
    assert rounds <= 12


@in_groups
@given(problem=cut_problems(), share=st.floats(0.01, 0.99))
def test_places_at_the_level_go_to_the_first_members(problem, share):
    _, scores, weights, lengths = problem
    wanted = share * (len(scores) if weights is None else weights.sum())
    slices = parts(len(scores), lengths)

    def member(communicator):
        f = scores[slices[communicator.rank]]
        c = None if weights is None else weights[slices[communicator.rank]]
        return communicator.version(Ordering)(f, c).heaviest(wanted)

    expected = Ordering(scores, weights).heaviest(wanted)
    found = np.concatenate(run_group(len(lengths), member))
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-13)
    c = np.ones(len(scores)) if weights is None else weights
    assert c @ found == pytest.approx(wanted, rel=1e-13)
