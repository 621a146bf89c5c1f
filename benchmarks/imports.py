"""Time to import smoothperf's estimator in a fresh process, relative to ``import sklearn.linear_model``."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np

from .common import arguments, write_csv

REPETITIONS = 9
STATEMENTS = {
    "smoothperf": "import smoothperf",
    "smoothperf, MeasureClassifier": "from smoothperf import MeasureClassifier",
    "sklearn.linear_model": "import sklearn.linear_model",
}


def main() -> int:
    """Time all, print the ratio, write imports.csv."""
    options = arguments(__doc__, needs_data=False)
    seconds: dict[str, list[float]] = {label: [] for label in STATEMENTS}
    for _ in range(REPETITIONS):
        for label, statement in STATEMENTS.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            seconds[label].append(time.perf_counter() - begin)
    medians = {label: float(np.median(values)) for label, values in seconds.items()}
    rows = [
        {"import": label, "seconds": f"{value:.3f}", "ratio": f"{value / medians['sklearn.linear_model']:.2f}"}
        for label, value in medians.items()
    ]
    for row in rows:
        print(row)
    write_csv(options.output / "imports.csv", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
