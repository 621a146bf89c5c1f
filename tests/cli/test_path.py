"""``smoothperf path``: table, figure, JSON."""

import json
import re
import sys

import numpy as np
import pytest

import smoothperf
from smoothperf.cli._screen import Screen, table


def test_table_and_best(run, train_file):
    result = run("path", train_file, "-m", "prbep", "--n-alphas", 6)
    rows = re.findall(
        r"^ *([\d.e+-]+) +(\d\.\d{5}) +(\d\.\de[+-]\d\d) +(\d+) +([\d.]+) +(\d\.\d{4}) +(\d\.\d{4})(\*?)",
        result.stdout,
        re.M,
    )
    assert len(rows) == 6
    alphas = [float(row[0]) for row in rows]
    assert alphas == sorted(alphas, reverse=True)
    assert alphas[-1] == pytest.approx(1e-6 * alphas[0], rel=0.01)
    starred = [row for row in rows if row[7]]
    assert len(starred) == 1
    assert starred[0][6] == max(row[6] for row in rows)
    assert "75 rows held out" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if "train.svm" not in line)


def test_json_is_the_path_of_the_library(run_json, train_file, test_file, examples):
    found = run_json("path", train_file, "--validation", test_file, "--scale", "none", "--n-alphas", 5)
    path = smoothperf.regularization_path(*examples(300, 0), n_alphas=5, validation=examples(200, 1))
    np.testing.assert_allclose(found["alphas"], path.alphas)
    np.testing.assert_allclose(found["objectives"], path.objectives, atol=1e-3)
    np.testing.assert_allclose(found["validation_scores"], path.validation_scores, atol=5e-3)
    assert found["best_alpha"] == found["alphas"][int(np.argmax(found["validation_scores"]))]
    for name in ("lower_bounds", "gaps", "passes", "seconds", "train_scores"):
        assert len(found[name]) == 5


def test_the_tight_bound_says_what_a_step_gains(run, run_json, train_file, tmp_path):
    options = ["path", train_file, "-m", "prbep", "--bound", "tight", "--n-alphas", 4]
    result = run(*options, "--figure", tmp_path / "path.svg")
    assert "a step gains" in result.stdout
    assert "gap" not in result.stdout
    assert "nan" not in result.stdout
    words = re.findall(r"<!-- (.*?) -->", (tmp_path / "path.svg").read_text("utf-8"))
    assert "objective (tight bound)" in words
    assert not any("optim" in each for each in words)
    found = run_json(*options)
    assert found["bound"] == "tight"
    assert found["gaps"] == found["lower_bounds"] == [None] * 4
    assert max(found["stationarity_gaps"]) <= 1e-3
    assert run_json("path", train_file, "--n-alphas", 2)["bound"] == "convex"
    missed = run(*options, "--max-iter", 1, code=1)
    assert "stopped before a step could gain no more than 0.001" in missed.stderr
    assert "--bound must be one of" in run("path", train_file, "--bound", "loose", code=2).stderr
    refused = run("path", train_file, "-m", "log_loss", "--bound", "tight", code=None)
    assert refused.exit_code == 2
    assert 'use bound="convex"' in refused.stderr


def test_a_narrow_screen_cuts_no_header_and_no_number(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "30")
    headers = ["a step gains", "held out", "objective", "seconds"]
    Screen().result(table(headers, [["0.00307", "0.9756*", "0.123456", "0.25"]], words=0))
    head, *_, row = capsys.readouterr().out.splitlines()
    assert row.split() == ["0.00307", "0.9756*", "0.123456", "0.25"]
    assert all(header in head for header in headers)


def test_without_rows_held_out(run, run_json, train_file):
    assert "held out" not in run("path", train_file, "--holdout", 0, "--n-alphas", 3).stdout
    assert run_json("path", train_file, "--holdout", 0, "--n-alphas", 3)["validation_scores"] is None


def test_figure(run, train_file, tmp_path):
    result = run("path", train_file, "--n-alphas", 3, "--figure", tmp_path / "path.png")
    assert (tmp_path / "path.png").read_bytes().startswith(b"\x89PNG")
    assert f"Saved: {tmp_path / 'path.png'}" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["path.png"]
    run("path", train_file, "--n-alphas", 3, "--figure", tmp_path / "path.svg")
    words = re.findall(r"<!-- (.*?) -->", (tmp_path / "path.svg").read_text("utf-8"))
    assert "ROC area over the strength of the regulariser" in words
    assert "train.svm: 225 rows x 4 features, 75 rows held out" in words


def test_features_come_in(run, run_json, train_file, tmp_path):
    sparse = ["path", train_file, "--n-alphas", 4, "--l1-ratio", 1]
    result = run(*sparse, "--figure", tmp_path / "path.svg")
    assert "features" in result.stdout
    words = re.findall(r"<!-- (.*?) -->", (tmp_path / "path.svg").read_text())
    assert "weights (4 features)" in words
    assert "feature 1" in words
    counts = run_json(*sparse)["features_in_model"]
    assert counts[0] <= 1
    assert counts[-1] == 4
    assert run_json(*sparse, "--nonnegative")["features_in_model"][-1] < 4


def test_missing_matplotlib_is_one_line(run, train_file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    message = run("path", train_file, "--figure", tmp_path / "path.png", code=2).stderr
    assert message == "smoothperf: Figures need matplotlib: pip install 'smoothperf[plots]'.\n"
    run("path", train_file, "--n-alphas", 2)  # the table needs none


def test_missed_tolerances_are_exit_code_1(run, train_file):
    result = run("path", train_file, "--n-alphas", 3, "--max-iter", 0, "--tol", "1e-4", code=1)
    assert "stopped before the certified gap was 0.0001" in result.stderr


def test_bad_input_is_one_line(run, train_file, tmp_path):
    lonely = tmp_path / "lonely.svm"
    lonely.write_text("1 1:1\n-1 1:2\n-1 1:3\n")
    assert "a class has one example only" in run("path", lonely, "-q", code=2).stderr
    assert "alpha_ratio" in run("path", train_file, "--alpha-ratio", 2, "-q", code=2).stderr


def test_ctrl_c_ends_the_path(run, train_file, monkeypatch):
    from smoothperf.cli._progress import Watch

    monkeypatch.setattr(Watch, "__call__", lambda watch, row: watch.interrupted or watch._on_interrupt(2, None) or True)
    found = json.loads(run("path", train_file, "--json", code=130).stdout)
    assert found["interrupted"] is True
