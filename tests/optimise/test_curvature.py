"""The memory of L-BFGS against the matrix that it stands for, in weight space and in row space."""

import numpy as np
import pytest

from smoothperf.design import as_design
from smoothperf.optimise.lbfgs import CurvatureMemory
from smoothperf.optimise.row_space import RowSpace
from smoothperf.optimise.weight_space import WeightSpace


def push(memory, s, y):
    """A pair as the difference of two points and of their gradients."""
    memory.push(s, np.zeros_like(s), y, np.zeros_like(y))


def explicit(pairs):
    """The inverse Hessian by BFGS updates of a multiple of the identity, as a matrix."""
    s, y = pairs[-1]
    H = s @ y / (y @ y) * np.eye(len(s))
    for s, y in pairs:
        rho = 1.0 / (s @ y)
        left = np.eye(len(s)) - rho * np.outer(s, y)
        H = left @ H @ left.T + rho * np.outer(s, s)
    return H


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_direction_is_that_of_the_matrix(count):
    rng = np.random.default_rng(count)
    d, size = 6, 3
    curvature = rng.normal(size=(d, d))
    curvature = curvature @ curvature.T + np.eye(d)
    memory = CurvatureMemory(size, WeightSpace(as_design(np.eye(d)), d))
    pairs = []
    for _ in range(count):
        s = rng.normal(size=d)
        pairs.append((s, curvature @ s))
        push(memory, *pairs[-1])
    assert len(memory) == min(count, size)
    gradient = rng.normal(size=d)
    kept = gradient.copy()
    np.testing.assert_allclose(memory.direction(gradient), -explicit(pairs[-size:]) @ gradient, rtol=1e-10)
    np.testing.assert_array_equal(gradient, kept)
    memory.clear()
    np.testing.assert_array_equal(memory.direction(gradient), -gradient)
    push(memory, *pairs[0])
    np.testing.assert_allclose(memory.direction(gradient), -explicit(pairs[:1]) @ gradient, rtol=1e-10)


@pytest.mark.parametrize("size", [2, 6])
def test_pairs_of_an_earlier_run_serve_another_alpha(size):
    rng = np.random.default_rng(0)
    d, before, now = 7, 0.5, 0.02
    space = WeightSpace(as_design(np.eye(d)), d)
    memory, later = CurvatureMemory(6, space), CurvatureMemory(size, space)
    curvature = rng.normal(size=(d, d))
    curvature = curvature @ curvature.T  # of the risk; that of J has alpha on the diagonal as well
    for s in rng.normal(size=(9, d)):
        push(memory, s, curvature @ s + before * s)
    pairs = memory.pairs(before)
    later.adopt(pairs, now)
    assert len(later) == min(len(memory), size)
    gradient = rng.normal(size=d)
    expected = [(s, curvature @ s + now * s) for s in pairs.steps[pairs.order][-size:]]
    np.testing.assert_allclose(later.direction(gradient), -explicit(expected) @ gradient, rtol=1e-10)


def test_pairs_without_curvature_at_another_alpha_are_left_behind():
    """Gradients are rounded, so what is left of a change without alpha s may point the wrong way."""
    space = WeightSpace(as_design(np.eye(3)), 3)
    memory, later = CurvatureMemory(4, space), CurvatureMemory(4, space)
    push(memory, np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.5, 0.0]))
    push(memory, np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.4, 0.0]))
    later.adopt(memory.pairs(0.5), 0.05)
    assert len(memory) == 2
    assert len(later) == 1
    gradient = np.array([1.0, 2.0, 3.0])
    assert later.direction(gradient) @ gradient < 0.0


def test_row_space_has_no_pairs_to_hand_on():
    X = np.random.default_rng(0).normal(size=(3, 20))
    space = RowSpace(as_design(X), 3, 20, float(np.linalg.norm(X)), None)
    memory = CurvatureMemory(4, space)
    push(memory, space.slope(np.array([1.0, 0.0, 2.0])), space.slope(np.array([1.0, 0.5, 2.0])))
    assert len(memory) == 1
    assert memory.pairs(0.1) is None


@pytest.mark.parametrize("started", [False, True])
def test_row_space_goes_the_same_way(started):
    rng = np.random.default_rng(0)
    n, d = 5, 40
    X = rng.normal(size=(n, d))
    start = rng.normal(size=d) if started else None
    space = RowSpace(as_design(X), n, d, float(np.linalg.norm(X)), start)
    memory, twin = CurvatureMemory(4, space), CurvatureMemory(4, WeightSpace(as_design(X), d))

    def vector():
        return space.slope(rng.normal(size=n)) + (rng.normal() * space.vector(start) if started else 0.0)

    for _ in range(6):
        s, y = vector(), vector()
        if space.inner(s, y) < 0.0:
            s = -s
        push(memory, s, y)
        push(twin, space.weights(s), space.weights(y))
    assert len(memory) == len(twin) == 4
    gradient = vector()
    expected = twin.direction(space.weights(gradient))
    found = memory.direction(gradient)
    np.testing.assert_allclose(space.weights(found), expected, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(space.scores(found), X @ expected, atol=1e-8 * np.abs(X @ expected).max())


def test_pairs_without_curvature_are_not_remembered():
    memory = CurvatureMemory(3, WeightSpace(as_design(np.eye(2)), 2))
    east, north = np.eye(2)
    for s, y in ((east, -east), (east, north), (0.0 * east, east), (east, 0.0 * east), (east, 1e-16 * east + north)):
        push(memory, s, y)
        assert len(memory) == 0
    push(memory, east, east + north)
    assert len(memory) == 1
