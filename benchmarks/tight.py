"""Passes over the data of a fit of the tight bound, relative to a convex fit for ROC area at the same alpha.

Both to a tolerance of 1e-3: for ROC area a certified gap, for the tight bound what the last convex step could gain. The
tight bound starts from the model for ROC area, which is part of its passes. Dense data are standardised.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from smoothperf import MeasureClassifier, ZeroModelWarning

from .common import arguments, geometric_mean, load, write_csv

DATA_SETS: Mapping[str, bool] = {
    # Whether to standardise.
    "a9a": False,
    "w8a": False,
    "campaign": True,
    "mammography": True,
    "rcv1-c11": False,
}
MEASURES = ("prbep", "f1", "precision@100", "roc_area@0.05")
ALPHAS = (1e-3, 1e-4, 1e-5)
MOST_ITERATIONS = 5000


def passes(clf: MeasureClassifier) -> int:
    """Products with X and its transpose."""
    return int(clf.result_.n_matvec + clf.result_.n_rmatvec)


def fitted(
    measure: str, alpha: float, X: Any, y: NDArray[np.float64], *, bound: str = "convex"
) -> tuple[MeasureClassifier, int]:
    """A fitted model, and the passes that it took."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroModelWarning)
        clf = MeasureClassifier(measure, alpha, bound=bound, max_iter=MOST_ITERATIONS).fit(X, y)
    return clf, passes(clf)


def main() -> int:
    """Count everything, print it, write tight.csv."""
    options = arguments(__doc__)
    rows: list[dict[str, Any]] = []
    for name, dense in DATA_SETS.items():
        X, y = load(options.data, name)
        if dense:
            X = StandardScaler().fit_transform(X.toarray() if sp.issparse(X) else X)
        for alpha in ALPHAS:
            _, convex = fitted("roc_area", alpha, X, y)
            for measure in MEASURES:
                clf, tight = fitted(measure, alpha, X, y, bound="tight")
                rows.append(
                    {
                        "data": name,
                        "measure": measure,
                        "alpha": f"{alpha:g}",
                        "passes": tight,
                        "roc_area_passes": convex,
                        "ratio": f"{tight / convex:.2f}",
                        "objective": f"{clf.objective_:.6f}",
                        "stationarity_gap": f"{clf.stationarity_gap_:.2e}",
                        "score": f"{clf.score(X, y):.4f}",
                        "status": clf.result_.status.name,
                    }
                )
                print(
                    f"{name:12} alpha {alpha:g}  {measure:14} {tight:6d} passes  roc_area {convex:5d}  "
                    f"ratio {tight / convex:5.2f}  objective {clf.objective_:.5f}",
                    flush=True,
                )
    for measure in MEASURES:
        ratios = [float(row["ratio"]) for row in rows if row["measure"] == measure]
        print(f"{measure:14} geometric mean {geometric_mean(ratios):.2f}, largest {max(ratios):.2f}")
    write_csv(options.output / "tight.csv", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
