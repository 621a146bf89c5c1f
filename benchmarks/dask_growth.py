"""What a fit on a cluster would take with 1e9 rows, 1e7 of them positive: constants that are measured here, and a sum.

Measured, on one thread of this machine unless it says otherwise:

- seconds for each entry of X in ``X w`` and in ``X^T g``, with as many features as the estimate has;
- seconds for each row of an evaluation of the risk, and of sums and inner products of vectors with a number a row;
- how many of each an iteration makes, the rounds it takes and the bytes that go to a worker and come from it, by fits
  on two worker processes: with more features, and with more positives, to see what the bytes depend on;
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

from smoothperf import LBFGS
from smoothperf import dask as on_cluster
from smoothperf.blocks import LocalVectors
from smoothperf.dask import server, wire
from smoothperf.dask.remote import Servers
from smoothperf.design import as_design
from smoothperf.measures import Risk, get_measure
from smoothperf.threads import use_threads

from .common import write_csv

MEASURES = ("prbep", "roc_area", "f1")
#: What the estimate is for.
ROWS = 1_000_000_000
POSITIVES = 10_000_000
FEATURES = 1_000_000
NONZEROS = 50
WORKERS = 100
#: What is measured.
SMALL_ROWS = 200_000
ITERATIONS = 30
LINKS = (1, 2, 4, 8, 16, 32)
ALPHA = 1e-5


def generated(n: int, d: int, nonzeros: int, positives: int, seed: int = 0) -> tuple[sp.csr_matrix, NDArray[np.bool_]]:
    """Random sparse rows; some columns tell the positives."""
    rng = np.random.default_rng(seed)
    width = d // nonzeros
    indices = np.arange(0, width * nonzeros, width) + rng.integers(0, width, (n, nonzeros))
    values = rng.random((n, nonzeros))
    y = np.zeros(n, dtype=bool)
    y[rng.choice(n, positives, replace=False)] = True
    values[:, :5] += y[:, None]
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


def seconds_of_risk(measure: str) -> float:
    """For a row, of a smoothed evaluation with 1% positives at scores that have been trained for a while."""
    n = 10 * SMALL_ROWS
    rng = np.random.default_rng(0)
    y = np.arange(n) % 100 == 0
    scores = rng.standard_normal(n) + 2.0 * y
    risk = get_measure(measure).bind(y)
    hint = risk.smoothed(scores, 1e-2 / risk.diameter).hint
    return median_seconds(lambda: risk.smoothed(scores, 1e-2 / risk.diameter, hint)) / n


class Counting(Risk):
    """A risk that counts its evaluations."""


def iterations_on_cluster(client: Client, measure: str, d: int, positives: int) -> dict[str, float]:
    """What an iteration takes of everything, for each worker."""
    X, y = generated(SMALL_ROWS, d, NONZEROS, positives)
    half = SMALL_ROWS // 2
    blocks = [client.scatter(block, hash=False) for block in ((X[:half], y[:half]), (X[half:], y[half:]))]
    solver = LBFGS(tol=1e-12, max_iter=ITERATIONS)
    fit = on_cluster.MeasureClassifier(measure, ALPHA, solver=solver, fit_intercept=False, client=client).fit(blocks)
    n, traffic = fit.n_iter_, fit.traffic_
    return {
        "sent": traffic.sent / n / 2,
        "received": traffic.received / n / 2,
        "rounds": traffic.rounds / n,
        "matvecs": fit.result_.n_matvec / n,
        "rmatvecs": fit.result_.n_rmatvec / n,
    }
