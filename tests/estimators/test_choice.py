"""The race between candidates: who is followed how far, and who wins."""

from __future__ import annotations

import numpy as np
import pytest

from smoothperf import PRBEP, FBeta, LogLoss, PartialROCArea, ROCArea, SquaredHinge
from smoothperf.estimators.candidates import Candidate, candidates_for
from smoothperf.estimators.choice import ALIKE, LEVELS, MORE, HeldOut, LabelRace, typical_size
from smoothperf.measures import MEASURE_NAMES, get_measure

SAFE = Candidate(LogLoss())
OTHER = Candidate(PRBEP(), "tight")
POSITIVE = np.repeat([True, False], [20, 80])


def scores_worth(share: float | None) -> np.ndarray:
    """Scores with a given break-even point, a multiple of 1/20; None for scores that tell nothing."""
    if share is None:
        return np.zeros(100)
    scores = POSITIVE.astype(float)
    wrong = round(20 * (1 - share))
    scores[:wrong], scores[20 : 20 + wrong] = 0.0, 1.0
    return scores + np.linspace(0.0, 1e-3, 100)


def race_of(table: dict[Candidate, list[list[float]]], levels: int = 1, folds: int | None = None) -> LabelRace:
    """A race that is over: for each candidate its break-even points, one list for each split.

    After so many ``folds`` the same rows come again; None for never.
    """
    race = LabelRace(PRBEP(), list(table), np.geomspace(1.0, 1e-3, levels), open_end=False)
    for k in range(len(next(iter(table.values())))):
        fold = k if folds is None else k % folds
        split = HeldOut(100 * fold + np.arange(100), POSITIVE, None, None)
        for candidate, worth in table.items():
            split.scores.update({(candidate, i): scores_worth(share) for i, share in enumerate(worth[k])})
        race.splits.append(split)
    race.narrow()
    race.last = dict.fromkeys(table, levels - 1)
    return race


def test_another_must_be_better_by_more_than_the_standard_error():
    steady = race_of({SAFE: [[0.5]] * 5, OTHER: [[0.6]] * 5})
    assert steady.ranked()[0] == (OTHER, 0)
    shaky = race_of({SAFE: [[0.5]] * 5, OTHER: [[0.9], [0.2], [0.9], [0.3], [0.4]]})
    assert shaky.mean((OTHER, 0)) > shaky.mean((SAFE, 0))
    assert shaky.ranked() == [(SAFE, 0), (OTHER, 0)]


def test_rows_that_are_held_out_again_are_no_new_evidence():
    worth = {SAFE: [[0.5]] * 6, OTHER: [[0.45], [0.7]] * 3}
    difference = np.array([-0.05, 0.2] * 3)
    of_splits, of_folds = difference.std(ddof=1) / np.sqrt([6, 2])
    assert of_splits < difference.mean() < of_folds
    assert race_of(worth).ranked()[0] == (OTHER, 0)
    assert race_of(worth, folds=2).ranked()[0] == (SAFE, 0)
    # Rows of which only some are held out, but those time and again.
    assert race_of(worth, folds=1).ranked()[0] == (SAFE, 0)


def test_rows_together_and_each_once():
    race = race_of({SAFE: [[0.5], [0.9], [0.6], [0.8]]}, folds=2)
    positive, scores, weights = race.together(SAFE, 0)
    np.testing.assert_array_equal(positive, np.tile(POSITIVE, 4))
    np.testing.assert_array_equal(scores, np.concatenate([scores_worth(share) for share in (0.5, 0.9, 0.6, 0.8)]))
    first = race.together(SAFE, 0, once=True)  # with the score of the first time
    np.testing.assert_array_equal(first[0], positive[:200])
    np.testing.assert_array_equal(first[1], scores[:200])
    assert weights is first[2] is None
    for k, split in enumerate(race.splits):
        split.cut_weights = np.full(100, float(k))
    np.testing.assert_array_equal(race.together(SAFE, 0, once=True)[2], np.repeat([0.0, 1.0], 100))


def test_a_goal_promises_by_rows_and_not_by_splits():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=100) + 2.0 * POSITIVE
    goal = get_measure("recall@fpr=0.2")
    race = LabelRace(goal, [SAFE], np.ones(1), open_end=False)
    race.splits = [HeldOut(np.arange(100), POSITIVE, None, None, {(SAFE, 0): scores}) for _ in range(3)]
    assert race.cut(SAFE, 0) == goal.threshold(POSITIVE, scores)
    assert race.cut(SAFE, 0) > goal.threshold(np.tile(POSITIVE, 3), np.tile(scores, 3))


@pytest.mark.parametrize("measure", [PRBEP(), FBeta()], ids=str)
def test_scores_that_are_remembered_are_those_of_all_splits_so_far(measure):
    """F1 above all: every split that comes moves the cut, and so the scores of those before."""
    rng = np.random.default_rng(0)
    race, anew = (LabelRace(measure, [SAFE], np.ones(1), open_end=False) for _ in range(2))
    for k in range(4):
        scores = rng.normal(size=100) + POSITIVE + k
        race.splits.append(HeldOut(100 * k + np.arange(100), POSITIVE, None, None, {(SAFE, 0): scores}))
        remembered = race.split_scores(SAFE, 0)
        assert race.split_scores(SAFE, 0) is remembered
        anew.splits = list(race.splits)
        anew._known.clear()
        np.testing.assert_array_equal(remembered, anew.split_scores(SAFE, 0))
        cut = race.cut(SAFE, 0) if measure.judges_decisions else 0.0
        assert remembered[0] == measure.score(POSITIVE, race.splits[0].scores[SAFE, 0] - cut)


def test_of_safe_ones_the_better_is_taken():
    race = race_of({SAFE: [[0.5]] * 3, Candidate(SquaredHinge()): [[0.55], [0.5], [0.5]]})
    assert race.ranked()[0][0] == Candidate(SquaredHinge())


def test_without_safe_ones_the_best_is_taken():
    race = race_of({OTHER: [[0.5]] * 3, Candidate(ROCArea()): [[0.9], [0.9], [0.0]]})
    assert race.ranked()[0][0] == Candidate(ROCArea())


def test_of_levels_that_are_alike_the_largest_is_taken():
    race = race_of({SAFE: [[0.5, 0.6, 0.6, 0.4]] * 3}, levels=4)
    assert race.ranked() == [(SAFE, 1)]
    assert ALIKE < 0.05  # the step of these scores


def test_who_was_behind_twice_is_out_and_the_others_go_one_level_beyond_their_best():
    race = race_of({SAFE: [[0.5, 0.6, 0.4, 0.3]] * 2, OTHER: [[0.5, 0.55, 0.4, 0.3]] * 2}, levels=4)
    race.narrow()
    assert race.last == {SAFE: 3, OTHER: -1}
    race = race_of({SAFE: [[0.5, 0.6, 0.4, 0.3]] * 2, OTHER: [[0.5, 0.65, 0.4, 0.3]] * 2}, levels=4)
    race.narrow()
    assert race.last == {SAFE: 3, OTHER: 2}


class FakeTrail:
    """A model whose one weight is the level itself."""

    @staticmethod
    def at(level):
        return np.array([level])

    @staticmethod
    def alpha(level):
        return level


def followed(candidate: Candidate, worth: list[float | None], *, open_end: bool = True) -> int:
    """How many levels a split tries, if they are worth so much."""
    race = LabelRace(PRBEP(), [candidate], 10.0 ** -np.arange(LEVELS), open_end=open_end)
    split = HeldOut(np.arange(100), POSITIVE, None, None)
    rest = iter(worth)
    race.follow(candidate, FakeTrail(), split, lambda coef: scores_worth(next(rest)), lambda alpha: None)
    return len(split.scores)


RISING = [0.05 * k for k in range(1, 20)]


def test_a_split_goes_on_beyond_the_last_level_while_its_score_rises():
    assert followed(SAFE, RISING) == LEVELS + MORE
    assert followed(SAFE, RISING, open_end=False) == LEVELS
    assert followed(SAFE, [0.5] * 20) == LEVELS
    assert followed(SAFE, [*RISING[: LEVELS + 1], *[0.1] * 9]) == LEVELS + 2


@pytest.mark.parametrize("candidate", [OTHER, Candidate(PRBEP())], ids=str)
def test_others_than_safe_ones_are_followed_as_long_as_they_get_better(candidate):
    assert followed(candidate, RISING) == LEVELS + MORE
    assert followed(candidate, [0.1, 0.5, 0.5, 0.5, 0.9]) == 4
    assert followed(candidate, [0.1, 0.5, 0.4, 0.6, 0.6, 0.5, 0.9]) == 6
    # Those that were given are all tried: scores may not change before the regulariser is weak.
    assert followed(candidate, [0.5] * 20, open_end=False) == LEVELS


def test_models_that_tell_nothing_do_not_try_patience():
    """A convex risk that collapses may tell something with a smaller alpha; if it never does, it ends with the rest."""
    collapsing = Candidate(PRBEP())
    assert followed(collapsing, [None, None, None, 0.5, 0.5, 0.5, 0.9]) == LEVELS
    assert followed(collapsing, [None, 0.5, 0.4, 0.4, 0.9, 0.9]) == 4
    assert followed(collapsing, [0.5, None, None, 0.9, 0.9, 0.9]) == 3
    assert followed(collapsing, [*[None] * 4, *RISING]) == LEVELS + MORE
    assert followed(collapsing, [None] * 20) == LEVELS


@pytest.mark.parametrize("name", MEASURE_NAMES)
def test_every_measure_has_candidates(name):
    measure = get_measure(name)
    candidates = candidates_for(measure)
    assert candidates[0].safe
    assert len(set(candidates)) == len(candidates)
    for candidate in candidates:
        risk = candidate.measure.bind(np.repeat([1, -1], 200))
        assert candidate.bound == "convex" or risk.has_loss_free
    if candidates[0].measure != measure:
        assert {type(one.measure) for one in candidates[:2]} == {LogLoss, SquaredHinge}


def test_one_bound_only():
    assert candidates_for(PRBEP(), "tight") == (OTHER,)
    assert candidates_for(get_measure("average_precision"), "convex") == (Candidate(ROCArea()),)
    assert candidates_for(PRBEP(), [("roc_area@0.1", "tight")]) == (Candidate(PartialROCArea(0.1), "tight"),)


@pytest.mark.parametrize(
    ("squares", "size"),
    [([1.0, 2.0, 3.0], 6.0), ([0.0, 0.0], 1.0), ([5.0], 5.0), ([1.0, 1e8, 1e12, 2.0], 3.0), ([1.0, 9.0, 90.0], 100.0)],
)
def test_columns_that_dwarf_the_others_do_not_count(squares, size):
    assert typical_size(np.array(squares)) == size
