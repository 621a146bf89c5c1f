"""The best cut of scores in blocks: that of all of them in memory, however few travel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from far_blocks import in_blocks
from smoothperf import FBeta, Jaccard
from smoothperf.measures import best_cut


def far_threshold(measure, y, scores, weights, lengths):
    blocks = in_blocks(measure, y, weights, lengths)
    return measure.threshold_of_blocks(blocks, blocks.vectors.scattered(scores)), blocks


@st.composite
def cut_problems(draw):
    n = draw(st.integers(2, 40))
    labels = draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda y: 0 < sum(y) < len(y)))
    few = st.sampled_from([-1e300, -1.0, -0.5, 0.0, 5e-324, 1e-300, 0.25, 1.0, float(np.nextafter(1.0, 2.0)), 7.0])
    scores = draw(st.lists(few | st.floats(-10.0, 10.0), min_size=n, max_size=n))
    weights = draw(st.none() | st.lists(st.integers(1, 4), min_size=n, max_size=n))
    first = draw(st.integers(0, n))
    second = draw(st.integers(0, n - first))
    lengths = [first, second, n - first - second]
    few, cells = draw(st.sampled_from([0, 1, 5, 1000])), draw(st.sampled_from([2, 3, 16]))
    return np.where(labels, 1, -1), np.array(scores), weights, lengths, few, cells


@settings(deadline=None, max_examples=150)
@given(problem=cut_problems(), measure=st.sampled_from([FBeta(), FBeta(2.0), FBeta(0.5), Jaccard()]))
def test_cut_of_blocks_is_that_in_memory(problem, measure):
    y, scores, weights, lengths, few, cells = problem
    weights = None if weights is None else np.array(weights, dtype=float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(best_cut, "FEW", few)
        patch.setattr(best_cut, "CELLS", cells)
        found, _ = far_threshold(measure, y, scores, weights, lengths)
    assert found == measure.threshold(y, scores, weights)


@pytest.mark.parametrize("ties", [False, True])
def test_many_scores_take_few_rounds_and_little_traffic(ties):
    rng = np.random.default_rng(0)
    n = 300_000
    y = np.where(rng.random(n) < 0.02, 1, -1)
    scores = rng.standard_normal(n) + 1.5 * (y == 1)
    if ties:
        scores = np.where(rng.random(n) < 0.5, 0.0, np.round(scores, 3))
    found, blocks = far_threshold(FBeta(), y, scores, None, [n // 3, n // 3, n - 2 * (n // 3)])
    assert found == FBeta().threshold(y, scores)
    assert len(blocks.rounds) <= 8
    assert blocks.traffic < 8 * n / 2
