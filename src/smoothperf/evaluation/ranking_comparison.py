"""Does training for a measure of rankings pay? Every way of training, judged by every measure, query by query.

Fair play is that of :mod:`smoothperf.evaluation.comparison`: everybody gets the same queries, and makes all choices by
folds of whole queries of them, for each measure by itself. Other queries judge. Ours is what
:class:`~smoothperf.MeasureRankerCV` makes of a measure.

Noise: queries of the judging part are drawn again with replacement, the same for all contenders, so that differences
are paired. Two contenders whose interval holds 0 are a tie.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from ..measures import NDCG, Queries, QueryMeasure
from ..threads import cached_property
from .comparison import Outcome
from .query_scores import QueryScores, query_resamples

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
#: The columns of every table; another one is added for each other measure that is trained for.
COLUMNS = ("ndcg@10", "average_precision", "reciprocal_rank", "roc_area")


@dataclass(frozen=True)
class Documents:
    """Features, grades and queries of some rows."""

    X: Any
    grades: Array
    qid: NDArray[Any]

    def __getitem__(self, rows: Rows) -> Documents:
        return Documents(self.X[rows], self.grades[rows], self.qid[rows])

    @cached_property
    def queries(self) -> Queries:
        """The same by query, checked."""
        return Queries.of(self.grades, self.qid)

    def folds(self, number: int, seed: int = 0) -> list[tuple[Rows, Rows]]:
        """Rows to train on and rows to hold out, so many times; queries with one grade only are never held out."""
        counted = NDCG(gain="linear").counted(self.queries)
        if counted.size < number:
            raise ValueError(
                f"{number} folds need {number} queries with documents of two grades, but there are {counted.size}; "
                "use fewer folds."
            )
        queries = self.queries.numbers
        parts = [counted[test] for _, test in KFold(number, shuffle=True, random_state=seed).split(counted)]
        masks = [np.isin(queries, part) for part in parts]
        return [(np.flatnonzero(~mask), np.flatnonzero(mask)) for mask in masks]


@dataclass(frozen=True)
class FittedRanker:
    """One fitted model.

    Attributes
    ----------
    strength : str
        How it was trained.
    score : callable
        Scores of rows.
    held_out : sequence of (Queries, ndarray)
        Queries of held-out folds, with their scores; what to choose by, where there is a choice.
    converged : bool
        Whether the tolerance was reached.
    """

    strength: str
    score: Callable[[Any], Array]
    held_out: Sequence[tuple[Queries, Array]] = ()
    converged: bool = True


@dataclass(frozen=True)
class RankingContender:
    """A line of the table: its name, how it trains, and the measure that it is trained for; None for baselines."""

    name: str
    family: Callable[[Documents], list[FittedRanker]]
    trained_for: str | None = None


def compare_rankings(
    splits: Sequence[tuple[Documents, Documents]],
    players: Sequence[RankingContender],
    measures: Sequence[QueryMeasure],
    *,
    n_resamples: int = 1000,
    seed: int = 0,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Outcome]:
    """Let all contenders train on the first part of each split, and judge them on the second.

    Parameters
    ----------
    splits : sequence of (Documents, Documents)
        To train on, with all choices, and to be judged on.
    players : sequence of RankingContender
        From :func:`smoothperf.estimators.ranking_contenders.ranking_contenders`.
    measures : sequence of QueryMeasure
        The columns. Those by which no judging query counts are left out.
    n_resamples, seed : int
        Of the bootstrap.
    tell : callable, optional
        Gets a line whenever a contender has finished a split.
    """
    columns = {
        measure.name: measure for measure in measures if all(measure.counted(judge.queries).size for _, judge in splits)
    }
    records = [_Record(player) for player in players]
    for record in records:
        for number, (train, judge) in enumerate(splits, start=1):
            begin = time.perf_counter()
            models = record.player.family(train)
            record.seconds.append(time.perf_counter() - begin)
            record.missed += sum(not model.converged for model in models)
            record.judged.append({name: _judged(models, measure, judge) for name, measure in columns.items()})
            tell(f"{record.player.name}, split {number} of {len(splits)}: {record.seconds[-1]:.1f} s")
    samples = _resample([judge for _, judge in splits], records, list(columns), n_resamples, seed)
    return [record.outcome(columns, samples[at]) for at, record in enumerate(records)]


class _Record:
    """What a contender has reached so far: in each split and for each column the scores and what was chosen."""

    def __init__(self, player: RankingContender):
        self.player = player
        self.judged: list[dict[str, tuple[QueryScores, str]]] = []
        self.seconds: list[float] = []
        self.missed = 0

    def outcome(self, columns: dict[str, QueryMeasure], samples: Array) -> Outcome:
        return Outcome(
            name=self.player.name,
            trained_for=self.player.trained_for,
            values={name: float(np.mean([split[name][0].mean() for split in self.judged])) for name in columns},
            samples={name: samples[:, place] for place, name in enumerate(columns)},
            strengths={name: [split[name][1] for split in self.judged] for name in columns},
            seconds=float(np.mean(self.seconds)),
            missed=self.missed,
        )


def _judged(models: Sequence[FittedRanker], measure: QueryMeasure, judge: Documents) -> tuple[QueryScores, str]:
    """What the model is worth that is the best on queries held out; of equally good ones the first."""

    def worth(model: FittedRanker) -> float:
        means = [QueryScores.of(measure, *part).mean() for part in model.held_out]
        return float(np.nanmean(means)) if np.isfinite(means).any() else -np.inf

    best = models[0] if len(models) == 1 else max(models, key=worth)
    return QueryScores.of(measure, judge.queries, best.score(judge.X)), best.strength


def _resample(
    judges: Sequence[Documents], records: Sequence[_Record], columns: Sequence[str], n_resamples: int, seed: int
) -> Array:
    """Means over splits for every contender, resample and column; where none was drawn that counts, the mean of all."""
    total = np.zeros((len(records), n_resamples, len(columns)))
    for number, judge in enumerate(judges):
        draws = query_resamples(judge.queries.sizes.size, n_resamples, seed + number)
        for at, draw in enumerate(draws):
            for record, sums in zip(records, total, strict=True):
                scores = [record.judged[number][column][0] for column in columns]
                means = np.array([score.mean(draw) for score in scores])
                sums[at] += np.where(np.isnan(means), [score.mean() for score in scores], means)
    return total / len(judges)
