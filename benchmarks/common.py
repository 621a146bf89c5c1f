"""What the benchmarks share: data sets from a folder, the machine, and CSV files."""

from __future__ import annotations

import argparse
import bz2
import csv
import gzip
import lzma
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import scipy.sparse as sp
import sklearn
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

OPENERS: dict[str, Callable[..., Any]] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open, ".svm": open}


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
    with OPENERS[found[0].suffix](found[0], "rb") as file:
        X, y = load_svmlight_file(file)
    if X.nnz < 2**31:  # the reader may return 64-bit indices, which double the memory traffic for nothing
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def machine() -> dict[str, str]:
    """What the numbers depend on."""
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
