"""Targets that are promised: the binomial bounds, and that new rows keep what was promised as often as was said."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from smoothperf.cuts.confidence import bounds, chance_of_as_few, chance_of_as_many, checked_confidence, effective_number
from smoothperf.cuts.targets import TargetError, threshold_for_target


def test_chances_are_those_of_the_binomial_distribution():
    for n in (1, 2, 7, 40):
        hits = np.arange(n + 1)
        for rate in (0.05, 0.5, 0.93):
            np.testing.assert_allclose(chance_of_as_many(hits, n, rate), binom.sf(hits - 1, n, rate), rtol=1e-10)
            np.testing.assert_allclose(chance_of_as_few(hits, n, rate), binom.cdf(hits, n, rate), rtol=1e-10)


def test_bounds_are_where_the_chance_is_delta():
    for hits, n in ((0, 5), (1, 5), (4, 5), (5, 5), (90, 100), (2.5, 7.3)):
        low, high = bounds(hits, n, 0.95)
        assert low <= hits / n <= high
        assert (low == 0.0) == (hits == 0)
        assert (high == 1.0) == (hits == n)
        if hits > 0:
            assert chance_of_as_many(hits, n, low) == pytest.approx(0.05)
        if hits < n:
            assert chance_of_as_few(hits, n, high) == pytest.approx(0.05)


def test_effective_numbers():
    assert effective_number(6.0, 12.0) == 3.0  # three rows of weight 2
    assert effective_number(0.0, 0.0) == 0.0
    assert effective_number(4.0, 10.0) < 2.0  # weights 1 and 3


@pytest.mark.parametrize("value", [0.0, 1.0, -1, 90, "high", np.nan, True])
def test_bad_confidences(value):
    with pytest.raises(ValueError, match=r"confidence must .*, got .* [Uu]se None to ask for no promise"):
        checked_confidence(value)


PREVALENCE, SHIFT = 0.3, 1.5


def drawn(rng, n, digits=None):
    """Rows whose scores are normal, positives higher; scores of few digits are tied."""
    positive = rng.random(n) < PREVALENCE
    scores = rng.normal(size=n) + SHIFT * positive
    return positive, scores if digits is None else np.round(scores, digits)


def truth(threshold, digits=None):
    """Precision, recall and false positive rate on new rows, known in closed form."""
    if digits is not None:  # rounded scores exceed a threshold if scores exceed the next number that rounds down to it
        step = 10.0**-digits
        threshold = (np.floor(threshold / step + 1e-9) + 0.5) * step
    recall, fpr = norm.sf(threshold - SHIFT), norm.sf(threshold)
    found = PREVALENCE * recall
    return {"precision": found / (found + (1 - PREVALENCE) * fpr), "recall": recall, "fpr": fpr}


@pytest.mark.parametrize("digits", [None, 1], ids=["distinct", "tied"])
@pytest.mark.parametrize("target", [{"precision": 0.6}, {"recall": 0.8}, {"fpr": 0.1}], ids=str)
def test_new_rows_keep_the_target_as_often_as_was_promised(target, digits):
    """300 draws of 500 rows. Wrong in one of ten at most; cuts that look at the given rows only are far more often."""
    [(name, value)] = target.items()
    sign = -1.0 if name == "fpr" else 1.0
    rng = np.random.default_rng(5)
    wrong, promises = {0.9: 0, None: 0}, 0
    for _ in range(300):
        positive, scores = drawn(rng, 500, digits)
        for confidence in wrong:
            try:
                threshold = threshold_for_target(positive, scores, confidence=confidence, **target)
            except TargetError:
                continue
            promises += confidence is not None
            wrong[confidence] += sign * (truth(threshold, digits)[name] - value) < 0.0
    assert wrong[0.9] <= binom.ppf(0.99, 300, 0.1)
    assert wrong[None] >= 60
    assert promises >= 290


@pytest.mark.parametrize("target", [{"precision": 0.7}, {"recall": 0.8}, {"fpr": 0.1}], ids=str)
def test_more_confidence_is_more_careful_and_more_rows_lose_less(target):
    rng = np.random.default_rng(0)
    positive, scores = drawn(rng, 4000)
    cuts = [threshold_for_target(positive, scores, confidence=c, **target) for c in (None, 0.6, 0.9, 0.99)]
    falling = "recall" in target
    assert cuts == sorted(cuts, reverse=falling)
    assert cuts[0] != cuts[2]
    few = slice(0, 400)
    lost = abs(threshold_for_target(positive[few], scores[few], confidence=0.9, **target) - cuts[0])
    assert lost > abs(cuts[2] - cuts[0])


def test_recall_and_fpr_by_brute_force():
    """The order statistic of the right rank, from the binomial distribution alone."""
    positive, scores = drawn(np.random.default_rng(1), 200)
    n = int(positive.sum())
    needed = min(j for j in range(1, n + 1) if binom.sf(j - 1, n, 0.8) <= 0.1)
    threshold = threshold_for_target(positive, scores, recall=0.8, confidence=0.9)
    assert (scores[positive] > threshold).sum() == needed
    assert positive[scores > threshold][scores[scores > threshold].argmin()]  # no more than needed
    n = int((~positive).sum())
    allowed = max(i for i in range(n) if binom.cdf(i, n, 0.1) <= 0.1)
    threshold = threshold_for_target(positive, scores, fpr=0.1, confidence=0.9)
    assert (scores[~positive] > threshold).sum() == allowed
    assert not positive[scores <= threshold][scores[scores <= threshold].argmax()]  # as many as allowed


def test_equal_weights_change_nothing_and_uneven_ones_make_careful():
    positive, scores = drawn(np.random.default_rng(2), 1000)
    rng = np.random.default_rng(3)
    for target in ({"precision": 0.7}, {"recall": 0.8}, {"fpr": 0.1}):
        plain = threshold_for_target(positive, scores, confidence=0.9, **target)
        assert threshold_for_target(positive, scores, np.full(1000, 7.0), confidence=0.9, **target) == plain
        # Of no information about the rates: the same rates on average, from fewer effective rows.
        uneven = rng.exponential(size=1000) ** 2
        careful = threshold_for_target(positive, scores, uneven, confidence=0.9, **target)
        loose = threshold_for_target(positive, scores, uneven, **target)
        assert (careful - loose) * (1 if "recall" not in target else -1) > 0.0


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            {"recall": 0.99},
            r"recall=0.99 cannot be promised .* confidence 0.9, given these 12 positive .* 230 such",
        ),
        ({"recall": 1.0}, r"recall=1 cannot be promised .*no number of rows is enough"),
        ({"fpr": 0.01}, r"fpr=0.01 cannot be promised .* given these 28 negative rows: .* 230 such rows or more"),
        ({"precision": 0.95}, r"precision=0.95 cannot be promised .* given these 40 rows: what can be is 0\.\d+\. "),
        ({"precision": 1.0}, r"precision=1 cannot be promised"),
    ],
)
def test_what_can_be_promised_instead(target, message):
    """And the number in the message is true: asked for, it is promised."""
    positive = np.arange(40) < 12
    scores = np.arange(40.0)[::-1]
    with pytest.raises(TargetError, match=message) as caught:
        threshold_for_target(positive, scores, confidence=0.9, **target)
    [name] = target
    possible = float(str(caught.value).split("what can be is ")[1].split(". ")[0])
    slightly = 1.001 if name == "fpr" else 0.999  # it is rounded
    threshold_for_target(positive, scores, confidence=0.9, **{name: possible * slightly})
    threshold_for_target(positive, scores, confidence=None, **target)
