"""Features on the command line: curves of tables and of numbers, monotone by name, saved, exported, reported."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

import smoothperf


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """Buyers are neither young nor old, and hardly far away; towns matter, and some ages are missing."""
    rng = np.random.default_rng(0)
    n = 500
    frame = pd.DataFrame(
        {
            "age": rng.uniform(18, 80, n).round(1),
            "distance": rng.exponential(10.0, n).round(1),
            "town": rng.choice(["Rome", "Oslo", "Bonn"], n),
            "since": (np.datetime64("2024-01-01") + rng.integers(0, 500, n)).astype(str),
        }
    )
    score = 2.0 - np.abs(frame["age"] - 50.0) / 8.0 + (frame["town"] == "Rome") - np.sin(frame["distance"] / 4.0)
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame["bought"] = np.where(score + rng.normal(size=n) > 0.5, "yes", "no")
    path = tmp_path_factory.mktemp("people") / "people.csv"
    frame.to_csv(path, index=False)
    return path


def scores(run, model, data):
    return np.array(run("predict", model, data, "--scores").stdout.split(), dtype=float)


def test_monotone_curves_of_a_table_are_saved_exported_and_reported(run, people, tmp_path):
    model = tmp_path / "model"
    options = ("--label", "bought", "--monotone", "distance=-,age=+", "-m", "roc_area", "-a", "1e-3")
    run("train", people, *options, "-o", model)
    frame = pd.read_csv(people)
    one = frame.drop(columns="bought").iloc[[0] * 100]
    one.assign(distance=np.linspace(0.0, 80.0, 100)).to_csv(tmp_path / "one.csv", index=False)
    assert np.diff(scores(run, model, tmp_path / "one.csv")).max() <= 1e-12
    with sqlite3.connect(":memory:") as database:
        frame.to_sql("people", database, index=False)
        found = database.execute(f"SELECT ({run('export', model, '--to', 'sql').stdout}) FROM people").fetchall()
    np.testing.assert_allclose(np.ravel(found), scores(run, model, people), rtol=0.0, atol=1e-9)
    assert "| distance |" in run("export", model, "--to", "scorecard").stdout
    run("report", model, people, "--label", "bought", "-o", tmp_path / "page.html", "--bootstrap", 2)
    assert "What the columns add" in (tmp_path / "page.html").read_text("utf-8")
    assert "columns; the score is" in run("weights", model).stdout
    assert smoothperf.load(model).gap_ <= 1e-3


def test_curves_of_numbers_are_chosen(run, run_json, people, tmp_path):
    frame = pd.read_csv(people)[["age", "distance", "bought"]].dropna()
    frame.to_csv(tmp_path / "numbers.csv", index=False)
    numbers = (tmp_path / "numbers.csv", "--label", "bought", "-m", "roc_area", "--folds", 2)
    run("train", *numbers, "--features", "additive", "-o", tmp_path / "curves")
    run("train", *numbers, "--features", "linear", "-o", tmp_path / "lines")
    judged = [
        run_json("evaluate", tmp_path / name, tmp_path / "numbers.csv", "--label", "bought", "--bootstrap", 2)
        for name in ("curves", "lines")
    ]
    area = [found["measures"]["roc_area"]["value"] for found in judged]
    assert area[0] > area[1] + 0.05
    assert '"age"' in run("export", tmp_path / "curves", "--to", "sql").stdout


def test_what_is_chosen_from_unless_the_user_says(run, people, tmp_path, monkeypatch):
    """Everything for a table; columns as they are where it is large, or where options speak of columns."""
    train = ("train", people, "--label", "bought", "-m", "roc_area", "--folds", 2, "-o", tmp_path / "model")
    assert "Features: " in run(*train).stdout
    assert "Features: " not in run(*train, "--l1-ratio", 0.5).stdout
    assert "Features: " not in run(*train, "--features", "linear").stdout
    monkeypatch.setattr("smoothperf.cli._bends.MANY_NUMBERS", 1000)
    assert "Features: " not in run(*train).stdout


def test_options_that_do_not_go_together(run, people, train_file, tmp_path):
    table = ("train", people, "--label", "bought", "-o", tmp_path / "model", "--quiet")
    assert "no such column" in run(*table, "--monotone", "income=+", code=2).stderr
    assert "say COLUMN=+" in run(*table, "--monotone", "age=up", code=2).stderr
    assert "'town' is none" in run(*table, "--monotone", "town=+", "-a", "1", code=2).stderr
    assert "is for curves" in run(*table, "--monotone", "age=+", "--features", "kernel", code=2).stderr
    assert "is a choice" in run(*table, "--features", "auto", "-a", "1", code=2).stderr
    sparse = ("train", train_file, "-o", tmp_path / "model", "--features", "additive", "--quiet")
    assert "its columns are sparse" in run(*sparse, code=2).stderr


def test_features_of_words_are_chosen(run, people, tmp_path):
    """Kernels and leaves want dense columns; many towns make those of the table sparse."""
    rng = np.random.default_rng(1)
    frame = pd.read_csv(people)
    frame["street"] = [f"{number} street" for number in rng.integers(0, 40, len(frame))]
    frame.to_csv(tmp_path / "streets.csv", index=False)
    many = (
        "train",
        tmp_path / "streets.csv",
        "--label",
        "bought",
        "-m",
        "roc_area",
        "--folds",
        2,
        "-o",
        tmp_path / "m",
    )
    told = run(*many, "--features", "auto")
    worth = told.stdout.split(" on rows held out: ")[1].split("\n")[0]
    assert [each.split()[0] for each in worth.split(", ")] == ["linear", "additive", *["kernel"] * 3, "leaves"]
    run(*many, "--features", "leaves", "--alpha", 0.01)
    assert scores(run, tmp_path / "m", tmp_path / "streets.csv").std() > 0.0


def test_curves_are_compared_with_lines(run_json, people):
    options = ("--label", "bought", "-m", "roc_area", "--test", people, "--bootstrap", 2)
    found = run_json("compare", people, *options, "--features", "additive")
    areas = {model["name"]: model["measures"]["roc_area"]["value"] for model in found["models"]}
    assert found["features"] == "additive"
    assert areas["for ROC area"] > areas["LogisticRegression"] + 0.1


def test_paths_of_curves(run, run_json, people):
    options = ("--label", "bought", "-m", "roc_area", "--n-alphas", 4)
    best = [
        max(run_json("path", people, *options, *more)["validation_scores"]) for more in ([], ["--features", "additive"])
    ]
    assert best[1] > best[0] + 0.1
    refused = run("path", people, *options, "--features", "kernel", code=2)
    assert "linear, additive or leaves" in refused.stderr


def test_weights_of_leaves_are_not_of_columns(run, people, tmp_path):
    run("train", people, "--label", "bought", "--features", "leaves", "-a", 0.01, "-o", tmp_path / "leaves")
    words = " ".join(run("weights", tmp_path / "leaves").stdout.split())
    assert "They are for features that Leaves makes of the columns." in words
