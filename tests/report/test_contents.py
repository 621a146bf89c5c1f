"""The numbers of a report against the model and scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    f1_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from problems import TunedError
from smoothperf import PRBEP, MeasureClassifier
from smoothperf.evaluation import resamples
from smoothperf.optimise import LBFGS, Status, Trace, TraceRow
from smoothperf.report import gather, render_report
from smoothperf.report.labels import BINS, _raw_thresholds
from smoothperf.report.thinning import separating_thresholds
from smoothperf.report.training import TRACE_COLUMNS, traced


def test_counts_are_exact_at_every_threshold(fitted, judged, contents):
    X, y = judged
    scores = fitted.decision_function(X)
    curve = contents.curve
    for threshold, tp, fp in zip(curve.thresholds, curve.tp, curve.fp, strict=True):
        called = scores > threshold
        assert (tp, fp) == ((called & (y == "spam")).sum(), (called & (y == "ham")).sum())


def test_operating_point_is_predict(fitted, judged, contents):
    X, y = judged
    at = contents.curve.operating_point
    table = confusion_matrix(y, fitted.predict(X), labels=["spam", "ham"])
    assert contents.curve.tp[at] == table[0, 0]
    assert contents.curve.fp[at] == table[1, 0]
    assert contents.curve.thresholds[at] == 0.0


def test_marks(fitted, judged, contents):
    X, y = judged
    scores, curve = fitted.decision_function(X), contents.curve
    assert curve.tp[curve.break_even] + curve.fp[curve.break_even] == contents.n_positive == (y == "spam").sum()
    precision, recall, _ = precision_recall_curve(y == "spam", scores)
    best = (2.0 * precision * recall / np.maximum(precision + recall, 1e-300)).max()
    assert f1_score(y == "spam", scores > curve.thresholds[curve.best_f1]) == pytest.approx(best)


def test_measures_and_intervals(fitted, judged, contents):
    X, y = judged
    positive, scores = y == "spam", fitted.decision_function(X)
    values = {name: value for name, (value, _, _) in contents.measures.items()}
    assert values == pytest.approx(
        {
            "prbep": PRBEP().score(positive, scores),
            "roc_area": roc_auc_score(positive, scores),
            "average_precision": average_precision_score(positive, scores),
        }
    )
    for value, low, high in contents.measures.values():
        assert low < value < high
        assert high - low < 0.3
    again = gather(fitted, X, y, model_name="spam.model", data_name="mails.csv", n_resamples=50)
    assert again.measures == contents.measures
    assert gather(fitted, X, y, n_resamples=50, seed=1).measures != contents.measures


def test_training_is_what_the_model_says(fitted, contents):
    training = contents.training
    assert (training.measure, training.solver, training.alpha, training.tol) == ("prbep", "lbfgs", 1e-3, 1e-3)
    assert (training.objective, training.lower_bound, training.gap) == (
        fitted.objective_,
        fitted.lower_bound_,
        fitted.gap_,
    )
    assert training.passes == fitted.result_.n_matvec + fitted.result_.n_rmatvec
    assert training.converged
    assert training.status == Status.CONVERGED.value
    assert (np.diff(training.trace["objective"]) <= 0.0).all()
    assert contents.classes == ("ham", "spam")


def test_objects_for_measure_and_solver_have_names(judged):
    X, y = judged
    model = MeasureClassifier(PRBEP(), alpha=1e-3, solver=LBFGS(tol=1e-2)).fit(X, y)
    training = gather(model, X, y, n_resamples=1).training
    assert (training.measure, training.solver) == ("prbep", "lbfgs")


@pytest.mark.parametrize(
    ("measure", "tile"),
    [
        ("precision@120", "Precision@120"),
        ("roc_area@0.7", "ROC area@0.7"),
        ("error_rate", "Accuracy, own threshold"),
        (TunedError(), "Tuned, own threshold"),
    ],
    ids=str,
)
def test_what_was_trained_for_is_shown(judged, measure, tile):
    X, y = judged
    model = MeasureClassifier(measure, alpha=1e-3).fit(X, y)
    contents = gather(model, X, y, n_resamples=10)
    name = contents.training.measure
    value, low, high = contents.measures[name]
    assert value == pytest.approx(model.score(X, y))
    assert low <= high
    assert list(contents.measures)[1:] == ["prbep", "roc_area", "average_precision"]
    assert f'<p class="name">{tile}</p><p class="value">{value:.4f}</p>' in render_report(contents)


def test_raw_thresholds_cut_alike(fitted, judged, contents):
    X, y = judged
    raw = fitted.raw_scores(X)
    curve = contents.curve
    for threshold, tp, fp in zip(curve.raw_thresholds, curve.tp, curve.fp, strict=True):
        called = raw > threshold
        assert (tp, fp) == ((called & (y == "spam")).sum(), (called & (y == "ham")).sum())


def test_raw_thresholds_cut_alike_where_rounding_would_not():
    # Adding the shift makes neighbours of very different sizes equal, or moves a threshold past them.
    for shift in (1e8, -1e8, 0.1):
        raw = np.sort(np.random.default_rng(0).standard_normal(200) * 1e-7)
        scores = raw + shift
        levels = np.unique(scores)[::-1]
        thresholds = separating_thresholds(levels, np.arange(levels.size + 1))
        for threshold, moved in zip(thresholds, _raw_thresholds(thresholds, raw, shift), strict=True):
            np.testing.assert_array_equal(scores > threshold, raw > moved)


def test_bands_hold_the_curves_of_resamples(fitted, judged):
    """Against the same, resample by resample, from rows that are drawn out and sorted anew."""
    X, y = judged
    found = gather(fitted, X, y, n_resamples=20)
    precisions, recalls = [], []
    for draw in resamples(y == "spam", 20, 0):
        rows = np.repeat(np.arange(y.size), draw.astype(int))
        positive, scores = (y == "spam")[rows], fitted.decision_function(X[rows])
        fpr, tpr, _ = roc_curve(positive, scores, drop_intermediate=False)
        recalls.append([tpr[fpr <= rate + 1e-12].max() for rate in found.recall_band.places])
        precision, recall, _ = precision_recall_curve(positive, scores)
        precisions.append([precision[np.flatnonzero(recall >= r - 1e-12)[-1]] for r in found.precision_band.places])
    for band, heights in ((found.precision_band, precisions), (found.recall_band, recalls)):
        np.testing.assert_allclose(band.low, np.quantile(heights, 0.025, axis=0))
        np.testing.assert_allclose(band.high, np.quantile(heights, 0.975, axis=0))
    assert found.recall_band.places[1] < 0.01


@pytest.mark.parametrize(
    "form", [np.asarray, sp.csr_matrix, sp.csc_array, np.float32], ids=["dense", "csr", "csc", "f4"]
)
def test_weights_are_weight_times_spread(judged, form):
    X, y = judged
    X = np.column_stack([X, np.full(X.shape[0], 3.0), X[:, 0] > 1])
    model = MeasureClassifier(alpha=1e-3).fit(X, y)
    weights = gather(model, form(X), y, n_resamples=1).weights
    contributions = model.coef_[0] * X.std(axis=0)
    order = np.argsort(-np.abs(contributions))[:3]  # one of four has no spread
    assert weights.names == [f"column {i}" for i in order]
    np.testing.assert_allclose(weights.contributions, contributions[order], rtol=1e-5)
    np.testing.assert_allclose(weights.total, np.abs(contributions).sum(), rtol=1e-5)
    assert (weights.n_features, weights.intercept) == (4, model.intercept_[0])


def test_many_features_are_named_only_where_they_matter(judged):
    X, y = judged
    wide = sp.csr_matrix(sp.hstack([sp.csr_matrix((y.size, 10**6)), sp.csr_matrix(X)]))
    model = MeasureClassifier(alpha=1e-3).fit(wide, y)
    weights = gather(model, wide, y, n_resamples=1, feature_names=range(10**6 + 2)).weights
    assert sorted(weights.names) == ["1000000", "1000001"]
    assert (weights.n_used, weights.n_features) == (2, 10**6 + 2)


def test_histogram_counts_everyone_once(judged, contents):
    histogram = contents.histogram
    assert histogram.edges.size == BINS + 1
    assert histogram.positive.sum() == contents.n_positive
    assert histogram.negative.sum() == contents.n_negative


def test_an_outlier_does_not_flatten_the_histogram(fitted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000, 2))
    X[0] = 1e9 * fitted.coef_[0]
    y = np.where(np.arange(10_000) % 2, "spam", "ham")
    histogram = gather(fitted, X, y, n_resamples=1).histogram
    assert histogram.edges[-1] < 100
    assert 1 <= histogram.beyond <= 20
    assert histogram.negative[-1] >= 1


def test_equal_scores_are_fine(fitted):
    contents = gather(fitted, np.zeros((4, 2)), np.array(["ham", "spam", "spam", "ham"]), n_resamples=2)
    assert contents.curve.tp == [0, 2]
    assert contents.histogram.positive.sum() == 2
    assert contents.measures["roc_area"][0] == 0.5


def test_long_traces_are_thinned_and_keep_their_ends():
    rows = [
        TraceRow(i, i / 1e3, 2 * i + 1, 1.0 + (i % 2), 0.0, -1.0 / (i + 1), 1.0 / (i + 1) + 1.0, 0.0)
        for i in range(20_000)
    ]
    thinned = traced(Trace(rows))
    assert thinned["passes"].size <= 4 * TRACE_COLUMNS
    assert thinned["passes"][[0, -1]].tolist() == [1, 39_999]
    assert thinned["gap"][0] == 2.0
    assert (thinned["objective"] == 1.0).all()  # the best so far, not the last
    short = traced(Trace(rows[:10]))
    assert short["passes"].size == 10


def test_a_missed_tolerance_is_known(fitted, judged):
    model = MeasureClassifier("prbep", alpha=1e-3, max_iter=2, callback=lambda row: row.iteration == 1)
    X, y = judged
    contents = gather(model.fit(X, y), X, y, n_resamples=1)
    assert not contents.training.converged
    assert contents.training.status == Status.STOPPED.value
    assert replace(contents.training, converged=True) != contents.training
