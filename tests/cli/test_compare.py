"""``smoothperf compare``: the matrix, its words, its JSON."""

import re

import pytest

MODELS = ["for PRBEP", "for ROC area", "LogisticRegression", "LinearSVC", "HistGradientBoosting"]
MEASURES = ["prbep", "roc_area", "average_precision", "f1", "accuracy"]


@pytest.fixture(scope="module")
def printed(train_file, test_file):
    from typer.testing import CliRunner

    from smoothperf.cli import app

    arguments = ["compare", str(train_file), "--test", str(test_file), "--bootstrap", "50"]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return result


def test_every_model_by_every_measure(printed):
    rows = re.findall(r"^(\S.*?) {2,}((?:[01]\.\d{4}[* ] +){5})[\d.]+ *$", printed.stdout, re.MULTILINE)
    assert [name for name, _ in rows] == MODELS
    columns = list(zip(*(re.findall(r"\d\.\d{4}\*?", values) for _, values in rows), strict=True))
    assert len(columns) == 5
    for column in columns:
        best = max(value.rstrip("*") for value in column)
        assert any(value == f"{best}*" for value in column)


def test_words_for_every_measure(printed):
    text = " ".join(printed.stdout.split())
    for name in ("PRBEP", "ROC area", "average precision", "F1", "accuracy"):
        assert re.search(rf"{name}: (a tie\.|training for .* (pays|does not pay|is ahead|is behind):)", text), name
    assert all(
        len(line) <= 80 for line in printed.stdout.splitlines() if "test.svm" not in line and "train.svm" not in line
    )
    assert "…" not in printed.stdout


def test_progress_is_on_standard_error(printed):
    lines = printed.stderr.splitlines()
    assert len(lines) == len(MODELS)
    assert re.fullmatch(r"for PRBEP, split 1 of 1: [\d.]+ s", lines[0])


def test_json_by_cross_validation(run_json, train_file):
    found = run_json("compare", train_file, "--folds", 2, "--bootstrap", 20, "-m", "roc_area", "--solver", "bmrm")
    assert [model["name"] for model in found["models"]] == ["for ROC area", *MODELS[2:]]
    assert found["splits"] == 2
    assert found["test"] is None
    assert len(found["verdicts"]) == 5
    assert found["trees_ahead"] is None or found["trees_ahead"].startswith("HistGradientBoosting is ahead")
    for model in found["models"]:
        assert set(model["measures"]) == set(MEASURES)
        for measure in model["measures"].values():
            assert 0 <= measure["low"] <= measure["high"] <= 1
            assert len(measure["chosen"]) == 2
    for name in MEASURES:
        assert any(model["measures"][name]["best_or_tied"] for model in found["models"])


def test_figure(run, train_file, test_file, tmp_path):
    few = ("compare", train_file, "--test", test_file, "--bootstrap", 5, "-m", "roc_area", "--figure")
    assert f"Saved: {tmp_path / 'table.png'}" in run(*few, tmp_path / "table.png").stdout
    assert (tmp_path / "table.png").read_bytes().startswith(b"\x89PNG")
    assert "no folder" in run(*few, tmp_path / "none" / "table.png", code=2).stderr


def test_missed_tolerances_are_said(run, train_file, test_file):
    hurried = ("--max-iter", 1, "--tol", "1e-9", "--bound", "convex", "-m", "roc_area", "--bootstrap", 1)
    result = run("compare", train_file, "--test", test_file, *hurried, code=1)
    assert "Note: 1 of our models stopped before the certified gap was 1e-09" in result.stderr


def test_what_was_chosen_is_said(printed, run_json, train_file, test_file, tmp_path):
    """And it is what 'train' gives."""
    compared = run_json("compare", train_file, "--test", test_file, "--bootstrap", 1, "-m", "prbep")["models"][0]
    trained = run_json("train", train_file, "-m", "prbep", "-o", tmp_path / "model")
    chosen = f"{trained['trained_with']}, {trained['bound']}"
    assert compared["measures"]["prbep"]["chosen"] == [f"{chosen}, alpha {trained['alpha']:.2g}"]
    assert f"For PRBEP, chosen: {chosen}." in printed.stdout
    judged = run_json("evaluate", tmp_path / "model", test_file, "--bootstrap", 1)["measures"]
    for name in ("prbep", "roc_area", "average_precision"):
        assert compared["measures"][name]["value"] == pytest.approx(judged[name]["value"], abs=1e-9)


def test_bad_input_is_one_line(run, train_file, tmp_path):
    assert "measure must be one of" in run("compare", train_file, "-m", "x", "-q", code=2).stderr
    assert "solver must be one of" in run("compare", train_file, "--solver", "x", "-q", code=2).stderr
    few = tmp_path / "few.svm"
    few.write_text("1 1:1\n-1 1:2\n1 1:3\n-1 1:4\n")
    assert "5 folds need 10 examples of each class, but one has 2" in run("compare", few, "-q", code=2).stderr
    other = tmp_path / "other.svm"
    other.write_text("0 1:1\n1 1:2\n")
    assert "got 0" in run("compare", train_file, "--test", other, "-q", code=2).stderr
