"""L-BFGS on two Dask workers with a thread each, against one thread in memory: seconds and bytes an iteration.

Half the time is ideal. Client, scheduler and workers are processes of this machine, which should have a core for each
worker and nothing else to do. All ways fit to a certified 1e-3, in turns, several times. A run repeats the one before
it bit for bit, so of every ten iterations the fastest repetition counts, which leaves out much of what else the machine
does. (Of single ones it would not do: one may seem short because the end of the one before it was noticed late.)

What the machine itself can do is measured, too: two threads of one process, and both workers at once, each with a fit
of its own to its half of the rows, in memory and without a word to anybody. Where these take more than half the time of
one thread, the cores share something, or have other work.

Dask itself has such: with nothing to do, each of its processes takes 4 to 6% of a core to look after itself, most of it
for a profiler of tasks and for a clock that ticks every 20 ms (measured on a virtual machine, where to wake up is
expensive). So all is measured twice, on a cluster as it comes and on one with the settings ``QUIET``.

    python -m benchmarks.dask_scaling --data FOLDER
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any

import dask
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
#: Iterations whose time is compared between repetitions.
TOGETHER = 10
#: What the ratio to half the time of one thread may be.
ALLOWED = 1.3
#: No profiler of tasks, which smoothperf has none of, and a slow clock.
QUIET = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}
CLUSTERS: dict[str, dict[str, Any]] = {"as it comes": {}, "quiet": QUIET}


def seconds_of_iterations(model: Any) -> Any:
    """Of a fitted model: the time that each iteration took."""
    return np.diff(model.result_.trace["seconds"])


def mean_of_fastest(repetitions: Sequence[Any]) -> float:
    """Of every ``TOGETHER`` iterations the fastest repetition; then the mean of an iteration."""
    pieces = max(1, len(repetitions[0]) // TOGETHER)
    sums = [[piece.sum() for piece in np.array_split(seconds, pieces)] for seconds in repetitions]
    return float(np.min(sums, axis=0).sum() / len(repetitions[0]))


def fit_alone(block: tuple[Any, Any], measure: str) -> Any:
    """Fit to one block, on its worker; the time that each iteration took."""
    X, y = block
    X = sp.csr_matrix((aligned(X.data), aligned(X.indices), aligned(X.indptr)), shape=X.shape)
    return seconds_of_iterations(MeasureClassifier(measure, ALPHA, n_threads=1).fit(X, y))


def on_workers(client: Client, X: Any, y: Any) -> list[Any]:
    """The rows in as many blocks as there are workers, each on its own."""
    n = X.shape[0]
    bounds = [n * i // WORKERS for i in range(WORKERS + 1)]
    return [
        client.scatter((X[begin:end], y[begin:end]), workers=[home], hash=False)
        for (begin, end), home in zip(itertools.pairwise(bounds), sorted(client.nthreads()), strict=True)
    ]


def compare(client: Client, X: Any, y: Any, blocks: list[Any], measure: str) -> dict[str, Any]:
    """Fit all ways in turns, and describe the fastest repetitions; each of the blocks is on one of the workers."""
    seconds: dict[str, list[Any]] = {way: [] for way in ("one_thread", "two_threads", "workers")}
    alone: list[list[Any]] = [[] for _ in blocks]
    for _ in range(REPETITIONS):
        for way, n_threads in (("one_thread", 1), ("two_threads", WORKERS)):
            here = MeasureClassifier(measure, ALPHA, n_threads=n_threads).fit(X, y)
            seconds[way].append(seconds_of_iterations(here))
        there = on_cluster.MeasureClassifier(measure, ALPHA, client=client).fit(blocks)
        seconds["workers"].append(seconds_of_iterations(there))
        halves = [
            client.submit(fit_alone, block, measure, workers=[home], pure=False)
            for block, home in zip(blocks, sorted(client.nthreads()), strict=True)
        ]
        for kept, found in zip(alone, client.gather(halves), strict=True):
            kept.append(found)
    fastest = {way: mean_of_fastest(found) for way, found in seconds.items()}
    fastest["halves_alone"] = max(map(mean_of_fastest, alone))  # the slower one of them counts
    ideal = fastest["one_thread"] / WORKERS
    return {
        "iterations": there.n_iter_,
        **{f"milliseconds_{way}": f"{1e3 * found:.3f}" for way, found in fastest.items()},
        **{f"{way}_to_ideal": f"{fastest[way] / ideal:.3f}" for way in ("workers", "halves_alone", "two_threads")},
        "bytes_sent_per_iteration": f"{there.traffic_.sent / there.n_iter_:.0f}",
        "bytes_received_per_iteration": f"{there.traffic_.received / there.n_iter_:.0f}",
        "rounds_per_iteration": f"{there.traffic_.rounds / there.n_iter_:.2f}",
        "largest_reply": there.traffic_.largest_reply,
    }


def main() -> int:
    """Compare on both clusters, print, write dask_scaling.csv; return 1 if a ratio is too high."""
    options = arguments(__doc__)
    X, y = load(options.data, DATA)
    rows: list[dict[str, Any]] = []
    for settings, quieter in CLUSTERS.items():
        with (
            dask.config.set(quieter),
            LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            blocks = on_workers(client, X, y)
            for measure in ("prbep", "roc_area"):
                found = compare(client, X, y, blocks, measure)
                print(
                    f"{measure:9} cluster {settings:11}: one thread {found['milliseconds_one_thread']} ms an iteration,"
                    f" {WORKERS} workers {found['milliseconds_workers']}, {found['workers_to_ideal']} x half (halves"
                    f" alone {found['halves_alone_to_ideal']}, threads {found['two_threads_to_ideal']});"
                    f" {found['bytes_sent_per_iteration']} bytes sent, {found['bytes_received_per_iteration']}"
                    f" received, {found['rounds_per_iteration']} rounds",
                    flush=True,
                )
                rows.append({"data": DATA, "rows": X.shape[0], "measure": measure, "cluster": settings, **found})
    write_csv(options.output / "dask_scaling.csv", rows)
    return int(any(float(row["workers_to_ideal"]) > ALLOWED for row in rows))


if __name__ == "__main__":
    sys.exit(main())
