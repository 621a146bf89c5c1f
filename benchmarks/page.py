"""Write the tables of docs/benchmarks.md from the CSV files: ``python -m benchmarks.page``."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

from .common import geometric_mean

PAGE = Path("docs/benchmarks.md")
RESULTS = Path("benchmarks/results")
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
MACHINE = ("processor", "cores", "python", "numpy", "scipy", "scikit-learn")
Row = dict[str, str]


def read(name: str) -> list[Row]:
    """Read the rows of one CSV file."""
    with open(RESULTS / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def pivot(rows: list[Row], line: Sequence[str], column: str, cell: Callable[[Row], str]) -> str:
    """One line for each combination of the ``line`` fields, one column for each value of ``column``."""
    columns = list(dict.fromkeys(row[column] for row in rows))
    lines = list(dict.fromkeys(tuple(row[field] for field in line) for row in rows))
    cells = {(*(row[field] for field in line), row[column]): cell(row) for row in rows}
    body = [[*key, *(cells.get((*key, value), "") for value in columns)] for key in lines]
    return table([*line, *(f"{column} {value}" for value in columns)], body)


def machine(rows: list[Row]) -> str:
    """Say on what the numbers were measured."""
    row = rows[0]
    return ", ".join(f"{name} {row[name]}" for name in MACHINE)


def rows_table(name: str) -> str:
    """Lay out a CSV file as it is, but for the columns that describe the machine."""
    if not (RESULTS / f"{name}.csv").exists():
        return f"Not measured on this machine: run `python -m benchmarks.{name}`."
    rows = read(name)
    columns = [column for column in rows[0] if column not in MACHINE]
    return table(columns, [[row[column] for column in columns] for row in rows])


def results() -> str:
    """All sections, as Markdown."""
    optima, rates, kernels = read("reference_values"), read("rates"), read("kernels")
    iterations, peers = read("iterations"), read("peers")
    passes = pivot(
        [row for row in optima if row["solver"] != "L-BFGS tight"],
        ("data", "measure", "solver"),
        "alpha",
        lambda row: row["passes"],
    )
    tight = pivot(
        [row for row in optima if row["solver"] == "L-BFGS tight"],
        ("data", "measure"),
        "alpha",
        lambda row: f"{row['passes']} ({row['seconds']} s)",
    )
    counts = pivot(
        rates,
        ("measure", "alpha", "solver"),
        "eps",
        lambda row: f"{row['iterations']} ({row['certified']})" + (f" / {row['bound']}" if row["bound"] else ""),
    )
    ratios = table(["kernel, and its peer", "ratio"], [[row["kernel"], row["ratio"]] for row in kernels])
    per_iteration = pivot(
        [{**row, "threads": f"{row['threads']}, alpha {row['alpha']}"} for row in iterations],
        ("data", "measure"),
        "threads",
        lambda row: row["ratio"],
    )
    means = ", ".join(
        f"{geometric_mean(float(row['ratio']) for row in iterations if row['threads'] == threads):.2f} with {threads}"
        for threads in dict.fromkeys(row["threads"] for row in iterations)
    )
    fits = pivot(peers, ("data", "measure"), "alpha", lambda row: f"{row['to_linear_svc']} / {row['to_logistic']}")
    to_svc, to_logistic = (
        geometric_mean(float(row[column]) for row in peers) for column in ("to_linear_svc", "to_logistic")
    )
    certified = pivot(
        read("certified"), ("data", "measure"), "alpha", lambda row: f"{row['passes']} ({row['objective']})"
    )
    ratios_of_tight: dict[str, list[float]] = {}
    for row in read("tight"):
        ratios_of_tight.setdefault(row["measure"], []).append(float(row["ratio"]))
    of_tight = ", ".join(f"{measure} {geometric_mean(values):.2f}" for measure, values in ratios_of_tight.items())
    return f"""
Measured with {machine(optima)}.

### Passes over the data to a certified 1e-3

Products with X and its transpose until the gap of the exact objective is certified to be at most 1e-3.

{passes}

### Passes (and seconds) of L-BFGS to a certified 1e-5

{tight}

### Iterations to accuracy eps on a9a

Until the exact objective is within eps of the best value known (until that is certified) / bound of the theory.
"Theorem" is the accelerated method as analysed: fixed mu = eps / (2 D) and one global Lipschitz constant.

{counts}

### Time of an iteration relative to SciPy's products

An iteration of L-BFGS relative to `X @ w` and `X.T @ g` together, which use one thread. Geometric means: {means}
threads.

{per_iteration}

### Time of a fit relative to scikit-learn

A fit to a certified 1e-3 relative to `LinearSVC()` / `LogisticRegression()` with their default settings, one thread.
They minimise other things and stop by other rules. Geometric means: {to_svc:.2f} / {to_logistic:.2f}.

{fits}

### Times faster than cutting planes

L-BFGS against BMRM with the same kernels, both to a certified 1e-3, one thread. A plus: BMRM was stopped, so more.

{rows_table("cutting_planes")}

### Every measure, certified to 1e-3

Passes over the data (objective) of L-BFGS without a bias.

{certified}

### The tight bound

Passes over the data of a fit of the tight bound to 1e-3, with those of its start, against a fit for ROC area to a
certified 1e-3 at the same alpha. Geometric means: {of_tight}.

{rows_table("tight")}

### F1 against a sort, and against PRBEP

{rows_table("fractional")}

### Growth with the rows

{rows_table("growth")}

### Memory, files and clusters: the same numbers

The same weights in memory, in a store, and on four Dask workers: relative differences of the
smoothed risk and of its gradient in weight space; and what a fit to a certified 1e-3 ends with.

{rows_table("equality")}

### Two Dask workers against two threads of one process

With a thread each, on the same machine, which has two cores; the client is a third process. Rounds are counted with
those before the first iteration. PRBEP, which searches for the level of its places, has the most. Dask's profiler is
off; it takes about 2% of an iteration.

{rows_table("dask_scaling")}

### Out of core, relative to the disk

{rows_table("out_of_core")}

### Paths of 20 alphas

Against one fit at the smallest alpha; seconds of the whole calls, with scores and thresholds.

{rows_table("path")}

### Automatic choices, against LogisticRegressionCV

Seconds of `MeasureClassifierCV`, which tries several risks along paths of alphas on five folds, and of the peer with
ten strengths of log loss.

{rows_table("choice")}

### Sparse models, against liblinear

With l1_ratio=1 and an alpha that was chosen on a part of the rows, to a certified 1e-3, without a bias; the peers have
about as many weights that are not zero. Scores are those of the test part; differences are 95 % intervals of our score
less the peer's, from 1,000 draws of the test rows, the same for both.

{rows_table("sparse")}

### Reading svmlight files, against scikit-learn

{rows_table("svmlight")}

### Imports in a fresh process

{rows_table("imports")}

### Time of the kernels relative to their peers

Below 1 is faster. "Against sorting" does the whole job with NumPy as the paper describes it; `np.sort` and
`np.argsort` only sort the scores. Losses, vectors and models have the same written in NumPy as their peers, models
accelerated proximal gradients, and were measured by processor time, in turns, on a machine with other work. By the rule
that a kernel takes two thirds of the time at most, inner products of long vectors and the recursion on such are at the
limit or beyond it: NumPy's products round otherwise, so that every fit would change in its last bits. Steep models to
high accuracy are not what the kernel is for; those that twelve fits asked for took 0.03 to 0.36 of the peer's time.

{ratios}
"""


def main() -> None:
    """Replace what stands between the two markers of the page."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    temporary = PAGE.with_suffix(".partial")
    temporary.write_text(f"{before}{BEGIN}\n{results()}\n{END}{after}", encoding="utf-8")
    temporary.replace(PAGE)
    print(f"written: {PAGE}")


if __name__ == "__main__":
    main()
