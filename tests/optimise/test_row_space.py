"""Row space: vectors in terms of the rows of X are the same vectors, and lead to the same certified optimum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from problems import gaussians, problem, searching
from smoothperf import BMRM, LBFGS, PRBEP, Nesterov, ROCArea, Status
from smoothperf.design import as_design
from smoothperf.optimise import Start
from smoothperf.optimise import weight_space as space_module
from smoothperf.optimise.objective import Run
from smoothperf.optimise.row_space import RowSpace
from smoothperf.optimise.space import Buffers
from smoothperf.optimise.weight_space import WeightSpace

SOLVERS = [LBFGS(tol=1e-6), Nesterov(tol=1e-3), BMRM(tol=1e-6)]
WIDE = {"shift": 0.3, "informative": 4}
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)


def row_space(X, start=None):
    return RowSpace(as_design(X), *X.shape, float(np.linalg.norm(X)), start)


@searching(30)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 6), d=st.integers(1, 40), started=st.booleans())
def test_row_space_is_weight_space_in_other_words(seed, n, d, started):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    start = rng.normal(size=d) if started else None
    space, plain = row_space(X, start), WeightSpace(as_design(X), d)
    slopes, expected = [], []
    for _ in range(4):
        g = rng.normal(size=n)
        slopes.append(space.slope(g))
        expected.append(plain.slope(g))
    # Whatever a run makes of its start and its slopes: sums and multiples.
    vectors, weights = [*slopes, space.vector(start)], [*expected, plain.vector(start)]
    mix = rng.normal(size=(3, 5))
    vectors, weights = mix @ np.array(vectors), mix @ np.array(weights)
    near = {"rtol": 0, "atol": 1e-10}
    assert vectors.shape == (3, space.length)
    for u, w in zip(vectors, weights, strict=True):
        np.testing.assert_allclose(space.weights(u), w, **near)
        np.testing.assert_allclose(space.scores(u), X @ w, **near)
        for v, other in zip(vectors, weights, strict=True):
            assert space.inner(u, v) == pytest.approx(w @ other, abs=1e-9)
    np.testing.assert_allclose(space.inners(vectors, vectors[1:]), weights @ weights[1:].T, rtol=0, atol=1e-9)
    # Slopes of one run in another that starts elsewhere.
    later = space.for_later(np.array(slopes))
    assert later.shape == (4, space.plane_length)
    other = row_space(X, rng.normal(size=d))
    adopted = other.from_before(later)
    for u, v in zip(adopted, expected, strict=True):
        np.testing.assert_allclose(other.weights(u), v, **near)
        assert other.inner(u, other.vector(None)) == pytest.approx(v @ other._start, abs=1e-9)
        assert other.inner(other.vector(None), u) == pytest.approx(v @ other._start, abs=1e-9)
    np.testing.assert_allclose(other.for_later(adopted), later, **near)


def both_spaces(monkeypatch, run):
    """The results of ``run`` in weight space and in row space."""
    monkeypatch.setattr(space_module, "MANY_COLUMNS", 10**9)
    plain = run()
    monkeypatch.setattr(space_module, "MANY_COLUMNS", 0)
    return plain, run()


def test_a_run_uses_rows_where_columns_are_many():
    X, y = gaussians(4, 6, 21, **WIDE)
    for columns, kind in ((20, WeightSpace), (21, RowSpace)):
        J = problem(ROCArea(), X[:, :columns], y, 0.1)
        assert type(Run(J).space) is kind
        assert type(Run(J, in_weights=True).space) is WeightSpace


def optimum(measure, X, y, alpha):
    return (oracles.prbep_optimum if isinstance(measure, PRBEP) else oracles.roc_optimum)(X, y, alpha)[1]


@every_solver
@pytest.mark.parametrize("alpha", [1.0, 3e-2])
@pytest.mark.parametrize("measure", [PRBEP(), ROCArea()], ids=str)
@pytest.mark.parametrize("start", ["none", "zero", "anywhere", "rows"])
def test_the_same_certified_optimum(measure, alpha, solver, start, monkeypatch):
    X, y = gaussians(4, 6, 60, **WIDE)
    rng = np.random.default_rng(1)
    w0 = {
        "none": None,
        "zero": np.zeros(X.shape[1]),
        "anywhere": rng.normal(size=X.shape[1]),
        "rows": X.T @ rng.normal(size=X.shape[0]),
    }[start]
    if w0 is not None:
        w0.flags.writeable = False
    plain, rows = both_spaces(monkeypatch, lambda: solver.run(problem(measure, X, y, alpha), w0))
    minimum = optimum(measure, X, y, alpha)
    for result in (plain, rows):
        assert result.status is Status.CONVERGED
        assert result.coef.shape == (X.shape[1],)
        assert max(result.trace["lower_bound"].max(), result.lower_bound) <= minimum + 1e-8
        assert minimum - 1e-8 <= result.objective <= minimum + solver.tol + 1e-8
        assert result.objective == pytest.approx(problem(measure, X, y, alpha).exact(result.coef), abs=1e-13)
        np.testing.assert_allclose(result.scores, X @ result.coef, atol=1e-12)
    assert rows.trace["objective"][0] == pytest.approx(plain.trace["objective"][0], abs=1e-12)
    # The same steps, until rounding has had time to grow.
    near = 1e-9 if isinstance(measure, ROCArea) else 1e-4  # rounding may decide how close an upper bound is
    np.testing.assert_allclose(rows.trace["objective"][:3], plain.trace["objective"][:3], rtol=near)
    np.testing.assert_allclose(rows.trace["smoothed_objective"][:3], plain.trace["smoothed_objective"][:3], rtol=1e-9)
    np.testing.assert_allclose(rows.trace["lower_bound"][:3], plain.trace["lower_bound"][:3], rtol=1e-7, atol=1e-9)


@every_solver
@searching(8)
@given(
    seed=st.integers(0, 1000), log_alpha=st.floats(-3, 1), scale=st.sampled_from([1e-3, 1.0, 1e3]), prbep=st.booleans()
)
def test_no_lower_bound_exceeds_the_optimum(solver, seed, log_alpha, scale, prbep):
    X, y = gaussians(2, 3, 25, scale=scale, seed=seed, **WIDE)
    measure = PRBEP() if prbep else ROCArea()
    alpha = 10.0**log_alpha * scale**2
    above = min(optimum(measure, X, y, alpha) + 1e-8, problem(measure, X, y, alpha).exact(np.zeros(25)))
    start = np.random.default_rng(seed).normal(size=25) / scale if seed % 2 else None
    result = solver.run(problem(measure, X, y, alpha), start)
    assert max(result.trace["lower_bound"].max(), result.lower_bound) <= above


@every_solver
@pytest.mark.parametrize("measure", [PRBEP(), ROCArea()], ids=str)
def test_planes_are_handed_over_between_runs_that_start_elsewhere(measure, solver):
    X, y = gaussians(4, 6, 60, **WIDE)
    rng = np.random.default_rng(2)
    first = solver.run(problem(measure, X, y, 1e-2), rng.normal(size=X.shape[1]), keep_planes=100)
    assert first.planes.slopes.shape[1] == 2 * X.shape[0]
    again = solver.run(problem(measure, X, y, 1e-2), Start(first.coef, first.planes))
    assert again.status is Status.CONVERGED
    if isinstance(measure, ROCArea):  # which knows its exact value as a by-product, not an upper bound of it
        assert again.n_iter == 0
    for alpha in (5e-3, 1e-1):
        minimum = optimum(measure, X, y, alpha)
        bound = first.planes.lower_bound(as_design(X), alpha, 1.0, 0.0)
        assert bound <= minimum + 1e-8
        for start in (None, first.coef, rng.normal(size=X.shape[1])):
            result = solver.run(problem(measure, X, y, alpha), Start(start, first.planes))
            assert result.lower_bound <= minimum + 1e-8
            assert minimum - 1e-8 <= result.objective <= minimum + solver.tol + 1e-8
    assert first.planes.lower_bound(as_design(X), 1e-2, 1.0, 0.0) == pytest.approx(first.lower_bound, abs=1e-5)


def test_what_is_given_back_is_used_again():
    buffers = Buffers(5)
    first, second = buffers.take(), buffers.take()
    assert first.shape == second.shape == (5,)
    assert not np.shares_memory(first, second)
    buffers.give(first)
    assert buffers.take() is first
    assert buffers.take() is not second


def test_views_are_not_taken_for_vectors():
    buffers = Buffers(3)
    whole = np.zeros(6)
    buffers.give(whole[:3])
    assert not np.shares_memory(buffers.take(), whole)
