"""The picture of the README: what a model for a goal finds, and the time that its solvers take.

    python -m benchmarks.picture [RUN.parquet]

Left: the table of ``smoothperf demo``, customers called against those who say yes. Right: seconds against the distance
from the best certified lower bound, of a run of benchopt (benchmarks/benchopt) that is kept as a CSV file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from smoothperf.cli._customers import LABEL, Asked

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks/results/benchopt.csv"
MOST_CALLED = 800


def draw_calls(axes: Any) -> None:
    """Draw how many of those called say yes, by model."""
    asked = Asked.of_size(4_000, 200)
    said_yes = (asked.new[LABEL] == "yes").to_numpy()
    for name, model in asked.models().items():
        with threadpool_limits(1, "openmp"):
            model.fit(asked.known.drop(columns=LABEL), asked.known[LABEL])
        order = np.argsort(-model.decision_function(asked.new.drop(columns=LABEL)), kind="stable")
        found = np.concatenate([[0], said_yes[order].cumsum()])[: MOST_CALLED + 1]
        axes.plot(found, label=f"{name}: {found[asked.k]} of {asked.k}", linewidth=2 if name == "smoothperf" else 1.2)
    axes.plot([0, MOST_CALLED], [0, said_yes.mean() * MOST_CALLED], ":", color="grey", label="at random")
    axes.axvline(asked.k, color="grey", linewidth=0.8)
    axes.set(xlabel="customers called", ylabel="say yes", xlim=(0, MOST_CALLED))
    axes.set_title("200 of 4,000 customers (generated) can be called", fontsize="medium")
    axes.set_ylim(bottom=0)
    axes.legend(edgecolor="none", framealpha=1.0, loc="lower right")


def kept(run: Path) -> pd.DataFrame:
    """Return what the picture shows of a run of ROC area with generated rows: medians of its repetitions."""
    table = pd.read_parquet(run)
    table["p_solver_method"] = table["p_solver_method"].fillna("")
    table = table[(table["p_obj_measure"] == "roc_area") & table["dataset_name"].str.startswith("generated")]
    at = table.groupby(["p_solver_method", "stop_val"])[["time", "objective_value", "objective_certified_gap"]].median()
    names = {"": "subgradient", "lbfgs": "L-BFGS, smoothed", "bmrm": "cutting planes"}
    return pd.DataFrame(
        {
            "solver": at.index.get_level_values(0).map(names),
            "seconds": at["time"],
            "gap": at["objective_value"] - table["objective_lower_bound"].max(),
            "certified_gap": at["objective_certified_gap"],
        }
    )


def draw_solvers(axes: Any) -> None:
    """Draw how soon which gap is proven."""
    for name, run in pd.read_csv(RESULTS).groupby("solver"):
        axes.loglog(run["seconds"], run["gap"], ".-", label=name, linewidth=2 if "L-BFGS" in str(name) else 1.2)
    axes.set(xlabel="seconds", ylabel="above the optimum, at most")
    axes.set_xlim(left=1e-4)
    axes.set_title("ROC area, 20,000 rows, 100 columns", fontsize="medium")
    axes.legend(frameon=False)


def main(arguments: list[str]) -> None:
    """Draw both."""
    for run in arguments:
        kept(Path(run)).to_csv(RESULTS, index=False, float_format="%.6g")
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.3), layout="constrained")
    draw_calls(axes[0])
    draw_solvers(axes[1])
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
    figure.savefig(ROOT / "docs/picture.png", dpi=100)


if __name__ == "__main__":
    main(sys.argv[1:])
