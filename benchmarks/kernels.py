"""What each compiled kernel gains over NumPy and SciPy: ratios of medians, interleaved in one process, one thread."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from smoothperf import PRBEP, ROCArea
from smoothperf.datasets import make_rare_positives
from smoothperf.design import as_design
from smoothperf.measures.base import Array
from smoothperf.threads import use_threads

from .common import arguments, seconds_of, write_csv

REPETITIONS = 15
#: What is timed, our way, the peer's way.
Case = tuple[str, Callable[[], Any], Callable[[], Any]]


def by_sorting(values: Array, total: int) -> Array:
    """The projection onto the capped simplex by sorting all breakpoints, as the paper does it."""
    points = np.concatenate([values - 1.0, values])
    order = np.argsort(points)
    slope = np.cumsum(np.where(order < values.size, -1.0, 1.0))
    levels = values.size + np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(points[order]))])
    at = int(np.searchsorted(-levels, -total)) - 1
    tau = points[order[at]] + (total - levels[at]) / (slope[at] or 1.0)
    projected: Array = np.clip(values - tau, 0.0, 1.0)
    return projected


def by_searching(scores: Array, positive: NDArray[np.bool_], kappa: float) -> tuple[float, Array]:
    """The smoothed ROC risk by NumPy, as the paper does it: sort both classes, search, prefix sums."""
    pairs = float(positive.sum()) * float((~positive).sum())
    gradient = np.empty(scores.size)
    value = 0.0
    for sign, small, large in ((1.0, positive, ~positive), (-1.0, ~positive, positive)):
        ordered, others = np.sort(sign * scores[small]), 1.0 + sign * scores[large]
        order = np.argsort(others)  # searching for sorted values is several times faster than for unsorted ones
        x = others[order]
        first, second = (np.concatenate([[0.0], np.cumsum(ordered**power)]) for power in (1, 2))
        outer, inner = np.searchsorted(ordered, x), np.searchsorted(ordered, x - kappa)
        active, partial_sum = outer - inner, first[outer] - first[inner]
        slopes = np.empty(x.size)
        slopes[order] = inner + (active * x - partial_sum) / kappa
        gradient[large] = sign / pairs * slopes
        if sign > 0.0:
            quadratic = active * x**2 - 2.0 * x * partial_sum + second[outer] - second[inner]
            value = float((inner * (x - kappa / 2.0) - first[inner] + quadratic / (2.0 * kappa)).sum()) / pairs
    return value, gradient


def products(rng: np.random.Generator) -> Iterator[Case]:
    """``X w`` and ``X^T g`` against SciPy, with dense and with sparse g, in both precisions."""
    X, y = make_rare_positives(100_000, 20_000)
    w, g = rng.normal(size=X.shape[1]), rng.normal(size=X.shape[0])
    few = np.where(y > 0, g, 0.0)
    for dtype in (np.float64, np.float32):
        matrix: Any = sp.csr_matrix(X, dtype=dtype)
        design = as_design(matrix)
        scores, slope = np.empty(X.shape[0]), np.empty(X.shape[1])
        kind = np.dtype(dtype).name
        yield f"X w, {kind}", partial(design.matvec, w, scores), partial(matrix.__matmul__, w)
        yield f"X^T g, {kind}", partial(design.rmatvec, g, slope), partial(matrix.T.__matmul__, g)
        yield f"X^T g, 1% non-zero, {kind}", partial(design.rmatvec, few, slope), partial(matrix.T.__matmul__, few)


def risks(rng: np.random.Generator) -> Iterator[Case]:
    """Smoothed risks of a million scores against NumPy's way of computing the same, and against a mere sort."""
    n, kappa = 1_000_000, 2e-2
    for share in (0.01, 0.1, 0.5):
        n_positive = round(share * n)
        positive = np.arange(n) < n_positive
        f = rng.normal(size=n) + positive
        prbep, roc = PRBEP().bind(positive), ROCArea().bind(positive)
        mu = 1e-2 / prbep.diameter
        # As in a solver: the scores have moved a little since the last evaluation, whose root is known.
        hint = prbep.smoothed(f + 1e-3 * rng.normal(size=n), mu).hint
        values = positive + (2 / n * f - positive / n_positive) / mu
        smoothed = partial(prbep.smoothed, f, mu, hint)
        yield f"PRBEP, {share:.0%} positive, against sorting", smoothed, partial(by_sorting, values, n_positive)
        yield f"PRBEP, {share:.0%} positive, against np.sort", smoothed, partial(np.sort, f)
        smoothed = partial(roc.smoothed, f, kappa / (2 * roc.diameter))
        yield f"ROC area, {share:.0%} positive, against sorting", smoothed, partial(by_searching, f, positive, kappa)
        yield f"ROC area, {share:.0%} positive, against np.argsort", smoothed, partial(np.argsort, f)


def main() -> int:
    """Time everything, print it, write kernels.csv."""
    options = arguments(__doc__, needs_data=False)
    rng = np.random.default_rng(0)
    rows = []
    with use_threads(1), threadpool_limits(1, "blas"):
        for label, ours, peer in chain(products(rng), risks(rng)):
            mine, theirs = seconds_of(ours, peer, repetitions=REPETITIONS)
            rows.append(
                {
                    "kernel": label,
                    "ms": f"{1e3 * mine:.2f}",
                    "peer_ms": f"{1e3 * theirs:.2f}",
                    "ratio": f"{mine / theirs:.2f}",
                }
            )
            print(
                f"{label:56} {1e3 * mine:8.2f} ms   peer {1e3 * theirs:8.2f} ms   ratio {mine / theirs:.2f}", flush=True
            )
    write_csv(options.output / "kernels.csv", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
