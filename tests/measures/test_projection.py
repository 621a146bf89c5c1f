"""The projection onto the capped simplex against its twin in NumPy: ties, zeros, scales, starts, threads."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from problems import frozen, searching
from smoothperf.measures import projection as projecting
from smoothperf.measures.examples import Examples
from smoothperf.measures.projection import CappedSimplex, Roots
from smoothperf.threads import use_threads

EPS = np.finfo(np.float64).eps


def top_k_smoothed(problem, nearby=None):
    """The projection of rows in memory, and the gradient."""
    examples = Examples(problem.positive.astype(bool), problem.weights)
    simplex = CappedSimplex(examples, problem.total, problem.slope, problem.gain, problem.targets)
    gradient = np.full(len(problem.scores), np.nan)
    return simplex.project(problem.scores, problem.mu, nearby, problem.direction, gradient), gradient


class Projection(NamedTuple):
    """The arguments of the reference, but for the direction and where the gradient goes."""

    scores: np.ndarray
    positive: np.ndarray
    weights: np.ndarray | None
    total: float
    slope: float
    gain: float
    targets: tuple[float, float]
    mu: float

    def expected(self):
        gradient = np.full(len(self.scores), np.nan)
        return oracles.top_k_smoothed(*self, self.direction, gradient), gradient

    @property
    def direction(self):
        return frozen(np.cos(1.0 + np.arange(len(self.scores))))

    @property
    def c(self):
        return np.ones(len(self.scores)) if self.weights is None else self.weights

    @property
    def target(self):
        return np.where(self.positive == 1, *self.targets)

    @property
    def size(self):
        """Largest of the numbers that the root is found among, in units of mu."""
        return 1.0 + (self.slope * np.abs(self.scores).max() + self.gain) / self.mu


def projection(labels, scores, weights, k, mu):
    """As a measure with k predicted positives sets it up: the target is the average perfect labeling."""
    positive = np.array(labels)
    c = np.ones(len(labels)) if weights is None else np.array(weights)
    positives, total = c[positive == 1].sum(), c.sum()
    targets = (k / positives, 0.0) if k <= positives else (1.0, (k - positives) / (total - positives))
    return Projection(
        frozen(scores),
        frozen(positive, np.uint8),
        None if weights is None else frozen(weights),
        float(k),
        2.0 / total,
        1.0 / positives,
        tuple(map(float, targets)),
        mu,
    )


@st.composite
def projections(draw, exponents, scales):
    n = draw(st.integers(2, 12))
    labels = draw(st.lists(st.sampled_from([0, 1]), min_size=n, max_size=n).filter(lambda y: len(set(y)) == 2))
    whole, general = st.integers(-3, 3).map(float), st.floats(-3.0, 3.0)
    entry = draw(st.sampled_from([whole, general, st.just(1.0)]))
    scale = 10.0 ** draw(st.sampled_from(scales))
    scores = [scale * draw(entry) for _ in range(n)]
    mu = 10.0 ** draw(st.sampled_from(exponents))
    if draw(st.booleans()):
        return projection(labels, scores, None, draw(st.integers(1, n - 1)), mu)
    weights = [draw(st.sampled_from([0.0, 1.0, 2.0, 0.1, 3.7, 1e3])) for _ in range(n)]
    weights[labels.index(1)] += 0.5
    weights[labels.index(0)] += 0.5
    return projection(labels, scores, weights, draw(st.floats(0.05, 0.95)) * sum(weights), mu)


def assert_same_projection(problem, nearby=None):
    found, gradient = top_k_smoothed(problem, nearby)
    expected, gradient_ = problem.expected()
    c, mass, largest = problem.c, problem.c.sum(), np.abs(problem.scores).max()
    # Both know the root to a few units in the last place of the numbers involved.
    off = 64.0 * EPS * problem.size
    assert (np.abs(gradient - gradient_) <= problem.slope * c * off).all()
    assert found.missed == pytest.approx(expected.missed, abs=off * mass)
    assert found.excess == pytest.approx(expected.excess, abs=off * mass)
    assert found.inner == pytest.approx(expected.inner, abs=off * mass * largest)
    assert found.prox == pytest.approx(expected.prox, abs=off * mass)
    assert found.along == pytest.approx(expected.along, abs=problem.slope * off * mass)
    # A root need not be unique, but what it selects is. It is known less well: it is not alone in making u.
    v = problem.target + (problem.slope * problem.scores - problem.gain * (problem.positive == 1)) / problem.mu
    u = problem.target + gradient_ / (problem.slope * np.where(c > 0, c, np.inf))
    inside = c > 0
    assert (np.abs(np.clip(v - found.roots.all / problem.mu, 0.0, 1.0) - u)[inside] <= 16.0 * off).all()
    # The cut is sought in an interval around the root, at most 1 away from where it should be, and 0.5 + 0.1 more than
    # that from the end of the interval; only examples on the way there are on the wrong side of it.
    assert found.ceiling >= expected.ceiling - off * problem.mu * mass
    x = v - problem.target - found.roots.all / problem.mu
    between = c[np.abs(x) <= 1.0 + 16.0 * off].sum()
    coarse = 2.0**-projecting.CUT_DIGITS * mass
    assert found.ceiling <= expected.ceiling + problem.mu * (2.0 * between + coarse + off * mass)
    assert found.ceiling <= expected.ceiling + found.looseness + problem.mu * off * mass


@searching(30)
@given(problem=projections(exponents=range(-4, 7), scales=(-8, -2, 0, 1)))
def test_top_k_smoothed(problem):
    assert_same_projection(problem)


roots_of_any_kind = st.builds(
    Roots, *3 * [st.one_of(st.floats(-10.0, 10.0), st.floats(-1e300, 1e300), st.sampled_from([0.0, 1e308, -1e308]))]
)


@searching(30)
@given(problem=projections(exponents=range(-4, 7), scales=(-8, -2, 0, 1)), nearby=roots_of_any_kind)
def test_top_k_smoothed_from_any_start(problem, nearby):
    assert_same_projection(problem, nearby)


@searching(30)
@given(
    problem=projections(exponents=range(-4, 7), scales=(-8, -2, 0, 1)),
    away=st.floats(-20.0, 20.0),
    sample=st.integers(1, 12),
)
def test_top_k_smoothed_from_nearby(problem, away, sample):
    """So far away, in units of u, that the interval must grow a few times; the sample may know next to nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projecting, "SAMPLE", sample)
        found, _ = top_k_smoothed(problem)
        moved = found.roots._replace(all=found.roots.all + away * problem.mu)
        assert_same_projection(problem, moved)


@pytest.mark.parametrize("scale", [-8, 0, 4, 8])
@pytest.mark.parametrize("exponent", [-12, -9, -3, 6])
@searching(12)
@given(data=st.data())
def test_top_k_smoothed_predicts_the_right_weight_at_every_scale(exponent, scale, data):
    """``sum c u`` is the total, and the rounding that is left is known, whatever the scale of the scores and of mu."""
    problem = data.draw(projections((exponent,), (scale,)))
    (missed, excess, inner, prox, _, ceiling, *_), gradient = top_k_smoothed(problem)
    c, target = problem.c, problem.target
    weight = math.fsum([*(gradient / problem.slope), *(c * target)])
    assert weight - problem.total == pytest.approx(excess, abs=16 * EPS * c.sum())
    assert abs(excess) <= 512 * EPS * problem.total + 8 * EPS * c.sum()
    u = target + gradient / (problem.slope * np.where(c > 0, c, np.inf))
    assert u.min() >= -4 * EPS
    assert u.max() <= 1.0 + 4 * EPS
    # The three sums describe the same u.
    positive = problem.positive == 1
    assert missed == pytest.approx(math.fsum((c * (target - u))[positive]), abs=32 * EPS * c.sum())
    assert inner == pytest.approx(
        math.fsum(c * problem.scores * (u - target)), abs=32 * EPS * np.abs(problem.scores).max() * c.sum()
    )
    assert prox == pytest.approx(math.fsum(c * (u - target) ** 2) / 2.0, abs=32 * EPS * c.sum())
    # No labeling does better than the ceiling, and this one is a labeling.
    gains = problem.slope * problem.scores - problem.gain * positive
    assert math.fsum(c * gains * (u - target)) <= ceiling + 64 * EPS * problem.mu * problem.size * c.sum()


@pytest.mark.parametrize("n", [511, 512, 513, 1537])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, 100, 400])
def test_top_k_smoothed_in_blocks(n, weighted, k):
    rng = np.random.default_rng(n)
    labels = (rng.random(n) < 0.3).astype(int)
    weights = rng.exponential(size=n) if weighted else None
    assert_same_projection(projection(labels, rng.normal(size=n), weights, k, 1e-3))


@pytest.mark.parametrize("scores", [[0.0, 0.0], [1.0, -1.0], [-1.0, 1.0]])
@pytest.mark.parametrize("mu", [1e-3, 0.7, 100.0])
def test_top_k_smoothed_of_two(scores, mu):
    assert_same_projection(projection([1, 0], scores, None, 1, mu))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_top_k_smoothed_in_threads(threads, weighted, monkeypatch):
    monkeypatch.setattr(projecting, "LEAST_ROWS", 7)
    rng = np.random.default_rng(threads)
    n = 1234
    labels = (rng.random(n) < 0.3).astype(int)
    problem = projection(
        labels, np.round(rng.normal(size=n), 1), rng.exponential(size=n) if weighted else None, 200, 1e-3
    )
    with use_threads(threads):
        assert_same_projection(problem)
        # The undecided were written where the gradient goes, by all threads; nothing of them is left.
        nearby = top_k_smoothed(problem)[0].roots
        assert_same_projection(problem._replace(scores=frozen(problem.scores + 0.1 * rng.normal(size=n))), nearby)


def counted(function):
    """Count the runs of the collecting pass within."""
    passes = []

    def collect(*args):
        passes.append(args)
        return counted.original(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projecting._top_k, "collect", collect)
        result = function()
    return len(passes), result


counted.original = projecting._top_k.collect


def test_the_root_is_a_good_place_to_start_from():
    rng = np.random.default_rng(3)
    n = 20_000
    problem = projection((rng.random(n) < 0.1).astype(int), rng.normal(size=n), None, 2000, 1e-4)
    with use_threads(1):
        roots = top_k_smoothed(problem)[0].roots
        # It is in units of the scores, so it also serves another mu; and the sample knows how far all scores moved.
        for other in (problem, problem._replace(mu=1.1e-4), problem._replace(scores=frozen(problem.scores + 50.0))):
            passes, (found, _) = counted(lambda other=other: top_k_smoothed(other, roots))
            assert passes == 1
            assert found.roots.all == pytest.approx(top_k_smoothed(other)[0].roots.all, rel=1e-11)
        passes, _ = counted(lambda: top_k_smoothed(problem, roots._replace(all=1.0)))
        assert passes > 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("deviation", [1e-3, 0.03, 1.0])
def test_the_ceiling_is_close_where_examples_are_many(deviation, weighted):
    """It is too high by little beside what smoothing costs."""
    rng = np.random.default_rng(4)
    n = 20_000
    weights = rng.exponential(size=n) if weighted else None
    labels = (rng.random(n) < 0.1).astype(int)
    total = float(labels.sum() if weights is None else weights[labels == 1].sum())
    problem = projection(labels, rng.normal(size=n) + labels, weights, total, deviation / total)
    (missed, _, inner, _, _, ceiling, *_), _ = top_k_smoothed(problem)
    exact = problem.expected()[0].ceiling
    slack = exact - (missed * problem.gain + problem.slope * inner)
    assert 0.0 <= ceiling - exact <= 0.1 * slack


@pytest.mark.parametrize("nudge", [-1, 0, 1])
def test_a_guess_that_hits_a_value_where_numbers_are_coarser_than_u(nudge):
    """As 1e20 - 1 and 1e20 are the same number, what is above and what is at the guess must not be mixed up."""
    problem = projection([1, 0], [1e8, 0.0], None, 1, 1e-12)
    v = 1.0 + (problem.slope * 1e8 - problem.gain) / problem.mu
    guess = v if nudge == 0 else np.nextafter(v, nudge * np.inf)
    roots = top_k_smoothed(problem)[0].roots
    found, gradient = top_k_smoothed(problem, roots._replace(all=guess * problem.mu))
    assert found.excess == 0.0
    assert not gradient.any()
