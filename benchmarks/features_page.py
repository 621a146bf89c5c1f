"""Tables of docs/does-it-pay.md about features, from features.csv; ``python -m benchmarks.pays_page`` writes them."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from smoothperf._arrays import Array

from .features import FEATURES, GOALS, LOOKED_AT, METHODS, OTHERS, TREES
from .page import Row, table

RESULTS = Path("benchmarks/results/features.csv")
TITLES = {
    "top": "top of the list",
    "f1": "F1",
    "prbep": "PRBEP",
    "average_precision": "average precision",
    "roc_area@0.05": "ROC area@0.05",
}


class Results:
    """Contents of features.csv: runs by goal, method and data set."""

    def __init__(self, rows: Sequence[Row]):
        self.by: dict[tuple[str, str, str], list[Row]] = {}
        for row in rows:
            self.by.setdefault((row["goal"], row["method"], row["data"]), []).append(row)
        self.sets = [name for name in (*LOOKED_AT, *OTHERS) if (GOALS[0], TREES, name) in self.by]

    def mean(self, goal: str, method: str, name: str, column: str = "value") -> float:
        """Mean over the repetitions of a set."""
        return float(np.mean([float(row[column]) for row in self.by[goal, method, name]]))

    def means(self, goal: str, method: str, sets: Sequence[str] | None = None) -> Array:
        """These means, of all sets."""
        return np.array([self.mean(goal, method, name) for name in sets or self.sets])


def read(path: Path = RESULTS) -> Results:
    """Read the file."""
    with open(path, newline="", encoding="utf-8") as file:
        return Results(list(csv.DictReader(file)))


def goals_table(results: Results) -> str:
    """Means over the sets, for every goal; features less trees on sets that were looked at, and on others."""
    groups = [[name for name in results.sets if name in group] for group in (LOOKED_AT, OTHERS)]
    lines = []
    for goal in GOALS:
        means = [f"{results.means(goal, method).mean():.3f}" for method in METHODS]
        less = [results.means(goal, FEATURES, sets) - results.means(goal, TREES, sets) for sets in groups]
        lines.append([TITLES[goal], *means, *(f"{difference.mean():+.3f}" for difference in less)])
    return table(["goal", *METHODS, f"to trees, {len(groups[0])} sets seen", f"{len(groups[1])} others"], lines)


def sets_table(results: Results) -> str:
    """Average precision on every set, and the features that were chosen."""
    goal = "average_precision"
    lines = []
    for name in results.sets:
        chosen = Counter(row["chosen"].split(":")[0] for row in results.by[goal, FEATURES, name])
        size = results.by[goal, FEATURES, name][0]
        means = [f"{results.mean(goal, method, name):.3f}" for method in METHODS]
        lines.append([name, size["train_rows"], size["train_positives"], *means, " or ".join(chosen)])
    return table(["data", "rows", "positives", *METHODS, "features chosen"], lines)


def seconds_table(results: Results) -> str:
    """Seconds of the processor for one goal: medians over sets and goals."""
    medians = [
        np.median([results.mean(goal, method, name, "seconds") for goal in GOALS for name in results.sets])
        for method in METHODS
    ]
    return table([*METHODS], [[f"{median:.1f}" for median in medians]])


TABLES: dict[str, Callable[[Results], str]] = {
    "features": goals_table,
    "features-sets": sets_table,
    "features-seconds": seconds_table,
}
