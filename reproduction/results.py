"""The CSV files of a folder, read, for figures, claims and the page."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from smoothperf._arrays import Array

from . import entropy, experiments, hard, rates, table1, tables
from .runs import Run, Snapshot
from .settings import MEASURES
from .validation import TriedAlpha


@dataclass(frozen=True)
class Curve:
    """The snapshots of a run as arrays, with how it ended."""

    run: Run
    seconds: Array
    best: Array
    scores: Array

    def time_to(self, level: float) -> float:
        """Return the first CPU time with an objective at or below a level; NaN if there is none."""
        found = np.flatnonzero(self.best <= level)
        return float(self.seconds[found[0]]) if found.size else math.nan

    def settled(self, score: float) -> float:
        """Return the CPU time from which on the test score never falls below a value again; NaN if it does."""
        below = np.flatnonzero(self.scores < score)
        first = int(below[-1]) + 1 if below.size else 0
        return float(self.seconds[first]) if first < self.seconds.shape[0] else math.nan


@dataclass(frozen=True)
class Comparison:
    """All methods on one set for one measure.

    Attributes
    ----------
    dataset, relation, measure : str
        The set, its relation to the paper's, and the measure.
    alpha : float
        The lambda that was chosen.
    curves : dict of str to Curve
        By method.
    """

    dataset: str
    relation: str
    measure: str
    alpha: float
    curves: dict[str, Curve] = field(repr=False)

    @property
    def reference(self) -> float:
        """The best objective that any method found."""
        return min(float(curve.best.min()) for curve in self.curves.values())

    @property
    def lower_bound(self) -> float:
        """The best certified bound of the optimum."""
        return max(curve.run.lower_bound for curve in self.curves.values())


@dataclass(frozen=True)
class Results:
    """Everything in a folder; what is not there is empty."""

    lines: list[table1.Row]
    comparisons: dict[str, list[Comparison]]
    candidates: dict[str, list[TriedAlpha]]
    counts: list[rates.Count]
    slopes: list[rates.Slope]
    hard_counts: list[hard.HardCount]
    entropy_counts: list[entropy.EntropyCount]
    about: dict[str, str]


def read(folder: Path) -> Results:
    """Read the files of a folder."""
    return Results(
        lines=tables.read(folder / "table1.csv", table1.Row),
        comparisons={measure: _comparisons(folder, measure) for measure in MEASURES},
        candidates={measure: tables.read(folder / f"lambdas-{measure}.csv", TriedAlpha) for measure in MEASURES},
        counts=tables.read(folder / "rates.csv", rates.Count),
        slopes=tables.read(folder / "slopes.csv", rates.Slope),
        hard_counts=tables.read(folder / "hard.csv", hard.HardCount),
        entropy_counts=tables.read(folder / "entropy.csv", entropy.EntropyCount),
        about={fact.name: fact.value for fact in tables.read(folder / "about.csv", experiments.Fact)},
    )


def _comparisons(folder: Path, measure: str) -> list[Comparison]:
    snapshots: dict[tuple[str, str], list[Snapshot]] = {}
    for snapshot in tables.read(folder / f"trace-{measure}.csv", Snapshot):
        snapshots.setdefault((snapshot.dataset, snapshot.method), []).append(snapshot)
    comparisons: dict[str, Comparison] = {}
    for run in tables.read(folder / f"runs-{measure}.csv", Run):
        comparison = comparisons.setdefault(run.dataset, Comparison(run.dataset, run.relation, measure, run.alpha, {}))
        comparison.curves[run.method] = _curve(run, snapshots[run.dataset, run.method])
    return list(comparisons.values())


def _curve(run: Run, snapshots: list[Snapshot]) -> Curve:
    seconds, best, scores = np.array([(s.cpu_seconds, s.best, s.score) for s in snapshots]).T
    return Curve(run, seconds, best, scores)
