"""Time of a fit to a certified 1e-3, relative to scikit-learn's LinearSVC() and LogisticRegression() on the same data.

All with default settings (and so with different objectives and accuracies: these two stop at gradients of their own,
we at a certified gap), one thread, medians of repetitions in turns.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from smoothperf import MeasureClassifier

from .common import arguments, geometric_mean, load, present, write_csv

REPETITIONS = 2
OURS = [(measure, alpha) for measure in ("prbep", "roc_area") for alpha in (1e-3, 1e-4)]


def main() -> int:
    """Time everything, print it, write peers.csv."""
    options = arguments(__doc__)
    rows = []
    for name in present(options.data):
        X, y = load(options.data, name)
        models: dict[str, Any] = {"LinearSVC": LinearSVC(), "LogisticRegression": LogisticRegression()}
        models |= {f"{m} {a:g}": MeasureClassifier(m, a, bound="convex", n_threads=1) for m, a in OURS}
        seconds: dict[str, list[float]] = {label: [] for label in models}
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)  # w = 0 is optimal in a few cases
            for _ in range(REPETITIONS):
                for label, model in models.items():
                    begin = time.perf_counter()
                    model.fit(X, y)
                    seconds[label].append(time.perf_counter() - begin)
        medians = {label: float(np.median(values)) for label, values in seconds.items()}
        for measure, alpha in OURS:
            mine = medians[f"{measure} {alpha:g}"]
            svc, logistic = medians["LinearSVC"], medians["LogisticRegression"]
            rows.append(
                {
                    "data": name,
                    "measure": measure,
                    "alpha": f"{alpha:g}",
                    "seconds": f"{mine:.4f}",
                    "linear_svc": f"{svc:.4f}",
                    "logistic": f"{logistic:.4f}",
                    "to_linear_svc": f"{mine / svc:.3f}",
                    "to_logistic": f"{mine / logistic:.3f}",
                }
            )
            print(
                f"{name:14} {measure:8} alpha {alpha:g}  {mine:7.3f} s  LinearSVC {svc:7.3f} s (ratio {mine / svc:.2f})"
                f"   LogisticRegression {logistic:7.3f} s (ratio {mine / logistic:.2f})",
                flush=True,
            )
    for column in ("to_linear_svc", "to_logistic"):
        print(f"{column}: geometric mean {geometric_mean(float(row[column]) for row in rows):.2f}")
    write_csv(options.output / "peers.csv", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
