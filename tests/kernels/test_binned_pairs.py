"""Pairs by bins: the sums against all pairs, and planes that are true whatever the bins do to beta."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from problems import Scored, frozen, randomly_scored, searching
from smoothperf.measures import ROCArea, bins, roc_area
from smoothperf.measures.examples import Examples
from smoothperf.threads import use_threads

EPS = np.finfo(np.float64).eps


SCALES_OF_BINS = (-6, -1, 0, 1, 4)
few_in_bins = randomly_scored(9, scales=SCALES_OF_BINS)


def labels(positive):
    return frozen(np.where(positive, 1, -1), np.int64)


def span_of(problem):
    return bins.Span(float(problem.scores.min()), float(problem.scores.max()))


def examples_of(problem):
    return Examples(problem.y == 1, problem.weights)


def run(problem, margin, kappa, per_ramp, spare=0.0):
    """The sums and the gradient, with bins for the scores and more to spare."""
    gradient = np.full(len(problem.scores), np.nan)
    direction = np.cos(1.0 + np.arange(len(problem.scores)))
    span = span_of(problem).widened(spare)
    found, sums = bins.binned_pairs(
        examples_of(problem), problem.scores, margin, kappa, per_ramp, span, 1.0, direction, gradient
    )
    assert found == span_of(problem)
    return sums, gradient


def expected_of(problem, margin, kappa, per_ramp, scale=1.0, spare=0.0):
    """The same by all pairs."""
    gradient = np.full(len(problem.scores), np.nan)
    direction = np.cos(1.0 + np.arange(len(problem.scores)))
    lowest = span_of(problem).widened(spare).lowest
    arrays = problem.scores, problem.positive, problem.weights
    sums = oracles.binned_pairs(*arrays, margin, kappa, per_ramp, lowest, scale, direction, gradient)
    return bins.PairSums(*sums), gradient


def assert_same_sums(problem, margin, kappa, per_ramp, spare=0.0):
    sums, gradient = run(problem, margin, kappa, per_ramp, spare=spare)
    expected, gradient_ = expected_of(problem, margin, kappa, per_ramp, spare=spare)
    positives, negatives = problem.masses
    ramps = (1.0 + 2.0 * spare) * problem.reach(margin) / kappa
    # Numbers in a bin, bins that a window slides over, and single operations.
    off = EPS * (2.0 * per_ramp * ramps + sums.crowd + 64.0 + 8.0 * ramps)
    opposite = np.where(problem.y == 1, negatives, positives)
    assert (np.abs(gradient - gradient_) <= off * problem.c * opposite).all()
    mass = positives * negatives
    assert sums.slopes == pytest.approx(expected.slopes, abs=off * mass)
    assert sums.squares == pytest.approx(expected.squares, abs=2.0 * off * (1.0 + ramps) * mass)
    assert sums.ceiling == pytest.approx(expected.ceiling, abs=off * (problem.reach(margin) + kappa) * mass)
    assert sums.inner == pytest.approx(expected.inner, abs=2.0 * off * np.abs(problem.scores).max() * mass)
    assert sums.cornered == pytest.approx(expected.cornered, abs=off * mass)
    assert sums.crowd == expected.crowd
    assert sums.along == pytest.approx(expected.along, abs=2.0 * off * mass)


@pytest.mark.parametrize("threads", [1, 3])
@searching(30)
@given(
    problem=randomly_scored(24, scales=SCALES_OF_BINS),
    margin=st.sampled_from([1.0, 0.5, 0.0, -0.5]),
    log_ramps=st.floats(-3.0, 3.0),
    per_ramp=st.sampled_from([1, 2, 3, 4, 7, 16]),
    spare=st.sampled_from([0.0, 0.25, 1.0]),
)
def test_sums_over_all_pairs(threads, problem, margin, log_ramps, per_ramp, spare):
    kappa = (problem.reach(margin) or 1.0) / 10.0**log_ramps
    with pytest.MonkeyPatch.context() as patch, use_threads(threads):
        patch.setattr(bins, "LEAST_ROWS", 2)
        assert_same_sums(problem, margin, kappa, per_ramp, spare)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("end", ["lowest", "highest"])
@pytest.mark.parametrize("row", [0, 700, 1599])
def test_scores_outside_the_span_are_noticed(threads, weighted, end, row):
    """Wherever the one score is that there is no bin for; the extremes are found all the same."""
    rng = np.random.default_rng(row)
    n = 1600
    scores = rng.normal(size=n)
    scores[row] = -9.0 if end == "lowest" else 9.0
    weights = frozen(rng.exponential(size=n)) if weighted else None
    problem = Scored(labels(rng.random(n) < 0.3), frozen(scores), weights)
    span, beyond = span_of(problem), -8.999 if end == "lowest" else 8.999
    with pytest.MonkeyPatch.context() as patch, use_threads(threads):
        patch.setattr(bins, "LEAST_ROWS", 2)
        too_short = span._replace(**{end: beyond})
        found, sums = bins.binned_pairs(examples_of(problem), scores, 1.0, 0.5, 4, too_short, 1.0, None, np.empty(n))
    assert sums is None
    assert found == span


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("per_ramp", [1, 4, 16])
@pytest.mark.parametrize("kappa", [0.05, 0.5, 8.0])
def test_sums_over_many_pairs(kappa, per_ramp, weighted):
    """With several examples in every bin, over more blocks than one."""
    rng = np.random.default_rng(per_ramp)
    n = 1100
    problem = Scored(
        labels(rng.random(n) < 0.3),
        frozen(np.round(rng.normal(size=n), 2)),
        frozen(rng.exponential(size=n)) if weighted else None,
    )
    assert_same_sums(problem, 1.0, kappa, per_ramp)


@pytest.mark.parametrize("per_ramp", [1, 2, 4, 16])
@pytest.mark.parametrize("kappa", [0.3, 1.0, 7.0])
def test_beta_of_one_pair_lies_in_the_unit_interval_and_loses_little(kappa, per_ramp):
    """Whatever the distance, and wherever the edges of the bins are."""
    width = kappa / per_ramp
    worst = 0.0
    for start in np.linspace(0.0, 2.0 * width, 7):
        for violation in np.linspace(-3.0 * width, kappa + 3.0 * width, 217):
            # Two far-off examples without weight set the edges.
            scores = frozen([start, start + violation - 1.0, -20.0 - start, 20.0])
            problem = Scored(frozen([1, -1, 1, -1], np.int64), scores, frozen([1.0, 1.0, 0.0, 0.0]))
            sums, gradient = run(problem, 1.0, kappa, per_ramp)
            beta = sums.slopes
            assert -1e-12 <= beta <= 1.0 + 1e-12
            assert abs(sums.squares - beta**2) <= 1e-12
            assert max(abs(gradient[0] + beta), abs(gradient[1] - beta)) <= 1e-12
            best = min(max(violation / kappa, 0.0), 1.0)
            loss = (best - beta) * violation - kappa / 2.0 * (best**2 - beta**2)
            assert -1e-12 <= loss <= (width**2 / (6.0 * kappa) + 1e-12 if sums.cornered else 1e-12)
            worst = max(worst, loss)
            assert max(violation, 0.0) - 1e-12 <= sums.ceiling <= max(violation, 0.0) + width / 2.0 + 1e-12
    assert worst > 0.9 * width**2 / (6.0 * kappa)  # the bound is not too generous either


def test_no_more_is_lost_than_one_pair_can_lose(always_bins):
    """At a third of a bin from the corner more is lost than anywhere else."""
    kappa, width = 1.0, 1.0 / 16.0
    for start in np.linspace(0.0, width, 50):
        for violation in (-width / 3.0, kappa + width / 3.0):
            scores = frozen([start, start + violation - 1.0, -20.0, 20.0])
            problem = Scored(frozen([1, -1, 1, -1], np.int64), scores, frozen([1.0, 1.0, 0.0, 0.0]))
            result, mu, lost = binned(problem, kappa)
            true = float(oracles.exact_roc(problem.y, scores, problem.weights, mu))
            assert result.value - 1e-11 <= true <= result.value + lost + 1e-11


# --- planes -----------------------------------------------------------------------------------------------------


@pytest.fixture
def always_bins(monkeypatch):
    """Bins for any number of examples and any number of bins."""
    use_bins_for_everything(monkeypatch)


def use_bins_for_everything(monkeypatch):
    monkeypatch.setattr(roc_area, "LEAST_EXAMPLES", 0)
    monkeypatch.setattr(bins, "BIN_COST", 1e-9)
    monkeypatch.setattr(bins, "LARGE_TABLE", 1 << 40)
    monkeypatch.setattr(roc_area.ROCAreaRisk, "_hinges", None)


def allowance(result, scores):
    """The rounding that a result owns up to, at given scores."""
    return Fraction(result.plane.rounding) * (1 + max(abs(f) for f in oracles.fractions(scores)))


def binned(problem, kappa, hint=None):
    """The result, the mu that goes with kappa, and what the value may have lost by (bin-loss)."""
    positives, negatives = problem.masses
    mu = kappa / (positives * negatives)
    used = [math.inf]
    with pytest.MonkeyPatch.context() as patch:
        original = bins.binned_pairs
        patch.setattr(bins, "binned_pairs", lambda *a: used.append(a[4]) or original(*a))
        result = ROCArea().bind(problem.y, problem.weights).smoothed(problem.scores, mu, hint)
    return result, mu, (result.exact.high - result.exact.low) / (3.0 * used[-1])


def hints(problem):
    """No span, that of the scores, wider, narrower and other ones, and what is none at all."""
    span = span_of(problem)
    yield from (None, span, span.widened(0.1), span.widened(3.0), span.widened(-0.3))
    yield from (bins.Span(5.0, 6.0), bins.Span(span.highest, span.lowest), bins.Span(np.nan, np.inf))
    yield from (bins.Span(-np.inf, np.inf), bins.Span(np.inf, -np.inf), bins.Span(-1e308, 1e308))


@searching(30)
@given(data=st.data(), problem=few_in_bins, log_ramps=st.floats(-6.0, 4.0), other=few_in_bins)
def test_planes_from_bins_are_true(data, problem, log_ramps, other):
    """In rational arithmetic: plane, value and ceiling keep what they promise, up to the rounding stated."""
    kappa = problem.reach() / 10.0**log_ramps
    with pytest.MonkeyPatch.context() as patch:
        use_bins_for_everything(patch)
        patch.setattr(bins, "BIN_COST", 1e-6)  # a hint must not ask for more memory than there is
        result, mu, lost = binned(problem, kappa, data.draw(st.sampled_from(list(hints(problem)))))
    assert result.hint == span_of(problem)
    y, weights = problem.y, problem.weights
    assert result.plane.rounding <= 1e-9
    for elsewhere in (problem.scores, np.resize(other.scores, len(y)), -problem.scores, problem.scores[::-1]):
        plane = oracles.exact_plane(result.plane.gradient, result.plane.offset, elsewhere)
        assert plane <= oracles.exact_roc(y, elsewhere, weights) + allowance(result, elsewhere)
    true, exact = oracles.exact_roc(y, problem.scores, weights, mu), oracles.exact_roc(y, problem.scores, weights)
    allowed = allowance(result, problem.scores)
    assert Fraction(result.value) <= true + allowed
    assert true <= Fraction(result.value) + Fraction(lost) * (1 + Fraction(1, 10**9)) + allowed
    assert Fraction(result.exact.low) - allowed <= exact
    assert exact - allowed <= Fraction(result.exact.high) <= exact + Fraction(kappa) / 8 + allowed
    height = oracles.exact_plane(result.plane.gradient, result.plane.offset, problem.scores)
    assert abs(height - Fraction(result.height)) <= allowed
    assert abs(sum(oracles.fractions(result.plane.gradient))) <= Fraction(result.plane.rounding)


def plane_for_constant_classes(problem, result):
    """R(f') less the plane, for scores f' that are constant on each class, without rounding and without pairs."""
    sums = [sum(oracles.fractions(result.plane.gradient[problem.y == label]), Fraction(0)) for label in (1, -1)]

    def excess(a, b):
        plane = sums[0] * Fraction(a) + sums[1] * Fraction(b) + Fraction(result.plane.offset)
        return plane - max(Fraction(0), 1 - (Fraction(a) - Fraction(b)))

    return excess


CROWDS = {
    "one bin": lambda rng, n: np.full(n, 0.1),
    "two bins": lambda rng, n: rng.choice([0.1, 0.7], size=n),
    "wide": lambda rng, n: rng.normal(size=n),
    "heavy tails": lambda rng, n: np.clip(rng.standard_cauchy(size=n), -100.0, 100.0),
    "far apart": lambda rng, n: rng.choice([-50.0, 0.0, 50.0], size=n) + 0.01 * rng.normal(size=n),
    "in order": lambda rng, n: np.sort(rng.uniform(-5.0, 5.0, size=n)),
}


@pytest.mark.parametrize("weights", ["unit", "tenths", "wide", "heavy first", "light first"])
@pytest.mark.parametrize("kappa", [3e-3, 0.1, 2.0])
@pytest.mark.parametrize("scores", CROWDS.values(), ids=CROWDS.keys())
def test_planes_from_many_examples_are_true(scores, kappa, weights, always_bins):
    """Crowds in one bin, windows that slide over many bins, light examples after heavy ones."""
    rng = np.random.default_rng(1)
    n = 1001
    f = scores(rng, n)
    rank = np.argsort(np.argsort(f)) / n
    c = {
        "unit": None,
        "tenths": np.full(n, 0.1),
        "wide": 10.0 ** rng.uniform(-6.0, 6.0, size=n),
        "heavy first": 10.0 ** (6.0 - 12.0 * rank),
        "light first": 10.0 ** (12.0 * rank - 6.0),
    }[weights]
    problem = Scored(labels(rng.random(n) < 0.4), frozen(f), None if c is None else frozen(c))
    result, _, _ = binned(problem, kappa)
    excess = plane_for_constant_classes(problem, result)
    for a, b in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (-1e6, 1e6), (1e6, -1e6), (1e6, 1e6), (0.5, 0.0)):
        assert excess(a, b) <= Fraction(result.plane.rounding) * (1 + Fraction(max(abs(a), abs(b))))
    # All of the gradient, not only its sums: the beta of (roc-bins) is in the unit interval, and a true plane.
    _, gradient = expected_of(
        problem,
        1.0,
        kappa,
        int(bins.MOST_BINS * max(1.0, kappa / problem.reach())),
        1.0 / np.prod(problem.masses),
    )
    assert np.abs(gradient - result.plane.gradient).sum() <= result.plane.rounding + 1e-12


def test_bins_are_used_where_they_pay():
    rng = np.random.default_rng(2)
    for n, kappa, used in ((1000, 1.0, False), (5000, 1.0, True), (5000, 1e-3, False), (5000, 1e12, False)):
        problem = Scored(labels(rng.random(n) < 0.3), frozen(rng.normal(size=n)), None)
        assert (binned(problem, kappa)[2] > 0.0) == used


@pytest.mark.parametrize("kappa", [0.1, 0.3, 3.0, 1e3, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
def test_bins_agree_with_sorting(kappa, weighted, monkeypatch):
    """Far more ramp than scores included: the bins are then a fraction of the scores' range, not of the ramp."""
    rng = np.random.default_rng(3)
    n = 6000
    problem = Scored(
        labels(rng.random(n) < 0.2),
        frozen(rng.normal(size=n)),
        frozen(rng.exponential(size=n)) if weighted else None,
    )
    by_bins, _, lost = binned(problem, kappa)
    monkeypatch.setattr(roc_area, "LEAST_EXAMPLES", 10**9)
    by_sorting, _, exactly = binned(problem, kappa)
    assert lost > exactly == 0.0
    assert lost <= 2e-3 * min(kappa, problem.reach() ** 2 / kappa)
    length = (by_bins.plane.rounding + by_sorting.plane.rounding) * (1.0 + np.abs(problem.scores).max())
    assert by_bins.value - length <= by_sorting.value <= by_bins.value + lost + length
    # Betas are wrong by at most half a bin, and only in the corners.
    width = min(kappa, problem.reach()) / 4.0
    assert by_sorting.exact.high - length <= by_bins.exact.high <= by_sorting.exact.high + width / 2.0 + length
    assert (
        np.abs(by_bins.plane.gradient - by_sorting.plane.gradient).sum() <= width / kappa + 2.0 * by_bins.plane.rounding
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_change_rounding_only(weighted, monkeypatch):
    monkeypatch.setattr(bins, "LEAST_ROWS", 10)
    rng = np.random.default_rng(4)
    n = 2000
    problem = Scored(
        labels(rng.random(n) < 0.2),
        frozen(rng.normal(size=n)),
        frozen(rng.exponential(size=n)) if weighted else None,
    )
    results = []
    for threads in (1, 2, 3, 7):
        with use_threads(threads):
            results.append(binned(problem, 1.0)[0])
    for result in results[1:]:
        assert result.value == pytest.approx(results[0].value, rel=1e-13)
        assert result.plane.offset == pytest.approx(results[0].plane.offset, rel=1e-13)
        assert result.exact.high == pytest.approx(results[0].exact.high, rel=1e-13)
        np.testing.assert_allclose(result.plane.gradient, results[0].plane.gradient, rtol=0, atol=1e-16)
