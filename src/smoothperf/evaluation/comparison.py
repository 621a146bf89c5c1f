r"""Does training for the measure pay? Every way of training, judged by every measure, with the noise beside it.

Fair play: everybody gets the same rows, and makes all choices by stratified folds of them. Ours is what
:class:`~smoothperf.MeasureClassifierCV` makes of a measure, with the risk and the strength that it chooses; where
examples are few it draws folds three times. The others draw them once, and choose, for each measure by itself, the
strength of their regularisation. Where a decision is judged, all choose the threshold on the scores of held-out rows.
Other rows judge. So a model that is behind in a column is behind although it was tuned for that column.

Noise: rows of the judging parts are drawn again with replacement, the same rows for all contenders. The interval of a
difference is that of these paired values; two contenders whose interval holds 0 are called a tie. In a table with five
columns the intervals are 99 % ones, because it makes five verdicts and one of them should be wrong by chance in at most
5 % of tables. They cover the chance in the rows that judge, not the chance in the rows that train, nor that the
strongest on either side was found by looking at these rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import whole_number
from ..design.scaling import Scaling
from ..measures import Measure
from .bootstrap import interval, resamples
from .names import title_of
from .ranking import Ranking

Array = NDArray[np.float64]
Labels = NDArray[np.bool_]

#: The columns of every matrix; another one is added for each other measure that is trained for. F1 and accuracy are of
#: a decision, so they come with a chosen threshold.
COLUMNS = ("prbep", "roc_area", "average_precision", "f1", "accuracy")
DECISIONS = ("f1", "accuracy")
#: How often a table may have a wrong verdict by chance.
WRONG_BY_CHANCE = 0.05


@dataclass(frozen=True)
class FittedModel:
    """One fitted model: a linear score, how it came about, and what is known of it from rows held out.

    Attributes
    ----------
    strength : str
        How it was trained.
    coef, intercept
        Of the score.
    held_out : sequence of (ndarray of bool, ndarray)
        Labels and scores of held-out rows, one pair for every fold or for all together.
    threshold : float or None
        For the measure that it was made for, if there is one; chosen on the held-out rows by default.
    converged : bool
        Whether the tolerance was reached.
    """

    strength: str
    coef: Array
    intercept: float = 0.0
    held_out: Sequence[tuple[Labels, Array]] = ()
    threshold: float | None = None
    converged: bool = True

    def scores(self, X: Any) -> Array:
        """Return ``X w + b``."""
        scores: Array = np.asarray(X @ self.coef) + self.intercept
        return scores


#: A way of training on X and the mask of the positives, at one or several strengths of regularisation, the strongest
#: first.
Family = Callable[[Any, Labels], list[FittedModel]]


@dataclass(frozen=True)
class Contender:
    """A line of the matrix.

    Attributes
    ----------
    name : str
        As it is shown.
    family : callable
        Trains at several strengths.
    trained_for : str or None
        The column of the measure that it is trained for; None for baselines.
    measure : Measure or None
        That measure.
    """

    name: str
    family: Family
    trained_for: str | None = None
    measure: Measure | None = None


@dataclass(frozen=True)
class Split:
    """Rows to train on, with all choices, and rows to be judged on."""

    train: tuple[Any, Labels]
    judge: tuple[Any, Labels]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a contender reached: means over the splits.

    Attributes
    ----------
    name, trained_for
        Of the contender.
    values : dict of str to float
        By measure.
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


def cross_validation_splits(
    X: Any, positive: Labels, *, folds: int = 5, seed: int = 0, scale: str = "none"
) -> Iterator[Split]:
    """Judge on each fold in turn, train on the other rows; stratified. They are scaled as those to train on ask for."""
    from sklearn.model_selection import StratifiedKFold

    whole_number("folds", folds, at_least=2)
    rarer = min(int(positive.sum()), int((~positive).sum()))
    if rarer < 2 * folds:
        raise ValueError(
            f"{folds} folds need {2 * folds} examples of each class, but one has {rarer}; use fewer folds."
        )
    for rest, judge in StratifiedKFold(folds, shuffle=True, random_state=seed).split(positive, positive):
        yield held_out_split(X[rest], positive[rest], X[judge], positive[judge], scale=scale)


def held_out_split(X: Any, positive: Labels, X_judge: Any, judge: Labels, *, scale: str = "none") -> Split:
    """Judge on given rows, train on the others; all are scaled as those to train on ask for."""
    scaling = Scaling.of(scale, X)
    return Split((scaling.apply(X), positive), (scaling.apply(X_judge), judge))


@dataclass(frozen=True)
class _Choice:
    """What was chosen of a contender for one column in one split: scores of the judging rows and a threshold."""

    ranking: Ranking
    threshold: float
    strength: str


def compare(
    splits: Sequence[Split],
    players: Sequence[Contender],
    *,
    n_resamples: int = 1000,
    seed: int = 0,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Outcome]:
    """Let all contenders train on all splits, and judge them.

    Parameters
    ----------
    splits : sequence of Split
        From :func:`cross_validation_splits` or :func:`held_out_split`.
    players : sequence of Contender
        From :func:`smoothperf.estimators.contenders.contenders`.
    n_resamples, seed : int
        Of the bootstrap.
    tell : callable, optional
        Gets a line whenever a contender has finished a split.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from smoothperf.estimators.contenders import contenders
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> splits = list(cross_validation_splits(X / X.max(axis=0), y == 1, folds=2))
    >>> lines = compare(splits, contenders(["roc_area"]), n_resamples=20)
    >>> [line.name for line in lines]
    ['for ROC area', 'LogisticRegression', 'LinearSVC']
    >>> all(line.values["roc_area"] > 0.9 for line in lines)
    True
    """
    columns = _columns(players)
    choices: list[list[dict[str, _Choice]]] = []
    seconds: list[list[float]] = []
    missed: list[int] = []
    for player in players:
        choices.append([])
        seconds.append([])
        missed.append(0)
        for number, split in enumerate(splits, start=1):
            begin = time.perf_counter()
            models = player.family(*split.train)
            seconds[-1].append(time.perf_counter() - begin)
            missed[-1] += sum(not model.converged for model in models)
            choices[-1].append(_choose(models, player.trained_for, split, columns))
            tell(f"{player.name}, split {number} of {len(splits)}: {seconds[-1][-1]:.1f} s")
    values = [[_judge(chosen, columns, None) for chosen in row] for row in choices]
    samples = _resample(splits, choices, columns, n_resamples, seed)
    return [
        Outcome(
            name=player.name,
            trained_for=player.trained_for,
            values={column: float(np.mean([value[column] for value in values[at]])) for column in columns},
            samples={column: samples[at, :, place] for place, column in enumerate(columns)},
            strengths={column: [chosen[column].strength for chosen in choices[at]] for column in columns},
            seconds=float(np.mean(seconds[at])),
            missed=missed[at],
        )
        for at, player in enumerate(players)
    ]


def _columns(players: Sequence[Contender]) -> dict[str, Measure | None]:
    """All columns, with the measures of those that are not in every table."""
    own = {player.trained_for: player.measure for player in players if player.trained_for is not None}
    return {**dict.fromkeys(COLUMNS), **{column: own[column] for column in own if column not in COLUMNS}}


def _choose(
    models: Sequence[FittedModel], trained_for: str | None, split: Split, columns: dict[str, Measure | None]
) -> dict[str, _Choice]:
    """Pick for every column the model, and the threshold, that are best on rows held out."""
    rankings = [[Ranking(*pair) for pair in model.held_out] for model in models]
    pooled = [Ranking(*map(np.concatenate, zip(*model.held_out, strict=True))) for model in models]
    judged: dict[int, Ranking] = {}
    chosen = {}
    for column, measure in columns.items():
        if _decides(column, measure):
            options = [_best_threshold(ranking, column, measure) for ranking in pooled]
        else:
            options = [(_mean(folds, column, measure), 0.0) for folds in rankings]
        # Of equally good ones the first, which is the most regularised.
        best = max(range(len(models)), key=lambda at: options[at][0])
        if best not in judged:
            judged[best] = Ranking(split.judge[1], models[best].scores(split.judge[0]))
        own = models[best].threshold
        threshold = own if own is not None and column == trained_for else options[best][1]
        chosen[column] = _Choice(judged[best], threshold, models[best].strength)
    return chosen


def _decides(column: str, measure: Measure | None) -> bool:
    """Whether a column is about decisions, which need a threshold."""
    return column in DECISIONS if measure is None else measure.fits_bias


def _mean(folds: Sequence[Ranking], column: str, measure: Measure | None) -> float:
    """Return what a ranking is worth, on average over the folds."""
    return float(np.mean([fold.measures()[column] if measure is None else fold.score(measure, 0.0) for fold in folds]))


def _best_threshold(ranking: Ranking, column: str, measure: Measure | None) -> tuple[float, float]:
    """Return the best value of a measure of decisions, and the threshold for it."""
    if measure is not None:
        threshold = ranking.best_threshold(measure)
        return ranking.score(measure, threshold), threshold
    cuts = ranking.cuts()
    values = cuts.f1 if column == "f1" else cuts.accuracy
    at = int(values.argmax())
    return float(values[at]), ranking.threshold_at(at)


def _judge(
    chosen: dict[str, _Choice], columns: dict[str, Measure | None], multiplicity: Array | None
) -> dict[str, float]:
    """Return the measures of what was chosen; a ranking that was chosen for several columns is evaluated once."""
    known: dict[tuple[int, float], dict[str, float]] = {}
    values = {}
    for column, choice in chosen.items():
        measure = columns[column]
        if measure is not None:
            values[column] = choice.ranking.score(measure, choice.threshold, multiplicity)
            continue
        key = id(choice.ranking), choice.threshold
        if key not in known:
            known[key] = choice.ranking.measures(choice.threshold, multiplicity)
        values[column] = known[key][column]
    return values


def _resample(
    splits: Sequence[Split],
    choices: Sequence[Sequence[dict[str, _Choice]]],
    columns: dict[str, Measure | None],
    n_resamples: int,
    seed: int,
) -> Array:
    """Return the means over splits for every contender, resample and column: shape (contenders, resamples, columns)."""
    total = np.zeros((len(choices), n_resamples, len(columns)))
    for number, split in enumerate(splits):
        for draw, multiplicity in enumerate(resamples(split.judge[1], n_resamples, seed + number)):
            for at, row in enumerate(choices):
                values = _judge(row[number], columns, multiplicity)
                total[at, draw] += [values[column] for column in columns]
    return total / len(splits)


def level_of(line: Outcome) -> float:
    """Return the level of the interval of a difference, 95 % for all columns of a table together."""
    return 1.0 - WRONG_BY_CHANCE / len(line.values)


def difference(one: Outcome, other: Outcome, column: str) -> Difference:
    """Return how much more the first has in a column."""
    low, high = interval(one.samples[column] - other.samples[column], level_of(one))
    return Difference(one.values[column] - other.values[column], low, high)


def best_or_tied(lines: Sequence[Outcome], column: str) -> list[bool]:
    """Say for each line whether it is the best of a column or cannot be told from the best."""
    best = max(lines, key=lambda line: line.values[column])
    return [line is best or difference(best, line, column).is_tie for line in lines]


def verdict(lines: Sequence[Outcome], column: str) -> str:
    """Say in a sentence whether training for a measure paid; a difference within noise is a tie.

    The model trained for the measure meets the better of the baselines. In columns that nothing was trained for, the
    best of ours meets it; that answers another question, so the words are others.
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
