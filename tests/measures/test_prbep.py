"""The precision/recall break-even point: its risk against the paper's definitions, and its score."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from problems import searching
from smoothperf.cuts.threshold_search import Ordering
from smoothperf.measures import PRBEP

SHAPES = {
    "even": [1, -1, 1, -1, 1, -1, 1, -1],
    "one positive": [-1, -1, 1, -1, -1, -1, -1],
    "one negative": [1, 1, 1, 1, -1, 1],
    "one of each": [-1, 1],
    "rare positives": [1, 1, -1, -1, -1, -1, -1, -1, -1, -1],
    "rare negatives": [1, 1, 1, 1, 1, 1, 1, -1, -1],
}
every_shape = pytest.mark.parametrize("y", [np.array(y) for y in SHAPES.values()], ids=SHAPES.keys())


def scores_of_every_kind(n, seed=0):
    rng = np.random.default_rng(seed)
    yield "general", rng.normal(size=n)
    yield "ties", rng.integers(-1, 2, size=n).astype(float)
    yield "constant", np.full(n, 0.7)
    yield "ordered", np.arange(n) / 2.0
    for scale in (1e-8, 1e-3, 1e3, 1e8):
        yield f"{scale:g}", scale * rng.normal(size=n)


def as_y(labels):
    return np.array(labels)


@every_shape
def test_exact_value_is_the_maximum_over_all_labelings(y):
    risk = PRBEP().bind(y)
    for kind, scores in scores_of_every_kind(len(y)):
        true = oracles.prbep_risk(y, scores)
        allowed = 1e-13 * (1.0 + np.abs(scores).max())
        assert risk.exact(scores).value == pytest.approx(true, abs=allowed), kind
        assert risk.exact_value(scores) == pytest.approx(true, abs=allowed), kind


@every_shape
def test_exact_gradient_is_a_labeling(y):
    """With unit weights the gradient is that of one labeling with as many positives as there are, and a best one."""
    risk, n = PRBEP().bind(y), len(y)
    for kind, scores in scores_of_every_kind(n, seed=1):
        result = risk.exact(scores)
        z = y + n * result.plane.gradient  # gradient = (z - y) / n
        labeling = np.rint(z)
        np.testing.assert_allclose(z, labeling, atol=1e-14, err_msg=kind)
        assert set(labeling) <= {-1.0, 1.0}
        assert (labeling == 1).sum() == (y == 1).sum()
        missed = ((labeling == -1) & (y == 1)).sum()
        assert result.plane.offset == pytest.approx(missed / (y == 1).sum(), abs=1e-15)


@pytest.mark.parametrize("seed", range(6))
def test_exact_value_with_whole_weights_is_that_of_the_copies(seed):
    rng = np.random.default_rng(seed)
    y = as_y([1, -1, 1, -1, -1])
    counts = rng.integers(0, 3, size=5)
    counts[:2] = np.maximum(counts[:2], 1)
    for kind, scores in scores_of_every_kind(5, seed):
        many_y, many_scores = oracles.copies(y, counts, scores)
        allowed = 1e-13 * (1.0 + np.abs(scores).max())
        assert PRBEP().bind(y, counts).exact(scores).value == pytest.approx(
            oracles.prbep_risk(many_y, many_scores), abs=allowed
        ), kind


@pytest.mark.parametrize("seed", range(10))
def test_exact_value_with_real_weights_is_that_of_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    n = 9
    y = np.where(np.arange(n) % 3 == 0, 1, -1)
    weights = rng.exponential(size=n) * (rng.random(n) < 0.8)
    weights[:2] += 0.1
    for scores in (rng.normal(size=n), rng.integers(-1, 2, size=n).astype(float), np.zeros(n)):
        risk = PRBEP().bind(y, weights)
        true = oracles.prbep_risk_by_linear_program(y, scores, weights)
        assert risk.exact(scores).value == pytest.approx(true, abs=1e-9)
        assert risk.exact_value(scores) == pytest.approx(true, abs=1e-9)


@pytest.mark.parametrize("mu", [0.003, 0.05, 1.0])
@every_shape
def test_smoothed_risk_is_that_of_the_mixtures_of_labelings(y, mu):
    rng = np.random.default_rng(len(y))
    scores = rng.normal(size=len(y))
    value, gradient = oracles.prbep_smoothed_over_labelings(y, scores, mu)
    result = PRBEP().bind(y).smoothed(scores, mu)
    assert result.value == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(result.plane.gradient, gradient, atol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_smoothed_risk_is_that_of_the_capped_simplex(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    y = np.where(rng.random(n) < 0.4, 1, -1)
    y[:2] = 1, -1
    weights = None if seed % 2 else rng.exponential(size=n) * (rng.random(n) < 0.8)
    if weights is not None:
        weights[:2] += 0.1
    scores = rng.choice([0.1, 1.0, 10.0]) * (np.round(rng.normal(size=n)) if seed % 3 == 0 else rng.normal(size=n))
    mu = 10.0 ** rng.uniform(-3, 1)
    value, gradient = oracles.prbep_smoothed(y, scores, mu, weights)
    result = PRBEP().bind(y, weights).smoothed(scores, mu)
    assert result.value == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(result.plane.gradient, gradient, atol=1e-6)


@pytest.mark.parametrize("n", [511, 512, 513, 1024, 5000])
@pytest.mark.parametrize("weighted", [False, True])
def test_smoothed_risk_for_many_examples(n, weighted):
    """The optimality conditions of the projection, which are enough to know it: for some tau, u = clip(v - tau)."""
    rng = np.random.default_rng(n)
    y = np.where(rng.random(n) < 0.2, 1, -1)
    c = rng.exponential(size=n) if weighted else np.ones(n)
    scores, mu = rng.normal(size=n) + 0.5 * y, 1e-3
    risk = PRBEP().bind(y, c if weighted else None)
    result = risk.smoothed(scores, mu)
    t = (y == 1).astype(float)
    u = t + result.plane.gradient * c.sum() / (2.0 * c)
    assert c @ u == pytest.approx(c @ t, rel=1e-13)
    v = t + (2.0 / c.sum() * scores - t / (c @ t)) / mu
    np.testing.assert_allclose(u, np.clip(v - result.hint.all / mu, 0.0, 1.0), atol=1e-11)
    assert result.plane.offset == pytest.approx((c * t) @ (1 - u) / (c @ t), rel=1e-12)
    assert result.height == pytest.approx(result.plane.offset + result.plane.gradient @ scores, rel=1e-12)
    assert result.value == pytest.approx(result.height - mu / 2 * (c @ (u - t) ** 2), rel=1e-12)


@pytest.mark.parametrize("mu", [1e-12, 1e-9, 1e-3, 1e6])
@pytest.mark.parametrize("weights", [None, [1.0, 0.3, 2.5, 1.0, 0.7, 0.0]], ids=["unit", "weighted"])
def test_ties_share_what_is_left_at_every_level(mu, weights):
    """Four negatives tie for the one place; however far from 0 they are, they share it and the gradient sums to 0."""
    y = as_y([1, -1, -1, -1, -1, -1])
    risk = PRBEP().bind(y, weights)
    for level in (0.0, 1.0, -1e3, 1e6, -1e8, 1e8):
        scores = level + np.array([-1.0, 0.0, 0.0, 0.0, -5.0, 0.0])
        result = risk.smoothed(scores, mu)
        assert result.plane.rounding <= 1e-12, level
        assert abs(result.plane.gradient.sum()) <= result.plane.rounding, level
        error = result.value - float(oracles.exact_prbep(y, scores, weights, mu))
        assert abs(error) <= result.plane.rounding * (1.0 + np.abs(scores).max()), level


@every_shape
def test_diameter_is_the_size_of_the_smaller_class(y):
    """The largest value of |z - y|^2 / 8 = |u - t|^2 / 2 over the labelings that are allowed, and no less."""
    z = oracles.all_labelings(len(y))
    z = z[np.isfinite(oracles.prbep_losses(z, y))]
    assert PRBEP().bind(y).diameter == (((z - y) / 2) ** 2).sum(axis=1).max() / 2


def test_diameter_with_weights_is_the_lighter_class():
    assert PRBEP().bind([1, 1, -1], [0.5, 0.25, 4.0]).diameter == 0.75
    assert PRBEP().bind([1, 1, -1], [0.5, 4.0, 0.25]).diameter == 0.25


def test_risk_vanishes_from_a_margin_of_n_over_twice_the_positives():
    y = as_y([1, 1, -1, -1, -1])
    risk, margin = PRBEP().bind(y), 5 / (2 * 2)
    assert risk.exact((y == 1) * (margin + 1e-9)).value == pytest.approx(0.0, abs=1e-15)
    assert risk.exact((y == 1) * (margin - 0.1)).value > 0.01


def test_examples_that_are_safe_have_no_gradient():
    """Exact zeros, so that a sparse product with the transpose of X can skip their rows."""
    rng = np.random.default_rng(4)
    y = np.repeat([1, -1], [20, 500])
    scores = 20.0 * y + rng.normal(size=y.size)  # the margin that makes safe is n / (2 n+) = 13
    scores[20:30] = 60.0  # negatives that beat all positives
    safe = scores < 0.0
    gradient = PRBEP().bind(y).smoothed(scores, 1e-4).plane.gradient
    assert safe.sum() == 490
    assert not gradient[safe].any()
    assert gradient[20:30].all()


def test_hint_is_the_threshold_of_the_projection():
    """The same for every mu in the limit: the value that separates the predicted positives from the rest."""
    y, scores = as_y([1, 1, -1, -1, -1]), np.array([3.0, -2.0, 1.0, 0.0, -4.0])
    risk = PRBEP().bind(y)
    values = 2.0 / 5 * scores - (y == 1) / 2
    result = risk.smoothed(scores, 1e-3)
    below, above = np.sort(values)[2:4]
    assert below - 1e-3 <= result.hint.all <= above + 1e-3


# --- the selection ----------------------------------------------------------------------------------------------


@searching(40)
@given(data=st.data(), n=st.integers(1, 25))
def test_heaviest_fills_the_weight_with_the_largest_values(data, n):
    values = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n)), dtype=float)
    weights = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.7]), min_size=n, max_size=n)))
    if not weights.any():
        weights[0] = 1.0
    total = data.draw(st.floats(0.0, 1.0)) * weights.sum()
    values.flags.writeable = weights.flags.writeable = False
    u = Ordering(values, weights).heaviest(total)
    assert u.min() >= 0.0
    assert u.max() <= 1.0
    assert weights @ u == pytest.approx(total, abs=1e-12)
    assert ((u > 0.0) & (u < 1.0)).sum() <= 1
    # Nothing with weight that is left out is better than anything that is taken.
    taken, left = values[(u > 0.0) & (weights > 0.0)], values[(u < 1.0) & (weights > 0.0)]
    assert taken.min(initial=np.inf) >= left.max(initial=-np.inf)


@searching(40)
@given(data=st.data(), n=st.integers(1, 25))
def test_heaviest_without_weights_takes_whole_examples(data, n):
    values = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n)), dtype=float)
    k = data.draw(st.integers(1, n))
    values.flags.writeable = False
    u = Ordering(values, None).heaviest(float(k))
    assert set(u) <= {0.0, 1.0}
    assert u.sum() == k
    assert values[u == 1.0].min() >= values[u == 0.0].max(initial=-np.inf)


# --- the score --------------------------------------------------------------------------------------------------


@searching(50)
@given(data=st.data(), y=st.lists(st.sampled_from([-1, 1]), min_size=2, max_size=9).filter(lambda y: len(set(y)) == 2))
def test_score_is_the_precision_averaged_over_ways_of_breaking_ties(data, y):
    scores = data.draw(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=len(y), max_size=len(y)))
    y, scores = as_y(y), np.array(scores)
    assert PRBEP().score(y, scores) == pytest.approx(oracles.precision_at_break_even(y, scores), abs=1e-14)


def test_score_with_weights_that_do_not_add_up_to_whole_places():
    """Positives weigh 1.5; the best example takes 1, half of the second the rest."""
    assert PRBEP().score([1, -1, 1], [3.0, 2.0, 1.0], [1.0, 1.0, 0.5]) == pytest.approx(1.0 / 1.5)
    assert PRBEP().score([-1, 1, 1], [3.0, 2.0, 1.0], [1.0, 1.0, 0.5]) == pytest.approx(0.5 / 1.5)


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1e8, 1e300])
def test_score_does_not_depend_on_the_scale(scale):
    y, scores = as_y([1, 1, -1, -1, 1, -1]), np.array([0.9, 0.2, 0.7, 0.1, 0.7, -0.3])
    assert PRBEP().score(y, scale * scores) == PRBEP().score(y, scores) == pytest.approx(2.0 / 3.0)


def test_perfect_and_worst_scores():
    y = as_y([1, 1, -1, -1, -1])
    assert PRBEP().score(y, y) == 1.0
    assert PRBEP().score(y, -y) == 0.0
    assert PRBEP().score(y, np.zeros(5)) == pytest.approx(2 / 5)
