"""A whole run on small files: every file is there, says what it should, and the rest is a function of the CSV."""

import re
import shutil

import pytest

from reproduction import claims, experiments, figures, page, table1, tables
from reproduction.datasets import MissingDataError
from reproduction.experiments import Setup
from reproduction.results import read
from reproduction.runs import METHODS, Run, Snapshot
from reproduction.show import show
from reproduction.validation import TriedAlpha, chosen

from .conftest import TINY

FILES = {
    "README.md",
    "about.csv",
    "claims.csv",
    "entropy.csv",
    "figure1.png",
    "figure2.png",
    "figure3.png",
    "figure4.png",
    "hard.csv",
    "lambdas-prbep.csv",
    "lambdas-roc_area.csv",
    "rates.csv",
    "rates.png",
    "runs-prbep.csv",
    "runs-roc_area.csv",
    "slopes.csv",
    "table1.csv",
    "trace-prbep.csv",
    "trace-roc_area.csv",
}


def test_every_file_is_there(finished):
    folder, _ = finished
    assert {path.name for path in folder.iterdir()} - {"cache"} == FILES


def test_missing_sets_are_reported_and_not_replaced(finished):
    folder, told = finished
    assert any(re.match("web8 is missing: ", line) for line in told)
    have = {line.dataset: line.have for line in tables.read(folder / "table1.csv", table1.Row)}
    assert have["web8"] == "missing"
    assert have["adult9"] == "the paper's set"
    assert have["reuters-c11"] == "part of the paper's set"
    assert have["worm"] == "left out"  # by a quick run
    assert have["real-sim"] == "missing"
    assert {run.dataset for run in tables.read(folder / "runs-prbep.csv", Run)} == {"adult9", "reuters-c11"}
    text = (folder / "README.md").read_text("utf-8")
    missing = "astro-ph, aut-avn, covertype, news20, real-sim, reuters-ccat, web8, kdd99"
    assert f"**Missing, and replaced by nothing: {missing}.**" in text
    assert "reuters-c11 (part of the paper's set)" in text


def test_table_1_is_counted(finished):
    folder, _ = finished
    lines = {line.dataset: line for line in tables.read(folder / "table1.csv", table1.Row)}
    line = lines["adult9"]
    assert (line.n, line.d, line.n_train) == (300, 123, 300)
    assert line.density == pytest.approx(100 * line.nonzeros / (300 * 123), rel=1e-5)
    assert lines["reuters-c11"].n_train == 240
    # The slip can be told from the paper's own numbers, for exactly these.
    slips = {line.dataset for line in lines.values() if line.slip}
    assert slips == {"covertype", "news20", "real-sim", "reuters-c11", "reuters-ccat", "web8"}


def test_lambda_is_the_best_on_validation_rows(finished):
    folder, _ = finished
    for measure in ("prbep", "roc_area"):
        rows = tables.read(folder / f"lambdas-{measure}.csv", TriedAlpha)
        for name in ("adult9", "reuters-c11"):
            own = [row for row in rows if row.dataset == name]
            assert sum(row.chosen for row in own) == 1
            assert max(own, key=lambda row: (row.score, row.alpha)).chosen
            runs = tables.read(folder / f"runs-{measure}.csv", Run)
            assert {run.alpha for run in runs if run.dataset == name} == {chosen(own)}


def test_all_methods_ran_and_agree(finished):
    results = read(finished[0])
    for comparisons in results.comparisons.values():
        for comparison in comparisons:
            assert tuple(comparison.curves) == METHODS
            assert comparison.lower_bound <= comparison.reference + 1e-5
            assert comparison.reference - comparison.lower_bound <= 1e-3


def test_the_rest_is_a_function_of_the_csv_files(finished, tmp_path, no_drawing):
    folder, _ = finished
    for path in folder.glob("*.csv"):
        if path.name != "claims.csv":
            shutil.copy(path, tmp_path)
    show(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == FILES
    for name in ("README.md", "claims.csv"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_part_of_the_files_is_enough(finished, tmp_path):
    shutil.copy(finished[0] / "table1.csv", tmp_path)
    assert [path.name for path in show(tmp_path)] == ["claims.csv", "README.md"]
    text = (tmp_path / "README.md").read_text("utf-8")
    assert "## Table 1" in text
    assert "figure1" not in text


def test_verdicts_are_not_typed_in(finished, tmp_path):
    """If BMRM had been a thousand times as fast, the verdict would be another."""
    folder, _ = finished
    for path in folder.glob("*.csv"):
        shutil.copy(path, tmp_path)
    rows = tables.read(tmp_path / "trace-prbep.csv", Snapshot)
    quick = [
        Snapshot(
            r.dataset, r.method, r.iteration, r.cpu_seconds / (1e6 if r.method == "bmrm" else 1e-3), r.best, r.score
        )
        for r in rows
    ]
    tables.write(tmp_path / "trace-prbep.csv", Snapshot, quick)
    results = read(tmp_path)
    verdicts = claims.judge(results)
    for claim in ("faster", "test measure"):
        assert {v.verdict for v in verdicts if v.claim == claim and v.measure == "prbep"} == {claims.FAILS}
    assert page.text(results, verdicts) != (folder / "README.md").read_text("utf-8")


def test_figures_show_every_set_and_method(finished):
    results = read(finished[0])
    figure = figures.objective_figure(results.comparisons["prbep"], 1)
    assert [ax.get_title(loc="left").split(",")[0] for ax in figure.axes] == ["adult9", "reuters-c11 (part)"]
    assert all(ax.get_xscale() == ax.get_yscale() == "log" for ax in figure.axes)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[: len(METHODS)] == [figures.LABELS[method] for method in METHODS]
    # A line and its end for each method, and the line at eps.
    assert all(len(ax.lines) == 2 * len(METHODS) + 1 for ax in figure.axes)
    scores = figures.score_figure(results.comparisons["roc_area"], 4)
    assert scores.axes[0].get_ylabel() == "ROC area on test rows"
    assert len(figures.rates_figure(results).axes) == 6


def test_page_links_to_files_that_are_there(finished):
    folder, _ = finished
    text = (folder / "README.md").read_text("utf-8")
    for file in re.findall(r"\]\(([^)#]+)\)", text):
        assert (folder / file).exists(), file
    assert text.count("![") == 5
    # Every row of a table has as many cells as its header.
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({re.sub(r"\\\|", "", line).count("|") for line in block.splitlines()}) == 1, block


def test_nothing_to_train_on_is_an_error(tmp_path):
    setup = Setup(tmp_path, tmp_path, TINY, lambda text: None)
    with pytest.raises(MissingDataError, match="none of the data sets adult9, reuters-c11, web8 is there"):
        experiments.run_methods(setup, "prbep")
