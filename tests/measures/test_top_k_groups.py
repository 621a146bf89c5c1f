"""Top-k risks in groups: the same as in memory, whatever is where; members agree to the last bit, in few rounds."""

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups import examples_of, parts, run_group
from problems import member_lengths, randomly_scored, searching
from smoothperf.dask.versions import ordering
from smoothperf.dask.versions import projection as projection_group
from smoothperf.measures import PRBEP, PrecisionAtK, RecallAtK

EPS = np.finfo(np.float64).eps
MEASURES = [PRBEP(), PrecisionAtK(0.3), PrecisionAtK(1), RecallAtK(0.6)]
every_measure = pytest.mark.parametrize("measure", MEASURES, ids=repr)


@st.composite
def split_problems(draw):
    """Labels, scores, weights and numbers of rows: members with one class and with nothing too."""
    problem = draw(randomly_scored(40, scales=(-3, 0, 1, 4)))
    return *problem, draw(member_lengths(len(problem.y)))


def in_group(measure, y, weights, lengths, program):
    """Run ``program(risk, part, together)`` on every member."""
    slices = parts(len(y), lengths)

    def member(communicator):
        part = slices[communicator.rank]
        return program(measure.risk(examples_of(y, weights, part, communicator)), part, communicator)

    return run_group(len(lengths), member)


def joined(found):
    """The value of all members, which must be the same but for the gradient, with the whole gradient."""
    numbers = {astuple(value)[1:] + value.plane[1:] for value in found}
    assert len(numbers) == 1
    gradient = np.concatenate([value.plane.gradient for value in found])
    return found[0], gradient


def assert_same(near, found, scores, *, deviation=1.0, uneven=1.0):
    """Two evaluations agree up to rounding; gradients have as much as scores have beside the width of ramps.

    Weight that a root misses is counted in positives, which may be a small share of the weight: 1 / ``uneven``.
    """
    far, gradient = joined(found)
    size = 1.0 + np.abs(scores).max()
    off = 16.0 * EPS * size
    assert far.value == pytest.approx(near.value, abs=off * size / deviation)
    assert far.height == pytest.approx(near.height, abs=off * size / deviation)
    assert far.plane.offset == pytest.approx(near.plane.offset, abs=2.0 * off / deviation)
    assert np.abs(gradient - near.plane.gradient).sum() <= off / deviation
    assert far.plane.rounding == pytest.approx(near.plane.rounding, rel=0.5, abs=4.0 * uneven * off / deviation)
    if near.derivative is not None:
        assert far.derivative == pytest.approx(near.derivative, abs=off / deviation)


def bound(measure, y, weights):
    """The risk in memory, or none if there are too few examples for the measure."""
    try:
        return measure.bind(y, weights)
    except ValueError:
        return None


@pytest.mark.parametrize("few", [0, projection_group.FEW])
@every_measure
@searching(8)
@given(problem=split_problems(), deviation=st.sampled_from([30.0, 1.0, 0.03, 1e-3, 1e-6]))
def test_smoothed_risks_are_those_in_memory(measure, few, problem, deviation):
    y, scores, weights, lengths = problem
    near = bound(measure, y, weights)
    if near is None:
        return
    mu = deviation / near.diameter
    moved = scores + 0.1 * np.cos(np.arange(len(scores)))
    direction = np.sin(np.arange(len(scores)))

    def program(risk, part, communicator):
        assert risk.diameter == pytest.approx(near.diameter, rel=1e-14)
        assert risk.lipschitz(mu) == pytest.approx(near.lipschitz(mu), rel=1e-14)
        assert risk.has_curvature == (communicator.size == 1)
        first = risk.smoothed(scores[part].copy(), mu)
        out = np.full(len(scores[part]), np.nan)
        again = risk.smoothed(moved[part].copy(), mu, first.hint, direction[part].copy(), out)
        assert again.plane.gradient is out
        return first, again

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projection_group, "FEW", few)
        patch.setattr(ordering, "BITS", 6)  # small tables are quicker
        first, again = zip(*in_group(measure, y, weights, lengths, program), strict=True)
    width = min(deviation, 1.0)
    uneven = near.examples.weight / near.examples.positive_weight
    assert_same(near.smoothed(scores, mu), first, scores, deviation=width, uneven=uneven)
    assert_same(near.smoothed(moved, mu, None, direction), again, moved, deviation=width, uneven=uneven)
    # Bounds of the exact risk need not be the same: where they are looked for is a matter of the interval.
    allowed = 1e-12 * (1.0 + np.abs(moved).max()) * max(1.0, deviation)
    assert again[0].exact.high >= near.exact_value(moved) - allowed
    assert again[0].exact.low <= near.exact_value(moved) + allowed


@every_measure
@searching(8)
@given(problem=split_problems())
def test_exact_risks_and_thresholds_are_those_in_memory(measure, problem):
    y, scores, weights, lengths = problem
    near = bound(measure, y, weights)
    if near is None:
        return

    def program(risk, part, communicator):
        f = scores[part].copy()
        return (
            risk.exact(f),
            risk.loss_free(f),
            risk.exact_value(f),
            measure.cut(risk.examples, f),
            risk.weighed(f),
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering, "BITS", 6)  # small tables are quicker
        exact, loss_free, values, cuts, weighed = zip(*in_group(measure, y, weights, lengths, program), strict=True)
    assert_same(near.exact(scores), exact, scores)
    assert_same(near.loss_free(scores), loss_free, scores)
    size = 1.0 + np.abs(scores).max()
    assert len(set(values)) == 1
    assert values[0] == pytest.approx(near.exact_value(scores), rel=1e-13, abs=1e-13 * size)
    assert set(cuts) == {measure.threshold(y, scores, weights)}
    c = np.ones(len(scores)) if weights is None else weights
    assert (np.abs(np.concatenate(weighed) - near.weighed(scores)) <= 16 * EPS * c * size).all()


@pytest.mark.parametrize("few", [0, projection_group.FEW])
@pytest.mark.parametrize("away", [-1e300, -1e6, -20.0, 20.0, 1e6, 1e300])
def test_a_hint_that_is_far_off_costs_rounds_only(away, few, monkeypatch):
    """The root is with the last member, whose scores are all above those of the others."""
    monkeypatch.setattr(projection_group, "FEW", few)
    rng = np.random.default_rng(0)
    n, lengths = 900, [300, 300, 300]
    y = np.where(rng.random(n) < 0.1, 1, -1)
    scores = np.sort(300.0 * rng.normal(size=n))
    near = PRBEP().bind(y)
    mu = 1e-2 / near.diameter
    expected = near.smoothed(scores, mu)
    hint = expected.hint._replace(all=expected.hint.all + away * mu)

    def program(risk, part, communicator):
        before = len(communicator.rounds)
        return risk.smoothed(scores[part].copy(), mu, hint), len(communicator.rounds) - before

    found, rounds = zip(*in_group(PRBEP(), y, None, lengths, program), strict=True)
    assert_same(expected, found, scores, deviation=1e-2)
    assert max(rounds) <= 15


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("measure", [PRBEP(), PrecisionAtK(0.01)], ids=repr)
def test_few_rounds_and_little_travels(measure, weighted):
    """Arrays far smaller than the data: at most as many values as are few, or a table of cells."""
    rng = np.random.default_rng(0)
    n = 60_000
    y = np.where(rng.random(n) < 0.1, 1, -1)
    scores = rng.normal(size=n) + 0.7 * y
    weights = rng.exponential(size=n) if weighted else None
    near = measure.bind(y, weights)
    deviations = (1.0, 0.03, 1e-4)

    def program(risk, part, communicator):
        f = scores[part].copy()
        results, rounds = [], []
        for deviation in deviations:
            mu = deviation / risk.diameter
            communicator.rounds.clear()
            results.append(risk.smoothed(f, mu))
            rounds.append(len(communicator.rounds))
            communicator.rounds.clear()
            risk.smoothed(f + 1e-3, mu, results[-1].hint)
            rounds.append(len(communicator.rounds))
        communicator.largest = 0
        risk.smoothed(f, mu, results[-1].hint)
        sent = communicator.largest
        communicator.rounds.clear()
        results.append(risk.exact(f))
        rounds.append(len(communicator.rounds))
        return results, rounds, sent

    results, rounds, sent = zip(*in_group(measure, y, weights, [0, n // 3, n // 3, n // 3], program), strict=True)
    for deviation, found in zip(deviations, zip(*results, strict=True), strict=False):
        expected = near.smoothed(scores, deviation / near.diameter)
        assert_same(expected, found, scores, deviation=deviation)
        assert found[0].exact.high == pytest.approx(expected.exact.high, abs=0.1 * deviation)
    assert_same(near.exact(scores), [result[-1] for result in results], scores)
    *smoothed, exact = rounds[0]
    assert max(smoothed[::2]) <= 14  # where a sample is too coarse for the ramp
    assert max(smoothed[1::2]) <= 4
    assert exact <= 7
    assert max(sent) <= 6000


def test_no_second_derivatives_in_groups():
    y, f = np.array([1, -1, -1]), np.zeros(3)

    def program(risk, part, communicator):
        with pytest.raises(NotImplementedError, match="has no second derivatives"):
            risk.curvature(f[part], risk.smoothed(f[part].copy(), 0.1), 0.1, 0.1)

    in_group(PRBEP(), y, None, [2, 1], program)


@pytest.mark.parametrize(
    ("measure", "y", "weights", "message"),
    [
        (PRBEP(), [1, 1, 1], None, "y has 3 positive examples among 3"),
        (PRBEP(), [-1, -1, -1], None, "y has 0 positive examples among 3"),
        (PRBEP(), [1, -1, -1], [0.0, 1.0, 1.0], "sample_weight is 0 for every positive example"),
        (PRBEP(), [1, -1, -1], [1.0, 0.0, 0.0], "sample_weight is 0 for every negative example"),
        (PrecisionAtK(4), [1, -1, -1], None, "precision@4 needs at least 4 examples, but 3 examples are there"),
        (RecallAtK(3), [1, -1, -1], None, "recall@3 of 3 examples leaves nothing to choose"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(measure, y, weights, message):
    with pytest.raises(ValueError, match=message):
        in_group(measure, y, weights, [1, 2], lambda risk, part, communicator: None)
