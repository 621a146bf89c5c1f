"""Cost of an iteration on a million documents, relative to the two products with X; one thread.

Documents are generated after those of web search: 136 dense features, ten thousand queries of 100 on average, few
documents of high grades. Every iteration of L-BFGS has one product with X and one with its transpose; what else it
costs is the risk, the directions and the certificate. Iterations are timed from the first to the last of a run that
ends after a few, in turns with NumPy's products, by the processor's clock.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from smoothperf import LBFGS, NDCG
from smoothperf._arrays import Array
from smoothperf.design import as_design
from smoothperf.measures import Queries, QueryROCArea
from smoothperf.optimise import Callback, TraceRow
from smoothperf.optimise.objective import RegularizedRisk
from smoothperf.optimise.retargeting import Retargeting
from smoothperf.threads import use_threads

from .common import arguments, write_csv

DOCUMENTS, FEATURES, QUERIES = 1_000_000, 136, 10_000
#: Of documents with the grades 0, 1, 2, 3 and 4.
SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)
ITERATIONS, REPETITIONS, ALPHA = 12, 3, 1e-4


def documents() -> tuple[Array, Array, NDArray[np.intp]]:
    """Features, grades and queries."""
    rng = np.random.default_rng(0)
    qid = np.sort(rng.integers(0, QUERIES, size=DOCUMENTS))
    X = rng.standard_normal((DOCUMENTS, FEATURES))
    X *= rng.lognormal(size=FEATURES)  # of different sizes, as features are
    hidden = X @ (rng.normal(size=FEATURES) / np.arange(1.0, FEATURES + 1.0))
    hidden += np.std(hidden) * (rng.normal(size=DOCUMENTS) + rng.normal(size=QUERIES)[qid])
    y = np.searchsorted(np.quantile(hidden, np.cumsum(SHARES)[:-1]), hidden).astype(np.float64)
    return X, y, qid


def _note_the_time(ends: list[float], row: TraceRow) -> None:
    ends.append(time.process_time())


def main() -> int:
    """Time everything, print it, write ranking_iterations.csv."""
    options = arguments(__doc__, needs_data=False)
    X, y, qid = documents()
    rng = np.random.default_rng(1)
    w, g = rng.normal(size=FEATURES), rng.normal(size=DOCUMENTS)
    design, queries = as_design(X), Queries.of(y, qid)
    pairs = RegularizedRisk(design, QueryROCArea().risk(queries), ALPHA)
    ndcg = RegularizedRisk(design, NDCG(10).risk(queries), ALPHA)
    rows: list[dict[str, Any]] = []
    with use_threads(1), threadpool_limits(1):
        start = LBFGS(tol=1e-6, max_iter=3).run(pairs).coef
        cases: dict[str, Callable[[Callback], Any]] = {
            "pairs": lambda look: LBFGS(tol=1e-6, max_iter=ITERATIONS).run(pairs, callback=look),
            "ndcg@10, convex": lambda look: LBFGS(tol=1e-6, max_iter=ITERATIONS).run(ndcg, start, look),
            "ndcg@10, tight": lambda look: Retargeting(tol=1e-6, max_iter=ITERATIONS).run(ndcg, start, look),
        }
        for name, run in cases.items():
            ours, peer = [], []
            for _ in range(REPETITIONS):
                for _ in range(ITERATIONS // 2):
                    begin = time.process_time()
                    X @ w
                    g @ X
                    peer.append(time.process_time() - begin)
                ends: list[float] = []
                run(partial(_note_the_time, ends))
                ours.append((ends[-1] - ends[0]) / (len(ends) - 1))
            mine, theirs = float(np.median(ours)), float(np.median(peer))
            rows.append(
                {
                    "case": name,
                    "ms": f"{1e3 * mine:.0f}",
                    "products ms": f"{1e3 * theirs:.0f}",
                    "ratio": f"{mine / theirs:.2f}",
                }
            )
            print(f"{name:16} {1e3 * mine:6.0f} ms   products {1e3 * theirs:6.0f} ms   {mine / theirs:.2f}", flush=True)
    write_csv(options.output / "ranking_iterations.csv", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
