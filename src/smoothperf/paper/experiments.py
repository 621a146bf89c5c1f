"""Measuring: every experiment writes its CSV files, and nothing else."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import scipy

from .. import __version__
from ..datasets import MissingDataError, load
from ..optimise import TraceRow
from . import entropy, hard, rates, table1, tables
from .runs import CUTTING_PLANES, METHODS, Problem, Run, Snapshot, train
from .settings import EPS, MEASURES, TOL, Settings
from .validation import TriedAlpha, choose, chosen

#: The set whose iterations are counted.
RATES_SET = "adult9"


class Progress(Protocol):
    """Where progress goes."""

    what: str

    def __call__(self, row: TraceRow) -> bool | None:
        """Show an iteration; a true return value asks for an end."""


@dataclass(frozen=True)
class Fact:
    """A line of about.csv: how the results came about."""

    name: str
    value: str


@dataclass(frozen=True)
class Bench:
    """What every experiment is given.

    Attributes
    ----------
    folder : Path
        Where the CSV files go.
    data_dir : path-like or None
        Where data are looked for first.
    settings : Settings
        Sizes.
    watch : Progress
        Is shown every iteration.
    tell : callable
        Gets a line whenever something is finished.
    """

    folder: Path
    data_dir: str | os.PathLike[str] | None
    settings: Settings
    watch: Progress
    tell: Callable[[str], None]


def run_table1(bench: Bench) -> None:
    """Count: table1.csv."""
    only = bench.settings.datasets if bench.settings.quick else None
    tables.write(bench.folder / "table1.csv", table1.Row, table1.count(bench.data_dir, only=only, tell=bench.tell))


def run_contest(bench: Bench, measure: str) -> None:
    """Train with all methods on all sets: lambdas-, runs- and trace-MEASURE.csv, written again after every set."""
    settings = bench.settings
    candidates: list[TriedAlpha] = []
    runs: list[Run] = []
    snapshots: list[Snapshot] = []
    for name in settings.datasets:
        try:
            data = load(name, data_dir=bench.data_dir)
        except MissingDataError as error:
            bench.tell(str(error))
            continue
        bench.watch.what = f"{name}, {measure}, lambda"
        found = choose(data, MEASURES[measure], settings, bench.watch)
        candidates += found
        problem = Problem(name, data.relation.value, data.train, data.test, MEASURES[measure], chosen(found))
        for method in METHODS:
            bench.watch.what = f"{name}, {measure}, {method}"
            limit = settings.bmrm_seconds if method == CUTTING_PLANES else settings.smooth_seconds
            run, seen = train(problem, method, limit=limit, tell=bench.watch)
            runs.append(run)
            snapshots += seen
            bench.tell(
                f"{name} ({run.relation}), {measure}, lambda {run.alpha:g}, {method}: objective {run.objective:.5f}, "
                f"gap {run.objective - run.lower_bound:.1e}, {run.cpu_seconds:.2f} s, {run.end}"
            )
        tables.write(bench.folder / f"lambdas-{measure}.csv", TriedAlpha, candidates)
        tables.write(bench.folder / f"runs-{measure}.csv", Run, runs)
        tables.write(bench.folder / f"trace-{measure}.csv", Snapshot, snapshots)
    if not runs:
        raise MissingDataError(
            f"none of the data sets {', '.join(settings.datasets)} is there; name their folder with --data-dir, "
            "or fetch some with 'smoothperf datasets fetch NAME'."
        )


def run_rates(bench: Bench) -> None:
    """Count iterations: rates.csv, slopes.csv, hard.csv and entropy.csv."""
    settings = bench.settings
    bench.watch.what = "hard problem"
    counted = hard.count(settings.hard_alphas, settings.hard_accuracies, bench.watch)
    tables.write(bench.folder / "hard.csv", hard.HardCount, counted)
    bench.tell("iterations on the hard problem: counted")
    try:
        train_part = load(RATES_SET, data_dir=bench.data_dir).train
    except MissingDataError as error:
        bench.tell(f"{error} Iterations are counted on the hard problem only.")
        return
    sizes = [size for size in settings.entropy_sizes if size <= train_part.y.shape[0]]
    tables.write(bench.folder / "entropy.csv", entropy.EntropyCount, entropy.count(train_part, sizes))
    bench.tell("iterations with entropy: counted")
    counts: list[rates.Count] = []
    for name, measure in MEASURES.items():
        bench.watch.what = f"rates, {name}"
        counts += rates.count(
            RATES_SET,
            train_part.X,
            train_part.y,
            measure,
            alphas=settings.rate_alphas,
            accuracies=settings.rate_accuracies,
            limit=settings.rate_seconds,
            tell=bench.watch,
        )
        bench.tell(f"iterations for {name}: counted")
    tables.write(bench.folder / "rates.csv", rates.Count, counts)
    tables.write(bench.folder / "slopes.csv", rates.Slope, rates.slopes(counts))


def write_about(bench: Bench, seconds: float) -> None:
    """How the results came about: about.csv."""
    settings = bench.settings
    facts = {
        "smoothperf": __version__,
        "run": "quick" if settings.quick else "full",
        "minutes": f"{seconds / 60.0:.1f}",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "eps": f"{EPS:g}",
        "tolerance": f"{TOL:g}",
        "CPU seconds at most, smoothing": f"{settings.smooth_seconds:g}",
        "CPU seconds at most, BMRM": f"{settings.bmrm_seconds:g}",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "software": f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}",
    }
    tables.write(bench.folder / "about.csv", Fact, [Fact(*item) for item in facts.items()])
