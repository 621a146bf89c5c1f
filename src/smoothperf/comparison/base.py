"""Ways of training side by side, for labels and for queries alike.

Fair play: all get the same rows, and make all choices by folds of them. Ours is what the estimators that choose
(:class:`~smoothperf.MeasureClassifierCV`, :class:`~smoothperf.MeasureRankerCV`) make of a measure. The others choose,
for each measure by itself, the strength of their regularisation. Where a decision is judged, all choose the threshold
on the scores of held-out rows. Other rows judge. So a model that is behind in a column is behind although it was tuned
for that column.

Noise: rows of the judging parts, or whole queries, are drawn again with replacement, the same for all methods. The
interval of a difference is that of these paired values; two methods whose interval holds 0 are called a tie. In a table
with five columns the intervals are 99 % ones, because it makes five verdicts and one of them should be wrong by chance
in at most 5 % of tables. They cover the chance in the rows that judge, not the chance in the rows that train, nor that
the strongest on either side was found by looking at these rows.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from ..evaluation import interval, title_of
from ..tasks.base import K, Rows

Array = NDArray[np.float64]
#: How a model was trained, and its scores of rows.
Trained = tuple[str, Callable[[Any], Array]]
#: Strengths of scikit-learn's models, as far apart as ours, which come from the data.
C_GRID = tuple(10.0**exponent for exponent in range(-4, 4))
#: Folds to choose by, as in training.
FOLDS = 5
#: How often a table may have a wrong verdict by chance.
WRONG_BY_CHANCE = 0.05


@dataclass(frozen=True)
class Fitted(Generic[K]):
    """One fitted model.

    Attributes
    ----------
    strength : str
        How it was trained.
    scores : callable
        Scores of rows.
    held_out : sequence of (Supervision, ndarray)
        What is known of held-out rows, with their scores: one pair for every fold, or for all together.
    threshold : float or None
        For the measure that it was made for, if there is one; chosen on the held-out rows by default.
    converged : bool
        Whether the tolerance was reached.
    """

    strength: str
    scores: Callable[[Any], Array]
    held_out: Sequence[tuple[K, Array]] = ()
    threshold: float | None = None
    converged: bool = True


@dataclass(frozen=True)
class Method(Generic[K]):
    """A line of the table.

    Attributes
    ----------
    name : str
        As it is shown.
    train : callable
        Returns models of rows, at one or several strengths of regularisation, the strongest first.
    trained_for : str or None
        The column of the measure that it is trained for; None for baselines.
    """

    name: str
    train: Callable[[Rows[K]], list[Fitted[K]]]
    trained_for: str | None = None


class Judge(ABC, Generic[K]):
    """The measures that judge, as columns of a table.

    Attributes
    ----------
    columns : list of str
        Their names.
    """

    columns: list[str]

    @abstractmethod
    def splits(self, rows: Rows[K], folds: int, seed: int = 0) -> Iterable[tuple[Any, Any]]:
        """Numbers of the rows to train on and of those to judge on, so many times."""

    @abstractmethod
    def choose(self, column: str, held_out: Sequence[tuple[K, Array]]) -> tuple[float, float]:
        """What a model is worth on held-out rows, and the threshold for that."""

    @abstractmethod
    def judged(self, column: str, known: K, scores: Array, threshold: float) -> Callable[[Array | None], float]:
        """What scores are worth, as a function of how often each row or query was drawn; None for once each."""

    @abstractmethod
    def draws(self, known: K, number: int, seed: int) -> Iterator[Array]:
        """How often each row or query is drawn, so many times."""

    def cross_validated(
        self, train_all: Callable[[Rows[K]], Iterator[Trained]]
    ) -> Callable[[Rows[K]], list[Fitted[K]]]:
        """All models that ``train_all`` makes of rows, with their scores of held-out folds."""

        def train(rows: Rows[K]) -> list[Fitted[K]]:
            held_out = []
            for inside, outside in self.splits(rows, FOLDS):
                others = rows.part(outside)
                held_out.append([(others.judged, scores(others.X)) for _, scores in train_all(rows.part(inside))])
            return [
                Fitted(strength, scores, [fold[at] for fold in held_out])
                for at, (strength, scores) in enumerate(train_all(rows))
            ]

        return train


@dataclass(frozen=True, eq=False)
class Line:
    """What a method reached: means over the splits.

    Attributes
    ----------
    name, trained_for
        Of the method.
    values : dict of str to float
        By column.
    samples : dict of str to ndarray
        The same for every resample.
    strengths : dict of str to list of str
        What was chosen in each split.
    seconds : float
        To choose and to train, mean over the splits.
    missed : int
        Models that stopped before their tolerance.
    """

    name: str
    trained_for: str | None
    values: dict[str, float]
    samples: dict[str, Array] = field(repr=False)
    strengths: dict[str, list[str]]
    seconds: float
    missed: int


@dataclass(frozen=True)
class Difference:
    """How much more one line has than another in a column, with its interval."""

    value: float
    low: float
    high: float

    @property
    def is_tie(self) -> bool:
        """Whether chance in the judging rows could explain it."""
        return self.low <= 0.0 <= self.high


def compare(
    splits: Sequence[tuple[Rows[K], Rows[K]]],
    methods: Sequence[Method[K]],
    judge: Judge[K],
    *,
    n_resamples: int = 1000,
    seed: int = 0,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Line]:
    """Train by all methods on the first part of each split, and judge them on the second.

    Parameters
    ----------
    splits : sequence of (Rows, Rows)
        To train on, with all choices, and to judge on.
    methods : sequence of Method
        The lines.
    judge : Judge
        The columns.
    n_resamples, seed : int
        Of the bootstrap.
    tell : callable, optional
        Gets a line whenever a method has finished a split.

    Returns
    -------
    list of Line
        One for each method.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from smoothperf.comparison import LabelJudge
    >>> from smoothperf.tasks.labels import LabelRows
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> rows = LabelRows(X / X.max(axis=0), np.array([0, 1]), y == 1)
    >>> judge = LabelJudge(["roc_area"])
    >>> splits = [(rows.part(train), rows.part(test)) for train, test in judge.splits(rows, folds=2)]
    >>> lines = compare(splits, judge.methods(), judge, n_resamples=20)
    >>> [line.name for line in lines]
    ['for ROC area', 'LogisticRegression', 'LinearSVC']
    >>> all(line.values["roc_area"] > 0.9 for line in lines)
    True
    """
    records = []
    for method in methods:
        record = _Record(method)
        for number, (train, test) in enumerate(splits, start=1):
            record.add(train, test, judge)
            tell(f"{method.name}, split {number} of {len(splits)}: {record.seconds[-1]:.1f} s")
        records.append(record)
    samples = np.zeros((len(methods), n_resamples, len(judge.columns)))
    for number, (_, test) in enumerate(splits):
        for at, draw in enumerate(judge.draws(test.judged, n_resamples, seed + number)):
            for record, sums in zip(records, samples, strict=True):
                sums[at] += [record.worth[number][column](draw) for column in judge.columns]
    samples /= len(splits)
    return [record.line(judge.columns, each) for record, each in zip(records, samples, strict=True)]


class _Record(Generic[K]):
    """What a method has reached so far: in each split and column the worth of what was chosen, and its name."""

    def __init__(self, method: Method[K]):
        self._method = method
        self.worth: list[dict[str, Callable[[Array | None], float]]] = []
        self.seconds: list[float] = []
        self._strengths: list[dict[str, str]] = []
        self._missed = 0

    def add(self, train: Rows[K], test: Rows[K], judge: Judge[K]) -> None:
        """Train on a split, choose for every column, and judge."""
        begin = time.perf_counter()
        models = self._method.train(train)
        self.seconds.append(time.perf_counter() - begin)
        self._missed += sum(not model.converged for model in models)
        scores: dict[int, Array] = {}
        worth, strengths = {}, {}
        for column in judge.columns:
            options = [judge.choose(column, model.held_out) for model in models]
            # Of equally good ones the first, which is the most regularised.
            best = max(range(len(models)), key=lambda at: options[at][0])
            model, threshold = models[best], options[best][1]
            if model.threshold is not None and column == self._method.trained_for:
                threshold = model.threshold
            if best not in scores:
                scores[best] = model.scores(test.X)
            worth[column] = judge.judged(column, test.judged, scores[best], threshold)
            strengths[column] = model.strength
        self.worth.append(worth)
        self._strengths.append(strengths)

    def line(self, columns: Sequence[str], samples: Array) -> Line:
        """The line of the table."""
        return Line(
            name=self._method.name,
            trained_for=self._method.trained_for,
            values={column: float(np.mean([split[column](None) for split in self.worth])) for column in columns},
            samples={column: samples[:, place] for place, column in enumerate(columns)},
            strengths={column: [split[column] for split in self._strengths] for column in columns},
            seconds=float(np.mean(self.seconds)),
            missed=self._missed,
        )


def level_of(line: Line) -> float:
    """Return the level of the interval of a difference, 95 % for all columns of a table together."""
    return 1.0 - WRONG_BY_CHANCE / len(line.values)


def difference(one: Line, other: Line, column: str) -> Difference:
    """Return how much more the first has in a column."""
    low, high = interval(one.samples[column] - other.samples[column], level_of(one))
    return Difference(one.values[column] - other.values[column], low, high)


def best_or_tied(lines: Sequence[Line], column: str) -> list[bool]:
    """Say for each line whether it is the best of a column or cannot be told from the best."""
    best = max(lines, key=lambda line: line.values[column])
    return [line is best or difference(best, line, column).is_tie for line in lines]


def verdict(lines: Sequence[Line], column: str) -> str:
    """Say in a sentence whether training for a measure paid; a difference within noise is a tie.

    The model trained for the measure is compared with the better of the baselines. In columns that nothing was trained
    for, the best of ours is; that answers another question, so the words are others.
    """
    ours = [line for line in lines if line.trained_for == column]
    name = title_of(column)
    if ours:
        own = ours[0]
        subject = f"training for {name}"
    else:
        own = max((line for line in lines if line.trained_for is not None), key=lambda line: line.values[column])
        subject = f"training {own.name}, the best of ours here,"
    rival = max((line for line in lines if line.trained_for is None), key=lambda line: line.values[column])
    gain = difference(own, rival, column)
    figures = f"{own.values[column]:.4f} against {rival.values[column]:.4f}"
    noise = f"({100 * level_of(own):.3g} %: {gain.low:+.4f} to {gain.high:+.4f})"
    best = max(lines, key=lambda line: line.values[column])
    rest = f" The best is the model {best.name}, {best.values[column]:.4f}." if best not in (own, rival) else ""
    if gain.is_tie:
        who = f"{subject[0].upper()}{subject[1:]} and {rival.name}"
        return f"{name}: a tie. {who} differ by {abs(gain.value):.4f}, which is within noise {noise}.{rest}"
    won = gain.low > 0.0
    outcome = ("pays" if won else "does not pay") if ours else ("is ahead" if won else "is behind")
    return f"{name}: {subject} {outcome}: {figures} of {rival.name}, {gain.value:+.4f} {noise}.{rest}"
