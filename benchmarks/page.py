"""Write the tables of docs/benchmarks.md from the CSV files: ``python -m benchmarks.page``."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from .common import geometric_mean

PAGE = Path("docs/benchmarks.md")
RESULTS = Path("benchmarks/results")
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
MACHINE = ("processor", "cores", "python", "numpy", "scipy", "scikit-learn")
#: Columns of files that the page shows in part.
DASK = (
    "rows",
    "entries",
    "measure",
    "milliseconds_two_threads",
    "milliseconds_workers",
    "workers_to_threads",
    "bytes_sent_per_iteration",
    "rounds_per_iteration",
)
OUT_OF_CORE = (
    "gigabytes",
    "limit_gigabytes",
    "anonymous_megabytes",
    "passes_per_second",
    "megabytes_per_second",
    "reading_megabytes_per_second",
    "ratio",
)
GROWTH = ("measure", "rows", "seconds", "iterations", "MB of X", "MB more")
OF_PATHS = ("data", "measure", "path_passes", "cold_passes", "all_cold_passes", "ratio_seconds")
SPARSE = ("data", "peer", "weights", "peer_weights", "difference_average_precision", "ratio_seconds")
#: Data whose rows the longest tables show: few columns, many rows, text.
SHOWN = ("a9a", "covtype", "rcv1-c11")
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
    """One line for each combination of the ``line`` fields, one column for each value of ``column``.

    What belongs into one cell is set apart by slashes.
    """
    columns = list(dict.fromkeys(row[column] for row in rows))
    lines = list(dict.fromkeys(tuple(row[field] for field in line) for row in rows))
    cells: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        cells.setdefault((*(row[field] for field in line), row[column]), []).append(cell(row))
    body = [[*key, *(" / ".join(cells.get((*key, value), [])) for value in columns)] for key in lines]
    return table([*line, *(f"alpha {value}" if column == "alpha" else value for value in columns)], body)


def shown(rows: list[Row]) -> list[Row]:
    """Rows of the data that long tables show."""
    return [row for row in rows if row["data"] in SHOWN]


def grouped(rows: list[Row]) -> list[list[str]]:
    """Names of kernels that differ in a number or a type only, and their ratios, on one line."""
    lines: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        setting = re.search(r"float\d\d|\d+%(?= positive)|(?<=, )\d[\d,]*$", row["kernel"])
        found = setting[0] if setting else ""
        name = row["kernel"].replace(found, "...", 1) if found else row["kernel"]
        lines.setdefault(name, []).append((found, row["ratio"]))
    return [
        [name.replace("...", " / ".join(found for found, _ in pairs)), " / ".join(ratio for _, ratio in pairs)]
        for name, pairs in lines.items()
    ]


def relative_times() -> list[tuple[str, str, list[str]]]:
    """Names of what was timed and of its peer, and all ratios."""
    iterations, peers, fractional = read("iterations"), read("peers"), read("fractional")
    text = [row for row in read("svmlight") if row["same"] == "True"]
    fit = "a fit to a certified 1e-3"
    return [
        *(
            (
                f"an iteration of L-BFGS, {threads} thread{'s' * (threads != '1')}",
                "`X @ w` and `X.T @ g` of SciPy",
                [row["ratio"] for row in iterations if row["threads"] == threads],
            )
            for threads in dict.fromkeys(row["threads"] for row in iterations)
        ),
        (fit, "`LinearSVC()`", [row["to_linear_svc"] for row in peers]),
        (fit, "`LogisticRegression()`", [row["to_logistic"] for row in peers]),
        (f"{fit}, F1", "one for PRBEP", [row["ratio"] for row in fractional if ", alpha" in row["what"]]),
        (
            "the risk of F1, exact or smoothed, a million examples",
            "`np.argsort`",
            [row["ratio"] for row in fractional if ", alpha" not in row["what"]],
        ),
        (f"reading {len(text)} compressed svmlight files", "`load_svmlight_file`", [row["ratio"] for row in text]),
        ("reading them as text", "`load_svmlight_file`", [row["text_ratio"] for row in text]),
    ]


def spread(what: str, peer: str, ratios: Sequence[str]) -> list[str]:
    """Geometric mean, least and most of some ratios."""
    values = [*map(float, ratios)]
    return [what, peer, *(f"{value:.2f}" for value in (geometric_mean(values), min(values), max(values)))]


def machine(rows: list[Row]) -> str:
    """Say on what the numbers were measured."""
    row = rows[0]
    return ", ".join(f"{name} {row[name]}" for name in MACHINE)


def rows_table(name: str, columns: Sequence[str] | None = None) -> str:
    """Lay out columns of a CSV file, by default all but those that describe the machine."""
    if not (RESULTS / f"{name}.csv").exists():
        return f"Not measured on this machine: run `python -m benchmarks.{name}`."
    rows = read(name)
    columns = columns or [column for column in rows[0] if column not in MACHINE]
    return table(
        [column.replace("_", " ") for column in columns], [[row[column] for column in columns] for row in rows]
    )


def results() -> str:
    """All sections, as Markdown."""
    optima, kernels = read("reference_values"), read("kernels")
    passes = pivot(
        [row for row in optima if row["solver"] != "L-BFGS tight"],
        ("data", "measure"),
        "alpha",
        lambda row: row["passes"],
    )
    tight = pivot(
        [row for row in optima if row["solver"] == "L-BFGS tight"],
        ("data", "measure"),
        "alpha",
        lambda row: f"{row['passes']} ({row['seconds']} s)",
    )
    planes = read("cutting_planes")
    faster = pivot(shown(planes), ("data", "measure"), "alpha", lambda row: row["times_faster"])
    least = min((row["times_faster"] for row in planes), key=lambda text: float(text.rstrip("+")))
    certified = pivot(shown(read("certified")), ("measure",), "data", lambda row: row["passes"])
    growth = read("growth")
    slopes = ", ".join(dict.fromkeys(f"{row['slope of a fit']} for {row['measure']}" for row in growth))
    choices = pivot(read("choice"), ("data",), "measure", lambda row: f"{row['ratio']} ({row['chosen']})")
    tight_rows = read("tight")
    tight_passes = pivot(
        shown(tight_rows), ("data", "measure"), "alpha", lambda row: f"{row['passes']} ({float(row['ratio']):.1f})"
    )
    of_tight = ", ".join(
        f"{measure} {geometric_mean(float(row['ratio']) for row in tight_rows if row['measure'] == measure):.1f}"
        for measure in dict.fromkeys(row["measure"] for row in tight_rows)
    )
    same = pivot(
        [row for row in read("equality") if row["data"] != "arxiv-astro"],
        ("data", "measure"),
        "way",
        lambda row: f"{float(row['gradient_difference']):.0e}, {row['iterations']}",
    )
    times = table(["time of", "relative to", "mean", "from", "to"], [spread(*timed) for timed in relative_times()])
    imports = {row["import"]: row["ratio"] for row in read("imports")}
    ratios = table(["kernel, and its peer", "ratio"], grouped(kernels))
    return f"""
Measured with {machine(optima)}.
The CSV files in `benchmarks/results` have more columns, and more data than the longest tables.

### Passes over the data to a certified 1e-3

Products with X and its transpose until the gap of the exact objective is certified to be at most 1e-3: L-BFGS /
Nesterov / BMRM.

{passes}

### Passes (and seconds) of L-BFGS to a certified 1e-5

{tight}

### Times relative to others

Geometric means over data sets and alphas, the least and the most. scikit-learn's models have their default settings,
minimise other things and stop by other rules; fits have one thread. An import of `MeasureClassifier` takes
{imports["smoothperf, MeasureClassifier"]} times as long as one of `sklearn.linear_model`.

{times}

### Times faster than cutting planes

L-BFGS against BMRM with the same kernels, both to a certified 1e-3, one thread. A plus: BMRM was stopped, so more.
The least on all ten data sets is {least}.

{faster}

### Every measure, certified to 1e-3

Passes over the data of L-BFGS without a bias, for alpha 0.01 / 0.001 / 0.0001 / 1e-05.

{certified}

### The tight bound

Passes over the data of a fit of the tight bound to 1e-3, with those of its start (in units of those of ROC area at the
same alpha). Geometric means of five data sets: {of_tight}.

{tight_passes}

### Growth with the rows

Seconds grow with the power {slopes} of the rows.

{rows_table("growth", GROWTH)}

### Memory, files and clusters: the same numbers

Relative difference of the gradient of the smoothed risk at the same weights, in weight space, and iterations of a fit
to a certified 1e-3: in memory, from a store, and on four Dask workers, where F1 is computed from bins of margins.

{same}

### Two Dask workers against two threads of one process

On a machine of two cores. PRBEP, which searches for the level of its places, has the most rounds.

{rows_table("dask_scaling", DASK)}

### Out of core, relative to the disk

{rows_table("out_of_core", OUT_OF_CORE)}

### Paths of 20 alphas

Against one fit at the smallest alpha ("cold"), and fits at all of them; seconds are of whole calls.

{rows_table("path", OF_PATHS)}

### Automatic choices, against LogisticRegressionCV

Time of `MeasureClassifierCV`, which tries several risks along paths of alphas on five folds, relative to the peer with
ten strengths of log loss (and what is chosen).

{choices}

### Sparse models, against liblinear

ROC area with l1_ratio=1 and an alpha that was chosen on a part of the rows, to a certified 1e-3, without a bias; the
peers have about as many weights that are not zero. Differences are 95 % intervals of our score on the test part less
the peer's, from 1,000 draws of its rows.

{rows_table("sparse", SPARSE)}

### Time of the kernels relative to their peers

Below 1 is faster. "Against sorting" does the whole job with NumPy as the paper describes it; `np.sort` and
`np.argsort` only sort the scores. Peers of losses, vectors and models are the same written in NumPy (of models,
accelerated proximal gradients), by processor time. Inner products of long vectors, and the recursion on them, are not
the 1.5 times faster that a kernel should be; NumPy's round otherwise, so every fit would change in its last bits.

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
