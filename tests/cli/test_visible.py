"""Names and labels of others do not command the terminal, and a prediction is a line."""

import json
import os
import sys

import numpy as np
import pytest

from smoothperf.io.npz import write_npz

CLEAR = "\x1b[2J"
ODD = f"{CLEAR}spam\nham\r\x9b1m\u2028."
SHOWN = r"\x1b[2Jspam\nham\r\x9b1m\u2028."


def assert_calm(*texts):
    for text in texts:
        assert not [c for c in text if c != "\n" and not c.isprintable()], repr(text)


@pytest.fixture
def odd_labels(tmp_path, examples):
    """A data set with such a label, under such a name."""
    X, y = examples(120, 2)
    return write_npz(tmp_path / f"data{CLEAR}.npz", X, np.where(y > 0, ODD, "eggs"))


@pytest.fixture
def odd_model(run, odd_labels, tmp_path):
    result = run("train", odd_labels, "-o", tmp_path / "model")
    assert SHOWN in result.stdout
    assert_calm(result.stdout, result.stderr)
    return tmp_path / "model"


def test_a_prediction_is_a_line(run, odd_model, odd_labels, tmp_path):
    result = run("predict", odd_model, odd_labels, "-o", tmp_path / "labels")
    assert_calm(result.stdout, result.stderr)
    assert r"data\x1b[2J.npz" in result.stderr
    printed = run("predict", odd_model, odd_labels).stdout
    assert set(printed.splitlines()) == {SHOWN, "eggs"}
    assert len(printed.splitlines()) == 120
    assert (tmp_path / "labels").read_text() == printed
    text = run("predict", odd_model, odd_labels, "--json").stdout
    assert_calm(text)
    assert set(json.loads(text)["labels"]) == {ODD, "eggs"}


def test_other_commands_are_calm_too(run, odd_model, odd_labels):
    for more in ((), ("--json",)):
        result = run("evaluate", odd_model, odd_labels, *more)
        assert_calm(result.stdout, result.stderr)


def test_errors_are_calm(run, odd_model, test_file, tmp_path):
    for arguments in (
        ("train", tmp_path / f"none{CLEAR}", "-o", tmp_path / "m"),
        ("predict", odd_model, tmp_path / f"none{CLEAR}"),
        ("train", test_file, "-o", tmp_path / "m", "--measure", CLEAR),
        ("train", test_file, "-o", tmp_path / f"no{CLEAR}" / "m"),
        ("train", f"--{CLEAR}"),
        (CLEAR,),
        ("evaluate", odd_model, test_file, "--quiet"),
    ):
        assert_calm(run(*arguments, code=2).stderr)


def test_names_of_features_in_errors(run, tmp_path, csv_file):
    odd = tmp_path / "odd.csv"
    odd.write_text(csv_file.read_text().replace("a,b,c,d,kind", f"a,{CLEAR},c,d,kind"))
    run("train", odd, "--label", "kind", "-o", tmp_path / "model")
    result = run("predict", tmp_path / "model", csv_file, "--label", "kind", "--quiet", code=2)
    assert r"\x1b[2J" in result.stderr
    assert_calm(result.stderr)


@pytest.mark.skipif(sys.platform != "linux", reason="where names of files are bytes")
def test_a_file_name_that_is_not_text(run, tmp_path, csv_file):
    path = os.fsdecode(os.fsencode(tmp_path / "x") + b"\xff.csv")
    with open(path, "wb") as file:
        file.write(csv_file.read_bytes())
    for more in ((), ("--json",)):
        result = run("train", path, "--label", "kind", "-o", tmp_path / "model", *more)
        assert r"x\udcff.csv" in result.stdout


@pytest.mark.parametrize("width", [20, 40, 80])
def test_numbers_are_never_cut(width, monkeypatch, capsys):
    from smoothperf.cli._screen import Screen, table

    monkeypatch.setenv("COLUMNS", str(width))
    numbers = [f"0.{digit}4321" for digit in range(9)]
    Screen().result(table(["a model of many words", *(["average\nprecision"] * 9)], [["for something long", *numbers]]))
    shown = capsys.readouterr().out
    assert all(number in shown for number in numbers)
    assert "…" not in shown


def test_words_give_way_to_numbers(monkeypatch, capsys):
    from smoothperf.cli._screen import Screen, table

    monkeypatch.setenv("COLUMNS", "40")
    Screen().result(table(["model", "value"], [["a name of many words that takes more than a line", "0.1234567"]]))
    shown = capsys.readouterr().out
    assert "0.1234567" in shown
    assert "…" not in shown
    assert all(len(line) <= 40 for line in shown.splitlines())
