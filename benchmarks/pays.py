"""Does training for a measure pay? MeasureClassifierCV against tuned linear models of scikit-learn, on many data sets.

Per data set and repetition a quarter of the rows judges, stratified, and up to ``--rows`` of the others train. Columns
of dense sets are standardised by the training rows, text is used as it is. For each goal

    smoothperf           MeasureClassifierCV(goal) with its defaults
    LogisticRegression   plain or balanced, six strengths
    LinearSVC            plain or balanced, six strengths
    tuned linear         the better of these two families
    default logistic     LogisticRegression() as it is, cut at 0
    LightGBM             boosted trees with fixed settings, as an outlook: what no linear model can do

All that there is to choose (family, weights, strength, and the threshold of goals that judge decisions) is chosen by
the goal in five-fold cross-validation of the training rows; nothing is chosen on rows that judge. One cross-validation
of the peers serves all goals; each is charged for all of it, as somebody with one goal would be. Seconds are those of
the processor, one thread.

LightGBM is no dependency of the project: without it (``pip install lightgbm``) its rows are left out. Results are
appended to pays.csv after each repetition of a set, and what is there is not computed again.
``python -m benchmarks.pays_page`` makes the tables and the figure of docs/does-it-pay.md from it.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import importlib.util
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache, lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from smoothperf import MeasureClassifierCV, PrecisionAtK
from smoothperf._arrays import Array
from smoothperf.evaluation import is_constant
from smoothperf.measures import Measure, get_measure

from .common import load

Labels = NDArray[np.bool_]

DATA_SETS = (
    "imb-us-crime",
    "imb-wine-quality",
    "imb-thyroid-sick",
    "imb-satimage",
    "mammography",
    "sms-spam",
    "coil2000",
    "w8a",
    "ijcnn1",
    "campaign",
    "r21578-crude",
    "rcv1-c11",
    "a9a",
    "kdd99-10pct",
    "arxiv-astro",
    "covtype",
    "rcv1-ccat",
)
#: "top" is precision@k with k a share ``TOP`` of the number of positives.
GOALS = (
    "top",
    "f1",
    "prbep",
    "average_precision",
    "roc_area",
    "roc_area@0.05",
    "recall@precision=0.9",
    "recall@fpr=0.01",
    "balanced_error_rate",
)
TOP = 0.2
OURS, LINEAR, DEFAULT, TREES = "smoothperf", "tuned linear", "default logistic", "LightGBM"
FAMILIES = ("LogisticRegression", "LinearSVC")
METHODS = (OURS, *FAMILIES, LINEAR, DEFAULT, TREES)
FOLDS = 5
#: A set with more rows is cut to so many, at random, before anything else.
MOST_ROWS = 30_000
#: Sets with a smaller share of stored values stay sparse, and are not standardised.
SPARSE = 0.06
COLUMNS = (
    "data",
    "rows",
    "repeat",
    "goal",
    "method",
    "value",
    "seconds",
    "chosen",
    "strength",
    "constant",
    "train_rows",
    "train_positives",
    "judge_rows",
    "judge_positives",
)


@dataclass(frozen=True)
class Split:
    """Rows to train on and rows that judge."""

    X: Any
    y: Labels
    X_judge: Any
    y_judge: Labels


@dataclass(frozen=True)
class Setting:
    """One of the linear models of scikit-learn."""

    family: str
    class_weight: str | None
    C: float

    def __str__(self) -> str:
        return f"{self.family}, {self.class_weight or 'plain'}"

    def model(self) -> Any:
        """Make the model, not fitted."""
        if self.family == "LinearSVC":
            return LinearSVC(C=self.C, class_weight=self.class_weight, max_iter=500)
        return LogisticRegression(C=self.C, class_weight=self.class_weight, max_iter=300)


AS_IT_IS = Setting("LogisticRegression", None, 1.0)
SETTINGS = [
    Setting(family, class_weight, float(C))
    for family, strengths in zip(FAMILIES, (10.0 ** np.arange(-2, 4), 10.0 ** np.arange(-4, 2)), strict=True)
    for class_weight in (None, "balanced")
    for C in strengths
]


@dataclass(frozen=True)
class Outcome:
    """Score, time and choice of a method for one goal."""

    goal: str
    method: str
    value: float
    seconds: float
    chosen: str
    strength: float | None
    constant: bool


def measure_for(goal: str, y: Labels) -> Measure:
    """Return the measure of a goal; the length of the top follows from the share of positives."""
    return PrecisionAtK(TOP * float(y.mean())) if goal == "top" else get_measure(goal)


@lru_cache(maxsize=1)
def whole(folder: Path, name: str) -> tuple[Any, Labels]:
    """Read a data set, sparse or dense as suits it."""
    X, y = load(folder, name)
    positive = y > 0.0
    if positive.size > MOST_ROWS:
        keep = np.random.default_rng(0).choice(positive.size, MOST_ROWS, replace=False)
        X, positive = X[keep], positive[keep]
    return (X if X.nnz < SPARSE * X.shape[0] * X.shape[1] else X.toarray()), positive


def split(X: Any, y: Labels, repeat: int, most: int) -> Split:
    """Draw the rows of a repetition; ``most`` of them train."""
    everything = np.arange(y.size)
    train, judge = train_test_split(everything, test_size=0.25, stratify=y, random_state=repeat)
    if train.size > most:
        train, _ = train_test_split(train, train_size=most, stratify=y[train], random_state=repeat)
    X_train, X_judge = X[train], X[judge]
    if not sp.issparse(X):
        scaler = StandardScaler().fit(X_train)
        X_train, X_judge = scaler.transform(X_train), scaler.transform(X_judge)
    return Split(X_train, y[train], X_judge, y[judge])


class HeldOut:
    """Scores of the training rows by models that have not seen them: what choices are made by."""

    def __init__(self, data: Split):
        self.y = data.y
        self.X = data.X
        self.folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(data.y, data.y))

    def scores(self, fit: Callable[[Any, Labels], Callable[[Any], Array]]) -> Array:
        """Score every row; ``fit`` returns what a fitted model scores with."""
        scores = np.empty(self.y.size)
        for train, test in self.folds:
            scores[test] = fit(self.X[train], self.y[train])(self.X[test])
        return scores

    def judge(self, measure: Measure, scores: Array) -> tuple[float, float]:
        """Mean of the measure over the folds, and the cut that it is reached with, the same for all of them."""
        cut = measure.tuned_threshold(self.y, scores) if measure.judges_decisions else 0.0
        values = [measure.score(self.y[test], scores[test] - cut) for _, test in self.folds]
        return float(np.mean(values)), cut


def linear_peers(data: Split, goals: Sequence[str]) -> Iterator[Outcome]:
    """Tune scikit-learn's linear models for every goal, and judge them."""
    held_out = HeldOut(data)
    scores: dict[Setting, Array] = {}
    tuning = dict.fromkeys(FAMILIES, 0.0)
    for setting in SETTINGS:
        begin = time.process_time()
        scores[setting] = held_out.scores(lambda X, y, setting=setting: setting.model().fit(X, y).decision_function)  # type: ignore[misc]
        tuning[setting.family] += time.process_time() - begin

    @cache
    def judged(setting: Setting) -> tuple[Array, float]:
        """Scores of the rows that judge, and what the fit took."""
        begin = time.process_time()
        model = setting.model().fit(data.X, data.y)
        return model.decision_function(data.X_judge), time.process_time() - begin

    for goal in goals:
        measure = measure_for(goal, data.y)
        found = {setting: held_out.judge(measure, scores[setting]) for setting in SETTINGS}
        methods = {family: (family,) for family in FAMILIES} | {LINEAR: FAMILIES}
        for method, families in methods.items():
            # The first of those that are equally good is the most regularised one.
            best = max((one for one in SETTINGS if one.family in families), key=lambda one: found[one][0])
            raw, last = judged(best)
            value = measure.score(data.y_judge, raw - found[best][1])
            seconds = sum(tuning[family] for family in families) + last
            yield Outcome(goal, method, value, seconds, str(best), best.C, is_constant(raw))
        raw, last = judged(AS_IT_IS)
        yield Outcome(
            goal, DEFAULT, measure.score(data.y_judge, raw), last, str(AS_IT_IS), AS_IT_IS.C, is_constant(raw)
        )


def trees(data: Split, goals: Sequence[str]) -> Iterator[Outcome]:
    """Judge boosted trees; held-out rows choose nothing but the cut of goals that judge decisions."""
    lightgbm = importlib.import_module("lightgbm")

    def fit(X: Any, y: Labels) -> Callable[[Any], Array]:
        model = lightgbm.LGBMClassifier(
            n_estimators=100, learning_rate=0.1, num_leaves=15, n_jobs=1, random_state=0, verbose=-1
        ).fit(X, y)
        return lambda X: np.asarray(model.predict(X, raw_score=True))

    begin = time.process_time()
    raw = fit(data.X, data.y)(data.X_judge)
    once = time.process_time() - begin
    held_out = HeldOut(data)
    scores: Array | None = None
    for goal in goals:
        measure = measure_for(goal, data.y)
        cut, seconds = 0.0, once
        if measure.judges_decisions:
            if scores is None:
                begin = time.process_time()
                scores = held_out.scores(fit)
                folds = time.process_time() - begin
            cut = measure.tuned_threshold(data.y, scores)
            seconds += folds
        yield Outcome(
            goal, TREES, measure.score(data.y_judge, raw - cut), seconds, "boosted trees", None, is_constant(raw)
        )


def ours(data: Split, goals: Sequence[str]) -> Iterator[Outcome]:
    """Train for every goal, and judge."""
    for goal in goals:
        measure = measure_for(goal, data.y)
        begin = time.process_time()
        model = MeasureClassifierCV(measure, cv=FOLDS, n_threads=1).fit(data.X, data.y)
        seconds = time.process_time() - begin
        raw = model.decision_function(data.X_judge)
        winner = model.trained_for_
        chosen = f"{goal if winner.measure == measure else winner.measure.name}, {winner.bound}"
        value = measure.score(data.y_judge, raw)
        yield Outcome(goal, OURS, value, seconds, chosen, model.alpha_, is_constant(raw))


def repetition(folder: Path, name: str, repeat: int, rows: int, missing: set[tuple[str, str]]) -> list[dict[str, Any]]:
    """Compute what is missing, pairs of goal and method, of one repetition."""
    results: list[Outcome] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of peers that have not converged, and of edges of grids: all part of it
        data = split(*whole(folder, name), repeat, rows)
        for judge, methods in ((linear_peers, (*FAMILIES, LINEAR, DEFAULT)), (trees, (TREES,)), (ours, (OURS,))):
            goals = [goal for goal in GOALS if any((goal, method) in missing for method in methods)]
            if goals:
                results.extend(one for one in judge(data, goals) if (one.goal, one.method) in missing)
    return [recorded(one, data, name, rows, repeat) for one in results]


def recorded(one: Outcome, data: Split, name: str, rows: int, repeat: int) -> dict[str, Any]:
    """A line of the CSV file."""
    return {
        "data": name,
        "rows": rows,
        "repeat": repeat,
        "goal": one.goal,
        "method": one.method,
        "value": f"{one.value:.5f}",
        "seconds": f"{one.seconds:.3f}",
        "chosen": one.chosen,
        "strength": "" if one.strength is None else f"{one.strength:.3g}",
        "constant": int(one.constant),
        "train_rows": data.y.size,
        "train_positives": int(data.y.sum()),
        "judge_rows": data.y_judge.size,
        "judge_positives": int(data.y_judge.sum()),
    }


def options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("SMOOTHPERF_DATA")
    parser.add_argument("--data", type=Path, default=default, required=default is None, help="folder of svmlight files")
    parser.add_argument("--sets", nargs="+", default=DATA_SETS, help="names of data sets")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=6000, help="most rows to train on")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"), help="folder for the CSV file")
    return parser.parse_args()


def there(path: Path) -> set[tuple[str, ...]]:
    """Keys of the rows that an earlier run has computed."""
    if not path.exists():
        return set()
    with open(path, newline="", encoding="utf-8") as file:
        return {
            tuple(row[name] for name in ("data", "rows", "repeat", "goal", "method")) for row in csv.DictReader(file)
        }


def append(path: Path, rows: list[dict[str, Any]]) -> None:
    """Add rows to a CSV file, which begins with the names of the columns."""
    new = not path.exists()
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=COLUMNS)
        if new:
            writer.writeheader()
        writer.writerows(rows)


def main() -> int:
    """Run what is missing, and append it to pays.csv."""
    given = options()
    methods: tuple[str, ...] = METHODS
    if importlib.util.find_spec("lightgbm") is None:
        print("LightGBM is not installed (pip install lightgbm): going on without")
        methods = tuple(method for method in METHODS if method != TREES)
    path = given.output / "pays.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    done = there(path)
    tasks = []
    for name in given.sets:
        for repeat in range(given.repeats):
            missing = {
                (goal, method)
                for goal in GOALS
                for method in methods
                if (name, str(given.rows), str(repeat), goal, method) not in done
            }
            if missing:
                tasks.append((given.data, name, repeat, given.rows, missing))
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        runs = [pool.submit(repetition, *task) for task in tasks]
        for count, run in enumerate(as_completed(runs), start=1):
            rows = run.result()
            append(path, rows)
            seconds = sum(float(row["seconds"]) for row in rows if row["method"] == OURS)
            print(f"{count} of {len(tasks)}: {rows[0]['data']} {rows[0]['repeat']}, {seconds:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
