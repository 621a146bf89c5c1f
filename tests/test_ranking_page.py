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
        for means in (scores.mean(axis=1), scores[:, 0]):
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


def test_differences_on_the_data_s_own_test_parts():
    rows = [row for row in rows_of("ranking.csv") if row["rotation"] == "0"]
    queries = {row["data"]: row["queries"] for row in rows}
    assert line("ahead of", *(f"{words}, {queries[data]} queries" for data, words in DATA.items())) in PAGE
    beyond = [row for row in rows if row["ahead"] and abs(float(row["ahead"])) > 2.0 * float(row["standard error"])]
    assert [(row["data"], row["method"]) for row in beyond] == [("ltr-mq2008", "pairs")]
    for method, words in METHODS.items():
        if method.startswith("ndcg@10"):
            continue
        own = {row["data"]: row for row in rows if row["method"] == method}
        assert line(words, *(f"{own[data]['ahead']} ({own[data]['standard error']})" for data in DATA)) in PAGE


def means_on_the_page(ahead):
    """Assert that a table is there; return the means, a row for each problem."""
    for problem, (score, *differences) in ahead.items():
        assert line(problem, f"{score:.3f}", *(with_error(*pair) for pair in differences)) in PAGE
    means = np.array([[mean for mean, _ in differences] for _, *differences in ahead.values()])
    errors = means.std(axis=0, ddof=1) / np.sqrt(len(means))
    assert line("mean", "", *map(with_error, means.mean(axis=0), errors)) in PAGE
    return means


def test_other_data():
    means = means_on_the_page(elsewhere("MeasureRanker", METHODS_ELSEWHERE))
    first_six, interacting, classes = means[:6], means[6:8], means[8:]
    sentences = re.search(r"Grades of the first six .*?\n\n", PAGE, re.DOTALL).group()
    ridge = METHODS_ELSEWHERE.index("Ridge on grades")
    assert (interacting > 0.0).all()
    assert np.sum(first_six[:, ridge] > 0.0) == 0
    assert re.findall(r"0\.\d{3}", sentences) == [
        f"{abs(number):.3f}" for number in (first_six[:, ridge].min(), interacting.max(), classes.min(), classes.max())
    ]


def test_the_choice_on_other_data():
    ahead = elsewhere("MeasureRankerCV", BESIDE_THE_CHOICE)
    means = means_on_the_page(ahead)
    assert (means.mean(axis=0) > 0.0).all()
    others = {problem: differences[-len(METHODS_ELSEWHERE) :] for problem, (_, *differences) in ahead.items()}
    behind = [problem for problem, pairs in others.items() if any(mean < -2.0 * error for mean, error in pairs)]
    assert behind == ["few relevant"]
    worst = min(mean for mean, _ in others["few relevant"])
    assert f"one problem of thirteen\nonly (few relevant, by {-worst:.3f} at most)" in PAGE


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
