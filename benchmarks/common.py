"""Common parts of the benchmarks: data sets from a folder, the machine, and CSV files."""

from __future__ import annotations

import argparse
import bz2
import csv
import gzip
import lzma
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import scipy.sparse as sp
import sklearn
from numpy.typing import NDArray

from smoothperf.io import read_data

OPENERS: dict[str, Callable[..., Any]] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open, ".svm": open}

#: What the benchmarks of speed run on, where a folder has it.
DATA_SETS = (
    "a9a",
    "w8a",
    "ijcnn1",
    "covtype",
    "kdd99-10pct",
    "rcv1-ccat",
    "rcv1-c11",
    "news20-bigram",
    "arxiv-astro",
    "worm100k",
)


def arguments(description: str | None, *, needs_data: bool = True) -> argparse.Namespace:
    """Parse ``--data`` and ``--output``, which all benchmarks take."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("SMOOTHPERF_DATA")
    if needs_data:
        parser.add_argument(
            "--data",
            type=Path,
            default=default,
            required=default is None,
            help="folder with NAME.svm, NAME.svm.bz2, ... in svmlight format (default: $SMOOTHPERF_DATA)",
        )
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"), help="folder for the CSV files")
    return parser.parse_args()


def load(folder: Path, name: str) -> tuple[sp.csr_matrix, NDArray[np.float64]]:
    """Read one data set; labels -1 and +1."""
    found = [path for path in sorted(folder.glob(f"{name}.svm*")) if path.suffix in OPENERS]
    if not found:
        raise SystemExit(f"{name}: no file {name}.svm, .svm.gz, .svm.bz2 or .svm.xz in {folder}")
    data = read_data(found[0])
    return data.X, np.asarray(data.y, dtype=np.float64)


def present(folder: Path) -> list[str]:
    """The data sets that a folder has; says which are missing."""
    names = [name for name in DATA_SETS if any(path.suffix in OPENERS for path in folder.glob(f"{name}.svm*"))]
    for name in DATA_SETS:
        if name not in names:
            print(f"missing: {name}")
    if not names:
        raise SystemExit(f"{folder} has none of the data sets {', '.join(DATA_SETS)}")
    return names


def geometric_mean(values: Iterable[float]) -> float:
    """The mean of ratios."""
    return float(np.exp(np.mean(np.log(list(values)))))


def seconds_of(
    ours: Callable[[], Any], peer: Callable[[], Any], *, repetitions: int, calls: int = 1
) -> tuple[float, float]:
    """Median seconds of both, measured in turns so that a noisy machine disturbs both alike; of so many calls each."""
    taken = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        for _ in range(calls):
            ours()
        middle = time.perf_counter()
        for _ in range(calls):
            peer()
        taken.append((middle - begin, time.perf_counter() - middle))
    first, second = np.median(np.array(taken), axis=0) / calls
    return float(first), float(second)


def machine() -> dict[str, str]:
    """Processor and versions, on which the numbers depend."""
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def write_csv(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows with the machine's columns added; under a temporary name first, so that an old file survives."""
    table = [{**row, **machine()} for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".partial")
    with open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    temporary.replace(path)
    print(f"written: {path}")
