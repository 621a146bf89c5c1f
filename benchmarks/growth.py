"""Time and memory of a fit as the rows grow: generated data, 20 non-zeros a row, 1% positives.

Each fit runs in a process of its own, so that its peak memory is its own. "MB more" is what it needs beyond what the
process needed with the data in place; a vector is n float64 numbers.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from smoothperf import MeasureClassifier
from smoothperf.datasets import make_rare_positives

from .common import arguments, write_csv

SIZES = (100_000, 1_000_000, 10_000_000)
FEATURES = 1_000
ALPHA = 1e-4


def peak_bytes() -> int:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def make(n: int, folder: str) -> None:
    """Generate the data, which takes far more memory than to use them, and leave the arrays in files."""
    X, y = make_rare_positives(n, FEATURES, nonzeros=20, positive_rate=0.01)
    for name, values in (("data", X.data), ("indices", X.indices), ("indptr", X.indptr), ("y", y.astype(np.int8))):
        np.save(f"{folder}/{name}.npy", values)


def fit(n: int, folder: str, measure: str) -> None:
    """Fit once, and print what it took as JSON."""
    data, indices, indptr, y = (np.load(f"{folder}/{name}.npy") for name in ("data", "indices", "indptr", "y"))
    X = sp.csr_matrix((data, indices, indptr), shape=(n, FEATURES))
    size = data.nbytes + indices.nbytes + indptr.nbytes
    before = peak_bytes()
    begin = time.perf_counter()
    model = MeasureClassifier(measure, ALPHA, bound="convex", n_threads=1).fit(X, y)
    seconds = time.perf_counter() - begin
    more = peak_bytes() - before
    found = {"seconds": seconds, "iterations": model.n_iter_, "gap": model.gap_, "X": size, "more": more}
    print(json.dumps(found))


def in_a_process_of_its_own(*what: str) -> str:
    """Run a part of this script, and return what it prints."""
    command = [sys.executable, "-m", "benchmarks.growth", *what]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> int:
    """Run all sizes, print the slope, write growth.csv."""
    if sys.argv[1:2] == ["--make"]:
        make(int(sys.argv[2]), sys.argv[3])
        return 0
    if sys.argv[1:2] == ["--fit"]:
        fit(int(sys.argv[2]), sys.argv[3], sys.argv[4])
        return 0
    options = arguments(__doc__, needs_data=False)
    rows: list[dict[str, Any]] = []
    for n in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            in_a_process_of_its_own("--make", str(n), folder)
            for measure in ("prbep", "roc_area"):
                found = json.loads(in_a_process_of_its_own("--fit", str(n), folder, measure))
                rows.append(
                    {
                        "measure": measure,
                        "rows": n,
                        "seconds": f"{found['seconds']:.3f}",
                        "iterations": found["iterations"],
                        "MB of X": f"{found['X'] / 1e6:.0f}",
                        "MB more": f"{found['more'] / 1e6:.0f}",
                        "as vectors": f"{found['more'] / (8 * n):.1f}",
                    }
                )
                print(rows[-1], flush=True)
    for measure in ("prbep", "roc_area"):
        mine = [row for row in rows if row["measure"] == measure]
        logs = np.log([[row["rows"], float(row["seconds"]), float(row["seconds"]) / row["iterations"]] for row in mine])
        for name, column in (("slope of a fit", 1), ("slope of an iteration", 2)):
            slope = float(np.polyfit(logs[:, 0], logs[:, column], 1)[0])
            print(f"{measure}: {name} {slope:.2f} (log-log)")
            for row in mine:
                row[name] = f"{slope:.2f}"
    write_csv(options.output / "growth.csv", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
