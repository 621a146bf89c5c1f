"""The cut of a choice where held-out rows do not say where to cut."""

import warnings

import numpy as np
import pytest

from smoothperf import MeasureClassifierCV

SAFE = {"bound": [("log_loss", "convex")], "n_alphas": 2}
NEW = np.random.default_rng(9).normal(size=(2000, 4))


def rows(positives, shift, n=600, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 4)), np.arange(n) < positives
    X[y, 0] += shift
    return X, y


@pytest.mark.parametrize("measure", ["f1", "jaccard", "mcc"])
def test_few_positives_that_tell_nothing_do_not_fill_a_list(measure):
    with pytest.warns(UserWarning, match=f"With 6 positives no cut of the held-out rows is better by {measure} than"):
        clf = MeasureClassifierCV(measure, **SAFE).fit(*rows(6, 0.0))
    assert clf.predict(NEW).mean() < 0.1


@pytest.mark.parametrize(("measure", "positives", "shift"), [("f1", 12, 5.0), ("f1", 250, 0.0), ("error_rate", 6, 0.0)])
def test_the_best_cut_stays_where_it_tells_something_or_nothing_may_be_found(measure, positives, shift):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        clf = MeasureClassifierCV(measure, **SAFE).fit(*rows(positives, shift))
    assert clf.predict(NEW).mean() < 0.1 or positives == 250


def test_copies_of_rows_and_weights_count_the_same():
    X, y = rows(12, 5.0)
    split = [(np.arange(0, 600, 2), np.arange(1, 600, 2))]
    cuts = [
        MeasureClassifierCV("f1", **SAFE, cv=split).fit(X, y, weight).intercept_[0]
        for weight in (None, np.full(600, 2.0))
    ]
    assert cuts[0] == pytest.approx(cuts[1], rel=1e-6)


@pytest.mark.parametrize("measure", ["f1", "jaccard", "mcc"])
@pytest.mark.parametrize("positives", [2, 5, 14])
def test_with_very_few_positives_as_many_are_found_as_there_are(measure, positives):
    X, y = rows(positives, 2.0, n=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        clf = MeasureClassifierCV(measure, **SAFE, cv=2)
        held_out = clf._fit(X, y)
    called = held_out.raw_scores > -clf.intercept_[0]
    assert called.sum() <= 3 * positives  # folds are drawn three times, of which this is one
    assert clf.predict(NEW).mean() <= 0.05


def test_recall_may_ask_for_more():
    X, y = rows(10, 3.0)
    counts = [int(MeasureClassifierCV(name, **SAFE, cv=2).fit(X, y).predict(X).sum()) for name in ("f2", "f1")]
    assert counts[0] > counts[1]
