"""Scaling: what it does to columns of every kind, and that it can be taken back."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from problems import gaussians
from smoothperf import MeasureClassifier
from smoothperf.design.scaling import Scaling

X, Y = gaussians(40, 60, 5, shift=0.6, seed=1)
X = X * [1.0, 1e3, 1e-4, 1.0, 1.0] + [0.0, 1e4, 0.0, 3.0, 0.0]
X[np.random.default_rng(0).random(X.shape) < 0.6] = 0.0
KINDS = {"dense": np.asarray, "fortran": np.asfortranarray, "csr": sp.csr_array, "csc": sp.csc_array}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["standard", "maxabs"])
def test_scales_as_scikit_learn_does(make, dtype, kind):
    given = make(X.astype(dtype))
    before = given.copy()
    scaler = MaxAbsScaler() if kind == "maxabs" else StandardScaler(with_mean=not sp.issparse(given))
    expected = scaler.fit_transform(X.astype(np.float64))
    found = Scaling.of(kind, given).apply(given)
    assert found.dtype == dtype
    assert type(found) is type(given)
    np.testing.assert_allclose(found.toarray() if sp.issparse(found) else found, expected, rtol=1e-3, atol=1e-3)
    assert abs(given - before).max() == 0.0  # which is the user's


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array, sp.csr_matrix])
def test_dense_rows_in_sparse_form_are_dense(make):
    full, _ = gaussians(40, 60, 5, seed=2)
    full[::7, 0] = 0.0
    scaling = Scaling.of("standard", make(full))
    expected = StandardScaler().fit_transform(full)
    np.testing.assert_allclose(scaling.apply(make(full)), expected, atol=1e-9)
    np.testing.assert_allclose(scaling.apply(full), expected, atol=1e-9)


def test_none():
    assert Scaling.of("none", X).apply(X) is X


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("value", [0.0, 0.1, -7.0, 1e300])
def test_constant_columns_stay_small(make, value):
    columns = np.column_stack([X[:, 0], np.full(100, value), np.zeros((100, 2))])
    scaled = Scaling.of("standard", make(columns)).apply(make(columns))
    assert np.isfinite(abs(scaled).max())
    rest = scaled[:, [1]]
    assert abs(rest).max() <= (1e-12 if make is np.asarray else 1.0)


def test_rounding_errors_are_no_spread():
    """A column that is constant but for rounding must not become a feature of size 1."""
    column = np.where(np.arange(100) % 2 == 0, 0.3, 0.1 + 0.2).reshape(-1, 1)
    assert np.ptp(column) > 0.0
    assert np.abs(Scaling.of("standard", column).apply(column)).max() < 1e-12
    stamps = 1.7e9 + np.arange(100.0).reshape(-1, 1)  # seconds: large, but with a spread that means something
    assert np.ptp(Scaling.of("standard", stamps).apply(stamps)) > 3.0


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("kind", ["standard", "maxabs"])
@pytest.mark.parametrize("measure", ["prbep", "error_rate"])
@pytest.mark.parametrize("pos_label", [1, -1])
def test_a_folded_model_is_the_same_on_rows_as_they_are(make, kind, measure, pos_label):
    scaling = Scaling.of(kind, make(X))
    scaled = scaling.apply(make(X))
    model = MeasureClassifier(measure, 1e-2, pos_label=pos_label).fit(scaled, Y)
    model.set_operating_point(scaled, Y, k=20)
    scores, labels = model.decision_function(scaled), model.predict(scaled)
    scaling.fold_into(model)
    np.testing.assert_allclose(model.decision_function(make(X)), scores, atol=1e-9)
    np.testing.assert_array_equal(model.predict(make(X)), labels)
    model.set_operating_point(make(X), Y, k=30)
    assert (model.predict(make(X)) == pos_label).sum() == 30
