"""The choice among candidates: which is followed how far, and which wins."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from smoothperf import PRBEP, FBeta, LogLoss, PartialROCArea, ROCArea, SquaredHinge
from smoothperf.estimators.choice import ALIKE, MORE, N_STRENGTHS, Choice, typical_size
from smoothperf.measures import MEASURE_NAMES, Examples, get_measure
from smoothperf.optimise import LBFGS
from smoothperf.optimise.elastic_net import ElasticNet
from smoothperf.optimise.penalties import Quadratic
from smoothperf.tasks.base import HeldOut
from smoothperf.tasks.label_choice import candidates_for, stacked_scores
from smoothperf.tasks.labels import LabelCandidate, LabelRows, LabelTask
from smoothperf.tasks.path import PathTraining as Training

BASELINE = LabelCandidate(LogLoss())
OTHER = LabelCandidate(PRBEP(), "tight")
POSITIVE = np.repeat([True, False], [20, 80])


def scores_worth(share: float | None) -> np.ndarray:
    """Scores with a given break-even point, a multiple of 1/20; None for scores that tell nothing."""
    if share is None:
        return np.zeros(100)
    scores = POSITIVE.astype(float)
    wrong = round(20 * (1 - share))
    scores[:wrong], scores[20 : 20 + wrong] = 0.0, 1.0
    return scores + np.linspace(0.0, 1e-3, 100)


def choice_for(measure, candidates, levels, *, literal: bool = True) -> Choice:
    """A choice that has yet to be made."""
    return Choice(LabelTask(measure=measure), candidates, levels, literal=literal)


def held_out(numbers, weights=None, scores=None) -> HeldOut:
    """Rows with the labels above; weights are those for cuts."""
    return HeldOut(numbers, Examples(POSITIVE, weights), Examples(POSITIVE), scores or {})


def choice_of(table: dict[LabelCandidate, list[list[float]]], levels: int = 1, folds: int | None = None) -> Choice:
    """A choice for which everything was tried: for each candidate its break-even points, one list for each split.

    After so many ``folds`` the same rows come again; None for never.
    """
    choice = choice_for(PRBEP(), list(table), np.geomspace(1.0, 1e-3, levels))
    for k in range(len(next(iter(table.values())))):
        fold = k if folds is None else k % folds
        split = held_out(100 * fold + np.arange(100))
        for candidate, worth in table.items():
            split.scores.update({(candidate, i): scores_worth(share) for i, share in enumerate(worth[k])})
        choice.splits.append(split)
    choice.narrow()
    choice.last = dict.fromkeys(table, levels - 1)
    return choice


def test_another_must_be_better_by_more_than_the_standard_error():
    steady = choice_of({BASELINE: [[0.5]] * 5, OTHER: [[0.6]] * 5})
    assert steady.ranked()[0] == (OTHER, 0)
    shaky = choice_of({BASELINE: [[0.5]] * 5, OTHER: [[0.9], [0.2], [0.9], [0.3], [0.4]]})
    assert shaky.mean((OTHER, 0)) > shaky.mean((BASELINE, 0))
    assert shaky.ranked() == [(BASELINE, 0), (OTHER, 0)]


def test_rows_that_are_held_out_again_are_no_new_evidence():
    worth = {BASELINE: [[0.5]] * 6, OTHER: [[0.45], [0.7]] * 3}
    difference = np.array([-0.05, 0.2] * 3)
    of_splits, of_folds = difference.std(ddof=1) / np.sqrt([6, 2])
    assert of_splits < difference.mean() < of_folds
    assert choice_of(worth).ranked()[0] == (OTHER, 0)
    assert choice_of(worth, folds=2).ranked()[0] == (BASELINE, 0)
    # Rows of which only some are held out, but those time and again.
    assert choice_of(worth, folds=1).ranked()[0] == (BASELINE, 0)


def test_rows_together_and_each_once():
    choice = choice_of({BASELINE: [[0.5], [0.9], [0.6], [0.8]]}, folds=2)
    positive, scores, weights = stacked_scores(choice.splits, (BASELINE, 0))
    np.testing.assert_array_equal(positive, np.tile(POSITIVE, 4))
    np.testing.assert_array_equal(scores, np.concatenate([scores_worth(share) for share in (0.5, 0.9, 0.6, 0.8)]))
    first = stacked_scores(choice.splits, (BASELINE, 0), once=True)  # with the score of the first time
    np.testing.assert_array_equal(first[0], positive[:200])
    np.testing.assert_array_equal(first[1], scores[:200])
    assert weights is first[2] is None
    choice.splits = [
        held_out(split.numbers, np.full(100, float(k)), split.scores) for k, split in enumerate(choice.splits)
    ]
    np.testing.assert_array_equal(
        stacked_scores(choice.splits, (BASELINE, 0), once=True)[2], np.repeat([0.0, 1.0], 100)
    )


def test_a_goal_promises_by_rows_and_not_by_splits():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=100) + 2.0 * POSITIVE
    goal = get_measure("recall@fpr=0.2")
    choice = choice_for(goal, [BASELINE], np.ones(1), literal=True)
    choice.splits = [held_out(np.arange(100), scores={(BASELINE, 0): scores}) for _ in range(3)]
    assert choice.task.cut_of(choice.splits, (BASELINE, 0)) == goal.threshold(POSITIVE, scores)
    assert choice.task.cut_of(choice.splits, (BASELINE, 0)) > goal.threshold(np.tile(POSITIVE, 3), np.tile(scores, 3))


@pytest.mark.parametrize("measure", [PRBEP(), FBeta()], ids=str)
def test_scores_that_are_remembered_are_those_of_all_splits_so_far(measure):
    """F1 above all: every split that comes moves the cut, and so the scores of those before."""
    rng = np.random.default_rng(0)
    choice, anew = (choice_for(measure, [BASELINE], np.ones(1), literal=True) for _ in range(2))
    for k in range(4):
        scores = rng.normal(size=100) + POSITIVE + k
        choice.splits.append(held_out(100 * k + np.arange(100), scores={(BASELINE, 0): scores}))
        remembered = choice.split_scores(BASELINE, 0)
        assert choice.split_scores(BASELINE, 0) is remembered
        anew.splits = list(choice.splits)
        anew._known.clear()
        np.testing.assert_array_equal(remembered, anew.split_scores(BASELINE, 0))
        cut = choice.task.cut_of(choice.splits, (BASELINE, 0)) if measure.judges_decisions else 0.0
        assert remembered[0] == measure.score(POSITIVE, choice.splits[0].scores[BASELINE, 0] - cut)


def test_of_baselines_the_better_is_taken():
    choice = choice_of({BASELINE: [[0.5]] * 3, LabelCandidate(SquaredHinge()): [[0.55], [0.5], [0.5]]})
    assert choice.ranked()[0][0] == LabelCandidate(SquaredHinge())


def test_without_baselines_the_best_is_taken():
    choice = choice_of({OTHER: [[0.5]] * 3, LabelCandidate(ROCArea()): [[0.9], [0.9], [0.0]]})
    assert choice.ranked()[0][0] == LabelCandidate(ROCArea())


def test_of_levels_that_are_alike_the_largest_is_taken():
    choice = choice_of({BASELINE: [[0.5, 0.6, 0.6, 0.4]] * 3}, levels=4)
    assert choice.ranked() == [(BASELINE, 1)]
    assert ALIKE < 0.05  # the step of these scores


def test_who_was_behind_twice_is_out_and_the_others_go_one_level_beyond_their_best():
    choice = choice_of({BASELINE: [[0.5, 0.6, 0.4, 0.3]] * 2, OTHER: [[0.5, 0.55, 0.4, 0.3]] * 2}, levels=4)
    choice.narrow()
    assert choice.last == {BASELINE: 3, OTHER: -1}
    choice = choice_of({BASELINE: [[0.5, 0.6, 0.4, 0.3]] * 2, OTHER: [[0.5, 0.65, 0.4, 0.3]] * 2}, levels=4)
    choice.narrow()
    assert choice.last == {BASELINE: 3, OTHER: 2}


class FakePath:
    """Models whose one weight is alpha."""

    @staticmethod
    def solve(alpha):
        return SimpleNamespace(coef=np.array([alpha]))


def followed(candidate: LabelCandidate, worth: list[float | None], *, literal: bool = False) -> int:
    """The number of levels that a split tries, if they are worth so much."""
    choice = choice_for(PRBEP(), [candidate], 10.0 ** -np.arange(N_STRENGTHS), literal=literal)
    training = SimpleNamespace(
        candidate=candidate, path=FakePath(), penalty=Quadratic(1.0), risk=SimpleNamespace(score_scale=1.0)
    )
    split = held_out(np.arange(100))
    rest = iter(worth)
    choice.follow(training, split, lambda coef: scores_worth(next(rest)), lambda alpha: None)
    return len(split.scores)


RISING = [0.05 * k for k in range(1, 20)]


def test_a_split_goes_on_beyond_the_last_level_while_its_score_rises():
    assert followed(BASELINE, RISING) == N_STRENGTHS + MORE
    assert followed(BASELINE, RISING, literal=True) == N_STRENGTHS
    assert followed(BASELINE, [0.5] * 20) == N_STRENGTHS
    assert followed(BASELINE, [*RISING[: N_STRENGTHS + 1], *[0.1] * 9]) == N_STRENGTHS + 2


@pytest.mark.parametrize("candidate", [OTHER, LabelCandidate(PRBEP())], ids=str)
def test_others_than_baselines_are_followed_as_long_as_they_get_better(candidate):
    assert followed(candidate, RISING) == N_STRENGTHS + MORE
    assert followed(candidate, [0.1, 0.5, 0.5, 0.5, 0.9]) == 4
    assert followed(candidate, [0.1, 0.5, 0.4, 0.6, 0.6, 0.5, 0.9]) == 6
    # Those that were given are all tried: scores may not change before the regulariser is weak.
    assert followed(candidate, [0.5] * 20, literal=True) == N_STRENGTHS


def test_models_that_tell_nothing_do_not_try_patience():
    """A convex risk that collapses may tell something with a smaller alpha; if it never does, it ends with the rest."""
    collapsing = LabelCandidate(PRBEP())
    assert followed(collapsing, [None, None, None, 0.5, 0.5, 0.5, 0.9]) == N_STRENGTHS
    assert followed(collapsing, [None, 0.5, 0.4, 0.4, 0.9, 0.9]) == 4
    assert followed(collapsing, [0.5, None, None, 0.9, 0.9, 0.9]) == 3
    assert followed(collapsing, [*[None] * 4, *RISING]) == N_STRENGTHS + MORE
    assert followed(collapsing, [None] * 20) == N_STRENGTHS


def test_a_level_has_one_alpha_however_far_its_path_was_followed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    task = LabelTask(measure=LogLoss(), penalties={0.5: ElasticNet(1.0, 0.5)})
    (candidate,) = task.candidates("convex")
    rows = LabelRows(X, np.array([False, True]), X[:, 0] > rng.normal(size=100))
    training = Training(task, candidate, rows, LBFGS(tol=1e-3), choosing=True)
    choice = Choice(task, [candidate], 10.0 ** -np.arange(N_STRENGTHS))
    alphas = [choice.alpha(training, index) for index in range(N_STRENGTHS)]
    for alpha in alphas:
        training.path.solve(alpha)
    assert [choice.alpha(training, index) for index in range(N_STRENGTHS)] == alphas


@pytest.mark.parametrize("name", MEASURE_NAMES)
def test_every_measure_has_candidates(name):
    measure = get_measure(name)
    candidates = candidates_for(measure)
    assert candidates[0].baseline
    assert len(set(candidates)) == len(candidates)
    for candidate in candidates:
        risk = candidate.measure.bind(np.repeat([1, -1], 200))
        assert candidate.bound == "convex" or risk.has_loss_free
    if candidates[0].measure != measure:
        assert {type(one.measure) for one in candidates[:2]} == {LogLoss, SquaredHinge}


def test_one_bound_only():
    assert candidates_for(PRBEP(), "tight") == (OTHER,)
    assert candidates_for(get_measure("average_precision"), "convex") == (LabelCandidate(ROCArea()),)
    assert candidates_for(PRBEP(), [("roc_area@0.1", "tight")]) == (LabelCandidate(PartialROCArea(0.1), "tight"),)


@pytest.mark.parametrize(
    ("squares", "size"),
    [([1.0, 2.0, 3.0], 6.0), ([0.0, 0.0], 1.0), ([5.0], 5.0), ([1.0, 1e8, 1e12, 2.0], 3.0), ([1.0, 9.0, 90.0], 100.0)],
)
def test_columns_that_dwarf_the_others_do_not_count(squares, size):
    assert typical_size(np.array(squares)) == size
