"""F-beta and the Jaccard index of examples on several machines: planes that hold, bounds that are tight, few rounds."""

import threading
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from groups import examples_of, parts, run_group
from problems import random_scored, searching
from smoothperf.dask.versions import margin_bins
from smoothperf.measures import flips
from smoothperf.measures.flips import sorted_side
from smoothperf.measures.fractional import FBeta, Jaccard

MEASURES = {"f1": FBeta(), "f2": FBeta(2.0), "jaccard": Jaccard()}
TRUTHS = {"f1": (1, 1), "f2": (4, 1), "jaccard": (1, 0)}
every_measure = pytest.mark.parametrize("name", MEASURES)


def random_lengths(seed, n):
    """Of two to four members; some may have no rows."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, n + 1, size=rng.integers(1, 4)))
    return np.diff(np.concatenate([[0], cuts, [n]])).astype(int)


def in_group(measure, y, scores, weights, lengths, ask):
    """The answer of all members, the same: a RiskValue with the gradient of all, or a number; and the rounds."""

    def program(communicator):
        part = parts(len(y), lengths)[communicator.rank]
        risk = measure.risk(examples_of(y, weights, part, communicator))
        communicator.rounds.clear()
        return ask(risk, scores[part].copy()), communicator

    answers, members = zip(*run_group(len(lengths), program), strict=True)
    first = answers[0]
    if isinstance(first, float):
        assert set(answers) == {first}
        return first, members[0]
    for other in answers:
        assert (other.value, other.height, other.exact) == (first.value, first.height, first.exact)
        assert other.plane[1:] == first.plane[1:]
    gradient = np.concatenate([answer.plane.gradient for answer in answers])
    return first, gradient, members[0]


@contextmanager
def coarse(number):
    """Few groups and bins, so that small problems lose something."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("GROUPS", "FEWEST_GROUPS", "BINS"):
            patch.setattr(margin_bins, name, number)
        yield


@every_measure
@searching(8)
@given(seed=st.integers(0, 10**6), mu=st.sampled_from([1e-9, 1e-6, 1e-3, 0.1, 1.0, 1e3]))
def test_few_examples_have_the_risk_that_they_have_in_memory(name, seed, mu):
    """There is a bin for each different margin."""
    measure = MEASURES[name]
    y, scores, weights = random_scored(seed, 60)
    lengths = random_lengths(seed, len(y))
    near = measure.bind(y, weights)
    scale = 1.0 + np.abs(scores).max()
    far_down = 1e-14 * mu  # the largest square, which is subtracted
    mu /= near.diameter
    expected, exact = near.smoothed(scores, mu), near.exact_value(scores)
    tolerance = {"rel": 1e-12, "abs": far_down + (1e-13 + expected.plane.rounding) * scale}
    result, gradient, _ = in_group(measure, y, scores, weights, lengths, lambda risk, f: risk.smoothed(f, mu))
    assert result.value == pytest.approx(expected.value, **tolerance)
    assert result.exact.low == pytest.approx(exact, rel=1e-12, abs=1e-13 * scale)
    assert result.exact.high == pytest.approx(exact, rel=1e-12, abs=1e-13 * scale)
    assert result.height == pytest.approx(expected.height, rel=1e-12, abs=10.0 * tolerance["abs"])
    assert gradient @ scores + result.plane.offset == pytest.approx(result.height, rel=1e-12, abs=1e-12 * scale)
    value, _ = in_group(measure, y, scores, weights, lengths, lambda risk, f: risk.exact_value(f))
    assert value == pytest.approx(exact, rel=1e-12, abs=1e-13 * scale)
    result, gradient, _ = in_group(measure, y, scores, weights, lengths, lambda risk, f: risk.exact(f))
    assert result.value == pytest.approx(exact, rel=1e-12, abs=1e-13 * scale)
    assert result.height == pytest.approx(exact, rel=1e-12, abs=1e-12 * scale)
    assert gradient @ scores + result.plane.offset == pytest.approx(result.height, rel=1e-12, abs=1e-12 * scale)


@every_measure
@pytest.mark.parametrize("bins", [2, 8, 2048])
@searching(6)
@given(seed=st.integers(0, 10**6), mu=st.sampled_from([1e-6, 1e-2, 1.0]))
def test_planes_are_nowhere_above_the_risk(name, bins, seed, mu):
    """In rational arithmetic, where they were made and elsewhere, however coarse the bins are."""
    p, r = TRUTHS[name]
    y, scores, weights = random_scored(seed, 9)
    lengths = random_lengths(seed, len(y))
    for ask in (
        lambda risk, f: risk.exact(f),
        lambda risk, f: risk.loss_free(f),
        lambda risk, f: risk.smoothed(f, mu / risk.diameter),
    ):
        with coarse(bins):
            result, gradient, _ = in_group(MEASURES[name], y, scores, weights, lengths, ask)
        for elsewhere in (scores, -scores, np.zeros(len(y)), np.random.default_rng(seed).normal(size=len(y))):
            plane = oracles.exact_plane(gradient, result.plane.offset, elsewhere)
            truth = oracles.exact_fractional(y, elsewhere, weights, p=p, r=r)
            assert plane <= truth + result.plane.rounding * (1.0 + np.abs(elsewhere).max())


@every_measure
@pytest.mark.parametrize("bins", [1, 3, 8])
@searching(8)
@given(seed=st.integers(0, 10**6), mu=st.sampled_from([1e-4, 1e-2, 1.0]))
def test_coarse_bins_bound_the_risk(name, bins, seed, mu):
    measure = MEASURES[name]
    y, scores, weights = random_scored(seed, 60)
    lengths = random_lengths(seed, len(y))
    near = measure.bind(y, weights)
    mu /= near.diameter
    expected, exact = near.smoothed(scores, mu), near.exact_value(scores)
    rounding = (1e-13 + expected.plane.rounding) * (1.0 + np.abs(scores).max())
    with coarse(bins):
        result, _, _ = in_group(measure, y, scores, weights, lengths, lambda risk, f: risk.smoothed(f, mu))
        best, _, _ = in_group(measure, y, scores, weights, lengths, lambda risk, f: risk.exact(f))
        value, _ = in_group(measure, y, scores, weights, lengths, lambda risk, f: risk.exact_value(f))
    assert result.value <= expected.value + rounding
    assert result.exact.low <= exact + rounding
    assert exact - rounding <= result.exact.high
    assert best.height <= exact + rounding
    assert exact - rounding <= min(best.value, value)


def large_problem(kind, n=20_000):
    rng = np.random.default_rng(2)
    y = np.where(rng.random(n) < 0.2, 1, -1)
    scores = rng.normal(size=n) + 0.4 * y - 0.3
    if kind == "tied":
        scores = np.round(scores, 1)
    if kind == "heavy":
        scores = np.exp(3.0 * rng.normal(size=n)) * rng.choice([-1.0, 1.0], size=n) + y
    return y, scores, rng.exponential(size=n) ** 3 if kind == "weighted" else None


@pytest.mark.parametrize("kind", ["normal", "tied", "heavy", "weighted"])
@pytest.mark.parametrize("deviation", [0.1, 1e-2, 1e-3, 1e-4])
def test_little_is_lost_of_many_examples_in_few_rounds(kind, deviation):
    """The loss is far less than what smoothing costs."""
    y, scores, weights = large_problem(kind)
    near = FBeta().bind(y, weights)
    mu = deviation / near.diameter
    expected, exact = near.smoothed(scores, mu), near.exact_value(scores)
    lengths = [5_000, 1, 0, 14_999]
    result, gradient, communicator = in_group(
        FBeta(), y, scores, weights, lengths, lambda risk, f: risk.smoothed(f, mu)
    )
    assert expected.value - 1e-4 * deviation <= result.value <= expected.value + 1e-12
    assert exact - 1e-4 * deviation <= result.exact.low <= exact + 1e-12
    assert exact - 1e-12 <= result.exact.high <= exact + 1e-4 * deviation
    assert expected.height - 1e-3 * deviation <= result.height <= exact
    expected_gradient = expected.plane.gradient
    assert np.abs(gradient - expected_gradient).sum() <= 1e-3 * np.abs(expected_gradient).sum()
    assert communicator.rounds == ["allgather", "broadcast", "allreduce", "allgather", "allreduce"]
    assert communicator.largest <= 4 * (margin_bins.GROUPS + margin_bins.BINS)


@pytest.mark.parametrize("kind", ["normal", "tied", "heavy", "weighted"])
def test_exact_risk_of_many_examples_takes_few_rounds(kind):
    y, scores, weights = large_problem(kind)
    exact = FBeta().bind(y, weights).exact_value(scores)
    lengths = [0, 5_000, 15_000]
    result, _, communicator = in_group(FBeta(), y, scores, weights, lengths, lambda risk, f: risk.exact(f))
    assert exact - 1e-12 <= result.value <= exact + 1e-8
    assert exact - 1e-8 <= result.height <= exact + 1e-12
    assert communicator.rounds == ["allgather", "broadcast", "allreduce", "allreduce"]
    value, communicator = in_group(FBeta(), y, scores, weights, lengths, lambda risk, f: risk.exact_value(f))
    assert value == result.value
    assert communicator.rounds == ["allgather", "broadcast", "allreduce", "broadcast"]


def test_members_that_round_differently_agree(monkeypatch):
    """One of them finds other levels, a little further on, and other best flips: numbers and rounds are the same."""

    def nudged(original, change):
        def search(*arguments):
            found = original(*arguments)
            return change(found) if getattr(threading.current_thread(), "rounds_differently", False) else found

        return search

    def fewer_levels(found):
        value, offset, wobble, levels, steps = found
        levels = levels[:, 1:] * np.array([[1.0], [1.0], [1.0], [1.0 + 1e-9], [1.0 - 1e-9]])
        return np.nextafter(value, 9.0), offset, wobble, levels, steps

    monkeypatch.setattr(flips, "level_sets", nudged(flips.level_sets, fewer_levels))
    monkeypatch.setattr(
        flips, "best_flips", nudged(flips.best_flips, lambda found: (found[0] * (1 + 1e-15), *found[1:]))
    )
    y, scores, _ = large_problem("normal", n=5000)
    near = FBeta().bind(y)

    def asked(risk, f, method):
        threading.current_thread().rounds_differently = risk.examples.communicator.rank == 1
        try:
            return method(risk, f)
        finally:
            threading.current_thread().rounds_differently = False

    for method in (lambda risk, f: risk.smoothed(f, 1e-2 / risk.diameter), lambda risk, f: risk.exact(f)):
        result, gradient, _ = in_group(FBeta(), y, scores, None, [2000, 3000], partial(asked, method=method))
        for elsewhere in (scores, -scores, np.zeros(y.size)):
            plane = gradient @ elsewhere + result.plane.offset
            assert plane <= near.exact_value(elsewhere) + result.plane.rounding * (1.0 + np.abs(elsewhere).max())
    value, _ = in_group(
        FBeta(), y, scores, None, [2000, 3000], partial(asked, method=lambda risk, f: risk.exact_value(f))
    )
    assert value == pytest.approx(near.exact_value(scores), abs=1e-6)


def test_gradient_is_written_where_it_is_wanted():
    y, scores, _ = large_problem("normal", n=100)
    outs = {}

    def ask(risk, f):
        out = np.full(f.size, np.nan)
        result = risk.smoothed(f, 0.1 / risk.diameter, out=out)
        outs[result.plane.gradient is out] = True
        return result

    in_group(FBeta(), y, scores, None, [60, 40], ask)
    assert outs == {True: True}


@every_measure
@searching(8)
@given(seed=st.integers(0, 10**6))
def test_loss_free_risk_and_threshold_are_those_in_memory(name, seed):
    measure = MEASURES[name]
    y, scores, weights = random_scored(seed, 60)
    lengths = random_lengths(seed, len(y))
    expected = measure.bind(y, weights).loss_free(scores)
    result, gradient, _ = in_group(measure, y, scores, weights, lengths, lambda risk, f: risk.loss_free(f))
    assert result.value == pytest.approx(expected.value, rel=1e-12, abs=1e-13)
    np.testing.assert_allclose(gradient, expected.plane.gradient, rtol=1e-14)
    at, _ = in_group(measure, y, scores, weights, lengths, lambda risk, f: measure.cut(risk.examples, f))
    assert at == measure.threshold(y, scores, weights)


# --- parts ------------------------------------------------------------------------------------------------------


def side_of(margins, weights=None):
    margins = np.array(margins, dtype=float)
    return sorted_side(margins, weights, np.empty(margins.size + 1), np.empty(margins.size + 1))


@searching(8)
@given(seed=st.integers(0, 10**6), most=st.integers(1, 6))
def test_groups_cover_a_side_and_keep_ties_together(seed, most):
    rng = np.random.default_rng(seed)
    margins, weights = rng.integers(-4, 5, size=rng.integers(0, 30)) / 2.0, None
    if seed % 2:
        weights = rng.exponential(size=margins.size)
    table = margin_bins._groups(side_of(margins, weights), most, 1.0)
    c = np.ones(margins.size) if weights is None else weights
    assert table[:, 3].sum() == pytest.approx(c.sum())
    assert table[:, 4].sum() == pytest.approx(c @ margins)
    assert len(table) <= most
    assert (table[:, 1] <= table[:, 2]).all()
    assert (table[:-1, 2] < table[1:, 1]).all()


@searching(8)
@given(seed=st.integers(0, 10**6), number=st.integers(1, 6))
def test_bins_are_those_of_all_examples(seed, number):
    """Apart from each other, with all margins between their ends."""
    rng = np.random.default_rng(seed)
    margins = np.round(rng.normal(size=(2, 40)), int(rng.integers(1, 4)))
    ends = np.sort(rng.normal(size=2))

    def program(communicator):
        sides = tuple(side_of(row[communicator.rank :: communicator.size]) for row in margins)
        return margin_bins.margin_bins(sides, lambda bins: (tuple(ends), tuple(-ends[::-1])), communicator)

    with coarse(number):
        (pair, *others) = run_group(3, program)
    for bins, row, *same in zip(pair, margins, *others, strict=True):
        for other in same:
            np.testing.assert_array_equal(other, bins)
        assert (bins.low <= bins.high).all()
        assert (bins.high[:-1] < bins.low[1:]).all()
        inside = (row[:, None] >= bins.low) & (row[:, None] <= bins.high)
        assert (inside.sum(axis=1) == 1).all()
        np.testing.assert_array_equal(inside.sum(axis=0), bins.weight)
        np.testing.assert_allclose(row @ inside, bins.first, atol=1e-12)
        assert bins.means().mass[-1] == bins.ends().mass[-1] == 40.0
