"""Curves of columns: scikit-learn's splines summed up, which rise from 0 to 1 and keep the sign that is asked for."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BSpline
from sklearn.preprocessing import SplineTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from problems import searching
from smoothperf import MeasureClassifier
from smoothperf.features import Shapes


@parametrize_with_checks([Shapes(), Shapes(n_knots=3, degree=1, linear=False, dtype=np.float64)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("n_knots", [2, 5, 8])
def test_curves_span_what_scikit_learns_splines_do(degree, n_knots):
    x = np.random.default_rng(0).exponential(size=(200, 1))
    ours = Shapes(n_knots, degree, linear=False, dtype=np.float64).fit_transform(x)
    knots = np.quantile(np.unique(x), np.linspace(0, 1, n_knots))[:, None]
    theirs = SplineTransformer(degree=degree, knots=knots).fit_transform(x)
    assert ours.shape[1] == theirs.shape[1] - 1
    both = np.column_stack([np.ones(len(x)), ours])  # their splines sum up to 1
    assert np.linalg.matrix_rank(both) == theirs.shape[1]
    np.testing.assert_allclose(both @ np.linalg.lstsq(both, theirs, rcond=None)[0], theirs, atol=1e-9)


def test_a_feature_is_a_sum_of_b_splines():
    x = np.linspace(-1.0, 2.0, 40)[:, None]
    shapes = Shapes(4, 2, linear=False, dtype=np.float64).fit(x)
    knots = shapes.curves_[0].knots
    bumps = BSpline.design_matrix(x[:, 0], np.concatenate([knots[[0, 0]], knots, knots[[-1, -1]]]), 2).toarray()
    np.testing.assert_allclose(shapes.transform(x), np.cumsum(bumps[:, ::-1], axis=1)[:, ::-1][:, 1:], atol=1e-14)


columns = st.lists(
    st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, 2.0, np.nan])), min_size=3, max_size=40
).map(lambda values: np.array(values)[:, None])


@searching(60)
@given(x=columns, degree=st.sampled_from([1, 2, 3]), n_knots=st.integers(2, 6))
def test_features_rise_from_0_to_1(x, degree, n_knots):
    shapes = Shapes(n_knots, degree, linear=False, dtype=np.float64).fit(x)
    curve = shapes.curves_[0]
    order = np.sort(x[~np.isnan(x)])
    if curve.knots.size == 0:
        assert shapes.transform(x).shape[1] == np.isnan(x).any()
        return
    grid = np.concatenate([order, np.linspace(order[0] - 1.0, order[-1] + 1.0, 50)])[:, None]
    grid.sort(axis=0)
    features = shapes.transform(grid)[:, : len(curve.names) - curve.has_missing]
    assert np.diff(features, axis=0).min() >= -1e-9
    assert np.abs(features[0]).max() <= 1e-9
    assert np.abs(features[-1] - 1.0).max() <= 1e-9


@pytest.mark.parametrize("last", [1.0, 5e-323])
def test_knots_that_cannot_be_told_apart_are_one(last):
    x = np.array([[0.0], [5e-324], [1e-323], [last]])
    features = Shapes(3, 2, linear=False).fit_transform(x)
    assert np.isfinite(features).all()
    assert features[-1].min() == 1.0


def test_few_values_are_steps():
    shapes = Shapes(n_knots=4).fit(pd.DataFrame({"rooms": [1, 2, 2, 5], "owner": [0, 1, 1, 0], "same": [7, 7, 7, 7]}))
    assert shapes.get_feature_names_out().tolist() == ["rooms", "rooms>=2", "rooms>=5", "owner>=1"]
    frame = pd.DataFrame({"rooms": [0, 3, 9], "owner": [1, 0, 1], "same": [1, 2, 3]})
    np.testing.assert_array_equal(shapes.transform(frame)[:, 1:], [[0, 0, 1], [1, 0, 0], [1, 1, 1]])


def test_missing_values_have_a_feature_of_their_own():
    x = np.random.default_rng(0).normal(size=(60, 2))
    x[:20, 1] = np.nan
    shapes = Shapes(3).fit(x)
    names = shapes.get_feature_names_out().tolist()
    assert names == ["x0", "x0[1]", "x0[2]", "x0[3]", "x1", "x1[1]", "x1[2]", "x1[3]", "x1 missing"]
    at_median = shapes.transform([[0.0, np.median(x[20:, 1])], [0.0, np.nan], [np.nan, 1.0]])
    np.testing.assert_array_equal(at_median[0, :-1], at_median[1, :-1])
    assert at_median[:, -1].tolist() == [0.0, 1.0, 0.0]
    assert np.isfinite(at_median).all()


def test_features_are_float32_unless_asked():
    x = np.random.default_rng(0).normal(size=(50, 2))
    assert Shapes().fit_transform(x).dtype == np.float32
    fine = Shapes(dtype=np.float64).fit_transform(x)
    np.testing.assert_allclose(Shapes().fit_transform(x), fine, atol=1e-6)
    shapes = Shapes().fit(x)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(shapes)).transform(x), shapes.transform(x))


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("monotonic_cst", [[1, -1, 0], {"up": 1, "down": -1}])
def test_no_step_goes_the_wrong_way(degree, monotonic_cst):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(400, 3)), columns=["up", "down", "free"])
    X.iloc[:50, 0] = np.nan
    effect = np.sin(2 * X["up"].fillna(3.0)) + np.cos(2 * X["down"]) + np.abs(X["free"])  # none is monotone
    y = effect + rng.normal(size=400) > np.median(effect)
    shapes = Shapes(5, degree, monotonic_cst=monotonic_cst, dtype=np.float64).fit(X)
    bounds = tuple(shapes.coef_bounds_)
    model = MeasureClassifier("roc_area", alpha=1e-4, coef_bounds=bounds).fit(shapes.transform(X), y)
    grid = np.linspace(-4.0, 4.0, 200)

    def steps(name):
        rows = pd.DataFrame(0.0, index=range(200), columns=X.columns).assign(**{name: grid})
        return np.diff(model.decision_function(shapes.transform(rows)))

    assert steps("up").min() >= -1e-12
    assert steps("down").max() <= 1e-12
    assert steps("free").min() < -1e-3 < 1e-3 < steps("free").max()
    assert model.gap_ <= 1e-3
    missing = shapes.get_feature_names_out().tolist().index("up missing")
    assert np.isinf(shapes.coef_bounds_[:, missing]).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_knots": 1}, "n_knots must be"),
        ({"degree": 4}, "degree must be 0, 1, 2 or 3, got 4"),
        ({"monotonic_cst": [1]}, r"monotonic_cst must be -1, 0 or 1 for each of 2 columns, got \[1\]"),
        ({"monotonic_cst": [1, 2]}, r"must be -1, 0 or 1 .* got \[1, 2\]"),
        ({"monotonic_cst": {"size": 1}}, "has no column 'size' to speak of"),
    ],
)
def test_bad_arguments(settings, message):
    with pytest.raises(ValueError, match=message):
        Shapes(**settings).fit(np.random.default_rng(0).normal(size=(20, 2)))
