"""``smoothperf weights``: what the features of a model weigh."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import smoothperf
from smoothperf.estimators.weights import most_important, unscaled_intercept, unscaled_weights


@pytest.fixture
def named(run, examples, tmp_path):
    """A model of named columns of very different sizes."""
    X, y = examples(300, 0)
    table = pd.DataFrame(X * [1.0, 100.0, 1.0, 1.0], columns=["a", "b", "c,d", "e"])
    table["kind"] = np.where(y > 0, "spam", "ham")
    table.to_csv(tmp_path / "train.csv", index=False)
    run("train", tmp_path / "train.csv", "--label", "kind", "--alpha", 0.01, "-q", "-o", tmp_path / "named.model")
    return tmp_path / "named.model"


def test_largest_first_and_for_the_positive_label(run, named):
    result = run("weights", named)
    model = smoothperf.load(named)
    weights = unscaled_weights(model)
    order = np.argsort(-np.abs(weights))
    rows = [line.rsplit(maxsplit=1) for line in result.stdout.splitlines() if line[:3] in ("a  ", "b  ", "c,d", "e  ")]
    assert [row[0].strip() for row in rows] == [model.feature_names_in_[i] for i in order]
    np.testing.assert_allclose([float(row[1]) for row in rows], weights[order], rtol=1e-5)
    words = " ".join(result.stdout.split())
    assert "4 features; weights above 0 speak for spam, the positive label" in words
    assert "as they are in the data, not scaled" in words
    assert float(rows[0][1]) > 0.0


def test_the_first_few(run, run_json, named, model_file):
    assert "and 3 smaller ones; --top 4 shows all" in run("weights", named, "--top", 1).stdout
    found = run_json("weights", model_file, "--top", 2)
    model = smoothperf.load(model_file)
    assert (found["features"], found["in_the_model"], found["intercept"]) == (4, 4, model.intercept_[0])
    # Indices as in the svmlight file, which counts from 1.
    assert found["weights"][0] == {"feature": "feature 1", "weight": model.coef_[0, 0]}
    assert len(found["weights"]) == 2


def test_csv_has_all_of_them_exactly(run, named, tmp_path):
    result = run("weights", named, "-o", tmp_path / "weights.csv")
    with open(tmp_path / "weights.csv", encoding="utf-8", newline="") as file:
        header, *rows, last = csv.reader(file)
    assert header == ["feature", "weight"]
    model = smoothperf.load(named)
    assert last == ["(intercept)", repr(unscaled_intercept(model))]
    assert {name: float(weight) for name, weight in rows} == dict(
        zip(model.feature_names_in_, unscaled_weights(model), strict=True)
    )
    assert f"Saved: {tmp_path / 'weights.csv'}, 4 of 4 weights" in result.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["named.model", "train.csv", "weights.csv"]
    assert "is a folder" in run("weights", named, "-o", tmp_path, code=2).stderr


def test_weights_of_zero_are_left_out(run, run_json, named):
    model = smoothperf.load(named)
    model.coef_[0, [0, 2]] = 0.0
    model.save(named)
    found = run_json("weights", named)
    assert [row["feature"] for row in found["weights"]] == ["e", "b"]
    assert "2 of 4 features in the model" in run("weights", named).stdout


def test_the_other_label_is_positive(run, run_json, examples, tmp_path):
    X, y = examples(300, 0)
    model = smoothperf.MeasureClassifier(pos_label=-1).fit(X, y)
    model.save(tmp_path / "model")
    found = run_json("weights", tmp_path / "model")
    assert found["weights"][0] == {"feature": "column 0", "weight": -model.coef_[0, 0]}
    assert found["intercept"] == -model.intercept_[0]


def test_rankers_have_weights(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    smoothperf.MeasureRanker().fit(X, (X[:, 1] > 0).astype(int), qid=np.repeat(np.arange(4), 10)).save(tmp_path / "r")
    assert json.loads(run("weights", tmp_path / "r", "--json").stdout)["weights"][0]["feature"] == "column 1"
    assert "speak for a better place" in run("weights", tmp_path / "r").stdout


def test_most_important_is_sorting():
    rng = np.random.default_rng(0)
    values = rng.integers(-5, 6, size=200).astype(float)
    for count in (0, 1, 7, 150, 500):
        found = most_important(values, count)
        sizes = np.sort(np.abs(values[values != 0.0]))[::-1]
        np.testing.assert_array_equal(np.abs(values[found]), sizes[:count])


def test_effects_of_columns(run, run_json, monkeypatch, tmp_path):
    from export_tables import FEATURES, fitted

    model, frame = fitted(FEATURES["curves of a table"])
    monkeypatch.setattr("smoothperf.cli.weights.load", lambda path: model)
    found = run_json("weights", "any")
    ages = [row for row in found["effects"] if row["column"] == "age"]
    assert min(row["adds"] for row in ages) == 0.0
    assert ages[-1]["value"] == "missing"
    text = run("weights", "any", "--top", 1, "--figure", tmp_path / "shapes.png").stdout
    assert "speaks for yes, the positive label" in " ".join(text.split())
    assert "columns that move it less" in text
    assert (tmp_path / "shapes.png").stat().st_size > 1000
    run("weights", "any", "-o", tmp_path / "effects.csv")
    with open(tmp_path / "effects.csv", encoding="utf-8", newline="") as file:
        header, *rows, last = csv.reader(file)
    assert header == ["column", "value", "adds"]
    assert last[0] == "(base)"
    steps = {row[1]: float(row[2]) for row in rows if row[0] == "town"}
    two = frame.iloc[[5, 5]].assign(town=["Rome", "Köln"])
    difference = np.subtract(*model.positive_scores(two))
    assert steps["Rome"] - steps["Köln"] == pytest.approx(difference, abs=1e-9)
