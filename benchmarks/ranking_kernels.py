"""Risks of queries against one ``np.argsort`` of all scores: ratios of medians, interleaved in one process, one thread.

The bar for NDCG, exact and smoothed, over a million documents in ten thousand queries is a ratio of 1.5.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from smoothperf.measures.queries.ndcg import NDCG
from smoothperf.measures.queries.pairs import QueryROCArea
from smoothperf.measures.queries.queries import Queries
from smoothperf.threads import use_threads

from .common import arguments, seconds_of, write_csv

REPETITIONS = 9
DOCUMENTS = 1_000_000
#: Documents of a query, and the number of grades.
SHAPES = ((10, 5), (100, 5), (1000, 5), (100_000, 5), (100, 100))
#: What smoothing may change: ``mu D``.
DEVIATION = 1e-2
#: What is held to the bar.
BAR, HELD = 1.5, "100 documents, 5 grades: ndcg"


def cases(rng: np.random.Generator, size: int, grades: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Exact and smoothed risks of measures, for queries of one size."""
    y = rng.integers(0, grades, size=DOCUMENTS) * 4.0 / (grades - 1)
    scores = rng.normal(size=DOCUMENTS) + y
    queries = Queries.of(y, np.arange(DOCUMENTS) // size)
    out = np.empty(DOCUMENTS)
    for measure in (NDCG(), NDCG(10), QueryROCArea()):
        risk = measure.risk(queries)
        label = f"{size} documents, {grades} grades: {measure.name}"
        yield f"{label}, exact", partial(risk.exact_value, scores)
        yield f"{label}, exact with gradient", partial(risk.exact, scores)
        yield f"{label}, smoothed", partial(risk.smoothed, scores, DEVIATION / risk.diameter, out=out)
        yield f"{label}, score", partial(measure.mean_score, queries, scores)


def main() -> int:
    """Time everything, print it, write ranking_kernels.csv; 1 if NDCG misses the bar."""
    options = arguments(__doc__, needs_data=False)
    rng = np.random.default_rng(0)
    argsort = partial(np.argsort, rng.normal(size=DOCUMENTS))
    rows, missed = [], False
    with use_threads(1):
        for size, grades in SHAPES:
            for label, ours in cases(rng, size, grades):
                mine, theirs = seconds_of(ours, argsort, repetitions=REPETITIONS)
                ratio = mine / theirs
                missed |= label.startswith(HELD) and not label.endswith("score") and ratio > BAR
                rows.append({"case": label, "ms": f"{1e3 * mine:.2f}", "ratio": f"{ratio:.2f}"})
                print(f"{label:56} {1e3 * mine:8.2f} ms   {ratio:.2f} of np.argsort", flush=True)
    write_csv(options.output / "ranking_kernels.csv", rows)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
