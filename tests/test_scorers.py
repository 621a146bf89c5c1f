"""Scorers: the measure itself, wherever scikit-learn takes a scorer."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer as get_sklearn_scorer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB

from problems import TunedError, gaussians
from smoothperf import NDCG, PRBEP, MeasureClassifier, PrecisionAtK, ROCArea, scorers


@pytest.fixture(scope="module")
def data():
    return gaussians(40, 80, 4, seed=1)


@pytest.mark.parametrize(("scorer", "measure"), [(scorers.prbep, PRBEP()), (scorers.roc_area, ROCArea())])
def test_a_scorer_is_the_measure_of_the_decision_function(data, scorer, measure):
    X, y = data
    weights = np.random.default_rng(0).uniform(0.1, 3.0, y.size)
    for model in (MeasureClassifier(alpha=1e-2), LogisticRegression()):
        model.fit(X[::2], y[::2])
        scores = model.decision_function(X)
        assert scorer(model, X, y) == measure.score(y, scores)
        assert scorer(model, X, y, sample_weight=weights) == measure.score(y, scores, weights)
        assert scorer(model, X, y) != scorer(model, X, y, sample_weight=weights)


def test_the_larger_label_is_positive(data):
    X, y = data
    words = np.where(y > 0, "a", "b")  # the rare class is "a", so "b" is positive
    model = MeasureClassifier(alpha=1e-2).fit(X, words)
    assert scorers.prbep(model, X, words) == PRBEP().score(words == "b", model.decision_function(X))
    assert scorers.roc_area(model, X, words) == pytest.approx(roc_auc_score(words == "b", model.decision_function(X)))


def test_models_with_probabilities_only(data):
    X, y = data
    model = GaussianNB().fit(X, y)
    assert scorers.roc_area(model, X, y) == pytest.approx(roc_auc_score(y, model.predict_proba(X)[:, 1]))


def test_measures_of_decisions_judge_what_is_predicted(data):
    """Probabilities are cut at a half, decision functions at 0, and a tuned threshold where it was tuned to."""
    X, y = data
    words = np.where(y > 0, "spam", "ham")
    tuned = MeasureClassifier(TunedError(), alpha=1e-2)
    for model in (
        GaussianNB(),
        LogisticRegression(),
        FixedThresholdClassifier(LogisticRegression(), threshold=0.9),
        tuned,
    ):
        model.fit(X, words)
        right = model.predict(X) == words
        assert scorers.error_rate(model, X, words) == pytest.approx(right.mean())
        assert scorers.get_scorer(TunedError())(model, X, words) == pytest.approx(right.mean())
        balanced = (right[y > 0].mean() + right[y < 0].mean()) / 2.0
        assert scorers.balanced_error_rate(model, X, words) == pytest.approx(balanced)
        weights = np.where(y > 0, 3.0, 1.0)
        weighted = scorers.error_rate(model, X, words, sample_weight=weights)
        assert weighted == pytest.approx(np.average(right, weights=weights))


def test_log_loss_and_squared_hinge_judge_the_decision_function(data):
    X, y = data
    model = LogisticRegression().fit(X, y)
    assert scorers.log_loss(model, X, y) == pytest.approx(get_sklearn_scorer("neg_log_loss")(model, X, y))
    margins = np.maximum(0.0, 1.0 - y * model.decision_function(X))
    assert scorers.squared_hinge(model, X, y) == pytest.approx(-np.mean(margins**2))
    weights = np.where(y > 0, 3.0, 1.0)
    weighted = scorers.squared_hinge(model, X, y, sample_weight=weights)
    assert weighted == pytest.approx(-np.average(margins**2, weights=weights))
    with pytest.raises(AttributeError, match="decision_function"):  # chances are no scores
        scorers.log_loss(GaussianNB().fit(X, y), X, y)


def test_measures_with_parameters(data):
    X, y = data
    model = GaussianNB().fit(X, y)
    expected = PrecisionAtK(10).score(y, model.predict_proba(X)[:, 1])
    assert scorers.get_scorer("precision@10")(model, X, y) == expected
    search = GridSearchCV(MeasureClassifier("error_rate"), {"alpha": [1.0, 1e-2]}, scoring=scorers.error_rate, cv=3)
    assert search.fit(X, y).best_score_ > 0.6


def test_by_name_by_object_and_through_pickle(data):
    X, y = data
    model = MeasureClassifier(alpha=1e-2).fit(X, y)
    expected = scorers.prbep(model, X, y)
    for scorer in (
        scorers.get_scorer("prbep"),
        scorers.get_scorer(PRBEP()),
        pickle.loads(pickle.dumps(scorers.prbep)),
    ):
        assert scorer(model, X, y) == expected
    with pytest.raises(ValueError, match=r"measure must be one of .*'prbep'.* got 'brier'"):
        scorers.get_scorer("brier")


def test_model_selection(data):
    X, y = data
    search = GridSearchCV(
        MeasureClassifier("prbep"),
        {"alpha": [1e-1, 1e-3]},
        scoring={"prbep": scorers.prbep, "roc": scorers.roc_area},
        refit="prbep",
        cv=3,
    ).fit(X, y)
    own = GridSearchCV(MeasureClassifier("prbep"), {"alpha": [1e-1, 1e-3]}, cv=3).fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_prbep"], own.cv_results_["mean_test_score"])
    roc = cross_val_score(search.best_estimator_, X, y, scoring="roc_auc", cv=3)
    np.testing.assert_allclose(cross_val_score(search.best_estimator_, X, y, scoring=scorers.roc_area, cv=3), roc)


def test_weights_are_routed(data):
    X, y = data
    weights = np.random.default_rng(0).uniform(0.1, 3.0, y.size)
    train, test = np.arange(0, y.size, 2), np.arange(1, y.size, 2)
    with sklearn.config_context(enable_metadata_routing=True):
        results = cross_validate(
            MeasureClassifier(alpha=1e-2).set_fit_request(sample_weight=True),
            X,
            y,
            params={"sample_weight": weights},
            scoring=scorers.get_scorer("prbep").set_score_request(sample_weight=True),
            cv=[(train, test)],
        )
    model = MeasureClassifier(alpha=1e-2).fit(X[train], y[train], sample_weight=weights[train])
    expected = PRBEP().score(y[test], model.decision_function(X[test]), weights[test])
    assert results["test_score"][0] == expected
    assert expected != PRBEP().score(y[test], model.decision_function(X[test]))


def test_one_class_is_an_error(data):
    X, y = data
    model = MeasureClassifier(alpha=1e-2).fit(X, y)
    with pytest.raises(ValueError, match=r"two kinds of labels to compute prbep, got 1: 1\. Use stratified"):
        scorers.prbep(model, X[y > 0], y[y > 0])


def test_scorers_of_queries_need_queries():
    X, y, qid = np.arange(6.0)[:, None], [0, 1, 2, 0, 0, 1], [1, 1, 1, 2, 2, 2]
    model = Ridge().fit(X, y)
    scorer = scorers.get_query_scorer("ndcg@2")
    with pytest.raises(ValueError, match="qid is needed to compute ndcg@2"):
        scorer(model, X, y)
    with sklearn.config_context(enable_metadata_routing=True):
        found = scorer.set_score_request(qid=True)(model, X, y, qid=qid)
    assert found == NDCG(2).score(y, model.predict(X), qid)
