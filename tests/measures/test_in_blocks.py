"""Risks of rows in several blocks: the same as in memory, whatever is where, and little travels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from far_blocks import FarDesign, FarVectors, in_blocks
from problems import gaussians
from smoothperf import (
    BMRM,
    LBFGS,
    PRBEP,
    BalancedErrorRate,
    Contingency,
    ErrorRate,
    FBeta,
    Jaccard,
    LogLoss,
    Nesterov,
    Newton,
    PartialROCArea,
    PrecisionAtK,
    RecallAtK,
    ROCArea,
    SquaredHinge,
)
from smoothperf.design import as_design
from smoothperf.kernels import selection
from smoothperf.objective import RegularizedRisk
from smoothperf.operating_point import threshold_for_weight, threshold_of_blocks
from smoothperf.solvers.smoothing import mu_for

EPS = np.finfo(np.float64).eps
TOP_K = [PRBEP(), PrecisionAtK(0.3), PrecisionAtK(1), RecallAtK(0.6)]
MEASURES = [*TOP_K, ROCArea(), ROCArea(as_printed=True), ErrorRate(3.0, 1.0), BalancedErrorRate()]
MEASURES += [LogLoss(), SquaredHinge()]
every_measure = pytest.mark.parametrize("measure", MEASURES, ids=repr)
searching = settings(deadline=None, max_examples=40, derandomize=True)


@st.composite
def lengths_of(draw, n):
    """Lengths of one to seven blocks, of which some may have a single row."""
    count = draw(st.sampled_from([count for count in (1, 2, 3, 7) if count <= n]))
    cuts = sorted(draw(st.sets(st.integers(1, n - 1), min_size=count - 1, max_size=count - 1))) if count > 1 else []
    return np.diff([0, *cuts, n]).tolist()


@st.composite
def split_problems(draw, most=40):
    """Labels, scores, weights and lengths of blocks: ties, constants, classes in blocks of their own, wide weights."""
    n = draw(st.integers(2, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = np.append([1, -1], rng.choice([1, -1], size=n - 2, p=[0.3, 0.7]))
    y = np.sort(y) if draw(st.booleans()) else rng.permutation(y)
    kind = draw(st.sampled_from(["general", "ties", "constant", "by class"]))
    scores = {
        "general": rng.normal(size=n),
        "ties": rng.integers(-2, 3, size=n).astype(float),
        "constant": np.ones(n),
        "by class": y.astype(float),
    }[kind] * 10.0 ** draw(st.sampled_from([-3, 0, 1, 4]))
    weighting = draw(st.sampled_from(["none", "whole", "real", "wide"]))
    weights = {
        "none": None,
        "whole": rng.integers(0, 4, size=n).astype(float),
        "real": rng.exponential(size=n),
        "wide": 10.0 ** rng.integers(-6, 7, size=n),
    }[weighting]
    if weights is not None:
        for members in (y == 1, y == -1):
            if not weights[members].any():
                weights[np.flatnonzero(members)[0]] = 1.0
    return y, scores, weights, draw(lengths_of(n))


def both(measure, y, weights, lengths):
    """The risk in memory and that of blocks, or nothing if the measure is not for so few rows."""
    try:
        near = measure.bind(y, weights)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)[:20]):
            measure.bind_blocks(in_blocks(measure, y, weights, lengths))
        return None
    blocks = in_blocks(measure, y, weights, lengths)
    return near, measure.bind_blocks(blocks), blocks


def assert_same(near, far, scores, *, deviation=1.0):
    """Two evaluations agree up to rounding; gradients have as much as scores have beside the width of ramps."""
    size = 1.0 + np.abs(scores).max()
    off = 16.0 * EPS * size
    assert far.value == pytest.approx(near.value, abs=off * size / deviation)
    assert far.height == pytest.approx(near.height, abs=off * size / deviation)
    steepness = max(1.0, np.abs(near.gradient).sum())  # at most 2, but for squared hinges
    assert far.offset == pytest.approx(near.offset, abs=off * steepness / deviation)
    assert np.abs(FarVectors.gathered(far.gradient) - near.gradient).sum() <= off / deviation
    assert far.rounding == pytest.approx(near.rounding, rel=0.5, abs=off / deviation)
    assert far.error == pytest.approx(near.error, rel=1e-12)


@every_measure
@searching
@given(problem=split_problems(), deviation=st.sampled_from([1.0, 0.03, 1e-3, 1e-6]))
def test_smoothed_risks_are_those_in_memory(measure, problem, deviation):
    y, scores, weights, lengths = problem
    risks = both(measure, y, weights, lengths)
    if risks is None:
        return
    near, far, blocks = risks
    assert far.diameter == pytest.approx(near.diameter, rel=1e-14)
    mu = mu_for(deviation, near)
    assert far.lipschitz(mu) == pytest.approx(near.lipschitz(mu), rel=1e-14)
    for few in (selection.FEW, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(selection, "FEW", few)
            first = far.smoothed(blocks.vectors.scattered(scores), mu)
            assert_same(near.smoothed(scores, mu), first, scores, deviation=deviation)
            moved = scores + 0.1 * np.cos(np.arange(len(scores)))
            again = far.smoothed(blocks.vectors.scattered(moved), mu, first.hint)
            assert_same(near.smoothed(moved, mu), again, moved, deviation=deviation)
            # Bounds of the exact risk need not be the same: where they are looked for depends on a sample.
            assert again.ceiling >= near.exact_value(moved) - 1e-12 * (1.0 + np.abs(moved).max())


@pytest.mark.parametrize("few", [0, selection.FEW])
@pytest.mark.parametrize("away", [-1e6, 1e6])
def test_a_hint_that_is_far_off_costs_rounds_only(away, few, monkeypatch):
    """The root is in the last block, whose scores are all above those of the others."""
    monkeypatch.setattr(selection, "FEW", few)
    rng = np.random.default_rng(0)
    n, lengths = 900, [300, 300, 300]
    y = np.where(rng.random(n) < 0.1, 1, -1)
    scores = np.sort(300.0 * rng.normal(size=n))
    near, far, blocks = both(PRBEP(), y, None, lengths)
    mu = 1e-2 / near.diameter
    expected = near.smoothed(scores, mu)
    hint = expected.hint._replace(all=expected.hint.all + away * mu)
    found = far.smoothed(blocks.vectors.scattered(scores), mu, hint)
    assert "range" in blocks.rounds or few
    assert_same(expected, found, scores, deviation=1e-2)


@every_measure
@searching
@given(problem=split_problems())
def test_exact_risks_are_those_in_memory(measure, problem):
    y, scores, weights, lengths = problem
    risks = both(measure, y, weights, lengths)
    if risks is None:
        return
    near, far, blocks = risks
    f = blocks.vectors.scattered(scores)
    for few in (selection.FEW, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(selection, "FEW", few)
            assert_same(near.exact(scores), far.exact(f), scores)
            assert far.exact_value(f) == pytest.approx(
                near.exact_value(scores), rel=1e-13, abs=1e-13 * (1.0 + np.abs(scores).max())
            )


@pytest.mark.parametrize("measure", [*MEASURES, FBeta(), Jaccard()], ids=repr)
@searching
@given(problem=split_problems())
def test_weighed_scores_are_those_in_memory(measure, problem):
    y, scores, weights, lengths = problem
    risks = both(measure, y, weights, lengths)
    if risks is None:
        return
    near, far, blocks = risks
    expected = near.weighed(scores)
    found = FarVectors.gathered(far.weighed(blocks.vectors.scattered(scores)))
    c = np.ones(len(scores)) if weights is None else weights
    assert (np.abs(found - expected) <= 16 * EPS * c * np.abs(scores).max()).all()


@every_measure
@searching
@given(problem=split_problems(), wanted=st.one_of(st.none(), st.floats(0.01, 1.2)))
def test_thresholds_are_those_in_memory(measure, problem, wanted):
    y, scores, weights, lengths = problem
    risks = both(measure, y, weights, lengths)
    if risks is None:
        return
    blocks = risks[2]
    f = blocks.vectors.scattered(scores)
    for few in (selection.FEW, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(selection, "FEW", few)
            assert measure.threshold_of_blocks(blocks, f) == measure.threshold(y, scores, weights)
            if wanted is not None:
                weight = wanted * (len(y) if weights is None else weights.sum())
                assert threshold_of_blocks(blocks, f, weight) == threshold_for_weight(scores, weights, weight)


def test_a_measure_that_cuts_where_it_likes_says_that_it_needs_the_rows():
    class OwnCut(PRBEP):
        def threshold(self, y, scores, sample_weight=None):
            return 0.5

    blocks = in_blocks(OwnCut(), np.array([1, -1, -1]), None, [2, 1])
    with pytest.raises(NotImplementedError, match="prbep needs all rows in memory to say where to cut"):
        OwnCut().threshold_of_blocks(blocks, blocks.vectors.constant(1.0))


def large_problem(measure, n=60_000, blocks=3, *, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.1, 1, -1)
    scores = rng.normal(size=n) + 0.7 * y
    weights = rng.exponential(size=n) if weighted else None
    far = in_blocks(measure, y, weights, [n // blocks] * blocks)
    return scores, measure.bind(y, weights), measure.bind_blocks(far), far


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("measure", [PRBEP(), PrecisionAtK(0.01)], ids=repr)
def test_little_travels(measure, weighted):
    """A few rounds, of arrays far smaller than the data: at most as many values as are few."""
    scores, near, far, blocks = large_problem(measure, weighted=weighted)
    f = blocks.vectors.scattered(scores)
    for deviation in (1.0, 0.03, 1e-4):
        mu = deviation / near.diameter
        blocks.rounds.clear()
        first = far.smoothed(f, mu)
        assert_same(near.smoothed(scores, mu), first, scores, deviation=deviation)
        assert first.ceiling == pytest.approx(near.smoothed(scores, mu).ceiling, abs=0.1 * deviation)
        assert len(blocks.rounds) <= 14
        blocks.rounds.clear()
        far.smoothed(blocks.vectors.scattered(scores + 1e-3), mu, first.hint)
        assert len(blocks.rounds) <= 8
    blocks.rounds.clear()
    assert_same(near.exact(scores), far.exact(f), scores)
    assert len(blocks.rounds) <= 6
    assert blocks.largest <= selection.FEW


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("as_printed", [False, True])
def test_little_travels_for_pairs(as_printed, weighted):
    """A few rounds, of arrays as long as the smaller class, or of bins."""
    scores, near, far, blocks = large_problem(ROCArea(as_printed), n=30_000, weighted=weighted)
    f = blocks.vectors.scattered(scores)
    hinges = 2 if as_printed else 1
    for deviation in (0.5, 0.03, 1e-3, 1e-5):  # bins and then sorting, unless as printed
        blocks.rounds.clear()
        found = far.smoothed(f, deviation / near.diameter)
        assert_same(near.smoothed(scores, deviation / near.diameter), found, scores, deviation=deviation)
        assert ("moments" in blocks.rounds) == (not as_printed and deviation > 5e-3)
        assert (found.error > 0.0) == ("moments" in blocks.rounds)
        assert len(blocks.rounds) <= 4 * hinges
    blocks.rounds.clear()
    assert_same(near.exact(scores), far.exact(f), scores)
    assert far.exact_value(f) == pytest.approx(near.exact_value(scores), rel=1e-13)
    assert len(blocks.rounds) <= 2 * 4 * hinges
    smaller = 30_000 * 0.11
    assert blocks.largest <= 5 * smaller


def far_objective(measure, X, y, lengths, alpha, weights=None):
    blocks = in_blocks(measure, y, weights, lengths)
    return RegularizedRisk(FarDesign(X, blocks.vectors), measure.bind_blocks(blocks), alpha)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "solver", [LBFGS(tol=1e-5), Nesterov(tol=1e-3), BMRM(tol=1e-3)], ids=lambda s: type(s).__name__
)
@every_measure
def test_runs_end_at_the_same_optimum(measure, solver, weighted):
    X, y = gaussians(60, 140, 4)
    weights = np.random.default_rng(1).integers(1, 4, size=200).astype(float) if weighted else None
    near = solver.run(RegularizedRisk(as_design(X), measure.bind(y, weights), 1e-2))
    far = solver.run(far_objective(measure, X, y, [50, 1, 99, 50], 1e-2, weights))
    assert near.status.name == far.status.name == "CONVERGED"
    assert abs(near.objective - far.objective) <= solver.tol
    assert max(near.lower_bound, far.lower_bound) <= min(near.objective, far.objective)
    np.testing.assert_allclose(FarVectors.gathered(far.scores), X @ far.coef, atol=1e-13)


def test_runs_with_more_columns_than_rows_keep_to_weights():
    X, y = gaussians(5, 7, 100)
    far = LBFGS(tol=1e-5).run(far_objective(PRBEP(), X, y, [6, 6], 1e-2))
    near = LBFGS(tol=1e-5).run(RegularizedRisk(as_design(X), PRBEP().bind(y), 1e-2))
    assert far.status.name == "CONVERGED"
    assert far.objective == pytest.approx(near.objective, abs=1e-5)


def test_runs_are_the_same_every_time():
    X, y = gaussians(60, 140, 4)
    one, other = (LBFGS().run(far_objective(PRBEP(), X, y, [50, 150], 1e-3)) for _ in range(2))
    np.testing.assert_array_equal(one.coef, other.coef)


def test_what_needs_all_rows_in_memory_says_so():
    X, y = gaussians()
    for measure in (PartialROCArea(0.2), Contingency(lambda b, c: b + c)):
        with pytest.raises(NotImplementedError, match=r"needs all rows in memory; .* prbep, precision@k"):
            measure.block(y > 0, None)
        with pytest.raises(NotImplementedError, match=r"needs all rows in memory; .* prbep, precision@k"):
            measure.bind_blocks(in_blocks(PRBEP(), y, None, [len(y)]))
    objective = far_objective(PRBEP(), X, y, [6, 6], 1e-2)
    assert not objective.risk.has_curvature
    with pytest.raises(ValueError, match="second derivative"):
        Newton().run(objective)


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
    weights = None if weights is None else np.array(weights)
    with pytest.raises(ValueError, match=message):
        PRBEP().bind_blocks(in_blocks(PRBEP(), y, weights, [1, 2]))
