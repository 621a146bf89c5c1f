"""set_operating_point: the threshold that was asked for, however scores are tied."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import smoothperf
from problems import gaussians, searching
from smoothperf import MeasureClassifier
from smoothperf.cuts.targets import threshold_for_target
from smoothperf.io import convert

examples = st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=1, max_size=12)
shares = st.sampled_from([0.01, 0.1, 0.25, 0.29, 1 / 3, 0.5, 0.6, 2 / 3, 0.7, 0.75, 0.8, 0.9, 1.0])


def outcomes(positive, scores):
    """(predicted positives, true positives among them) for every cut with at least one predicted positive."""
    return [(int((scores >= cut).sum()), int((positive & (scores >= cut)).sum())) for cut in np.unique(scores)]


def arrays(pairs):
    positive, scores = zip(*pairs, strict=True)
    return np.array(positive), np.array(scores, dtype=float)


def predicted(scores, threshold):
    return int((scores > threshold).sum())


@searching(60)
@given(pairs=examples, target=shares)
def test_precision(pairs, target):
    positive, scores = arrays(pairs)
    good = [count for count, hits in outcomes(positive, scores) if hits / count >= target]
    if good:
        assert predicted(scores, threshold_for_target(positive, scores, precision=target)) == max(good)
    elif positive.any():
        best = max(hits / count for count, hits in outcomes(positive, scores))
        with pytest.raises(ValueError, match=f"the highest precision on these examples is {best:.4g}"):
            threshold_for_target(positive, scores, precision=target)


@searching(60)
@given(pairs=examples, target=shares)
def test_recall(pairs, target):
    positive, scores = arrays(pairs)
    if not positive.any():
        with pytest.raises(ValueError, match="y has no positive example"):
            threshold_for_target(positive, scores, recall=target)
        return
    good = [count for count, hits in outcomes(positive, scores) if hits / positive.sum() >= target]
    assert predicted(scores, threshold_for_target(positive, scores, recall=target)) == min(good)


@searching(60)
@given(pairs=examples, k=st.integers(1, 15))
def test_number_and_rate(pairs, k):
    positive, scores = arrays(pairs)
    possible = [count for count, _ in outcomes(positive, scores) if count <= k]
    if possible:
        assert predicted(scores, threshold_for_target(positive, scores, k=k)) == max(possible)
        if k <= len(pairs):
            assert predicted(scores, threshold_for_target(positive, scores, rate=k / len(pairs))) == max(possible)
    else:
        with pytest.raises(ValueError, match=rf"k={k} cannot be realised: the \d+ highest scores are equal"):
            threshold_for_target(positive, scores, k=k)
        with pytest.raises(ValueError, match=r"rate=.* cannot be realised: the \d+ highest scores are equal"):
            threshold_for_target(positive, scores, rate=k / len(pairs))


def test_a_rate_is_a_decimal_number():
    """0.29 * 100 is below 29 in floating point, but 29 of 100 is a rate of 0.29."""
    scores = np.arange(100.0)
    for count in range(1, 101):
        threshold = threshold_for_target(scores > 50, scores, rate=float(f"{count / 100:.2f}"))
        assert predicted(scores, threshold) == count


def test_a_rate_below_one_example():
    with pytest.raises(ValueError, match=r"rate=0.01 is less than one example of 5; use a larger rate"):
        threshold_for_target(np.ones(5, dtype=bool), np.arange(5.0), rate=0.01)


X, Y = gaussians(60, 140, 4, seed=2)


@pytest.fixture
def clf():
    return MeasureClassifier(alpha=1e-2).fit(X[::2], Y[::2])


@searching(60)
@given(pairs=examples, target=shares)
def test_false_positive_rate(pairs, target):
    positive, scores = arrays(pairs)
    if positive.all():
        with pytest.raises(ValueError, match="y has no negative example"):
            threshold_for_target(positive, scores, fpr=target)
        return
    allowed = [count for count, hits in outcomes(positive, scores) if (count - hits) / (~positive).sum() <= target]
    assert predicted(scores, threshold_for_target(positive, scores, fpr=target)) == max(allowed, default=0)


TARGETS = [
    {"precision": 0.9, "confidence": None},
    {"precision": 0.5},
    {"recall": 0.8},
    {"recall": 1.0, "confidence": None},
    {"fpr": 0.1},
    {"fpr": 0.05, "confidence": None},
    {"k": 10},
    {"k": 100},
    {"rate": 0.05},
    {"threshold": 0.25},
]


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_predict_meets_the_target_wherever_the_threshold_was(clf, target):
    X_new, y_new = X[1::2], Y[1::2]
    before = clf.coef_.copy()
    found = []
    for start in (0.0, 100.0, None):  # the last from where it is
        if start is not None:
            clf.intercept_ = np.array([start])
        assert clf.set_operating_point(X_new, y_new, **target) is clf
        found.append((clf.intercept_.copy(), clf.expected_))
    again = clf.set_operating_point(y=y_new, raw_scores=clf.raw_scores(X_new), **target)
    found.append((again.intercept_, again.expected_))
    assert all(found[0] == other for other in found[1:])
    np.testing.assert_array_equal(clf.coef_, before)

    positive = clf.predict(X_new) == 1
    rates = {
        "precision": (y_new[positive] == 1).mean(),
        "recall": positive[y_new == 1].mean(),
        "fpr": positive[y_new == -1].mean(),
    }
    for name, rate in rates.items():
        told = clf.expected_[name]
        assert told["value"] == rate
        assert told["low"] <= rate <= told["high"]
        if name in target:
            promised = "confidence" not in target
            if name == "fpr":
                assert (told["high"] if promised else rate) <= target[name]
            else:
                assert (told["low"] if promised else rate) >= target[name]
    if "k" in target or "rate" in target:
        assert positive.sum() == target.get("k", 5)
    if "threshold" in target:
        np.testing.assert_array_equal(positive, clf.raw_scores(X_new) > 0.25)


def test_a_threshold_needs_no_rows(clf):
    clf.set_operating_point(X, Y, k=5).set_operating_point(threshold=2.0)
    assert clf.intercept_ == [-2.0]
    assert not hasattr(clf, "expected_")


def test_what_is_expected_is_of_this_fit_and_is_kept_in_files(clf, tmp_path):
    clf.set_operating_point(X, Y, recall=0.8)
    clf.save(tmp_path / "model")
    assert smoothperf.load(tmp_path / "model").expected_ == clf.expected_
    assert clf.expected_["rows"] == 200
    assert not hasattr(clf.fit(X, Y), "expected_")


def test_weights(clf):
    weights = np.where(Y > 0, 3.0, 1.0)
    clf.set_operating_point(X, Y, precision=0.9, confidence=None, sample_weight=weights)
    positive = clf.predict(X) == 1
    assert np.average(Y[positive] == 1, weights=weights[positive]) >= 0.9
    assert (Y[positive] == 1).mean() < 0.9
    with pytest.raises(ValueError, match=r"sample_weight must not be negative, got -1.0 at position 0"):
        clf.set_operating_point(X, Y, k=3, sample_weight=-np.ones(200))


def test_stores_bring_their_labels(clf, tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=Y)
    store = convert(tmp_path / "data.npz", tmp_path / "data.store")
    clf.set_operating_point(X, Y, recall=0.8)
    intercept = clf.intercept_
    assert clf.set_operating_point(store, recall=0.8).intercept_ == pytest.approx(intercept, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"give exactly one of precision, recall, fpr, k, rate and threshold; got none"),
        ({"k": 3, "rate": 0.1}, r"give exactly one of .*; got k=3, rate=0.1"),
        ({"precision": 0.0}, r"precision must be a finite number above 0, got 0.0"),
        ({"precision": 90}, r"precision must lie above 0 and not above 1, got 90; a percentage is divided by 100"),
        ({"recall": 1.5}, r"recall must lie above 0 and not above 1, got 1.5"),
        ({"recall": "high"}, r"recall must be a finite number above 0, got 'high'"),
        ({"recall": 0.5, "confidence": 95}, r"confidence must lie between 0 and 1, got 95"),
        (
            {"recall": 0.9999},
            r"recall=0.9999 cannot be promised for new rows with confidence 0.9, given these 60",
        ),
        ({"k": 0}, r"k must be a whole number of at least 1, got 0"),
        ({"k": 2.5}, r"k must be a whole number of at least 1, got 2.5"),
        ({"rate": np.nan}, r"rate must be a finite number above 0, got nan"),
        ({"threshold": np.inf}, r"threshold must be finite, got inf"),
    ],
)
def test_bad_targets(clf, arguments, message):
    intercept = clf.intercept_.copy()
    with pytest.raises(ValueError, match=message):
        clf.set_operating_point(X, Y, **arguments)
    np.testing.assert_array_equal(clf.intercept_, intercept)


def test_bad_validation_data(clf):
    scores = clf.raw_scores(X)
    with pytest.raises(ValueError, match=r"X has 200 rows but y has shape \(199,\)"):
        clf.set_operating_point(X, Y[1:], k=1)
    with pytest.raises(ValueError, match="y must hold the labels of fit"):
        clf.set_operating_point(X, np.where(Y > 0, "a", "b"), k=1)
    with pytest.raises(ValueError, match="raw_scores must be finite, got nan at position 0"):
        clf.set_operating_point(y=Y, raw_scores=np.full(200, np.nan), k=1)
    with pytest.raises(ValueError, match="raw_scores are empty"):
        clf.set_operating_point(y=[], raw_scores=[], k=1)
    with pytest.raises(ValueError, match="give the rows as X or their raw_scores, one of them"):
        clf.set_operating_point(X, Y, raw_scores=scores, k=1)
    with pytest.raises(ValueError, match="y is None: labels are needed"):
        clf.set_operating_point(X, k=1)
    negatives = Y < 0
    with pytest.raises(ValueError, match="y has no positive example"):
        clf.set_operating_point(X[negatives], Y[negatives], precision=0.5)
    clf.set_operating_point(X[negatives], Y[negatives], rate=0.1)  # which needs none
    assert np.isnan(clf.expected_["recall"]["value"])


@pytest.mark.parametrize("of", [np.asarray, list])
def test_labels_in_the_place_of_rows(clf, of):
    with pytest.raises(ValueError, match=r"X must be rows of features, got a vector: call set_operating_point\(X, y"):
        clf.set_operating_point(of(Y), of(clf.decision_function(X)), k=1)
