"""Write the tables and the figure of docs/does-it-pay.md from pays.csv: ``python -m benchmarks.pays_page``.

Tables stand between ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->``; what is around them is written by hand. A set
counts with its mean over the repetitions, and two means within ``ALIKE`` are a tie.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

from .common import geometric_mean
from .page import Row, table
from .pays import DEFAULT, FAMILIES, GOALS, LINEAR, OURS, TREES

PAGE, FIGURE = Path("docs/does-it-pay.md"), Path("docs/does-it-pay.png")
RESULTS = Path("benchmarks/results/pays.csv")
#: Means that differ by no more are a tie.
ALIKE = 5e-4
#: Sets whose judging rows have fewer positives than this are noisy.
FEW = 100
#: What the figure ranks.
RANKED = (OURS, *FAMILIES, DEFAULT, TREES)
TITLES = {
    "top": "top of the list",
    "f1": "F1",
    "prbep": "PRBEP",
    "average_precision": "average precision",
    "roc_area": "ROC area",
    "roc_area@0.05": "ROC area@0.05",
    "recall@precision=0.9": "recall@precision=0.9",
    "recall@fpr=0.01": "recall@fpr=0.01",
    "balanced_error_rate": "balanced accuracy",
}
#: Risks that anybody would use.
SAFE = ("log_loss, convex", "squared_hinge, convex")
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Results:
    """The rows of pays.csv, and what can be asked of them."""

    rows: Sequence[Row]

    @classmethod
    def read(cls, path: Path = RESULTS) -> Results:
        """Read the file."""
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        caps = {row["rows"] for row in rows}
        if len(caps) != 1:
            raise ValueError(
                f"{path} mixes runs with --rows {' and '.join(sorted(caps))}; keep the rows of one of them."
            )
        return cls(rows)

    @property
    def sets(self) -> list[str]:
        """The data sets, in the order of the file."""
        return sorted({row["data"] for row in self.rows}, key=lambda name: self.judge_positives(name))

    @property
    def goals(self) -> list[str]:
        """The goals."""
        return [goal for goal in GOALS if any(row["goal"] == goal for row in self.rows)]

    def judge_positives(self, name: str) -> int:
        """How many positives judge."""
        return int(next(row["judge_positives"] for row in self.rows if row["data"] == name))

    def runs(self, goal: str, method: str, name: str | None = None) -> list[Row]:
        """Rows of a goal and a method, of all sets or one, in the same order for all methods."""
        found = [
            row for row in self.rows if (row["goal"], row["method"]) == (goal, method) and name in (None, row["data"])
        ]
        return sorted(found, key=lambda row: (row["data"], int(row["repeat"])))

    def values(self, goal: str, method: str, name: str | None = None) -> Array:
        """What a method reached."""
        return np.array([float(row["value"]) for row in self.runs(goal, method, name)])

    def means(self, goal: str, method: str) -> Array:
        """The mean over the repetitions, for every set."""
        return np.array([self.values(goal, method, name).mean() for name in self.sets])

    def gains(self, goal: str, over: str = LINEAR, method: str = OURS) -> Array:
        """Ours less another, for every set."""
        return self.means(goal, method) - self.means(goal, over)


def signed(value: float) -> str:
    """A difference; what rounds to nothing has no sign."""
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0.0 else text


def verdict(gains: Array) -> list[str]:
    """Mean gain, sets won and lost, and how easily chance makes such gains of either sign."""
    p = float(wilcoxon(gains).pvalue) if np.any(gains) else 1.0
    return [signed(gains.mean()), f"{(gains > ALIKE).sum()} : {(gains < -ALIKE).sum()}", f"{p:.3f}"]


def goals_table(results: Results) -> str:
    """Means of the methods, and ours against the tuned linear models, for every goal."""
    header = ["goal", OURS, LINEAR, "difference", "sets won : lost", "p", DEFAULT, TREES]
    lines = []
    for goal in results.goals:
        mean = {method: f"{results.means(goal, method).mean():.3f}" for method in (OURS, LINEAR, DEFAULT, TREES)}
        lines.append(
            [TITLES[goal], mean[OURS], mean[LINEAR], *verdict(results.gains(goal)), mean[DEFAULT], mean[TREES]]
        )
    return table(header, lines)


def families_table(results: Results) -> str:
    """Ours against each of the others: mean difference, sets won and lost, p."""
    others = (*FAMILIES, DEFAULT, TREES)
    lines = [
        [TITLES[goal], *("{} ({}, {})".format(*verdict(results.gains(goal, other))) for other in others)]
        for goal in results.goals
    ]
    return table(["goal", *others], lines)


def sets_table(results: Results) -> str:
    """The difference for every set and goal; a star where all repetitions but one at most agree on the sign."""
    lines = []
    for name in results.sets:
        row = next(row for row in results.rows if row["data"] == name)
        cells = []
        for goal in results.goals:
            gains = results.values(goal, OURS, name) - results.values(goal, LINEAR, name)
            agree = max((gains > 0).sum(), (gains < 0).sum()) == gains.size
            cells.append(signed(gains.mean()) + ("*" if agree else ""))
        lines.append([name, row["train_rows"], row["train_positives"], row["judge_positives"], *cells])
    return table(["data", "rows", "positives", "judging", *(TITLES[goal] for goal in results.goals)], lines)


def choices_table(results: Results) -> str:
    """What our choice trained with, and what it gained there."""
    lines = []
    for goal in results.goals:
        runs = results.runs(goal, OURS)
        gains = results.values(goal, OURS) - results.values(goal, LINEAR)
        safe = np.array([row["chosen"] in SAFE for row in runs])
        counts = Counter(row["chosen"] for row in runs)
        lines.append(
            [
                TITLES[goal],
                str(int(safe.sum())),
                "; ".join(f"{chosen} {count}" for chosen, count in counts.most_common() if chosen not in SAFE)
                or "none",
                signed(gains[safe].mean()) if safe.any() else "",
                signed(gains[~safe].mean()) if not safe.all() else "",
            ]
        )
    return table(["goal", "safe risk", "another", "gain with a safe risk", "gain with another"], lines)


def noise_table(results: Results) -> str:
    """How much the difference varies from repetition to repetition, where positives are few and where they are many."""
    few = [name for name in results.sets if results.judge_positives(name) < FEW]
    groups = {f"fewer than {FEW} ({len(few)} sets)": few}
    many = [name for name in results.sets if name not in few]
    groups[f"{FEW} or more ({len(many)} sets)"] = many
    lines = []
    for goal in results.goals:
        cells = []
        for names in groups.values():
            gains = [results.values(goal, OURS, name) - results.values(goal, LINEAR, name) for name in names]
            cells.append(
                f"{signed(np.mean([one.mean() for one in gains]))} ± {np.mean([one.std() for one in gains]):.3f}"
            )
        lines.append([TITLES[goal], *cells])
    return table(["goal", *groups], lines)


def seconds_table(results: Results) -> str:
    """Seconds of the processor, medians, and ours relative to the tuning of the linear models."""
    lines = []
    for goal in results.goals:
        seconds = {
            method: np.array([float(row["seconds"]) for row in results.runs(goal, method)])
            for method in (OURS, LINEAR, TREES)
        }
        ratios = seconds[OURS] / seconds[LINEAR]
        lines.append(
            [
                TITLES[goal],
                *(f"{np.median(seconds[method]):.1f}" for method in (OURS, LINEAR, TREES)),
                f"{geometric_mean(ratios):.2f}",
                f"{ratios.min():.2f} to {ratios.max():.2f}",
            ]
        )
    return table(["goal", OURS, LINEAR, TREES, "ours to tuned linear", "range"], lines)


TABLES: dict[str, Callable[[Results], str]] = {
    "goals": goals_table,
    "families": families_table,
    "sets": sets_table,
    "choices": choices_table,
    "noise": noise_table,
    "seconds": seconds_table,
}


def mean_ranks(results: Results, goal: str) -> Array:
    """Mean rank over the sets of each of ``RANKED``; 1 is best, and ties share their places."""
    means = np.array([results.means(goal, method) for method in RANKED])
    return np.asarray(rankdata(-np.round(means, 4), axis=0).mean(axis=1), dtype=np.float64)


def figure(results: Results, path: Path) -> None:
    """Draw the mean ranks."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from smoothperf.plots import COLOURS, GRID, INK

    goals = results.goals
    drawing = Figure(figsize=(8.0, 4.6), layout="constrained")
    FigureCanvasAgg(drawing)
    ax = drawing.add_subplot()
    ranks = np.array([mean_ranks(results, goal) for goal in goals])
    lines = np.arange(len(goals))[::-1]
    ax.hlines(lines, ranks.min(axis=1), ranks.max(axis=1), color=GRID, linewidth=3, zorder=1)
    for column, (method, colour, marker) in enumerate(zip(RANKED, COLOURS, "osD^X", strict=False)):
        label = method if method in (OURS, DEFAULT, TREES) else f"{method}, tuned"
        ax.scatter(
            ranks[:, column],
            lines,
            s=90 if method == OURS else 45,
            color=colour,
            marker=marker,
            edgecolor="white",
            linewidth=0.6,
            label=label,
            zorder=3 if method == OURS else 2,
        )
    ax.set_yticks(lines, [TITLES[goal] for goal in goals])
    ax.set_xlim(1.0, len(RANKED))
    ax.set_xlabel(f"mean rank over {len(results.sets)} data sets (1 is best)", color=INK)
    ax.grid(axis="x", color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    drawing.legend(loc="outside upper center", ncols=3, frameon=False)
    drawing.savefig(path, dpi=120, metadata={"Software": None})


def filled(page: str, results: Results) -> str:
    """The text of the page with its tables made anew."""
    for name, make in TABLES.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            raise ValueError(f"the page must have {begin} and {end} once each.")
        block = f"{begin}\n\n{make(results)}\n\n{end}"
        page = re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _, block=block: block, page, flags=re.DOTALL)  # type: ignore[misc]
    return page


def main() -> None:
    """Write the page and the figure."""
    results = Results.read()
    text = filled(PAGE.read_text(encoding="utf-8"), results)
    temporary = PAGE.with_suffix(".partial")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(PAGE)
    figure(results, FIGURE)
    print(f"written: {PAGE}, {FIGURE}")


if __name__ == "__main__":
    main()
