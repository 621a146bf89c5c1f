"""The area under the ROC curve: its risk against the sum over all pairs, and its score."""

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import oracles
from smoothperf.measures import ROCArea

SHAPES = {
    "even": [1, -1, 1, -1, 1, -1],
    "one positive": [-1, -1, 1, -1, -1, -1, -1],
    "one negative": [1, 1, 1, 1, -1, 1],
    "one of each": [-1, 1],
    "rare positives": [1, 1, -1, -1, -1, -1, -1],
    "rare negatives": [1, 1, 1, 1, 1, -1, -1],
}
every_shape = pytest.mark.parametrize("y", [np.array(y) for y in SHAPES.values()], ids=SHAPES.keys())


def scores_of_every_kind(n, seed=0):
    rng = np.random.default_rng(seed)
    yield "general", rng.normal(size=n)
    yield "ties and margins of exactly 1", rng.integers(-1, 2, size=n).astype(float)
    yield "margins of exactly 1/2", rng.integers(-2, 3, size=n) / 2.0
    yield "constant", np.full(n, 0.7)
    for scale in (1e-8, 1e-3, 1e3, 1e8):
        yield f"{scale:g}", scale * rng.normal(size=n)


@every_shape
def test_exact_value_is_the_maximum_over_all_orders_of_the_pairs(y):
    risk = ROCArea().bind(y)
    for kind, scores in scores_of_every_kind(len(y)):
        allowed = 1e-13 * (1.0 + np.abs(scores).max())
        assert risk.exact(scores).value == pytest.approx(oracles.roc_risk_by_labelings(y, scores), abs=allowed), kind
        assert risk.exact_value(scores) == pytest.approx(oracles.roc_risk_by_labelings(y, scores), abs=allowed), kind


@pytest.mark.parametrize("seed", range(8))
def test_exact_value_is_the_mean_over_the_pairs(seed):
    rng = np.random.default_rng(seed)
    n = 40
    y = np.where(rng.random(n) < (0.2, 0.5, 0.8)[seed % 3], 1, -1)
    y[:2] = 1, -1
    weights = None if seed % 2 else rng.exponential(size=n) * (rng.random(n) < 0.8)
    if weights is not None:
        weights[:2] += 0.1
    for kind, scores in scores_of_every_kind(n, seed):
        allowed = 1e-13 * (1.0 + np.abs(scores).max())
        found = ROCArea().bind(y, weights).exact(scores).value
        assert found == pytest.approx(oracles.roc_risk(y, scores, weights), abs=allowed), kind


@pytest.mark.parametrize("seed", range(12))
def test_smoothed_risk_is_that_of_a_convex_solver(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 14))
    y = np.where(rng.random(n) < (0.3, 0.7)[seed % 2], 1, -1)
    y[:2] = 1, -1
    weights = None if seed % 3 else rng.exponential(size=n) * (rng.random(n) < 0.8)
    if weights is not None:
        weights[:2] += 0.1
    scores = np.round(2.0 * rng.normal(size=n)) / 2.0 if seed % 4 == 0 else rng.normal(size=n)
    mass = oracles.pair_weights(y, weights).sum()
    mu = 10.0 ** rng.uniform(-1.5, 0.7) / mass
    value, gradient = oracles.roc_smoothed(y, scores, mu, weights)
    result = ROCArea().bind(y, weights).smoothed(scores, mu)
    assert result.value == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(result.plane.gradient, gradient, atol=1e-6)


@pytest.mark.parametrize("fraction", [0.02, 0.5, 0.97], ids=["few positives", "even", "few negatives"])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_examples_against_all_pairs(fraction, weighted):
    rng = np.random.default_rng(11)
    n, mu = 700, 2e-6
    y = np.where(rng.random(n) < fraction, 1, -1)
    c = rng.exponential(size=n) if weighted else np.ones(n)
    scores = np.round(rng.normal(size=n), 1)
    result = ROCArea().bind(y, c if weighted else None).smoothed(scores, mu)
    margins, pairs = oracles.pair_margins(y, scores), oracles.pair_weights(y, c)
    kappa = mu * pairs.sum()
    beta = np.clip((1.0 - margins) / kappa, 0.0, 1.0)
    share = pairs * beta / pairs.sum()
    assert result.plane.offset == pytest.approx(share.sum(), rel=1e-11)
    assert result.height == pytest.approx((share * (1.0 - margins)).sum(), rel=1e-11)
    assert result.value == pytest.approx(result.height - kappa / 2 * (share * beta).sum(), rel=1e-11)
    expected = np.empty(n)
    expected[y == 1], expected[y == -1] = -share.sum(axis=1), share.sum(axis=0)
    np.testing.assert_allclose(result.plane.gradient, expected, rtol=0, atol=1e-13)


def test_exact_offset_is_the_fraction_of_pairs_with_a_violated_margin():
    y, scores = np.array([1, 1, -1, -1, -1]), np.array([2.0, 0.5, 0.0, -1.0, 1.5])
    violated = oracles.pair_margins(y, scores) < 1.0
    assert ROCArea().bind(y).exact(scores).plane.offset == pytest.approx(violated.mean())


@pytest.mark.parametrize("mu", [0.0, 0.01, 1.0])
def test_exchanging_the_classes_and_the_sign_changes_nothing(mu):
    """An implementation detail is which class is sorted."""
    rng = np.random.default_rng(8)
    y, scores = np.repeat([1, -1], [4, 9]), rng.normal(size=13)
    weights = rng.exponential(size=13)
    for c in (None, weights):
        one, other = ROCArea().bind(y, c), ROCArea().bind(-y, c)
        a = one.exact(scores) if mu == 0.0 else one.smoothed(scores, mu)
        b = other.exact(-scores) if mu == 0.0 else other.smoothed(-scores, mu)
        assert a.value == pytest.approx(b.value, rel=1e-13)
        assert a.plane.offset == pytest.approx(b.plane.offset, rel=1e-13)
        np.testing.assert_allclose(a.plane.gradient, -b.plane.gradient, atol=1e-14)


def test_risk_vanishes_from_a_margin_of_one():
    y = np.array([1, 1, -1, -1, -1])
    assert ROCArea().bind(y).exact(1.0 * (y == 1)).value == 0.0
    assert ROCArea().bind(y).exact(0.9 * (y == 1)).value == pytest.approx(0.1)


@pytest.mark.parametrize("kappa", [1e-9, 1e-6, 1e-3, 1.0])
def test_rounding_bound_holds_for_classes_that_are_far_apart(kappa):
    """Tight clusters with the positives far below or above: differences of long ramps, divided by a small width."""
    for sizes, distance in product([(1, 1), (3, 2), (2, 3)], [1e2, -1e2, 1e5, -1e5, 1e8, -1e8]):
        y = np.repeat([1, -1], sizes)
        scores = np.where(y == 1, distance * (1 + 1e-7), 0.1)
        result = ROCArea().bind(y).smoothed(scores, kappa / (sizes[0] * sizes[1]))
        excess = oracles.exact_plane(result.plane.gradient, result.plane.offset, scores) - oracles.exact_roc(y, scores)
        assert float(excess) <= result.plane.rounding * (1.0 + np.abs(scores).max()), (sizes, distance)
        assert abs(float(sum(oracles.fractions(result.plane.gradient)))) <= result.plane.rounding, (sizes, distance)


@pytest.mark.parametrize("kappa", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("outlier", [-1e4, 1e4, -1e8, 1e8])
@pytest.mark.parametrize("label", [1, -1])
def test_rounding_bound_holds_beside_an_outlier(label, outlier, kappa):
    """One example far away drags the mean along, and the rest, small violations and all, is far from it."""
    y = np.array([1, 1, -1, -1, -1, label])
    scores = np.array([0.1, 0.2, 0.15, 0.3, -0.2, outlier])
    elsewhere = np.array([0.0, -3.0, 2.0, 5.0, 1.0, 0.0])
    result = ROCArea().bind(y).smoothed(scores, kappa / oracles.pair_weights(y, None).sum())
    for f in (scores, elsewhere):
        excess = oracles.exact_plane(result.plane.gradient, result.plane.offset, f) - oracles.exact_roc(y, f)
        assert float(excess) <= result.plane.rounding * (1.0 + np.abs(f).max())


@pytest.mark.parametrize("seed", range(10))
def test_score_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    n = 30
    y = np.where(rng.random(n) < 0.3, 1, -1)
    y[:2] = 1, -1
    scores = np.round(rng.normal(size=n), 0 if seed % 2 else 6)
    weights = rng.exponential(size=n)
    assert ROCArea().score(y, scores) == pytest.approx(roc_auc_score(y, scores))
    assert ROCArea().score(y, scores, weights) == pytest.approx(roc_auc_score(y, scores, sample_weight=weights))


def test_score_counts_a_tied_pair_as_one_half():
    y, scores = np.array([1, 1, -1, -1, -1]), np.array([1.0, 0.0, 0.0, 2.0, -1.0])
    margins = oracles.pair_margins(y, scores)
    assert ROCArea().score(y, scores) == pytest.approx(((margins > 0) + 0.5 * (margins == 0)).mean())
    assert ROCArea().score(y, np.zeros(5)) == 0.5
