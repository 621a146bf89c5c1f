"""Rates: counts, exponents, the problem made for cutting planes, and entropy against brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import searching
from reproduction import entropy, hard, rates
from reproduction.rates import Count, slopes
from smoothperf import BMRM, LBFGS, PRBEP
from smoothperf.design import as_design
from smoothperf.optimise.objective import RegularizedRisk


def test_slopes_are_those_of_power_laws():
    counts = [
        Count("p", "prbep", "m", alpha, eps, alpha**-0.5 / eps)
        for alpha in (0.1, 0.01, 0.001)
        for eps in (0.1, 0.01, 0.001)
    ]
    found = slopes(counts)
    assert len(found) == 6
    for slope in found:
        assert slope.points == 3
        assert slope.slope == pytest.approx(1.0 if slope.variable == "eps" else 0.5)


def test_counts_that_were_not_reached_are_left_out():
    counts = [Count("p", "prbep", "m", 0.1, eps, n) for eps, n in ((0.1, 0.0), (0.01, 10.0), (0.001, math.nan))]
    assert all(math.isnan(slope.slope) for slope in slopes(counts))
    assert max(slope.points for slope in slopes(counts)) == 1


def test_counted_iterations_are_those_of_a_run():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < 0.3, 1, -1)
    X = rng.standard_normal((200, 5)) + (y > 0)[:, None]
    counts = rates.count("p", X, y, PRBEP(), alphas=[1e-2], accuracies=[1e-1, 1e-2], limit=10.0)
    found = {(row.method, row.eps): row.iterations for row in counts}
    assert len(found) == 8
    for eps in (1e-1, 1e-2):
        objective = RegularizedRisk(as_design(X), PRBEP().bind(y), 1e-2)
        assert found["bmrm", eps] == BMRM(tol=eps).run(objective).n_iter
        assert found["lbfgs", eps] == LBFGS(tol=eps).run(objective).n_iter
    assert found[rates.THEOREM, 1e-2] > found["nesterov", 1e-2]


def test_time_that_is_up_is_not_a_count():
    X, y, _ = hard.problem(50)
    counts = rates.count("p", X, y, PRBEP(), alphas=[1e-3], accuracies=[1e-6], limit=-1.0)
    assert all(math.isnan(row.iterations) for row in counts)


@pytest.mark.parametrize("negatives", [1, 5, 40])
@pytest.mark.parametrize("alpha", [1.0, 0.1, 1e-3])
def test_the_optimum_of_the_hard_problem(negatives, alpha):
    X, y, G = hard.problem(negatives)
    result = LBFGS(tol=1e-7).run(RegularizedRisk(as_design(X), PRBEP().bind(y), alpha))
    assert result.lower_bound <= hard.optimum(G, alpha) + 1e-12
    assert hard.optimum(G, alpha) <= result.objective + 1e-12


def test_cutting_planes_need_exactly_k():
    for row in hard.count((0.2, 0.1), (0.1, 0.05)):
        assert row.negatives >= hard.SMALLEST**2 / (4 * row.alpha * row.eps)
        assert row.error <= row.eps
        if row.method == "bmrm":
            assert row.iterations == row.first_gain == row.negatives
        else:
            assert row.method == "nesterov" or row.iterations < row.negatives / 4
            assert row.first_gain <= row.iterations


def test_the_gap_of_cutting_planes_is_as_derived():
    alpha = 0.1
    X, y, G = hard.problem(30)
    trace = BMRM(tol=1e-9, max_planes=100).run(RegularizedRisk(as_design(X), PRBEP().bind(y), alpha)).trace
    # Whatever order the coordinates came in, S_t lies between those of the largest and of the smallest G.
    inverse = np.sort(1.0 / G**2)
    for t in range(1, 30):
        gap = trace["gap"][t - 1]
        low, high = (1.0 / (2 * alpha * part.sum()) for part in (inverse[-t:], inverse[:t]))
        assert min(low, 1.0) - 1e-9 <= gap <= high + 1e-9


def labelings(n, k):
    for chosen in itertools.combinations(range(n), k):
        u = np.zeros(n)
        u[list(chosen)] = 1.0
        yield u


@searching(100)
@given(
    data=st.data(),
    n=st.integers(2, 7),
    mu=st.sampled_from([1e-3, 0.1, 10.0]),
)
def test_entropy_is_log_mean_exp_over_all_labelings(data, n, mu):
    k = data.draw(st.integers(1, n - 1))
    scores = np.array(data.draw(st.lists(st.floats(-3, 3), min_size=n, max_size=n)))
    y = np.where(np.arange(n) < k, 1, -1)
    target = (y > 0).astype(float)
    found = entropy.EntropyPRBEP(y).smoothed(scores, mu)
    values = np.array([1.0 - u[:k].sum() / k + (2.0 / n) * scores @ (u - target) for u in labelings(n, k)])
    weights = np.exp((values - values.max()) / mu)
    expected = values.max() + mu * math.log(weights.mean())
    assert found.value == pytest.approx(expected, abs=1e-9)
    u = sum(weight * each for weight, each in zip(weights / weights.sum(), labelings(n, k), strict=True))
    np.testing.assert_allclose(found.plane.gradient, (2.0 / n) * (u - target), atol=1e-9)
    # The plane is a plane of the exact risk, and the deviation is within mu log N.
    risk = PRBEP().bind(y)
    assert found.height == pytest.approx(found.plane.offset + found.plane.gradient @ scores, abs=1e-12)
    for other in (np.zeros(n), -scores, scores):
        assert risk.exact_value(other) >= found.plane.gradient @ other + found.plane.offset - 1e-9
    exact = risk.exact_value(scores)
    assert exact - mu * math.log(math.comb(n, k)) - 1e-9 <= found.value <= exact + 1e-9


def test_entropy_counts():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < 0.25, 1, -1)
    import scipy.sparse as sp

    from reproduction.datasets import Part

    part = Part(sp.csr_matrix(rng.standard_normal((200, 5)) + (y > 0)[:, None]), y)
    rows = entropy.count(part, (20, 40))
    assert [(row.n, row.smoothing, row.step) for row in rows[:4]] == [
        (20, "squares", "theorem"),
        (20, "squares", "backtracking"),
        (20, "entropy", "theorem"),
        (20, "entropy", "backtracking"),
    ]
    assert all(row.reached for row in rows)
    constants = {(row.n, row.smoothing): row.constant for row in rows}
    assert constants[40, "entropy"] > 1.2 * constants[20, "entropy"]
    assert abs(entropy.sample(part, 40).y.mean() - part.y.mean()) < 0.1
