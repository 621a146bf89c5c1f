"""The command line, ``python -m reproduction``."""

import dataclasses
import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from reproduction import settings, show
from reproduction.__main__ import app


def run(*words, code=0):
    """Run a command, which must end with a code."""
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    rng = np.random.default_rng(0)
    y = np.where(rng.random(300) < 0.3, 1, -1)
    X = rng.standard_normal((300, 10)).round(3)
    X[:, 0] += 2.0 * (y > 0)
    dump_svmlight_file(X, y, str(folder / "a9a.svm"), zero_based=False)
    return folder


@pytest.fixture
def short(monkeypatch):
    """Make a quick run a matter of a second: little to measure, and nothing to draw."""
    monkeypatch.setattr(show, "_save", lambda figure, path: (path.touch(), path)[1])
    tiny = dataclasses.replace(
        settings.QUICK,
        alphas=(1e-2, 1e-3),
        smooth_seconds=0.5,
        bmrm_seconds=0.5,
        rate_seconds=0.2,
        hard_alphas=(0.4,),
        hard_accuracies=(0.1,),
        rate_alphas=(1e-2, 1e-3),
        rate_accuracies=(1e-1,),
        entropy_sizes=(20, 30),
    )
    monkeypatch.setattr(settings, "QUICK", tiny)


def test_everything_by_one_command(data, short, tmp_path):
    result = run("run", "--quick", "--data-dir", data, "--output", tmp_path / "out")
    assert "adult9 (the paper's set), prbep, lambda" in result.stdout
    assert "within eps" in result.stdout
    assert "missing, and replaced by nothing: astro-ph, aut-avn, " in result.stderr
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"README.md", "figure1.png", "figure4.png", "rates.png", "claims.csv", "table1.csv"} <= names
    again = run("run", "--redraw", "--output", tmp_path / "out")
    assert "lambda" not in again.stdout
    assert "Written: " in again.stdout


@pytest.mark.parametrize(
    ("what", "figures"), [("figure3", {"figure1", "figure3"}), ("figure2", {"figure2", "figure4"})]
)
def test_figures_of_the_same_runs_are_made_together(data, short, tmp_path, what, figures):
    run("run", what, "--quick", "--data-dir", data, "--output", tmp_path / "out", "-q")
    assert {path.stem for path in (tmp_path / "out").glob("*.png")} == figures


def test_table1_alone(data, short, tmp_path):
    run("run", "table1", "--quick", "--data-dir", data, "--output", tmp_path / "out")
    assert not list((tmp_path / "out").glob("*.png"))
    assert "| adult9 | the paper's set | 300 | 123 |" in (tmp_path / "out" / "README.md").read_text("utf-8")


def test_errors_are_one_line(data, tmp_path):
    assert "data_dir must name a folder" in run("run", "--data-dir", tmp_path / "no", code=2).stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    output = ("--output", tmp_path / "out")
    assert "there are no CSV files" in run("run", "--redraw", *output, code=2).stderr
    assert "'figure5' is not one of 'all', 'table1'" in run("run", "figure5", code=2).stderr


def test_no_data_at_all_is_one_line(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    arguments = ("run", "figure1", "--quick", "-q", "--data-dir", empty, "--output", tmp_path / "out")
    assert "none of the data sets adult9, reuters-c11, web8 is there" in run(*arguments, code=2).stderr


def test_list(data):
    text = run("list", "--data-dir", data).stdout
    assert text.count("\n") == 11
    assert "adult9        the paper's set         a9a.svm" in text
    assert "real-sim      missing                 fetch" in text
    documents = json.loads(run("list", "--json", "--data-dir", data).stdout)
    assert len(documents) == 11
    assert [entry["name"] for entry in documents if entry["relation"]] == ["adult9"]


def test_info(data, monkeypatch):
    monkeypatch.setenv("SMOOTHPERF_DATA", str(data))
    text = run("info", "web8").stdout
    assert "Features: 300 (the paper's d is the number of non-zeros)" in text
    assert "SHA-256 unknown" in text
    assert "There: nothing" in text
    assert "There: the paper's set" in run("info", "adult9").stdout
    document = json.loads(run("info", "reuters-c11", "--json").stdout)
    assert document["paper"] == {"n": 23149, "d": 1757801, "density_percent": 0.16}
    assert "must be one of 'adult9'" in run("info", "mnist", code=2).stderr


def test_fetch_says_what_cannot_be_fetched():
    assert "aut-avn cannot be fetched" in run("fetch", "aut-avn", code=2).stderr
