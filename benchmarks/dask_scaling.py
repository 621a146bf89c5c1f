"""L-BFGS on two Dask workers with a thread each, against two threads of one process: seconds an iteration.

2,000,000 generated rows with 100 entries each. Client, scheduler and workers are processes of this machine, which
should have a core for each worker, 8 GB of memory and nothing else to do. All ways take the same steps up to rounding,
as many iterations as are given, in turns; of every iteration the fastest repetition counts. One thread is beside them,
to tell what a second core is worth on this machine.

Dask's profiler, which looks at every worker a hundred times a second, is off, as docs/dask.md advises for long fits.

Rows are generated where they are used, a block after the other, so that no process has more than its own, and values
are of single precision: 8 bytes an entry.

    python -m benchmarks.dask_scaling
    python -m benchmarks.dask_scaling --rows 200000 --iterations 10      # a quick look
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

import dask
import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster
from numpy.typing import NDArray

from smoothperf import MeasureClassifier
from smoothperf import dask as on_cluster

from .common import write_csv

WORKERS = 2
NONZEROS = 100
FEATURES = 100_000
#: Rows that are generated at a time.
BLOCK = 100_000
ALPHA = 1e-6
REPETITIONS = 5
MEASURES = ("prbep", "roc_area", "error_rate")
#: What the ratio to two threads of one process may be.
ALLOWED = 1.15


def block(number: int, rows: int) -> tuple[sp.csr_array, NDArray[np.bool_]]:
    """Random rows, of which 2% are positive; the last columns tell them, not too well."""
    rng = np.random.default_rng(number)
    y = rng.random(rows) < 0.02
    width = FEATURES // NONZEROS
    indices = rng.integers(0, width, (rows, NONZEROS), dtype=np.int32)
    indices += np.arange(0, FEATURES, width, dtype=np.int32)
    values = rng.random((rows, NONZEROS), dtype=np.float32)
    values[:, -5:] += np.float32(0.3) * y[:, None]
    starts = np.arange(0, rows * NONZEROS + 1, NONZEROS, dtype=np.int32)
    return sp.csr_array((values.ravel(), indices.ravel(), starts), shape=(rows, FEATURES)), y


def sizes(rows: int) -> list[int]:
    """Rows of each block, as many blocks for each worker."""
    count = WORKERS * max(1, round(rows / BLOCK / WORKERS))
    return [rows * (i + 1) // count - rows * i // count for i in range(count)]


def in_memory(rows: int) -> tuple[sp.csr_array, NDArray[np.bool_]]:
    """All rows, in arrays that are filled block by block."""
    values, indices = np.empty(rows * NONZEROS, np.float32), np.empty(rows * NONZEROS, np.int32)
    y = np.empty(rows, dtype=bool)
    begin = 0
    for number, count in enumerate(sizes(rows)):
        X, labels = block(number, count)
        entries = slice(begin * NONZEROS, (begin + count) * NONZEROS)
        values[entries], indices[entries], y[begin : begin + count] = X.data, X.indices, labels
        begin += count
    starts = np.arange(0, rows * NONZEROS + 1, NONZEROS, dtype=np.int32)
    return sp.csr_array((values, indices, starts), shape=(rows, FEATURES)), y


def seconds_of_iterations(model: Any) -> NDArray[np.float64]:
    """Of a fitted model: the time that each iteration took."""
    return np.diff(model.result_.trace["seconds"])


def compare(client: Client, rows: int, measure: str, iterations: int) -> dict[str, Any]:
    """Fit all ways in turns, and describe the fastest repetitions."""
    seconds: dict[str, list[NDArray[np.float64]]] = {"one_thread": [], "two_threads": [], "workers": []}
    options: dict[str, Any] = {
        "measure": measure,
        "alpha": ALPHA,
        "bound": "convex",
        "tol": 1e-9,
        "max_iter": iterations,
    }
    for _ in range(REPETITIONS):
        X, y = in_memory(rows)
        for way, n_threads in (("one_thread", 1), ("two_threads", WORKERS)):
            seconds[way].append(seconds_of_iterations(MeasureClassifier(n_threads=n_threads, **options).fit(X, y)))
        del X, y  # the memory is for the workers now
        blocks = [dask.delayed(block)(number, count) for number, count in enumerate(sizes(rows))]
        there = on_cluster.MeasureClassifier(client=client, **options).fit(blocks)
        seconds["workers"].append(seconds_of_iterations(there))
    means = {way: float(np.min(found, axis=0).mean()) for way, found in seconds.items()}
    traffic = there.traffic_
    return {
        "iterations": there.n_iter_,
        **{f"milliseconds_{way}": f"{1e3 * mean:.1f}" for way, mean in means.items()},
        "workers_to_threads": f"{means['workers'] / means['two_threads']:.3f}",
        "bytes_sent_per_iteration": f"{traffic.sent / there.n_iter_:.0f}",
        "bytes_received_per_iteration": f"{traffic.received / there.n_iter_:.0f}",
        "rounds_per_iteration": f"{traffic.rounds / there.n_iter_:.2f}",
        "largest_array": traffic.largest,
    }


def main() -> int:
    """Compare, print, write dask_scaling.csv; return 1 if a ratio is too high."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"), help="folder for the CSV file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the tolerance is not reached
    rows: list[dict[str, Any]] = []
    with (
        dask.config.set({"distributed.worker.profile.enabled": False}),
        # No limit of memory: Dask would write rows to disk, which are in use, when a machine is half full.
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        for measure in MEASURES:
            found = compare(client, options.rows, measure, options.iterations)
            print(
                f"{measure:10} one thread {found['milliseconds_one_thread']} ms an iteration, {WORKERS} threads "
                f"{found['milliseconds_two_threads']}, {WORKERS} workers {found['milliseconds_workers']}: "
                f"{found['workers_to_threads']} x; {found['bytes_sent_per_iteration']} bytes sent, "
                f"{found['bytes_received_per_iteration']} received, {found['rounds_per_iteration']} rounds",
                flush=True,
            )
            rows.append({"rows": options.rows, "entries": options.rows * NONZEROS, "measure": measure, **found})
    write_csv(options.output / "dask_scaling.csv", rows)
    return int(any(float(row["workers_to_threads"]) > ALLOWED for row in rows))


if __name__ == "__main__":
    sys.exit(main())
