"""The same objective, whether the rows are in memory, in a file, or on a cluster of four workers.

For each data set and measure: the smoothed risk and its gradient at the same weights, with the weights of a finished
fit and with others, as relative differences from memory; and the optimum that each way certifies. Out of core there are
several blocks, and all cores work on them; the workers are processes of this machine.

    python -m benchmarks.equality --data FOLDER
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, LocalCluster
from numpy.typing import NDArray

from smoothperf import MeasureClassifier
from smoothperf import dask as on_cluster
from smoothperf.dask.agreement import agree
from smoothperf.dask.design import SharedDesign
from smoothperf.dask.group import Member
from smoothperf.dask.inputs import sources
from smoothperf.dask.parts import LabelPart
from smoothperf.dask.placement import Placement
from smoothperf.design import as_design
from smoothperf.io import StoreWriter, open_store
from smoothperf.measures import Examples, get_measure
from smoothperf.optimise.objective import RegularizedRisk, Run

from .common import arguments, load, present, write_csv

DATA_SETS = ("a9a", "kdd99-10pct", "arxiv-astro")
MEASURES = ("prbep", "roc_area", "f1")
#: On a cluster its risk comes from bins of margins, and is a little less; the optimum counts there.
BINNED = ("f1",)
WORKERS = 4
BLOCKS = 8
ALPHA = 1e-4
TOL = 1e-3
#: Relative difference of risk and gradient that is allowed.
ALLOWED = 1e-12


def evaluated(objective: RegularizedRisk, weights: list[NDArray[np.float64]], mu: float) -> list[tuple[float, Any]]:
    """Smoothed and exact risk, with their gradients, at each of the weights."""
    found: list[tuple[float, Any]] = []
    run = Run(objective, in_weights=True)
    for coef in weights:
        point = run.evaluate(coef, mu)
        found.append((point.risk.value, point.slope.copy()))
        found.append((objective.exact(coef) - objective.alpha / 2.0 * float(coef @ coef), None))
    return found


def differences(found: list[tuple[float, Any]], expected: list[tuple[float, Any]]) -> tuple[float, float]:
    """Largest relative difference of values, and of gradients as vectors."""
    values = [abs(ours - theirs) / abs(theirs) for (ours, _), (theirs, _) in zip(found, expected, strict=True)]
    slopes = [
        float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs))
        for (_, ours), (_, theirs) in zip(found, expected, strict=True)
        if theirs is not None
    ]
    return max(values), max(slopes)


def compare(
    name: str, X: Any, y: Any, measure: str, client: Client, blocks: list[Any], store: Path
) -> list[dict[str, Any]]:
    """All ways for one data set and measure."""
    model = MeasureClassifier(measure, ALPHA, bound="convex", tol=TOL).fit(X, y)
    rng = np.random.default_rng(0)
    solution = model.coef_[0]
    weights = [
        solution,
        solution + 0.1 * np.linalg.norm(solution) * rng.standard_normal(X.shape[1]) / X.shape[1] ** 0.5,
    ]
    risk = get_measure(measure).bind(y)
    mu = model.result_.smoothing
    expected = evaluated(RegularizedRisk(as_design(X), risk, ALPHA), weights, mu)
    out_of_core = evaluated(RegularizedRisk(as_design(open_store(store).X), risk, ALPHA), weights, mu)
    placement = Placement(client, sources(blocks), n_threads=1, patience=60.0)

    def program(part: LabelPart, communicator: Member) -> list[tuple[float, Any]]:
        risk = get_measure(measure).risk(Examples(part.positive, part.weights, communicator))
        return evaluated(RegularizedRisk(SharedDesign(part.design, communicator), risk, ALPHA), weights, mu)

    cluster = placement.run(agree(placement.summaries), program, program)
    placement.close()
    fits: list[tuple[str, Any, list[tuple[float, Any]]]] = [
        ("memory", model, expected),
        ("out of core", MeasureClassifier(measure, ALPHA, bound="convex", tol=TOL).fit(store), out_of_core),
        (
            "cluster",
            on_cluster.MeasureClassifier(measure, ALPHA, bound="convex", tol=TOL, client=client).fit(blocks),
            cluster,
        ),
    ]
    rows = []
    for way, fit, found in fits:
        value, slope = differences(found, expected)
        binned = measure in BINNED and way == "cluster"
        # Both objectives are at most a gap above the same optimum.
        same_optimum = fit.gap_ <= TOL and fit.lower_bound_ <= model.objective_ and model.lower_bound_ <= fit.objective_
        rows.append(
            {
                "data": name,
                "measure": measure,
                "way": way,
                "value_difference": f"{value:.2e}",
                "gradient_difference": f"{slope:.2e}",
                "objective": f"{fit.objective_:.9f}",
                "lower_bound": f"{fit.lower_bound_:.9f}",
                "gap": f"{fit.gap_:.2e}",
                "iterations": fit.n_iter_,
                "same": bool(same_optimum and (max(value, slope) <= ALLOWED or binned)),
            }
        )
        print("  ".join(f"{text!s:12}" for text in rows[-1].values()), flush=True)
    return rows


def main() -> int:
    """Compare, print, write equality.csv; return 1 if anything differs."""
    options = arguments(__doc__)
    known = present(options.data)
    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        for name in (name for name in DATA_SETS if name in known):
            X, y = load(options.data, name)
            bounds = [X.shape[0] * i // BLOCKS for i in range(BLOCKS + 1)]
            pieces = [slice(*each) for each in itertools.pairwise(bounds)]
            store = Path(folder, f"{name}.store")
            with StoreWriter(store) as writer:
                for rows_of_piece in pieces:
                    writer.add(X[rows_of_piece], y[rows_of_piece])
                writer.n_features = X.shape[1]
            blocks = [client.scatter((X[piece], y[piece]), hash=False) for piece in pieces]
            for measure in MEASURES:
                rows += compare(name, X, y, measure, client, blocks, store)
    write_csv(options.output / "equality.csv", rows)
    return int(not all(row["same"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
