"""Choices of models of few features: at most so many, and the sparsest within a standard error of the best."""

import numpy as np
import pytest
from sklearn.base import clone

from smoothperf import MeasureClassifier, MeasureClassifierCV

pytestmark = pytest.mark.filterwarnings("ignore:At alpha")  # models of one feature are nearly none

LOG_LOSS = [("log_loss", "convex")]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 12))
Y = X[:, 0] + 0.7 * X[:, 1] + 0.5 * X[:, 2] + 0.25 * X[:, 3] + RNG.normal(size=700) > 0.5


def chosen(**settings):
    return MeasureClassifierCV("roc_area", bound=LOG_LOSS, l1_ratio=1.0, cv=4, **settings)


@pytest.mark.parametrize("most", [1, 2, 3, 12])
def test_there_are_no_more_features_than_there_may_be(most):
    clf = chosen(max_features=most).fit(X, Y)
    assert 1 <= clf.n_features_in_model_ <= most
    assert clf.gap_ <= 1e-4
    again = MeasureClassifier("log_loss", alpha=clf.alpha_, l1_ratio=1.0, tol=1e-4).fit(X, Y)
    assert again.objective_ == pytest.approx(clf.objective_, abs=2e-4)


def test_more_features_that_are_allowed_make_no_worse_model():
    scores = [chosen(max_features=most).fit(X, Y).best_score_ for most in (1, 3, 12)]
    assert scores[0] <= scores[1] + 1e-3
    assert scores[1] <= scores[2] + 1e-3  # so close ones are told apart by a finer score


def test_the_sparsest_is_within_a_standard_error_of_the_best():
    clf = chosen(sparsest=True).fit(X, Y)
    results = clf.cv_results_
    best = int(np.nanargmax(results["mean_test_score"]))
    splits = np.array([results[f"split{k}_test_score"][best] for k in range(4)])
    least = splits.mean() - splits.std(ddof=1) / 2.0
    assert clf.best_index_ < best
    assert clf.best_score_ >= least
    # One of fewer features would come earlier, as models lose features while alpha rises.
    before = results["mean_test_score"][: clf.best_index_]
    fewer = [
        MeasureClassifier("log_loss", alpha=each["alpha"], l1_ratio=1.0, tol=1e-4).fit(X, Y).n_features_in_model_
        for each in results["params"][: clf.best_index_]
    ]
    assert all(
        score < least for score, count in zip(before, fewer, strict=True) if 0 < count < clf.n_features_in_model_
    )


def test_both_together():
    both = chosen(max_features=3, sparsest=True).fit(X, Y)
    assert both.n_features_in_model_ <= chosen(max_features=3).fit(X, Y).n_features_in_model_


def test_alphas_may_be_given():
    clf = chosen(max_features=2, alphas=[0.15, 0.1, 1e-4]).fit(X, Y)
    assert clf.n_features_in_model_ <= 2
    assert clf.alpha_ in (0.15, 0.1)


def test_a_transformer_may_make_the_features():
    from sklearn.preprocessing import StandardScaler

    clf = chosen(max_features=2, features=StandardScaler()).fit(100.0 * X, Y)
    assert clf.n_features_in_model_ <= 2
    assert clone(clf).get_params()["max_features"] == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_features": 0}, "max_features must be a whole number of at least 1, got 0"),
        ({"max_features": 3, "l1_ratio": 0.0}, "max_features=3 needs an l1_ratio above 0, such as 1.0"),
        ({"sparsest": True, "l1_ratio": [0.0]}, "sparsest=True needs an l1_ratio above 0"),
        ({"max_features": 3, "alphas": [1e-6]}, "no model has only max_features=3 features; give more, larger alphas"),
    ],
)
def test_what_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message):
        chosen().set_params(**settings).fit(X, Y)
