"""Estimate of a fit on a cluster with 1e9 rows, 1e7 of them positive: constants that are measured here, and a sum.

Measured, on one thread of this machine unless it says otherwise:

- seconds for each entry of X in ``X w``, and in ``X^T g`` if all of g differs from 0, with as many features as the
  estimate has;
- seconds for each row of an evaluation of the risk, at an accuracy of 1e-3 and with 1% positives, and how many rows get
  a gradient other than 0; seconds for each row of sums and inner products of vectors with a number a row;
- how many of each an iteration makes, the rounds it takes and the bytes that go over a connection beside vectors of d
  numbers, by a fit on two worker processes;
- seconds of a level of a round: messages go up a tree of the members and down again;
- seconds for each byte between two processes of this machine.

An iteration then takes: the work on a worker's share of the rows, and for each level of the tree the rounds, and the
bytes of two connections, one after the other. Networks are not measured: give the speed of yours, or the estimate is
for that between two processes.

    python -m benchmarks.dask_growth --network 1200
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster
from numpy.typing import NDArray

from smoothperf import LBFGS
from smoothperf import dask as on_cluster
from smoothperf.dask.agreement import agree
from smoothperf.dask.group import Member
from smoothperf.dask.inputs import sources
from smoothperf.dask.parts import LabelPart
from smoothperf.dask.placement import Placement
from smoothperf.design import as_design
from smoothperf.measures import get_measure
from smoothperf.optimise.objective import RegularizedRisk
from smoothperf.optimise.space import along
from smoothperf.threads import use_threads

from .common import write_csv
from .page import BEGIN, END, machine, read, table

PAGE = Path("docs/growth.md")
MEASURES = ("prbep", "roc_area", "f1")
#: What the estimate is for.
ROWS = 1_000_000_000
POSITIVES = 10_000_000
FEATURES = 1_000_000
NONZEROS = 50
WORKERS = 100
#: Bytes of an entry of a CSR matrix, and of the beginning and the label of a row.
ENTRY, LABEL = 12, 9
#: Vectors of d numbers that the client keeps: planes of the certificate, and pairs of L-BFGS.
VECTORS_OF_CLIENT = 40 + 2 * 20
#: Vectors with a number for each row: scores, gradients, steps, candidates, and what a risk needs for itself.
VECTORS_OF_ROWS = 12
#: What is measured.
SMALL_ROWS = 200_000
SMALL_FEATURES = 10_000
ROUNDS = 200
ALPHA, TOL = 1e-5, 1e-3


def generated(n: int, d: int, nonzeros: int, positives: int, seed: int = 0) -> tuple[sp.csr_matrix, NDArray[np.bool_]]:
    """Random sparse rows; some columns tell the positives."""
    rng = np.random.default_rng(seed)
    width = d // nonzeros
    indices = np.arange(0, width * nonzeros, width) + rng.integers(0, width, (n, nonzeros))
    values = rng.random((n, nonzeros))
    y = np.zeros(n, dtype=bool)
    y[rng.choice(n, positives, replace=False)] = True
    values[:, :5] += 0.6 * y[:, None]
    starts = np.arange(0, n * nonzeros + 1, nonzeros, dtype=np.int32)
    return sp.csr_matrix((values.ravel(), indices.ravel().astype(np.int32), starts), shape=(n, d)), y


def median_seconds(action: Callable[[], Any], repetitions: int = 15) -> float:
    """Median time of an action, after one that does not count."""
    taken = []
    for _ in range(repetitions + 1):
        begin = time.perf_counter()
        action()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken[1:])


def seconds_of_products() -> dict[str, float]:
    """For an entry of X."""
    X, _ = generated(SMALL_ROWS, FEATURES, NONZEROS, SMALL_ROWS // 100)
    design = as_design(X)
    rng = np.random.default_rng(1)
    w, g = rng.standard_normal(FEATURES), rng.standard_normal(SMALL_ROWS)
    scores, slope = np.empty(SMALL_ROWS), np.empty(FEATURES)
    return {
        "entry_matvec": median_seconds(lambda: design.matvec(w, out=scores)) / X.nnz,
        "entry_rmatvec": median_seconds(lambda: design.rmatvec(g, out=slope)) / X.nnz,
    }


def seconds_of_vectors() -> dict[str, float]:
    """For a row, of ``f + t q`` and of ``<f, q>``."""
    n = 10 * SMALL_ROWS
    rng = np.random.default_rng(0)
    f, q = rng.standard_normal(n), rng.standard_normal(n)
    out = np.empty(n)
    return {
        "row_along": median_seconds(lambda: along(f, 0.5, q, out)) / n,
        "row_inner": median_seconds(lambda: f @ q) / n,
    }


def scores_and_labels(n: int, positives: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Scores that tell most of the positives, of the same range whatever the numbers."""
    y = np.zeros(n, dtype=bool)
    y[:: n // positives] = True
    scores = np.clip(np.random.default_rng(0).standard_normal(n), -4.0, 4.0) + 2.0 * y
    scores[[0, -1]] = 6.0, -4.0
    return scores, y


def seconds_of_risk(measure: str) -> dict[str, float]:
    """For a row, of a smoothed evaluation; and the share of rows that get a gradient."""
    n = 10 * SMALL_ROWS
    scores, y = scores_and_labels(n, n // 100)
    risk = get_measure(measure).bind(y)
    mu = TOL / risk.diameter
    first = risk.smoothed(scores, mu)
    return {
        "row_risk": median_seconds(lambda: risk.smoothed(scores, mu, first.hint), 5) / n,
        "rows_with_gradient": np.count_nonzero(first.plane.gradient) / n,
    }


def iteration(client: Client, measure: str) -> dict[str, float]:
    """Costs of an iteration, on average over a fit."""
    X, y = generated(SMALL_ROWS, SMALL_FEATURES, NONZEROS, SMALL_ROWS // 100)
    half = SMALL_ROWS // 2
    blocks = [client.scatter(block, hash=False) for block in ((X[:half], y[:half]), (X[half:], y[half:]))]
    fit = on_cluster.MeasureClassifier(measure, ALPHA, bound="convex", tol=TOL, fit_intercept=False, client=client).fit(
        blocks
    )
    n, traffic, result = max(1, fit.n_iter_), fit.traffic_, fit.result_
    vectors = 2 * 8 * SMALL_FEATURES  # over both connections of the client: gradients go up, and directions down
    return {
        "iterations": n,
        "rounds": traffic.rounds / n,
        "matvecs": result.n_matvec / n,
        "rmatvecs": result.n_rmatvec / n,
        "evaluations": evaluations_of(measure, X, y),
        "bytes_up": max(0.0, traffic.received - vectors * result.n_rmatvec) / 2 / n,
        "bytes_down": max(0.0, traffic.sent - vectors * result.n_matvec) / 2 / n,
    }


def evaluations_of(measure: str, X: Any, y: Any) -> float:
    """Smoothed evaluations of an iteration; in memory, as they are as many."""
    risk = get_measure(measure).bind(y)
    smoothed, count = risk.smoothed, 0

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        return smoothed(*arguments, **options)

    risk.smoothed = counted  # type: ignore[method-assign]
    result = LBFGS(tol=TOL).run(RegularizedRisk(as_design(X), risk, ALPHA))
    return count / max(1, result.n_iter)


def seconds_of_rounds(client: Client) -> dict[str, float]:
    """A level of a round, and a byte over a connection."""
    tiny = (np.eye(4), np.array([0, 0, 1, 1]))

    def program(part: LabelPart, communicator: Member) -> tuple[float, float]:
        small, large = np.zeros(8), np.zeros(FEATURES)
        return (
            median_seconds(lambda: communicator.allreduce(small), ROUNDS),
            median_seconds(lambda: communicator.allreduce(large)),
        )

    found = []
    for n_workers in (1, 2):
        placement = Placement(client, sources([tiny] * n_workers), n_threads=1, patience=60.0)
        found.append(placement.run(agree(placement.summaries), program, program))
        placement.close()
    short, long = found[0]
    return {"level": found[1][0], "byte": (long - short) / (2 * 8 * FEATURES)}


def estimate(constants: dict[str, float], each: dict[str, float], byte: float) -> dict[str, float]:
    """Seconds of an iteration, by what they are for, and bytes."""
    rows, entries = ROWS / WORKERS, ROWS / WORKERS * NONZEROS
    levels = math.ceil(math.log2(WORKERS + 1))
    up = (8 * FEATURES * each["rmatvecs"] + each["bytes_up"]) / 1e6
    down = (8 * FEATURES * each["matvecs"] + each["bytes_down"]) / 1e6
    transposed = each["rmatvecs"] * each["rows_with_gradient"] * constants["entry_rmatvec"]
    parts = {
        "products": entries * (each["matvecs"] * constants["entry_matvec"] + transposed),
        "risk": rows * each["evaluations"] * (each["row_risk"] + constants["row_along"] + constants["row_inner"]),
        "rounds": levels * each["rounds"] * constants["level"],
        "network": levels * 2 * (up + down) * 1e6 * byte,
    }
    return {
        **{f"seconds_of_{name}": seconds for name, seconds in parts.items()},
        "seconds_of_iteration": sum(parts.values()),
        "megabytes_up_a_connection": up,
        "megabytes_down_a_connection": down,
        "gigabytes_of_rows_on_a_worker": (ENTRY * entries + LABEL * rows) / 1e9,
        "gigabytes_of_vectors_on_a_worker": 8.0 * VECTORS_OF_ROWS * rows / 1e9,
        "gigabytes_of_planes_and_pairs_on_the_client": 8.0 * VECTORS_OF_CLIENT * FEATURES / 1e9,
    }


def table_of(rows: list[dict[str, str]], kind: str) -> str:
    """Values of one kind as a table, with a column for each measure."""
    chosen = [row for row in rows if row["kind"] == kind]
    names = list(dict.fromkeys(row["name"] for row in chosen))
    measures = list(dict.fromkeys(row["measure"] for row in chosen))
    values = {(row["name"], row["measure"]): row["value"] for row in chosen}
    body = [[name.replace("_", " "), *(values[name, measure] for measure in measures)] for name in names]
    return table(["", *(measure or "one thread" for measure in measures)], body)


def write_page() -> None:
    """Put the numbers of the CSV file into docs/growth.md."""
    rows = read("dask_growth")
    constants = ", ".join(f"{row['name'].replace('_', ' ')} {row['value']}" for row in rows if row["kind"] == "seconds")
    text = "\n\n".join(
        [
            f"The estimate, for {ROWS:,} rows of {NONZEROS} entries, {POSITIVES:,} of them positive, {FEATURES:,} "
            f"features and {WORKERS} workers with a thread each:",
            table_of(rows, "estimate"),
            "What it is made of: an iteration of a fit, on average, with bytes over a connection beside gradients and "
            "directions,",
            table_of(rows, "iteration"),
            f"and seconds of one thread: {constants}. Measured with {machine(rows)}.",
        ]
    )
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def main() -> int:
    """Measure, print, write dask_growth.csv."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", type=float, help="speed of the client's network, in megabytes a second")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"), help="folder for the CSV file")
    parser.add_argument(
        "--page", action="store_true", help="write docs/growth.md from the CSV file, and measure nothing"
    )
    options = parser.parse_args()
    if options.page:
        write_page()
        return 0
    warnings.simplefilter("ignore")
    noted: list[dict[str, Any]] = []

    def note(measure: str, kind: str, values: dict[str, float]) -> None:
        for name, value in values.items():
            noted.append({"measure": measure, "kind": kind, "name": name, "value": f"{value:.4g}"})
            print(f"{measure:9} {kind:9} {name:32} {value:.4g}", flush=True)

    with use_threads(1):
        constants = {**seconds_of_products(), **seconds_of_vectors()}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        constants |= seconds_of_rounds(client)
        note("", "seconds", constants)
        byte = constants["byte"] if options.network is None else 1e-6 / options.network
        for measure in MEASURES:
            with use_threads(1):
                each = {**seconds_of_risk(measure), **iteration(client, measure)}
            note(measure, "iteration", each)
            note(measure, "estimate", estimate(constants, each, byte))
    write_csv(options.output / "dask_growth.csv", noted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
