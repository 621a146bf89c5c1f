"""MeasureClassifierCV: what to train with and alpha by the measure on held-out rows, then a fit to all of them."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    PredefinedSplit,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import smoothperf
from problems import gaussians
from smoothperf import (
    LBFGS,
    PRBEP,
    FBeta,
    GridEdgeWarning,
    MeasureClassifier,
    MeasureClassifierCV,
    ROCArea,
    ZeroModelWarning,
)
from smoothperf.estimators.choice import Choice
from smoothperf.measures import get_measure

X, Y = gaussians(60, 140, 10, shift=0.4, seed=3)
ALPHAS = [1e-3, 1.0, 1e-1, 1e-2]
CONVEX = {"bound": "convex", "alphas": ALPHAS}
#: Three folds that are drawn once, though examples are few.
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def churn(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A noisy table on which convex risks collapse: 14 columns, 15% positive, ROC area about 0.76."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 14))
    return X, X[:, :5].sum(axis=1) * 0.6 + rng.logistic(size=n) * 1.3 > 2.6


def split_scores(clf: MeasureClassifierCV) -> np.ndarray:
    """One row for each split."""
    names = [name for name in clf.cv_results_ if name.startswith("split")]
    return np.array([clf.cv_results_[name] for name in names])


@pytest.mark.parametrize("measure", [PRBEP(), ROCArea(), FBeta()], ids=str)
def test_scores_are_those_of_models_fitted_without_the_split(measure):
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    clf = MeasureClassifierCV(measure, bound=[("log_loss", "convex")], alphas=[0.1], cv=folds).fit(X, Y)
    alone = MeasureClassifier("log_loss", alpha=0.1, tol=1e-6)
    scores = cross_val_predict(alone, X, Y, cv=folds, method="decision_function")
    cut = measure.tuned_threshold(Y, scores) if measure.judges_decisions else 0.0
    expected = [measure.score(Y[test], scores[test] - cut) for _, test in folds.split(X, Y)]
    np.testing.assert_allclose(split_scores(clf)[:, 0], expected, atol=0.04)
    assert clf.best_score_ == split_scores(clf)[:, 0].mean()


@pytest.mark.parametrize(("positives", "repeats"), [(199, 3), (200, 1)])
def test_folds_are_drawn_three_times_where_examples_are_few(positives, repeats):
    rng = np.random.default_rng(0)
    y = np.arange(500) < positives
    X = rng.normal(size=(500, 2)) + y[:, None]
    settings = {"bound": [("log_loss", "convex")], "alphas": [0.1]}
    clf = MeasureClassifierCV("f1", **settings, cv=2, operating_point={"recall": 0.8}).fit(X, y)
    folds = RepeatedStratifiedKFold(n_splits=2, n_repeats=repeats, random_state=0)
    same = MeasureClassifierCV("f1", **settings, cv=folds).fit(X, y)
    assert split_scores(clf).shape == (2 * repeats, 1)
    if repeats > 1:
        np.testing.assert_array_equal(split_scores(clf), split_scores(same))
    assert clf.expected_["rows"] == 500  # each once
    other = MeasureClassifierCV("f1", **settings, cv=2, pos_label=False).fit(X, y)
    assert split_scores(other).shape == (2 * repeats, 1)


def test_rows_held_out_again_promise_no_more():
    """Threshold, what to expect and probabilities are those of one round, however often it is gone."""
    folds = list(FOLDS.split(X, Y))
    settings = {"bound": [("log_loss", "convex")], "alphas": [0.1], "calibration": "sigmoid"}
    for measure, point in (("prbep", {"recall": 0.8}), ("prbep", {"k": 30}), ("recall@fpr=0.2", None)):
        once, thrice = (
            MeasureClassifierCV(measure, **settings, cv=folds * times, operating_point=point).fit(X, Y)
            for times in (1, 3)
        )
        assert once.expected_ == thrice.expected_
        assert once.intercept_ == thrice.intercept_
        np.testing.assert_array_equal(once.predict_proba(X), thrice.predict_proba(X))


def test_given_alphas_are_all_tried():
    """Strong regularisation leaves the scores as they are for three levels or more, weak does not."""
    X, y = churn(300)
    clf = MeasureClassifierCV("roc_area", bound="convex", alphas=10.0 ** np.arange(4, -4, -1), cv=FOLDS).fit(X, y)
    means = clf.cv_results_["mean_test_score"]
    assert len(means) == 8
    assert np.ptp(means[:3]) < 1e-3 < np.ptp(means)


def test_results_have_the_form_of_searches():
    clf = MeasureClassifierCV("prbep", cv=FOLDS).fit(X, Y)
    results = clf.cv_results_
    size = len(results["params"])
    assert all(len(column) == size for column in results.values())
    assert results["params"][clf.best_index_] == {
        "measure": clf.trained_for_.measure.name,
        "bound": clf.trained_for_.bound,
        "l1_ratio": 0.0,
        "alpha": clf.alpha_,
    }
    assert {(one["measure"], one["bound"]) for one in results["params"]} == {
        ("log_loss", "convex"),
        ("squared_hinge", "convex"),
        ("prbep", "tight"),
        ("prbep", "convex"),
    }
    known = ~np.isnan(results["mean_test_score"])
    np.testing.assert_allclose(results["mean_test_score"], split_scores(clf).mean(axis=0))
    assert results["rank_test_score"][known].min() == 1
    assert clf.best_score_ == results["mean_test_score"][clf.best_index_]


def test_the_model_is_that_of_the_best_alpha():
    clf = MeasureClassifierCV("prbep", **CONVEX, cv=FOLDS, tol=1e-6).fit(X, Y)
    alone = MeasureClassifier("prbep", alpha=clf.alpha_, tol=1e-6).fit(X, Y)
    assert str(clf.trained_for_) == "prbep, convex"
    assert clf.gap_ == clf.objective_ - clf.lower_bound_ <= 1e-6
    assert clf.lower_bound_ <= alone.objective_
    assert alone.lower_bound_ <= clf.objective_
    np.testing.assert_allclose(clf.coef_, alone.coef_, atol=2 * np.sqrt(2e-6 / clf.alpha_))
    assert clf.score(X, Y) == PRBEP().score(Y, clf.decision_function(X))
    assert clf.result_.planes is None
    assert clf.result_.scores is None


@pytest.mark.parametrize(
    "measure",
    ["prbep", "f1", "f2", "f0.5", "jaccard", "roc_area@0.1", "precision@100", "recall@10%", "recall@30%",
     "average_precision", "recall@fpr=5%"],
)  # fmt: skip
def test_a_noisy_table_gets_a_model_that_is_worth_having(measure):
    (X, y), (X_new, y_new) = churn(1500), churn(3000, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        clf = MeasureClassifierCV(measure, cv=FOLDS).fit(X, y)
    judge = get_measure(measure)
    usual = LogisticRegression().fit(X, y)
    threshold = judge.tuned_threshold(y, usual.decision_function(X)) if judge.judges_decisions else 0.0
    assert clf.score(X_new, y_new) > judge.score(y_new, usual.decision_function(X_new) - threshold) - 0.06
    assert np.ptp(clf.decision_function(X_new)) > 0.0


@pytest.mark.filterwarnings("ignore:Floating-point precision")  # whether it does, hangs on the order of sums
def test_a_column_that_dwarfs_the_others_does_not_hide_the_alphas():
    (X, y), (X_new, y_new) = churn(800), churn(2000, seed=1)
    for table in (X, X_new):
        table[:, 13] = table[:, 13] * 1e5 + 3e5
    clf = MeasureClassifierCV("roc_area", cv=FOLDS).fit(X, y)
    assert clf.score(X_new, y_new) > 0.72


def test_the_smallest_of_given_alphas_is_an_edge():
    X, y = churn(600)
    with pytest.warns(GridEdgeWarning, match=r"The best alpha, 1, is the smallest that was tried for roc_area, convex"):
        MeasureClassifierCV("roc_area", bound="convex", alphas=[100.0, 10.0, 1.0], cv=FOLDS).fit(X, y)


def test_thresholds_come_from_rows_held_out():
    X, y = churn(900)
    clf = MeasureClassifierCV("f1", bound=[("log_loss", "convex")], alphas=[1e-2], cv=FOLDS).fit(X, y)
    alone = MeasureClassifier("log_loss", alpha=1e-2, tol=1e-5)
    held_out = cross_val_predict(alone, X, y, cv=FOLDS, method="decision_function")
    threshold = FBeta().threshold(y, held_out)
    fitted = alone.fit(X, y)
    expected = fitted.decision_function(X) > threshold
    assert np.mean(clf.predict(X) == expected) > 0.98
    break_even = MeasureClassifierCV("prbep", cv=FOLDS).fit(X, y)
    assert abs(break_even.predict(X).sum() - y.sum()) < 0.15 * y.sum()


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_are_those_of_the_calibrators(method):
    X, y = churn(900)
    clf = MeasureClassifierCV("prbep", bound=[("log_loss", "convex")], alphas=[1e-2], cv=FOLDS, calibration=method).fit(
        X, y
    )
    chances = clf.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert abs(chances[:, 1].mean() - y.mean()) < 0.05
    # The same of scikit-learn's own, for a model of the same kind.
    usual = CalibratedClassifierCV(
        MeasureClassifier("log_loss", alpha=1e-2), method=method, cv=FOLDS, ensemble=False
    ).fit(X, y)
    assert np.abs(chances - usual.predict_proba(X)).mean() < 0.01  # isotonic ones jump
    # Moving the threshold leaves them as they are; other copies have them too.
    moved = pickle.loads(pickle.dumps(clf)).set_operating_point(X, y, rate=0.01)
    np.testing.assert_array_equal(moved.predict_proba(X), chances)
    assert not hasattr(MeasureClassifierCV(alphas=[1e-2], cv=FOLDS).fit(X, y), "predict_proba")
    assert CalibratedClassifierCV(FrozenEstimator(clf)).fit(X, y).predict_proba(X).shape == chances.shape


def test_probabilities_of_the_other_label():
    X, y = churn(500)
    settings = {"bound": [("log_loss", "convex")], "alphas": [1e-2], "cv": FOLDS, "calibration": "sigmoid"}
    clf = MeasureClassifierCV("roc_area", **settings).fit(X, y)
    other = MeasureClassifierCV("roc_area", pos_label=False, **settings).fit(X, y)
    np.testing.assert_allclose(other.predict_proba(X), clf.predict_proba(X), atol=0.03)


def test_files_keep_what_was_chosen(tmp_path):
    X, y = churn(500)
    clf = MeasureClassifierCV("precision@50", cv=FOLDS, calibration="sigmoid").fit(X, y)
    clf.save(tmp_path / "a.model")
    loaded = smoothperf.load(tmp_path / "a.model")
    np.testing.assert_array_equal(loaded.decision_function(X), clf.decision_function(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    assert loaded.score(X, y) == clf.score(X, y)
    assert loaded.alpha == clf.alpha_
    assert str(loaded.trained_for_) == str(clf.trained_for_)


def test_a_count_is_meant_for_as_many_rows_as_are_given():
    """A tenth of the rows is a tenth of every part of them."""
    X, y = churn(900)
    one = {"bound": "tight", "alphas": [1e-3], "cv": FOLDS}
    count, share = (MeasureClassifierCV(name, **one).fit(X, y) for name in ("precision@90", "precision@10%"))
    np.testing.assert_array_equal(split_scores(count), split_scores(share))
    np.testing.assert_array_equal(count.coef_, share.coef_)
    assert count.trained_for_.measure.name == "precision@90"


TRAIN = np.arange(0, 200, 2)
VALIDATION = np.arange(1, 200, 2)
SPLITS = {
    "indices": [(TRAIN, VALIDATION)],
    "splitter": PredefinedSplit(np.where(np.arange(200) % 2 == 1, 0, -1)),
}


@pytest.mark.parametrize("kind", SPLITS)
def test_a_validation_set_of_ones_own(kind):
    clf = MeasureClassifierCV(**CONVEX, cv=SPLITS[kind]).fit(X, Y)
    assert split_scores(clf).shape == (1, 4)
    alone = MeasureClassifier(alpha=1.0).fit(X[TRAIN], Y[TRAIN])
    assert split_scores(clf)[0, 0] == pytest.approx(alone.score(X[VALIDATION], Y[VALIDATION]), abs=0.005)


def test_a_share_is_one_stratified_validation_set():
    settings = {"bound": "convex", "alphas": [1.0, 0.1]}
    clf = MeasureClassifierCV("prbep", **settings, cv=0.25).fit(X, Y)
    same = MeasureClassifierCV("prbep", **settings, cv=StratifiedShuffleSplit(1, test_size=0.25, random_state=0)).fit(
        X, Y
    )
    assert split_scores(clf).shape == (1, 2)
    np.testing.assert_array_equal(split_scores(clf), split_scores(same))


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_matrix, np.asfortranarray, np.float32])
def test_every_format_and_threads(make):
    expected = MeasureClassifierCV("prbep", n_alphas=5, cv=FOLDS).fit(X, Y)
    clf = MeasureClassifierCV("prbep", n_alphas=5, cv=FOLDS, n_jobs=2).fit(make(X), Y)
    assert clf.best_score_ == pytest.approx(expected.best_score_, abs=0.03)
    again = MeasureClassifierCV("prbep", n_alphas=5, cv=FOLDS, n_jobs=1).fit(make(X), Y)
    np.testing.assert_array_equal(split_scores(clf), split_scores(again))
    np.testing.assert_array_equal(clf.coef_, again.coef_)


def test_weights_in_training_and_in_scores():
    weights = np.random.default_rng(0).uniform(0.1, 3.0, Y.size)
    one = {"bound": "convex", "alphas": [1e-2]}
    clf = MeasureClassifierCV(**one, cv=[(TRAIN, VALIDATION)]).fit(X, Y, sample_weight=weights)
    alone = MeasureClassifier(alpha=1e-2, tol=1e-6).fit(X[TRAIN], Y[TRAIN], sample_weight=weights[TRAIN])
    expected = alone.score(X[VALIDATION], Y[VALIDATION], weights[VALIDATION])
    assert split_scores(clf)[0, 0] == pytest.approx(expected, abs=0.02)
    # Class weights change the training, not the score.
    heavy = MeasureClassifierCV("prbep", **one, cv=FOLDS, class_weight={-1: 1.0, 1: 1.0}).fit(X, Y)
    plain = MeasureClassifierCV("prbep", **one, cv=FOLDS).fit(X, Y)
    np.testing.assert_allclose(split_scores(heavy), split_scores(plain), atol=0.06)
    light = MeasureClassifierCV("prbep", **one, cv=FOLDS, class_weight={-1: 1.0, 1: 2.0}).fit(X, Y)
    assert not np.array_equal(light.coef_, plain.coef_)
    # A copy of every row changes nothing but the number of rows that a share is of.
    doubled = MeasureClassifierCV("prbep", cv=FOLDS).fit(X, Y, sample_weight=np.full(Y.size, 2.0))
    single = MeasureClassifierCV("prbep", cv=FOLDS).fit(X, Y)
    np.testing.assert_allclose(split_scores(doubled), split_scores(single), atol=0.04)


def test_settings_reach_the_solver_the_callback_and_standard_error(capsys):
    seen = []
    clf = MeasureClassifierCV(**CONVEX, cv=FOLDS, solver=LBFGS(tol=1e-5), callback=seen.append, verbose=2)
    clf.fit(X, Y)
    assert clf.gap_ <= 1e-5
    assert len(seen) == clf.result_.n_iter + 1  # of the fit to all rows only
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("split")] == [f"split {k} of 3" for k in (1, 2, 3)]
    assert len(lines) == 3 + len(seen) + 1
    without = MeasureClassifierCV(**CONVEX, cv=FOLDS, fit_intercept=False).fit(X, Y)
    assert without.intercept_[0] == 0.0


def test_in_a_pipeline_with_words_and_a_threshold_of_ones_own():
    words = np.where(Y > 0, "yes", "no")
    model = make_pipeline(StandardScaler(), MeasureClassifierCV(n_alphas=4, cv=FOLDS)).fit(X, words)
    assert set(model.predict(X)) == {"no", "yes"}
    model[-1].set_operating_point(model[:-1].transform(X), words, k=12)
    assert (model.predict(X) == "yes").sum() == 12


def test_noise_is_said_to_be_noise_once():
    with pytest.warns(ZeroModelWarning, match="all rows have the same score") as caught:
        MeasureClassifierCV("prbep", n_alphas=3, cv=FOLDS).fit(np.ones((30, 2)), np.repeat([0, 1], 15))
    assert len(caught) == 1


def test_a_winner_that_tells_nothing_gives_way(monkeypatch):
    """The convex risk is 0 on all rows though it was not on some: the next candidate is taken."""
    ranked = Choice.ranked
    monkeypatch.setattr(Choice, "ranked", lambda choice: [(choice.candidates[-1], 0), *ranked(choice)])
    X, y = churn(600)
    clf = MeasureClassifierCV("prbep", cv=FOLDS).fit(X, y)
    assert str(clf.trained_for_) != "prbep, convex"
    assert np.ptp(clf.decision_function(X)) > 0.0


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
        ({"bound": "loose"}, "bound must be"),
        ({"bound": []}, "bound is an empty list"),
        ({"bound": ["prbep"]}, r'bound must be "auto", "convex", "tight" or a list of \(measure, bound\)'),
        ({"bound": [("prbep", "auto")]}, "bound must be"),
        ({"bound": [("log_loss", "tight")]}, 'bound="tight" is for measures'),
        ({"calibration": "platt"}, "calibration must be"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        MeasureClassifierCV(**parameters).fit(X, Y)


def test_few_examples_of_a_class():
    y = np.where(np.arange(200) < 3, 1, -1)
    with pytest.warns(UserWarning, match="cv=5, but one class has 3 examples only, so that 3 folds are used"):
        clf = MeasureClassifierCV(bound="convex", alphas=[1e-2]).fit(X, y)
    assert split_scores(clf).shape == (9, 1)  # three times
    with pytest.raises(ValueError, match=r"cv=5 needs at least 2 examples of each class, but one class has 1"):
        MeasureClassifierCV().fit(X, np.where(np.arange(200) < 1, 1, -1))
