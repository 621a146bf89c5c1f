"""Do features pay, and does training for the measure pay on top? MeasureClassifierCV(features="auto") against trees.

Data, rows that train and judge, goals and results are those of ``benchmarks.pays``, for dense tables:

    columns           MeasureClassifierCV(goal): linear in the columns
    features          MeasureClassifierCV(goal, features="auto")
    log loss on them  the same features; log loss with its strength and threshold chosen by the goal
    LightGBM tuned    boosted trees; leaves, trees, learning rate and threshold chosen by the goal

All choices are made in five-fold cross-validation of the training rows. The choice of features hangs on the goal in
nothing, so it is made once and its seconds count for every goal; so do those of the trees, as for one with one goal.

``pip install lightgbm``; results are appended to features.csv, and what is there is not computed again.
``python -m benchmarks.pays_page`` makes the tables of docs/does-it-pay.md.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from smoothperf import MeasureClassifierCV
from smoothperf._arrays import Array
from smoothperf.evaluation import is_constant

from .pays import FOLDS, HeldOut, Labels, Outcome, Split, append, measure_for, recorded, split, there, whole

#: Sets of which some were looked at when it was settled what there is to choose from, and sets that were not.
LOOKED_AT = ("imb-thyroid-sick", "imb-satimage", "mammography", "imb-wine-quality", "campaign", "ijcnn1")
OTHERS = ("imb-us-crime", "coil2000", "covtype", "a9a", "kdd99-10pct", "spambase", "german-numer")
GOALS = ("top", "f1", "prbep", "average_precision", "roc_area@0.05")
COLUMNS, FEATURES, LOG_LOSS, TREES = METHODS = ("columns", "features", "log loss on them", "LightGBM tuned")
LEAVES, RATES, ROUNDS = (7, 31), (0.03, 0.1), (30, 100, 300)


def ours(data: Split, goals: Sequence[str]) -> Iterator[Outcome]:
    """Train for every goal: on the columns, on features that are chosen, and log loss on these."""

    def fitted(goal: str, method: str, before: float = 0.0, **given: Any) -> tuple[Any, Outcome]:
        measure = measure_for(goal, data.y)
        begin = time.process_time()
        model = MeasureClassifierCV(measure, cv=FOLDS, n_threads=1, **given).fit(data.X, data.y)
        seconds = time.process_time() - begin + before
        raw = model.decision_function(data.X_judge)
        if hasattr(model, "feature_scores_"):
            seen.update(transformer=getattr(model, "features_", None), ways=model.feature_scores_)
        winner = model.trained_for_
        chosen = f"{names[type(seen.get('transformer')).__name__]}: {winner.measure.name}, {winner.bound}"
        value = measure.score(data.y_judge, raw)
        return model, Outcome(goal, method, value, seconds, chosen, model.alpha_, is_constant(raw))

    names = {"NoneType": "columns", "Shapes": "curves", "KernelFeatures": "kernel", "Leaves": "leaves"}
    seen: dict[str, Any] = {}
    for goal in goals:
        yield fitted(goal, COLUMNS)[1]
    ended: list[float] = []

    def progress(step: Any) -> None:
        if not step.features and not ended:
            ended.append(time.process_time())

    begin = time.process_time()
    _, first = fitted(goals[0], FEATURES, features="auto", progress=progress)
    choice = ended[0] - begin
    yield first
    for goal in goals[1:]:
        yield fitted(goal, FEATURES, choice, features=seen["transformer"])[1]
    for goal in goals:
        yield fitted(goal, LOG_LOSS, choice, features=seen["transformer"], bound=[("log_loss", "convex")])[1]


def trees(data: Split, goals: Sequence[str]) -> Iterator[Outcome]:
    """Tune boosted trees for every goal."""
    lightgbm = importlib.import_module("lightgbm")

    def fit(X: Any, y: Labels, leaves: int, rate: float) -> Any:
        return lightgbm.LGBMClassifier(
            n_estimators=max(ROUNDS), learning_rate=rate, num_leaves=leaves, n_jobs=1, random_state=0, verbose=-1
        ).fit(X, y)

    def raw(model: Any, X: Any, rounds: int) -> Array:
        return np.asarray(model.predict(X, raw_score=True, num_iteration=rounds), dtype=np.float64)

    begin = time.process_time()
    held_out = HeldOut(data)
    scores = {(n, rate, rounds): np.empty(data.y.size) for n in LEAVES for rate in RATES for rounds in ROUNDS}
    for leaves in LEAVES:
        for rate in RATES:
            for train, test in held_out.folds:
                model = fit(data.X[train], data.y[train], leaves, rate)
                for rounds in ROUNDS:
                    scores[leaves, rate, rounds][test] = raw(model, data.X[test], rounds)
    tuning = time.process_time() - begin

    @cache
    def final(leaves: int, rate: float) -> tuple[Any, float]:
        begin = time.process_time()
        return fit(data.X, data.y, leaves, rate), time.process_time() - begin

    for goal in goals:
        measure = measure_for(goal, data.y)
        found = {setting: held_out.judge(measure, held) for setting, held in scores.items()}
        leaves, rate, rounds = best = max(found, key=lambda setting: found[setting][0])
        model, last = final(leaves, rate)
        new = raw(model, data.X_judge, rounds)
        value = measure.score(data.y_judge, new - found[best][1])
        chosen = f"{leaves} leaves, rate {rate}, {rounds} trees"
        yield Outcome(goal, TREES, value, tuning + last, chosen, None, is_constant(new))


def main() -> int:
    """Run what is missing, and append it to features.csv."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("SMOOTHPERF_DATA")
    parser.add_argument("--data", type=Path, default=default, required=default is None, help="folder of svmlight files")
    parser.add_argument("--sets", nargs="+", default=LOOKED_AT + OTHERS, help="names of data sets")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--rows", type=int, default=6000, help="most rows to train on")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"), help="folder for the CSV file")
    given = parser.parse_args()
    path = given.output / "features.csv"
    for repeat in range(given.repeats):
        for name in given.sets:
            if (name, str(given.rows), str(repeat), GOALS[-1], TREES) in there(path):
                continue
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of edges of grids, and what is part of tuning
                data = split(*whole(given.data, name), repeat, given.rows)
                results = [*ours(data, GOALS), *trees(data, GOALS)]
            append(path, [recorded(one, data, name, given.rows, repeat) for one in results])
            values = {one.method: f"{one.value:.3f}" for one in results if one.goal == "average_precision"}
            print(name, repeat, "average precision:", values, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
