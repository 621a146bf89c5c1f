"""L-BFGS on two Dask workers with a thread each, against one thread in memory: seconds and bytes an iteration.

Half the time is ideal. Client, scheduler and workers are processes of this machine, which should have a core for each
worker and nothing else to do. Both ways fit to a certified 1e-3, in turns, several times. A run repeats the one before
it bit for bit, so of each iteration the fastest repetition counts, which leaves out much of what else the machine does.

What the machine itself can do is measured, too: both workers at once, each with a fit of its own to its half of the
rows, in memory and without a word to anybody. Where that takes more than half the time of one thread, the cores share
something, or have other work.

    python -m benchmarks.dask_scaling --data FOLDER
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

from smoothperf import MeasureClassifier
from smoothperf import dask as on_cluster
from smoothperf.dask.rows import aligned

from .common import arguments, load, write_csv

DATA = "worm100k"
WORKERS = 2
ALPHA = 1e-5
REPETITIONS = 20
#: What the ratio to half the time of one thread may be.
ALLOWED = 1.3


def seconds_of_iterations(model: Any) -> Any:
    """Of a fitted model: the time that each iteration took."""
    return np.diff(model.result_.trace["seconds"])


def fit_alone(block: tuple[Any, Any], measure: str) -> Any:
    """Fit to one block, on its worker; the time that each iteration took."""
    X, y = block
    X = sp.csr_matrix((aligned(X.data), aligned(X.indices), aligned(X.indptr)), shape=X.shape)
    return seconds_of_iterations(MeasureClassifier(measure, ALPHA, n_threads=1).fit(X, y))


def mean_of_fastest(repetitions: Sequence[Any]) -> float:
    """Of each iteration the fastest repetition; then the mean."""
    return float(np.min(repetitions, axis=0).mean())


def main() -> int:
    """Fit both ways, print, write dask_scaling.csv; return 1 if a ratio is too high."""
    options = arguments(__doc__)
    X, y = load(options.data, DATA)
    n = X.shape[0]
    bounds = [n * i // WORKERS for i in range(WORKERS + 1)]
    rows: list[dict[str, Any]] = []
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        homes = sorted(client.nthreads())
        blocks = [
            client.scatter((X[begin:end], y[begin:end]), workers=[home], hash=False)
            for (begin, end), home in zip(itertools.pairwise(bounds), homes, strict=True)
        ]
        for measure in ("prbep", "roc_area"):
            in_memory, on_workers = [], []
            alone: list[list[Any]] = [[] for _ in blocks]
            for _ in range(REPETITIONS):
                here = MeasureClassifier(measure, ALPHA, n_threads=1).fit(X, y)
                in_memory.append(seconds_of_iterations(here))
                there = on_cluster.MeasureClassifier(measure, ALPHA, client=client).fit(blocks)
                on_workers.append(seconds_of_iterations(there))
                halves = [
                    client.submit(fit_alone, block, measure, workers=[home], pure=False)
                    for block, home in zip(blocks, homes, strict=True)
                ]
                for kept, seconds in zip(alone, client.gather(halves), strict=True):
                    kept.append(seconds)
            memory, workers = mean_of_fastest(in_memory), mean_of_fastest(on_workers)
            halved = max(map(mean_of_fastest, alone))  # the slower one of them counts
            ratio = workers / (memory / WORKERS)
            print(
                f"{measure:9} one thread {1e3 * memory:6.2f} ms an iteration, {WORKERS} workers {1e3 * workers:.2f}, "
                f"{ratio:.2f} x half; halves at once, alone {1e3 * halved:.2f}; {there.traffic_}",
                flush=True,
            )
            rows.append(
                {
                    "data": DATA,
                    "rows": n,
                    "features": X.shape[1],
                    "measure": measure,
                    "workers": WORKERS,
                    "iterations": there.n_iter_,
                    "milliseconds_one_thread": f"{1e3 * memory:.3f}",
                    "milliseconds_workers": f"{1e3 * workers:.3f}",
                    "milliseconds_halves_alone": f"{1e3 * halved:.3f}",
                    "ratio_to_ideal": f"{ratio:.3f}",
                    "ratio_to_halves_alone": f"{workers / halved:.3f}",
                    "bytes_sent_per_iteration": f"{there.traffic_.sent / there.n_iter_:.0f}",
                    "bytes_received_per_iteration": f"{there.traffic_.received / there.n_iter_:.0f}",
                    "rounds_per_iteration": f"{there.traffic_.rounds / there.n_iter_:.2f}",
                    "largest_reply": there.traffic_.largest_reply,
                }
            )
    write_csv(options.output / "dask_scaling.csv", rows)
    return int(any(float(row["ratio_to_ideal"]) > ALLOWED for row in rows))


if __name__ == "__main__":
    sys.exit(main())
