"""The race between candidates: who is followed how far, and who wins."""

from __future__ import annotations

import numpy as np
import pytest

from smoothperf import PRBEP, LogLoss, PartialROCArea, ROCArea, SquaredHinge
from smoothperf.estimators.candidates import Candidate, candidates_for
from smoothperf.estimators.choice import ALIKE, LEVELS, MORE, HeldOut, Race, typical_size
from smoothperf.measures import MEASURE_NAMES, get_measure

SAFE = Candidate(LogLoss())
OTHER = Candidate(PRBEP(), "tight")
POSITIVE = np.repeat([True, False], [20, 80])


def scores_worth(share: float) -> np.ndarray:
    """Scores with a given break-even point, a multiple of 1/20."""
    scores = POSITIVE.astype(float)
    wrong = round(20 * (1 - share))
    scores[:wrong], scores[20 : 20 + wrong] = 0.0, 1.0
    return scores + np.linspace(0.0, 1e-3, 100)


def race_of(table: dict[Candidate, list[list[float]]], levels: int = 1) -> Race:
    """A race that is over: for each candidate its break-even points, one list for each split."""
    race = Race(PRBEP(), list(table), np.geomspace(1.0, 1e-3, levels), open_end=False)
    for k in range(len(next(iter(table.values())))):
        split = HeldOut(POSITIVE, None, None)
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

    class bias:  # noqa: D106, N801
        @staticmethod
        def split(weights):
            return weights, 0.0

    @staticmethod
    def at(level):
        return np.array([level])

    @staticmethod
    def alpha(level):
        return level


def followed(candidate: Candidate, worth: list[float], *, open_end: bool = True) -> int:
    """How many levels a split tries, if they are worth so much."""
    race = Race(PRBEP(), [candidate], 10.0 ** -np.arange(LEVELS), open_end=open_end)
    split = HeldOut(POSITIVE, None, None)
    rest = iter(worth)
    race.follow(candidate, FakeTrail(), split, lambda coef: scores_worth(next(rest)), lambda alpha: None)
    return len(split.scores)


RISING = [0.05 * k for k in range(1, 20)]


def test_a_split_goes_on_beyond_the_last_level_while_its_score_rises():
    assert followed(SAFE, RISING) == LEVELS + MORE
    assert followed(SAFE, RISING, open_end=False) == LEVELS
    assert followed(SAFE, [0.5] * 20) == LEVELS
    assert followed(SAFE, [*RISING[: LEVELS + 1], *[0.1] * 9]) == LEVELS + 2


def test_a_tight_candidate_is_followed_as_long_as_it_gets_better():
    assert followed(OTHER, RISING) == LEVELS + MORE
    assert followed(OTHER, [0.1, 0.5, 0.5, 0.5, 0.9]) == 4
    assert followed(OTHER, [0.1, 0.5, 0.4, 0.6, 0.6, 0.5, 0.9]) == 6


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
