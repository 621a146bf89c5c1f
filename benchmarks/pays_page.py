"""Write the tables and the figure of docs/does-it-pay.md from pays.csv: ``python -m benchmarks.pays_page``.

Tables stand between ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->``; what is around them is written by hand. A set
counts with its mean over the repetitions, and two means within ``ALIKE`` are a tie.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
from scipy.stats import rankdata, wilcoxon

from smoothperf._arrays import Array

from . import features_page
from .common import geometric_mean
from .page import Row, table
from .pays import DEFAULT, FAMILIES, GOALS, LINEAR, OURS, TREES

PAGE, FIGURE = Path("docs/does-it-pay.md"), Path("docs/does-it-pay.png")
RESULTS = Path("benchmarks/results/pays.csv")
#: Means that differ by no more are a tie.
ALIKE = 5e-4
#: Sets whose judging rows have fewer positives than this are noisy.
FEW = 100
#: Sets that were looked at when it was settled what MeasureClassifierCV chooses from, and by which rule.
SEEN = (
    "mammography",
    "campaign",
    "coil2000",
    "imb-thyroid-sick",
    "imb-satimage",
    "imb-wine-quality",
    "imb-us-crime",
    "w8a",
    "sms-spam",
    "r21578-crude",
    "rcv1-c11",
    "ijcnn1",
    "arxiv-astro",
)
#: Of these sets the first repetitions were looked at, judged by the same rows as here.
SEEN_REPEATS = 3
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
BASELINES = ("log_loss, convex", "squared_hinge, convex")


class Results:
    """Contents of pays.csv: runs by goal, method and data set, in the order of their repetitions."""

    def __init__(self, rows: Iterable[Row]):
        self.by: dict[tuple[str, str, str], list[Row]] = {}
        for row in sorted(rows, key=lambda row: int(row["repeat"])):
            self.by.setdefault((row["goal"], row["method"], row["data"]), []).append(row)
        self.goals = [goal for goal in GOALS if any(key[0] == goal for key in self.by)]
        self.sizes = {name: runs[0] for (_, _, name), runs in self.by.items()}
        #: Sets with few positives to be judged by come first.
        self.sets = sorted(self.sizes, key=lambda name: (self.judge_positives(name), name))

    def judge_positives(self, name: str) -> int:
        """Number of positives that judge."""
        return int(self.sizes[name]["judge_positives"])

    def runs(self, goal: str, method: str) -> list[Row]:
        """All runs of a method, in the same order for all of them."""
        return [row for name in self.sets for row in self.by[goal, method, name]]

    def values(self, goal: str, method: str, name: str) -> Array:
        """Scores of a method on a set, in each repetition."""
        return np.array([float(row["value"]) for row in self.by[goal, method, name]])

    def seconds(self, goal: str, method: str) -> Array:
        """Seconds of each run."""
        return np.array([float(row["seconds"]) for row in self.runs(goal, method)])

    def means(self, goal: str, method: str) -> Array:
        """The mean over the repetitions, for every set."""
        return np.array([self.values(goal, method, name).mean() for name in self.sets])

    def gains(self, goal: str, name: str, over: str = LINEAR) -> Array:
        """Ours less another on a set, in each repetition."""
        return self.values(goal, OURS, name) - self.values(goal, over, name)

    def mean_gains(self, goal: str, over: str = LINEAR) -> Array:
        """Ours less another, for every set."""
        return self.means(goal, OURS) - self.means(goal, over)


def read(path: Path = RESULTS) -> Results:
    """Read the file, whose runs were all limited to the same number of rows."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    limits = sorted({int(row["rows"]) for row in rows})
    if len(limits) != 1:
        raise ValueError(f"{path} must have runs with one number of --rows; it has {limits}.")
    return Results(rows)


def signed(value: float) -> str:
    """A difference; what rounds to nothing has no sign."""
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0.0 else text


def verdict(gains: Array) -> list[str]:
    """Mean gain, sets won and lost, and how easily chance makes such gains of either sign."""
    p = float(wilcoxon(gains).pvalue) if np.any(gains) else 1.0
    wins = f"{(gains > ALIKE).sum()} : {(gains < -ALIKE).sum()}"
    return [signed(gains.mean()), wins, "< 0.001" if p < 0.001 else f"{p:.3f}"]


def goals_table(results: Results) -> str:
    """Means of the methods, and ours against the tuned linear models, for every goal."""
    lines = []
    for goal in results.goals:
        mean = {method: f"{results.means(goal, method).mean():.3f}" for method in (OURS, LINEAR, DEFAULT, TREES)}
        against = verdict(results.mean_gains(goal))
        lines.append([TITLES[goal], mean[OURS], mean[LINEAR], *against, mean[DEFAULT], mean[TREES]])
    return table(["goal", OURS, LINEAR, "difference", "sets won : lost", "p", DEFAULT, TREES], lines)


def sets_table(results: Results) -> str:
    """The difference for every set and goal; a star where all repetitions have the same sign."""
    lines = []
    for name in results.sets:
        cells = []
        for goal in results.goals:
            gains = results.gains(goal, name)
            star = "*" if np.all(gains > 0.0) or np.all(gains < 0.0) else ""
            cells.append(signed(gains.mean()) + star)
        size = results.sizes[name]
        lines.append([name, size["train_rows"], size["train_positives"], size["judge_positives"], *cells])
    return table(["data", "rows", "positives", "judging", *(TITLES[goal] for goal in results.goals)], lines)


def choices_table(results: Results) -> str:
    """Risks that our choice trained with, and the gain of each."""
    lines = []
    for goal in results.goals:
        chosen = [row["chosen"] for row in results.runs(goal, OURS)]
        gains = np.concatenate([results.gains(goal, name) for name in results.sets])
        baseline = np.isin(chosen, BASELINES)
        others = Counter(name for name in chosen if name not in BASELINES).most_common()
        lines.append(
            [
                TITLES[goal],
                str(baseline.sum()),
                signed(gains[baseline].mean()) if baseline.any() else "",
                "; ".join(f"{name}: {count}" for name, count in others),
                signed(gains[~baseline].mean()) if others else "",
            ]
        )
    return table(["goal", "baseline", "gain there", "another", "gain there"], lines)


def noise_table(results: Results) -> str:
    """The difference and its standard deviation over repetitions, for groups of sets."""
    few = [name for name in results.sets if results.judge_positives(name) < FEW]
    many = [name for name in results.sets if name not in few]
    seen = [name for name in results.sets if name in SEEN]
    unseen = [name for name in results.sets if name not in SEEN]
    groups = {
        f"fewer than {FEW} positives": (few, 0),
        f"{FEW} or more": (many, 0),
        "seen": (seen, 0),
        f"seen, without repetitions 1 to {SEEN_REPEATS}": (seen, SEEN_REPEATS),
        "not seen": (unseen, 0),
    }
    groups = {f"{label} ({len(names)} sets)": (names, first) for label, (names, first) in groups.items() if names}
    lines = []
    for goal in results.goals:
        cells = []
        for names, first in groups.values():
            gains = [results.gains(goal, name)[first:] for name in names]
            mean, deviation = np.mean([one.mean() for one in gains]), np.mean([one.std(ddof=1) for one in gains])
            cells.append(f"{signed(float(mean))} ± {deviation:.3f}")
        lines.append([TITLES[goal], *cells])
    return table(["goal", *groups], lines)


def seconds_table(results: Results) -> str:
    """Seconds of the processor, medians, and ours relative to the tuning of the linear models."""
    lines = []
    for goal in results.goals:
        ratios = results.seconds(goal, OURS) / results.seconds(goal, LINEAR)
        medians = [f"{np.median(results.seconds(goal, method)):.2f}" for method in (OURS, LINEAR, TREES)]
        spread = f"{ratios.min():.2g} to {ratios.max():.2g}"
        lines.append([TITLES[goal], *medians, f"{geometric_mean(ratios):.2f}", spread])
    return table(["goal", OURS, LINEAR, TREES, f"{OURS} to {LINEAR}", "range"], lines)


TABLES: dict[str, Callable[[Results], str]] = {
    "goals": goals_table,
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
    looks = zip(RANKED, (*COLOURS[:4], INK), "osD^X", np.linspace(0.16, -0.16, len(RANKED)), strict=True)
    for column, (method, colour, marker, aside) in enumerate(looks):
        ax.scatter(
            ranks[:, column],
            lines + aside,  # so that equal ranks do not hide each other
            s=90 if method == OURS else 45,
            color=colour,
            marker=marker,
            edgecolor="white",
            linewidth=0.6,
            label=f"{method}, tuned" if method in FAMILIES else method,
            zorder=3 if method == OURS else 2,
        )
    ax.set_yticks(lines, [TITLES[goal] for goal in goals])
    ax.set_xlim(0.9, len(RANKED) + 0.1)
    ax.set_xlabel(f"mean rank over {len(results.sets)} data sets (1 is best)", color=INK)
    ax.grid(axis="x", color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    drawing.legend(loc="outside upper center", ncols=3, frameon=False)
    drawing.savefig(path, dpi=120, metadata={"Software": None})


def filled(page: str, tables: Mapping[str, str]) -> str:
    """The text of the page with its tables made anew."""
    for name, made in tables.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            raise ValueError(f"the page must have {begin} and {end} once each.")
        before, rest = page.split(begin)
        page = f"{before}{begin}\n\n{made}\n\n{end}{rest.split(end)[1]}"
    return page


def made(results: Results, of_features: features_page.Results) -> dict[str, str]:
    """All tables of the page, by name."""
    own = {name: make(results) for name, make in TABLES.items()}
    return own | {name: make(of_features) for name, make in features_page.TABLES.items()}


def main() -> None:
    """Write the page and the figure."""
    results = read()
    text = filled(PAGE.read_text(encoding="utf-8"), made(results, features_page.read()))
    temporary = PAGE.with_suffix(".partial")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(PAGE)
    figure(results, FIGURE)
    print(f"written: {PAGE}, {FIGURE}")


if __name__ == "__main__":
    main()
