"""Seconds of the whole automatic choice of MeasureClassifierCV, relative to scikit-learn's LogisticRegressionCV.

Ours trains several risks along paths of alphas on five folds and refits the winner; the peer does so for log loss and
ten strengths. One thread each, in turns. Dense data are standardised.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import scipy.sparse as sp
from sklearn.linear_model import LogisticRegressionCV
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from smoothperf import MeasureClassifierCV

from .common import arguments, geometric_mean, load, seconds_of, write_csv
from .tight import DATA_SETS

MEASURES = ("roc_area", "prbep", "f1")
REPETITIONS = 3


def main() -> int:
    """Measure everything, print it, write choice.csv."""
    options = arguments(__doc__)
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of peers that stop early, and of alphas at the end of a grid
        for name, dense in DATA_SETS.items():
            X, y = load(options.data, name)
            if dense:
                X = StandardScaler().fit_transform(X.toarray() if sp.issparse(X) else X)
            for measure in MEASURES:
                ours = MeasureClassifierCV(measure, n_threads=1)
                peer = LogisticRegressionCV(Cs=10, cv=5)
                taken = seconds_of(lambda: ours.fit(X, y), lambda: peer.fit(X, y), repetitions=REPETITIONS)  # noqa: B023
                rows.append(
                    {
                        "data": name,
                        "measure": measure,
                        "seconds": f"{taken[0]:.3f}",
                        "peer_seconds": f"{taken[1]:.3f}",
                        "ratio": f"{taken[0] / taken[1]:.2f}",
                        "chosen": str(ours.trained_for_),
                        "score": f"{ours.best_score_:.4f}",
                    }
                )
                print(
                    f"{name:12} {measure:9} {taken[0]:7.2f} s  ratio {rows[-1]['ratio']:>5}  {ours.trained_for_}",
                    flush=True,
                )
    for measure in MEASURES:
        ratios = [float(row["ratio"]) for row in rows if row["measure"] == measure]
        print(f"{measure:9} geometric mean {geometric_mean(ratios):.2f}")
    print(f"all       geometric mean {geometric_mean(float(row['ratio']) for row in rows):.2f}")
    write_csv(options.output / "choice.csv", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
