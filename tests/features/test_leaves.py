"""Leaves of trees against scikit-learn's own forest."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from smoothperf.features import Leaves


@parametrize_with_checks([Leaves(5)])
def test_conventions(estimator, check):
    check(estimator)


def rows(n=300, seed=0):
    """Rows of which only two columns together tell the class."""
    X = np.random.default_rng(seed).normal(size=(n, 4)) * [1.0, 10.0, 0.1, 1.0]
    return X, X[:, 0] * X[:, 3] > 0.0


def test_leaves_are_those_of_the_forest():
    X, y = rows()
    leaves = Leaves(7, max_leaves=6).fit(X, y)
    forest = RandomForestRegressor(7, max_leaf_nodes=6, min_samples_leaf=5, max_features="sqrt", random_state=0).fit(
        X, y
    )
    new, _ = rows(5000, seed=1)
    made = leaves.transform(new)
    np.testing.assert_allclose(made[:, :4].toarray(), StandardScaler().fit(X).transform(new), atol=1e-5)
    names = leaves.get_feature_names_out()
    assert made.shape == (5000, names.size)
    np.testing.assert_array_equal(names[:4], ["x0", "x1", "x2", "x3"])
    found = names[made.indices.reshape(5000, -1)[:, 4:]]
    expected = [[f"tree{tree} leaf{leaf}" for tree, leaf in enumerate(row)] for row in forest.apply(new)]
    np.testing.assert_array_equal(found, expected)
    assert (made.data.reshape(5000, -1)[:, 4:] == 1.0).all()


def test_a_model_of_leaves_bends():
    X, y = rows(600)
    new, labels = rows(600, seed=1)
    assert make_pipeline(Leaves(50), LogisticRegression(C=0.01)).fit(X, y).score(new, labels) > 0.85


def test_labels_may_be_words():
    X, y = rows()
    words = np.where(y, "yes", "no")
    assert (Leaves(3).fit_transform(X, words) != Leaves(3).fit_transform(X, y)).nnz == 0


@pytest.mark.parametrize("wrong", [{"n_trees": 0}, {"max_leaves": 1}, {"min_samples_leaf": 0}])
def test_numbers_are_checked(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Leaves(**wrong).fit(*rows())
