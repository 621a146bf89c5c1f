"""Time of BMRM relative to L-BFGS on the same kernels, both to a certified 1e-3, one thread.

BMRM is stopped after {LIMIT} times the time of L-BFGS; the ratio is then a lower bound, marked with a plus.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from smoothperf import BMRM, LBFGS, PRBEP, ROCArea
from smoothperf.design import as_design
from smoothperf.optimise import TraceRow
from smoothperf.optimise.objective import RegularizedRisk
from smoothperf.threads import use_threads

from .common import arguments, geometric_mean, load, present, write_csv

REPETITIONS = 3
ALPHAS = (1e-3, 1e-4, 1e-5)
LIMIT = 20


def main() -> int:
    """Time everything, print it, write cutting_planes.csv."""
    options = arguments((__doc__ or "").format(LIMIT=LIMIT))
    rows: list[dict[str, Any]] = []
    for name in present(options.data):
        X, y = load(options.data, name)
        design = as_design(X)
        for measure in (PRBEP(), ROCArea()):
            for alpha in ALPHAS:
                objective = RegularizedRisk(design, measure.bind(y), alpha)
                smooth, planes = [], []
                with use_threads(1), threadpool_limits(1, "blas"):
                    for _ in range(REPETITIONS):
                        begin = time.perf_counter()
                        ours = LBFGS().run(objective)
                        smooth.append(time.perf_counter() - begin)
                        limit = LIMIT * smooth[-1]

                        def too_long(row: TraceRow, limit: float = limit) -> bool:
                            return row.seconds > limit

                        begin = time.perf_counter()
                        theirs = BMRM().run(objective, callback=too_long)
                        planes.append(time.perf_counter() - begin)
                mine, peer = float(np.median(smooth)), float(np.median(planes))
                more = "" if theirs.gap <= 1e-3 else "+"
                rows.append(
                    {
                        "data": name,
                        "measure": measure.name,
                        "alpha": f"{alpha:g}",
                        "iterations": ours.n_iter,
                        "bmrm_iterations": f"{theirs.n_iter}{more}",
                        "seconds": f"{mine:.4f}",
                        "bmrm_seconds": f"{peer:.4f}{more}",
                        "times_faster": f"{peer / mine:.2f}{more}",
                    }
                )
                print(
                    f"{name:14} {measure.name:8} alpha {alpha:g}  L-BFGS {ours.n_iter:4d} iterations {mine:7.3f} s   "
                    f"BMRM {theirs.n_iter:5d} iterations {peer:8.3f} s   {peer / mine:.1f}{more} times",
                    flush=True,
                )
    for measure_name in ("prbep", "roc_area"):
        ratios = [float(row["times_faster"].rstrip("+")) for row in rows if row["measure"] == measure_name]
        print(f"{measure_name}: geometric mean {geometric_mean(ratios):.2f} times, least {min(ratios):.2f}")
    write_csv(options.output / "cutting_planes.csv", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
