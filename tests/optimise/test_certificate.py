"""The certificate: bounds that hold, whatever happens to the planes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from problems import gaussians, problem, searching
from smoothperf import BMRM, LBFGS, PRBEP, Nesterov, PartialROCArea, ROCArea, Status
from smoothperf.design import as_design
from smoothperf.optimise import Start
from smoothperf.optimise.certificate import SURPLUS, Bundle, _KeptBound, accumulated
from smoothperf.optimise.row_space import RowSpace
from smoothperf.optimise.weight_space import WeightSpace


def random_planes(risk, X, rng, count, mus=(0.0, 1e-3, 1.0)):
    """Planes of a risk at random weights: (slope, risk value) for each."""
    for _ in range(count):
        scores = X @ (rng.normal(size=X.shape[1]) * 10.0 ** rng.uniform(-2, 1))
        mu = rng.choice(mus)
        value = risk.exact(scores) if mu == 0.0 else risk.smoothed(scores, mu)
        yield X.T @ value.plane.gradient, value


def bundle_of(X, alpha, max_planes=100, tolerance=1e-12):
    return Bundle(as_design(X), alpha, max_planes=max_planes, tolerance=tolerance)


def add(bundle, slope, value):
    bundle.add(
        slope,
        value.plane.offset,
        rounding=value.plane.rounding,
        gradient_norm=float(np.linalg.norm(value.plane.gradient)),
    )
    bundle.solve()


@searching(25)
@given(seed=st.integers(0, 10_000), max_planes=st.sampled_from([2, 3, 6, 100]), log_alpha=st.floats(-3, 1))
def test_planes_at_random_points_bound_the_optimum(seed, max_planes, log_alpha):
    X, y = gaussians(3, 5, 2, seed=seed)
    alpha = 10.0**log_alpha
    rng = np.random.default_rng(seed)
    _, minimum = oracles.roc_optimum(X, y, alpha)
    bundle = bundle_of(X, alpha, max_planes)
    previous = 0.0
    for slope, value in random_planes(ROCArea().bind(y), X, rng, 12):
        add(bundle, slope, value)
        assert len(bundle) <= max_planes
        bound = bundle.lower_bound(1.0, 0.0)
        assert bound <= minimum + 1e-8  # the oracle's own accuracy
        assert bound >= previous - 1e-12  # up to the rounding that is taken off
        previous = max(previous, bound)


def test_bound_is_that_of_the_quadratic_program():
    X, y = gaussians(8, 12, 4, seed=3)
    alpha = 0.05
    bundle = bundle_of(X, alpha)
    planes = list(random_planes(PRBEP().bind(y), X, np.random.default_rng(3), 15))
    for slope, value in planes:
        add(bundle, slope, value)
    slopes = np.array([slope for slope, _ in planes])
    offsets = np.array([value.plane.offset for _, value in planes])
    weights, best = oracles.simplex_qp(slopes / np.sqrt(alpha), offsets)
    assert bundle.lower_bound(1.0, 0.0) == pytest.approx(max(best, 0.0), abs=1e-7)
    np.testing.assert_allclose(bundle.dual_coef, -(weights @ slopes) / alpha, atol=1e-3)


def test_bounds_outlive_their_planes():
    X, y = gaussians(8, 12, 4, seed=3)
    bundle = bundle_of(X, 10.0)
    for slope, value in random_planes(PRBEP().bind(y), X, np.random.default_rng(3), 15):
        add(bundle, slope, value)
    before = bundle.lower_bound(1.0, 0.0)
    assert before > 0.0
    bundle.forget()
    assert len(bundle) == 0
    assert not bundle.waiting
    assert bundle.lower_bound(1.0, 0.0) == before
    add(bundle, slope, value)
    assert len(bundle) == 1
    assert bundle.lower_bound(1.0, 0.0) == before  # one of the planes alone is no better


def test_rounding_is_taken_off():
    X, y = gaussians(8, 12, 4)
    value = ROCArea().bind(y).exact(np.zeros(20))
    slope = X.T @ value.plane.gradient
    alpha = 10.0
    raw = value.plane.offset - slope @ slope / (2 * alpha)
    bundle = bundle_of(X, alpha)
    add(bundle, slope, value)
    certified = bundle.lower_bound(value.value, 0.0)
    assert raw - 1e-11 < certified < raw
    worse = bundle_of(X, alpha)
    worse.add(slope, value.plane.offset, rounding=1e-3, gradient_norm=1.0)
    worse.solve()
    assert worse.lower_bound(value.value, 0.0) <= raw - 1e-3


def test_a_better_point_tightens_the_rounding():
    """|w*| is bounded by the objective first and by the distance to the best point then."""
    X, y = gaussians(8, 12, 4, scale=100.0)
    value = ROCArea().bind(y).exact(np.zeros(20))
    bundle = bundle_of(X, 1e4)
    bundle.add(X.T @ value.plane.gradient, value.plane.offset, rounding=1e-9, gradient_norm=1.0)
    bundle.solve()
    assert bundle.lower_bound(0.9, 0.0) >= bundle.lower_bound(1.0, 0.0)


def test_products_of_many_planes_survive_forgetting_and_merging():
    """The Gram matrix stays that of the planes: the bound after many replacements equals one computed afresh."""
    X, y = gaussians(10, 15, 6, seed=5)
    alpha = 1e-2
    bundle = bundle_of(X, alpha, max_planes=4)
    for slope, value in random_planes(PRBEP().bind(y), X, np.random.default_rng(5), 60):
        add(bundle, slope, value)
        k = len(bundle)
        np.testing.assert_allclose(bundle._gram[:k, :k], bundle._slopes[:k] @ bundle._slopes[:k].T, atol=1e-12)
        assert bundle._weights[:k].sum() == pytest.approx(1.0)


def exact_bound(weights, slopes, offsets, alpha):
    """(bundle-bound) without rounding, of weights that are divided by their true sum."""
    x = oracles.fractions(weights)
    x = [xk / sum(x) for xk in x]
    aggregate = [sum(xk * ak for xk, ak in zip(x, column, strict=True)) for column in zip(*slopes, strict=True)]
    offset = sum(xk * bk for xk, bk in zip(x, oracles.fractions(offsets), strict=True))
    return offset - sum(a * a for a in aggregate) / (2 * Fraction(alpha))


@pytest.mark.parametrize("cancelling", [False, True], ids=["any planes", "planes that cancel"])
@pytest.mark.parametrize("rows", [False, True], ids=["weight space", "row space"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_bound_is_computed_within_the_rounding_that_is_taken_off(scale, rows, cancelling, monkeypatch):
    """In rational arithmetic, with the Gram matrix where it is accurate enough and with the slopes where it is not."""
    rng = np.random.default_rng(7)
    n, d, alpha = 6, 30, 1e-3
    X = scale * rng.normal(size=(n, d))
    space = RowSpace(as_design(X), n, d, float(np.linalg.norm(X)), None) if rows else WeightSpace(as_design(X), d)
    formed = []
    original = Bundle._aggregate
    monkeypatch.setattr(Bundle, "_aggregate", lambda self: formed.append(1) or original(self))
    bundle = Bundle(as_design(X), alpha, max_planes=20, tolerance=1e-6, space=space)
    gradients = rng.normal(size=(8, n))
    if cancelling:  # so that the combination is far shorter than the planes
        gradients[1::2] = -gradients[::2] * (1.0 + 1e-7 * rng.normal(size=(4, 1)))
        gradients *= 1e3
    offsets = rng.normal(size=8)
    exact_slopes = []
    for g, b in zip(gradients, offsets, strict=True):
        slope = space.slope(g)
        bundle.add(slope, b, rounding=0.0, gradient_norm=float(np.linalg.norm(g)))
        exact_slopes.append(
            [sum(c * x for c, x in zip(oracles.fractions(g), oracles.fractions(column), strict=True)) for column in X.T]
            if rows
            else oracles.fractions(slope)
        )
        bundle.solve()
        found, k = _KeptBound(*bundle._bound()), len(bundle)
        true = exact_bound(bundle._weights[:k], exact_slopes, offsets[:k], alpha)
        assert abs(Fraction(found.value) - true) <= Fraction(SURPLUS) * Fraction(found.fixed)
        # It is not generous beyond need: relative to the numbers that go in it is rounding.
        size = (bundle._weights[:k] @ bundle._sizes[:k]) ** 2 / alpha + np.abs(offsets).max()
        assert found.fixed <= 1e-12 * size
    assert bool(formed) == (scale * (1e3 if cancelling else 1.0) > 1e2)  # otherwise the Gram matrix was good enough


def test_planes_wait_for_their_inner_products_but_not_for_long():
    """They are multiplied when that costs less than a quarter of the passes that they came with, or at the limit."""
    X, y = gaussians(10, 15, 6, seed=5)  # 150 entries, 6 terms: solved at every plane, up to 25 of them
    bundle = bundle_of(X, 1e-2, max_planes=60)
    overdue = []
    for slope, value in random_planes(ROCArea().bind(y), X, np.random.default_rng(5), 58):
        bundle.add(
            slope,
            value.plane.offset,
            rounding=value.plane.rounding,
            gradient_norm=float(np.linalg.norm(value.plane.gradient)),
        )
        overdue.append(bundle.overdue)
        if bundle.overdue:
            bundle.solve()
    assert all(overdue[:25])
    assert not overdue[25]
    assert overdue[26]
    late = bundle_of(X, 1e-2, max_planes=3)
    for slope, value in random_planes(ROCArea().bind(y), X, np.random.default_rng(5), 3):
        late.add(slope, value.plane.offset, rounding=value.plane.rounding, gradient_norm=1.0)
    assert late.overdue


def test_accumulated():
    assert accumulated(0) == 0.0
    assert accumulated(1) == pytest.approx(2.0**-53)
    assert accumulated(1000) == pytest.approx(1000 * 2.0**-53)


def optimum(measure, X, y, alpha):
    if isinstance(measure, PRBEP):
        return oracles.prbep_optimum(X, y, alpha)[1]
    return oracles.roc_optimum(X, y, alpha)[1]


@searching(25)
@given(
    seed=st.integers(0, 10_000),
    log_alpha=st.floats(-3, 1),
    log_change=st.floats(-2, 2),
    keep=st.sampled_from([1, 2, 5, 100]),
    prbep=st.booleans(),
)
def test_planes_of_one_alpha_bound_the_optimum_of_another(seed, log_alpha, log_change, keep, prbep):
    X, y = gaussians(3, 5, 2, seed=seed)
    measure = PRBEP() if prbep else ROCArea()
    alpha = 10.0**log_alpha
    other = alpha * 10.0**log_change
    planes = LBFGS(tol=1e-4).run(problem(measure, X, y, alpha), keep_planes=keep).planes
    assert 1 <= len(planes) <= keep
    minimum = optimum(measure, X, y, other)
    assert planes.lower_bound(as_design(X), other, 1.0, 0.0) <= minimum + 1e-8
    objective = problem(measure, X, y, other)
    result = LBFGS(tol=1e-5).run(objective, Start(planes=planes), keep_planes=keep)
    assert result.lower_bound <= minimum + 1e-8
    assert minimum - 1e-8 <= result.objective <= minimum + 1e-5 + 1e-8
    # Handed on once more, with the rounding they have gathered.
    assert result.planes.lower_bound(as_design(X), alpha, 1.0, 0.0) <= optimum(measure, X, y, alpha) + 1e-8


@pytest.mark.parametrize(
    "solver", [LBFGS(tol=1e-5), Nesterov(tol=1e-5), BMRM(tol=1e-5)], ids=lambda s: type(s).__name__
)
def test_planes_of_the_same_problem_certify_its_solution_at_once(solver):
    X, y = gaussians(20, 30, 5)
    first = solver.run(problem(ROCArea(), X, y, 1e-2), keep_planes=100)
    again = solver.run(problem(ROCArea(), X, y, 1e-2), Start(first.coef, first.planes))
    assert again.n_iter == 0
    assert again.status is Status.CONVERGED
    assert again.planes is None
    assert again.lower_bound == pytest.approx(first.lower_bound, abs=1e-6)


def test_planes_handed_on_are_the_heaviest_and_few():
    X, y = gaussians(20, 30, 5)
    every = LBFGS(tol=1e-6).run(problem(PRBEP(), X, y, 1e-3), keep_planes=1000).planes
    few = LBFGS(tol=1e-6).run(problem(PRBEP(), X, y, 1e-3), keep_planes=3).planes
    assert every.weights.min() > 0.0
    assert (np.diff(every.weights) <= 0.0).all()
    assert every.weights.sum() == pytest.approx(1.0)
    assert set(few.offsets) > set(every.offsets[:2])  # the third is made of the others
    assert (np.diff(few.weights) <= 0.0).all()
    np.testing.assert_allclose(every.gram, every.slopes @ every.slopes.T, atol=1e-12)
    # A copy, not a view that keeps the memory of all planes alive.
    assert few.slopes.base is None
    assert few.slopes.shape == (3, 5)


def test_more_planes_than_there_is_room_for():
    X, y = gaussians(40, 60, 8)
    planes = LBFGS(tol=1e-6).run(problem(ROCArea(), X, y, 1e-3), keep_planes=100).planes
    assert len(planes) > 4
    result = LBFGS(tol=1e-4, max_planes=4).run(problem(ROCArea(), X, y, 2e-3), Start(planes=planes))
    reference = LBFGS(tol=1e-8).run(problem(ROCArea(), X, y, 2e-3))
    assert result.lower_bound <= reference.objective


def test_there_is_room_for_all_planes_in_a_short_run():
    X, y = gaussians(40, 60, 8)
    planes = LBFGS(tol=1e-6).run(problem(ROCArea(), X, y, 1e-3), keep_planes=100).planes
    assert len(planes) > 4
    short = LBFGS(tol=1e-6, max_iter=1).run(problem(ROCArea(), X, y, 1e-3), Start(planes=planes))
    expected = planes.lower_bound(as_design(X), 1e-3, short.objective, float(np.linalg.norm(short.coef)))
    assert short.lower_bound >= expected - 1e-8


def test_planes_for_other_features_are_refused():
    X, y = gaussians(20, 30, 5)
    planes = LBFGS().run(problem(ROCArea(), X, y, 1e-2), keep_planes=5).planes
    with pytest.raises(ValueError, match=r"another shape \(5 numbers each instead of 4\)"):
        LBFGS().run(problem(ROCArea(), X[:, :4], y, 1e-2), Start(planes=planes))
    with pytest.raises(ValueError, match="keep_planes must be a whole number of at least 0, got -1"):
        LBFGS().run(problem(ROCArea(), X, y, 1e-2), keep_planes=-1)


@pytest.mark.parametrize("wide", [False, True])
def test_few_planes_make_the_bound_of_many(wide):
    """Those that are too many are merged, which loses nothing but rounding; in either space."""
    rng = np.random.default_rng(0)
    X, y = (rng.normal(size=(12, 60)), np.repeat([1, -1], 6)) if wide else gaussians(30, 40, 8, shift=0.2)
    objective = problem(PRBEP(), X, y, 1e-4)
    result = BMRM(tol=1e-6).run(objective, rng.normal(size=X.shape[1]), keep_planes=1000)
    assert len(result.planes) > 5
    norm = float(np.linalg.norm(result.coef))
    for limit in (1, 3, len(result.planes) - 1, len(result.planes)):
        planes = BMRM(tol=1e-6).run(objective, Start(result.coef, result.planes), keep_planes=limit).planes
        assert len(planes) == limit
        assert planes.weights.sum() == pytest.approx(1.0)
        bound = planes.lower_bound(objective.design, 1e-4, result.objective, norm)
        assert bound == pytest.approx(result.lower_bound, abs=1e-8)
        half = planes.slopes.shape[1] // 2
        left, right = (planes.slopes[:, :half], planes.slopes[:, half:]) if wide else (planes.slopes, planes.slopes)
        np.testing.assert_allclose(planes.gram, left @ right.T, rtol=1e-10, atol=1e-13)


def test_an_objective_that_rounding_has_made_negative():
    """Scores of 1e16 and more do that; the bound is that of 0 then, and not an error."""
    bundle = bundle_of(np.full((2, 1), 1e16), 1e-8)
    assert bundle.lower_bound(-3.0, 1.0) == bundle.lower_bound(0.0, 1.0) <= 0.0


@pytest.mark.parametrize("alpha", [1e-8, 1e-10])
def test_what_was_certified_once_is_not_given_up(alpha):
    """Planes of small mu have more rounding: a bound that is higher before it is taken off may be lower afterwards."""
    X, y = gaussians(80, 320, 10, shift=0.4)
    result = LBFGS(tol=1e-12, max_iter=300).run(problem(PartialROCArea(0.1), X, y, alpha))
    assert result.status is Status.PRECISION_LIMIT
    assert result.gap <= 1.01 * np.min(result.trace["gap"])
    for earlier, later in pairwise(result.trace["lower_bound"]):
        assert later >= earlier - 0.01 * result.gap


def test_a_better_solution_with_more_rounding_is_no_better_bound():
    """The second plane is higher everywhere, by less than it may be wrong."""
    X, y = gaussians(8, 12, 4)
    value = ROCArea().bind(y).exact(np.zeros(20))
    bundle = bundle_of(X, 10.0)
    add(bundle, X.T @ value.plane.gradient, value)
    before = bundle.lower_bound(value.value, 0.0)
    add(
        bundle,
        X.T @ value.plane.gradient,
        replace(value, plane=value.plane._replace(offset=value.plane.offset + 1e-6, rounding=1e-4)),
    )
    assert bundle.lower_bound(value.value, 0.0) == before
