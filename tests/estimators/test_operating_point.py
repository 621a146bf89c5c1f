"""Anybody's classifier at an operating point: conventions, and that new rows keep what was promised."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from smoothperf import MeasureClassifier, OperatingPointClassifier, threshold_for
from smoothperf.cuts.targets import TargetError, expected_rates, threshold_for_target


@parametrize_with_checks(
    [
        OperatingPointClassifier(LogisticRegression(), rate=0.5, cv=3),
        OperatingPointClassifier(LinearSVC(), recall=0.9, confidence=None, cv=3),
    ],
    expected_failed_checks=lambda estimator: (
        {"check_classifiers_train": "probabilities know nothing of the threshold"}
        if hasattr(estimator.estimator, "predict_proba")
        else {}
    ),
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def problem(n=600, seed=0):
    return make_classification(n, 8, n_informative=4, weights=[0.7], flip_y=0.1, random_state=seed)


@pytest.mark.parametrize("target", [{"precision": 0.7}, {"recall": 0.6}, {"fpr": 0.2}, {"rate": 0.1}, {"k": 50}])
@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC()])
def test_the_cut_is_that_of_rows_held_out(estimator, target):
    X, y = problem()
    model = OperatingPointClassifier(estimator, **target, cv=4).fit(X, y)
    method = "predict_proba" if hasattr(estimator, "predict_proba") else "decision_function"
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    held_out = cross_val_predict(estimator, X, y, cv=folds, method=method)
    held_out = held_out[:, 1] if held_out.ndim == 2 else held_out
    assert model.threshold_ == threshold_for_target(y == 1, held_out, **target, confidence=0.9)
    assert model.expected_ == expected_rates(y == 1, held_out > model.threshold_)
    np.testing.assert_array_equal(model.estimator_.coef_, estimator.fit(X, y).coef_)
    scores = getattr(model.estimator_, method)(X)
    scores = scores[:, 1] if scores.ndim == 2 else scores
    np.testing.assert_array_equal(model.predict(X), (scores > model.threshold_).astype(int))
    np.testing.assert_array_equal(model.decision_function(X), scores - model.threshold_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_the_other_label_may_be_the_positive_one():
    X, y = problem()
    names = np.array(["yes", "no"])[y]
    model = OperatingPointClassifier(LinearSVC(), recall=0.8, pos_label="no").fit(X, names)
    mirrored = OperatingPointClassifier(LinearSVC(), recall=0.8).fit(X, y)
    assert model.threshold_ == pytest.approx(mirrored.threshold_)
    assert set(model.predict(X)) == {"yes", "no"}
    np.testing.assert_array_equal(model.predict(X) == "yes", model.decision_function(X) > 0.0)
    np.testing.assert_array_equal(model.predict(X) == "no", mirrored.predict(X) == 1)


def test_a_classifier_that_is_fitted_already():
    X, y = problem()
    fitted = RandomForestClassifier(random_state=0).fit(X[:300], y[:300])
    model = OperatingPointClassifier(fitted, fpr=0.2, cv="prefit").fit(X[300:], y[300:])
    assert model.estimator_ is fitted
    assert model.threshold_ == threshold_for(y[300:], fitted.predict_proba(X[300:])[:, 1], fpr=0.2)


def test_weights_count_in_training_and_in_rates():
    X, y = problem()
    weights = np.random.default_rng(0).integers(0, 3, y.size).astype(float)
    again = np.repeat(np.arange(y.size), weights.astype(int))
    splits = list(StratifiedKFold(3).split(X, y))
    weighted = OperatingPointClassifier(LogisticRegression(), precision=0.6, confidence=None, cv=splits)
    weighted.fit(X, y, sample_weight=weights)
    twin = [tuple(np.flatnonzero(np.isin(again, part)) for part in split) for split in splits]
    repeated = OperatingPointClassifier(LogisticRegression(), precision=0.6, confidence=None, cv=twin)
    repeated.fit(X[again], y[again])
    assert weighted.threshold_ == pytest.approx(repeated.threshold_, abs=1e-3)
    with config_context(enable_metadata_routing=True):
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        routed = OperatingPointClassifier(inner, precision=0.6, confidence=None, cv=splits)
        routed.fit(X, y, sample_weight=weights)
    assert routed.threshold_ == weighted.threshold_


def test_it_works_inside_searches():
    X, y = problem()
    search = GridSearchCV(OperatingPointClassifier(LogisticRegression(), rate=0.3), {"estimator__C": [0.1, 1.0]}, cv=3)
    assert search.fit(X, y).best_estimator_.predict(X).mean() == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "give exactly one of precision, recall, fpr, k, rate; got none"),
        ({"recall": 0.5, "fpr": 0.1}, r"got recall=0\.5, fpr=0\.1"),
        ({"recall": 50}, "recall must lie above 0 and not above 1, got 50"),
        ({"recall": 0.5, "confidence": 2.0}, r"confidence must lie between 0 and 1, got 2\.0"),
        ({"recall": 0.5, "cv": "prefitted"}, r'cv must be .* or "prefit", got .prefitted'),
        ({"recall": 0.5, "pos_label": 2}, r"pos_label must be one of the labels \[0, 1\], got 2"),
    ],
)
def test_bad_arguments(settings, message):
    with pytest.raises(ValueError, match=message):
        OperatingPointClassifier(LogisticRegression(), **settings).fit(*problem(60))


def test_what_cannot_be_promised_is_an_error():
    with pytest.raises(TargetError, match="what can be is"):
        OperatingPointClassifier(LogisticRegression(), precision=0.99).fit(*problem(100))


def lightgbm():
    """A classifier of LightGBM, where that is installed."""
    library = pytest.importorskip("lightgbm")
    return library.LGBMClassifier(n_estimators=20, num_leaves=7, n_jobs=1, verbose=-1)


MODELS = {
    "boosting": GradientBoostingClassifier(n_estimators=10, random_state=0),
    "forest": RandomForestClassifier(10, min_samples_leaf=5, random_state=0),
    "measure": MeasureClassifier("roc_area", alpha=1e-2),
    "lightgbm": lightgbm,
}


@pytest.mark.parametrize("target", [{"precision": 0.6}, {"recall": 0.6}, {"fpr": 0.2}])
@pytest.mark.parametrize("name", MODELS)
def test_new_rows_keep_what_was_promised(name, target):
    """Of 20 draws with a confidence of .9 at most 5 may miss, which a true chance of .1 does in 1 of 90 series.

    The model of all rows is judged, whose scores are those of the folds only nearly.
    """
    ((rate, wanted),) = target.items()
    estimator = MODELS[name]() if name == "lightgbm" else MODELS[name]
    X, y = problem(20_000, seed=1)
    new = slice(10_000, None)
    misses = 0
    for draw in range(20):
        rows = np.random.default_rng(draw).choice(10_000, 700, replace=False)
        model = OperatingPointClassifier(estimator, **target, cv=3).fit(X[rows], y[rows])
        predicted = model.predict(X[new]) == 1
        positive = y[new] == 1
        true = {
            "precision": positive[predicted].mean(),
            "recall": predicted[positive].mean(),
            "fpr": predicted[~positive].mean(),
        }[rate]
        misses += true > wanted if rate == "fpr" else true < wanted
    assert misses <= 5
