"""MeasureClassifier as a scikit-learn estimator."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

import smoothperf
from problems import gaussians
from smoothperf import (
    BMRM,
    LBFGS,
    PRBEP,
    Adaptive,
    Fixed,
    MeasureClassifier,
    MeasureClassifierCV,
    Nesterov,
    PrecisionAtK,
    RecallAtK,
    ROCArea,
    Status,
    ZeroModelWarning,
)
from smoothperf.measures import get_measure


def failing(estimator):
    """Checks that are wrong before scikit-learn 1.7: which two of three labels are made one hangs on the first row."""
    wrong = () if parse_version(sklearn.__version__) >= parse_version("1.7") else ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": "the rows have other labels" for kind in wrong}


# Some of scikit-learn's checks fit labels that are noise, where the optimum is w = 0, or a handful of examples.
@pytest.mark.filterwarnings("ignore::smoothperf.ZeroModelWarning")
@pytest.mark.filterwarnings("ignore:cv=5, but one class has:UserWarning")
@parametrize_with_checks(
    [
        MeasureClassifier(),
        MeasureClassifier(measure="prbep"),
        MeasureClassifier(measure="precision@0.5"),
        MeasureClassifier(measure="error_rate"),
        MeasureClassifier(measure="error_rate", solver="bmrm"),
        MeasureClassifier(measure="roc_area", alpha=1e-3, bound="tight"),
        MeasureClassifier(measure="prbep", alpha=1e-3, bound="tight"),
        MeasureClassifierCV(bound="convex", n_alphas=2, cv=2),
        # A splitter is used once, while a number of folds is drawn three times from rows as few as these.
        MeasureClassifierCV(measure="error_rate", alphas=[1.0], cv=StratifiedKFold(2)),
    ],
    expected_failed_checks=failing,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


@pytest.mark.parametrize("measure", [PRBEP(), ROCArea(), PrecisionAtK(50), RecallAtK(0.7)], ids=str)
@pytest.mark.parametrize("solver", ["lbfgs", "nesterov", "bmrm"])
def test_fitted_attributes(cancer, measure, solver):
    X, y = cancer
    clf = MeasureClassifier(measure=measure, alpha=1e-2, solver=solver).fit(X, y)
    w = clf.coef_[0]
    assert clf.coef_.shape == (1, 30)
    assert clf.intercept_.shape == (1,)
    assert clf.objective_ == pytest.approx(5e-3 * w @ w + measure.bind(y).exact(X @ w).value, abs=1e-12)
    assert clf.gap_ == clf.objective_ - clf.lower_bound_ <= 1e-3
    assert clf.n_iter_ == clf.result_.n_iter > 0
    assert clf.result_.status is Status.CONVERGED
    assert clf.result_.scores is None
    assert clf.score(X, y) == measure.score(y, X @ w)


@pytest.mark.parametrize("measure", ["prbep", "roc_area"])
def test_predicts_as_many_positives_as_there_are(cancer, measure):
    X, y = cancer
    clf = MeasureClassifier(measure=measure, alpha=1e-2).fit(X, y)
    predicted = clf.predict(X)
    assert predicted.sum() == y.sum()
    precision = (predicted & y).sum() / predicted.sum()
    assert precision == pytest.approx(PRBEP().score(y, clf.decision_function(X)))


@pytest.mark.parametrize(("measure", "k"), [("precision@50", 50), ("recall@400", 400), ("recall@0.25", 142)])
def test_predicts_k_positives(cancer, measure, k):
    X, y = cancer
    clf = MeasureClassifier(measure=measure, alpha=1e-2).fit(X, y)
    assert clf.predict(X).sum() == k


@pytest.mark.parametrize("measure", ["prbep", "precision@50"])
def test_newton_by_name(cancer, measure):
    X, y = cancer
    clf = MeasureClassifier(measure, alpha=1e-3, solver="newton", tol=1e-6).fit(X, y)
    other = MeasureClassifier(measure, alpha=1e-3, tol=1e-6, max_iter=3000).fit(X, y)
    assert clf.gap_ <= 1e-6
    assert clf.objective_ == pytest.approx(other.objective_, abs=1e-6)
    assert clf.n_iter_ < other.n_iter_
    fixed = MeasureClassifier(measure, alpha=1e-3, solver="newton", smoothing=Fixed(deviation=1e-3)).fit(X, y)
    assert fixed.result_.smoothing == pytest.approx(1e-3 / get_measure(measure).bind(y).diameter)


def test_operating_point_with_weights(cancer):
    X, y = cancer
    weights = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    clf = MeasureClassifier(measure="prbep", alpha=1e-2).fit(X, y, sample_weight=weights)
    assert weights[clf.predict(X) == 1].sum() == pytest.approx(weights[y == 1].sum(), abs=2.0)


def test_without_intercept(cancer):
    X, y = cancer
    with_, without = (MeasureClassifier(alpha=1e-2, fit_intercept=flag).fit(X, y) for flag in (True, False))
    assert without.intercept_[0] == 0.0
    np.testing.assert_array_equal(with_.coef_, without.coef_)
    np.testing.assert_array_equal(without.decision_function(X), X @ without.coef_[0])


def test_roc_area_beats_chance_on_held_out_data(cancer):
    X, y = cancer
    clf = MeasureClassifier().fit(X[::2], y[::2])
    assert clf.score(X[1::2], y[1::2]) == roc_auc_score(y[1::2], clf.decision_function(X[1::2])) > 0.97


def test_same_model_through_every_door(cancer):
    X, y = cancer
    X = np.round(X, 3).astype(np.float32)
    expected = MeasureClassifier(alpha=1e-2, tol=1e-8).fit(X.astype(np.float64), y)
    for other in (X, np.asfortranarray(X), sp.csr_matrix(X), sp.csc_array(X), sp.coo_matrix(X)):
        clf = MeasureClassifier(alpha=1e-2, tol=1e-8).fit(other, y)
        assert clf.lower_bound_ <= expected.objective_
        assert expected.lower_bound_ <= clf.objective_
        np.testing.assert_allclose(clf.coef_, expected.coef_, atol=1e-2)
        np.testing.assert_array_equal(clf.predict(other), clf.predict(X))


def test_user_arrays_are_not_written_to(cancer):
    X, y = (np.array(part) for part in cancer)
    weights = np.ones(y.size)
    for array in (X, y, weights):
        array.flags.writeable = False
    before = [array.copy() for array in (X, y, weights)]
    MeasureClassifier(class_weight="balanced").fit(X, y, sample_weight=weights).predict(X)
    for array, copy in zip((X, y, weights), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_labels_of_any_kind(cancer):
    X, y = cancer
    words = np.where(y == 1, "yes", "no")
    clf = MeasureClassifier(alpha=1e-2).fit(X, words)
    assert list(clf.classes_) == ["no", "yes"]
    assert set(clf.predict(X)) == {"no", "yes"}
    assert clf.score(X, words) == MeasureClassifier(alpha=1e-2).fit(X, y).score(X, y)


def test_class_weight_is_sample_weight(cancer):
    X, y = cancer
    by_class = MeasureClassifier(measure="prbep", alpha=1e-2, class_weight={0: 3.0, 1: 1.0}).fit(X, y)
    by_sample = MeasureClassifier(measure="prbep", alpha=1e-2).fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    np.testing.assert_array_equal(by_class.coef_, by_sample.coef_)
    np.testing.assert_array_equal(by_class.intercept_, by_sample.intercept_)


def test_warm_start(cancer):
    X, y = cancer
    clf = MeasureClassifier(measure="prbep", alpha=1e-2, warm_start=True, tol=1e-5).fit(X, y)
    first = clf.n_iter_
    clf.set_params(alpha=0.9e-2).fit(X, y)
    cold = MeasureClassifier(measure="prbep", alpha=0.9e-2, tol=1e-5).fit(X, y)
    assert clf.result_.trace["objective"][0] < cold.result_.trace["objective"][0]
    assert clf.lower_bound_ <= cold.objective_
    assert first > 0


def test_solver_and_smoothing_objects(cancer):
    X, y = cancer
    for solver in (LBFGS(tol=1e-6, memory=6), Nesterov(tol=1e-4), BMRM(tol=1e-4)):
        clf = MeasureClassifier(alpha=1e-2, solver=solver).fit(X, y)
        assert clf.gap_ <= solver.tol
    fixed = MeasureClassifier(alpha=1e-2, smoothing=Fixed(deviation=1e-3)).fit(X, y)
    assert fixed.result_.smoothing * ROCArea().bind(y).diameter == pytest.approx(1e-3)
    number = MeasureClassifier(alpha=1e-2, smoothing=fixed.result_.smoothing).fit(X, y)
    np.testing.assert_array_equal(number.coef_, fixed.coef_)
    MeasureClassifier(alpha=1e-2, smoothing=Adaptive(deviation=0.1)).fit(X, y)


def test_pipeline_grid_search_clone_pickle(cancer):
    X, y = cancer
    search = GridSearchCV(
        make_pipeline(StandardScaler(), MeasureClassifier(measure="prbep")),
        {"measureclassifier__alpha": [1e-1, 1e-3], "measureclassifier__measure": ["prbep", ROCArea()]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.9
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert clone(again)[-1].get_params() == again[-1].get_params()


def test_convergence_warning_states_the_gap(cancer):
    X, y = cancer
    with pytest.warns(ConvergenceWarning, match=r"The gap reached is [\d.e+-]+, tol is 1e-09"):
        clf = MeasureClassifier(tol=1e-9, max_iter=3).fit(X, y)
    assert clf.gap_ > 1e-9


def test_verbose_and_callback(cancer, capsys):
    X, y = cancer
    seen = []
    MeasureClassifier(verbose=2, callback=seen.append).fit(X, y)
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == len(seen) + 1
    assert "The certified gap is within the tolerance." in lines[-1]
    with pytest.raises(NotFittedError):
        MeasureClassifier().predict(X)
    stopped = MeasureClassifier(callback=lambda row: row.iteration == 2).fit(X, y)
    assert stopped.n_iter_ == 2


SMALL_X, SMALL_Y = gaussians(5, 6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"measure": "brier"},
            r"measure must be one of 'prbep', 'roc_area', .* or a Measure object, got 'brier'",
        ),
        ({"measure": None}, r"measure must be one of .* got None"),
        ({"alpha": 0.0}, r"alpha must be a finite number above 0, got 0.0. It is the strength"),
        ({"alpha": -1.0}, r"alpha must be a finite number above 0, got -1.0"),
        ({"alpha": np.nan}, r"alpha must be a finite number above 0, got nan"),
        ({"alpha": "auto"}, r"alpha must be a finite number above 0, got 'auto'"),
        ({"tol": 0.0}, r"tol must be a finite number above 0, got 0.0"),
        ({"max_iter": 1.5}, r"max_iter must be a whole number of at least 0, got 1.5"),
        ({"solver": "adam"}, r"solver must be one of 'auto', 'lbfgs', 'nesterov', 'newton', 'bmrm', got 'adam'"),
        ({"solver": "newton"}, r"solver \"newton\" needs second derivatives of a form that 'roc_area' lacks"),
        ({"intercept_scaling": 0.0}, r"intercept_scaling must be a finite number above 0, got 0.0"),
        (
            {"smoothing": "none"},
            r'smoothing must be "adaptive", a number or a Smoothing object, got \'none\'',
        ),
        ({"smoothing": -1.0}, r"smoothing must be a finite number above 0, got -1.0"),
        ({"n_threads": 0}, r"n_threads must be a whole number of at least 1, got 0"),
        ({"n_threads": "two"}, r"n_threads must be a whole number of at least 1, got 'two'"),
        ({"n_threads": 1.5}, r"n_threads must be a whole number of at least 1, got 1.5"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        MeasureClassifier(**parameters).fit(SMALL_X, SMALL_Y)


def with_entry(value):
    X = SMALL_X.copy()
    X[3, 1] = value
    return X


@pytest.mark.parametrize(
    ("X", "y", "weights", "message"),
    [
        (np.zeros((0, 3)), np.zeros(0), None, r"0 sample\(s\)"),
        (with_entry(np.nan), SMALL_Y, None, r"Input X contains NaN"),
        (with_entry(np.inf), SMALL_Y, None, r"Input X contains infinity"),
        (sp.csr_matrix(with_entry(np.nan)), SMALL_Y, None, r"Input X contains NaN"),
        (
            SMALL_X,
            np.ones(11),
            None,
            r"y has one class only, all .*1.0.*: a measure needs positive and negative",
        ),
        (
            SMALL_X,
            np.arange(11) % 3,
            None,
            r"y must hold two kinds of labels; wrap the classifier in OneVsRest",
        ),
        (SMALL_X, SMALL_Y + 0.5 * np.arange(11), None, r"Unknown label type: continuous"),
        (SMALL_X, np.where(SMALL_Y > 0, np.nan, 0.0), None, r"Input y contains NaN"),
        (SMALL_X, SMALL_Y[:-1], None, r"X has 11 rows but y has 10 labels; they must match"),
        (SMALL_X, SMALL_Y, np.ones(10), r"sample_weight has 10 entries but there are 11 examples; they must match"),
        (SMALL_X, SMALL_Y, -np.ones(11), r"sample_weight must not be negative, got -1.0 at position 0"),
        (SMALL_X, SMALL_Y, np.zeros(11), r"sample_weight is 0 for every positive example"),
        (SMALL_X, SMALL_Y, np.where(SMALL_Y > 0, 1.0, 0.0), r"sample_weight is 0 for every negative example"),
        (
            SMALL_X,
            SMALL_Y,
            np.full(11, np.nan),
            r"sample_weight must be finite, got nan at position 0; remove or replace",
        ),
    ],
)
def test_bad_data(X, y, weights, message):
    with pytest.raises(ValueError, match=message):
        MeasureClassifier().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("features", [None, StandardScaler()])
def test_a_frame_with_a_column_twice(features):
    frame = pd.DataFrame(SMALL_X, columns=["age", "income", "age"])
    message = r"^X has 2 columns named 'age'; rename them, or leave all but one out\.$"
    clf = MeasureClassifier(alpha=1.0, features=features)
    with pytest.raises(ValueError, match=message):
        clf.fit(frame, SMALL_Y)
    clf.fit(frame.set_axis(["age", "income", "debt"], axis=1), SMALL_Y)
    with pytest.raises(ValueError, match=message):
        clf.score(frame, SMALL_Y)


def test_labels_in_messages_are_as_people_write_them():
    words = np.where(SMALL_Y > 0, "yes", "no")
    with pytest.raises(ValueError, match="y has one class only, all 'yes':"):
        MeasureClassifier().fit(SMALL_X, np.full(11, "yes"))
    with pytest.raises(ValueError, match="one of the labels, 'no' or 'yes', got 'maybe'"):
        MeasureClassifier(pos_label=np.str_("maybe")).fit(SMALL_X, words)
    clf = MeasureClassifier().fit(SMALL_X, words)
    with pytest.raises(ValueError, match="labels of fit, 'no' and 'yes', got 'maybe' at position 0"):
        clf.score(SMALL_X, np.append("maybe", words[1:]))


def test_bad_data_when_scoring():
    clf = MeasureClassifier().fit(SMALL_X, SMALL_Y)
    with pytest.raises(ValueError, match=r"X has 11 rows but y has shape \(5,\)"):
        clf.score(SMALL_X, SMALL_Y[:5])
    with pytest.raises(ValueError, match="y has one class only"):
        clf.score(SMALL_X, np.ones(11))
    with pytest.raises(ValueError, match="X has 2 features, but MeasureClassifier is expecting 3 features"):
        clf.predict(SMALL_X[:, :2])


def test_an_optimum_at_zero_is_said_to_be_one_and_predict_still_works():
    X = np.ones((10, 2))
    y = np.repeat([0, 1], 5)
    message = (
        r"At alpha=0.0001 the optimum is w = 0 within tol: .* at most [\d.e-]+ above .* tol is 0.001.*smaller alpha"
    )
    with pytest.warns(ZeroModelWarning, match=message):
        clf = MeasureClassifier(measure="prbep").fit(X, y)
    assert clf.objective_ == pytest.approx(1.0)
    assert clf.gap_ <= 1e-3
    assert set(clf.predict(X)) <= {0, 1}
    assert clf.score(X, y) == 0.5


@pytest.mark.parametrize("solver", ["lbfgs", "nesterov", "bmrm"])
def test_too_large_an_alpha_is_said_to_be_one(cancer, solver):
    X, y = cancer
    first = ROCArea().bind(y).exact(np.zeros(y.size))
    slope = X.T @ first.plane.gradient
    alpha = slope @ slope / 2e-3  # w = 0 is optimal within 1e-3 from here on
    with pytest.warns(ZeroModelWarning, match='train with measure="roc_area"'):
        clf = MeasureClassifier(alpha=1.001 * alpha, solver=solver).fit(X, y)
    assert set(clf.predict(X)) <= {0, 1}
    MeasureClassifier(alpha=alpha / 10, solver=solver).fit(X, y)  # says nothing


@pytest.mark.parametrize("n_threads", [None, 1, 2, np.int64(1)])
def test_number_of_threads(cancer, n_threads):
    X, y = cancer
    clf = MeasureClassifier(alpha=1e-2, n_threads=n_threads).fit(X, y)
    np.testing.assert_allclose(clf.coef_, MeasureClassifier(alpha=1e-2).fit(X, y).coef_, rtol=1e-6)


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_matrix, np.ascontiguousarray])
def test_scores_of_single_precision_are_double_precision_sums_without_a_copy(make):
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(60_000, 100)).astype(np.float32)
    y = (dense[:, 0] > 0).astype(int)
    clf = MeasureClassifier(alpha=1.0).fit(dense[:500], y[:500])
    X = make(dense)
    tracemalloc.start()
    scores = clf.decision_function(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_allclose(scores, dense.astype(np.float64) @ clf.coef_[0] + clf.intercept_, rtol=0, atol=1e-12)
    assert peak < 8 * dense.size * 0.5  # a float64 copy would take twice that


def test_a_fitted_model_is_small(cancer):
    X, y = cancer
    many, labels = np.tile(X, (20, 1)), np.tile(y, 20)
    clf = MeasureClassifier(alpha=1e-2).fit(many, labels)
    assert clf.result_.scores is None
    assert clf.result_.planes is None
    assert len(pickle.dumps(clf)) < 20_000 < many.nbytes // 100


@pytest.mark.parametrize(
    "model", [MeasureClassifier("prbep", alpha=1e-2), MeasureClassifierCV("prbep", n_alphas=3, cv=2)]
)
def test_what_is_saved_comes_back_as_a_classifier_with_its_alpha(cancer, model, tmp_path):
    X, y = cancer
    with pytest.raises(NotFittedError):
        clone(model).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    frame = pd.DataFrame(X, columns=[f"feature {i}" for i in range(30)])
    labels = np.where(y == 1, "benign", "malignant")
    model = clone(model).fit(frame, labels)
    model.set_operating_point(frame, labels, k=7)
    model.save(tmp_path / "model")
    loaded = smoothperf.load(tmp_path / "model")
    assert type(loaded) is MeasureClassifier
    assert loaded.measure == "prbep"
    assert loaded.alpha == getattr(model, "alpha_", 1e-2)
    for name in ("objective_", "lower_bound_", "gap_", "n_iter_", "n_features_in_"):
        assert getattr(loaded, name) == getattr(model, name), name
    for name in ("classes_", "coef_", "intercept_", "feature_names_in_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name), err_msg=name)
    assert list(loaded.result_.trace) == list(model.result_.trace)
    np.testing.assert_array_equal(loaded.decision_function(frame), model.decision_function(frame))
    assert (loaded.predict(frame) == "malignant").sum() == 7
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
