"""The tables of docs/ranking.md are what the CSV files of the benchmarks say."""

import csv
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


#: Methods that the page compares with, and their names there.
RIVALS = {
    "pairs": "pairs",
    "Ridge on grades": "`Ridge`",
    "LogisticRegression on grade > 0": "`LogisticRegression`",
    "squared loss": "squared loss",
    "LightGBM lambdarank": "trees",
}
ELSEWHERE = {
    "its winner": "its winner alone",
    "ndcg@10, target by itself": "`MeasureRanker` for NDCG@10",
    **{method: name for method, name in RIVALS.items() if name != "trees"},
}


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
    ("ours", "words"),
    [("MeasureRankerCV", "`MeasureRankerCV`"), ("ndcg@10, target by itself", "`MeasureRanker`, target by itself")],
)
def test_differences(ours, words):
    rows = rows_of("ranking.csv")

    def scores(method):
        return np.array([float(row["test"]) for row in rows if row["method"] == method])

    differences = [scores(ours) - scores(other) for other in RIVALS]
    cells = [with_error(each.mean(), each.std(ddof=1) / np.sqrt(each.size)) for each in differences]
    assert line("NDCG@10 ahead of", *RIVALS.values()) in PAGE
    assert line(words, *cells) in PAGE


def lines_elsewhere():
    """Table lines: the mean lead over each method, the least, the most, and the problems where it is beyond chance."""
    ahead = elsewhere("MeasureRankerCV", [*ELSEWHERE])
    lines = []
    for place, name in enumerate(ELSEWHERE.values(), start=1):
        means, errors = np.array([found[place] for found in ahead.values()]).T
        mean = with_error(means.mean(), means.std(ddof=1) / np.sqrt(means.size))
        numbers = (sum(means > 2.0 * errors), sum(means < -2.0 * errors))
        lines.append(line(name, mean, f"{means.min():.3f}", f"{means.max():.3f}", *map(str, numbers)))
    return lines


def test_the_choice_on_other_data():
    for text in lines_elsewhere():
        assert text in PAGE
    behind = [
        problem
        for problem, (_, *pairs) in elsewhere("MeasureRankerCV", [*ELSEWHERE]).items()
        if any(mean < -2.0 * error for mean, error in pairs)
    ]
    assert behind == ["few relevant"]


def test_ndcg_by_itself_on_other_data():
    # What the page says of it: behind ridge regression on linear scores with noise, ahead where features interact.
    others = [method for method, name in RIVALS.items() if name != "trees"]
    ahead = elsewhere("MeasureRanker", others)
    means = np.array([[mean for mean, _ in differences] for _, *differences in ahead.values()])
    assert (means[6:8] > 0.0).all()
    assert (means[:6, others.index("Ridge on grades")] <= 0.0).all()


def test_speed():
    for row in rows_of("ranking_speed.csv"):
        steps = ((row[f"{solver} iterations"], row[f"{solver} seconds"]) for solver in ("lbfgs", "bmrm"))
        cells = [cell for pair in steps for cell in pair]
        assert line(DATA[row["data"]], row["alpha"], *cells, row["bmrm / lbfgs"]) in PAGE


def test_iterations():
    for row in rows_of("ranking_iterations.csv"):
        assert line(row["case"], row["products ms"], row["ms"], row["ratio"]) in PAGE
