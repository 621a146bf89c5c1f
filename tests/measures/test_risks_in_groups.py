"""Risks of examples in several processes: the same as in memory, whatever is where; and few rounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups import examples_of, parts, run_group
from problems import WEIGHTS, member_lengths, randomly_scored, searching
from smoothperf.measures import (
    AveragePrecision,
    BalancedErrorRate,
    ErrorRate,
    LogLoss,
    PartialROCArea,
    ROCArea,
    SquaredHinge,
    roc_area,
)
from smoothperf.measures import bins as roc_bins
from smoothperf.optimise.smoothing import mu_for

EPS = np.finfo(np.float64).eps
PAIRS = [ROCArea(), AveragePrecision(), PartialROCArea(1.0)]
PARTIAL = [PartialROCArea(0.3), PartialROCArea(0.05)]
BY_THEMSELVES = [ErrorRate(3.0, 1.0), BalancedErrorRate(), LogLoss(), SquaredHinge()]
every_measure = pytest.mark.parametrize("measure", [*PAIRS, *PARTIAL, *BY_THEMSELVES], ids=repr)
all_but_partial = pytest.mark.parametrize("measure", [*PAIRS, *BY_THEMSELVES], ids=repr)


@st.composite
def split_problems(draw, scales=(-6, 0, 1, 6)):
    """Labels, scores, weights and parts: members with one class and with nothing too."""
    problem = draw(randomly_scored(40, scales=scales, weights=(*WEIGHTS, "alike")))
    n = len(problem.y)
    return *problem, parts(n, draw(member_lengths(n)))


def in_group(measure, y, weights, slices, program):
    """The results of a program of the risk and the part of every member, by rank."""

    def member(communicator):
        part = slices[communicator.rank]
        return program(measure.risk(examples_of(y, weights, part, communicator)), part)

    return run_group(len(slices), member)


def numbers(result):
    """All that is the same for everybody."""
    plane = result.plane
    return plane.offset, plane.rounding, result.value, result.height, result.exact, result.hint, result.derivative


def joined(results):
    """The numbers that everybody has, with the same bits, and the gradient of all."""
    assert len({repr(numbers(result)) for result in results}) == 1
    return results[0], np.concatenate([result.plane.gradient for result in results])


def assert_same(results, near, scores, *, deviation=1.0):
    """Both agree up to rounding; gradients have as much as scores have beside the width of ramps."""
    found, gradient = joined(results)
    size = 1.0 + np.abs(scores).max()
    off = 16.0 * EPS * size
    assert found.value == pytest.approx(near.value, rel=1e-13, abs=off * size / deviation)
    assert found.height == pytest.approx(near.height, rel=1e-13, abs=off * size / deviation)
    steepness = max(1.0, np.abs(near.plane.gradient).sum())  # at most 2, but for squared hinges
    assert found.plane.offset == pytest.approx(near.plane.offset, rel=1e-13, abs=off * steepness / deviation)
    assert np.abs(gradient - near.plane.gradient).sum() <= off * steepness / deviation
    assert found.plane.rounding == pytest.approx(near.plane.rounding, rel=0.5, abs=off / deviation)
    if near.exact is None:
        assert found.exact is None
    else:
        np.testing.assert_allclose(found.exact, near.exact, rtol=1e-13, atol=off * size / deviation)
    if near.derivative is None:
        assert found.derivative is None
    else:
        assert found.derivative == pytest.approx(near.derivative, abs=off * steepness / deviation)
    return found


@all_but_partial
@searching(10)
@given(problem=split_problems(), deviation=st.sampled_from([1.0, 0.03, 1e-4]), bins=st.booleans())
def test_smoothed_risks_are_those_in_memory(measure, problem, deviation, bins):
    y, scores, weights, slices = problem
    near = measure.bind(y, weights)
    mu = mu_for(deviation, near) if near.diameter > 0.0 else deviation
    direction = np.cos(np.arange(len(y)))
    moved = scores + 0.1 * np.sin(np.arange(len(y)))

    def program(risk, part):
        assert risk.diameter == pytest.approx(near.diameter, rel=1e-14)
        assert risk.lipschitz(mu) == pytest.approx(near.lipschitz(mu), rel=1e-14)
        out = np.full(scores[part].shape, np.nan)
        first = risk.smoothed(scores[part], mu, direction=direction[part], out=out)
        assert first.plane.gradient is out
        return first, risk.smoothed(moved[part], mu, first.hint)

    with pytest.MonkeyPatch.context() as patch:
        if bins:
            patch.setattr(roc_area, "LEAST_EXAMPLES", 0)
            patch.setattr(roc_bins, "BIN_COST", 1e-3)
        expected = near.smoothed(scores, mu, direction=direction)
        firsts, seconds = zip(*in_group(measure, y, weights, slices, program), strict=True)
        found = assert_same(firsts, expected, scores, deviation=deviation)
        assert found.hint == expected.hint
        assert_same(seconds, near.smoothed(moved, mu, expected.hint), moved, deviation=deviation)


@pytest.mark.parametrize("measure", PARTIAL, ids=repr)
@searching(20)
@given(problem=split_problems(scales=(-3, 0, 1)), deviation=st.sampled_from([1.0, 0.03, 1e-3]))
def test_smoothed_partial_areas_are_those_in_memory(measure, problem, deviation):
    """Hinges are differences of squares over the width of ramps, and the share of a negative is one of them over it."""
    y, scores, weights, slices = problem
    near = measure.bind(y, weights)
    mu = mu_for(deviation, near)
    moved = scores + 0.1 * np.sin(np.arange(len(y)))

    def program(risk, part):
        assert risk.diameter == pytest.approx(near.diameter, rel=1e-14)
        assert risk.lipschitz(mu) == pytest.approx(near.lipschitz(mu), rel=1e-14)
        out = np.full(scores[part].shape, np.nan)
        first = risk.smoothed(scores[part], mu, out=out)
        assert first.plane.gradient is out
        return first, risk.smoothed(moved[part], mu, first.hint)

    size = 1.0 + np.abs(moved).max()
    allowed = 64.0 * EPS * (size / deviation) ** 2
    for f, results in zip(
        (scores, moved), zip(*in_group(measure, y, weights, slices, program), strict=True), strict=True
    ):
        (found, gradient), expected = joined(results), near.smoothed(f, mu)
        assert found.value == pytest.approx(expected.value, abs=allowed)
        assert found.height == pytest.approx(expected.height, abs=allowed * size)
        assert found.plane.offset == pytest.approx(expected.plane.offset, abs=allowed)
        assert np.abs(gradient - expected.plane.gradient).sum() <= allowed


@pytest.mark.parametrize("measure", PARTIAL, ids=repr)
@searching(20)
@given(problem=split_problems(), deviation=st.sampled_from([1.0, 0.03, 1e-4]))
def test_planes_of_partial_areas_are_below_the_risk_everywhere(measure, problem, deviation):
    y, scores, weights, slices = problem
    near = measure.bind(y, weights)
    mu = mu_for(deviation, near)
    results = in_group(measure, y, weights, slices, lambda risk, part: risk.smoothed(scores[part], mu))
    found, gradient = joined(results)
    for other in (scores, 0.0 * scores, np.cos(np.arange(len(y))), -scores, 2.0 * scores + np.sin(np.arange(len(y)))):
        size = 1.0 + np.abs(other).max()
        height = gradient @ other + found.plane.offset - found.plane.rounding * size
        assert height <= near.exact_value(other) + 1e-12 * size


@every_measure
@searching(10)
@given(problem=split_problems())
def test_exact_risks_are_those_in_memory(measure, problem):
    y, scores, weights, slices = problem
    near = measure.bind(y, weights)
    results, values = zip(
        *in_group(measure, y, weights, slices, lambda r, part: (r.exact(scores[part]), r.exact_value(scores[part]))),
        strict=True,
    )
    assert_same(results, near.exact(scores), scores)
    assert len(set(values)) == 1
    assert values[0] == pytest.approx(near.exact_value(scores), rel=1e-13, abs=1e-13 * (1.0 + np.abs(scores).max()))
    if near.has_loss_free:
        free = in_group(measure, y, weights, slices, lambda risk, part: risk.loss_free(scores[part]))
        assert_same(free, near.loss_free(scores), scores)


@every_measure
@searching(10)
@given(problem=split_problems())
def test_weighed_scores_and_cuts_are_those_in_memory(measure, problem):
    y, scores, weights, slices = problem
    near = measure.bind(y, weights)
    weighed, cuts = zip(
        *in_group(
            measure,
            y,
            weights,
            slices,
            lambda risk, part: (risk.weighed(scores[part]), measure.cut(risk.examples, scores[part])),
        ),
        strict=True,
    )
    c = np.ones(len(scores)) if weights is None else weights
    assert (np.abs(np.concatenate(weighed) - near.weighed(scores)) <= 16 * EPS * c * np.abs(scores).max()).all()
    assert set(cuts) == {measure.threshold(y, scores, weights)}


def large_problem(weighted, n=30_000):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.1, 1, -1)
    weights = rng.exponential(size=n) if weighted else None
    return y, rng.normal(size=n) + 0.7 * y, weights, parts(n, [0, n // 3, n // 2, n - n // 3 - n // 2])


def counted(measure, problem, program):
    """Results by rank, the rounds of a program and the numbers of the largest array, after the risk was made."""
    y, _, weights, slices = problem

    def member(risk, part):
        communicator = risk.examples.communicator
        communicator.rounds.clear()
        communicator.largest = 0
        result = program(risk, part)
        return result, list(communicator.rounds), communicator.largest

    results, rounds, largest = zip(*in_group(measure, y, weights, slices, member), strict=True)
    assert all(each == rounds[0] for each in rounds)
    return results, len(rounds[0]), max(largest)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("measure", BY_THEMSELVES, ids=repr)
def test_examples_by_themselves_take_one_round(measure, weighted):
    problem = large_problem(weighted)
    y, scores, weights, _ = problem
    near = measure.bind(y, weights)
    mu = mu_for(0.03, near) if near.diameter > 0.0 else 0.0
    smoothed, rounds, largest = counted(
        measure, problem, lambda risk, part: risk.smoothed(scores[part], mu, direction=scores[part])
    )
    assert_same(smoothed, near.smoothed(scores, mu, direction=scores), scores)
    assert rounds == 1
    assert largest <= 8
    for program in (lambda risk, part: risk.exact(scores[part]), lambda risk, part: risk.exact_value(scores[part])):
        assert counted(measure, problem, program)[1] == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_bins_take_two_rounds_and_one_more_without_a_hint(weighted):
    problem = large_problem(weighted)
    y, scores, weights, _ = problem
    near = ROCArea().bind(y, weights)
    for deviation, moved_by in ((0.5, 1.0), (0.03, 1.1), (0.03, 3.0)):
        mu = mu_for(deviation, near)
        first, rounds, _ = counted(ROCArea(), problem, lambda r, part, mu=mu: r.smoothed(scores[part], mu))
        expected = near.smoothed(scores, mu)
        found = assert_same(first, expected, scores, deviation=deviation)
        assert found.hint == (scores.min(), scores.max())
        assert rounds == 3
        moved = moved_by * scores
        again, rounds, largest = counted(
            ROCArea(),
            problem,
            lambda r, part, mu=mu, f=moved, hint=found.hint: r.smoothed(f[part], mu, hint, direction=scores[part]),
        )
        nearby = near.smoothed(moved, mu, found.hint, direction=scores)
        assert_same(again, nearby, moved, deviation=deviation)
        assert rounds == (2 if moved_by < 1.5 else 3)  # a span that is too short costs one round, but not two
        bins = (1.5 * np.ptp(moved) + 1.0) / (mu * near.diameter * 2.0 / roc_bins.MOST_BINS)
        assert largest <= 8 * (bins + 2) + 2 * 4


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rare", [1, -1])
def test_sorting_takes_two_rounds_and_three_if_smoothed(rare, weighted):
    y, scores, weights, slices = large_problem(weighted)
    problem = y, scores, weights, slices = rare * y, scores, weights, slices
    near = ROCArea().bind(y, weights)
    exact, rounds, largest = counted(ROCArea(), problem, lambda risk, part: risk.exact(scores[part]))
    assert_same(exact, near.exact(scores), scores)
    assert rounds == 2
    smaller = np.count_nonzero(y == rare)
    assert largest <= 4 * (smaller + 2) + 2 * 4
    value, rounds, _ = counted(ROCArea(), problem, lambda risk, part: risk.exact_value(scores[part]))
    assert value[0] == pytest.approx(near.exact_value(scores), rel=1e-13)
    assert rounds == 2
    mu = mu_for(1e-5, near)  # too short for bins, which the span tells
    smoothed, rounds, _ = counted(ROCArea(), problem, lambda r, part: r.smoothed(scores[part], mu, None, scores[part]))
    assert_same(smoothed, near.smoothed(scores, mu, None, scores), scores, deviation=1e-5)
    assert rounds == 4


@pytest.mark.parametrize("weighted", [False, True])
def test_partial_areas_send_the_scores_of_the_smaller_sets(weighted):
    problem = large_problem(weighted)
    y, scores, weights, _ = problem
    measure = PartialROCArea(0.05)
    near = measure.bind(y, weights)
    mu = mu_for(0.03, near)
    first, rounds, largest = counted(measure, problem, lambda risk, part: risk.smoothed(scores[part], mu))
    found, _ = joined(first)
    assert found.value == pytest.approx(near.smoothed(scores, mu).value, rel=1e-10)
    positives = np.count_nonzero(y == 1)
    assert rounds == 11
    assert largest <= 4 * (positives + 2) + 2 * 4
    _, rounds, _ = counted(measure, problem, lambda risk, part: risk.smoothed(1.01 * scores[part], mu, found.hint))
    assert rounds == 9
    exact, rounds, _ = counted(measure, problem, lambda risk, part: risk.exact(scores[part]))
    assert joined(exact)[0].value == pytest.approx(near.exact_value(scores), rel=1e-12)
    assert rounds == 9


def test_scores_that_are_not_finite_hang_nobody():
    """The results are not numbers, but everybody says so."""
    y, scores, weights, slices = large_problem(False, n=6000)
    scores[4000] = np.nan

    def program(risk, part):
        return risk.smoothed(scores[part], mu_for(0.5, risk), roc_bins.Span(-5.0, 5.0)).value

    assert np.isnan(in_group(ROCArea(), y, weights, slices, program)).all()


@pytest.mark.parametrize(
    ("y", "weights", "message"),
    [
        ([1, 1, 1], None, "y has 3 positive examples among 3"),
        ([-1, -1, -1], None, "y has 0 positive examples among 3"),
        ([1, -1, -1], [0.0, 1.0, 1.0], "sample_weight is 0 for every positive example"),
        ([1, -1, -1], [1.0, 0.0, 0.0], "sample_weight is 0 for every negative example"),
    ],
)
def test_both_classes_must_occur_somewhere(y, weights, message):
    with pytest.raises(ValueError, match=message):
        in_group(ROCArea(), np.array(y), weights, parts(3, [1, 2]), lambda risk, part: None)
