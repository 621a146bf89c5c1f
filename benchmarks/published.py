"""Tables that others published, beside what our defaults reach by the same protocol: writes docs/published.md.

Ours is what a user gets, ``MeasureClassifierCV(goal)`` and ``MeasureRankerCV(goal)`` with their defaults, and the same
with ``features="auto"``; nothing is tuned by hand. Labels: two thirds of the rows train and one third tests, in as many
random splits as the authors drew; their splits are not known, so that LogisticRegression as it is takes part on ours.
Rankings: the five official folds of LETOR, with its own NDCG; ours is given the parts to train on and to validate on,
as that is what there is to choose by. Results are appended to published.csv after every line of a table, and what is
there is not computed again. One thread.
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from smoothperf import MeasureClassifierCV, MeasureRankerCV
from smoothperf._arrays import Array
from smoothperf.measures import get_measure

from .common import arguments, load
from .page import table
from .ranking import Documents, joined, parts_of

PAGE = Path("docs/published.md")
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
COLUMNS = ("data", "goal", "method", "split", "value", "test_positives", "seconds", "chosen")
LINEAR, AUTO = "linear", "auto"
#: scikit-learn's LogisticRegression as it is, on the same splits: how far a split moves a published figure.
REFERENCE = "LogisticRegression"
TAU_FPL = "tau-FPL's result files (repository Blaver/TopKPush)"
TOP_PUSH = "TopPush (NIPS 2014), table 2"
LETOR = "LETOR's baselines"


@dataclass(frozen=True)
class Line:
    """A line of a published table: the data, the goal, what others have there, and how often they split."""

    data: str
    goal: str
    others: dict[str, float]
    source: str
    splits: int

    @property
    def is_ranking(self) -> bool:
        """Whether documents of queries are ranked."""
        return self.data.startswith("ltr-")

    @property
    def best(self) -> tuple[str, float]:
        """The best of the others, and what it has."""
        return max(self.others.items(), key=lambda one: one[1])


def _lines(data: str, goals: tuple[str, ...], others: dict[str, tuple[float, ...]], source: str, n: int) -> list[Line]:
    """Lines of one table, from its columns."""
    return [
        Line(data, goal, {name: values[place] for name, values in others.items()}, source, n)
        for place, goal in enumerate(goals)
    ]


LINES = [
    *_lines(
        "a9a",
        tuple(f"recall@fpr={q}" for q in (0.001, 0.005, 0.01, 0.05, 0.1)),
        {
            "LR": (0.079, 0.169, 0.242, 0.517, 0.678),
            "SVM": (0.070, 0.174, 0.245, 0.513, 0.674),
            "TopPush": (0.038, 0.107, 0.172, 0.402, 0.546),
            "tau-FPL": (0.038, 0.108, 0.172, 0.403, 0.621),
        },
        TAU_FPL,
        10,
    ),
    *_lines(
        "ijcnn1",
        tuple(f"recall@fpr={q}" for q in (0.0001, 0.001, 0.01, 0.1)),
        {
            "LR": (0.0007, 0.009, 0.153, 0.769),
            "cost-sensitive SVM": (0.0009, 0.009, 0.183, 0.819),
            "TopPush": (0.0036, 0.018, 0.338, 0.769),
            "tau-FPL": (0.0025, 0.016, 0.317, 0.805),
        },
        TAU_FPL,
        1,
    ),
    *_lines(
        "german-numer",
        tuple(f"recall@fpr={q}" for q in (0.005, 0.01, 0.05, 0.1)),
        {
            "LR": (0.037, 0.062, 0.266, 0.444),
            "TopPush": (0.069, 0.079, 0.214, 0.333),
            "SVM-pAUC-tight": (0.027, 0.050, 0.207, 0.345),
        },
        TAU_FPL,
        10,
    ),
    *_lines(
        "spambase",
        ("pos@top", "average_precision"),
        {
            "TopPush": (0.129, 0.922),
            "LR": (0.071, 0.920),
            "SVMRank": (0.069, 0.931),
            "SVMMAP": (0.097, 0.935),
            "SVMpAUC": (0.073, 0.854),
            "InfinitePush": (0.132, 0.920),
        },
        TOP_PUSH,
        30,
    ),
    Line("ltr-ohsumed", "NDCG@5", {"svm_rank": 0.4811}, LETOR, 5),
    Line(
        "ltr-ohsumed",
        "NDCG@10",
        {"svm_rank": 0.4537, "AdaRank": 0.4507, "kernel RankSVM": 0.4505, "ListNet": 0.4435, "RankBoost": 0.4399},
        LETOR,
        5,
    ),
    Line("ltr-mq2008", "NDCG@5", {"AdaRank": 0.4740, "LambdaMART": 0.4734, "svm_light": 0.4727}, LETOR, 5),
    Line("ltr-mq2008", "MeanNDCG", {"LambdaMART": 0.4879}, LETOR, 5),
]


def letor_ndcg(goal: str, grades: Array, scores: Array) -> float:
    """NDCG of a query as LETOR's scripts have it: discounts 1, 1, 1 / log2 3, ...; 0 if nothing is relevant.

    MeanNDCG is the mean over all depths.
    """
    discounts = 1.0 / np.log2(np.maximum(2, np.arange(1, grades.size + 1)))
    found, ideal = (
        np.cumsum((2.0 ** grades[order] - 1.0) * discounts)
        for order in (np.argsort(-scores, kind="stable"), np.argsort(-grades, kind="stable"))
    )
    ndcg = np.divide(found, ideal, out=np.zeros_like(found), where=ideal > 0.0)
    return float(ndcg.mean() if goal == "MeanNDCG" else ndcg[min(int(goal.partition("@")[2]), ndcg.size) - 1])


def of_documents(goal: str, documents: Documents, scores: Array) -> float:
    """The mean over the queries."""
    queries = [documents.qid == number for number in np.unique(documents.qid)]
    return float(np.mean([letor_ndcg(goal, documents.y[own], scores[own]) for own in queries]))


def classified(line: Line, method: str, folder: Path) -> Iterator[dict[str, Any]]:
    """A result for every split of labelled rows."""
    X: Any
    X, y = load(folder, line.data)
    if line.data == "ijcnn1":
        others, labels = load(folder, "ijcnn1.t")
        X, y = sp.vstack([X, others], format="csr"), np.concatenate([y, labels])
    if X.nnz > 0.06 * X.shape[0] * X.shape[1]:
        X = X.toarray()
    positive = y > 0.0
    for split in range(line.splits):
        train, test = train_test_split(np.arange(y.size), test_size=1 / 3, stratify=positive, random_state=split)
        begin = time.process_time()
        if method == REFERENCE:
            model: Any = LogisticRegression(max_iter=500)
        else:
            model = MeasureClassifierCV(line.goal, features=method, n_threads=1)
        model.fit(X[train], positive[train])
        yield {
            "split": split,
            "value": get_measure(line.goal).score(positive[test], model.decision_function(X[test])),
            "test_positives": int(positive[test].sum()),
            "seconds": time.process_time() - begin,
            "chosen": f"{getattr(model, 'best_features_', LINEAR)}: {getattr(model, 'trained_for_', REFERENCE)}",
        }


def ranked(line: Line, method: str, folder: Path) -> Iterator[dict[str, Any]]:
    """A result for every official fold."""
    parts = parts_of(folder, line.data)
    measure = "ndcg@10" if line.goal == "MeanNDCG" else line.goal.lower()
    for fold in range(5):
        known, test = joined([parts[(fold + place) % 5] for place in range(4)]), parts[(fold + 4) % 5]
        begin = time.process_time()
        model = MeasureRankerCV(measure, features=method, n_threads=1).fit(known.X, known.y, qid=known.qid)
        yield {
            "split": fold,
            "value": of_documents(line.goal, test, model.predict(test.X)),
            "test_positives": int(np.unique(test.qid).size),
            "seconds": time.process_time() - begin,
            "chosen": f"{getattr(model, 'best_features_', LINEAR)}: {model.trained_for_}",
        }


def read(path: Path) -> list[dict[str, str]]:
    """Results that are there."""
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def measure_all(folder: Path, path: Path) -> None:
    """Measure what is not there yet; short ones first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for method in (REFERENCE, LINEAR, AUTO):
        for line in sorted(LINES, key=lambda one: one.data in ("a9a", "ijcnn1")):
            key = {"data": line.data, "goal": line.goal, "method": method}
            done = any(key.items() <= row.items() for row in read(path))
            if done or (line.is_ranking and method == REFERENCE):
                continue
            results = [key | row for row in (ranked if line.is_ranking else classified)(line, method, folder)]
            new = not path.exists()
            with open(path, "a", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, COLUMNS)
                if new:
                    writer.writeheader()
                writer.writerows(results)
            print(method, line.data, line.goal, f"{np.mean([row['value'] for row in results]):.4f}", flush=True)


@dataclass(frozen=True)
class Ours:
    """Result of ours on a line: the mean over the splits, its standard error, and processor seconds a split."""

    value: float
    error: float
    seconds: float

    @classmethod
    def of(cls, rows: list[dict[str, str]]) -> Ours:
        """Put splits together; the error of a single one is that of a share of its positives."""
        values = np.array([float(row["value"]) for row in rows])
        value = float(values.mean())
        if values.size > 1:
            error = float(values.std(ddof=1)) / values.size**0.5
        else:
            error = (value * (1.0 - value) / int(rows[0]["test_positives"])) ** 0.5
        return cls(value, error, float(np.mean([float(row["seconds"]) for row in rows])))

    def reaches(self, published: float) -> bool:
        """Whether it is within a standard error of a published figure, or above it."""
        return self.value + self.error >= published

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.error:.3f}"


def page(rows: list[dict[str, str]]) -> str:
    """The tables, behind where ours is short."""
    lines, short, counts, measured = [], [], {LINEAR: 0, AUTO: 0}, {LINEAR: 0, AUTO: 0}
    for line in LINES:
        of_line = [row for row in rows if (row["data"], row["goal"]) == (line.data, line.goal)]
        ours = {
            method: Ours.of(found)
            for method in (*counts, REFERENCE)
            if (found := [row for row in of_line if row["method"] == method])
        }
        if LINEAR not in ours:
            continue
        name, best = line.best
        for method in counts:
            if method in ours:
                counts[method] += ours[method].reaches(best)
                measured[method] += 1
        if not ours[LINEAR].reaches(best):
            short.append(f"- {line.data}, {line.goal}: {ours[LINEAR]}, published {best:g} ({name})")
            if REFERENCE in ours:
                short[-1] += f"; LogisticRegression on our splits {ours[REFERENCE]}"
        others = ", ".join(f"{other} {value:g}" for other, value in line.others.items() if other != name)
        cells = [str(ours[one]) if one in ours else "" for one in counts]
        seconds = [f"{ours[one].seconds:.1f}" if one in ours else "" for one in counts]
        lines.append([line.data, line.goal, f"{name} {best:g}", others, *cells, *seconds])
    header = ["data", "goal", "best published", "other figures", "ours", 'ours, `features="auto"`', "s", "s, auto"]
    reached = (
        "Within a standard error of the best published figure, or above it: "
        f"{counts[LINEAR]} of {measured[LINEAR]} lines with the defaults, "
        f'{counts[AUTO]} of {measured[AUTO]} with `features="auto"`.'
    )
    missed = "\n".join(["Short with the defaults:", "", *short, ""]) if short else ""
    return "\n".join([reached, "", missed, table(header, lines), ""])


def main() -> int:
    """Measure, and write the page."""
    options = arguments(__doc__)
    path = options.output / "published.csv"
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of targets that no promise can be made for: the order is what is judged
        measure_all(options.data, path)
    write_page(read(path))
    return 0


def write_page(rows: list[dict[str, str]]) -> None:
    """Put the tables into docs/published.md."""
    text = PAGE.read_text(encoding="utf-8")
    head, tail = text.partition(BEGIN)[0], text.partition(END)[2]
    PAGE.write_text(f"{head}{BEGIN}\n\n{page(rows)}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
