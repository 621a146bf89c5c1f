"""``smoothperf demo`` as a user sees it: output, figure, exit codes and errors."""

import re
import runpy
import sys
from dataclasses import replace

import numpy as np
import pytest
from pandas import read_csv
from typer.testing import CliRunner

import smoothperf
from smoothperf.cli import _customers, _showcase, app

SIZE = {"COLUMNS": "80"}


def invoke(*arguments):
    return CliRunner().invoke(app, ["demo", *map(str, arguments)], env=SIZE)


ANSWERED = []


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    answer = _showcase.answer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_showcase, "answer", lambda *given: ANSWERED.append(answer(*given)) or ANSWERED[-1])
        patch.setattr(_customers, "C_GRID", (0.1,))
        patch.setattr(_customers, "TREES", ((4, 50),))
        patch.setattr(_customers, "RESAMPLES", 200)
        return invoke("--quick", "--output", folder), folder


def test_succeeds_and_writes_tables_a_figure_a_model_and_a_report(quick):
    result, folder = quick
    assert result.exit_code == 0, result.output
    names = ["convergence.png", "customers.csv", "customers.model", "new.csv", "report.html"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert (folder / "convergence.png").read_bytes().startswith(b"\x89PNG")
    assert f"Figure: {folder / 'convergence.png'}" in result.stdout


def test_ends_with_the_address_of_the_report(quick):
    result, folder = quick
    address = result.stdout.splitlines()[-1].split()[-1]
    assert address == (folder.resolve() / "report.html").as_uri()
    assert "precision@150" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_model_and_the_report_are_those_that_were_judged(quick):
    folder = quick[1]
    assert f"smoothperf predict {folder / 'customers.model'} NEW" in (folder / "report.html").read_text("utf-8")
    model, new = smoothperf.load(folder / "customers.model"), read_csv(folder / "new.csv")
    np.testing.assert_array_equal(model.coef_, ANSWERED[0].model.coef_)
    highest = np.argsort(-model.decision_function(new.drop(columns="answer")))[:150]
    assert (new["answer"].iloc[highest] == "yes").sum() == ANSWERED[0].models[0].found


def test_shows_the_promise_and_what_new_rows_show(quick):
    text, answered = quick[0].stdout, ANSWERED[0]
    for name, bound, rate in (
        ("precision", "low", "precision"),
        ("recall", "low", "recall"),
        ("alarms", "high", "fpr"),
    ):
        promised, shown = re.search(rf"{name} +at (?:least|most) (0\.\d+) +(0\.\d+)", text).groups()
        assert float(promised) == pytest.approx(answered.promised[rate][bound], abs=5e-4)
        assert float(shown) == pytest.approx(answered.shown[rate], abs=5e-4)


def test_judges_beside_others_and_the_words_agree_with_the_table(quick):
    text = " ".join(quick[0].stdout.split())
    ours, *others = (
        int(re.search(rf"^{name} .* (\d+) +\d+ +\d+ +\d+\.\d", quick[0].stdout, re.MULTILINE)[1])
        for name in ("smoothperf", "logistic regression", "boosted trees")
    )
    assert ours > 3 * int(re.search(r"at random, (\d+) of 150", text)[1])
    for name, found in zip(("logistic regression", "boosted trees"), others, strict=True):
        pattern = rf"smoothperf beside {name}: (\S+) \(95 %: (\S+) to (\S+)\), (.*?)\."
        amount, low, high, meaning = re.search(pattern, text).groups()
        assert int(amount) == ours - found
        assert ("tie" in meaning) == (float(low) <= 0 <= float(high))


def test_table_has_all_columns_and_fits_80_columns(quick):
    text = quick[0].stdout
    for header in (
        "data set",
        "measure",
        "solver",
        "passes",
        "seconds",
        "objective",
        "certified",
        "gap",
        "test",
    ):
        assert header in text
    assert "…" not in text
    assert all(len(line) <= 80 for line in text.splitlines() if str(quick[1]) not in line)
    rows = re.findall(r"(L-BFGS|Nesterov|BMRM) +([\d,]+) +[\d.]+ +(0\.\d+) +(\d\.\d\de-\d\d) +(0\.\d+)\b", text)
    assert len(rows) == 12
    assert all(float(gap) <= 1e-3 for _, _, _, gap, _ in rows)
    assert all(float(score) > 0.5 for *_, score in rows)


def test_findings_agree_with_the_table(quick):
    text = quick[0].stdout
    passes = {solver: [] for solver in _showcase.SOLVERS}
    for solver, count in re.findall(r"(L-BFGS|Nesterov|BMRM) +([\d,]+) +\d+\.\d\d ", text):
        passes[solver].append(int(count.replace(",", "")))
    for solver in ("Nesterov", "BMRM"):
        ratios = [other / own for other, own in zip(passes[solver], passes["L-BFGS"], strict=True)]
        times = f"{min(ratios):.1f} to {max(ratios):.1f}"
        assert f"{solver} took {times} times as many passes over the data as L-BFGS." in text
    assert "All 12 runs are certified to be within 0.001 of the optimum." in text


def test_progress_is_plain_lines_on_standard_error_when_not_on_a_terminal(quick):
    lines = quick[0].stderr.strip().splitlines()  # Rich before 14.3 ends with an empty one
    assert len(lines) == 12
    assert re.fullmatch(r"digits, PRBEP, L-BFGS: \d+ passes, [\d.]+ s, gap \d\.\d\de-\d\d", lines[0])


def test_a_missed_tolerance_is_marked_and_makes_the_exit_code_1(monkeypatch, tmp_path, quick):
    monkeypatch.setattr(_showcase, "answer", lambda *given: ANSWERED[0])
    monkeypatch.setitem(_showcase.SOLVERS, "BMRM", replace(_showcase.SOLVERS["BMRM"], max_iter=3))
    result = invoke("--quick", "--output", tmp_path)
    assert result.exit_code == 1
    assert len(re.findall(r"BMRM .*e[-+]\d\d\* ", result.stdout)) == 4
    assert "* stopped before the certified gap was 0.001" in result.stdout
    assert "8 of 12 runs are certified" in result.stdout
    assert "BMRM took" not in result.stdout
    assert "Nesterov took" in result.stdout


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "folder"):
        result = invoke("--output", folder)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith(f"smoothperf: cannot make the folder {folder}")
        assert result.stderr.count("\n") == 1


def test_a_folder_that_cannot_be_written_to_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(_showcase.os, "access", lambda path, mode: False)
    result = invoke("--output", tmp_path)
    assert result.exit_code == 2
    assert result.stderr.startswith("smoothperf: cannot write to the folder")
    assert result.stderr.count("\n") == 1


def test_missing_matplotlib_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = invoke("--output", tmp_path)
    assert result.exit_code == 2
    assert result.stderr == "smoothperf: Figures need matplotlib: pip install 'smoothperf[plots]'.\n"


def test_python_dash_m_and_version(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["smoothperf", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("smoothperf", run_name="__main__")
    assert ended.value.code == 0
    assert re.fullmatch(r"smoothperf \d+\.\d+.*\n", capsys.readouterr().out)
