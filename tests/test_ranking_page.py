"""The tables of docs/ranking.md are what the CSV files of the benchmarks say."""

import csv
import re
from pathlib import Path

import numpy as np

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


def rows_of(name):
    with open(ROOT / "benchmarks" / "results" / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def line(*cells):
    return "| " + " | ".join(cells) + " |"


def test_quality():
    rows = rows_of("ranking.csv")
    for method, words in METHODS.items():
        scores = np.array(
            [[float(row["test"]) for row in rows if (row["method"], row["data"]) == (method, data)] for data in DATA]
        )
        assert scores.shape == (3, 5)
        for means in (scores.mean(axis=1), scores[:, 0]):
            assert line(words, *(f"{mean:.3f}" for mean in [*means, means.mean()])) in PAGE


def test_differences():
    rows = rows_of("ranking.csv")

    def scores(method):
        return np.array([float(row["test"]) for row in rows if row["method"] == method])

    sentence = re.search(r"Over the fifteen rotations .*?\.\s+That", PAGE, re.DOTALL).group()
    found = []
    for other in ("pairs", "Ridge on grades", "LogisticRegression on grade > 0", "squared loss", "LightGBM lambdarank"):
        difference = scores("ndcg@10, target by itself") - scores(other)
        error = difference.std(ddof=1) / np.sqrt(difference.size)
        found += [f"{difference.mean():.3f}", f"{error:.3f}"]
    assert re.findall(r"0\.\d{3}", sentence) == found


def test_speed():
    for row in rows_of("ranking_speed.csv"):
        steps = ((row[f"{solver} iterations"], row[f"{solver} seconds"]) for solver in ("auto", "lbfgs", "bmrm"))
        cells = [cell for pair in steps for cell in pair]
        assert line(DATA[row["data"]], row["alpha"], *cells, row["bmrm / auto"], row["bmrm / lbfgs"]) in PAGE


def test_iterations():
    for row in rows_of("ranking_iterations.csv"):
        assert line(row["case"], row["products ms"], row["ms"], row["ratio"]) in PAGE


def test_kernels():
    rows = [row for row in rows_of("ranking_kernels.csv") if row["case"].startswith("100 documents, 5 grades: ")]
    rows = [row for row in rows if "gradient" not in row["case"]]
    assert len(rows) == 9
    for row in rows:
        assert line(row["case"].split(": ")[1], row["ms"], row["ratio"]) in PAGE
