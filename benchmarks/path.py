"""Measure what a path of 20 alphas costs, beside one cold fit at its smallest alpha and beside 20 cold fits.

The alphas come from the data. The ratio of the path to the one cold fit is to be at most 5, in passes over the data
and in seconds (the best of a few repetitions, alternating). Exits with 1 if it is not, or if a gap exceeds tol.
"""

from __future__ import annotations

import sys
from typing import Any

from smoothperf import LBFGS, PRBEP, ROCArea, regularization_path
from smoothperf.design import as_design
from smoothperf.measures import Measure
from smoothperf.objective import RegularizedRisk

from .common import arguments, load, write_csv

DATA = ("a9a", "w8a", "rcv1-c11")
MEASURES: tuple[Measure, ...] = (PRBEP(), ROCArea())
N_ALPHAS = 20
TOL = 1e-3
LARGEST_RATIO = 5.0
REPETITIONS = 5


def cold_fits(X: Any, y: Any, measure: Measure, alphas: list[float]) -> tuple[int, float]:
    """Passes and seconds of runs that know nothing of each other."""
    design, risk = as_design(X), measure.bind(y)
    results = [LBFGS(tol=TOL).run(RegularizedRisk(design, risk, alpha)) for alpha in alphas]
    passes = sum(result.n_matvec + result.n_rmatvec for result in results)
    return passes, sum(result.seconds for result in results)


def study(X: Any, y: Any, measure: Measure) -> dict[str, Any]:
    """One line of the table."""
    path_seconds, cold_seconds = [], []
    for _ in range(REPETITIONS):
        path = regularization_path(X, y, measure=measure, n_alphas=N_ALPHAS, tol=TOL)
        path_seconds.append(float(path.seconds.sum()))
        smallest = float(path.alphas[-1])
        cold_passes, seconds = cold_fits(X, y, measure, [smallest])
        cold_seconds.append(seconds)
    all_passes, all_seconds = cold_fits(X, y, measure, path.alphas.tolist())
    path_passes = int(path.n_passes.sum())
    return {
        "measure": measure.name,
        "largest_alpha": f"{path.alphas[0]:.3g}",
        "smallest_alpha": f"{smallest:.3g}",
        "path_passes": path_passes,
        "cold_passes": cold_passes,
        "all_cold_passes": all_passes,
        "ratio_passes": round(path_passes / cold_passes, 2),
        "path_seconds": round(min(path_seconds), 3),
        "cold_seconds": round(min(cold_seconds), 3),
        "all_cold_seconds": round(all_seconds, 3),
        "ratio_seconds": round(min(path_seconds) / min(cold_seconds), 2),
        "largest_gap": f"{path.gaps.max():.2e}",
        "alphas_without_a_pass": int((path.n_passes == 0).sum()),
    }


def main() -> int:
    """Run everything, print a line per path, write path.csv."""
    options = arguments(__doc__)
    rows = []
    for name in DATA:
        X, y = load(options.data, name)
        for measure in MEASURES:
            row = {"data": name, **study(X, y, measure)}
            rows.append(row)
            print("  ".join(f"{column} {value}" for column, value in row.items()), flush=True)
    write_csv(options.output / "path.csv", rows)
    short = [
        row
        for row in rows
        if max(row["ratio_passes"], row["ratio_seconds"]) > LARGEST_RATIO or float(row["largest_gap"]) > TOL
    ]
    print(f"{len(short)} of {len(rows)} paths cost more than {LARGEST_RATIO:g} cold fits at their smallest alpha")
    return int(bool(short))


if __name__ == "__main__":
    sys.exit(main())
