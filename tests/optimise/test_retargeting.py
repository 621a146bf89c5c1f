"""The tight bound: R - R0 lies where it must, its convex steps are true majorants, and what a run says of them holds.

Judges: rational arithmetic for the risks (R0 is ``R(s f) / s`` for an s beyond everything, which is a power of two and
so not rounded), brute force over labelings, and a generic convex solver for the steps.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from problems import gaussians, problem, scored, searching
from promises import hold_tight, tight_value
from smoothperf.measures import (
    PRBEP,
    BalancedErrorRate,
    ErrorRate,
    FBeta,
    Jaccard,
    LogLoss,
    PartialROCArea,
    PrecisionAtK,
    RecallAtK,
    ROCArea,
    SquaredHinge,
)
from smoothperf.optimise import BMRM, LBFGS, Nesterov, Newton, Start, Status
from smoothperf.optimise.objective import RegularizedRisk
from smoothperf.optimise.retargeting import Retargeted, Retargeting, value_of_start


def exact_balanced(y, scores, weights=None):
    c = oracles.fractions(np.ones(len(y)) if weights is None else weights)
    masses = [sum(ci for ci, label in zip(c, y, strict=True) if label == side) for side in (1, -1)]
    return oracles.exact_pointwise(y, scores, weights, costs=[sum(masses) / mass for mass in masses])


CASES = {
    "prbep": (PRBEP(), oracles.exact_prbep),
    "precision@20%": (PrecisionAtK(0.2), partial(oracles.exact_top_k, share=0.2, per_place=True)),
    "precision@1": (PrecisionAtK(1), partial(oracles.exact_top_k, k=1, per_place=True)),
    "precision@80%": (PrecisionAtK(0.8), partial(oracles.exact_top_k, share=0.8, per_place=True)),
    "recall@1": (RecallAtK(1), partial(oracles.exact_top_k, k=1)),
    "recall@80%": (RecallAtK(0.8), partial(oracles.exact_top_k, share=0.8)),
    "f1": (FBeta(), partial(oracles.exact_fractional, p=1, r=1)),
    "f2": (FBeta(2.0), partial(oracles.exact_fractional, p=4, r=1)),
    "jaccard": (Jaccard(), partial(oracles.exact_fractional, p=1, r=0)),
    "error_rate": (ErrorRate(), oracles.exact_pointwise),
    "error_rate@5:1": (ErrorRate(5.0, 1.0), partial(oracles.exact_pointwise, costs=(5, 1))),
    "balanced_error_rate": (BalancedErrorRate(), exact_balanced),
    "roc_area": (ROCArea(), oracles.exact_roc),
    "roc_area@0.4": (PartialROCArea(0.4), partial(oracles.exact_partial_roc, max_fpr=0.4)),
}
every_measure = pytest.mark.parametrize(("measure", "truth"), CASES.values(), ids=CASES.keys())
#: A power of two beside which no loss counts.
BEYOND = 2.0**300


def allowance(scores, *roundings):
    return Fraction(sum(roundings)) * (1 + max(abs(f) for f in oracles.fractions(scores)))


def exact_loss_free(truth, y, scores, weights):
    return truth(y, BEYOND * scores, weights) / Fraction(BEYOND)


# --- the twin without losses ------------------------------------------------------------------------------------


@every_measure
@searching(8)
@given(problem=scored(7, least=3, scales=(-6, -1, 0, 1, 6), weights=("none", "whole")))
def test_the_loss_free_risk_is_what_the_risk_grows_like(measure, truth, problem):
    y, scores, weights = problem
    found = measure.bind(y, weights).loss_free(scores)
    true = exact_loss_free(truth, y, scores, weights)
    slack = allowance(scores, found.plane.rounding) + Fraction(2, 2**300)
    assert abs(Fraction(found.value) - true) <= slack
    assert found.plane.offset == 0.0
    assert abs(Fraction(found.height) - oracles.exact_plane(found.plane.gradient, 0.0, scores)) <= slack
    assert np.abs(found.plane.gradient).sum() <= 2.0 + 1e-12  # on which rounding bounds rely


@every_measure
@searching(8)
@given(problem=scored(7, least=3, scales=(-6, -1, 0, 1, 6), weights=("none", "whole")), elsewhere=st.integers(0, 10**6))
def test_its_gradient_is_a_plane_through_the_origin(measure, truth, problem, elsewhere):
    y, scores, weights = problem
    found = measure.bind(y, weights).loss_free(scores)
    there = np.random.default_rng(elsewhere).normal(size=len(y))
    excess = oracles.exact_plane(found.plane.gradient, 0.0, there) - exact_loss_free(truth, y, there, weights)
    assert excess <= allowance(there, found.plane.rounding)


@every_measure
@searching(8)
@given(problem=scored(7, least=3, scales=(-6, -1, 0, 1, 6), weights=("none", "whole")))
def test_the_tight_risk_lies_between_the_loss_and_the_largest_loss(measure, truth, problem):
    y, scores, weights = problem
    risk = measure.bind(y, weights)
    exact, free = risk.exact(scores), risk.loss_free(scores)
    tight = Fraction(risk.exact_value(scores)) - Fraction(free.value)
    slack = allowance(scores, exact.plane.rounding, free.plane.rounding) + Fraction(1, 10**14)
    assert Fraction(1.0 - measure.score(y, scores, weights)) <= tight + slack
    assert tight <= truth(y, np.zeros(len(y)), weights) + slack


@every_measure
def test_large_scores_have_their_loss(measure, truth):
    """R_tight(s f) -> Delta(z*(f)), and it is no matter of how large the convex risk is there."""
    rng = np.random.default_rng(0)
    y, scores = rng.permutation(np.repeat([1, -1], [10, 40])), rng.normal(size=50)
    risk = measure.bind(y)
    large = 1e6 * scores
    tight = risk.exact_value(large) - risk.loss_free(large).value
    assert risk.exact_value(large) > 100.0
    assert tight == pytest.approx(1.0 - measure.score(y, scores), abs=1e-8)


# --- the risk with another target -------------------------------------------------------------------------------


@every_measure
@searching(8)
@given(problem=scored(7, least=3, scales=(-6, -1, 0, 1, 6), weights=("none", "whole")), seed=st.integers(0, 10**6))
def test_retargeted_risks_are_never_negative_and_their_planes_hold(measure, truth, problem, seed):
    y, scores, weights = problem
    rng = np.random.default_rng(seed)
    risk = measure.bind(y, weights)
    labeling = risk.loss_free(scores)
    retargeted = Retargeted(risk, labeling, 2)
    where, there = (10.0 ** rng.integers(-3, 4) * rng.normal(size=len(y)) for _ in range(2))
    true = truth(y, there, weights) - oracles.exact_plane(labeling.plane.gradient, 0.0, there)
    assert true >= -allowance(there, retargeted.extra_rounding)
    assert retargeted.exact_value(there) == pytest.approx(float(true), abs=1e-11 * (1.0 + np.abs(there).max()))
    mu = 0.1 / risk.diameter
    for found in (retargeted.exact(where), retargeted.smoothed(where, mu)):
        plane = oracles.exact_plane(found.plane.gradient, found.plane.offset, there)
        assert plane - true <= allowance(there, found.plane.rounding)
        here = oracles.exact_plane(found.plane.gradient, found.plane.offset, where)
        assert abs(Fraction(found.height) - here) <= allowance(where, found.plane.rounding, retargeted.extra_rounding)


@every_measure
def test_gradients_are_those_of_finite_differences(measure, truth):
    rng = np.random.default_rng(1)
    y, chosen_at, scores, direction = np.repeat([1, -1], [3, 6]), *rng.normal(size=(3, 9))
    risk = measure.bind(y)
    retargeted = Retargeted(risk, risk.loss_free(chosen_at), 1)
    mu = 0.3 / risk.diameter
    found = retargeted.smoothed(scores, mu, None, direction)
    differences = oracles.central_differences(lambda f: retargeted.smoothed(f, mu).value, scores, 1e-5)
    np.testing.assert_allclose(found.plane.gradient, differences, rtol=0, atol=risk.lipschitz(mu) * 1e-5 + 1e-8)
    assert found.derivative is None or found.derivative == pytest.approx(found.plane.gradient @ direction, abs=1e-12)
    # Smoothing, and what comes with it, is that of R.
    exact = retargeted.exact_value(scores)
    assert exact - mu * retargeted.diameter - 1e-12 <= found.value <= exact + 1e-12
    assert found.exact is None or exact - 1e-12 <= found.exact.high
    assert retargeted.lipschitz(mu) == risk.lipschitz(mu)


def planes_of(measure, y):
    """Losses and slopes of all labelings."""
    match measure:
        case PRBEP():
            return oracles.top_k_planes(y, int((y == 1).sum()), precision=True)
        case PrecisionAtK() | RecallAtK():
            return oracles.top_k_planes(y, measure.k, precision=isinstance(measure, PrecisionAtK))
        case ErrorRate():
            return oracles.error_planes(y, (measure.positive_cost, measure.negative_cost))
        case BalancedErrorRate():
            return oracles.error_planes(y, (1.0 / (y == 1).sum(), 1.0 / (y == -1).sum()))
        case ROCArea():
            return oracles.pair_planes(y)
        case PartialROCArea():
            return oracles.pair_planes(y, round(measure.max_fpr * (y == -1).sum()))


BRUTE = [PRBEP(), PrecisionAtK(2), PrecisionAtK(4), RecallAtK(1), RecallAtK(4), ErrorRate(3.0, 1.0)]
BRUTE += [BalancedErrorRate(), ROCArea(), PartialROCArea(0.5)]
by_labelings = pytest.mark.parametrize("measure", BRUTE, ids=lambda measure: measure.name)


@by_labelings
@pytest.mark.parametrize("y", [[1, -1, -1, 1, -1, -1, 1], [-1, 1, -1, -1, -1], [1, 1, 1, -1, 1, -1]], ids=len)
def test_risks_are_those_of_all_labelings(measure, y):
    y = np.array(y)
    rng = np.random.default_rng(2)
    losses, slopes = planes_of(measure, y)
    risk = measure.bind(y)
    for _ in range(5):
        chosen_at, scores = rng.normal(size=(2, y.size))
        labeling = risk.loss_free(chosen_at)
        assert labeling.value == pytest.approx(oracles.highest((0.0, slopes), chosen_at), abs=1e-13)
        best = int(np.argmax(slopes @ chosen_at))
        np.testing.assert_allclose(labeling.plane.gradient, slopes[best], rtol=0, atol=1e-14)
        retargeted = Retargeted(risk, labeling, 1)
        brute = oracles.highest((losses, slopes - slopes[best]), scores)
        assert retargeted.exact_value(scores) == pytest.approx(brute, abs=1e-13)
        assert retargeted.exact(scores).value == pytest.approx(brute, abs=1e-13)


# --- runs -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Spy(LBFGS):
    """L-BFGS that keeps the steps that it was asked to take."""

    steps: ClassVar[list] = []

    def run(self, objective, start=None, callback=None, **options):
        result = super().run(objective, start, callback, **options)
        self.steps.append((objective, Start.of(start).weights, result))
        return result


@pytest.fixture
def spy():
    Spy.steps.clear()
    return Spy()


def noisy(measure, alpha=1e-3, seed=0, weights=None, n=(20, 60), d=3):
    X, y = gaussians(*n, d, shift=0.8, seed=seed)
    return problem(measure, X, y, alpha, weights)


def start_for(objective):
    return np.ones(objective.design.shape[1])


RUNS = [PRBEP(), PrecisionAtK(5), RecallAtK(0.5), FBeta(), Jaccard(), ErrorRate(3.0, 1.0), BalancedErrorRate()]
RUNS += [ROCArea(), PartialROCArea(0.2)]
every_run = pytest.mark.parametrize("measure", RUNS, ids=lambda measure: measure.name)


@every_run
@pytest.mark.parametrize("weighted", [False, True])
def test_runs_descend_and_end_at_a_stationary_point(measure, weighted, spy):
    weights = np.random.default_rng(3).integers(1, 4, size=80).astype(float) if weighted else None
    objective = noisy(measure, weights=weights)
    result = Retargeting(tol=1e-4, convex=spy).run(objective, start_for(objective))
    hold_tight(result, objective, start_for(objective), tol=1e-4)
    values = [tight_value(objective, start) for _, start, _ in spy.steps] + [result.objective]
    assert np.all(np.diff(values) <= 1e-12)
    assert values[0] <= tight_value(objective, start_for(objective)) + 1e-12
    # A step is a majorant that touches where it was made.
    for step, start, found in spy.steps:
        assert step.exact(start) == pytest.approx(tight_value(objective, start), abs=1e-12)
        assert found.objective >= tight_value(objective, found.coef) - 1e-12
    # The certificate of the last step: by cutting planes, to far more digits.
    step, start, _ = spy.steps[-1]
    judge = BMRM(tol=1e-8, max_iter=3000).run(RegularizedRisk(step.design, step.risk, step.alpha))
    assert values[-2] - judge.objective <= result.stationarity_gap
    assert judge.gap <= 1e-6


def test_the_certificate_of_a_step_by_a_generic_solver(spy):
    X, y = gaussians(3, 6, 2, shift=1.0, seed=5)
    objective = problem(PRBEP(), X, y, 1e-2)
    losses, slopes = oracles.top_k_planes(y, 3, precision=True)
    result = Retargeting(tol=1e-6, convex=spy).run(objective, np.array([1.0, 0.5]))
    _, start, _ = spy.steps[-1]
    chosen = slopes[np.argmax(slopes @ (X @ start))]
    _, least = oracles.planes_optimum(X, (losses, slopes - chosen), 1e-2)
    before = tight_value(objective, start)
    assert before - least <= result.stationarity_gap + 1e-9
    assert result.stationarity_gap <= 1e-6
    assert result.objective <= before + 1e-12


@pytest.mark.parametrize("measure", [PRBEP(), PrecisionAtK(2), ROCArea(), ErrorRate()], ids=lambda m: m.name)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_from_a_good_start_it_is_the_global_minimum(measure, seed):
    X, y = gaussians(2, 4, 2, shift=1.2, seed=seed)
    objective = problem(measure, X, y, 1e-2)
    losses, slopes = planes_of(measure, y)
    angles, lengths = np.linspace(0, 2 * np.pi, 121), np.geomspace(1e-2, 1e2, 81)
    grid = (lengths[:, None, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)).reshape(-1, 2)
    planes = (grid @ X.T) @ slopes.T
    values = 5e-3 * (grid**2).sum(axis=1) + (losses + planes).max(axis=1) - planes.max(axis=1)
    least = min(values.min(), losses.max())
    result = Retargeting(tol=1e-5).run(objective, grid[values.argmin()])
    assert result.objective <= least + 1e-5
    assert result.objective >= least - 0.03  # the grid is fine enough for that


@pytest.mark.parametrize(
    "solver", [BMRM(max_iter=3000), Nesterov(max_iter=3000), Newton(), LBFGS()], ids=lambda s: type(s).__name__
)
def test_any_convex_solver_takes_the_steps(solver):
    objective, start = noisy(PRBEP(), alpha=1e-2), np.ones(3)
    hold_tight(Retargeting(tol=1e-4, max_iter=5000, convex=solver).run(objective, start), objective, start, tol=1e-4)


@pytest.mark.parametrize("measure", [PRBEP(), FBeta(), ROCArea(), BalancedErrorRate()], ids=lambda m: m.name)
def test_weights_are_copies(measure):
    X, y = gaussians(6, 14, 2, shift=0.8, seed=7)
    counts = np.random.default_rng(8).integers(1, 4, size=20)
    weighted = problem(measure, X, y, 1e-2, counts.astype(float))
    copied = problem(measure, np.repeat(X, counts, axis=0), np.repeat(y, counts), 1e-2)
    for w in np.random.default_rng(9).normal(size=(5, 2)):
        assert tight_value(weighted, w) == pytest.approx(tight_value(copied, w), rel=1e-11)
    ours, theirs = (Retargeting(tol=1e-6).run(objective, np.ones(2)) for objective in (weighted, copied))
    assert ours.objective == pytest.approx(theirs.objective, abs=1e-5)


def test_the_convex_risk_is_the_first_step_from_zero(spy):
    objective = noisy(PRBEP())
    for start in (None, np.zeros(3)):
        spy.steps.clear()
        result = Retargeting(convex=spy).run(objective, start)
        assert spy.steps[0][0].risk is objective.risk
        assert result.objective <= objective.exact(np.zeros(3))


def test_the_start_is_scaled(spy):
    """A direction is enough: the best of its multiples is taken."""
    objective = noisy(PRBEP())
    for scale in (2.0**-10, 1.0, 2.0**10):
        spy.steps.clear()
        Retargeting(convex=spy).run(objective, scale * np.ones(3))
        first = spy.steps[0][1]
        assert np.ptp(first) == 0.0
        assert all(tight_value(objective, first) <= tight_value(objective, s * first) + 1e-12 for s in (0.5, 2.0))


def test_steps_go_on_beyond_their_end(spy):
    """On the line from the last start through what a step found, with the scores that belong to it."""
    objective = noisy(PartialROCArea(0.2), alpha=1e-5)
    Retargeting(tol=1e-5, convex=spy).run(objective, start_for(objective))
    beyond = 0
    for (_, start, found), (step, following, _) in pairwise(spy.steps):
        move, further = found.coef - start, following - found.coef
        if not move.any():  # nothing was found in the few iterations of an early step
            np.testing.assert_array_equal(following, start)
            continue
        share = further @ move / (move @ move)
        np.testing.assert_allclose(further, share * move, rtol=0, atol=1e-12 * np.abs(following).max())
        assert share == pytest.approx(0.0, abs=1e-12) or np.log2(share) == pytest.approx(np.rint(np.log2(share)))
        assert tight_value(objective, following) <= tight_value(objective, found.coef) + 1e-12
        beyond += share > 0.5
        assert step.exact(following) == pytest.approx(tight_value(objective, following), abs=1e-11)
    assert beyond > 0


def test_the_value_of_a_start_is_that_of_its_best_multiple():
    objective = noisy(PRBEP())
    for start in (np.ones(3), np.array([-1.0, 1.0, 0.0])):
        found = value_of_start(objective, start)
        values = [tight_value(objective, 2.0**power * start) for power in range(-12, 21)]
        assert min(values) <= found + 1e-12
        assert found <= min(values[::2]) + 1e-12
        assert value_of_start(objective, 64.0 * start) == pytest.approx(found, abs=1e-12)
        assert Retargeting(tol=1e-3).run(objective, start).objective <= found + 1e-12


def test_statuses_and_rows():
    objective = noisy(PRBEP())
    start = start_for(objective)
    rows = []
    whole = Retargeting(tol=1e-5).run(objective, start, rows.append)
    assert whole.status is Status.STATIONARY
    assert [row.iteration for row in rows] == list(range(len(rows))) == list(range(whole.n_iter + 1))
    assert whole.trace.rows == rows
    assert np.all(np.diff(whole.trace["passes"]) >= 0)
    assert np.all(np.diff(whole.trace["seconds"]) > 0)
    for most in (0, 1, 4, whole.n_iter - 1):
        limited = Retargeting(tol=1e-5, max_iter=most).run(objective, start)
        assert limited.status is Status.ITERATION_LIMIT
        assert limited.n_iter <= most
        assert limited.stationarity_gap > 1e-5
        assert limited.objective <= tight_value(objective, start) + 1e-12
    stopped = Retargeting(tol=1e-5).run(objective, start, lambda row: row.iteration == 3)
    assert stopped.status is Status.STOPPED
    assert stopped.n_iter == 3


def test_passes_are_those_of_the_objective():
    """One product for the start, and those of the steps."""
    objective = noisy(PRBEP())
    result = Retargeting(tol=1e-4).run(objective, start_for(objective))
    assert (objective.n_matvec, objective.n_rmatvec) == (result.n_matvec, result.n_rmatvec)
    assert result.trace.rows[0].passes == 2  # the scores of the start, and the first gradient


def test_more_features_than_rows():
    """The vectors of a run live in the space of the rows."""
    X, y = gaussians(8, 12, 300, shift=0.1, seed=4)
    objective = problem(PRBEP(), X, y, 1.0)
    result = Retargeting(tol=1e-4).run(objective, X.T @ y)
    assert result.status is Status.STATIONARY
    assert result.objective == pytest.approx(tight_value(objective, result.coef), rel=1e-10)


@pytest.mark.parametrize("measure", [LogLoss(), SquaredHinge()], ids=repr)
def test_risks_that_are_no_maximum_over_labelings(measure):
    objective = noisy(measure)
    with pytest.raises(ValueError, match=r"Risk is no maximum over labelings: it has no tight bound"):
        Retargeting().run(objective)
    with pytest.raises(NotImplementedError, match="no maximum over labelings"):
        objective.risk.loss_free(np.zeros(80))


@pytest.mark.parametrize("measure", [PRBEP(), ROCArea(), FBeta(), PartialROCArea(0.3)], ids=lambda m: m.name)
@pytest.mark.parametrize(("scale", "alpha"), [(1e4, 1e-12), (1e-4, 1e-6), (1e4, 1e3)])
def test_where_differences_are_all_rounding(measure, scale, alpha):
    """Rows that can be told apart, at scales where the tight risk is 0 but for the rounding of R and R0."""
    X, y = gaussians(10, 20, 3, shift=4.0, scale=scale, seed=3)
    objective = problem(measure, X, y, alpha)
    result = Retargeting(tol=1e-6).run(objective, np.ones(3) / scale)
    assert result.status in (Status.STATIONARY, Status.PRECISION_LIMIT)
    assert result.stationarity_gap >= 0.0
    assert result.objective <= objective.exact(np.zeros(3)) + 1e-12
