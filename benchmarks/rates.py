"""Count the iterations to accuracy eps, beside the bounds of the theory.

BMRM: ``8 G^2 / (alpha eps) + log2(alpha J(0) / (4 G^2))`` iterations (Teo et al., 2010), with G the largest norm of a
subgradient met. The accelerated method on the smoothed objective with ``mu = eps / (2 D)``: the paper's

    min{ sqrt(4 L Delta / eps),  ln(L Delta / eps) / -ln(1 - sqrt(alpha / L)) },    Delta = |w*|^2 / 2

(with the minus sign that is missing in print). It is run exactly as the theorem has it ("theorem": fixed mu, L from
power iteration) and as the library does ("adaptive": measured smoothing, backtracking). Counted are the iterations
until the exact objective is within eps of the best value known, and those until the gap is certified. The slope is
the exponent of 1/eps fitted to the former.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from smoothperf import BMRM, LBFGS, PRBEP, Fixed, Nesterov, Result, ROCArea
from smoothperf.design import as_design
from smoothperf.measures import Measure
from smoothperf.optimise import Solver
from smoothperf.optimise.nesterov import SAFETY, squared_spectral_norm
from smoothperf.optimise.objective import RegularizedRisk

from .common import arguments, load, write_csv

ALPHAS = (1e-2, 1e-3, 1e-4)
ACCURACIES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3)
MAX_ITER = 10_000
SOLVERS: dict[str, Callable[[float], Solver]] = {
    "BMRM": lambda eps: BMRM(tol=eps, max_iter=MAX_ITER),
    "Nesterov, theorem": lambda eps: Nesterov(
        tol=eps, max_iter=MAX_ITER, smoothing=Fixed(deviation=eps / 2), backtracking=False
    ),
    "Nesterov, adaptive": lambda eps: Nesterov(tol=eps, max_iter=MAX_ITER),
    "L-BFGS": lambda eps: LBFGS(tol=eps, max_iter=MAX_ITER),
}


def bmrm_bound(objective: RegularizedRisk, eps: float, largest_slope: float) -> float:
    """Iterations after which BMRM must be within eps."""
    squared = largest_slope**2
    at_zero = objective.exact(np.zeros(objective.design.shape[1]))
    return 8 * squared / (objective.alpha * eps) + max(0.0, math.log2(objective.alpha * at_zero / (4 * squared)))


def accelerated_bound(objective: RegularizedRisk, eps: float, squared_norm: float, coef: Any) -> float:
    """Iterations after which the accelerated method must be within eps."""
    alpha, risk = objective.alpha, objective.risk
    lipschitz = risk.lipschitz(eps / (2 * risk.diameter)) * squared_norm + alpha
    distance = float(coef @ coef) / 2
    convex = np.sqrt(4 * lipschitz * distance / eps)
    strongly = np.log(max(lipschitz * distance / eps, np.e)) / -np.log1p(-np.sqrt(alpha / lipschitz))
    return float(min(convex, strongly))


def iterations_until(result: Result, level: float) -> int | None:
    """First iteration with an objective at or below a level."""
    reached = np.flatnonzero(result.trace["objective"] <= level)
    return int(reached[0]) if reached.size else None


def largest_slope_of(objective: RegularizedRisk, coefs: list[Any]) -> float:
    """Largest norm of ``X^T g`` over exact subgradients at the given weights."""
    gradients = (objective.risk.exact(objective.matvec(coef)).plane.gradient for coef in coefs)
    return max(float(np.linalg.norm(objective.rmatvec(gradient))) for gradient in gradients)


def study(design: Any, y: Any, measure: Measure, alpha: float) -> list[dict[str, Any]]:
    """All solvers and accuracies for one measure and alpha."""
    risk = measure.bind(y)
    objective = RegularizedRisk(design, risk, alpha)
    best = LBFGS(tol=1e-6, max_iter=MAX_ITER).run(objective)
    squared_norm = SAFETY * squared_spectral_norm(objective, accuracy=1e-3)
    slope = largest_slope_of(objective, [np.zeros_like(best.coef), best.coef])
    rows: list[dict[str, Any]] = []
    for label, make in SOLVERS.items():
        for eps in ACCURACIES:
            result = make(eps).run(RegularizedRisk(design, risk, alpha))
            if label == "BMRM":
                bound = bmrm_bound(objective, eps, slope)
            elif label == "Nesterov, theorem":
                bound = accelerated_bound(objective, eps, squared_norm, best.coef)
            else:
                bound = float("nan")
            rows.append(
                {
                    "measure": measure.name,
                    "alpha": alpha,
                    "solver": label,
                    "eps": eps,
                    "iterations": iterations_until(result, best.objective + eps),
                    "certified": result.n_iter if result.gap <= eps else None,
                    "bound": round(bound) if np.isfinite(bound) else None,
                }
            )
            print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), file=sys.stderr, flush=True)
    return rows


def fitted_exponent(points: list[tuple[float, int]]) -> float:
    """``p`` of the power law ``iterations = constant / eps^p`` through the points; NaN if they are too few."""
    if len(points) < 3:
        return math.nan
    eps, counts = np.log(np.array(points, dtype=float)).T
    return -float(np.polyfit(eps, counts, 1)[0])


def report(rows: list[dict[str, Any]]) -> None:
    """Print one block for each measure and alpha: iterations (certified) / bound for every eps, and the slope."""
    for measure, alpha in dict.fromkeys((row["measure"], row["alpha"]) for row in rows):
        print(f"\n{measure}, alpha {alpha:g}: iterations to eps (until certified) / bound")
        print(f"{'eps':>20}" + "".join(f"{eps:>22g}" for eps in ACCURACIES) + "   slope")
        for solver in SOLVERS:
            mine = [row for row in rows if (row["measure"], row["alpha"], row["solver"]) == (measure, alpha, solver)]
            cells = [
                f"{row['iterations']} ({row['certified']})" + (f" / {row['bound']}" if row["bound"] else "")
                for row in mine
            ]
            exponent = fitted_exponent([(row["eps"], row["iterations"]) for row in mine if row["iterations"]])
            print(f"{solver:>20}" + "".join(f"{cell:>22}" for cell in cells) + f"{exponent:8.2f}")


def main() -> int:
    """Run the study on a9a, print it, write rates.csv; 1 if an iteration count exceeds its bound."""
    options = arguments(__doc__)
    X, y = load(options.data, "a9a")
    design = as_design(X)
    rows = [row for measure in (PRBEP(), ROCArea()) for alpha in ALPHAS for row in study(design, y, measure, alpha)]
    report(rows)
    write_csv(options.output / "rates.csv", [{"data": "a9a", **row} for row in rows])
    above = [row for row in rows if row["bound"] and (row["iterations"] is None or row["iterations"] > row["bound"])]
    print(f"{len(above)} of {len(rows)} counts exceed their bound")
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main())
