"""How time and memory of a fit grow with the rows: generated data, 20 non-zeros a row, 1% positives.

Each size runs in a process of its own, so that its peak memory is its own. A vector is n float64 numbers; memory is
what a process needs beyond what it needed with the data in place.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

from smoothperf import MeasureClassifier
from smoothperf.datasets import make_rare_positives

from .common import arguments, write_csv

SIZES = (100_000, 1_000_000, 10_000_000)
FEATURES = 1_000


def peak_bytes() -> int:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def one_size(n: int, measure: str) -> None:
    """Fit once, and print what it took as JSON."""
    X, y = make_rare_positives(n, FEATURES, nonzeros=20, positive_rate=0.01)
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    before = peak_bytes()
    begin = time.perf_counter()
    model = MeasureClassifier(measure=measure, alpha=1e-3, n_threads=1).fit(X, y)
    seconds = time.perf_counter() - begin
    print(
        json.dumps(
            {
                "seconds": seconds,
                "iterations": model.n_iter_,
                "gap": model.gap_,
                "bytes_of_X": size,
                "bytes_more": peak_bytes() - before,
                "vectors_more": (peak_bytes() - before) / (8.0 * n),
            }
        )
    )


def main() -> int:
    """Run all sizes, print the slope, write growth.csv."""
    if "--one" in sys.argv:
        parser = argparse.ArgumentParser()
        parser.add_argument("--one", nargs=2, required=True)
        n, measure = parser.parse_args().one
        one_size(int(n), measure)
        return 0
    options = arguments(__doc__, needs_data=False)
    rows = []
    for measure in ("prbep", "roc_area"):
        times = []
        for n in SIZES:
            command = [sys.executable, "-m", "benchmarks.growth", "--one", str(n), measure]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            times.append(found["seconds"])
            rows.append(
                {
                    "measure": measure,
                    "rows": n,
                    "seconds": f"{found['seconds']:.3f}",
                    "iterations": found["iterations"],
                    "mb_of_X": f"{found['bytes_of_X'] / 1e6:.0f}",
                    "mb_more": f"{found['bytes_more'] / 1e6:.0f}",
                    "vectors_more": f"{found['vectors_more']:.1f}",
                }
            )
            print(f"{measure:8} {n:9,d} rows  {found}", flush=True)
        slope = float(np.polyfit(np.log(SIZES), np.log(times), 1)[0])
        print(f"{measure}: log-log slope {slope:.2f}")
        for row in rows[-len(SIZES) :]:
            row["slope"] = f"{slope:.2f}"
    write_csv(options.output / "growth.csv", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
