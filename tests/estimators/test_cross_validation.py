"""MeasureClassifierCV: alpha by the measure on held-out data, then a fit to all of it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, PredefinedSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from problems import gaussians
from smoothperf import LBFGS, PRBEP, MeasureClassifier, MeasureClassifierCV, ROCArea, ZeroModelWarning

X, Y = gaussians(60, 140, 10, shift=0.4, seed=3)
ALPHAS = [1e-3, 1.0, 1e-1, 1e-2]


@pytest.mark.parametrize("measure", [PRBEP(), ROCArea()], ids=str)
def test_scores_are_those_of_models_fitted_without_the_fold(measure):
    clf = MeasureClassifierCV(measure, alphas=ALPHAS, cv=4, tol=1e-7, max_iter=5000).fit(X, Y)
    np.testing.assert_array_equal(clf.alphas_, [1.0, 1e-1, 1e-2, 1e-3])
    assert clf.cv_scores_.shape == (4, 4)
    for scores, (train, test) in zip(clf.cv_scores_, StratifiedKFold(4).split(X, Y), strict=True):
        for score, alpha in zip(scores, clf.alphas_, strict=True):
            alone = MeasureClassifier(measure, alpha=alpha, tol=1e-7, max_iter=5000).fit(X[train], Y[train])
            assert score == pytest.approx(alone.score(X[test], Y[test]), abs=0.004)
    best = clf.cv_scores_.mean(axis=0)
    assert clf.alpha_ == clf.alphas_[best.argmax()]
    search = GridSearchCV(MeasureClassifier(measure, tol=1e-7, max_iter=5000), {"alpha": ALPHAS}, cv=4).fit(X, Y)
    assert search.best_score_ == pytest.approx(best.max(), abs=0.004)


def test_the_model_is_that_of_the_best_alpha():
    clf = MeasureClassifierCV("prbep", n_alphas=6, cv=3, tol=1e-6).fit(X, Y)
    alone = MeasureClassifier("prbep", alpha=clf.alpha_, tol=1e-6).fit(X, Y)
    assert clf.gap_ == clf.objective_ - clf.lower_bound_ <= 1e-6
    assert clf.lower_bound_ <= alone.objective_
    assert alone.lower_bound_ <= clf.objective_
    np.testing.assert_allclose(clf.coef_, alone.coef_, atol=2 * np.sqrt(2e-6 / clf.alpha_))
    assert (clf.predict(X) == 1).sum() == 60
    assert clf.score(X, Y) == PRBEP().score(Y, clf.decision_function(X))
    assert clf.result_.planes is None
    assert clf.result_.scores is None
    assert len(clf.alphas_) == 6
    np.testing.assert_allclose(clf.alphas_[-1] / clf.alphas_[0], 1e-6)


def test_the_model_tells_as_much_as_those_of_the_folds():
    """At the largest alpha w = 0 is as good for the objective; the scores of the folds are not those of w = 0."""
    clf = MeasureClassifierCV(alphas=[1e6], cv=3).fit(X, Y)
    assert clf.cv_scores_.min() > 0.6
    assert clf.score(X, Y) > 0.6


def test_the_largest_of_equally_good_alphas():
    """One informative feature: its sign is found at every alpha, so all scores are equal."""
    clf = MeasureClassifierCV(alphas=ALPHAS, cv=3).fit(X[:, :1] + (Y[:, None] > 0), Y)
    assert (clf.cv_scores_ == clf.cv_scores_[:, :1]).all()
    assert clf.alpha_ == 1.0


TRAIN = np.arange(0, 200, 2)
VALIDATION = np.arange(1, 200, 2)
SPLITS = {
    "indices": [(TRAIN, VALIDATION)],
    "splitter": PredefinedSplit(np.where(np.arange(200) % 2 == 1, 0, -1)),
}


@pytest.mark.parametrize("kind", SPLITS)
def test_a_validation_set_of_ones_own(kind):
    clf = MeasureClassifierCV(alphas=ALPHAS, cv=SPLITS[kind]).fit(X, Y)
    assert clf.cv_scores_.shape == (1, 4)
    alone = MeasureClassifier(alpha=1.0).fit(X[TRAIN], Y[TRAIN])
    assert clf.cv_scores_[0, 0] == pytest.approx(alone.score(X[VALIDATION], Y[VALIDATION]), abs=0.005)


def test_a_share_is_one_stratified_validation_set():
    clf = MeasureClassifierCV(alphas=ALPHAS, cv=0.25).fit(X, Y)
    same = MeasureClassifierCV(alphas=ALPHAS, cv=StratifiedShuffleSplit(1, test_size=0.25, random_state=0)).fit(X, Y)
    assert clf.cv_scores_.shape == (1, 4)
    np.testing.assert_array_equal(clf.cv_scores_, same.cv_scores_)


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_matrix, np.asfortranarray])
def test_every_format_and_threads(make):
    expected = MeasureClassifierCV("prbep", n_alphas=5, cv=3).fit(X, Y)
    clf = MeasureClassifierCV("prbep", n_alphas=5, cv=3, n_jobs=2).fit(make(X), Y)
    np.testing.assert_allclose(clf.cv_scores_, expected.cv_scores_, atol=0.06)
    np.testing.assert_allclose(clf.alphas_, expected.alphas_)
    again = MeasureClassifierCV("prbep", n_alphas=5, cv=3, n_jobs=1).fit(make(X), Y)
    np.testing.assert_array_equal(clf.cv_scores_, again.cv_scores_)


def test_weights_in_training_and_in_scores():
    weights = np.random.default_rng(0).uniform(0.1, 3.0, Y.size)
    clf = MeasureClassifierCV(alphas=[1e-2], cv=[(TRAIN, VALIDATION)], tol=1e-6).fit(X, Y, sample_weight=weights)
    alone = MeasureClassifier(alpha=1e-2, tol=1e-6).fit(X[TRAIN], Y[TRAIN], sample_weight=weights[TRAIN])
    expected = alone.score(X[VALIDATION], Y[VALIDATION], weights[VALIDATION])
    assert clf.cv_scores_[0, 0] == pytest.approx(expected, abs=1e-3)
    assert clf.cv_scores_[0, 0] != pytest.approx(alone.score(X[VALIDATION], Y[VALIDATION]), abs=2e-3)
    # Class weights change the training, not the score.
    heavy = MeasureClassifierCV("prbep", alphas=[1e-2], cv=3, class_weight={-1: 1.0, 1: 1.0}).fit(X, Y)
    plain = MeasureClassifierCV("prbep", alphas=[1e-2], cv=3).fit(X, Y)
    np.testing.assert_allclose(heavy.cv_scores_, plain.cv_scores_, atol=0.06)
    light = MeasureClassifierCV("prbep", alphas=[1e-2], cv=3, class_weight={-1: 1.0, 1: 2.0}).fit(X, Y)
    assert not np.array_equal(light.coef_, plain.coef_)


def test_settings_reach_the_solver_the_callback_and_standard_error(capsys):
    seen = []
    clf = MeasureClassifierCV(alphas=ALPHAS, cv=3, solver=LBFGS(tol=1e-5), callback=seen.append, verbose=2)
    clf.fit(X, Y)
    assert clf.gap_ <= 1e-5
    assert len(seen) == clf.n_iter_ + 1  # of the fit to all data only
    assert len(capsys.readouterr().err.splitlines()) == len(seen) + 1
    without = MeasureClassifierCV(alphas=ALPHAS, cv=3, fit_intercept=False).fit(X, Y)
    assert without.intercept_[0] == 0.0


def test_in_a_pipeline_with_words_and_a_threshold_of_ones_own():
    words = np.where(Y > 0, "yes", "no")
    model = make_pipeline(StandardScaler(), MeasureClassifierCV(n_alphas=4, cv=3)).fit(X, words)
    assert set(model.predict(X)) == {"no", "yes"}
    model[-1].set_operating_point(model[:-1].transform(X), words, k=12)
    assert (model.predict(X) == "yes").sum() == 12


def test_noise_is_said_to_be_noise_once():
    """Where every alpha is as good as w = 0 the largest is chosen, and one warning says what that means."""
    with pytest.warns(ZeroModelWarning) as caught:
        MeasureClassifierCV("prbep", n_alphas=3, cv=3).fit(np.ones((30, 2)), np.repeat([0, 1], 15))
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cv": 1}, "cv must be a whole number of at least 2, got 1"),
        ({"cv": 1.5}, "cv must be a number of folds, a share between 0 and 1 or a splitter, got 1.5"),
        ({"cv": [(np.flatnonzero(Y > 0), TRAIN)]}, "cv leaves a training part with one class only"),
        ({"cv": [(TRAIN, np.flatnonzero(Y > 0))]}, "cv leaves a held-out part with one class only"),
        ({"alphas": [-1.0]}, "alphas must be above 0, got -1.0 at position 0"),
        ({"n_alphas": 0}, "n_alphas must be a whole number of at least 1, got 0"),
        ({"n_threads": 0}, "n_threads must be a whole number of at least 1, got 0"),
        ({"n_threads": "two"}, "n_threads must be a whole number of at least 1, got 'two'"),
        ({"measure": "brier"}, "measure must be one of"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        MeasureClassifierCV(**parameters).fit(X, Y)


def test_few_examples_of_a_class():
    y = np.where(np.arange(200) < 3, 1, -1)
    with pytest.warns(UserWarning, match="cv=5, but one class has 3 examples only, so that 3 folds are used"):
        clf = MeasureClassifierCV(alphas=[1e-2]).fit(X, y)
    assert clf.cv_scores_.shape == (3, 1)
    with pytest.raises(ValueError, match=r"cv=5 needs at least 2 examples of each class, but one class has 1"):
        MeasureClassifierCV().fit(X, np.where(np.arange(200) < 1, 1, -1))


def test_scores_that_differ_by_rounding_are_equally_good(monkeypatch):
    """Of which the largest alpha is taken, however the same numbers were added up."""
    monkeypatch.setattr(MeasureClassifierCV, "_fold", lambda self, *rest: [0.3, 0.1 + 0.2, 0.2])
    X, y = gaussians(20, 20)
    assert MeasureClassifierCV(alphas=[1.0, 0.1, 0.01], cv=2).fit(X, y).alpha_ == 1.0
