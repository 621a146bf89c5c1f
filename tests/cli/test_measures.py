"""Every measure through every command: train, evaluate, predict, report, path and compare."""

import re

import numpy as np
import pytest

import smoothperf
from smoothperf.measures import MEASURE_NAMES, get_measure

#: How far a number with four digits may be from what it stands for; of ties, both neighbours are as near.
ROUNDED = 5.001e-5
#: Those that fit the 200 rows of the test file, and how the screen calls their scores.
TITLES = {
    "prbep": "PRBEP",
    "roc_area": "ROC area",
    "roc_area@0.1": "ROC area@0.1",
    "precision@30": "precision@30",
    "recall@5%": "recall@0.05",
    "error_rate": "accuracy",
    "error_rate@10:1": "accuracy with costs 10:1",
    "balanced_accuracy": "balanced accuracy",
    "pos@top": "pos@top",
    "mcc": "MCC",
    "log_loss": "minus log loss",
    "average_precision": "average precision",
    "recall@precision=70%": "recall@precision=0.7",
    "recall@fpr=0.1": "recall@fpr=0.1",
}


@pytest.mark.parametrize("measure", TITLES)
def test_train_evaluate_and_report(run, run_json, train_file, test_file, examples, tmp_path, measure):
    model_path = tmp_path / "model"
    trained = run("train", train_file, "-m", measure, "-a", "1e-3", "-o", model_path)
    model = smoothperf.load(model_path)
    assert model.measure == measure
    X, y = examples(300, 0)
    training_score = model.score(X, y)
    said = re.search(r"^(.*) on these rows: (-?\d\.\d{4})$", trained.stdout, re.MULTILINE)
    assert float(said[2]) == pytest.approx(training_score, abs=ROUNDED)
    X, y = examples(200, 1)
    score, name = model.score(X, y), get_measure(measure).name
    rows = dict(
        re.findall(
            r"^(.+?) {2,}(-?\d\.\d{4}) +-?\d\.\d{4} +-?\d\.\d{4}$",
            run("evaluate", model_path, test_file, "--bootstrap", 10).stdout,
            re.MULTILINE,
        )
    )
    assert float(rows[TITLES[measure]]) == pytest.approx(score, abs=ROUNDED)
    document = run_json("evaluate", model_path, test_file, "--bootstrap", 20)
    found = document["measures"]["accuracy" if name == "error_rate" else name]
    assert found["value"] == pytest.approx(score)
    assert found["low"] <= found["high"] <= 1.0
    assert found["low"] >= 0.0 or measure == "log_loss"
    run("report", model_path, test_file, "-o", tmp_path / "report.html", "--bootstrap", 10)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert f"{score:.4f}" in page
    labels = np.array(run("predict", model_path, test_file, "-q").stdout.split(), dtype=int)
    np.testing.assert_array_equal(labels, model.predict(X))


@pytest.mark.parametrize("measure", ["roc_area@0.2", "precision@20", "balanced_error_rate"])
def test_path_and_alpha_auto(run_json, train_file, tmp_path, measure):
    path = run_json("path", train_file, "-m", measure, "--n-alphas", 4)
    assert path["measure"] == measure
    assert max(path["gaps"]) <= 1e-3
    found = run_json("train", train_file, "-m", measure, "-a", "auto", "--folds", 2, "-o", tmp_path / "model")
    assert found["converged"]


def test_compare_has_a_column_for_what_is_trained_for(run_json, run, train_file, test_file):
    measures = ["error_rate", "precision@10", "precision@recall=0.8", "roc_area@0.1"]
    chosen = [argument for measure in measures for argument in ("-m", measure)]
    found = run_json("compare", train_file, "--test", test_file, "--bootstrap", 20, *chosen)
    columns = ["prbep", "roc_area", "average_precision", "f1", "accuracy", *measures[1:]]
    assert [model["trained_for"] for model in found["models"][:4]] == ["accuracy", *measures[1:]]
    for model in found["models"]:
        assert list(model["measures"]) == columns
        for values in model["measures"].values():
            assert 0.0 <= values["low"] <= values["value"] + 0.1 <= 1.1
    assert [verdict.split(":")[0] for verdict in found["verdicts"][-3:]] == [
        "precision@10",
        "precision@recall=0.8",
        "ROC area@0.1",
    ]


def test_goals_are_cut_on_validation_rows(run, run_json, train_file, test_file, examples, tmp_path):
    arguments = ("train", train_file, "-m", "recall@fpr=0.1", "-a", "1e-3", "-o", tmp_path / "model")
    assert run_json(*arguments)["expected"] is None
    found = run_json(*arguments, "--validation", test_file)["expected"]
    model = smoothperf.load(tmp_path / "model")
    assert model.expected_ == found
    X, y = examples(200, 1)
    predicted = model.predict(X) == 1
    assert found["fpr"]["value"] == predicted[y == -1].mean()
    assert found["fpr"]["high"] <= 0.1
    assert found["recall"]["value"] == predicted[y == 1].mean()
    said = run(*arguments, "--validation", test_file).stdout
    assert f"false positive rate at most {found['fpr']['high']:.4f} ({found['fpr']['value']:.4f} there)" in said
    assert f"recall at least {found['recall']['low']:.4f}" in said


def test_newton_by_name(run_json, run, train_file, tmp_path):
    arguments = ("train", train_file, "--solver", "newton", "-a", "1e-3", "-o", tmp_path / "model")
    assert run_json(*arguments, "-m", "precision@50", "--tol", "1e-6")["gap"] <= 1e-6
    assert 'use "lbfgs"' in run(*arguments, "-m", "f1", "-q", code=2).stderr


def test_too_few_rows_for_k(run, train_file, test_file, tmp_path):
    model_path = tmp_path / "model"
    run("train", train_file, "-m", "recall@250", "-a", "1e-3", "-o", model_path)
    result = run("evaluate", model_path, test_file, "--bootstrap", 10)
    note = " ".join(result.stderr.split())
    assert "recall@250 needs at least 250 examples, but 200 examples are there" in note
    assert "recall@250 " not in result.stdout
    run("report", model_path, test_file, "-o", tmp_path / "report.html", "--bootstrap", 10)


@pytest.mark.parametrize("command", ["train", "path"])
def test_unknown_measures_are_noticed_before_the_file_is_read(run, tmp_path, command):
    output = ("-o", tmp_path / "model") if command == "train" else ()
    result = run(command, tmp_path / "missing.svm", *output, "-m", "precision@0", code=2)
    assert "measure 'precision@0' cannot be read: k must be a whole number of at least 1" in result.stderr
    assert "Did you mean" not in result.stderr
    assert "Did you mean 'f1'?" in run(command, tmp_path / "missing.svm", *output, "-m", "f11", code=2).stderr


@pytest.mark.parametrize("command", ["train", "path"])
def test_help_names_all_measures(run, command):
    text = "".join(run(command, "--help").stdout.split())
    for name in MEASURE_NAMES:
        assert name in text.replace("│", "")
