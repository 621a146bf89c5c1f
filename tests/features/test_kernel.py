"""Kernel features against the kernel itself."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from smoothperf.features import KernelFeatures


@parametrize_with_checks([KernelFeatures()])
def test_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("width", [0.3, 3.0])
def test_with_all_rows_as_landmarks_products_are_those_of_the_kernel(width):
    X = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 10.0, 0.1]
    features = KernelFeatures(width, n_components=40, dtype=np.float64).fit(X)
    made = features.transform(X)
    Z = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(made[:, :3], 0.1 * Z)
    of_kernel = made[:, 3:] / 10.0 + features.means_
    np.testing.assert_allclose(of_kernel @ of_kernel.T, rbf_kernel(Z, gamma=width / 3), atol=1e-6)
    np.testing.assert_allclose(made[:, 3:].mean(axis=0), 0.0, atol=1e-9)
    assert features.get_feature_names_out().shape == (43,)


def test_there_are_no_more_landmarks_than_rows():
    X = np.random.default_rng(0).normal(size=(10, 2))
    assert KernelFeatures().fit(X).transform(X).shape == (10, 12)
    with pytest.raises(ValueError, match="width must be"):
        KernelFeatures(0.0).fit(X)
