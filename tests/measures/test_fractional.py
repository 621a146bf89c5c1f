"""F-beta and the Jaccard index: against all labelings, full tables and a generic solver; cuts, names and errors."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import fbeta_score, jaccard_score

import oracles
from problems import plainly_scored, searching
from smoothperf import BMRM, LBFGS, FBeta, Jaccard
from smoothperf.design import as_design
from smoothperf.measures import get_measure
from smoothperf.measures.flips import BestFlips
from smoothperf.measures.fractional_risk import SOFT_SHARE, levels
from smoothperf.optimise.objective import RegularizedRisk
from twins import fractional_best, fractional_levels

every_measure = pytest.mark.parametrize(
    "measure", [FBeta(), FBeta(2.0), FBeta(0.5), FBeta(0.1), Jaccard()], ids=lambda measure: measure.name
)


def coefficients(measure):
    return (measure.beta**2, 1.0) if isinstance(measure, FBeta) else (1.0, 0.0)


def loss_of(measure, positives):
    p, r = coefficients(measure)
    return lambda b, c: oracles.fractional_loss(p, r, positives, b, c)


def most_above_labelings(measure, positives):
    """The most that a fraction of one negative may add to the maximum over labelings, (labelings) in docs/maths.md."""
    p, r = coefficients(measure)
    return (1 + p) / (27 * p**2 * positives**2) if r else 1.0 / (4.0 * positives**2)


# --- exactly ----------------------------------------------------------------------------------------------------


@every_measure
@searching(15)
@given(problem=plainly_scored(9))
def test_risk_is_that_of_all_labelings_but_for_a_fraction_of_one_negative(measure, problem):
    y, scores = problem
    positives = int((y == 1).sum())
    over_labelings = oracles.contingency_risk(y, scores, loss_of(measure, positives))
    value = measure.bind(y).exact_value(scores)
    assert over_labelings - 1e-12 <= value <= over_labelings + most_above_labelings(measure, positives) + 1e-12


@every_measure
@searching(15)
@given(problem=plainly_scored(9))
def test_risk_is_that_of_all_labelings_where_no_fraction_pays(measure, problem):
    """The gradient of an exact evaluation says which examples are flipped; ties at the cut share the flips."""
    y, scores = problem
    result = measure.bind(y).exact(scores)
    false = np.abs(result.plane.gradient[y == -1]).sum() * len(y) / 2.0
    if abs(false - round(false)) < 1e-9:
        over_labelings = oracles.contingency_risk(y, scores, loss_of(measure, int((y == 1).sum())))
        assert result.value == pytest.approx(over_labelings, abs=1e-9)


@every_measure
@pytest.mark.parametrize("n_positive", [1, 7, 60])
def test_exact_value_is_that_of_the_full_table(measure, n_positive):
    """Branch and bound, and a binary search for each number of missed positives, against every cell of the table."""
    rng = np.random.default_rng(n_positive)
    y = np.where(np.arange(150) < n_positive, 1, -1)
    loss = loss_of(measure, n_positive)
    for scale, scores in itertools.product((0.3, 1.0, 5.0), (rng.normal(size=150), rng.integers(-2, 3, size=150))):
        f = scale * (scores + 0.5 * y)
        A, C = (np.append(0.0, np.cumsum(-2 / 150 * np.sort(side))) for side in (f[y == 1], -f[y == -1]))
        b, c = np.ogrid[: A.size, : C.size]
        table = float((loss(b, c) + A[:, None] + C[None, :]).max())
        value = measure.bind(y).exact_value(f)
        assert table - 1e-12 <= value <= table + most_above_labelings(measure, n_positive) + 1e-12


def test_exact_evaluation_looks_at_few_numbers_of_missed_positives():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(20_000) < 6_000, 1, -1)
    risk = FBeta().bind(y)
    flips = BestFlips.of(risk._sides(rng.normal(size=y.size) + 0.7 * y), risk._loss, risk._slope)
    assert 0.0 < flips.missed < 6_000.0
    assert flips.visited < 100


def test_subgradient_shares_flips_among_ties():
    """Three negatives with one score are the same negative."""
    result = FBeta().bind([1, 1, -1, -1, -1]).exact(np.array([2.0, 1.0, 0.5, 0.5, 0.5]))
    assert np.ptp(result.plane.gradient[2:]) == 0.0


@every_measure
def test_wrong_everywhere_has_risk_one_plus_the_margins(measure):
    y, scores = np.array([1, 1, -1, -1]), np.array([-3.0, -1.0, 2.0, 4.0])
    assert measure.bind(y).exact_value(scores) == pytest.approx(1.0 + 2.0 / 4.0 * 10.0)


@every_measure
def test_right_by_far_has_no_risk(measure):
    y = np.array([1, 1, -1, -1])
    result = measure.bind(y).exact(1e3 * y)
    assert result.value == 0.0
    assert not result.plane.gradient.any()


# --- smoothed ---------------------------------------------------------------------------------------------------


@every_measure
@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5, 3.0, 1.0, 0.0]], ids=["unit", "weighted"])
def test_smoothed_value_is_that_of_a_generic_solver(measure, weights):
    """Each level is a quadratic program with one constraint; the value is the soft maximum over all of them."""
    import cvxpy as cp

    y, scores = np.array([1, -1, 1, -1, -1, 1]), np.array([0.4, 0.1, -0.6, -0.8, 0.9, 1.3])
    c = np.ones(6) if weights is None else np.array(weights)
    total, positives, mu = c.sum(), c[y == 1].sum(), 1.0 / c.sum()
    (p, r), (count, nu) = coefficients(measure), levels(SOFT_SHARE * mu * total / 8.0)
    beta, t = cp.Variable(6), cp.Parameter(nonneg=True)
    gain = (-2.0 / total * c * y * scores) @ beta - mu / 2 * cp.sum_squares(cp.multiply(np.sqrt(c), beta - 0.5))
    slopes = c * np.where(y == 1, p, 1.0), c * np.where(y == 1, r, -1.0)  # of beta, and of t beta
    level = slopes[0] @ beta + t * (slopes[1] @ beta) >= t * ((p + r) * positives) - 1e-13
    problem = cp.Problem(cp.Maximize(gain), [level, beta >= 0, beta <= 1])
    values = []
    for at in np.arange(count + 1) / count:
        t.value = at
        values.append(at + problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11))
    best = max(values)
    expected = best + nu * np.log(np.mean(np.exp((np.array(values) - best) / nu)))
    assert measure.bind(y, weights).smoothed(scores, mu).value == pytest.approx(expected, abs=1e-8)


@every_measure
@searching(15)
@given(problem=plainly_scored(9), seed=st.integers(0, 99))
def test_exact_kernel_computes_what_its_twin_does(measure, problem, seed):
    y, scores = problem
    weights = np.random.default_rng(seed).choice([0.5, 1.0, 2.0, 3.0], size=len(y)) if seed % 2 else None
    c = np.ones(len(y)) if weights is None else weights
    risk = measure.bind(y, weights)
    expected = fractional_best(y * scores, y == 1, c, risk._loss, 2.0 / c.sum())
    assert risk.exact_value(scores) == pytest.approx(expected, abs=1e-13 * (1.0 + np.abs(scores).max()))
    assert risk.exact(scores).value == pytest.approx(expected, abs=1e-13 * (1.0 + np.abs(scores).max()))


@every_measure
@searching(10)
@given(problem=plainly_scored(9), deviation=st.sampled_from([0.5, 0.1]), seed=st.integers(0, 99))
def test_kernel_computes_what_its_twin_does(measure, problem, deviation, seed):
    y, scores = problem
    weights = np.random.default_rng(seed).choice([0.5, 1.0, 2.0, 3.0], size=len(y)) if seed % 2 else None
    c = np.ones(len(y)) if weights is None else weights
    risk = measure.bind(y, weights)
    mu = deviation / risk.diameter
    width = mu * c.sum() / 2.0
    count, nu = levels(SOFT_SHARE * width / 4.0)
    result = risk.smoothed(scores, mu)
    value, beta = fractional_levels(y * scores, y == 1, c, risk._loss, 2.0 / c.sum(), width, nu, count)
    assert result.value == pytest.approx(value - width / 4.0, abs=1e-11)
    np.testing.assert_allclose(result.plane.gradient, -2.0 / c.sum() * c * y * beta, rtol=0, atol=1e-10)


@every_measure
@pytest.mark.parametrize("deviation", [1e-2, 1e-4, 1e-6, 1e-8])
def test_smoothing_bound_holds_for_many_examples(measure, deviation):
    """Also where ramps are far narrower than the distance of two scores, and levels too many to look at."""
    rng = np.random.default_rng(3)
    y = np.where(rng.random(3000) < 0.3, 1, -1)
    risk = measure.bind(y)
    for scores in (rng.normal(size=3000) + 0.5 * y, np.round(rng.normal(size=3000) + y, 1), np.ones(3000)):
        result, exact = risk.smoothed(scores, deviation / risk.diameter), risk.exact_value(scores)
        rounding = result.plane.rounding * (1.0 + np.abs(scores).max())
        assert exact - deviation * (1 + 1e-12) - rounding <= result.value <= exact + rounding
        assert result.value <= result.height + rounding
        assert result.height <= exact + rounding
        assert result.exact == (exact, exact)
        assert rounding < 1e-13 / deviation


def test_levels_that_are_too_many_lower_the_value_by_little():
    """Here a missed positive costs what it gains, so that all levels are equally good and none can be left out."""
    y = np.array([1, 1, 1, -1, -1, -1])
    scores = np.array([1.0, 1.0, 1.0, -1e3, -1e3, -1e3])
    risk = Jaccard().bind(y)
    deviation = 1e-6
    result, exact = risk.smoothed(scores, deviation / risk.diameter), risk.exact_value(scores)
    rounding = result.plane.rounding * (1.0 + np.abs(scores).max())
    assert exact - deviation - 1e-3 - rounding <= result.value <= exact + rounding
    coarse = risk.smoothed(scores, 1e-2 / risk.diameter)
    assert exact - 1e-2 <= coarse.value <= exact + rounding


@pytest.mark.parametrize("deviation", [3.0, 0.5, 0.01, 1e-5, 1e-12, 1e-16])
def test_levels_cost_what_they_may(deviation):
    count, nu = levels(deviation)
    assert nu > 0.0
    # The finest grid has a step of 6e-14, which is beyond what can be told apart.
    assert 1.0 / count + nu * np.log(count + 1.0) <= deviation * (1 + 1e-12) + 2.0**-43


def test_gradient_is_zero_for_examples_that_are_safe():
    y = np.array([1] * 5 + [-1] * 20)
    scores = np.where(y == 1, 1.0, -1.0)
    scores[:5] = [0.1, 9.0, 9.0, 9.0, 9.0]
    risk = FBeta().bind(y)
    gradient = risk.smoothed(scores, 0.01 / risk.diameter).plane.gradient
    assert gradient[0] != 0.0
    assert not gradient[1:5].any()


# --- training ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small_problem():
    rng = np.random.default_rng(1)
    y = np.where(rng.random(300) < 0.25, 1, -1)
    return rng.normal(size=(300, 5)) + 0.6 * y[:, None] * np.array([1, 1, 0, 0, 0]), y


@pytest.mark.parametrize("measure", [FBeta(), FBeta(2.0), Jaccard()], ids=lambda measure: measure.name)
def test_solvers_agree_and_certify_it(small_problem, measure):
    X, y = small_problem
    results = [
        solver.run(RegularizedRisk(as_design(X), measure.bind(y), 1e-2))
        for solver in (BMRM(tol=1e-5), LBFGS(tol=1e-4), LBFGS(tol=1e-5))
    ]
    for result, tol in zip(results, (1e-5, 1e-4, 1e-5), strict=True):
        assert result.gap <= tol
    assert max(result.lower_bound for result in results) <= min(result.objective for result in results)


# --- the measures themselves ------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, [1.0, 0.5, 2.0, 0.0, 3.0, 1.0]], ids=["unit", "weighted"])
def test_scores_are_those_of_scikit_learn(weights):
    rng = np.random.default_rng(4)
    for _ in range(20):
        y, scores = rng.permutation([1, 1, -1, -1, 1, -1]), np.round(rng.normal(size=6), 1)
        c = None if weights is None else np.array(weights)
        predicted = np.where(scores > 0, 1, -1)
        for beta in (1.0, 2.0, 0.5):
            expected = fbeta_score(y, predicted, beta=beta, sample_weight=c, zero_division=0.0)
            assert FBeta(beta).score(y, scores, c) == pytest.approx(expected)
        expected = jaccard_score(y, predicted, sample_weight=c, zero_division=0.0)
        assert Jaccard().score(y, scores, c) == pytest.approx(expected)


@every_measure
@searching(15)
@given(problem=plainly_scored(9), weighted=st.booleans())
def test_threshold_is_a_good_cut(measure, problem, weighted):
    """It loses no more than 1.3 times what the best does; tests/cuts/test_threshold_search.py has its place."""
    y, scores = problem
    weights = np.arange(1.0, len(y) + 1.0) if weighted else None
    at = measure.threshold(y, scores, weights)
    distinct = np.unique(scores)
    cuts = [distinct[0] - 1.0, *((distinct[:-1] + distinct[1:]) / 2.0), distinct[-1] + 1.0]
    best = max(measure.score(y, scores - cut, weights) for cut in cuts)
    assert 1.0 - measure.score(y, scores - at, weights) <= 1.3 * (1.0 - best) + 1e-12
    if (np.diff(distinct) > 1e-12).all():  # there are numbers between two scores
        assert np.abs(scores - at).min() > 0.0


def test_threshold_lies_midway():
    assert FBeta().threshold([1, 1, -1, -1], [4.0, 2.0, 1.0, 0.0]) == 1.5


@every_measure
def test_a_bias_is_fitted(measure):
    assert measure.fits_bias
    assert not measure.bind([1, -1]).shift_invariant


@pytest.mark.parametrize(("name", "beta"), [("f1", 1.0), ("f2", 2.0), ("f0.5", 0.5), ("f.5", 0.5), ("f1.5", 1.5)])
def test_names_carry_the_beta(name, beta):
    assert get_measure(name) == FBeta(beta)


@pytest.mark.parametrize("name", ["f", "f0", "f-1", "f11", "f1.", "f1x", "fnan", "f1e3", "jaccard2"])
def test_unknown_names_are_refused(name):
    with pytest.raises(ValueError, match="measure must be one of"):
        get_measure(name)


@pytest.mark.parametrize("beta", [0.0, -1.0, np.inf, np.nan, "1", True, None])
def test_beta_must_be_a_positive_number(beta):
    with pytest.raises(ValueError, match="beta must be a finite number above 0"):
        FBeta(beta)


def test_betas_of_any_type_make_equal_measures():
    assert FBeta(1) == FBeta(1.0) == FBeta(np.float32(1))
    assert hash(FBeta(2)) == hash(FBeta(2.0))
    assert repr(FBeta(2)) == "FBeta(beta=2.0)"
    assert pickle.loads(pickle.dumps(FBeta(2))) == FBeta(2)
