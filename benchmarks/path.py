"""Measure what a path of 20 alphas costs, beside one cold fit at its smallest alpha and beside 20 cold fits.

The alphas come from the data. The ratio of the path to the one cold fit is to be at most 5, in passes over the data
and in seconds of the whole calls, ``regularization_path`` and ``MeasureClassifier.fit`` (medians of a few repetitions,
alternating). Exits with 1 if it is not, or if a gap exceeds tol.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

from smoothperf import PRBEP, MeasureClassifier, RegularizationPath, ROCArea, ZeroModelWarning, regularization_path
from smoothperf.measures import Measure

from .common import arguments, load, seconds_of, write_csv

DATA = ("a9a", "w8a", "rcv1-c11")
MEASURES: tuple[Measure, ...] = (PRBEP(), ROCArea())
N_ALPHAS = 20
TOL = 1e-3
LARGEST_RATIO = 5.0
REPETITIONS = 5


def study(X: Any, y: Any, measure: Measure) -> dict[str, Any]:
    """One line of the table."""

    def path_of_all() -> RegularizationPath:
        return regularization_path(X, y, measure=measure, bound="convex", n_alphas=N_ALPHAS, tol=TOL)

    def cold_fit(alpha: float) -> MeasureClassifier:
        return MeasureClassifier(measure, alpha, bound="convex", tol=TOL).fit(X, y)

    path = path_of_all()
    smallest = float(path.alphas[-1])
    path_seconds, cold_seconds = seconds_of(path_of_all, lambda: cold_fit(smallest), repetitions=REPETITIONS)
    begin = time.perf_counter()
    cold_results = [cold_fit(float(alpha)).result_ for alpha in path.alphas]
    all_seconds = time.perf_counter() - begin
    passes = [result.n_matvec + result.n_rmatvec for result in cold_results]
    cold_passes, all_passes = passes[-1], sum(passes)
    path_passes = int(path.n_passes.sum())
    return {
        "measure": measure.name,
        "largest_alpha": f"{path.alphas[0]:.3g}",
        "smallest_alpha": f"{smallest:.3g}",
        "path_passes": path_passes,
        "cold_passes": cold_passes,
        "all_cold_passes": all_passes,
        "ratio_passes": round(path_passes / cold_passes, 2),
        "path_seconds": round(path_seconds, 3),
        "cold_seconds": round(cold_seconds, 3),
        "all_cold_seconds": round(all_seconds, 3),
        "ratio_seconds": round(path_seconds / cold_seconds, 2),
        "largest_gap": f"{path.gaps.max():.2e}",
        "alphas_without_a_pass": int((path.n_passes == 0).sum()),
    }


def main() -> int:
    """Run everything, print a line per path, write path.csv."""
    options = arguments(__doc__)
    warnings.simplefilter("ignore", ZeroModelWarning)  # at the largest alphas, as it should be
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
