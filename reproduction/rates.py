r"""Iterations to accuracy eps as eps and lambda vary, and the exponents that fit them.

The theory has ``O(1 / (lambda eps))`` for cutting planes and ``O*(min{1/eps, 1/sqrt(lambda eps)})`` for the accelerated
method on the smoothed objective. The latter is run as the theorem has it (fixed ``mu = eps / (2 D)``, L from the norm
of X), and as the library does by default (mu adapts, L by backtracking). Counted is until the gap is certified. A bound
is no prediction: a smaller exponent than the theory's contradicts nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from smoothperf.design import as_design
from smoothperf.measures import Measure
from smoothperf.optimise import BMRM, LBFGS, Nesterov, Solver, Trace
from smoothperf.optimise.objective import RegularizedRisk
from smoothperf.optimise.smoothing import Fixed
from smoothperf.threads import use_threads

from .runs import MAX_ITER

THEOREM = "nesterov, theorem"
#: The methods by name, for an accuracy.
SOLVERS: dict[str, Callable[[float], Solver]] = {
    "lbfgs": lambda eps: LBFGS(tol=eps, max_iter=MAX_ITER),
    "nesterov": lambda eps: Nesterov(tol=eps, max_iter=MAX_ITER),
    THEOREM: lambda eps: Nesterov(tol=eps, max_iter=MAX_ITER, smoothing=Fixed(deviation=eps / 2.0), backtracking=False),
    "bmrm": lambda eps: BMRM(tol=eps, max_iter=MAX_ITER),
}


@dataclass(frozen=True)
class Count:
    """A line of rates.csv: iterations until the gap is certified to be eps; NaN if the time was up before."""

    problem: str
    measure: str
    method: str
    alpha: float
    eps: float
    iterations: float


@dataclass(frozen=True)
class Slope:
    """A line of slopes.csv: ``iterations`` grows like ``1 / variable`` to the power of ``slope``.

    ``other`` is the value of the variable that was held.
    """

    problem: str
    measure: str
    method: str
    variable: str
    other: float
    slope: float
    points: int


def count(
    problem: str,
    X: Any,
    y: Any,
    measure: Measure,
    *,
    alphas: Iterable[float],
    accuracies: Sequence[float],
    limit: float,
) -> list[Count]:
    """Count iterations for every method, alpha and eps."""
    design, risk = as_design(X), measure.bind(y)
    rows = []
    with use_threads(1):
        for alpha in alphas:
            for method, make in SOLVERS.items():
                # Cutting planes do not depend on eps: one run to the smallest passes all others.
                once = method == "bmrm"
                traces = {
                    eps: _trace(make(eps), RegularizedRisk(design, risk, alpha), limit)
                    for eps in ([min(accuracies)] if once else accuracies)
                }
                for eps in accuracies:
                    iterations = reached(traces[min(accuracies) if once else eps], eps)
                    rows.append(Count(problem, measure.name, method, alpha, eps, iterations))
    return rows


def _trace(solver: Solver, objective: RegularizedRisk, limit: float) -> Trace:
    begin = time.process_time()
    return solver.run(objective, callback=lambda row: time.process_time() - begin > limit).trace


def reached(trace: Trace, eps: float) -> float:
    """Return the first iteration with a certified gap of eps; NaN if there is none."""
    found = np.flatnonzero(trace["gap"] <= eps)
    return float(found[0]) if found.size else math.nan


def slopes(counts: Sequence[Count]) -> list[Slope]:
    """Fit a power law to every line of the counts: in eps for each alpha, and in alpha for each eps."""
    lines: dict[tuple[str, str, str, str, float], list[tuple[float, float]]] = {}
    for row in counts:
        if not row.iterations >= 1.0:  # none (NaN), or a start that is good enough: no logarithm
            continue
        key = row.problem, row.measure, row.method
        lines.setdefault((*key, "eps", row.alpha), []).append((row.eps, row.iterations))
        lines.setdefault((*key, "lambda", row.eps), []).append((row.alpha, row.iterations))
    return [Slope(*key, slope=exponent(points), points=len(points)) for key, points in lines.items()]


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return p of the power law ``constant / x^p`` through points; NaN if they are fewer than three.

    Examples
    --------
    >>> round(exponent([(0.1, 10.0), (0.01, 100.0), (0.001, 1000.0)]), 6)
    1.0
    """
    if len(points) < 3:
        return math.nan
    x, iterations = np.log(np.array(points)).T
    return -float(np.polyfit(x, iterations, 1)[0])
