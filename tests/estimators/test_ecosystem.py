"""MeasureClassifier inside what others have built: frames, meta-estimators, processes, threads."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, make_multilabel_classification
from sklearn.metrics import precision_score, recall_score
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from smoothperf import MeasureClassifier, MeasureClassifierCV, scorers

NAMES = [f"feature {i}" for i in range(30)]


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


@pytest.fixture(scope="module")
def plain(cancer):
    return MeasureClassifier(alpha=1e-2, tol=1e-6).fit(*cancer)


def frames(X):
    return {
        "pandas": pd.DataFrame(X, columns=NAMES),
        "polars": pl.DataFrame(X, schema=NAMES),
        "pandas, sparse": pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X), columns=NAMES),
    }


@pytest.mark.parametrize("kind", ["pandas", "polars", "pandas, sparse"])
def test_frames_bring_feature_names(cancer, plain, kind):
    X, y = cancer
    frame = frames(X)[kind]
    clf = MeasureClassifier(alpha=1e-2, tol=1e-6).fit(frame, y)
    assert list(clf.feature_names_in_) == NAMES
    np.testing.assert_allclose(clf.coef_, plain.coef_, atol=1e-3)
    np.testing.assert_array_equal(clf.predict(frame), plain.predict(X))
    with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
        clf.predict(frame[NAMES[::-1]])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        clf.predict(X)


LABELS = {
    "numpy bool": lambda y: y == 1,
    "list of str": lambda y: ["yes" if label else "no" for label in y],
    "bytes of text": lambda y: np.where(y == 1, "z", "a").astype(object),
    "negative": lambda y: np.where(y == 1, 1, -1),
    "floats": lambda y: np.where(y == 1, 7.0, 3.0),
    "pandas str": lambda y: pd.Series(np.where(y == 1, "yes", "no")),
    "pandas category": lambda y: pd.Series(np.where(y == 1, "yes", "no"), dtype="category"),
    "pandas bool": lambda y: pd.Series(y == 1),
    "pandas nullable": lambda y: pd.Series(y, dtype="Int64"),
    "polars str": lambda y: pl.Series(np.where(y == 1, "yes", "no").tolist()),
    "polars bool": lambda y: pl.Series(y == 1),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_kind(cancer, kind):
    X, y = cancer
    expected = MeasureClassifier(alpha=1e-2).fit(X, y)
    labels = LABELS[kind](y)
    clf = MeasureClassifier(alpha=1e-2).fit(X, labels)
    np.testing.assert_array_equal(clf.coef_, expected.coef_)
    assert clf.score(X, labels) == expected.score(X, y)
    predicted = clf.predict(X)
    assert predicted.dtype == clf.classes_.dtype
    np.testing.assert_array_equal(predicted == clf.classes_[1], expected.predict(X) == 1)
    clf.set_operating_point(X, labels, k=10)
    assert (clf.predict(X) == clf.classes_[1]).sum() == 10


def test_scoring_with_labels_that_fit_has_not_seen(cancer, plain):
    X, y = cancer
    with pytest.raises(ValueError, match=r"y must hold the labels of fit, .*0.* and .*1.*, got .*2.* at position 3"):
        plain.score(X, np.where(np.arange(y.size) == 3, 2, y))
    with pytest.raises(ValueError, match=r"labels of fit.* got .*'yes'.* at position"):
        plain.score(X, np.where(y == 1, "yes", "no")[::-1])


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_one_against_the_rest(n_jobs):
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = OneVsRestClassifier(MeasureClassifier(alpha=1e-3), n_jobs=n_jobs).fit(X, names)
    assert model.predict(X).shape == names.shape
    assert (model.predict(X) == names).mean() > 0.75  # linear one-against-rest cannot separate the middle class
    for k, part in enumerate(model.estimators_):
        alone = MeasureClassifier(alpha=1e-3).fit(X, y == k)
        np.testing.assert_array_equal(part.coef_, alone.coef_)
        np.testing.assert_allclose(model.decision_function(X)[:, k], alone.decision_function(X))


def test_many_labels_at_once():
    X, Y = make_multilabel_classification(200, 10, n_classes=4, random_state=0)
    X = scale(X)
    model = OneVsRestClassifier(MeasureClassifier("prbep", alpha=1e-3)).fit(X, Y)
    predicted = model.predict(X)
    assert predicted.shape == Y.shape
    np.testing.assert_array_equal(predicted.sum(axis=0), Y.sum(axis=0))  # the break-even point of every label
    for k in range(4):
        assert precision_score(Y[:, k], predicted[:, k]) == recall_score(Y[:, k], predicted[:, k]) > 0.6


def test_grid_search_in_a_pipeline_with_scorers(cancer):
    X, y = cancer
    search = GridSearchCV(
        make_pipeline(StandardScaler(), MeasureClassifier()),
        {"measureclassifier__alpha": [1e-1, 1e-3], "measureclassifier__measure": ["roc_area", "prbep"]},
        scoring=scorers.prbep,
        cv=3,
        n_jobs=2,
    ).fit(X, np.where(y == 1, "yes", "no"))
    assert 0.9 < search.best_score_ < 1.0
    best = cross_val_score(search.best_estimator_, X, y, scoring=scorers.prbep, cv=3)
    assert search.best_score_ == pytest.approx(best.mean())


def test_tuned_threshold(cancer):
    X, y = cancer
    tuned = TunedThresholdClassifierCV(
        MeasureClassifier(alpha=1e-3), scoring="f1", response_method="decision_function", cv=3
    ).fit(X, y)
    assert tuned.best_score_ > 0.95
    positive = tuned.estimator_.decision_function(X) >= tuned.best_threshold_
    np.testing.assert_array_equal(tuned.predict(X), positive.astype(int))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(cancer, method):
    X, y = cancer
    calibrated = CalibratedClassifierCV(MeasureClassifier(alpha=1e-3), method=method, cv=3).fit(X[::2], y[::2])
    probabilities = calibrated.predict_proba(X[1::2])[:, 1]
    assert probabilities.mean() == pytest.approx(y[1::2].mean(), abs=0.05)
    assert ((probabilities > 0.5) == y[1::2]).mean() > 0.93


@pytest.mark.parametrize("model", [MeasureClassifier("prbep", alpha=1e-2), MeasureClassifierCV(n_alphas=4, cv=3)])
def test_clone_and_pickle(cancer, model):
    X, y = cancer
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    fitted = copy.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    assert not hasattr(clone(fitted), "coef_")


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(cancer, backend):
    X, y = cancer
    alphas = [1e-1, 1e-2, 1e-3, 1e-2]
    fitted = Parallel(n_jobs=2, backend=backend)(delayed(MeasureClassifier("prbep", alpha=a).fit)(X, y) for a in alphas)
    for alpha, model in zip(alphas, fitted, strict=True):
        np.testing.assert_array_equal(model.coef_, MeasureClassifier("prbep", alpha=alpha).fit(X, y).coef_)
