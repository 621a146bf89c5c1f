"""``smoothperf paper`` and ``smoothperf datasets``, as users run them."""

import dataclasses
import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from smoothperf.paper import settings, show


@pytest.fixture(autouse=True)
def _folders(tmp_path, monkeypatch):
    monkeypatch.setenv("SMOOTHPERF_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SMOOTHPERF_DATA", raising=False)


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


def test_everything_by_one_command(run, data, short, tmp_path):
    result = run("paper", "all", "--quick", "--data-dir", data, "--output", tmp_path / "out")
    assert "adult9 (the paper's set), prbep, lambda" in result.stdout
    assert "within eps" in result.stdout
    assert "missing, and replaced by nothing: astro-ph, aut-avn, " in result.stderr
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"README.md", "figure1.png", "figure4.png", "rates.png", "claims.csv", "table1.csv"} <= names
    again = run("paper", "all", "--redraw", "--output", tmp_path / "out")
    assert "lambda" not in again.stdout
    assert "Written: " in again.stdout


@pytest.mark.parametrize(
    ("what", "figures"), [("figure3", {"figure1", "figure3"}), ("figure2", {"figure2", "figure4"})]
)
def test_figures_of_the_same_runs_are_made_together(run, data, short, tmp_path, what, figures):
    run("paper", what, "--quick", "--data-dir", data, "--output", tmp_path / "out", "-q")
    assert {path.stem for path in (tmp_path / "out").glob("*.png")} == figures


def test_table1_alone(run, data, short, tmp_path):
    run("paper", "table1", "--quick", "--data-dir", data, "--output", tmp_path / "out")
    assert not list((tmp_path / "out").glob("*.png"))
    assert "| adult9 | the paper's set | 300 | 123 |" in (tmp_path / "out" / "README.md").read_text("utf-8")


def test_errors_are_one_line(run, data, tmp_path):
    assert "data_dir must name a folder" in run("paper", "all", "--data-dir", tmp_path / "no", code=2).stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    output = ("--output", tmp_path / "out")
    assert "there are no CSV files" in run("paper", "all", "--redraw", *output, code=2).stderr
    assert "'figure5' is not one of 'all', 'table1'" in run("paper", "figure5", code=2).stderr


def test_no_data_at_all_is_one_line(run, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    arguments = ("paper", "figure1", "--quick", "-q", "--data-dir", empty, "--output", tmp_path / "out")
    assert "none of the data sets adult9, reuters-c11, web8 is there" in run(*arguments, code=2).stderr


def test_ctrl_c_says_what_is_left(run, data, short, tmp_path, monkeypatch):
    from smoothperf.paper import experiments

    def interrupted(bench):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "run_rates", interrupted)
    result = run("paper", "all", "--quick", "--data-dir", data, "--output", tmp_path / "out", code=130)
    assert "has the CSV files of what was finished" in result.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["table1.csv"]


def test_list(run, data):
    text = run("datasets", "list", "--data-dir", data).stdout
    assert text.count("\n") == 13
    assert "adult9        the paper's set  a9a.svm" in text
    assert "real-sim      missing          fetch" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    document = json.loads(run("datasets", "list", "--json", "--data-dir", data).stdout)
    assert len(document["datasets"]) == 11
    assert [entry["name"] for entry in document["datasets"] if entry["relation"]] == ["adult9"]


def test_info(run, data, monkeypatch):
    monkeypatch.setenv("SMOOTHPERF_DATA", str(data))
    text = run("datasets", "info", "web8").stdout
    assert "Features: 300 (the paper's d is the number of non-zeros)" in text
    assert "SHA-256 unknown" in text
    assert "There: nothing" in text
    assert "There: the paper's set" in run("datasets", "info", "adult9").stdout
    document = json.loads(run("datasets", "info", "reuters-c11", "--json").stdout)
    assert document["paper"] == {"n": 23149, "d": 1757801, "density_percent": 0.16}
    assert "must be one of 'adult9'" in run("datasets", "info", "mnist", code=2).stderr


def test_fetch_says_what_cannot_be_fetched(run):
    assert "aut-avn cannot be fetched" in run("datasets", "fetch", "aut-avn", code=2).stderr


@pytest.mark.parametrize("command", [("paper",), ("datasets", "list"), ("datasets", "info"), ("datasets", "fetch")])
def test_help_fits_80_columns(run, command):
    text = run(*command, "--help").stdout
    assert all(len(line) <= 80 for line in text.splitlines())
    assert f"Example: smoothperf {' '.join(command)}" in text
    assert "…" not in text
