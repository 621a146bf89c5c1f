"""Check that all solvers reach the known optima, with true bounds and in few passes.

For every data set, measure and alpha with a reference value (the optimum of J without bias, known to 1e-5 from two
independent cutting-plane programs): the certified interval [lower bound, objective] must contain it, the gap must
be within tol, and L-BFGS must not need more passes over the data than it once did. L-BFGS, Nesterov and BMRM must
agree within their gaps. Exits with 1 if anything falls short.
"""

from __future__ import annotations

import sys
from typing import Any

from smoothperf import BMRM, LBFGS, PRBEP, Nesterov, Result, ROCArea
from smoothperf.design import as_design
from smoothperf.measures import Measure
from smoothperf.optimise import Solver
from smoothperf.optimise.objective import RegularizedRisk

from .common import arguments, load, write_csv

ALPHAS = (1e-2, 1e-3, 1e-4, 1e-5)
REFERENCE: dict[tuple[str, Measure], tuple[float | None, ...]] = {
    ("a9a", PRBEP()): (0.76627, 0.73530, 0.72949, 0.72852),
    ("a9a", ROCArea()): (0.26195, 0.23643, 0.23146, 0.23055),
    ("w8a", PRBEP()): (0.99029, 0.90767, 0.67746, None),
    ("w8a", ROCArea()): (0.17707, 0.09903, 0.06879, None),
    ("rcv1-ccat", PRBEP()): (None, None, None, None),
}
REFERENCE_ERROR = 1e-5
#: Most passes (products with X and its transpose) that L-BFGS may take, by data set, measure and tol.
PASSES: dict[tuple[str, Measure, float], tuple[int | None, ...]] = {
    ("a9a", PRBEP(), 1e-3): (30, 50, 120, 200),
    ("a9a", ROCArea(), 1e-3): (20, 35, 65, 115),
    ("w8a", PRBEP(), 1e-3): (None, 45, 100, 200),
    ("rcv1-ccat", PRBEP(), 1e-3): (None, 30, 110, 240),
    ("a9a", ROCArea(), 1e-5): (None, None, 160, None),
}
SOLVERS: dict[str, Solver] = {
    "L-BFGS": LBFGS(tol=1e-3, max_iter=20_000),
    "L-BFGS tight": LBFGS(tol=1e-5, max_iter=20_000),
    "Nesterov": Nesterov(tol=1e-3, max_iter=20_000),
    "BMRM": BMRM(tol=1e-3, max_iter=20_000),
}


def shortcomings(result: Result, tol: float, reference: float | None, limit: int | None) -> list[str]:
    """Promises that a run falls short of."""
    passes = result.n_matvec + result.n_rmatvec
    found = []
    if not result.gap <= tol:
        found.append(f"gap above {tol:g}")
    if reference is not None and result.lower_bound > reference + REFERENCE_ERROR:
        found.append(f"lower bound above the optimum {reference}")
    if reference is not None and result.objective < reference - REFERENCE_ERROR:
        found.append(f"objective below the optimum {reference}")
    if limit is not None and passes > limit:
        found.append(f"more than {limit} passes")
    return found


def main() -> int:
    """Run everything, print a line per run, write reference_values.csv."""
    options = arguments(__doc__)
    rows: list[dict[str, Any]] = []
    failures = 0
    loaded: dict[str, Any] = {}
    for (name, measure), references in REFERENCE.items():
        if name not in loaded:
            X, y = load(options.data, name)
            loaded = {name: (as_design(X), y)}
        design, y = loaded[name]
        risk = measure.bind(y)
        for j, alpha in enumerate(ALPHAS):
            results: dict[str, Result] = {}
            for label, solver in SOLVERS.items():
                result = results[label] = solver.run(RegularizedRisk(design, risk, alpha))
                limits = PASSES.get((name, measure, solver.tol)) if isinstance(solver, LBFGS) else None
                wrong = shortcomings(result, solver.tol, references[j], limits[j] if limits else None)
                highest_bound = max(other.lower_bound for other in results.values())
                if highest_bound > min(other.objective for other in results.values()):
                    wrong.append("the solvers' certified intervals do not overlap")
                failures += bool(wrong)
                row = {
                    "data": name,
                    "measure": measure.name,
                    "alpha": alpha,
                    "solver": label,
                    "tol": solver.tol,
                    "objective": f"{result.objective:.7f}",
                    "lower_bound": f"{result.lower_bound:.7f}",
                    "gap": f"{result.gap:.2e}",
                    "passes": result.n_matvec + result.n_rmatvec,
                    "seconds": f"{result.seconds:.2f}",
                    "verdict": "; ".join(wrong) or "ok",
                }
                rows.append(row)
                print("  ".join(f"{value!s:>9}" for value in row.values()), flush=True)
    write_csv(options.output / "reference_values.csv", rows)
    print(f"{failures} of {len(rows)} runs fall short")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
