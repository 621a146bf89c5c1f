"""``smoothperf evaluate --cost``: the total cost of errors, where every row has its own."""

import csv

import numpy as np
import pandas as pd
import pytest

import smoothperf


@pytest.fixture
def table(csv_file, tmp_path):
    """The rows of ``csv_file``, spam with costs of their own, and these costs."""
    with open(csv_file, encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    costs = [round(10.0 * abs(float(row[1])), 2) if row[-1] == "spam" else 1.0 for row in rows]
    path = tmp_path / "costs.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([[*head, "price"], *([*row, cost] for row, cost in zip(rows, costs, strict=True))])
    return path, np.array(costs)


@pytest.fixture
def model(run, csv_file, tmp_path):
    run("train", csv_file, "--label", "kind", "-a", "0.1", "-o", tmp_path / "model")
    return tmp_path / "model"


def test_the_total_is_that_of_the_wrong_rows(run_json, run, table, model, csv_file):
    path, costs = table
    found = run_json("evaluate", model, path, "--label", "kind", "--cost", "price", "--bootstrap", "50")["costs"]
    rows = pd.read_csv(csv_file).drop(columns="kind")
    spam = np.loadtxt(csv_file, delimiter=",", skiprows=1, usecols=4, dtype=str) == "spam"
    predicted = smoothperf.load(model).predict(rows) == "spam"
    assert found["column"] == "price"
    assert found["model"]["value"] == pytest.approx(costs[predicted != spam].sum())
    assert found["none"]["value"] == pytest.approx(costs[spam].sum())
    assert found["all"]["value"] == pytest.approx((~spam).sum())
    for name in ("model", "none", "all"):
        assert found[name]["low"] < found[name]["value"] < found[name]["high"]
    shown = run("evaluate", model, path, "--label", "kind", "--cost", "price", "--bootstrap", "50").stdout
    assert f"{found['none']['value']:,.2f}" in shown


@pytest.mark.parametrize(
    ("cell", "message"),
    [("-1", "row 2: the cost, column 'price', must be 0 or more, got '-1'"), ("much", "got 'much'"), ("", "got ''")],
)
def test_what_is_no_cost_is_named(run, table, model, cell, message):
    path, _ = table
    lines = path.read_text("utf-8").splitlines()
    lines[2] = f"{lines[2].rpartition(',')[0]},{cell}"
    path.write_text("\n".join(lines), "utf-8")
    assert message in run("evaluate", model, path, "--label", "kind", "--cost", "price", "-q", code=2).stderr


def test_costs_need_columns_that_are_there(run, table, model, model_file, test_file):
    path, _ = table
    told = run("evaluate", model, path, "--label", "kind", "--cost", "prize", "-q", code=2).stderr
    assert "there is no column 'prize'" in told
    told = run("evaluate", model_file, test_file, "--cost", "price", "-q", code=2).stderr
    assert "an svmlight file has no column 'price'" in told
