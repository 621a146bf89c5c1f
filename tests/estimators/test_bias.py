"""Measures that cut at score 0: a bias is trained with the weights, and the measure may tune the cut."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import smoothperf
from problems import TunedError, gaussians
from smoothperf import (
    BalancedErrorRate,
    ErrorRate,
    MeasureClassifier,
    MeasureClassifierCV,
    ZeroModelWarning,
    regularization_path,
)

X, Y = gaussians(40, 90, 4, shift=1.0, seed=3)
X = X + 2.0  # so that a bias is needed


def objective(clf, X, y, measure, weights=None):
    """J at a fitted model without a tuned cut: the bias is part of w."""
    bias = clf.intercept_[0] / clf.intercept_scaling if clf.fit_intercept else 0.0
    scores = X @ clf.coef_[0] + clf.intercept_[0]
    squared_norm = clf.coef_[0] @ clf.coef_[0] + bias**2
    return clf.alpha / 2.0 * squared_norm + measure.bind(y, weights).exact_value(scores)


@pytest.mark.parametrize("measure", [ErrorRate(), ErrorRate(5.0, 1.0), BalancedErrorRate()], ids=str)
@pytest.mark.parametrize("solver", ["lbfgs", "nesterov", "bmrm"])
def test_objective_counts_the_bias(measure, solver):
    clf = MeasureClassifier(measure, alpha=1e-2, solver=solver, intercept_scaling=3.0).fit(X, Y)
    assert clf.coef_.shape == (1, 4)
    assert clf.intercept_[0] != 0.0
    assert clf.result_.coef.shape == (5,)
    assert clf.intercept_[0] == pytest.approx(3.0 * clf.result_.coef[-1])
    assert clf.objective_ == pytest.approx(objective(clf, X, Y, measure), abs=1e-12)
    assert clf.gap_ <= 1e-3
    scores = clf.decision_function(X)
    assert clf.score(X, Y) == measure.score(Y, scores)
    np.testing.assert_array_equal(clf.predict(X), np.where(scores > 0, 1, -1))


@pytest.mark.parametrize("scaling", [1.0, 10.0])
def test_the_optimum_is_that_of_a_support_vector_machine_with_an_intercept(scaling):
    alpha = 1e-2
    ours = MeasureClassifier("error_rate", alpha=alpha, tol=1e-10, intercept_scaling=scaling).fit(X, Y)
    theirs = LinearSVC(
        loss="hinge",
        C=4.0 / (alpha * Y.size),
        intercept_scaling=scaling,
        tol=1e-10,
        max_iter=1_000_000,
        random_state=0,
    ).fit(X, Y)
    # A point that is 1e-10 above the minimum is within sqrt(2e-10 / alpha) of it.
    np.testing.assert_allclose(2.0 * ours.coef_, theirs.coef_, atol=5e-3)
    np.testing.assert_allclose(2.0 * ours.intercept_, theirs.intercept_, atol=5e-3)
    margins = Y * theirs.decision_function(X)
    squared_norm = theirs.coef_[0] @ theirs.coef_[0] + (theirs.intercept_[0] / scaling) ** 2
    value = alpha / 8.0 * squared_norm + np.maximum(0.0, 1.0 - margins).mean()
    assert ours.lower_bound_ <= value
    assert ours.objective_ == pytest.approx(value, abs=1e-6)


def test_a_bias_is_a_constant_feature():
    """The same model from a column of X, however X is stored; and the column makes no copy of X necessary."""
    wide = np.column_stack([X, np.full(Y.size, 2.5)])
    expected = MeasureClassifier("balanced_error_rate", alpha=1e-2, tol=1e-9, fit_intercept=False).fit(wide, Y)
    assert expected.intercept_[0] == 0.0
    for matrix in (X, np.asfortranarray(X), X.astype(np.float32), sp.csr_matrix(X), sp.csc_matrix(X)):
        clf = MeasureClassifier("balanced_error_rate", alpha=1e-2, tol=1e-9, intercept_scaling=2.5).fit(matrix, Y)
        # Two points that are 1e-9 above a minimum are within 2 sqrt(2e-9 / alpha) of each other.
        np.testing.assert_allclose(clf.coef_[0], expected.coef_[0, :4], atol=2e-3)
        assert clf.intercept_[0] == pytest.approx(2.5 * expected.coef_[0, 4], abs=5e-3)
        assert clf.lower_bound_ <= expected.objective_ + 1e-6


def test_more_features_than_examples():
    """Vectors of such a run are combinations of rows, of which the constant feature is part."""
    rng = np.random.default_rng(0)
    few = rng.normal(size=(12, 200)) + 0.3
    y = np.repeat([0, 1], 6)
    clf = MeasureClassifier("error_rate", alpha=1e-2, tol=1e-6).fit(few, y)
    assert clf.gap_ <= 1e-6
    assert clf.objective_ == pytest.approx(objective(clf, few, y, ErrorRate()), abs=1e-12)
    wide = np.column_stack([few, np.ones(12)])
    other = MeasureClassifier("error_rate", alpha=1e-2, tol=1e-6, fit_intercept=False).fit(wide, y)
    assert clf.objective_ == pytest.approx(other.objective_, abs=1e-6)


def test_without_a_bias():
    clf = MeasureClassifier("error_rate", alpha=1e-2, fit_intercept=False).fit(X, Y)
    assert clf.intercept_[0] == 0.0
    assert clf.result_.coef.shape == (4,)
    assert clf.objective_ == pytest.approx(objective(clf, X, Y, ErrorRate()), abs=1e-12)


def test_measures_that_compare_scores_train_no_bias():
    plain, scaled = (MeasureClassifier("prbep", alpha=1e-2, intercept_scaling=s).fit(X, Y) for s in (1.0, 50.0))
    assert plain.result_.coef.shape == (4,)
    np.testing.assert_array_equal(plain.coef_, scaled.coef_)
    np.testing.assert_array_equal(plain.intercept_, scaled.intercept_)


def test_a_measure_may_tune_the_cut_of_the_training_scores():
    tuned = MeasureClassifier(TunedError(), alpha=1e-2).fit(X, Y)
    plain = MeasureClassifier(ErrorRate(), alpha=1e-2).fit(X, Y)
    np.testing.assert_array_equal(tuned.coef_, plain.coef_)
    scores = plain.decision_function(X)
    assert tuned.intercept_[0] == pytest.approx(plain.intercept_[0] - TunedError().threshold(Y, scores))
    np.testing.assert_array_equal(tuned.predict(X) == 1, scores > TunedError().threshold(Y, scores))
    assert tuned.objective_ == plain.objective_
    without = MeasureClassifier(TunedError(), alpha=1e-2, fit_intercept=False).fit(X, Y)
    assert without.intercept_[0] == 0.0


def test_costs_and_class_weights_train_the_same_model():
    costs = MeasureClassifier("error_rate@10:1", alpha=1e-2, tol=1e-6).fit(X, Y)
    weights = MeasureClassifier("error_rate", alpha=1e-2, tol=1e-6, class_weight={1: 10.0, -1: 1.0}).fit(X, Y)
    assert costs.objective_ == pytest.approx(weights.objective_, abs=1e-6)
    np.testing.assert_allclose(costs.coef_, weights.coef_, atol=1e-3)
    assert costs.score(X, Y) != weights.score(X, Y)


@pytest.mark.parametrize("before", ["error_rate", "prbep"])
@pytest.mark.parametrize("after", ["balanced_error_rate", "roc_area"])
def test_warm_start_carries_the_bias(before, after):
    clf = MeasureClassifier(before, alpha=1e-2, warm_start=True, tol=1e-5).fit(X, Y)
    first = clf.result_.coef
    clf.set_params(measure=after).fit(X, Y)
    cold = MeasureClassifier(after, alpha=1e-2, tol=1e-5).fit(X, Y)
    assert clf.result_.coef.shape == cold.result_.coef.shape
    assert clf.objective_ == pytest.approx(cold.objective_, abs=1e-5)
    last = clf.result_.coef
    with pytest.warns(ConvergenceWarning):
        clf.set_params(max_iter=0).fit(X, Y)  # which starts, and ends, where it was
    np.testing.assert_array_equal(clf.result_.coef, last)
    assert first.shape == ((5,) if before == "error_rate" else (4,))


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, Y.size)], ids=["unit", "weighted"])
def test_path(weights):
    alphas = [1.0, 0.1, 1e-2, 1e-3]
    half = slice(None, None, 2)
    path = regularization_path(
        X[half],
        Y[half],
        measure=TunedError(),
        alphas=alphas,
        sample_weight=None if weights is None else weights[half],
        validation=(X[1::2], Y[1::2]),
        intercept_scaling=2.0,
        tol=1e-6,
    )
    assert path.coefs.shape == (4, 4)
    assert (path.gaps <= 1e-6).all()
    for i, alpha in enumerate(alphas):
        clf = MeasureClassifier(TunedError(), alpha=alpha, intercept_scaling=2.0, tol=1e-6)
        clf.fit(X[half], Y[half], sample_weight=None if weights is None else weights[half])
        assert path.objectives[i] == pytest.approx(clf.objective_, abs=1e-6)
        scores = X @ path.coefs[i] + path.intercepts[i]
        held_out = TunedError().score(Y[1::2], scores[1::2])
        assert path.validation_scores[i] == held_out
        training = TunedError().score(Y[half], scores[half], None if weights is None else weights[half])
        assert path.train_scores[i] == pytest.approx(training)
    no_bias = regularization_path(X, Y, measure="error_rate", alphas=alphas, fit_intercept=False)
    assert not no_bias.intercepts.any()


def test_cross_validation():
    settings = {"intercept_scaling": 2.0, "tol": 1e-5}
    clf = MeasureClassifierCV(TunedError(), bound="convex", alphas=[1e-2], cv=3, **settings).fit(X, Y)
    assert clf.coef_.shape == (1, 4)
    refit = MeasureClassifier(TunedError(), alpha=clf.alpha_, intercept_scaling=2.0, tol=1e-5).fit(X, Y)
    assert clf.objective_ == pytest.approx(refit.objective_, abs=1e-5)


def test_a_constant_that_is_as_good_is_said_to_be():
    """With few positives and features that tell nothing, a bias alone is the optimum."""
    rng = np.random.default_rng(1)
    noise, y = rng.normal(size=(200, 2)), (np.arange(200) % 20 == 0).astype(int)
    with pytest.warns(ZeroModelWarning, match=r"the optimum is w = 0 with a bias within tol"):
        clf = MeasureClassifier("error_rate", alpha=1e-2, tol=1e-2).fit(noise, y)
    assert clf.intercept_[0] < 0.0
    assert clf.score(noise, y) == 0.95
    MeasureClassifier("error_rate", alpha=1e-2).fit(X, Y)  # says nothing


def test_a_model_with_a_bias_is_saved_whole(tmp_path):
    for measure in ("error_rate", ErrorRate(3.0), BalancedErrorRate(), "precision@10", smoothperf.RecallAtK(0.25)):
        clf = MeasureClassifier(measure, alpha=1e-2, intercept_scaling=4.0).fit(X, Y)
        clf.save(tmp_path / "model")
        again = smoothperf.load(tmp_path / "model")
        assert again.measure == measure
        assert again.intercept_scaling == 4.0
        np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))
        np.testing.assert_array_equal(again.result_.coef, clf.result_.coef)
        with pytest.warns(ConvergenceWarning):
            again.set_params(warm_start=True, max_iter=0).fit(X, Y)
        np.testing.assert_array_equal(again.result_.coef, clf.result_.coef)
