"""bound="auto": the convex bound, and the tight one where the convex one is least at w = 0."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import smoothperf
from problems import gaussians
from promises import hold_tight_fit
from smoothperf import MeasureClassifier, MeasureClassifierCV, ZeroModelWarning, regularization_path
from smoothperf.estimators.messages import say_tight

X, Y = gaussians(40, 360, 4, shift=0.5, seed=2)  # so noisy that the convex risks of most measures collapse
CLEAR = gaussians(40, 160, 4, shift=4.0, seed=2)


@pytest.fixture(autouse=True)
def said_anew():
    """A process that has said nothing yet."""
    say_tight.cache_clear()


@pytest.mark.parametrize("measure", ["prbep", "f1", "precision@10", "recall@0.3", "jaccard", "roc_area@0.05"])
def test_what_a_plain_user_gets_has_not_collapsed(measure):
    with pytest.warns(ZeroModelWarning, match=f"The convex bound of {measure} is least at w = 0 here, so that") as said:
        clf = MeasureClassifier(measure, alpha=1e-3).fit(X, Y)
    assert len(said) == 1
    assert (clf.bound, clf.bound_) == ("auto", "tight")
    assert np.ptp(clf.decision_function(X)) > 0.0
    hold_tight_fit(clf, X, Y)
    assert np.isnan([clf.lower_bound_, clf.gap_]).all()
    assert clf.objective_ == MeasureClassifier(measure, alpha=1e-3, bound="tight").fit(X, Y).objective_


def test_the_convex_bound_stays_where_it_does_not_collapse():
    clf = MeasureClassifier("prbep", alpha=1e-3).fit(*CLEAR)
    named = MeasureClassifier("prbep", alpha=1e-3, bound="convex").fit(*CLEAR)
    assert clf.bound_ == named.bound_ == "convex"
    assert clf.gap_ <= 1e-3
    np.testing.assert_array_equal(clf.coef_, named.coef_)


def test_its_name_keeps_the_certificate():
    with pytest.warns(ZeroModelWarning, match='use bound="auto" or "tight"'):
        clf = MeasureClassifier("prbep", alpha=1e-3, bound="convex").fit(X, Y)
    assert clf.bound_ == "convex"
    assert not clf.coef_.any()
    assert clf.gap_ <= 1e-3


@pytest.mark.parametrize(("measure", "alpha"), [("prbep", 1e6), ("f1", 1e6), ("roc_area", 1e6), ("error_rate", 1e-3)])
def test_w_0_has_a_proof_where_no_bound_helps(measure, alpha):
    """By too large an alpha, or as a loss of single rows is least there: a smaller alpha is what helps."""
    with pytest.warns(ZeroModelWarning, match="the optimum is w = 0.* Use a smaller alpha"):
        clf = MeasureClassifier(measure, alpha=alpha).fit(X, Y)
    assert clf.bound_ == "convex"
    assert clf.gap_ <= 1e-3


def test_a_search_says_it_once():
    with warnings.catch_warnings(record=True, action="default") as said:
        search = GridSearchCV(MeasureClassifier("f1"), {"alpha": [1e-2, 1e-3, 1e-4]}, cv=3).fit(X, Y)
    assert [warning.category for warning in said] == [ZeroModelWarning]
    assert search.best_score_ > 0.25


def test_rows_of_both_bounds_are_one_story(tmp_path):
    rows = []
    with pytest.warns(ZeroModelWarning):
        clf = MeasureClassifier("prbep", alpha=1e-3, callback=rows.append, checkpoint=tmp_path / "model").fit(X, Y)
    assert clf.result_.trace.rows == rows
    assert [row.iteration for row in rows] == list(range(clf.n_iter_ + 1))
    assert smoothperf.load(tmp_path / "model").n_features_in_ == 4


def test_files_and_choices_know_the_bound(tmp_path):
    with pytest.warns(ZeroModelWarning):
        clf = MeasureClassifier("prbep", alpha=1e-3).fit(X, Y)
    clf.save(tmp_path / "model")
    assert smoothperf.load(tmp_path / "model").bound_ == "tight"
    chosen = MeasureClassifierCV("prbep", bound="tight", alphas=[1e-2], cv=2).fit(X, Y)
    assert chosen.bound_ == chosen.as_classifier().bound_ == "tight"


def test_a_choice_of_the_convex_bound_alone_says_what_helps():
    with pytest.warns(ZeroModelWarning, match='The convex bound is least there.*use bound="auto" or "tight"') as said:
        MeasureClassifierCV("prbep", bound="convex", n_alphas=3, cv=3).fit(X, Y)
    assert len(said) == 1


def test_paths():
    with pytest.warns(ZeroModelWarning, match="The convex bound of f1"):
        path = regularization_path(X, Y, measure="f1", n_alphas=4)
    assert not path.certified
    assert not path.zero_is_best.all()
    assert len(set(path.train_scores)) > 1
    assert regularization_path(X, Y, measure="f1", n_alphas=4, bound="convex").zero_is_best.all()
    assert regularization_path(*CLEAR, measure="f1", n_alphas=4).certified


def test_a_path_of_nothing_but_large_alphas_is_convex():
    path = regularization_path(X, Y, measure="prbep", alphas=[1e7, 1e6])
    assert path.certified
    assert path.zero_is_best.all()
