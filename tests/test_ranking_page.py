"""The tables of docs/ranking.md are what the CSV files of the benchmarks say."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "ranking.md").read_text("utf-8")
DATA = {"ltr-mq2008": "MQ2008", "ltr-ohsumed": "OHSUMED", "ltr-lgbm": "LightGBM's example"}
METHODS = {
    "MeasureRankerCV": '`MeasureRankerCV("ndcg@10")`',
    "ndcg@10, target by itself": "`MeasureRanker` for NDCG@10",
    "ndcg@10": "`MeasureRanker` for NDCG@10, the target by validation",
    "pairs": "`MeasureRanker` for pairs",
    "squared loss": "`MeasureRanker` for squared loss",
    "Ridge on grades": "`Ridge` on grades",
    "LogisticRegression on grade > 0": "`LogisticRegression` on grade > 0",
    "LightGBM lambdarank": "LightGBM, lambdarank (trees)",
}


METHODS_ELSEWHERE = ["pairs", "squared loss", "Ridge on grades", "LogisticRegression on grade > 0"]
BESIDE_THE_CHOICE = ["its winner", "ndcg@10, target by itself", *METHODS_ELSEWHERE]


def rows_of(name):
    with open(ROOT / "benchmarks" / "results" / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def line(*cells):
    return "| " + " | ".join(cells) + " |"


def with_error(mean, error):
    return f"{mean:.3f} ({error:.3f})"


def elsewhere(ours, methods):
    """For every problem NDCG@10 of ours, and how far it is ahead of each method with the standard error: over draws."""
    rows = [row for row in rows_of("ranking_elsewhere.csv") if row["ours"] == ours]
    found = {}
    for problem in dict.fromkeys(row["data"] for row in rows):
        own = [row for row in rows if row["data"] == problem]
        found[problem] = [np.mean([float(row["ndcg@10"]) for row in own])]
        for method in methods:
            ahead, errors = np.array(
                [(float(row["ahead"]), float(row["standard error"])) for row in own if row["method"] == method]
            ).T
            assert ahead.size == 3
            found[problem].append((ahead.mean(), np.sqrt(np.sum(errors**2)) / errors.size))
    return found


def test_quality():
    rows = rows_of("ranking.csv")
    for method, words in METHODS.items():
        scores = np.array(
            [[float(row["test"]) for row in rows if (row["method"], row["data"]) == (method, data)] for data in DATA]
        )
        assert scores.shape == (3, 5)
        means = scores.mean(axis=1)
        assert line(words, *(f"{mean:.3f}" for mean in [*means, means.mean()])) in PAGE


@pytest.mark.parametrize(
    ("ours", "pattern"),
    [
        ("ndcg@10, target by itself", r"Over the fifteen rotations .*?\.\s+That"),
        ("MeasureRankerCV", r"learns from the validation queries as well.*?\n\n"),
    ],
)
def test_differences(ours, pattern):
    rows = rows_of("ranking.csv")

    def scores(method):
        return np.array([float(row["test"]) for row in rows if row["method"] == method])

    sentence = re.search(pattern, PAGE, re.DOTALL).group()
    found = []
    for other in ("pairs", "Ridge on grades", "LogisticRegression on grade > 0", "squared loss", "LightGBM lambdarank"):
        difference = scores(ours) - scores(other)
        error = difference.std(ddof=1) / np.sqrt(difference.size)
        found += [f"{difference.mean():.3f}", f"{error:.3f}"]
    assert re.findall(r"-?0\.\d{3}", sentence) == found


def test_the_choice_on_other_data():
    ahead = elsewhere("MeasureRankerCV", BESIDE_THE_CHOICE)
    for problem, (score, *differences) in ahead.items():
        assert line(problem, f"{score:.3f}", *(with_error(*pair) for pair in differences)) in PAGE
    means = np.array([[mean for mean, _ in differences] for _, *differences in ahead.values()])
    errors = means.std(axis=0, ddof=1) / np.sqrt(len(means))
    assert line("mean", "", *map(with_error, means.mean(axis=0), errors)) in PAGE
    assert (means.mean(axis=0) > 0.0).all()
    others = {problem: differences[-len(METHODS_ELSEWHERE) :] for problem, (_, *differences) in ahead.items()}
    behind = [problem for problem, pairs in others.items() if any(mean < -2.0 * error for mean, error in pairs)]
    assert behind == ["few relevant"]
    worst = min(mean for mean, _ in others["few relevant"])
    assert f"one problem of thirteen\nonly (few relevant, by {-worst:.3f} at most)" in PAGE


def test_ndcg_by_itself_on_other_data():
    # What the page says of it: behind ridge regression on linear scores with noise, ahead where features interact.
    ahead = elsewhere("MeasureRanker", METHODS_ELSEWHERE)
    means = np.array([[mean for mean, _ in differences] for _, *differences in ahead.values()])
    assert (means[6:8] > 0.0).all()
    assert (means[:6, METHODS_ELSEWHERE.index("Ridge on grades")] <= 0.0).all()


def test_speed():
    for row in rows_of("ranking_speed.csv"):
        steps = ((row[f"{solver} iterations"], row[f"{solver} seconds"]) for solver in ("lbfgs", "bmrm"))
        cells = [cell for pair in steps for cell in pair]
        assert line(DATA[row["data"]], row["alpha"], *cells, row["bmrm / lbfgs"]) in PAGE


def test_iterations():
    for row in rows_of("ranking_iterations.csv"):
        assert line(row["case"], row["products ms"], row["ms"], row["ratio"]) in PAGE


def test_kernels():
    rows = [row for row in rows_of("ranking_kernels.csv") if row["case"].startswith("100 documents, 5 grades: ")]
    rows = [row for row in rows if "gradient" not in row["case"]]
    assert len(rows) == 9
    for row in rows:
        assert line(row["case"].split(": ")[1], row["ms"], row["ratio"]) in PAGE
