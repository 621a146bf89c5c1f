"""Measures as losses of batches: what a risk says, in units that do not depend on the batch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from smoothperf import NDCG, PRBEP, FBeta, PrecisionAtK, QueryPrecision, QueryROCArea
from smoothperf.losses import BatchLoss, EmptyBatchWarning, _say_once
from smoothperf.measures import get_measure, get_query_measure
from smoothperf.threads import use_threads

LABELS = ("roc_area", "roc_area@0.2", "prbep", "precision@10%", "recall@30%", "f1", "jaccard", "error_rate", "log_loss")
QUERIES = (NDCG(3), QueryROCArea(), QueryPrecision(2))


def batch(measure, n=40, seed=0):
    """Scores, targets, weights and queries (None for labels) of a batch, as columns."""
    rng = np.random.default_rng(seed)
    scores, weights = rng.normal(size=(n, 1)), rng.uniform(0.5, 2.0, size=(n, 1))
    if measure in QUERIES:
        return scores, rng.integers(0, 4, size=(n, 1)).astype(float), None, np.repeat(np.arange(n // 8), 8)
    return scores, (rng.random((n, 1)) < 0.3).astype(float), weights, None


@pytest.mark.parametrize("measure", LABELS + QUERIES)
def test_it_is_the_smoothed_risk(measure):
    scores, targets, weights, qid = batch(measure)
    loss = BatchLoss(measure, smoothing=0.1)
    if qid is None:
        risk = get_measure(measure).bind(targets[:, 0], weights[:, 0])
    else:
        risk = get_query_measure(measure).bind(targets[:, 0], qid)
    f = risk.score_scale * scores[:, 0]
    expected = risk.smoothed(f, 0.1 / risk.diameter if risk.diameter else 1.0)
    values, gradients = loss(scores, targets, weights, qid)
    assert values[0] == expected.value
    np.testing.assert_array_equal(gradients[:, 0], risk.score_scale * expected.plane.gradient)
    assert risk.exact_value(f) - 0.1 - 1e-9 <= values[0] <= risk.exact_value(f) + 1e-9


@pytest.mark.parametrize("measure", LABELS)
def test_a_batch_that_is_repeated_has_the_same_loss_and_gradient(measure):
    scores, targets, weights, _ = batch(measure)
    loss = BatchLoss(measure)
    once, of_once = loss(scores, targets, weights)
    twice, of_twice = loss(*(np.tile(part, (2, 1)) for part in (scores, targets, weights)))
    np.testing.assert_allclose(twice, once, rtol=1e-9)
    np.testing.assert_allclose(of_twice[:40] + of_twice[40:], of_once, atol=1e-9)


@pytest.mark.parametrize("bound", ["convex", "tight"])
@pytest.mark.parametrize("measure", LABELS + QUERIES)
def test_the_gradient_is_that_of_the_loss(measure, bound):
    if (measure, bound) == ("log_loss", "tight"):
        measure = "error_rate@3:1"  # log loss has no tight bound
    scores, targets, weights, qid = batch(measure)
    loss = BatchLoss(measure, bound)
    _, gradients = loss(scores, targets, weights, qid)
    direction = np.random.default_rng(1).normal(size=scores.shape)
    step = 1e-6
    ahead, behind = (loss(scores + sign * step * direction, targets, weights, qid)[0] for sign in (1.0, -1.0))
    np.testing.assert_allclose(float((gradients * direction).sum()), (ahead - behind)[0] / (2 * step), atol=1e-5)


@pytest.mark.parametrize("measure", LABELS[:-1])
def test_positives_that_are_well_above_negatives_cost_nothing(measure):
    _, targets, _, _ = batch(measure)
    fewest = BatchLoss(measure)(3.0 * (2.0 * targets - 1.0), targets)[0][0]
    best = get_measure(measure).score(targets[:, 0], 2.0 * targets[:, 0] - 1.0)
    assert fewest <= 1.0 - best + 1e-9


def test_columns_are_losses_of_their_own_however_many_threads_there_are():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3000, 12))
    targets = (rng.random(scores.shape) < 0.1).astype(float)
    loss = BatchLoss("prbep")
    with use_threads(1):
        values, gradients = loss(scores, targets)
    with use_threads(3):
        in_threads = loss(scores, targets)
    np.testing.assert_allclose(in_threads[0], values, rtol=1e-12)
    np.testing.assert_allclose(in_threads[1], gradients, atol=1e-15)
    alone = loss(scores[:, 5:6], targets[:, 5:6])
    np.testing.assert_allclose(alone[0][0], values[5], rtol=1e-12)


@pytest.mark.parametrize(
    ("measure", "targets", "weights", "qid"),
    [
        ("prbep", [0, 0, 0], None, None),
        ("roc_area", [1, 1, 1], None, None),
        ("f1", [1, 0, 0], [0, 1, 1], None),
        ("ndcg", [2, 1, 0], None, [0, 1, 2]),
        ("precision@5", [1, 0, 0], None, [0, 0, 0]),
    ],
)
def test_a_batch_with_nothing_to_judge_is_worth_0_and_says_so_once(measure, targets, weights, qid):
    _say_once.cache_clear()
    targets = np.array(targets, dtype=float)[:, None]
    weights = None if weights is None else np.array(weights, dtype=float)[:, None]
    loss = BatchLoss(get_query_measure(measure) if qid else measure)
    with pytest.warns(EmptyBatchWarning, match=f"nothing to judge for {measure}"):
        values, gradients = loss(np.ones((3, 1)), targets, weights, np.array(qid) if qid else None)
    assert values.tolist() == [0.0]
    assert not gradients.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss(np.ones((3, 1)), targets, weights, np.array(qid) if qid else None)


def test_scores_that_overflowed_give_no_number():
    values, gradients = BatchLoss("f1")(np.array([[np.inf], [0.0]]), np.array([[1.0], [0.0]]))
    assert np.isnan(values).all()
    assert np.isnan(gradients).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("precision@100",), "'precision@100' has a number of examples.*'precision@5%'"),
        (("prbep", "loose"), "bound must be one of"),
        (("prbep", "convex", 0.0), "smoothing must be a finite number above 0, got 0.0"),
        (("prebp",), "Did you mean 'prbep'"),
    ],
)
def test_what_cannot_be_a_loss_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        BatchLoss(*arguments)


def test_what_is_no_batch_is_refused():
    ones = np.ones((3, 1))
    with pytest.raises(ValueError, match=r"targets must hold labels .* got the values -1, 0, 1"):
        BatchLoss("prbep")(ones, np.array([[-1.0], [0.0], [1.0]]))
    with pytest.raises(ValueError, match="measure 'ndcg' is about queries: qid says"):
        BatchLoss("ndcg")(ones, ones)
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        BatchLoss("prbep")(ones, np.array([[0.0], [1.0], [0.0]]), np.array([[1.0], [1.0], [-1.0]]))


def test_measures_are_taken_by_name_and_as_objects():
    assert BatchLoss("prbep") == BatchLoss(PRBEP())
    assert BatchLoss("f2").measure == FBeta(2)
    assert BatchLoss(PrecisionAtK(0.1)).measure == PrecisionAtK(0.1)
    assert BatchLoss("ndcg@10").measure == NDCG(10)
