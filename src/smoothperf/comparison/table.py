"""Ways of training side by side, each judged by every measure.

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
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from .._arrays import Array
from ..estimators.classifier_cv import MeasureClassifierCV
from ..evaluation import Ranking, column_of, interval, resamples, title_of
from ..measures import Examples, Measure, get_measure
from ..tasks.base import HeldOut, K, Rows, Task
from ..tasks.features import prepared, split_rows
from ..tasks.labels import LabelTask

#: Scores of rows, as a function of X.
Scores = Callable[[Any], Array]
#: The way in which a model was trained, and its scores of rows.
Model = tuple[str, Scores]
#: The measure of scores, as a function of how often each row or query was drawn; None for once each.
DrawnWorth = Callable[[Array | None], float]
#: Strengths of scikit-learn's models, as far apart as ours, which come from the data.
C_GRID = tuple(10.0**exponent for exponent in range(-4, 4))
#: Leaves and numbers of boosted trees, and what is learnt by each.
TREES, LEARNING_RATE = ((4, 50), (4, 200), (16, 50), (16, 200)), 0.05
#: Larger data, with zeros, have no trees, and fewer rows take as long as so many. (Measured: all sizes of trees take
#: 1.5 s of a processor for 20,000 rows of 50 features, 9 s for 1,000 of 1,000, and are trained six times a split.)
MOST_ENTRIES, FEWEST_ROWS = 20_000_000, 8_000
#: Folds to choose by, as in training.
FOLDS = 5
#: Probability of a wrong verdict in a table, by chance.
WRONG_BY_CHANCE = 0.05
#: The columns of every table of labels; another one is added for each other measure that is trained for.
COLUMNS = {
    "prbep": "prbep",
    "roc_area": "roc_area",
    "average_precision": "average_precision",
    "f1": "f1",
    "accuracy": "error_rate",
}


class Fitted(NamedTuple):
    """A fitted model.

    Attributes
    ----------
    strength : str
        Its hyper-parameters, in words.
    scores : callable
        Scores of rows.
    held_out : list of HeldOut
        Held-out rows of each fold, with their scores by :data:`MODEL`.
    threshold : float or None
        The cut for the measure that it was made for; chosen on the held-out rows by default.
    converged : bool
        Whether the tolerance was reached.
    """

    strength: str
    scores: Scores
    held_out: list[HeldOut[Any, Any]]
    threshold: float | None = None
    converged: bool = True


#: The one candidate, and strength, that held-out scores are of.
MODEL: Any = ("", 0)


@dataclass(frozen=True)
class Method:
    """A line of the table: its name, and how it makes models of rows, the most regularised first.

    Ours is trained for the measure of a column. Trees tell more than whether a linear model had the best risk.
    """

    name: str
    fit: Callable[[Any], list[Fitted]]
    trained_for: str | None = None
    trees: bool = False


class Compared(ABC, Generic[K]):
    """Rows of one kind, labels or queries: the columns that judge them, as tasks by name, and the lines."""

    tasks: dict[str, Task[K, Any]]

    @abstractmethod
    def splits(self, rows: Any, folds: int, seed: int = 0) -> list[tuple[Any, Any]]:
        """Numbers of the rows to train on and of those to judge on, so many times."""

    @abstractmethod
    def choose(self, column: str, held_out: Sequence[HeldOut[K, Any]]) -> tuple[float, float]:
        """Value of a model on held-out rows, and the threshold for that."""

    @abstractmethod
    def worth(self, column: str, judged: K, scores: Array, threshold: float) -> DrawnWorth:
        """The measure of some scores, for draws."""

    @abstractmethod
    def draws(self, judged: K, number: int, seed: int) -> Iterator[Array]:
        """Draw rows or whole queries again, so many times, as multiplicities."""

    @abstractmethod
    def methods(self, solvers: Sequence[str] = ("lbfgs",), *, trees: bool = True, **settings: Any) -> list[Method]:
        """Our methods, one for every measure and solver, and the others; ``settings`` are of our estimators."""

    def tuned(self, name: str, train: Callable[[Any], list[Model]], *, trees: bool = False) -> Method:
        """Another's way of training, with scores of held-out folds for every strength."""

        def fit(rows: Rows[K]) -> list[Fitted]:
            whole, features = prepared(rows)
            found = [Fitted(strength, _scores_of(scores, features), []) for strength, scores in train(whole)]
            for inside, outside in self.splits(rows, FOLDS):
                part, others = split_rows(rows, inside, outside)
                for model, (_, scores) in zip(found, train(part), strict=True):
                    held_out = HeldOut(outside, others.known, others.judged, {MODEL: scores(others.X)})
                    model.held_out.append(held_out)
            return found

        return Method(name, fit, trees=trees)


def _scores_of(scores: Scores, features: Any) -> Scores:
    """Scores of rows as they are, of which a transformer makes features, if there is one."""
    return scores if features is None else lambda X: scores(features.transform(X))


class ComparedLabels(Compared[Examples]):
    """Labels of two kinds, judged by the usual measures and those that are trained for.

    Parameters
    ----------
    measures : sequence
        Goals of training.

    Examples
    --------
    >>> [method.name for method in ComparedLabels(["prbep"]).methods(["lbfgs", "bmrm"])]
    ['for PRBEP, lbfgs', 'for PRBEP, bmrm', 'LogisticRegression', 'LinearSVC', 'HistGradientBoosting']
    """

    def __init__(self, measures: Sequence[str | Measure] = ("prbep", "roc_area")):
        self._goals = {column_of(measure): measure for measure in map(get_measure, measures)}
        columns = {name: get_measure(measure) for name, measure in COLUMNS.items()} | self._goals
        self.tasks = {name: LabelTask(measure=measure) for name, measure in columns.items()}

    def splits(self, rows: Any, folds: int, seed: int = 0) -> list[tuple[Any, Any]]:
        """Stratified folds; no more than there are rows of the rarer class."""
        splitter = StratifiedKFold(min(folds, *rows.counts), shuffle=True, random_state=seed)
        return self.tasks["roc_area"].splits(splitter, rows)

    def check(self, rows: Any, folds: int) -> None:
        """Refuse rows of which there are too few to be judged by so many folds."""
        if (rarer := min(rows.counts)) < 2 * folds:
            raise ValueError(
                f"{folds} folds need {2 * folds} examples of each class, but one has {rarer}; use fewer folds."
            )

    def choose(self, column: str, held_out: Sequence[HeldOut[Examples, Any]]) -> tuple[float, float]:
        """The mean over folds, with one threshold for all where a decision is judged."""
        task = self.tasks[column]
        assert isinstance(task, LabelTask)
        count = sum(each.judged.count for each in held_out)
        task = replace(task, measure=task.measure.as_share(count))  # k is that of all rows
        threshold = task.cut_of(held_out, MODEL) if task.measure.judges_decisions else 0.0
        return float(task.judge_together(held_out, MODEL).mean()), threshold

    def worth(self, column: str, judged: Examples, scores: Array, threshold: float) -> DrawnWorth:
        """The measure of the order, or of a decision at a threshold."""
        ranking, measure = Ranking(judged.positive, scores), self.tasks[column].measure
        return lambda draw: ranking.score(measure, threshold, draw)

    def draws(self, judged: Examples, number: int, seed: int) -> Iterator[Array]:
        """Draw rows, as multiplicities."""
        return resamples(judged.positive, number, seed)

    def methods(self, solvers: Sequence[str] = ("lbfgs",), *, trees: bool = True, **settings: Any) -> list[Method]:
        """Those of :class:`~smoothperf.MeasureClassifierCV`, and scikit-learn's."""
        found = [
            Method(
                f"for {title_of(measure.name)}" + (f", {solver}" if len(solvers) > 1 else ""),
                partial(_chosen, MeasureClassifierCV(measure, cv=FOLDS, solver=solver, **settings)),
                column,
            )
            for column, measure in self._goals.items()
            for solver in solvers
        ]
        linear = LogisticRegression(max_iter=1000, warm_start=True), LinearSVC(dual="auto", random_state=0)
        for model in linear:
            found.append(self.tuned(type(model).__name__, partial(_linear, model)))
        if trees:
            boosted = partial(_boosted, n_threads=settings.get("n_threads") or 1)
            found.append(self.tuned("HistGradientBoosting", boosted, trees=True))
        return found


def suits_trees(n_rows: int, n_features: int) -> bool:
    """Whether trees, which take X dense, are trained in minutes."""
    return max(n_rows, FEWEST_ROWS) * n_features <= MOST_ENTRIES


def _chosen(estimator: MeasureClassifierCV, rows: Any) -> list[Fitted]:
    """Our way: the one model that is chosen for the measure."""
    model = clone(estimator).set_params(features=rows.features if estimator.features is None else estimator.features)
    found = model._fit(rows.X, rows.positive)
    known = Examples(found.positive)
    held_out: HeldOut[Any, Any] = HeldOut(np.arange(known.count), known, known, {MODEL: found.raw_scores})
    strength = f"{model.trained_for_}, alpha {model.alpha_:.2g}"
    converged = bool(model.result_.reached <= model.tol)
    return [Fitted(strength, model.raw_scores, [held_out], -float(model.intercept_[0]), converged)]


def _linear(estimator: Any, rows: Any) -> list[Model]:
    return linear_models(estimator, rows.X, rows.positive)


def linear_models(estimator: Any, X: Any, y: Any) -> list[Model]:
    """Linear classifiers of scikit-learn with all strengths."""
    model, found = clone(estimator), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # their tolerance is no certificate; ours count
        for C in C_GRID:
            fitted = deepcopy(model.set_params(C=C).fit(X, y))  # the next one starts there
            found.append((f"C {C:.2g}", fitted.decision_function))
    return found


def _boosted(rows: Any, *, n_threads: int) -> list[Model]:
    """Gradient boosting of scikit-learn with all sizes of models."""

    def scores(X: Any, *, model: HistGradientBoostingClassifier) -> Array:
        with threadpool_limits(n_threads, "openmp"):
            found: Array = model.decision_function(_dense(X))
        return found

    found: list[Model] = []
    for leaves, trees in TREES:
        model = HistGradientBoostingClassifier(
            max_leaf_nodes=leaves, max_iter=trees, learning_rate=LEARNING_RATE, early_stopping=False, random_state=0
        )
        with threadpool_limits(n_threads, "openmp"):  # on a busy machine more wait for one another than work
            model.fit(_dense(rows.X), rows.positive)
        found.append((f"{leaves} leaves, {trees} trees", partial(scores, model=model)))
    return found


def _dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else X


@dataclass(frozen=True, eq=False)
class TableLine:
    """Values that a method reached: means over the splits, in seconds for all that it chooses and trains.

    By column, ``values`` are on the rows as they are, ``samples`` on every resample; ``strengths`` are those chosen in
    each split. ``missed`` counts models that stopped before their tolerance.
    """

    name: str
    trained_for: str | None
    trees: bool
    values: dict[str, float]
    samples: dict[str, Array] = field(repr=False)
    strengths: dict[str, list[str]]
    seconds: float
    missed: int


class Difference(NamedTuple):
    """The difference of two lines in a column, with its interval."""

    value: float
    low: float
    high: float

    @property
    def is_tie(self) -> bool:
        """Whether chance in the judging rows could explain it."""
        return self.low <= 0.0 <= self.high


def compare(
    splits: Sequence[tuple[Any, Any]],
    methods: Sequence[Method],
    kind: Compared[Any],
    *,
    n_resamples: int = 1000,
    seed: int = 0,
    tell: Callable[[str], None] = lambda text: None,
) -> list[TableLine]:
    """Train by all methods on the first part of each split, and judge them on the second.

    Parameters
    ----------
    splits : sequence of (Rows, Rows)
        To train on, with all choices, and to judge on.
    methods : sequence of Method
        The lines.
    kind : Compared
        The columns.
    n_resamples, seed : int
        Of the bootstrap.
    tell : callable, optional
        Gets a line whenever a method has finished a split.

    Returns
    -------
    list of TableLine
        One for each method.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from smoothperf.tasks.labels import LabelRows
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> rows = LabelRows(X / X.max(axis=0), np.array([0, 1]), y == 1)
    >>> labels = ComparedLabels(["roc_area"])
    >>> splits = [(rows.part(train), rows.part(test)) for train, test in labels.splits(rows, folds=2)]
    >>> lines = compare(splits, labels.methods(trees=False), labels, n_resamples=20)
    >>> [line.name for line in lines]
    ['for ROC area', 'LogisticRegression', 'LinearSVC']
    >>> all(line.values["roc_area"] > 0.9 for line in lines)
    True
    """
    found: list[list[_SplitWorth]] = [[] for _ in methods]
    for method, judged in zip(methods, found, strict=True):
        for number, (train, test) in enumerate(splits, start=1):
            judged.append(_judged(method, kind, train, test))
            tell(f"{method.name}, split {number} of {len(splits)}: {judged[-1].seconds:.1f} s")
    samples = np.zeros((len(methods), len(kind.tasks), n_resamples))
    for number, (_, test) in enumerate(splits):
        for at, draw in enumerate(kind.draws(test.judged, n_resamples, seed + number)):
            samples[:, :, at] += [[judged[number].worth[name](draw) for name in kind.tasks] for judged in found]
    return [
        TableLine(
            name=method.name,
            trained_for=method.trained_for,
            trees=method.trees,
            values={name: float(np.mean([each.worth[name](None) for each in judged])) for name in kind.tasks},
            samples=dict(zip(kind.tasks, drawn / len(splits), strict=True)),
            strengths={name: [each.strengths[name] for each in judged] for name in kind.tasks},
            seconds=float(np.mean([each.seconds for each in judged])),
            missed=sum(each.missed for each in judged),
        )
        for method, judged, drawn in zip(methods, found, samples, strict=True)
    ]


class _SplitWorth(NamedTuple):
    """Worth and strength, by column, of the models that a method has chosen in a split."""

    worth: dict[str, DrawnWorth]
    strengths: dict[str, str]
    seconds: float
    missed: int


def _judged(method: Method, kind: Compared[Any], train: Any, test: Any) -> _SplitWorth:
    """Train on a split, choose for every column, and judge."""
    begin = time.perf_counter()
    models = method.fit(train)
    seconds = time.perf_counter() - begin
    worth, strengths = {}, {}
    for column in kind.tasks:
        options = [kind.choose(column, model.held_out) for model in models]
        # Of equally good ones the first, which is the most regularised.
        best = max(range(len(options)), key=lambda at: options[at][0])
        model, threshold = models[best], options[best][1]
        if model.threshold is not None and column == method.trained_for:
            threshold = model.threshold
        worth[column] = kind.worth(column, test.judged, model.scores(test.X), threshold)
        strengths[column] = model.strength
    return _SplitWorth(worth, strengths, seconds, sum(not model.converged for model in models))


def level_of(line: TableLine) -> float:
    """Return the level of the interval of a difference, 95 % for all columns of a table together."""
    return 1.0 - WRONG_BY_CHANCE / len(line.values)


def difference(one: TableLine, other: TableLine, column: str) -> Difference:
    """Return how much more the first has in a column."""
    low, high = interval(one.samples[column] - other.samples[column], level_of(one))
    return Difference(one.values[column] - other.values[column], low, high)


def best_or_tied(lines: Sequence[TableLine], column: str) -> list[bool]:
    """Say for each line whether it is the best of a column or cannot be told from the best."""
    best = _best(lines, column)
    return [line is best or difference(best, line, column).is_tie for line in lines]


def verdict(lines: Sequence[TableLine], column: str) -> str:
    """Say in a sentence whether training for a measure paid; a difference within noise is a tie.

    The model trained for the measure is compared with the better of the linear baselines. In columns that nothing was
    trained for, the best of ours is; that answers another question, so the words are others. Trees are left to
    :func:`trees_ahead`.
    """
    lines = [line for line in lines if not line.trees]
    ours = [line for line in lines if line.trained_for == column]
    name = title_of(column)
    if ours:
        own = ours[0]
        subject = f"training for {name}"
    else:
        own = _best([line for line in lines if line.trained_for is not None], column)
        subject = f"training {own.name}, the best of ours here,"
    rival = _best([line for line in lines if line.trained_for is None], column)
    gain = difference(own, rival, column)
    figures = f"{own.values[column]:.4f} against {rival.values[column]:.4f}"
    noise = f"({100 * level_of(own):.3g} %: {gain.low:+.4f} to {gain.high:+.4f})"
    best = _best(lines, column)
    rest = f" The best is the model {best.name}, {best.values[column]:.4f}." if best not in (own, rival) else ""
    if gain.is_tie:
        who = f"{subject[0].upper()}{subject[1:]} and {rival.name}"
        return f"{name}: a tie. {who} differ by {abs(gain.value):.4f}, which is within noise {noise}.{rest}"
    won = gain.low > 0.0
    outcome = ("pays" if won else "does not pay") if ours else ("is ahead" if won else "is behind")
    return f"{name}: {subject} {outcome}: {figures} of {rival.name}, {gain.value:+.4f} {noise}.{rest}"


def trees_ahead(lines: Sequence[TableLine]) -> str | None:
    """Say in a sentence where trees have more than the best linear model by more than noise; None if nowhere."""
    linear = [line for line in lines if not line.trees]
    found = []
    for trees in (line for line in lines if line.trees):
        gains = {column: difference(trees, _best(linear, column), column) for column in trees.values}
        words = [
            f"{title_of(column)} {gain.value:+.4f} ({gain.low:+.4f} to {gain.high:+.4f})"
            for column, gain in gains.items()
            if gain.low > 0.0
        ]
        if words:
            found.append(f"{trees.name} is ahead of all linear models by more than noise: {', '.join(words)}.")
    return " ".join(found) or None


def _best(lines: Sequence[TableLine], column: str) -> TableLine:
    return max(lines, key=lambda line: line.values[column])
