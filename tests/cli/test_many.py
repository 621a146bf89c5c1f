"""Rows with many labels: from training to what uses the model, in tables and svmlight files."""

import csv

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import f1_score

import smoothperf

TOPICS = {"oil": "crude barrel opec", "grain": "wheat harvest crop", "money": "bank rate dollar", "sea": "ship port"}
OTHERS = np.array(["the", "of", "and", "in", "on", "for", "with", "as", "at", "by", "from", "up"])


def rows_of(n, seed):
    """A number, a text, and what it is about: nothing, or up to two topics, of which "sea" is rare."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        share = [0.4, 0.3, 0.25, 0.05]
        topics = sorted(rng.choice(list(TOPICS), size=rng.integers(0, 3), replace=False, p=share).tolist())
        words = [*rng.choice(OTHERS, size=8), *(w for t in topics for w in rng.choice(TOPICS[t].split(), size=2))]
        rows.append([round(rng.normal(), 2), " ".join(rng.permutation(words)), topics])
    return rows


def write(path, rows, separator=";"):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["size", "body", "topics"], *([*row[:2], separator.join(row[2])] for row in rows)])
    return path


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    return write(folder / "train.csv", rows_of(120, 0)), write(folder / "test.csv", rows_of(80, 1))


OPTIONS = ["--labels", "topics", "--text", "body"]


def test_texts_with_topics_from_training_to_use(run, run_json, tables, tmp_path):
    train, test = tables
    model = tmp_path / "model"
    said = run("train", train, *OPTIONS, "--bound", "convex", "--folds", "2", "-o", model)
    assert "Labels: 4, 0 to 2 a row, " in said.stdout
    assert "Choosing what to train each label with, to be good at macro-F1" in said.stdout
    assert "F1 on rows held out (2 folds): " in said.stdout
    assert " of 4: " in said.stderr

    expected = [row[2] for row in rows_of(80, 1)]
    labels = run("predict", model, test).stdout.splitlines()
    assert [line.split(";") if line else [] for line in labels] == run_json("predict", model, test)["labels"]
    rows = (expected, [line.split(";") for line in labels])
    indicators = [[[topic in row for topic in sorted(TOPICS)] for row in each] for each in rows]
    found = run_json("evaluate", model, test, "--labels", "topics", "--bootstrap", "20")
    for average in ("macro", "micro"):
        value = found["measures"][f"{average}_f1"]
        assert value["value"] == pytest.approx(f1_score(*indicators, average=average, zero_division=0))
        assert 0.5 < value["low"] <= value["value"] <= value["high"]
    assert [row["f1"] for row in found["labels"]] == sorted((row["f1"] for row in found["labels"]), reverse=True)
    shown = run("evaluate", model, test, "--bootstrap", "5").stdout
    assert "label  rows  predicted  precision  recall" in shown

    scores = list(csv.reader(run("predict", model, test, "--scores").stdout.splitlines()))
    assert scores[0] == sorted(TOPICS)
    assert [[float(cell) > 0.0 for cell in row] for row in scores[1:]] == indicators[1]
    assert set(run_json("predict", model, test, "--scores")["scores"]) == set(TOPICS)
    assert run("predict", model, test, "--id", "size").stdout.startswith("size,labels\n")

    top = run_json("weights", model, "--top", "1")["weights"]
    assert [row["label"] for row in top] == sorted(TOPICS)
    assert top[0]["feature"] in ("body: wheat", "body: harvest", "body: crop")
    assert "label  feature " in run("weights", model, "--top", "1").stdout
    run("report", model, test, "--labels", "topics", "--bootstrap", "5", "-o", tmp_path / "report.html")
    assert "The worst: " in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "other programs read models of one" in run("export", model, "--to", "sql", code=2).stderr


def test_micro_average_and_other_files(run, run_json, tables, tmp_path):
    train, _ = tables
    found = run_json("train", train, *OPTIONS, "--average", "micro", "-a", "1e-2", "-o", tmp_path / "model")
    assert (found["measure"], found["average"]) == ("f1", "micro")
    assert [row["label"] for row in found["labels"]] == sorted(TOPICS)
    assert found["data"]["labels"][-1]["label"] == "sea"
    new = write(tmp_path / "new.csv", [*rows_of(20, 2), [0.0, "of", ["sports", "oil"]]], separator="|")
    result = run("evaluate", tmp_path / "model", new, "--labels", "topics", "--separator", "|", "--bootstrap", "5")
    assert "Note: there is a label that training did not have, such as sports: they are not judged." in result.stderr
    assert "|" in run("predict", tmp_path / "model", train, "--separator", "|").stdout


@pytest.mark.parametrize("scale", ["standard", "none"])
def test_svmlight_with_several_labels_a_row(run, run_json, tmp_path, scale):
    rng = np.random.default_rng(0)
    Y = (rng.random((90, 3)) < 0.4).astype(int)
    Y[5] = 0
    X = (Y @ rng.normal(size=(3, 6)) + 0.3 * rng.normal(size=(90, 6))).round(3)
    path, model = tmp_path / "rows.svm", tmp_path / "model"
    dump_svmlight_file(X, Y, str(path), zero_based=False, multilabel=True)
    said = run("train", path, "-a", "1e-2", "--scale", scale, "-m", "jaccard", "-o", model)
    assert "Labels: 3, 0 to 3 a row" in said.stdout
    fitted = smoothperf.load(model)
    predicted = [
        [str(j) in line.split(";") for j in range(3)] for line in run("predict", model, path).stdout.split("\n")
    ]
    np.testing.assert_array_equal(predicted[:-1], fitted.predict(X).toarray())
    found = run_json("evaluate", model, path, "--bootstrap", "5")["measures"]
    assert found["jaccard"]["value"] == pytest.approx(fitted.score(X, [np.flatnonzero(row) for row in Y]))
    assert found["jaccard"]["low"] is None
    one = tmp_path / "one.svm"
    one.write_text("0 1:1\n 1:0.5 2:1\n2 1:1\n")
    run("evaluate", model, one, "--bootstrap", "5")


def test_one_label_of_three_for_each_row(run, run_json, csv_file, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    path = tmp_path / "rows.csv"
    X = np.eye(3)[y][:, :2] + 0.2 * rng.normal(size=(60, 2))
    lines = [f"{x:.3f},{z:.3f},{'abc'[k]}" for k, (x, z) in zip(y, X, strict=True)]
    path.write_text("x,z,kind\n" + "\n".join(lines) + "\n")
    options = ["--label", "kind", "-o", tmp_path / "model"]
    assert "or train all of them with --average macro" in run("train", path, *options, code=2).stderr
    run("train", path, *options, "--average", "macro", "-a", "1e-3")
    assert set(run("predict", tmp_path / "model", path).stdout.split()) == set("abc")
    assert len(run_json("evaluate", tmp_path / "model", path, "--label", "kind", "--bootstrap", "5")["labels"]) == 3
    refused = run("train", csv_file, "--label", "kind", "--average", "macro", "-o", tmp_path / "m", code=2).stderr
    assert "--average is for many labels, and" in refused


def test_rows_of_length_one_are_not_scaled_and_labels_that_tell_nothing_are_named(run, run_json, tmp_path):
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(60, 12))) * (rng.random((60, 12)) < 0.2)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    path, model = tmp_path / "rows.svm", tmp_path / "model"
    Y = np.column_stack([X[:, 0] > 0.0, X[:, 1] > 0.0, X[:, 2] > 0.0]).astype(int)
    dump_svmlight_file(X, Y, str(path), multilabel=True)
    said = run("train", path, "-a", "1e-3", "-o", model)
    assert "All rows have length 1, as those of texts have, and stay as they are (--scale)" in said.stdout
    assert run_json("train", path, "-a", "1e-3", "--scale", "maxabs", "-o", model)["scale"] == "maxabs"
    found = run_json("train", path, "-a", "1e3", "-o", model, code=1)
    assert (found["scale"], found["constant"]) == ("none", [0, 1, 2])
    assert found["notes"] == [
        "all rows have the same score for 3 of the labels (0, 1, 2): leave out --alpha, or give a smaller one."
    ]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--validation", "x"], "--validation is for one label, and these rows have many: leave it out."),
        (["--at", "rate=5%"], "--at is for one label"),
        (["--solver", "newton"], "--solver is for one label"),
        (["--features", "additive"], "--features is for one label"),
        (["--average", "mean"], "--average must be one of 'macro', 'micro', got 'mean'"),
        (["--average", "micro", "-m", "roc_area"], 'average="micro" adds up counts of decisions'),
    ],
)
def test_options_that_are_for_one_label(run, tables, tmp_path, options, reason):
    result = run("train", tables[0], *OPTIONS, "-q", *options, "-o", tmp_path / "model", code=2)
    assert reason in result.stderr


def test_mistakes_of_names_and_signs_are_named(run, tables, tmp_path):
    rows = [row for row in rows_of(60, 3) if row[2]]
    path = write(tmp_path / "full.csv", rows)
    refused = run("train", path, "--label", "topics", "-o", tmp_path / "m", code=2).stderr
    assert "a row has the label grain;money; if these are several, say --labels in place of --label" in refused
    path = write(tmp_path / "commas.csv", rows, separator=", ")
    noted = run("train", path, *OPTIONS, "-a", "1", "-o", tmp_path / "m", code=None).stderr
    assert "labels have ',' in them; if it separates them, say --separator ','." in noted
    said = run("train", path, *OPTIONS, "--separator", ",", "-a", "1e-2", "-o", tmp_path / "m")
    assert "Labels: 3, 1 to 2 a row" in said.stdout
    assert "separates" not in said.stderr


def test_commands_that_are_for_one_label(run, tables, tmp_path):
    rows = tmp_path / "rows.svm"
    rows.write_text("1,2 1:1\n2 1:2\n")
    assert "its rows have any number of labels, and this command is for one label" in run("path", rows, code=2).stderr
