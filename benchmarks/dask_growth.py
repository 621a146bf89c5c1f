"""What a fit on a cluster would take with 1e9 rows, 1e7 of them positive: constants that are measured here, and a sum.

Measured, on one thread of this machine unless it says otherwise:

- seconds for each entry of X in ``X w``, and in ``X^T g`` if all of g differs from 0, with as many features as the
  estimate has;
- seconds for each row of an evaluation of the risk, at an accuracy of 1e-3 and with 1% positives, and how many rows get
  a gradient other than 0; seconds for each row of sums and inner products of vectors with a number a row;
- the bytes that an evaluation sends to a worker and gets back, of a million rows on two worker processes with 1% and
  with 4% positives; those of the products;
- how many of each an iteration makes, and the rounds it takes, by a fit on these workers;
- seconds of a round, and how they grow with the number of connections: all to one worker process, which answers one
  after another, so that a cluster is faster;
- seconds for each byte between two processes of this machine.

An iteration then takes: the work on a worker's share of the rows, the rounds, and the bytes of all workers through the
client's network, one after another. Networks are not measured: give the speed of yours, or the estimate is for that
between two processes.

    python -m benchmarks.dask_growth --network 1200
"""

from __future__ import annotations

import argparse
import secrets
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
from smoothperf.blocks import LocalVectors
from smoothperf.dask.remote import Servers
from smoothperf.dask.training import objective_on

from smoothperf import LBFGS
from smoothperf.dask import server, wire
from smoothperf.design import as_design
from smoothperf.measures import get_measure
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
#: What is measured.
SMALL_ROWS = 200_000
LINKS = (1, 2, 4, 8, 16, 32)
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
    vectors = LocalVectors(n)
    rng = np.random.default_rng(0)
    f, q = rng.standard_normal(n), rng.standard_normal(n)
    return {
        "row_along": median_seconds(lambda: vectors.along(f, 0.5, q)) / n,
        "row_inner": median_seconds(lambda: vectors.inner(f, q)) / n,
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
        "rows_with_gradient": np.count_nonzero(first.gradient) / n,
    }


def bytes_of_evaluation(client: Client, measure: str, positives: int) -> dict[str, float]:
    """To and from each worker, for a smoothed evaluation and for a product with X and with its transpose."""
    n, d = 5 * SMALL_ROWS, 100
    scores, y = scores_and_labels(n, positives)
    X = np.zeros((n, d), dtype=np.float32)
    X[:, 0] = scores
    blocks = [client.scatter(block, hash=False) for block in ((X[: n // 2], y[: n // 2]), (X[n // 2 :], y[n // 2 :]))]
    w = np.zeros(d)
    w[0] = 1.0
    with objective_on(client, measure, ALPHA, blocks) as objective:
        servers = objective.design.servers  # type: ignore[attr-defined]
        risk, mu = objective.risk, TOL / objective.risk.diameter
        found = {}

        def count(name: str, action: Callable[[], Any]) -> Any:
            before = servers.traffic(0)
            result = action()
            after = servers.traffic(0)
            found[f"{name}_sent"] = (after.sent - before.sent) / 2
            found[f"{name}_received"] = (after.received - before.received) / 2
            found[f"{name}_rounds"] = after.rounds - before.rounds
            return result

        f = count("matvec", lambda: objective.matvec(w))
        first = risk.smoothed(f, mu)
        value = count("evaluation", lambda: risk.smoothed(f, mu, first.hint))
        count("rmatvec", lambda: objective.rmatvec(value.gradient))
    found["matvec_sent"] -= 8 * d  # the weights themselves, and their like
    found["rmatvec_received"] -= 8 * d
    return found


def iteration(client: Client, measure: str) -> dict[str, float]:
    """What an iteration takes, on average over a fit."""
    X, y = generated(SMALL_ROWS, 10_000, NONZEROS, SMALL_ROWS // 100)
    half = SMALL_ROWS // 2
    blocks = [client.scatter(block, hash=False) for block in ((X[:half], y[:half]), (X[half:], y[half:]))]
    evaluations = 0
    with objective_on(client, measure, ALPHA, blocks) as objective:
        smoothed = objective.risk.smoothed

        def counted(*arguments: Any) -> Any:
            nonlocal evaluations
            evaluations += 1
            return smoothed(*arguments)

        objective.risk.smoothed = counted  # type: ignore[method-assign, assignment]
        servers = objective.design.servers  # type: ignore[attr-defined]
        before = servers.traffic(0)
        result = LBFGS(tol=TOL).run(objective)
        rounds = servers.traffic(0).rounds - before.rounds
        vectors = max(servers.ask("rows", "n_vectors"))
    n = max(1, result.n_iter)
    return {
        "iterations": n,
        "vectors": vectors,
        "rounds": rounds / n,
        "matvecs": result.n_matvec / n,
        "rmatvecs": result.n_rmatvec / n,
        "evaluations": evaluations / n,
    }


def all_of(client: Client, measure: str) -> dict[str, float]:
    """Everything that depends on the measure."""
    positives = SMALL_ROWS // 20
    few, many = (bytes_of_evaluation(client, measure, count) for count in (positives, 4 * positives))
    found = {**seconds_of_risk(measure), **iteration(client, measure)}
    for way in ("sent", "received"):
        per_positive = max(0.0, (many[f"evaluation_{way}"] - few[f"evaluation_{way}"]) / (3 * positives))
        found[f"{way}_per_positive"] = per_positive
        found[f"{way}_by_evaluation"] = few[f"evaluation_{way}"] - per_positive * positives
        found[f"{way}_by_products"] = few[f"matvec_{way}"] + few[f"rmatvec_{way}"]
    return found


def seconds_of_rounds(client: Client) -> dict[str, float]:
    """A round and what another connection adds to it; a byte sent and received."""
    key = secrets.token_bytes(32)
    worker = min(client.nthreads())
    tiny = (np.eye(4), np.array([0, 0, 1, 1]))
    links = []
    for _ in range(max(LINKS)):
        hosted = client.submit(server.host, key, 1, tiny, workers=[worker], pure=False).result()
        links.append(wire.Link(wire.connect(hosted.address, key, None, seconds=60.0)))
    seconds = []
    for count in LINKS:
        some = Servers(links[:count], [worker] * count)
        seconds.append(median_seconds(lambda some=some: some.ask("rows", "echo", 1.0), 200))  # type: ignore[misc]
    each, base = np.polyfit(LINKS, seconds, 1)
    one = Servers(links[:1], [worker])
    content = np.zeros(FEATURES)
    there_and_back = median_seconds(lambda: one.ask("rows", "echo", content))
    Servers(links, [worker] * len(links)).close()
    return {
        "round": max(0.0, float(base)),
        "round_each_worker": float(each),
        "byte": (there_and_back - seconds[0]) / (2 * content.nbytes),
    }


def estimate(constants: dict[str, float], each: dict[str, float], byte: float) -> dict[str, float]:
    """Seconds of an iteration, by what they are for, and bytes."""
    rows, entries = ROWS / WORKERS, ROWS / WORKERS * NONZEROS

    def megabytes(way: str, products: float) -> float:
        by_evaluation = each[f"{way}_by_evaluation"] + each[f"{way}_per_positive"] * POSITIVES
        return (each["evaluations"] * by_evaluation + products * (8 * FEATURES + each[f"{way}_by_products"])) / 1e6

    sent, received = megabytes("sent", each["matvecs"]), megabytes("received", each["rmatvecs"])
    transposed = each["rmatvecs"] * each["rows_with_gradient"] * constants["entry_rmatvec"]
    parts = {
        "products": entries * (each["matvecs"] * constants["entry_matvec"] + transposed),
        "risk": rows * each["evaluations"] * (each["row_risk"] + constants["row_along"] + constants["row_inner"]),
        "rounds": each["rounds"] * (constants["round"] + WORKERS * constants["round_each_worker"]),
        "network": WORKERS * (sent + received) * 1e6 * byte,
    }
    return {
        **{f"seconds_of_{name}": seconds for name, seconds in parts.items()},
        "seconds_of_iteration": sum(parts.values()),
        "megabytes_to_a_worker": sent,
        "megabytes_from_a_worker": received,
        "gigabytes_of_rows_on_a_worker": (ENTRY * entries + LABEL * rows) / 1e9,
        "gigabytes_of_vectors_on_a_worker": 8.0 * each["vectors"] * rows / 1e9,
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
    text = "\n\n".join(
        [
            f"Measured on: {machine(rows)}.",
            "Seconds, each:",
            table_of(rows, "seconds"),
            "An iteration of a fit, on average, and what an evaluation sends and receives, in bytes:",
            table_of(rows, "iteration"),
            f"The estimate, for {ROWS:,} rows of {NONZEROS} entries, {POSITIVES:,} of them positive, {FEATURES:,} "
            f"features and {WORKERS} workers with a thread each:",
            table_of(rows, "estimate"),
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
                each = all_of(client, measure)
            note(measure, "iteration", each)
            note(measure, "estimate", estimate(constants, each, byte))
    write_csv(options.output / "dask_growth.csv", noted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
