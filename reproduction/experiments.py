"""Measuring: every experiment writes its CSV files, and nothing else."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy

from smoothperf import __version__

from . import entropy, hard, rates, table1, tables
from .datasets import MissingDataError, load
from .runs import CUTTING_PLANES, METHODS, Problem, Run, Snapshot, train
from .settings import EPS, MEASURES, TOL, Settings
from .validation import TriedAlpha, choose, chosen

#: The set whose iterations are counted.
RATES_SET = "adult9"


@dataclass(frozen=True)
class Fact:
    """A line of about.csv: a fact on the run."""

    name: str
    value: str


@dataclass(frozen=True)
class Setup:
    """Folders and sizes of a run.

    Attributes
    ----------
    folder : Path
        Gets the CSV files.
    data_dir : path-like or None
        Folder that is searched for data before the cache.
    settings : Settings
        Sizes.
    tell : callable
        Gets a line whenever something is finished.
    """

    folder: Path
    data_dir: str | os.PathLike[str] | None
    settings: Settings
    tell: Callable[[str], None]


def run_table1(setup: Setup) -> None:
    """Count: table1.csv."""
    only = setup.settings.datasets if setup.settings.quick else None
    tables.write(setup.folder / "table1.csv", table1.Row, table1.count(setup.data_dir, only=only, tell=setup.tell))


def run_methods(setup: Setup, measure: str) -> None:
    """Train with all methods on all sets: lambdas-, runs- and trace-MEASURE.csv, written again after every set."""
    settings = setup.settings
    candidates: list[TriedAlpha] = []
    runs: list[Run] = []
    snapshots: list[Snapshot] = []
    for name in settings.datasets:
        try:
            data = load(name, data_dir=setup.data_dir)
        except MissingDataError as error:
            setup.tell(str(error))
            continue
        found = choose(data, MEASURES[measure], settings)
        candidates += found
        problem = Problem(name, data.relation.value, data.train, data.test, MEASURES[measure], chosen(found))
        for method in METHODS:
            limit = settings.bmrm_seconds if method == CUTTING_PLANES else settings.smooth_seconds
            run, seen = train(problem, method, limit=limit)
            runs.append(run)
            snapshots += seen
            setup.tell(
                f"{name} ({run.relation}), {measure}, lambda {run.alpha:g}, {method}: objective {run.objective:.5f}, "
                f"gap {run.objective - run.lower_bound:.1e}, {run.cpu_seconds:.2f} s, {run.end}"
            )
        tables.write(setup.folder / f"lambdas-{measure}.csv", TriedAlpha, candidates)
        tables.write(setup.folder / f"runs-{measure}.csv", Run, runs)
        tables.write(setup.folder / f"trace-{measure}.csv", Snapshot, snapshots)
    if not runs:
        raise MissingDataError(
            f"none of the data sets {', '.join(settings.datasets)} is there; name their folder with --data-dir, "
            "or fetch some with 'python -m reproduction fetch NAME'."
        )


def run_rates(setup: Setup) -> None:
    """Count iterations: rates.csv, slopes.csv, hard.csv and entropy.csv."""
    settings = setup.settings
    counted = hard.count(settings.hard_alphas, settings.hard_accuracies)
    tables.write(setup.folder / "hard.csv", hard.HardCount, counted)
    setup.tell("iterations on the hard problem: counted")
    try:
        train_part = load(RATES_SET, data_dir=setup.data_dir).train
    except MissingDataError as error:
        setup.tell(f"{error} Iterations are counted on the hard problem only.")
        return
    sizes = [size for size in settings.entropy_sizes if size <= train_part.y.shape[0]]
    tables.write(setup.folder / "entropy.csv", entropy.EntropyCount, entropy.count(train_part, sizes))
    setup.tell("iterations with entropy: counted")
    counts: list[rates.Count] = []
    for name, measure in MEASURES.items():
        counts += rates.count(
            RATES_SET,
            train_part.X,
            train_part.y,
            measure,
            alphas=settings.rate_alphas,
            accuracies=settings.rate_accuracies,
            limit=settings.rate_seconds,
        )
        setup.tell(f"iterations for {name}: counted")
    tables.write(setup.folder / "rates.csv", rates.Count, counts)
    tables.write(setup.folder / "slopes.csv", rates.Slope, rates.slopes(counts))


def write_about(setup: Setup, seconds: float) -> None:
    """Write the facts on the run: about.csv."""
    settings = setup.settings
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
    tables.write(setup.folder / "about.csv", Fact, [Fact(*item) for item in facts.items()])
