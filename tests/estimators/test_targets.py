"""set_operating_point: the threshold that was asked for, however scores are tied."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import gaussians
from smoothperf import MeasureClassifier
from smoothperf.targets import threshold_for_target

examples = st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=1, max_size=12)
shares = st.sampled_from([0.01, 0.1, 0.25, 0.29, 1 / 3, 0.5, 0.6, 2 / 3, 0.7, 0.75, 0.8, 0.9, 1.0])
searching = settings(deadline=None, max_examples=300, derandomize=True)


def outcomes(positive, scores):
    """(predicted positives, true positives among them) for every cut with at least one predicted positive."""
    return [(int((scores >= cut).sum()), int((positive & (scores >= cut)).sum())) for cut in np.unique(scores)]


def arrays(pairs):
    positive, scores = zip(*pairs, strict=True)
    return np.array(positive), np.array(scores, dtype=float)


def predicted(scores, threshold):
    return int((scores > threshold).sum())


@searching
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


@searching
@given(pairs=examples, target=shares)
def test_recall(pairs, target):
    positive, scores = arrays(pairs)
    if not positive.any():
        with pytest.raises(ValueError, match="y has no positive example"):
            threshold_for_target(positive, scores, recall=target)
        return
    good = [count for count, hits in outcomes(positive, scores) if hits / positive.sum() >= target]
    assert predicted(scores, threshold_for_target(positive, scores, recall=target)) == min(good)


@searching
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


@pytest.mark.parametrize(
    "target", [{"precision": 0.9}, {"recall": 0.8}, {"recall": 1.0}, {"k": 10}, {"k": 100}, {"rate": 0.05}], ids=str
)
def test_predict_meets_the_target_and_can_be_moved_again(clf, target):
    X_new, y_new = X[1::2], Y[1::2]
    before = clf.coef_.copy()
    for _ in range(3):  # from wherever the threshold is
        scores = clf.decision_function(X_new)
        assert clf.set_operating_point(y_new, scores, **target) is clf
        positive = clf.predict(X_new) == 1
        if "precision" in target:
            assert (y_new[positive] == 1).mean() >= 0.9
            more = np.sort(clf.decision_function(X_new))[::-1]
            hits = np.cumsum(y_new[np.argsort(-clf.decision_function(X_new))] == 1) / np.arange(1, more.size + 1)
            assert positive.sum() == np.flatnonzero(hits >= 0.9).max() + 1
        elif "recall" in target:
            assert positive[y_new == 1].mean() >= target["recall"]
            lowest = clf.decision_function(X_new)[positive].argmin()
            assert y_new[positive][lowest] == 1  # without it, too few
        else:
            assert positive.sum() == target.get("k", 5)
    np.testing.assert_array_equal(clf.coef_, before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"give exactly one of precision, recall, fpr, k and rate; got none"),
        ({"k": 3, "rate": 0.1}, r"give exactly one of .*; got k=3, rate=0.1"),
        ({"precision": 0.0}, r"precision must be a finite number above 0, got 0.0"),
        ({"precision": 90}, r"precision must lie above 0 and not above 1, got 90; a percentage is divided by 100"),
        ({"recall": 1.5}, r"recall must lie above 0 and not above 1, got 1.5"),
        ({"recall": "high"}, r"recall must be a finite number above 0, got 'high'"),
        ({"k": 0}, r"k must be a whole number of at least 1, got 0"),
        ({"k": 2.5}, r"k must be a whole number of at least 1, got 2.5"),
        ({"rate": np.nan}, r"rate must be a finite number above 0, got nan"),
    ],
)
def test_bad_targets(clf, arguments, message):
    intercept = clf.intercept_.copy()
    with pytest.raises(ValueError, match=message):
        clf.set_operating_point(Y, clf.decision_function(X), **arguments)
    np.testing.assert_array_equal(clf.intercept_, intercept)


def test_bad_validation_data(clf):
    scores = clf.decision_function(X)
    with pytest.raises(ValueError, match=r"y has shape \(199,\) but scores have \(200,\)"):
        clf.set_operating_point(Y[1:], scores, k=1)
    with pytest.raises(ValueError, match="y must hold the labels of fit"):
        clf.set_operating_point(np.where(Y > 0, "a", "b"), scores, k=1)
    with pytest.raises(ValueError, match="scores must be finite, got nan at position 0"):
        clf.set_operating_point(Y, np.full(200, np.nan), k=1)
    with pytest.raises(ValueError, match="scores are empty"):
        clf.set_operating_point([], [], k=1)
    negatives = Y < 0
    with pytest.raises(ValueError, match="y has no positive example"):
        clf.set_operating_point(Y[negatives], scores[negatives], precision=0.5)
    clf.set_operating_point(Y[negatives], scores[negatives], rate=0.1)  # which needs none
