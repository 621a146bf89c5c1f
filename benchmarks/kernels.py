"""Time of each compiled kernel relative to NumPy and SciPy: ratios of medians, in turns in one process, one thread."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from smoothperf import PRBEP, ErrorRate, LogLoss, ROCArea, SquaredHinge
from smoothperf.datasets import make_rare_positives
from smoothperf.design import as_design
from smoothperf.kernels import differences, inner_products, minimise_model, sum_and_squares, two_loop
from smoothperf.measures.base import Array
from smoothperf.threads import use_threads

from .common import arguments, seconds_of, write_csv

REPETITIONS = 15
#: As many calls are timed at once as take about so long.
SECONDS = 1e-3
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


def huber_hinges(f: Array, y: Array, kappa: float, out: Array) -> tuple[float, float]:
    """The smoothed error rate and the offset of its plane by NumPy; ``out`` is its gradient, here and below."""
    n = f.size
    x = y * f
    x *= -2.0
    x += 1.0
    np.maximum(x, 0.0, out=x)
    beta = x / kappa
    np.minimum(beta, 1.0, out=beta)
    np.multiply(beta, y, out=out)
    out *= -2.0 / n
    offset = beta.sum() / n
    return offset + out @ f - kappa / (2.0 * n) * (beta @ beta), offset


def logistic_losses(f: Array, y: Array, kappa: float, out: Array) -> tuple[float, float]:
    """Log loss, which is smooth."""
    z = y * f
    e = np.exp(-np.abs(z))
    value = (np.log1p(e) + np.maximum(-z, 0.0)).mean()
    np.multiply(np.where(z < 0.0, 1.0, e) / (1.0 + e), y, out=out)
    out *= -1.0 / f.size
    return value, value - out @ f


def squared_hinges(f: Array, y: Array, kappa: float, out: Array) -> tuple[float, float]:
    """Squared hinge."""
    x = y * f
    np.subtract(1.0, x, out=x)
    np.maximum(x, 0.0, out=x)
    np.multiply(x, y, out=out)
    out *= -2.0 / f.size
    value = float(x @ x) / f.size
    return value, value - float(out @ f)


def add_and_square(u: Array, a: float, v: Array, out: Array) -> tuple[float, float]:
    """``u + a v``, and two inner products."""
    np.multiply(v, a, out=out)
    np.add(out, u, out=out)
    return float(v @ v), float(out @ out)


def three_products(u: Array, v: Array, p: Array) -> tuple[float, float, float]:
    """Inner products of three vectors with one of them."""
    return float(u @ p), float(v @ p), float(p @ p)


def subtract_and_multiply(
    u: Array, u_before: Array, v: Array, v_before: Array, s: Array, y: Array
) -> tuple[float, float, float]:
    """Two differences, and their inner products."""
    np.subtract(u, u_before, out=s)
    np.subtract(v, v_before, out=y)
    return float(s @ y), float(y @ y), float(s @ s)


def recursion(steps: Array, changes: Array, curvatures: Array, scale: float, gradient: Array) -> Array:
    """The two-loop recursion of L-BFGS, the youngest pair last."""
    p, coefficients = gradient.copy(), np.empty(len(steps))
    for i in reversed(range(len(steps))):
        coefficients[i] = steps[i] @ p / curvatures[i]
        p -= coefficients[i] * changes[i]
    p *= scale
    for i in range(len(steps)):
        p += (coefficients[i] - changes[i] @ p / curvatures[i]) * steps[i]
    return p


class QuadraticModel(NamedTuple):
    """``<slope, z> + (1/2) <z, (sigma I + U U^T) z> + s |z|_1 + (q/2) |z|^2``."""

    U: Array
    slope: Array
    sigma: float
    s: float
    q: float

    def value(self, z: Array) -> float:
        """Of the model at z."""
        t = self.U.T @ z
        return float(self.slope @ z + (t @ t + (self.sigma + self.q) * (z @ z)) / 2.0 + self.s * np.abs(z).sum())

    def by_sweeps(self, accuracy: float) -> Array:
        """Return the end of the kernel."""
        d = self.slope.size
        z, ones = np.zeros(d), np.ones(d)
        nothing = np.zeros(d + 1, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0)
        bounds = np.full(d, -np.inf), np.full(d, np.inf)
        penalty = self.s * ones, self.q * ones
        minimise_model(self.slope, 0.0 * ones, *penalty, *bounds, self.sigma, self.U, self.U, *nothing, 0, z, accuracy)
        return z

    def by_gradients(self, target: float, lipschitz: float) -> Array:
        """Accelerated proximal gradients by NumPy, until the model is as low as ``target``."""
        z = leading = np.zeros(self.slope.size)
        momentum = 1.0
        while self.value(z) > target:
            step = leading - (self.slope + self.U @ (self.U.T @ leading) + self.sigma * leading) / lipschitz
            shrunk = np.sign(step) * np.maximum(np.abs(step) - self.s / lipschitz, 0.0) / (1.0 + self.q / lipschitz)
            following = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            leading = shrunk + (momentum - 1.0) / following * (shrunk - z)
            z, momentum = shrunk, following
        return z


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


def losses(rng: np.random.Generator) -> Iterator[Case]:
    """Losses of a million scores, each by itself, with gradient and offset of the plane."""
    n, kappa = 1_000_000, 2e-2
    positive = np.arange(n) < n // 10
    f, y = rng.normal(size=n) + positive, np.where(positive, 1.0, -1.0)
    ours, theirs = np.empty((2, n))
    peers = {ErrorRate(): huber_hinges, LogLoss(): logistic_losses, SquaredHinge(): squared_hinges}
    for measure, peer in peers.items():
        smoothed = partial(measure.bind(positive).smoothed, f, kappa / n, out=ours)
        np.testing.assert_allclose(smoothed().value, peer(f, y, kappa, theirs)[0])
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
        yield f"{measure.name}, a million scores", smoothed, partial(peer, f, y, kappa, theirs)


def vectors(rng: np.random.Generator) -> Iterator[Case]:
    """Sums of vectors with their inner products, and the two-loop recursion on 20 pairs."""
    for n in (1_000, 10_000, 100_000):
        u, v, w, x, s, y = rng.normal(size=(6, n))
        summed = partial(sum_and_squares, u, 0.3, v, n, 0, s)
        yield f"u + a v with 2 inner products, {n:,}", summed, partial(add_and_square, u, 0.3, v, s)
        yield f"3 inner products, {n:,}", partial(inner_products, u, v, w, n, 0), partial(three_products, u, v, w)
        subtracted = partial(differences, u, v, w, x, n, 0, s, y)
        yield (
            f"2 differences with 3 inner products, {n:,}",
            subtracted,
            partial(subtract_and_multiply, u, v, w, x, s, y),
        )
    for n in (1_000, 10_000, 100_000):
        steps = rng.normal(size=(20, n))
        changes = steps * rng.uniform(0.5, 2.0, size=n)
        pairs = steps, changes, np.einsum("ij,ij->i", steps, changes)
        gradient = rng.normal(size=n)
        p = gradient.copy()
        ours = partial(two_loop, *pairs, np.arange(20), 0.5, n, 0, p)
        ours()
        np.testing.assert_allclose(p, recursion(*pairs, 0.5, gradient), rtol=1e-8, atol=1e-8)
        p[:] = 0.0  # which any number of recursions leave as it is
        yield f"two-loop recursion, 20 pairs, {n:,}", ours, partial(recursion, *pairs, 0.5, gradient)


def models(rng: np.random.Generator) -> Iterator[Case]:
    """Steps of the elastic net, with a metric of rank 40.

    The first two are as in fits: one weight in twenty is not zero, and the accuracy is theirs. The last one, which no
    fit asks for, is what sweeps over coordinates are not good at: many weights, steep curvature, and high accuracy.
    """
    for name, d, size, s, accuracy in (
        ("100 weights", 100, 0.3, 1.96, 1e-2),
        ("2,000 weights", 2_000, 3.0 / math.sqrt(2_000), 1.96, 1e-2),
        ("2,000 weights, steep, to 1e-6", 2_000, 1.0, 0.8, 1e-6),
    ):
        U = size * rng.normal(size=(d, 40)) * np.geomspace(1.0, 0.1, 40)
        model = QuadraticModel(U, rng.normal(size=d), sigma=1.0, s=s, q=0.1)
        found = model.value(model.by_sweeps(accuracy))
        peer = partial(model.by_gradients, found + 1e-6 * abs(found), 1.0 + float(np.linalg.norm(U, 2)) ** 2)
        yield f"quadratic model, {name}", partial(model.by_sweeps, accuracy), peer


def main() -> int:
    """Time everything, print it, write kernels.csv."""
    options = arguments(__doc__, needs_data=False)
    rng = np.random.default_rng(0)
    rows = []
    with use_threads(1), threadpool_limits(1, "blas"):
        for label, ours, peer in chain(products(rng), risks(rng), losses(rng), vectors(rng), models(rng)):
            once, _ = seconds_of(ours, ours, repetitions=1)
            calls = max(1, round(SECONDS / once))
            mine, theirs = seconds_of(ours, peer, repetitions=REPETITIONS, calls=calls)
            rows.append(
                {
                    "kernel": label,
                    "ms": f"{1e3 * mine:.3g}",
                    "peer_ms": f"{1e3 * theirs:.3g}",
                    "ratio": f"{mine / theirs:.2f}",
                }
            )
            print(
                f"{label:56} {1e3 * mine:8.3g} ms   peer {1e3 * theirs:8.3g} ms   ratio {mine / theirs:.2f}", flush=True
            )
    write_csv(options.output / "kernels.csv", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
