"""docs/does-it-pay.md: its tables are those of the measurements, and the arithmetic behind them is right."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "benchmarks" / "results" / "pays.csv"


@pytest.fixture(scope="module")
def pays():
    return importlib.import_module("benchmarks.pays")


@pytest.fixture(scope="module")
def pages():
    return importlib.import_module("benchmarks.pays_page")


@pytest.fixture(scope="module")
def measured(pages):
    return pages.read(MEASURED)


def test_tables_are_those_of_the_measurements(pages, measured):
    pytest.importorskip("scipy", "1.13", reason="p-values of older ones are approximations where some gains are zero")
    text = (ROOT / "docs" / "does-it-pay.md").read_text("utf-8")
    assert pages.filled(text, pages.made(measured, importlib.import_module("benchmarks.features_page").read())) == text


def test_measurements_are_complete(pays, measured):
    assert set(measured.sets) == set(pays.DATA_SETS)
    assert measured.by.keys() == {(g, m, s) for g in pays.GOALS for m in pays.METHODS for s in measured.sets}
    assert all([row["repeat"] for row in runs] == list("01234") for runs in measured.by.values())


def test_numbers_of_rows_are_not_mixed(pages, tmp_path):
    (tmp_path / "pays.csv").write_text("data,rows,repeat,goal,method\na,10,0,f1,x\na,20,0,f1,x\n", "utf-8")
    with pytest.raises(ValueError, match=r"one number of --rows; it has \[10, 20\]"):
        pages.read(tmp_path / "pays.csv")


def row(name, repeat, method, value, *, seconds=1.0, chosen="log_loss, convex", positives=200):
    return {
        "data": name,
        "repeat": str(repeat),
        "goal": "f1",
        "method": method,
        "value": str(value),
        "seconds": str(seconds),
        "chosen": chosen,
        "train_rows": "1000",
        "train_positives": "300",
        "judge_positives": str(positives),
    }


@pytest.fixture
def invented(pages):
    """Two sets, two repetitions: one set won by 0.2 and 0.4, one lost by 0.001 and -0.0004."""
    values = {
        "smoothperf": ([0.6, 0.9], [0.5, 0.5004]),
        "tuned linear": ([0.4, 0.5], [0.501, 0.5]),
        "LogisticRegression": ([0.4, 0.5], [0.501, 0.5]),
        "LinearSVC": ([0.3, 0.3], [0.6, 0.6]),
        "default logistic": ([0.1, 0.1], [0.1, 0.1]),
        "LightGBM": ([0.7, 0.9], [0.1, 0.1]),
    }
    return pages.Results(
        row(
            name,
            repeat,
            method,
            of[repeat],
            seconds=4.0 if method == "smoothperf" else 2.0,
            chosen="prbep, tight" if (name, repeat) == ("a", 1) else "squared_hinge, convex",
            positives=20 if name == "a" else 200,
        )
        for method, both in values.items()
        for name, of in zip("ab", both, strict=True)
        for repeat in (1, 0)  # the order in the file means nothing
    )


def cells(table):
    """The last line of a table."""
    return [cell.strip() for cell in table.splitlines()[-1].strip("|").split("|")]


def test_tables_of_invented_measurements(pages, invented):
    # Means 0.75 and 0.5002 against 0.45 and 0.5005: +0.3 and -0.0003, which is a tie.
    assert cells(pages.goals_table(invented)) == ["F1", "0.625", "0.475", "+0.150", "1 : 0", "1.000", "0.100", "0.450"]
    assert cells(pages.sets_table(invented)) == ["b", "1000", "300", "200", "0.000"]
    assert pages.sets_table(invented).splitlines()[2].endswith("| +0.300* |")
    assert cells(pages.choices_table(invented)) == ["F1", "3", "+0.066", "prbep, tight: 1", "+0.400"]
    assert cells(pages.noise_table(invented)) == ["F1", "+0.300 ± 0.141", "0.000 ± 0.001", "+0.150 ± 0.071"]
    assert cells(pages.seconds_table(invented)) == ["F1", "4.00", "2.00", "2.00", "2.00", "2 to 2"]


def test_repetitions_that_were_looked_at_are_told_from_others(pages):
    gains = (0.1, 0.2, 0.3, 0.5, 0.7)
    results = pages.Results(
        row(pages.SEEN[0], repeat, method, 0.1 + (gain if method == "smoothperf" else 0.0))
        for repeat, gain in enumerate(gains)
        for method in ("smoothperf", "tuned linear")
    )
    assert cells(pages.noise_table(results)) == ["F1", *["+0.360 ± 0.241"] * 2, "+0.600 ± 0.141"]


def test_ranks_share_places(pages, invented):
    # On a: LightGBM, ours, LogisticRegression, LinearSVC, default; on b: LinearSVC, LogisticRegression, ours, two last.
    assert dict(zip(pages.RANKED, pages.mean_ranks(invented, "f1"), strict=True)) == {
        "smoothperf": 2.5,
        "LogisticRegression": 2.5,
        "LinearSVC": 2.5,
        "default logistic": 4.75,
        "LightGBM": 2.75,
    }


def test_a_run_is_appended_and_not_repeated(pays, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0.7, 1, -1)
    dump_svmlight_file(X, y, str(tmp_path / "small.svm"), zero_based=False)
    asked = {("top", pays.OURS), ("top", pays.DEFAULT)}
    rows = pays.repetition(tmp_path, "small", 0, 50, asked)
    assert {(row["goal"], row["method"]) for row in rows} == asked
    assert all(row["train_rows"] == 50 and row["judge_rows"] == 20 for row in rows)
    assert all(0.0 <= float(row["value"]) <= 1.0 for row in rows)
    for row in rows:
        pays.append(tmp_path / "pays.csv", [row])
    assert pays.there(tmp_path / "pays.csv") == {("small", "50", "0", *pair) for pair in asked}


def test_features_are_chosen_once_and_count_for_every_goal(pays):
    features = importlib.import_module("benchmarks.features")
    X = np.random.default_rng(0).normal(size=(120, 2))
    y = X[:, 0] ** 2 + 0.3 * X[:, 1] > 1.0
    found = {(one.goal, one.method): one for one in features.ours(pays.Split(X, y, X, y), ("top", "prbep"))}
    assert found.keys() == {(goal, method) for goal in ("top", "prbep") for method in features.METHODS[:3]}
    assert found["prbep", "columns"].chosen.startswith("columns: ")
    bent = found["prbep", "features"]
    assert bent.chosen.split(":")[0] in ("curves", "kernel", "leaves")
    assert bent.value > found["prbep", "columns"].value + 0.1
    assert found["prbep", "log loss on them"].chosen == bent.chosen.split(":")[0] + ": log_loss, convex"
