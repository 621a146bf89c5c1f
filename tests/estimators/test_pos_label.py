"""pos_label: the measure speaks of the label that was asked for, and scikit-learn's own tools stay right."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import average_precision_score, get_scorer, make_scorer, roc_auc_score
from sklearn.model_selection import cross_val_predict

import smoothperf
from problems import gaussians
from smoothperf import MeasureClassifier, MeasureClassifierCV, RecallAtFPR, regularization_path, scorers
from smoothperf.io import convert
from smoothperf.measures import get_measure

X, Y = gaussians(50, 120, 4, seed=4)
SPAM = np.where(Y > 0, "a spam", "ham")  # what we look for sorts first
MEASURES = ["roc_area", "prbep", "precision@60", "f1", "error_rate@5:1", "recall@fpr=0.1"]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("weights", [None, {"a spam": 3.0, "ham": 1.0}])
def test_the_same_model_as_with_labels_that_sort_the_other_way(measure, weights):
    by_number = None if weights is None else {1: 3.0, -1: 1.0}
    expected = MeasureClassifier(measure, alpha=1e-2, class_weight=by_number).fit(X, Y)
    clf = clone(MeasureClassifier(measure, alpha=1e-2, class_weight=weights, pos_label="a spam")).fit(X, SPAM)
    assert clf.classes_.tolist() == ["a spam", "ham"]
    assert clf.pos_label_ == "a spam"
    assert clf.label_pair.tolist() == ["ham", "a spam"]
    np.testing.assert_array_equal(clf.coef_, -expected.coef_)
    np.testing.assert_array_equal(clf.intercept_, -expected.intercept_)
    np.testing.assert_array_equal(clf.decision_function(X), -expected.decision_function(X))
    np.testing.assert_array_equal(clf.positive_scores(X), expected.decision_function(X))
    np.testing.assert_array_equal(clf.raw_scores(X), expected.raw_scores(X))
    np.testing.assert_array_equal(clf.predict(X) == "a spam", expected.predict(X) == 1)
    assert clf.score(X, SPAM) == expected.score(X, Y)
    assert scorers.get_scorer(measure, pos_label="a spam")(clf, X, SPAM) == clf.score(X, SPAM)


def test_models_know_their_training_rows(tmp_path):
    counts = [50, 120]  # of the spam, and of the rest, whatever they weigh
    clf = MeasureClassifier(alpha=1e-2, class_weight="balanced", pos_label="a spam").fit(X, SPAM)
    assert clf.class_count_.tolist() == counts
    assert MeasureClassifier(alpha=1e-2).fit(X, SPAM).class_count_.tolist() == counts
    assert MeasureClassifier(alpha=1e-2).fit(X, Y).class_count_.tolist() == counts[::-1]
    chosen = MeasureClassifierCV(bound=[("log_loss", "convex")], n_alphas=2, cv=2, pos_label="a spam").fit(X, SPAM)
    assert chosen.as_classifier().class_count_.tolist() == counts
    chosen.save(tmp_path / "model")
    again = smoothperf.load(tmp_path / "model")
    assert again.class_count_.tolist() == counts
    assert again.origin_ == chosen.origin_
    assert chosen.origin_["smoothperf"] == smoothperf.__version__
    made = datetime.fromisoformat(chosen.origin_["date"])
    assert timedelta(0) <= datetime.now(UTC) - made < timedelta(hours=1)


def test_the_larger_label_may_be_named():
    named, default = (MeasureClassifier("prbep", alpha=1e-2, pos_label=label).fit(X, SPAM) for label in ("ham", None))
    np.testing.assert_array_equal(named.coef_, default.coef_)
    assert named.pos_label_ == default.pos_label_ == "ham"


def test_scikit_learn_scores_are_right():
    clf = MeasureClassifier(alpha=1e-2, pos_label="a spam").fit(X, SPAM)
    area = roc_auc_score(Y, clf.positive_scores(X))
    assert area > 0.6
    assert get_scorer("roc_auc")(clf, X, SPAM) == pytest.approx(area)
    assert get_scorer("accuracy")(clf, X, SPAM) == (clf.predict(X) == SPAM).mean()
    precision = make_scorer(average_precision_score, response_method="decision_function", pos_label="a spam")
    assert precision(clf, X, SPAM) == pytest.approx(average_precision_score(Y, clf.positive_scores(X)))


def test_scikit_learn_tools_that_number_the_labels():
    """They give the numbers 0 and 1 to a classifier, so the positive label is one of these."""
    labels = np.where(Y > 0, 0, 1)
    clf = MeasureClassifier(alpha=1e-2, pos_label=0)
    out_of_fold = cross_val_predict(clf, X, labels, cv=3, method="decision_function")
    assert roc_auc_score(labels, out_of_fold) > 0.6
    calibrated = CalibratedClassifierCV(clf, cv=3).fit(X, labels)
    assert roc_auc_score(Y, calibrated.predict_proba(X)[:, 0]) > 0.6


def test_operating_points_files_and_stores(tmp_path):
    clf = MeasureClassifier(alpha=1e-2, pos_label="a spam").fit(X, SPAM)
    clf.set_operating_point(X, SPAM, k=12)
    assert (clf.predict(X) == "a spam").sum() == 12
    assert clf.expected_["recall"]["value"] == pytest.approx((clf.predict(X) == "a spam")[Y > 0].mean())
    clf.save(tmp_path / "model")
    again = smoothperf.load(tmp_path / "model")
    assert again.pos_label_ == again.pos_label == "a spam"
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    np.savez(tmp_path / "data.npz", X=X, y=SPAM)
    store = convert(tmp_path / "data.npz", tmp_path / "data.store")
    stored = MeasureClassifier(alpha=1e-2, pos_label="a spam").fit(store)
    assert stored.score(store) == pytest.approx(clf.score(X, SPAM), abs=0.01)
    np.testing.assert_allclose(stored.decision_function(store), stored.decision_function(X), rtol=1e-12)


def test_cross_validation_path_and_warm_start():
    expected = MeasureClassifierCV("prbep", n_alphas=3, cv=3).fit(X, Y)
    clf = MeasureClassifierCV("prbep", n_alphas=3, cv=3, pos_label="a spam").fit(X, SPAM)
    np.testing.assert_array_equal(clf.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(clf.coef_, -expected.coef_)
    path = regularization_path(X, SPAM, measure="prbep", alphas=[1e-2], pos_label="a spam", validation=(X, SPAM))
    assert path.classes.tolist() == ["ham", "a spam"]
    assert path.validation_scores[0] == get_measure("prbep").score(Y, X @ path.coefs[0])
    warm = MeasureClassifier("f1", alpha=1e-2, warm_start=True, pos_label="a spam").fit(X, SPAM)
    plain = MeasureClassifier("f1", alpha=1e-2, warm_start=True).fit(X, Y)
    np.testing.assert_array_equal(warm.fit(X, SPAM).coef_, -plain.fit(X, Y).coef_)


def test_numbers_and_truth_values():
    for labels, positive in ((np.where(Y > 0, 0, 1), 0), (Y < 0, False), (np.where(Y > 0, -2.0, 3.0), -2.0)):
        clf = MeasureClassifier(RecallAtFPR(0.1, None), alpha=1e-2, pos_label=positive).fit(X, labels)
        assert clf.score(X, labels) == RecallAtFPR(0.1).score(Y, clf.positive_scores(X))


def test_labels_that_do_not_occur():
    with pytest.raises(ValueError, match=r"pos_label must be one of the labels, .*'a spam'.* or .*'ham'.*, got 'spam'"):
        MeasureClassifier(pos_label="spam").fit(X, SPAM)
