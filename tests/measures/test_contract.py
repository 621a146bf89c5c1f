"""Promises of every risk, whatever the measure: planes, smoothing bounds, gradients, weights, invariances.

The judge is rational arithmetic (``oracles.exact_*``), so rounding bounds are tested as they are stated, without slack.
"""

import math
import pickle
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
import smoothperf
from problems import THOROUGH, frozen, randomly_scored, score_vectors, scored, searching
from smoothperf.measures import (
    PRBEP,
    BalancedErrorRate,
    ErrorRate,
    FBeta,
    Jaccard,
    LogLoss,
    Measure,
    PartialROCArea,
    PrecisionAtK,
    RecallAtK,
    ROCArea,
    SquaredHinge,
    get_measure,
)
from smoothperf.measures.bins import Span
from smoothperf.measures.projection import Roots
from smoothperf.optimise.smoothing import mu_for

CLOSED_FORM = {
    "prbep": (PRBEP(), oracles.exact_prbep),
    "roc_area": (ROCArea(), oracles.exact_roc),
    "precision@k": (PrecisionAtK(0.3), partial(oracles.exact_top_k, share=0.3, per_place=True)),
    "recall@k": (RecallAtK(0.6), partial(oracles.exact_top_k, share=0.6)),
    "roc_area@0.4": (PartialROCArea(0.4), partial(oracles.exact_partial_roc, max_fpr=0.4)),
    "error_rate@10:1": (ErrorRate(10.0, 1.0), partial(oracles.exact_pointwise, costs=(10, 1))),
}
LEVEL_SETS = {
    "f1": (FBeta(), partial(oracles.exact_fractional, p=1, r=1)),
    "f0.5": (FBeta(0.5), partial(oracles.exact_fractional, p=0.25, r=1)),
    "jaccard": (Jaccard(), partial(oracles.exact_fractional, p=1, r=0)),
}
# Nothing is smoothed: D = 0.
SMOOTH = {
    "log_loss": (LogLoss(), oracles.exact_log_loss),
    "squared_hinge": (SquaredHinge(), oracles.exact_squared_hinge),
}
STRUCTURAL = CLOSED_FORM | LEVEL_SETS
MEASURES = STRUCTURAL | SMOOTH
SHIFT_INVARIANT = {name: case for name, case in MEASURES.items() if not case[0].fits_bias}
every_risk = pytest.mark.parametrize(("measure", "truth"), MEASURES.values(), ids=MEASURES.keys())
# Of risks whose smoothed values are known without rounding too.
closed_form_risk = pytest.mark.parametrize(("measure", "truth"), CLOSED_FORM.values(), ids=CLOSED_FORM.keys())
structural_risk = pytest.mark.parametrize(("measure", "truth"), STRUCTURAL.values(), ids=STRUCTURAL.keys())
every_shift_invariant_risk = pytest.mark.parametrize(
    ("measure", "truth"), SHIFT_INVARIANT.values(), ids=SHIFT_INVARIANT.keys()
)


tame_problems = scored(scales=(-1, 0, 1), weights=("none", "whole", "real"))
wild_problems = st.one_of(scored(), randomly_scored(8))
any_mu = st.sampled_from([1e-12, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 1e3, 1e6])
tame_mu = st.floats(0.01, 3.0)


def allowance(result, scores):
    """The rounding that a result owns up to, at given scores."""
    return Fraction(result.plane.rounding) * (1 + max(abs(f) for f in oracles.fractions(scores)))


def assert_same(one, other, scores, *, gradient=None):
    """Two results agree up to the rounding that both own up to; ``gradient`` is that of ``other``, if rearranged."""
    apart = one.plane.rounding + other.plane.rounding
    length = 1.0 + np.abs(scores).max()
    assert one.value == pytest.approx(other.value, abs=apart * length)
    assert one.height == pytest.approx(other.height, abs=apart * length)
    assert one.plane.offset == pytest.approx(other.plane.offset, abs=apart * length)
    np.testing.assert_allclose(
        one.plane.gradient, other.plane.gradient if gradient is None else gradient, rtol=0, atol=apart * length
    )


def assert_same_value(one, other, scores):
    """For exact results, whose gradients may differ where there are ties."""
    assert one.value == pytest.approx(
        other.value, abs=(one.plane.rounding + other.plane.rounding) * (1.0 + np.abs(scores).max())
    )


def assert_plane_holds(result, problem, truth, elsewhere):
    """R(f') >= <g, f'> + b - rounding (1 + max|f'|), in exact arithmetic."""
    y, _, weights = problem
    plane = oracles.exact_plane(result.plane.gradient, result.plane.offset, elsewhere)
    excess = plane - truth(y, elsewhere, weights)
    assert excess <= allowance(result, elsewhere), f"plane above the risk by {float(excess)} at {elsewhere}"


def assert_plane_holds_everywhere(result, problem, truth, data):
    """Look at the place where it was made, and at a few others."""
    assert_plane_holds(result, problem, truth, problem.scores)
    for _ in range(3):
        assert_plane_holds(result, problem, truth, data.draw(score_vectors(len(problem.y))))


# --- exact evaluations ------------------------------------------------------------------------------------------


@every_risk
@searching(6)
@given(problem=wild_problems)
def test_exact_value_is_the_true_value(measure, truth, problem):
    y, scores, weights = problem
    risk = measure.bind(y, weights)
    result = risk.exact(scores)
    true = truth(y, scores, weights)
    assert abs(Fraction(result.value) - true) <= allowance(result, scores)
    assert abs(Fraction(risk.exact_value(scores)) - true) <= allowance(result, scores)


@every_risk
@searching(6)
@given(problem=wild_problems)
def test_exact_plane_touches_the_risk(measure, truth, problem):
    y, scores, weights = problem
    result = measure.bind(y, weights).exact(scores)
    assert result.plane.gradient.shape == scores.shape
    assert result.plane.gradient.dtype == np.float64
    touching = oracles.exact_plane(result.plane.gradient, result.plane.offset, scores)
    assert abs(touching - Fraction(result.value)) <= allowance(result, scores)
    assert abs(Fraction(result.height) - touching) <= allowance(result, scores)


@every_risk
@searching(6)
@given(data=st.data(), problem=wild_problems)
def test_exact_plane_is_nowhere_above_the_risk(measure, truth, data, problem):
    result = measure.bind(problem.y, problem.weights).exact(problem.scores)
    assert_plane_holds_everywhere(result, problem, truth, data)


# --- smoothed evaluations ---------------------------------------------------------------------------------------


@closed_form_risk
@searching(6)
@given(problem=wild_problems, mu=any_mu)
def test_smoothed_value_is_the_true_value(measure, truth, problem, mu):
    y, scores, weights = problem
    result = measure.bind(y, weights).smoothed(scores, mu)
    assert abs(Fraction(result.value) - truth(y, scores, weights, mu)) <= allowance(result, scores)


@every_risk
@searching(6)
@given(problem=wild_problems, mu=any_mu)
def test_smoothing_lowers_the_risk_by_at_most_mu_times_the_diameter(measure, truth, problem, mu):
    y, scores, weights = problem
    risk = measure.bind(y, weights)
    result = risk.smoothed(scores, mu)
    exact, slack = truth(y, scores, weights), allowance(result, scores)
    assert Fraction(result.value) <= exact + slack
    # D and mu D are themselves rounded, hence the last term.
    assert Fraction(result.value) >= exact - Fraction(mu) * Fraction(risk.diameter) * (1 + Fraction(1, 10**14)) - slack


@every_risk
@searching(6)
@given(data=st.data(), problem=wild_problems, mu=any_mu)
def test_smoothed_plane_is_nowhere_above_the_exact_risk(measure, truth, data, problem, mu):
    result = measure.bind(problem.y, problem.weights).smoothed(problem.scores, mu)
    assert_plane_holds_everywhere(result, problem, truth, data)


@every_risk
@searching(6)
@given(problem=wild_problems, mu=any_mu)
def test_height_is_the_plane_where_it_was_made(measure, truth, problem, mu):
    result = measure.bind(problem.y, problem.weights).smoothed(problem.scores, mu)
    plane = oracles.exact_plane(result.plane.gradient, result.plane.offset, problem.scores)
    assert abs(Fraction(result.height) - plane) <= allowance(result, problem.scores)
    assert Fraction(result.value) <= plane + allowance(result, problem.scores)


@every_risk
@searching(6)
@given(problem=tame_problems, mu=tame_mu)
def test_rounding_is_negligible_at_ordinary_scales(measure, truth, problem, mu):
    risk = measure.bind(problem.y, problem.weights)
    largest = 1.0 + np.abs(problem.scores).max()
    # Squared hinges are the only ones whose slopes are not bounded.
    allowed = 1e-12 * (largest**2 if isinstance(measure, SquaredHinge) else 1.0)
    assert 0.0 < risk.exact(problem.scores).plane.rounding <= allowed
    # Differences of sums of scores may be divided by the width of the smoothing, which is of the order of mu D.
    width = mu * risk.diameter if risk.diameter > 0.0 else math.inf
    assert 0.0 < risk.smoothed(problem.scores, mu).plane.rounding <= allowed * (1.0 + largest / width)


@every_risk
@searching(6)
@given(problem=tame_problems, mu=tame_mu)
def test_gradient_is_that_of_finite_differences(measure, truth, problem, mu):
    y, scores, weights = problem
    risk = measure.bind(y, weights)
    step = 1e-5
    differences = oracles.central_differences(lambda f: risk.smoothed(f, mu).value, scores, step)
    # The derivative along a coordinate changes by no more than L c h over the step, the rest is rounding.
    bound = risk.lipschitz(mu) * (np.ones(len(y)) if weights is None else weights) * step + 1e-9
    bound += 2.0 * float(allowance(risk.smoothed(scores, mu), scores)) / step
    assert (np.abs(risk.smoothed(scores, mu).plane.gradient - differences) <= bound).all()


@every_risk
@searching(6)
@given(data=st.data(), problem=tame_problems, mu=tame_mu)
def test_gradient_changes_no_faster_than_the_lipschitz_constant(measure, truth, data, problem, mu):
    """In the norms that go with the weights: sum (g - g')^2 / c <= L^2 sum c (f - f')^2."""
    y, scores, weights = problem
    risk = measure.bind(y, weights)
    c = np.ones(len(y)) if weights is None else weights
    there = c > 0
    other = data.draw(score_vectors(len(y), (-3, -2, -1, 0)))
    here = risk.smoothed(scores, mu)
    for elsewhere in (other, scores + other):
        result = risk.smoothed(elsewhere, mu)
        move = elsewhere - scores
        change = (result.plane.gradient - here.plane.gradient)[there]
        moved, changed = np.sqrt(c @ move**2), np.sqrt(np.sum(change**2 / c[there]))
        rounding = float(allowance(here, scores) + allowance(result, elsewhere))
        assert changed <= risk.lipschitz(mu) * moved * (1 + 1e-12) + 2.0 * rounding / np.sqrt(c[there].min())
        # The same constant as the solvers use it: a quadratic that lies above the smoothed risk.
        above = here.value + here.plane.gradient @ move + risk.lipschitz(mu) / 2 * moved**2
        assert result.value <= above * (1 + 1e-12) + 2.0 * rounding * (1.0 + np.abs(move).sum())


@pytest.mark.parametrize(
    ("measure", "truth"), [case for case in CLOSED_FORM.values() if not isinstance(case[0], PartialROCArea)]
)
@pytest.mark.parametrize("mu", [0.5, 8.0])
@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5, 3.0, 1.0]], ids=["unit", "weighted"])
def test_lipschitz_constant_is_attained_where_everything_is_active(measure, truth, mu, weights):
    y = np.array([1, 1, 1, -1, -1])
    risk = measure.bind(y, weights)
    c = np.ones(5) if weights is None else np.array(weights)
    if isinstance(measure, (PRBEP, PrecisionAtK, RecallAtK)):  # two active examples in exchange for each other
        scores = np.array([0.55, 0.54, 0.56, 0.45, 0.46])
        one, other = (3, 4) if isinstance(measure, PrecisionAtK) else (0, 1)
        direction = np.eye(5)[one] / c[one] - np.eye(5)[other] / c[other]
    elif measure.fits_bias:  # one example of the class that costs more
        scores = 0.05 * y
        direction = np.eye(5)[0]
    else:  # the top eigenvector of the Laplacian of the complete bipartite graph
        scores = np.where(y == 1, 0.4, -0.05)
        direction = np.where(y == 1, 1.0 / c[:3].sum(), -1.0 / c[3:].sum())
    step = 1e-3 * direction
    change = risk.smoothed(scores + step, mu).plane.gradient - risk.smoothed(scores, mu).plane.gradient
    expected = risk.lipschitz(mu) * np.sqrt(c @ step**2)
    assert np.sqrt(np.sum(change**2 / c)) == pytest.approx(expected, rel=1e-9)


@closed_form_risk
@pytest.mark.parametrize("y", [[1, -1], [1, 1, 1, -1], [1, -1, -1, -1, -1], [1, 1, -1, -1]])
def test_diameter_is_attained_where_everything_is_wrong(measure, truth, y):
    y = np.array(y)
    if isinstance(measure, (PrecisionAtK, RecallAtK)):  # a fraction of a place would not be enough
        measure = type(measure)(max(1, int(measure.k * len(y))))
    if isinstance(measure, PartialROCArea):
        measure = PartialROCArea(1.0 / (y == -1).sum())
    risk, mu = measure.bind(y), 0.25
    scores = -1e3 * y + 50.0 * np.arange(len(y))  # no ties, which would share the loss out
    assert risk.exact(scores).value - risk.smoothed(scores, mu).value == pytest.approx(mu * risk.diameter, rel=1e-10)


any_number = st.floats(allow_nan=True, allow_infinity=True)


@closed_form_risk
@searching(6)
@given(problem=wild_problems, mu=any_mu, roots=st.builds(Roots, any_number, any_number, any_number), other_mu=any_mu)
def test_hint_changes_rounding_only(measure, truth, problem, mu, roots, other_mu):
    y, scores, weights = problem
    risk = measure.bind(y, weights)
    hints = [risk.smoothed(f, m).hint for f, m in ((scores, mu), (scores, other_mu), (-scores, mu))]
    # Whatever the hint says, as long as it is one for this risk.
    nonsense = Span(roots.all, roots.sample) if isinstance(measure, ROCArea) else roots
    for start in (*hints, nonsense):
        hinted = risk.smoothed(scores, mu, start)
        assert abs(Fraction(hinted.value) - truth(y, scores, weights, mu)) <= allowance(hinted, scores)
        plane = oracles.exact_plane(hinted.plane.gradient, hinted.plane.offset, scores)
        assert abs(plane - Fraction(hinted.height)) <= allowance(hinted, scores)


@every_risk
@searching(6)
@given(problem=tame_problems, mu=tame_mu, other=st.floats(-10.0, 10.0), other_mu=tame_mu)
def test_hint_does_not_move_the_gradient(measure, truth, problem, mu, other, other_mu):
    risk = measure.bind(problem.y, problem.weights)
    plain = risk.smoothed(problem.scores, mu)
    for elsewhere in (problem.scores, other * problem.scores, problem.scores + other):
        hinted = risk.smoothed(problem.scores, mu, risk.smoothed(elsewhere, other_mu).hint)
        assert_same(hinted, plain, problem.scores)


@every_risk
def test_evaluations_leave_no_trace(measure, truth):
    rng = np.random.default_rng(5)
    y, scores = np.where(rng.random(30) < 0.3, 1, -1), frozen(rng.normal(size=30))
    risk = measure.bind(y)
    before = risk.smoothed(scores, 0.01)
    risk.smoothed(-5 * scores, 3.0)
    risk.exact(2 * scores)
    after = risk.smoothed(scores, 0.01)
    assert (before.value, before.plane.offset, before.height) == (after.value, after.plane.offset, after.height)
    np.testing.assert_array_equal(before.plane.gradient, after.plane.gradient)


# --- symmetries -------------------------------------------------------------------------------------------------


@every_shift_invariant_risk
@searching(6)
@given(problem=tame_problems, mu=tame_mu, shift=st.floats(-1e3, 1e3))
def test_shifting_all_scores_changes_nothing(measure, truth, problem, mu, shift):
    y, scores, weights = problem
    risk = measure.bind(y, weights)
    assert risk.shift_invariant
    moved = scores + shift
    assert_same_value(risk.exact(moved), risk.exact(scores), moved)
    shifted, plain = risk.smoothed(moved, mu), risk.smoothed(scores, mu)
    # The shifted scores are rounded too, and the gradient answers by up to L times the heaviest weight.
    length, heaviest = 1.0 + np.abs(moved).max(), 1.0 if weights is None else weights.max()
    apart = length * (
        shifted.plane.rounding + plain.plane.rounding + 1e-14 * (1.0 + risk.lipschitz(mu) * heaviest * len(y))
    )
    assert shifted.value == pytest.approx(plain.value, abs=apart)
    np.testing.assert_allclose(shifted.plane.gradient, plain.plane.gradient, rtol=0, atol=apart)


@every_shift_invariant_risk
@searching(6)
@given(problem=wild_problems, mu=any_mu)
def test_gradient_sums_to_zero(measure, truth, problem, mu):
    risk = measure.bind(problem.y, problem.weights)
    for result in (risk.exact(problem.scores), risk.smoothed(problem.scores, mu)):
        assert abs(sum(oracles.fractions(result.plane.gradient))) <= Fraction(result.plane.rounding)


@every_risk
@searching(6)
@given(problem=tame_problems, mu=tame_mu, seed=st.integers(0, 1000))
def test_order_of_the_examples_does_not_matter(measure, truth, problem, mu, seed):
    y, scores, weights = problem
    order = np.random.default_rng(seed).permutation(len(y))
    risk = measure.bind(y, weights)
    moved = measure.bind(y[order], None if weights is None else weights[order])
    assert_same_value(moved.exact(scores[order]), risk.exact(scores), scores)
    assert moved.diameter == pytest.approx(risk.diameter, rel=1e-14)
    plain, permuted = risk.smoothed(scores, mu), moved.smoothed(scores[order], mu)
    assert_same(permuted, plain, scores, gradient=plain.plane.gradient[order])


@every_risk
@pytest.mark.parametrize(
    "encode",
    [
        lambda y: y,
        lambda y: (y > 0).astype(int),
        lambda y: y > 0,
        lambda y: y.astype(np.float32),
        lambda y: (y > 0).astype(np.uint8),
        lambda y: y.tolist(),
    ],
    ids=["plus-minus", "zero-one", "bool", "float32", "uint8", "list"],
)
def test_labels_may_be_written_in_several_ways(measure, truth, encode):
    y, scores = np.array([1, -1, -1, 1, -1]), np.array([0.3, 0.4, -1.0, 2.0, 0.1])
    expected = measure.bind(y).smoothed(scores, 0.1)
    result = measure.bind(encode(y)).smoothed(scores, 0.1)
    assert result.value == expected.value
    np.testing.assert_array_equal(result.plane.gradient, expected.plane.gradient)
    assert measure.score(encode(y), scores) == measure.score(y, scores)


# --- weights ----------------------------------------------------------------------------------------------------


@every_risk
@searching(6)
@given(problem=scored(scales=(-1, 0, 1), weights=("whole",)), mu=tame_mu)
def test_whole_weights_stand_for_copies(measure, truth, problem, mu):
    y, scores, weights = problem
    counts = weights.astype(int)
    many_y, many_scores = oracles.copies(y, counts, scores)
    weighted, copied = measure.bind(y, weights), measure.bind(many_y)
    assert weighted.diameter == pytest.approx(copied.diameter, rel=1e-14)
    assert_same_value(weighted.exact(scores), copied.exact(many_scores), scores)
    one, many = weighted.smoothed(scores, mu), copied.smoothed(many_scores, mu)
    assert_same(one, many, scores, gradient=oracles.sum_over_copies(many.plane.gradient, counts))
    assert measure.score(y, scores, weights) == pytest.approx(measure.score(many_y, many_scores), rel=1e-13, abs=1e-12)
    assert measure.predicted_positive(y, weights) == measure.predicted_positive(many_y)


@every_risk
@searching(6)
@given(problem=scored(scales=(-1, 0, 1), weights=("whole", "real")), mu=tame_mu)
def test_examples_without_weight_are_not_there(measure, truth, problem, mu):
    y, scores, weights = problem
    there = weights > 0
    whole, part = measure.bind(y, weights), measure.bind(y[there], weights[there])
    assert_same_value(whole.exact(scores), part.exact(scores[there]), scores)
    assert not whole.exact(scores).plane.gradient[~there].any()
    one, other = whole.smoothed(scores, mu), part.smoothed(scores[there], mu)
    gradient = np.zeros(len(y))
    gradient[there] = other.plane.gradient
    assert_same(one, other, scores, gradient=gradient)
    assert not one.plane.gradient[~there].any()
    assert measure.score(y, scores, weights) == pytest.approx(measure.score(y[there], scores[there], weights[there]))


@every_risk
@searching(6)
@given(problem=tame_problems)
def test_only_ratios_of_weights_matter(measure, truth, problem):
    y, scores, weights = problem
    weights = np.ones(len(y)) if weights is None else weights
    plain, scaled = measure.bind(y, weights), measure.bind(y, 7.0 * weights)
    assert_same_value(scaled.exact(scores), plain.exact(scores), scores)
    # R_mu depends on mu D only, as far as the unit of weight goes.
    mu = 0.3
    rescaled = mu_for(mu * plain.diameter, scaled)
    assert_same(scaled.smoothed(scores, rescaled), plain.smoothed(scores, mu), scores)
    assert measure.score(y, scores, 7.0 * weights) == pytest.approx(measure.score(y, scores, weights))


#: Examples whose rounding errors add up.
MANY = 100_001 if THOROUGH > 1 else 30_001


@every_shift_invariant_risk
@pytest.mark.parametrize("mu", [0.0, 1e-9, 1e-5])
@pytest.mark.parametrize("weight", [None, 0.1], ids=["unit", "tenths"])
@pytest.mark.parametrize("rare", [1, -1], ids=["one positive", "one negative"])
def test_rounding_bound_holds_for_many_examples(measure, truth, mu, weight, rare):
    """Constant scores turn the plane inequality into one about the sum of the gradient, however large n is."""
    n = MANY
    y = np.full(n, -rare)
    y[n // 2] = rare
    risk = measure.bind(y, None if weight is None else np.full(n, weight))
    # A bound of the error of n sums in any order, divided by the width of the smoothing, would still be a useful one.
    useful = 8 * n * np.finfo(float).eps * (1.0 + (10.0 / (mu * risk.diameter) if mu > 0.0 else 0.0))
    # Equal terms make rounding errors that all have one sign.
    for scores in (np.random.default_rng(2).normal(size=n), np.where(y == 1, 0.1, 0.3), np.where(y == 1, 0.7, 0.0)):
        result = risk.exact(scores) if mu == 0.0 else risk.smoothed(scores, mu)
        assert result.plane.rounding <= useful
        assert abs(math.fsum(result.plane.gradient)) <= result.plane.rounding


@pytest.mark.parametrize("weight", [None, 0.1], ids=["unit", "tenths"])
@pytest.mark.parametrize("measure", [ErrorRate(), ErrorRate(1e-6, 1e6), BalancedErrorRate()], ids=str)
def test_rounding_bound_holds_for_many_examples_by_themselves(measure, weight):
    """The offset is half the 1-norm of the gradient, whatever beta is; and what beta costs is what it was bound to."""
    n = 2 * MANY - 1
    y = np.full(n, -1)
    y[n // 2] = 1
    risk = measure.bind(y, None if weight is None else np.full(n, weight))
    for scores in (np.random.default_rng(2).normal(size=n), np.where(y == 1, 0.1, 0.3), np.full(n, -0.49)):
        for result in (risk.exact(scores), *(risk.smoothed(scores, mu / risk.diameter) for mu in (1e-9, 1e-3, 1.0))):
            assert result.plane.rounding <= 1e-12
            assert abs(math.fsum(np.abs(result.plane.gradient)) / 2.0 - result.plane.offset) <= result.plane.rounding
    wrong = risk.smoothed(-1.0 * y, 1e-6 / risk.diameter)
    assert abs(wrong.plane.offset - 1.0) <= wrong.plane.rounding


# --- regularised problems ---------------------------------------------------------------------------------------

OPTIMA = {
    "prbep": (PRBEP(), oracles.prbep_optimum),
    "roc_area": (ROCArea(), oracles.roc_optimum),
    "precision@2": (PrecisionAtK(2), partial(oracles.top_k_optimum, k=2, precision=True)),
    "recall@5": (RecallAtK(5), partial(oracles.top_k_optimum, k=5, precision=False)),
    "roc_area@0.5": (PartialROCArea(0.5), partial(oracles.partial_roc_optimum, k=3)),
    "error_rate@3:1": (ErrorRate(3.0), partial(oracles.error_optimum, costs=(3.0, 1.0))),
    "balanced_error_rate": (BalancedErrorRate(), partial(oracles.error_optimum, costs=(2.0, 1.0))),
    "log_loss": (LogLoss(), partial(oracles.smooth_optimum, loss="log_loss")),
    "squared_hinge": (SquaredHinge(), partial(oracles.smooth_optimum, loss="squared_hinge")),
}


@pytest.mark.parametrize(("measure", "optimum"), OPTIMA.values(), ids=OPTIMA.keys())
@pytest.mark.parametrize("alpha", [1e-2, 1.0])
def test_risks_have_the_optimum_of_a_convex_solver(measure, optimum, alpha):
    """The solver's minimum is the objective there, and planes made anywhere bound it from below."""
    rng = np.random.default_rng(12)
    y, X = np.array([1, 1, 1, -1, -1, -1, -1, -1, -1]), rng.normal(size=(9, 3))
    w, best = optimum(X, y, alpha)
    risk = measure.bind(y)
    assert alpha / 2 * w @ w + risk.exact_value(X @ w) == pytest.approx(best, abs=1e-8)
    for scale in (0.1, 1.0, 10.0):
        v = w + scale * rng.normal(size=3)
        assert alpha / 2 * v @ v + risk.exact_value(X @ v) > best
        for found in (risk.exact(X @ v), risk.smoothed(X @ v, 0.1)):
            slope = X.T @ found.plane.gradient
            assert found.plane.offset - slope @ slope / (2 * alpha) <= best + 1e-8


# --- measures ---------------------------------------------------------------------------------------------------


@every_risk
def test_measures_are_values(measure, truth):
    copy = pickle.loads(pickle.dumps(measure))
    assert copy == measure
    assert hash(copy) == hash(measure)
    assert len({measure, copy}) == 1
    assert measure != "prbep"
    assert eval(repr(measure), vars(smoothperf.measures)) == measure


def test_different_measures_are_different():
    assert len({measure for measure, _ in MEASURES.values()}) == len(MEASURES)


@every_risk
def test_measures_cannot_be_changed(measure, truth):
    for name in ("k", "positive_cost", "max_fpr"):
        with pytest.raises(AttributeError):
            setattr(measure, name, 1)


@every_risk
def test_bound_risks_know_their_size_and_weights(measure, truth):
    y, weights = [1, -1, -1, 1, 1], frozen([0.5, 1.0, 2.0, 0.0, 1.0])
    assert measure.bind(y).examples.count == 5
    f = np.array([1.0, -2.0, 0.5, 4.0, 3.0])
    for c in (np.ones(5), weights):
        risk = measure.bind(y, None if c is not weights else weights)
        centred = f - np.average(f, weights=c) if risk.shift_invariant else f
        np.testing.assert_allclose(risk.weighed(f), c * centred, rtol=1e-15)


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("prbep", PRBEP()),
        ("roc_area", ROCArea()),
        ("precision@100", PrecisionAtK(100)),
        ("precision@0.05", PrecisionAtK(0.05)),
        ("recall@7", RecallAtK(7)),
        ("roc_area@0.1", PartialROCArea(0.1)),
        ("error_rate", ErrorRate()),
        ("error_rate@10:1", ErrorRate(10.0, 1.0)),
        ("error_rate@0.5:2.25", ErrorRate(0.5, 2.25)),
        ("balanced_error_rate", BalancedErrorRate()),
        ("f1", FBeta()),
        ("f2", FBeta(2.0)),
        ("f0.5", FBeta(0.5)),
        ("jaccard", Jaccard()),
        ("log_loss", LogLoss()),
        ("squared_hinge", SquaredHinge()),
    ],
)
def test_measures_are_found_by_name(name, measure):
    assert get_measure(name) == measure
    assert measure.name == name


def test_shares_may_be_written_in_percent():
    assert get_measure("precision@5%") == PrecisionAtK(0.05)
    assert get_measure("recall@12.5%") == RecallAtK(0.125)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("precision", r"measure must be one of 'prbep', .*'precision@100', .* got 'precision'"),
        ("precision@", r"measure 'precision@' cannot be read: .* Write it like 'precision@100'"),
        ("precision@0", r"measure 'precision@0' cannot be read: k must be a whole number of at least 1, got 0"),
        ("recall@1.0", r"measure 'recall@1.0' cannot be read: k must be a count .* or a share between 0 and 1"),
        ("recall@100%", r"cannot be read: k must be a count"),
        ("error_rate@10", r"cannot be read: .* Write it like 'error_rate@10:1'"),
        ("error_rate@-1:1", r"cannot be read: positive_cost must be a finite number above 0, got -1.0"),
        (7, r"measure must be one of .* got 7"),
    ],
)
def test_names_that_cannot_be_read(name, message):
    with pytest.raises(ValueError, match=message):
        get_measure(name)


@every_risk
def test_measures_pass_through_the_lookup(measure, truth):
    assert isinstance(measure, Measure)
    assert get_measure(measure) is measure


@pytest.mark.parametrize(
    ("measure", "truth"), [case for case in MEASURES.values() if not isinstance(case[0], (PrecisionAtK, RecallAtK))]
)
def test_as_many_positives_are_wanted_as_there_are(measure, truth):
    assert measure.predicted_positive([1, 1, -1, -1, -1]) == 2.0
    assert measure.predicted_positive([1, 0, 0], frozen([0.5, 3.0, 0.0])) == 0.5


@structural_risk
@searching(6)
@given(problem=tame_problems)
def test_risk_is_an_upper_bound_of_the_loss(measure, truth, problem):
    y, scores, weights = problem
    assert measure.bind(y, weights).exact(scores).value >= 1.0 - measure.score(y, scores, weights) - 1e-12


@every_risk
def test_nothing_is_written_to(measure, truth):
    """Everything is read-only here; a write would raise."""
    y, scores, weights = frozen([1, -1, 1, -1], np.int64), frozen([0.1, 0.2, 0.3, 0.0]), frozen([1.0, 2.0, 0.5, 1.0])
    for c in (None, weights):
        risk = measure.bind(y, c)
        risk.exact(scores)
        risk.exact_value(scores)
        risk.smoothed(scores, 0.1)
        measure.score(y, scores, c)
        measure.predicted_positive(y, c)
    assert y.tolist() == [1, -1, 1, -1]
    assert scores.tolist() == [0.1, 0.2, 0.3, 0.0]
    assert weights.tolist() == [1.0, 2.0, 0.5, 1.0]


@every_risk
@searching(6)
@given(problem=wild_problems, mu=any_mu)
def test_the_exact_risk_is_in_the_interval(measure, truth, problem, mu):
    y, scores, weights = problem
    risk = measure.bind(y, weights)
    result = risk.smoothed(scores, mu)
    if isinstance(measure, PartialROCArea):  # which has none
        assert result.exact is None
        return
    exact, slack = truth(y, scores, weights), allowance(result, scores)
    assert Fraction(result.exact.low) - slack <= exact <= Fraction(result.exact.high) + slack
    if isinstance(measure, ROCArea):  # by sorting: the hinges themselves
        assert result.exact == (risk.exact(scores).value,) * 2
