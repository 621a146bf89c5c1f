"""Second derivatives of smoothed risks against differences of gradients."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from problems import MEASURES, searching
from smoothperf import PRBEP, ErrorRate

RAMPS = [PRBEP(), ErrorRate(positive_cost=3.0)]


def hessian(curvature, n):
    k = np.zeros(n)
    k[curvature.rows] = curvature.weights
    centring = np.outer(k, k) / max(k.sum(), 1e-300) if curvature.centred else 0.0
    return np.diag(k) - centring


def drawn(measure, seed, weighted, n=12):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([1, -1], [n // 3, n - n // 3]))
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    return measure.bind(y, weights), rng.normal(size=n)


@searching(20)
@given(measure=st.sampled_from(RAMPS), seed=st.integers(0, 10_000), weighted=st.booleans(), log_mu=st.floats(-2.5, 0.5))
def test_curvature_is_the_derivative_of_the_gradient(measure, seed, weighted, log_mu):
    risk, f = drawn(measure, seed, weighted)
    mu = 10.0**log_mu / risk.diameter
    here = risk.smoothed(f, mu)
    curvature = risk.curvature(f, here, mu, mu)
    assert np.all(curvature.weights > 0.0)
    assert not curvature.change.any()
    matrix = hessian(curvature, f.size)
    step = 1e-6
    for direction in np.random.default_rng(seed).normal(size=(3, f.size)):
        ahead, behind = (risk.smoothed(f + s * direction, mu) for s in (step, -step))
        # Where an example becomes active or ceases to be, there is no derivative.
        assume(all(set(risk.curvature(f, side, mu, mu).rows) == set(curvature.rows) for side in (ahead, behind)))
        difference = (ahead.plane.gradient - behind.plane.gradient) / (2.0 * step)
        np.testing.assert_allclose(matrix @ direction, difference, atol=1e-6 * risk.lipschitz(mu) + 1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ratio", [0.999, 1.001])
@pytest.mark.parametrize("measure", RAMPS, ids=str)
def test_change_is_that_of_the_gradient_when_mu_changes(measure, ratio, weighted):
    compared = 0
    for seed in range(40):
        risk, f = drawn(measure, seed, weighted)
        mu = 0.3 / risk.diameter
        before, after = risk.smoothed(f, mu), risk.smoothed(f, ratio * mu)
        curvature = risk.curvature(f, before, mu, ratio * mu)
        same = risk.curvature(f, after, ratio * mu, ratio * mu)
        if not np.array_equal(curvature.rows, same.rows) or curvature.rows.size < 2:
            continue
        compared += 1
        expected = np.zeros(f.size)
        expected[curvature.rows] = curvature.change
        np.testing.assert_allclose(after.plane.gradient - before.plane.gradient, expected, atol=1e-12)
        np.testing.assert_array_equal(curvature.weights, same.weights)
    assert compared > 10


def test_weight_zero_has_no_curvature():
    risk = PRBEP().bind([1, 1, -1, -1, -1], [1.0, 0.0, 1.0, 0.0, 2.0])
    curvature = risk.curvature(np.zeros(5), risk.smoothed(np.zeros(5), 10.0), 10.0, 10.0)
    np.testing.assert_array_equal(curvature.rows, [0, 2, 4])


def test_no_example_in_doubt():
    risk = PRBEP().bind([1, 1, -1, -1])
    f = np.array([90.0, 80.0, -80.0, -90.0])
    curvature = risk.curvature(f, risk.smoothed(f, 0.01), 0.01, 0.005)
    assert curvature.rows.size == curvature.weights.size == curvature.change.size == 0


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_risks_say_whether_they_have_curvature(measure):
    risk = measure.bind([1, -1, -1])
    value = risk.smoothed(np.zeros(3), 0.1)
    if risk.has_curvature:
        assert risk.curvature(np.zeros(3), value, 0.1, 0.1).rows.size > 0
    else:
        with pytest.raises(NotImplementedError, match="has no second derivatives"):
            risk.curvature(np.zeros(3), value, 0.1, 0.1)
