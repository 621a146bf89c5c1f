"""Thinning must not hide anything that a screen could show, and thresholds must separate exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import searching
from smoothperf.cuts.targets import threshold_for_target
from smoothperf.evaluation import Ranking
from smoothperf.report import thinning
from smoothperf.report.thinning import (
    COLUMNS,
    MOST_CUTS,
    column_extremes,
    separating_thresholds,
    shortest_between,
    thin_cuts,
)


def ranking(n, positive_share, separation, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < positive_share
    y[:2] = True, False
    return Ranking(y, rng.standard_normal(n) + separation * y)


@pytest.mark.parametrize(("n", "share"), [(40_000, 0.5), (60_000, 0.001), (40_000, 0.999)])
@pytest.mark.parametrize("separation", [0.0, 2.0])
def test_few_cuts_show_the_same_curves(n, share, separation):
    ranked = ranking(n, share, separation)
    cuts = ranked.cuts()
    shown = thin_cuts(cuts, ranked.levels, keep=(12_345,))
    assert shown.size <= MOST_CUTS
    assert {0, 12_345, cuts.tp.size - 1} <= set(shown.tolist())
    assert (np.diff(shown) > 0).all()
    # Precision/recall: in every column of pixels, the kept points reach as high and as low as all points.
    column = np.minimum((cuts.recall * COLUMNS).astype(int), COLUMNS - 1)
    kept = np.isin(np.arange(cuts.tp.size), shown)
    for number in np.unique(column[1:]):
        members = np.flatnonzero(column == number)
        members = members[members > 0]
        everything, few = cuts.precision[members], cuts.precision[members[kept[members]]]
        assert (few.min(), few.max()) == (everything.min(), everything.max())
    # ROC: between neighbours one of the two rates hardly moves or was never in between.
    steps = np.minimum(np.diff(cuts.recall[shown]), np.diff(cuts.false_positive_rate[shown]))
    assert steps.max() <= 1 / (thinning.RATE_GRID - 1)


@pytest.mark.parametrize("share", [0.5, 0.01])
def test_goals_in_round_numbers_have_their_best_cut(share):
    """That which the model itself would choose, found among all cuts."""
    ranked = ranking(30_000, share, 1.5)
    cuts = ranked.cuts()
    shown = set(thin_cuts(cuts, ranked.levels).tolist())
    goals = [{name: value} for name in ("precision", "recall", "fpr") for value in (0.01, 0.2, 0.55, 0.9, 0.99)]
    goals += [{"fpr": 0.001}, {"fpr": 0.0005}, {"k": 1}, {"k": 50}, {"k": 2000}]
    reached = 0
    for goal in goals:
        try:
            threshold = threshold_for_target(ranked._labels, ranked._scores, **goal)
        except ValueError:  # no cut is as precise as that
            continue
        reached += 1
        assert ranked.cut_at(threshold) in shown, goal
    assert reached > 15


@searching(30)
@given(st.integers(2, 400), st.integers(0, 10))
def test_few_examples_are_all_shown(n, seed):
    ranked = ranking(n, 0.3, 1.0, seed)
    assert np.array_equal(thin_cuts(ranked.cuts(), ranked.levels), np.arange(n + 1))


@searching(30)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=60), st.integers(1, 5))
def test_column_extremes_reach_as_far_as_all_points(points, columns):
    x, y = np.array(sorted(point[0] for point in points)), np.array([point[1] for point in points])
    kept = column_extremes(x, y, columns)
    column = np.minimum((x * columns).astype(int), columns - 1)
    for number in np.unique(column):
        everything, few = y[column == number], y[kept][column[kept] == number]
        assert few.size <= 4
        assert (everything.min(), everything.max()) == (few.min(), few.max())
        assert (everything[0], everything[-1]) == (few[0], few[-1])


finite = st.floats(allow_nan=False, allow_infinity=False, width=64, min_value=-1e300, max_value=1e300)


@searching(30)
@given(finite, finite)
def test_shortest_between_separates(one, other):
    lower, upper = min(one, other), max(one, other)
    if lower < upper:
        assert lower <= shortest_between(lower, upper) < upper


def test_shortest_between_is_short():
    assert shortest_between(0.123401, 0.123499) == 0.12345
    assert shortest_between(-3.0, 8.0) == 0.0
    assert shortest_between(1.0, float(np.nextafter(1.0, 2.0))) == 1.0


@searching(30)
@given(st.sets(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_thresholds_make_their_cuts(scores):
    levels = np.array(sorted(scores, reverse=True))
    for cut, threshold in enumerate(separating_thresholds(levels, np.arange(levels.size + 1))):
        assert (levels > threshold).sum() == cut
