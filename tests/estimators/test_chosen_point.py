"""MeasureClassifierCV at an operating point of one's own; what it tells on the way, and what it leaves in a file."""

from __future__ import annotations

import numpy as np
import pytest

import smoothperf
from problems import gaussians
from smoothperf import MeasureClassifierCV

X, Y = gaussians(150, 350, 6, shift=1.0, seed=3)
SAFE = [("log_loss", "convex")]


def fitted(**parameters):
    return MeasureClassifierCV("prbep", bound=SAFE, n_alphas=3, cv=2, **parameters).fit(X, Y)


@pytest.mark.parametrize("point", [{"precision": 0.7}, {"recall": 0.6}, {"fpr": 0.2, "confidence": 0.8}])
@pytest.mark.parametrize("pos_label", [None, -1])
def test_targets_are_met_on_held_out_rows(point, pos_label):
    clf = fitted(operating_point=point, pos_label=pos_label)
    name, wanted = next(iter(point.items()))
    found = clf.expected_[name]
    assert clf.expected_["confidence"] == point.get("confidence", 0.9)
    assert clf.expected_["rows"] == 500
    assert found["high"] <= wanted if name == "fpr" else found["low"] >= wanted
    # The threshold is one for scores of the final model, whose weights do not know of it.
    np.testing.assert_array_equal(clf.coef_, fitted(pos_label=pos_label).coef_)
    predicted, positive = clf.predict(X) == clf.pos_label_, clf.pos_label_ == Y
    here = {
        "precision": positive[predicted].mean(),
        "recall": predicted[positive].mean(),
        "fpr": predicted[~positive].mean(),
    }
    assert here[name] == pytest.approx(found["value"], abs=0.05)


def test_counts_are_of_all_rows():
    for cv, rows, count in ((2, 500, 80), (0.25, 125, 20)):
        clf = MeasureClassifierCV(bound=SAFE, n_alphas=2, cv=cv, operating_point={"k": 80}).fit(X, Y)
        assert clf.expected_["rows"] == rows
        hits = clf.expected_["recall"]["value"] * 0.3 * rows
        assert hits / clf.expected_["precision"]["value"] == pytest.approx(count, rel=0.05)
    share = fitted(operating_point={"rate": 0.16})
    assert share.intercept_ == fitted(operating_point={"k": 80}).intercept_


def test_goals_say_what_to_expect():
    clf = MeasureClassifierCV("recall@fpr=0.2", bound=SAFE, n_alphas=3, cv=2).fit(X, Y)
    assert clf.expected_["fpr"]["high"] <= 0.2
    assert not hasattr(fitted(), "expected_")
    assert not hasattr(clf.set_params(measure="prbep").fit(X, Y), "expected_")  # which was of the fit before


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ({}, r"operating_point must have exactly one of precision, recall, fpr, k, rate, and perhaps confidence, got"),
        ({"recall": 0.9, "k": 3}, "operating_point must have exactly one"),
        ({"specificity": 0.9}, "operating_point must have exactly one"),
        ({"k": 0}, "k must be a whole number of at least 1, got 0"),
        ({"k": 100_000}, r"k=100000 is more than the \d+ rows there are; give a smaller k, or rate, a share"),
        ({"precision": 90}, "precision must lie above 0 and not above 1, got 90"),
        ({"recall": 0.9, "confidence": 2}, "confidence must lie between 0 and 1, got 2"),
    ],
)
def test_impossible_points_are_refused_before_the_work(point, message):
    def never(step):
        pytest.fail("training has begun")

    with pytest.raises(ValueError, match=message):
        fitted(operating_point=point, progress=never)


def test_progress_is_told_before_every_model():
    steps = []
    clf = fitted(progress=steps.append)
    assert str(steps[0]) == f"split 1 of 6: log_loss, convex, alpha {steps[0].alpha:.3g}"
    assert [step.split for step in steps] == sorted(step.split for step in steps)
    tried = {step.alpha for step in steps}
    assert tried >= {params["alpha"] for params in clf.cv_results_["params"][:1]}


def test_progress_names_measures_as_users_do():
    lines = []
    clf = MeasureClassifierCV(
        "precision@7", bound="tight", n_alphas=2, cv=2, progress=lambda step: lines.append(f"{step}")
    )
    clf.fit(X, Y)
    assert lines
    assert all("precision@7, tight" in line for line in lines)


def test_what_progress_raises_ends_the_choice():
    def interrupt(step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(progress=interrupt)


def test_files_keep_what_was_trained_with_and_probabilities(tmp_path):
    clf = fitted(calibration="sigmoid", operating_point={"rate": 0.2})
    clf.save(tmp_path / "model")
    loaded = smoothperf.load(tmp_path / "model")
    assert (loaded.measure, loaded.alpha, loaded.trained_for_) == ("prbep", clf.alpha_, clf.trained_for_)
    assert loaded.expected_ == clf.expected_
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), clf.predict(X))
