"""Curves as polynomials between knots: equal to their features times weights, also of scaled columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from smoothperf import MeasureClassifier
from smoothperf.features import Shapes
from smoothperf.features.pieces import Pieces


def table(n=300, seed=0):
    """Columns of all kinds: dense, large and far away, few values, two values, one value, missing ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 1] = 1.7e9 + 1e6 * X[:, 1]
    X[:, 2] = rng.integers(0, 5, n) / 10.0
    X[:, 3] = rng.random(n) < 0.3
    X[:, 4] = 7.0
    X[rng.random(n) < 0.1, 0] = np.nan
    X[rng.random(n) < 0.1, 2] = np.nan
    return X


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_contributions_are_the_features_weighted(degree, linear):
    X = table()
    shapes = Shapes(degree=degree, linear=linear, n_knots=6, dtype=np.float64).fit(X)
    coef = np.random.default_rng(1).normal(size=shapes.source_.size)
    new = np.vstack([X, 1.5 * X, np.full((1, 6), np.nan)])  # beyond all knots, and missing where none was before
    found = shapes.contributions(new, coef)
    for j in range(6):
        here = shapes.source_ == j
        np.testing.assert_allclose(found[:, j], shapes.transform(new)[:, here] @ coef[here], rtol=0.0, atol=1e-12)


def test_models_score_without_the_features():
    X = table()
    y = X[:, 2] + 0.2 * X[:, 5] > 0.2
    model = MeasureClassifier("log_loss", alpha=1e-2, features=Shapes()).fit(X, y)  # whose features are float32
    whole = Shapes(dtype=np.float64).fit(X).transform(X) @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), whole, rtol=0.0, atol=1e-12)


def test_scaled_columns_step_where_the_columns_do():
    X = table()[:, [2, 3]]
    X = X[~np.isnan(X).any(axis=1)]
    scaler = StandardScaler().fit(X)
    shapes = Shapes().fit(scaler.transform(X))
    for j, (curve, values) in enumerate(zip(shapes.curves_, X.T, strict=True)):
        weights = np.arange(1.0, 1.0 + len(curve.names))
        found = curve.pieces(weights).of_scaled(scaler.mean_[j], scaler.scale_[j])
        np.testing.assert_allclose(found(values), curve.pieces(weights)(scaler.transform(X)[:, j]), atol=1e-12)
        assert found.breaks.tolist() == np.unique(values)[1:].tolist()


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), st.integers(-(10**8), 10**8))
def test_a_break_is_before_every_number_that_is_scaled_to_it(shift, scale, hundredths):
    value = hundredths / 100.0
    at = (value - shift) / scale
    [found] = Pieces(np.array([at]), np.zeros(2), np.zeros((2, 4))).of_scaled(shift, scale).breaks
    assert found <= value
    assert (found - shift) / scale >= at
