"""Classifiers for many labels as scikit-learn estimators."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.metrics import accuracy_score, f1_score, top_k_accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import parametrize_with_checks

import smoothperf
from smoothperf import MeasureClassifier, MultilabelMeasureClassifier, MultilabelMeasureClassifierCV
from smoothperf.tasks.label_sets import shared_folds


# Some of scikit-learn's checks fit labels that are noise, where the optimum is w = 0, or labels that all rows have.
@pytest.mark.filterwarnings("ignore::smoothperf.ZeroModelWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [MultilabelMeasureClassifier(), MultilabelMeasureClassifierCV(n_alphas=2, cv=2)],
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def topics():
    X, Y = make_multilabel_classification(200, n_features=10, n_classes=4, random_state=0)
    return scale(X), Y


NAMES = np.array(["alpha", "beta", "gamma", "delta"])


def named(Y):
    return [set(NAMES[np.flatnonzero(row)]) for row in Y]


def test_each_label_is_a_model_of_its_own(topics):
    X, Y = topics
    clf = MultilabelMeasureClassifier("f1", alpha=[1e-1, 1e-2, 1e-3, 1e-3]).fit(X, Y)
    for label, alpha in enumerate(clf.alpha_):
        alone = MeasureClassifier("f1", alpha).fit(X, Y[:, label])
        np.testing.assert_array_equal(clf.coef_[label], alone.coef_[0])
        np.testing.assert_array_equal(clf.predict(X)[:, label], alone.predict(X))
    assert clf.score(X, Y) == pytest.approx(f1_score(Y, clf.predict(X), average="macro"))


def test_cuts_for_the_micro_average_are_best_together(topics):
    X, Y = topics
    macro, micro = (MultilabelMeasureClassifier("f1", average, alpha=1e-2).fit(X, Y) for average in ("macro", "micro"))
    np.testing.assert_array_equal(macro.coef_, micro.coef_)
    found = f1_score(Y, micro.predict(X), average="micro")
    assert micro.score(X, Y) == pytest.approx(found)
    rng = np.random.default_rng(0)
    for _ in range(100):  # no other cuts are better
        moved = micro.decision_function(X) + 0.2 * rng.normal(size=4)
        assert f1_score(Y, moved > 0.0, average="micro") <= found + 1e-12


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array, named, lambda Y: [tuple(row) for row in named(Y)]])
def test_forms_of_labels(topics, form):
    X, Y = topics
    y = form(Y)
    dense = MultilabelMeasureClassifier(alpha=1e-2).fit(X, Y)
    clf = MultilabelMeasureClassifier(alpha=1e-2).fit(X, y)
    order = np.argsort(NAMES) if isinstance(y, list) else np.arange(4)
    predicted = clf.predict(X)
    assert sp.issparse(predicted)
    np.testing.assert_array_equal(predicted.toarray(), dense.predict(X)[:, order])
    assert clf.score(X, y) == pytest.approx(dense.score(X, Y))
    assert [set(labels) for labels in clf.predict_sets(X)] == [
        set(clf.classes_[np.flatnonzero(row)]) for row in predicted.toarray()
    ]


def test_one_label_a_row():
    X, y = load_iris(return_X_y=True)
    X, names = scale(X), np.array(["setosa", "versicolor", "virginica"])[y]
    clf = MultilabelMeasureClassifier(alpha=1e-3).fit(X, names)
    assert clf.score(X, names) == pytest.approx(f1_score(names, clf.predict(X), average="macro"))
    assert clf.score(X, names, top_k=1) == pytest.approx(accuracy_score(names, clf.predict(X)))
    assert clf.score(X, names, top_k=2) == pytest.approx(top_k_accuracy_score(y, clf.decision_function(X), k=2))
    assert clf.set_params(average="micro").score(X, names) == pytest.approx(clf.score(X, names, top_k=1))


@pytest.mark.parametrize("kind", ["single", "choice"])
def test_models_come_back(topics, tmp_path, kind):
    X, Y = topics
    model = MultilabelMeasureClassifier() if kind == "single" else MultilabelMeasureClassifierCV(bound="convex")
    clf = model.fit(X, named(Y))
    clf.save(tmp_path / "topics.model")
    for again in (pickle.loads(pickle.dumps(clf)), smoothperf.load(tmp_path / "topics.model")):
        np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))
        assert (again.predict(X) != clf.predict(X)).nnz == 0
        assert clone(again).get_params().keys() == again.get_params().keys()


def test_in_a_pipeline_and_a_search(topics):
    X, Y = topics
    search = GridSearchCV(MultilabelMeasureClassifier(), {"alpha": [1e-1, 1e-2]}, cv=2).fit(X, Y)
    assert search.best_score_ > 0.5
    pipe = make_pipeline(StandardScaler(), MultilabelMeasureClassifier(alpha=1e-2)).fit(X, Y)
    assert pipe.score(X, Y) > 0.7


def test_a_transformer_makes_the_features(topics):
    X, Y = topics
    scaled = MultilabelMeasureClassifier(features=StandardScaler(), alpha=1e-2).fit(10.0 * X, Y)
    np.testing.assert_allclose(
        scaled.decision_function(10.0 * X), MultilabelMeasureClassifier(alpha=1e-2).fit(X, Y).decision_function(X)
    )


def test_labels_of_no_row_and_of_all(topics):
    X, Y = topics
    Y = np.column_stack([Y, np.zeros(200, dtype=int), np.ones(200, dtype=int)])
    with pytest.warns(UserWarning, match=r"2 labels \(4, 5\)"):
        clf = MultilabelMeasureClassifier(alpha=1e-2).fit(X, Y)
    np.testing.assert_array_equal(clf.predict(X)[:, 4:], Y[:, 4:])


@pytest.mark.parametrize(
    ("y", "parameters", "message"),
    [
        ([[0, 2]] * 100 + [[1, 1]] * 100, {"average": "both"}, "average"),
        ([{"a"}] * 100 + [{"b"}] * 100, {"measure": "roc_area", "average": "micro"}, 'use average="macro"'),
        ([set()] * 200, {}, "no labels at all"),
        (np.ones(200), {}, "one class only"),
        (np.arange(600).reshape(200, 3) % 7, {}, "indicator matrix"),
        ([{"a"}] * 100, {}, "they must match"),
    ],
)
def test_errors(topics, y, parameters, message):
    with pytest.raises(ValueError, match=message):
        MultilabelMeasureClassifier(**parameters).fit(topics[0], y)


def test_unknown_labels_of_new_rows(topics):
    X, Y = topics
    clf = MultilabelMeasureClassifier(alpha=1e-2).fit(X, named(Y))
    with pytest.raises(ValueError, match="'omega', which there was not in fit"):
        clf.score(X, [{"omega"}] * 200)


@pytest.fixture(scope="module")
def rare():
    """Labels of 1, 2, 4, 40 and 100 rows of 300."""
    rng = np.random.default_rng(0)
    Y = np.zeros((300, 5), dtype=int)
    for label, size in enumerate((1, 2, 4, 40, 100)):
        Y[rng.permutation(300)[:size], label] = 1
    X = rng.normal(size=(300, 12))
    X[:, :5] += 3.0 * Y
    return X, Y


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_labels_of_few_rows_share_what_others_chose(rare, average):
    X, Y = rare
    heard = []
    clf = MultilabelMeasureClassifierCV("f1", average, progress=heard.append).fit(X, Y)
    assert {line.split(":")[0] for line in heard} == {f"label {label} of 5" for label in range(1, 6)}
    assert np.isfinite(clf.label_scores_[2:]).all()
    assert {(each.measure.name, each.bound) for each in clf.trained_for_} <= {
        ("log_loss", "convex"),
        ("squared_hinge", "convex"),
    }
    found = clf.predict(X)
    assert (found & Y)[:, 2:].any(axis=0).all()  # the rows of each are found, and not all rows with them
    assert (found.sum(axis=0) <= 2 * Y.sum(axis=0) + 5).all()
    assert "trained: 5 with squared_hinge, convex" in repr(clf) or "with log_loss, convex" in repr(clf)
    alone = clf.as_classifier()
    np.testing.assert_array_equal(alone.decision_function(X), clf.decision_function(X))
    again = MultilabelMeasureClassifierCV("f1", average, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(again.predict(X), found)


def test_splits_of_ones_own_and_other_measures(rare):
    X, Y = rare
    half = np.arange(300) % 2 == 0
    for measure in ("roc_area", "error_rate"):
        clf = MultilabelMeasureClassifierCV(measure, bound="convex", alphas=[1e-1, 1e-2], cv=[(half, ~half)])
        assert set(clf.fit(X, Y[:, 2:]).alpha_) <= {1e-1, 1e-2}
        assert 0.5 < clf.score(X, Y[:, 2:]) <= 1.0
    clf = MultilabelMeasureClassifierCV(bound=[("prbep", "tight"), ("log_loss", "convex")], n_alphas=3).fit(X, Y[:, 2:])
    assert clf.score(X, Y[:, 2:]) > 0.6


def test_scores_of_classes_are_log_odds():
    X, y = load_iris(return_X_y=True)
    clf = MultilabelMeasureClassifierCV(cv=3).fit(X[::2], y[::2])
    assert clf.score(X[1::2], y[1::2]) > 0.9
    odds = clf.decision_function(X[1::2])
    chances = 1.0 / (1.0 + np.exp(-odds))
    assert chances.sum(axis=1).mean() == pytest.approx(1.0, abs=0.2)


def test_nothing_to_choose_by():
    X, Y = np.arange(20.0).reshape(-1, 1), np.eye(20, 2, dtype=int)
    with pytest.raises(ValueError, match="Use MultilabelMeasureClassifier with a given alpha"):
        MultilabelMeasureClassifierCV().fit(X, Y)


def test_folds_have_as_many_rows_of_each_label():
    rng = np.random.default_rng(0)
    members = rng.random((6, 600)) < np.array([[0.005], [0.01], [0.05], [0.2], [0.5], [0.9]])
    fold = shared_folds(members, 3)
    counts = np.array([np.bincount(fold[mine], minlength=3) for mine in (*members, np.ones(600, dtype=bool))])
    assert (np.ptp(counts, axis=1) <= [1, 1, 2, 6, 12, 12, 3]).all()
