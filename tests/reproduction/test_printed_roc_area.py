"""The ROC area loss as printed: against the definition, exact arithmetic and a convex solver."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

import oracles
from problems import gaussians, problem
from reproduction.printed_roc_area import PrintedROCArea
from smoothperf import LBFGS

MEASURE = PrintedROCArea()


def by_labelings(y, scores):
    """Equation (3): the maximum over all z in {-1, 1}^pairs of the mean of (1 - z)/2 + z (f_i - f_j)."""
    margins = oracles.pair_margins(y, scores).ravel()
    z = oracles.all_labelings(margins.size)
    return float(np.max(((1 - z) / 2 + z * margins).sum(axis=1)) / margins.size)


def exactly(y, scores, weights=None, mu=0.0):
    """1/2 + |d - 1/2| per pair, smoothed if mu > 0, in rational arithmetic."""
    half = Fraction(1, 2)

    def loss(d, kappa):
        return half + oracles._huber_hinge(abs(d - half), kappa)

    return oracles._exact_mean_over_pairs(y, scores, weights, mu, loss)


def scores_of_every_kind(n):
    rng = np.random.default_rng(0)
    yield rng.integers(-2, 3, size=n) / 2.0  # ties, and margins of exactly 1/2 and 1
    for scale in (0.0, 1e-8, 1e-3, 1.0, 1e3, 1e8):
        yield scale * rng.normal(size=n)


@pytest.mark.parametrize("y", [[1, -1, 1, -1, 1], [-1, -1, 1, -1], [1, 1, -1, 1], [-1, 1]])
def test_value_is_the_maximum_over_all_orders_of_the_pairs(y):
    y = np.array(y)
    for scores in scores_of_every_kind(len(y)):
        allowed = 1e-13 * (1.0 + np.abs(scores).max())
        assert MEASURE.bind(y).exact(scores).value == pytest.approx(by_labelings(y, scores), abs=allowed)
        assert MEASURE.bind(y).exact_value(scores) == pytest.approx(by_labelings(y, scores), abs=allowed)


@pytest.mark.parametrize("weights", [None, [0.5, 2.0, 1.0, 0.0, 3.0, 0.25, 1.0]])
@pytest.mark.parametrize("mu", [0.0, 1e-3, 0.05, 1.0])
def test_value_and_plane_are_true_but_for_rounding(weights, mu):
    y = np.array([1, -1, 1, -1, -1, -1, 1])
    risk = MEASURE.bind(y, weights)
    for scores in scores_of_every_kind(len(y)):
        result = risk.exact(scores) if mu == 0.0 else risk.smoothed(scores, mu)
        gradient, offset, rounding = result.plane.gradient, result.plane.offset, result.plane.rounding
        error = abs(Fraction(result.value) - exactly(y, scores, weights, mu))
        assert error <= Fraction(rounding) * (1 + Fraction(np.abs(scores).max()))
        assert rounding < 1e-9 * (1.0 + np.abs(scores).max())
        for other in scores_of_every_kind(len(y)):
            excess = oracles.exact_plane(gradient, offset, other) - exactly(y, other, weights)
            assert float(excess) <= rounding * (1.0 + np.abs(other).max())


def test_gradient_is_that_of_finite_differences():
    rng = np.random.default_rng(1)
    y, scores, step = np.array([1, 1, -1, -1, -1]), rng.normal(size=5), 1e-6
    risk = MEASURE.bind(y)
    slopes = [
        (risk.smoothed(scores + step * e, 0.1).value - risk.smoothed(scores - step * e, 0.1).value) / (2.0 * step)
        for e in np.eye(5)
    ]
    np.testing.assert_allclose(risk.smoothed(scores, 0.1).plane.gradient, slopes, atol=1e-8)


@pytest.mark.parametrize("alpha", [1.0, 1e-2, 1e-4])
def test_optimum_is_that_of_a_convex_solver(alpha):
    X, y = gaussians(n_positive=4, n_negative=6)
    margins = (X[y == 1][:, None, :] - X[y == -1][None, :, :]).reshape(-1, X.shape[1]) @ (w := cp.Variable(X.shape[1]))
    risk = cp.sum(cp.maximum(margins, 1 - margins)) / margins.size
    minimum = oracles._solve(cp.Problem(cp.Minimize(alpha / 2 * cp.sum_squares(w) + risk)))
    result = LBFGS(tol=1e-6, max_iter=20_000).run(problem(MEASURE, X, y, alpha))
    assert result.lower_bound <= minimum + 1e-8
    assert minimum - 1e-8 <= result.objective <= minimum + 1e-6 + 1e-8


def test_it_grows_with_a_correct_margin():
    y = np.array([1, 1, -1, -1, -1])
    assert MEASURE.bind(y).exact(0.5 * (y == 1)).value == pytest.approx(0.5)  # its minimum
    assert MEASURE.bind(y).exact(3.0 * (y == 1)).value == pytest.approx(3.0)


def test_a_tight_bound_is_refused():
    with pytest.raises(NotImplementedError, match="no maximum over labelings"):
        MEASURE.bind([1, -1]).loss_free(np.zeros(2))
