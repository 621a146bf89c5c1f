"""Every measure against scikit-learn or the measure's own score, with ties and multiplicities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from problems import TunedError, searching
from smoothperf import (
    PRBEP,
    BalancedErrorRate,
    ErrorRate,
    FBeta,
    Jaccard,
    PartialROCArea,
    PrecisionAtK,
    RecallAtK,
    ROCArea,
)
from smoothperf.evaluation import NAMES, Ranking, column_of, interval, resamples, title_of

# Few distinct scores, so that there are many ties, also across the threshold 0.
examples = st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=2, max_size=30).filter(
    lambda rows: len({positive for positive, _ in rows}) == 2
)


def expected(y, scores, threshold, weight=None):
    decided = scores > threshold
    with np.errstate(invalid="ignore"):
        counts = {"sample_weight": weight}
        return {
            "prbep": PRBEP().score(y, scores, weight),
            "roc_area": ROCArea().score(y, scores, weight),
            "average_precision": metrics.average_precision_score(y, scores, **counts),
            "best_f1": max(
                metrics.f1_score(y, scores >= cut, zero_division=0, **counts) for cut in [*np.unique(scores), np.inf]
            ),
            "f1": metrics.f1_score(y, decided, zero_division=0, **counts),
            "precision": metrics.precision_score(y, decided, zero_division=0, **counts),
            "recall": metrics.recall_score(y, decided, **counts),
            "false_positive_rate": 1 - metrics.recall_score(~y, ~decided, **counts),
            "accuracy": metrics.accuracy_score(y, decided, **counts),
        }


@searching(30)
@given(examples, st.sampled_from([-4.0, -1.0, 0.0, 0.5, 3.0]))
def test_all_measures(rows, threshold):
    y, scores = np.array([row[0] for row in rows]), np.array([float(row[1]) for row in rows])
    found = Ranking(y, scores).measures(threshold)
    assert found == pytest.approx(expected(y, scores, threshold), abs=1e-12)
    assert found.keys() == NAMES.keys()


@searching(30)
@given(examples, st.integers(0, 100))
def test_multiplicities_are_copies_and_zeros_are_absence(rows, seed):
    y, scores = np.array([row[0] for row in rows]), np.array([float(row[1]) for row in rows])
    times = np.random.default_rng(seed).integers(0, 3, size=y.size)
    times[[y.argmax(), y.argmin()]] += 1
    found = Ranking(y, scores).measures(0.0, times.astype(float))
    copies = Ranking(np.repeat(y, times), np.repeat(scores, times)).measures(0.0)
    assert found == pytest.approx(copies, abs=1e-12)


@searching(30)
@given(examples, st.integers(-4, 4))
def test_cut_at_a_threshold_counts_what_scores_above(rows, threshold):
    y, scores = np.array([row[0] for row in rows]), np.array([float(row[1]) for row in rows])
    ranking = Ranking(y, scores)
    cuts, at = ranking.cuts(), ranking.cut_at(threshold)
    assert cuts.tp[at] == (y & (scores > threshold)).sum()
    assert cuts.fp[at] == (~y & (scores > threshold)).sum()
    assert len(ranking) == y.size


def test_resamples_keep_size_and_both_classes_and_follow_the_seed():
    y = np.array([1, 0, 0, 0, 0])
    first, again, other = (list(resamples(y, 200, seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    for draw in first:
        assert draw.sum() == 5
        assert 1 <= draw[0] <= 4  # with one positive, a third of the draws would miss it
    # Of the draws that hit both classes, a row is drawn once on average.
    assert np.mean(first, axis=0) == pytest.approx([1.45, 0.89, 0.89, 0.89, 0.89], abs=0.25)


def test_interval_covers_the_middle():
    assert interval(np.arange(101), level=0.9) == pytest.approx((5.0, 95.0))


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="n_resamples must be a whole number of at least 1, got 0"):
        next(resamples([0, 1], 0, 0))
    with pytest.raises(ValueError, match="y has one class only"):
        Ranking([1, 1], [0.0, 1.0])


MEASURES = [
    PRBEP(),
    ROCArea(),
    PartialROCArea(0.3),
    PrecisionAtK(2),
    RecallAtK(0.4),
    ErrorRate(),
    ErrorRate(7.0, 2.0),
    BalancedErrorRate(),
    TunedError(),
]


@pytest.mark.parametrize("measure", [*MEASURES, FBeta(2.0), Jaccard()], ids=lambda measure: measure.name)
@searching(25)
@given(rows=examples, threshold=st.sampled_from([-4.0, -1.0, 0.0, 0.5, 3.0]), seed=st.integers(0, 100))
def test_scores_of_measures_to_train_for(measure, rows, threshold, seed):
    y, scores = np.array([row[0] for row in rows]), np.array([float(row[1]) for row in rows])
    times = np.random.default_rng(seed).integers(0, 3, size=y.size).astype(float)
    times[[y.argmax(), y.argmin()]] += 1.0
    ranking = Ranking(y, scores)
    for weights in (None, times):
        expected = measure.score(y, scores - threshold, weights)
        assert ranking.score(measure, threshold, weights) == pytest.approx(expected, abs=1e-12)
        together = ranking.measures(threshold, weights, also=measure)
        assert together[measure.name] == pytest.approx(expected, abs=1e-12)
        assert {**together, **ranking.measures(threshold, weights)} == together


@pytest.mark.parametrize("measure", [ErrorRate(), ErrorRate(7.0, 2.0), BalancedErrorRate()], ids=str)
@searching(25)
@given(rows=examples)
def test_best_threshold_is_the_best_of_all_cuts(measure, rows):
    y, scores = np.array([row[0] for row in rows]), np.array([float(row[1]) for row in rows])
    ranking = Ranking(y, scores)
    best = max(measure.score(y, scores - cut) for cut in [*scores, scores.min() - 1.0])
    assert measure.score(y, scores - ranking.best_threshold(measure)) == pytest.approx(best)


def test_a_measure_that_tunes_its_cut_is_asked_for_it():
    assert Ranking([0, 1, 1], [0.0, 3.0, 4.0]).best_threshold(TunedError()) == 1.0


def test_names_of_measures():
    assert [column_of(measure) for measure in MEASURES] == [
        "prbep",
        "roc_area",
        "roc_area@0.3",
        "precision@2",
        "recall@0.4",
        "accuracy",
        "error_rate@7:2",
        "balanced_error_rate",
        "tuned",
    ]
    assert title_of("f0.5") == "F0.5"
    assert title_of("jaccard") == "Jaccard"
    assert title_of("false_positive_rate") == "false positive rate"
    assert title_of("mine") == "mine"


@pytest.mark.parametrize("measure", [FBeta(2.0), Jaccard(), ErrorRate(7.0, 2.0), PartialROCArea(0.3)], ids=str)
def test_a_resample_is_counted_once_and_never_sorted(measure, monkeypatch):
    y = np.resize([True, False, False], 60)
    ranking = Ranking(y, np.random.default_rng(0).normal(size=60))
    counted = []
    cuts = Ranking.cuts
    monkeypatch.setattr(Ranking, "cuts", lambda self, draw: counted.append(draw) or cuts(self, draw))
    for function in ("sort", "argsort"):
        monkeypatch.setattr(np, function, lambda *_, **__: pytest.fail("sorted again"))
    monkeypatch.setattr(type(measure), "score", lambda *_: pytest.fail("scored from the beginning"))
    for draw in resamples(y, 3, 0):
        ranking.measures(multiplicity=draw, also=measure)
    assert len(counted) == 3
