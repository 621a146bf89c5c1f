"""Tables as people have them, from training to prediction; one class against the rest; ids."""

import csv
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import smoothperf
from smoothperf.io.model_file import ModelFileError


def table_of(n, seed, *, columns=("id", "age", "town", "bought")):
    """Rows with missing ages and towns; who lives in Rome or is young buys."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(n):
        age, town = int(rng.integers(20, 70)), str(rng.choice(["Rome", "Oslo", "Bonn"]))
        bought = "yes" if (town == "Rome") + (age < 40) + rng.normal(scale=0.3) > 0.8 else "no"
        row = {"id": f"c-{number}", "age": age, "town": town, "bought": bought}
        if rng.random() < 0.15:
            row["age"] = ""
        if rng.random() < 0.1:
            row["town"] = "NA"
        rows.append([row[name] for name in columns])
    return [list(columns), *rows]


def write(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture
def train(tmp_path):
    return write(tmp_path / "train.csv", table_of(200, 0))


@pytest.fixture
def model(run, train, tmp_path):
    result = run("train", train, "--label", "bought", "-o", tmp_path / "model")
    assert "column 'id' is dropped: nearly every row has a word of its own" in result.stderr
    return tmp_path / "model"


def test_words_and_missing_values_from_training_to_the_report(run, run_json, model, tmp_path):
    test = write(tmp_path / "test.csv", table_of(100, 1, columns=("town", "bought", "age")))
    found = run_json("evaluate", model, test, "--label", "bought", "--bootstrap", "20")
    assert found["measures"]["roc_area"]["value"] > 0.85
    run("report", model, test, "--label", "bought", "-o", tmp_path / "report.html", "--bootstrap", "5")
    new = write(
        tmp_path / "new.csv", [row[:1] + row[2:] for row in table_of(100, 1, columns=("town", "bought", "age"))]
    )
    assert run("predict", model, new).stdout == run("predict", model, test).stdout
    fitted = smoothperf.load(model)
    assert fitted.feature_names_in_.tolist() == ["id", "age", "town"]
    towns = [f"town={name}" for name in ("Bonn", "Oslo", "Rome")]
    assert fitted.feature_names.tolist() == ["age", "age missing", *towns, "town missing"]


def test_columns_that_lack_are_named(run, model, tmp_path):
    new = write(tmp_path / "new.csv", table_of(5, 1, columns=("id", "age")))
    assert "it lacks the column 'town' of training; new are 'id'" in run("predict", model, new, code=2).stderr


def test_the_column_of_labels_is_remembered(run, run_json, model, test_file, tmp_path):
    rows = table_of(60, 1)
    test = write(tmp_path / "test.csv", rows)
    told = run("evaluate", model, test, "--bootstrap", "2").stdout
    assert told.startswith("Labels: column bought, as in training\n")
    named = run("evaluate", model, test, "--label", "bought", "--bootstrap", "2").stdout
    assert told.split("\n", 1)[1] == named
    run("report", model, test, "-o", tmp_path / "report.html", "--bootstrap", "2")
    other = write(tmp_path / "other.csv", [["id", "age", "town", "buys"], *rows[1:]])
    assert "there is no column 'bought' for the labels" in run("evaluate", model, other, code=2).stderr
    assert run_json("evaluate", model, other, "--label", "buys", "--bootstrap", "2")["measures"]["f1"]["value"] > 0.5
    result = run("evaluate", model, test_file, code=2)  # which has labels, but no columns
    assert "no named columns" in result.stderr


def test_other_commands_take_such_tables(run_json, train, tmp_path):
    """Towns and ages tell who buys, whatever columns are in another order."""
    other = write(tmp_path / "other.csv", table_of(100, 2, columns=("bought", "town", "age")))
    options = ["--label", "bought"]
    chosen = run_json("train", train, *options, "-a", "auto", "--validation", other, "-o", tmp_path / "m")
    assert chosen["choice"]["score"] > 0.8
    assert run_json("path", train, *options, "--validation", other)["best_alpha"] > 0.0
    told = run_json("compare", train, *options, "--test", other, "--bootstrap", "10", "--measure", "prbep")
    assert len(told["models"]) > 2


def test_ids_are_taken_along(run, run_json, model, tmp_path):
    rows = table_of(6, 3)
    rows[1][0], rows[2][0], rows[3][0] = "NA", "two\nlines", 'quo"te, comma'
    new = write(tmp_path / "new.csv", rows)
    labels = run("predict", model, new).stdout.splitlines()
    table = list(csv.reader(run("predict", model, new, "--id", "id").stdout.splitlines()))
    ids = ["NA", r"two\nlines", 'quo"te, comma', "c-3", "c-4", "c-5"]
    assert table == [["id", "label"], *([a, b] for a, b in zip(ids, labels, strict=True))]
    found = run_json("predict", model, new, "--id", "id", "--scores")
    assert found["ids"][3:] == ids[3:]
    assert len(found["scores"]) == 6
    run("predict", model, new, "--id", "id", "--scores", "-o", tmp_path / "scores.csv")
    assert (tmp_path / "scores.csv").read_text().startswith("id,score\nNA,")
    assert "there is no column 'ID'; there are 'id', 'age'" in run("predict", model, new, "--id", "ID", code=2).stderr


def train_on_numbers(run, folder):
    rows = [["x", "y"], *([number, number % 2] for number in range(20))]
    told = write(folder / "train.csv", rows), "--label", "y", "--features", "linear", "-q"
    run("train", *told, "-o", folder / "model")


def test_ids_of_tables_of_numbers(run, tmp_path):
    train_on_numbers(run, tmp_path)
    new = write(tmp_path / "new.csv", [["key", "x"], ["a", 1], ["b", 2]])
    assert len(run("predict", tmp_path / "model", new, "--id", "key").stdout.splitlines()) == 3
    svm = tmp_path / "new.svm"
    svm.write_text("# two rows\n0 1:1 # doc = a, b\n\n0 1:19\n")
    assert "'comment' is what follows a #" in run("predict", tmp_path / "model", svm, "--id", "key", code=2).stderr
    lines = run("predict", tmp_path / "model", svm, "--id", "comment").stdout.splitlines()
    labels = run("predict", tmp_path / "model", svm).stdout.splitlines()
    assert lines == ["comment,label", f'"doc = a, b",{labels[0]}', f",{labels[1]}"]


def test_ids_of_parquet_files_are_exact(run, tmp_path):
    train_on_numbers(run, tmp_path)
    keys = [2**53 + 1, None, 7]
    frame = pd.DataFrame(
        {
            "x": [1, 2, 3],
            "key": pd.array(keys, dtype="Int64"),
            "day": pd.date_range("2024-02-28", periods=3),
            "s": "007",
        }
    )
    frame.to_parquet(tmp_path / "new.parquet")

    def ids(column):
        lines = run("predict", tmp_path / "model", tmp_path / "new.parquet", "--id", column).stdout.splitlines()
        return [line.partition(",")[0] for line in lines]

    assert ids("key") == ["key", "9007199254740993", "", "7"]
    assert ids("s") == ["s", "007", "007", "007"]
    assert ids("day")[3].startswith("2024-03-01")
    message = run("predict", tmp_path / "model", tmp_path / "new.parquet", "--id", "no", code=2).stderr
    assert "there is no column 'no'; there are 'x', 'key'" in message


def test_one_against_the_rest(run, run_json, tmp_path):
    rng = np.random.default_rng(0)
    rows = [["x", "z", "kind"]]
    for number in range(90):
        kind = "abc"[number % 3]
        rows.append([rng.normal() + 3 * (kind == "b"), rng.normal(), kind])
    data = write(tmp_path / "three.csv", rows)
    message = run("train", data, "--label", "kind", "-o", tmp_path / "m", code=2).stderr
    assert f"smoothperf train {data} --label kind --pos-label a -o a.model and then the same for b, c; or" in message
    result = run("train", data, "--label", "kind", "--pos-label", "b", "-o", tmp_path / "b.model")
    assert "Positive: 30 (33.33%) labelled b; negative: 60 labelled not b" in result.stdout
    found = run_json("evaluate", tmp_path / "b.model", data, "--label", "kind", "--bootstrap", "5")
    assert found["measures"]["roc_area"]["value"] > 0.9
    assert set(run("predict", tmp_path / "b.model", data).stdout.split("\n")) == {"b", "not b", ""}


def test_an_encoder_that_does_not_fit_the_model_is_damage(model, tmp_path):
    with zipfile.ZipFile(model) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["smoothperf-model.json"])
    header["model"]["fitted"]["features_"]["fitted"]["columns_"].pop()
    members["smoothperf-model.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(tmp_path / "other", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match=r"coef_ must be an array of float64 of shape \(1, 2\)"):
        smoothperf.load(tmp_path / "other")


def test_columns_beside_the_rows_have_the_encoding_of_the_file(run, run_json, model, tmp_path):
    rows = [[*row, "price" if number == 0 else "1.5"] for number, row in enumerate(table_of(40, 1))]
    rows[1][0] = "Zoë"
    (tmp_path / "new.csv").write_text("\n".join(",".join(map(str, row)) for row in rows), encoding="latin-1")
    given = (tmp_path / "new.csv", "--encoding", "latin-1")
    assert run("predict", model, *given, "--id", "id").stdout.splitlines()[1].startswith("Zoë,")
    found = run_json("evaluate", model, *given, "--label", "bought", "--cost", "price", "--bootstrap", "5")
    assert found["costs"]["column"] == "price"
