"""The quadratic program on the simplex, against a generic solver and against its own optimality conditions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from problems import searching
from smoothperf.kernels import maximise_on_simplex


def quadratic(factor, linear, x):
    return float(linear @ x - np.sum((factor.T @ x) ** 2) / 2.0)


def vertex(size, k):
    x = np.zeros(size)
    x[k] = 1.0
    return x


def shortfall(factor, linear, x):
    """No point of the simplex is better than x by more than this: the Frank-Wolfe gap, by concavity."""
    slope = linear - factor @ (factor.T @ x)
    return float(slope.max() - slope @ x)


def magnitude(factor, linear):
    return float(np.sum(factor**2, axis=1).max() + np.abs(linear).max())


def assert_on_the_simplex(x, size):
    assert x.shape == (size,)
    assert x.min() >= 0.0
    assert x.sum() == pytest.approx(1.0, abs=1e-14)


def assert_solved(factor, linear, start, *, rel=1e-11):
    """Solve from ``start``, which may not be written to, and check all that is promised."""
    start.flags.writeable = False
    x = maximise_on_simplex(factor @ factor.T, 1.0, linear, start)
    assert_on_the_simplex(x, linear.size)
    scale = magnitude(factor, linear)
    assert shortfall(factor, linear, x) <= rel * scale + 2e-12
    assert quadratic(factor, linear, x) >= quadratic(factor, linear, start) - rel * scale
    return x


@st.composite
def programs(draw):
    """Planes of any rank, some of them twice, and a start on a vertex, an edge or anywhere."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    size, rank = draw(st.integers(1, 25)), draw(st.integers(1, 30))
    factor, linear = (
        rng.normal(size=(size, rank)),
        draw(st.sampled_from([0.0, 0.1, 1.0, 10.0])) * rng.normal(size=size),
    )
    if draw(st.booleans()):
        again = rng.integers(size, size=size // 2)
        factor[: again.size], linear[: again.size] = factor[again], linear[again]
    start = draw(st.sampled_from(["vertex", "edge", "middle"]))
    x = {"vertex": vertex(size, rng.integers(size)), "middle": rng.dirichlet(np.ones(size))}.get(start)
    if x is None:
        x = (vertex(size, rng.integers(size)) + vertex(size, rng.integers(size))) / 2.0
    return factor, linear, x


@searching(50)
@given(program=programs())
def test_optimality_conditions(program):
    assert_solved(*program)


@pytest.mark.parametrize("seed", range(25))
def test_against_a_generic_solver(seed):
    rng = np.random.default_rng(seed)
    size, rank = rng.integers(1, 30, size=2)
    factor, linear = rng.normal(size=(size, rank)), rng.normal(size=size)
    x = assert_solved(factor, linear, vertex(size, rng.integers(size)))
    reference, best = oracles.simplex_qp(factor, linear)
    assert quadratic(factor, linear, x) == pytest.approx(best, abs=1e-8)
    if rank >= size:  # strictly concave: the maximiser is unique
        np.testing.assert_allclose(x, reference, atol=1e-5)


@pytest.mark.parametrize("start", range(8))
def test_every_vertex_leads_to_the_same_maximum(start):
    rng = np.random.default_rng(1)
    factor, linear = rng.normal(size=(8, 8)), rng.normal(size=8)
    expected = assert_solved(factor, linear, np.full(8, 1 / 8))
    np.testing.assert_allclose(assert_solved(factor, linear, vertex(8, start)), expected, atol=1e-10)


def test_a_solution_stays_where_it_is():
    rng = np.random.default_rng(2)
    factor, linear = rng.normal(size=(12, 20)), rng.normal(size=12)
    x = assert_solved(factor, linear, vertex(12, 0))
    np.testing.assert_allclose(assert_solved(factor, linear, x), x, atol=1e-12)


def test_a_new_plane_starts_without_weight():
    """As the bundle does it: the old solution, extended by 0."""
    rng = np.random.default_rng(3)
    factor, linear = rng.normal(size=(15, 10)), rng.normal(size=15)
    x = np.array([1.0])
    for size in range(1, 16):
        x = assert_solved(factor[:size], linear[:size], np.append(x, np.zeros(size - x.size)))


def assert_nothing_lost(hessian, linear, start):
    """Compare with the maximum in rational arithmetic, up to what the rounding of H and b is worth."""
    x = maximise_on_simplex(hessian, 1.0, linear, start)
    assert_on_the_simplex(x, linear.size)
    value = oracles.exact_simplex_value(hessian, linear, x)
    lost = float(oracles.exact_simplex_maximum(hessian, linear) - value)
    gained = float(value - oracles.exact_simplex_value(hessian, linear, start))
    allowed = 1e-12 + 1e-13 * float(np.abs(hessian).max() + np.abs(linear).max())
    assert lost <= allowed
    assert gained >= -allowed


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_badly_scaled_programs(scale, seed):
    """All planes steep or flat, all high or low, or only some of them."""
    rng = np.random.default_rng(seed)
    factor, linear = rng.normal(size=(5, 4)), rng.normal(size=5)
    some, powers = np.where(np.arange(5) % 2, scale, 1.0), scale ** rng.uniform(size=5)
    start = vertex(5, seed)
    for steepness, height in (
        (scale, 1.0),
        (1.0, scale),
        (some, 1.0),
        (1.0, some),
        (powers, 1.0),
        (some, powers),
    ):
        planes = factor * np.reshape(steepness * np.ones(5), (5, 1))
        assert_nothing_lost(planes @ planes.T, height * linear, start)


@pytest.mark.parametrize("value", [-3.0, 0.0, 1e-9, 1e9])
@pytest.mark.parametrize("slope", [0.0, 1e-17, 1e-8, 1.0, 1e8])
def test_one_plane_gets_all_the_weight(value, slope):
    x = maximise_on_simplex(np.array([[slope**2]]), 1.0, np.array([value]), np.array([1.0]))
    assert x.tolist() == [1.0]


@pytest.mark.parametrize("slope", [0.0, 1e-100, 1e-17, 1e-12, 1e-8])
@pytest.mark.parametrize("start", range(4))
def test_flat_planes_leave_a_linear_program(slope, start):
    """Without slopes, or with rounding errors for slopes (all features constant), the highest plane wins."""
    linear = np.array([0.1, 0.7, -2.0, 0.3])
    factor = slope * np.random.default_rng(0).normal(size=(4, 3))
    x = maximise_on_simplex(factor @ factor.T, 1.0, linear, vertex(4, start))
    assert_on_the_simplex(x, 4)
    assert linear @ x == pytest.approx(0.7, abs=1e-11)


@pytest.mark.parametrize("copies", [2, 5, 40])
def test_one_plane_many_times(copies):
    factor, linear = np.ones((copies, 1)) * 2.0, np.full(copies, 0.5)
    x = assert_solved(factor, linear, vertex(copies, copies - 1))
    assert quadratic(factor, linear, x) == pytest.approx(0.5 - 2.0, abs=1e-12)


@pytest.mark.parametrize("distance", [1e-15, 1e-12, 1e-9, 1e-6])
def test_planes_that_are_nearly_the_same(distance):
    rng = np.random.default_rng(4)
    base = rng.normal(size=(3, 10))
    factor = np.repeat(base, 6, axis=0) + distance * rng.normal(size=(18, 10))
    linear = np.repeat(rng.normal(size=3), 6) + distance * rng.normal(size=18)
    assert_solved(factor, linear, vertex(18, 5))


def test_the_solution_of_two_planes_by_hand():
    x = maximise_on_simplex(np.eye(2), 1.0, np.array([0.0, 0.5]), np.array([1.0, 0.0]))
    np.testing.assert_allclose(x, [0.25, 0.75], atol=1e-12)
    x = maximise_on_simplex(np.eye(2), 1.0, np.array([0.0, 5.0]), np.array([1.0, 0.0]))
    np.testing.assert_allclose(x, [0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize("changes", [1, 2, 3, 5])
def test_an_early_stop_costs_quality_only(changes):
    rng = np.random.default_rng(5)
    for _ in range(10):
        factor, linear = rng.normal(size=(20, 15)), rng.normal(size=20)
        start = rng.dirichlet(np.ones(20))
        x = maximise_on_simplex(factor @ factor.T, 1.0, linear, start, max_changes=changes)
        assert_on_the_simplex(x, 20)
        assert quadratic(factor, linear, x) >= quadratic(factor, linear, start) - 1e-11


def test_a_loose_tolerance_is_respected_and_used():
    rng = np.random.default_rng(6)
    factor, linear = rng.normal(size=(40, 40)), rng.normal(size=40)
    tight = maximise_on_simplex(factor @ factor.T, 1.0, linear, vertex(40, 0))
    loose = maximise_on_simplex(factor @ factor.T, 1.0, linear, vertex(40, 0), tolerance=0.05)
    lost = quadratic(factor, linear, tight) - quadratic(factor, linear, loose)
    assert 1e-9 < lost <= 0.05


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", ["everywhere", "gram", "diagonal", "linear", "start", "scale"])
def test_numbers_that_are_not_finite_are_survived(odd, place):
    """The result then is anything of the right length; no memory is touched that belongs to others."""
    rng = np.random.default_rng(7)
    for size in (1, 2, 8, 40):
        factor = rng.normal(size=(size, 3))
        gram, linear, start = factor @ factor.T, rng.normal(size=size), np.full(size, 1.0 / size)
        if place in ("gram", "everywhere"):
            gram[rng.random((size, size)) < (0.2 if place == "gram" else 1.0)] = odd
        if place == "diagonal":
            np.fill_diagonal(gram, odd)
        if place in ("linear", "everywhere"):
            linear[:: 3 if place == "linear" else 1] = odd
        if place == "start":
            start[size // 2] = odd
        for _ in range(20):
            weights = maximise_on_simplex(gram, odd if place == "scale" else 1.0, linear, start)
            assert weights.shape == (size,)
    assert_solved(factor, rng.normal(size=size), vertex(size, 0))  # the memory that is left is in order


def test_a_program_has_arrays_of_one_size_and_at_least_one_plane():
    for gram, linear, start in [
        (np.eye(2), np.zeros(3), np.full(3, 1 / 3)),
        (np.ones((3, 2)), np.zeros(3), np.full(3, 1 / 3)),
        (np.eye(3), np.zeros(3), np.full(2, 0.5)),
        (np.empty((0, 0)), np.zeros(0), np.zeros(0)),
    ]:
        with pytest.raises(ValueError, match=r"start|gram|plane"):
            maximise_on_simplex(gram, 1.0, linear, start)
