"""Cost of an iteration of L-BFGS, relative to SciPy's ``X @ w`` and ``X.T @ g`` together.

From the first to the last iteration of a run to a certified 1e-3; medians over repetitions in turns with SciPy's
products in the same process. SciPy uses one thread.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from smoothperf import LBFGS, PRBEP, ROCArea
from smoothperf.design import as_design
from smoothperf.optimise.objective import RegularizedRisk
from smoothperf.threads import available_cores, use_threads

from .common import arguments, geometric_mean, load, present, write_csv

REPETITIONS = 9
ALPHAS = (1e-3, 1e-4)


def main() -> int:
    """Time everything, print it, write iterations.csv."""
    options = arguments(__doc__)
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for name in present(options.data):
        X, y = load(options.data, name)
        design = as_design(X)
        w, g = rng.normal(size=X.shape[1]), rng.normal(size=X.shape[0])
        for measure in (PRBEP(), ROCArea()):
            for alpha in ALPHAS:
                objective = RegularizedRisk(design, measure.bind(y), alpha)
                for threads in sorted({1, min(2, available_cores())}):
                    ours, peer = [], []
                    with use_threads(threads), threadpool_limits(1, "blas"):
                        for _ in range(REPETITIONS):
                            begin = time.perf_counter()
                            X @ w
                            X.T @ g
                            peer.append(time.perf_counter() - begin)
                            result = LBFGS().run(objective)
                            seconds = result.trace["seconds"]
                            ours.append((seconds[-1] - seconds[0]) / max(result.n_iter, 1))
                    mine, theirs = float(np.median(ours)), float(np.median(peer))
                    rows.append(
                        {
                            "data": name,
                            "measure": measure.name,
                            "alpha": f"{alpha:g}",
                            "threads": threads,
                            "iterations": result.n_iter,
                            "ms": f"{1e3 * mine:.2f}",
                            "scipy_ms": f"{1e3 * theirs:.2f}",
                            "ratio": f"{mine / theirs:.2f}",
                        }
                    )
                    print(
                        f"{name:14} {measure.name:8} alpha {alpha:g}  {threads} threads  {result.n_iter:4d} steps  "
                        f"{1e3 * mine:8.2f} ms  SciPy {1e3 * theirs:8.2f} ms  ratio {mine / theirs:.2f}",
                        flush=True,
                    )
    for threads in sorted({row["threads"] for row in rows}):
        ratios = [float(row["ratio"]) for row in rows if row["threads"] == threads]
        print(f"{threads} threads: geometric mean {geometric_mean(ratios):.2f}, largest {max(ratios):.2f}")
    write_csv(options.output / "iterations.csv", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
