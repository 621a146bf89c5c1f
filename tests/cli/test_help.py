"""Help that a person understands: every command has an example that the command itself would accept."""

import re
import shlex

import pytest

COMMANDS = ("train", "predict", "evaluate", "report", "export", "compare", "path", "demo")


def test_all_commands_are_listed(run):
    text = run("--help").stdout
    for command in COMMANDS:
        assert re.search(rf"│ {command} +\S", text), command
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_80_columns_and_explains_every_option(run, command):
    text = run(command, "--help").stdout
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "…" not in text
    for option in re.findall(r"│ [ *] +--(\S+)(.*)", text):
        assert re.search(r"[a-z]{3}", option[1]), option
    if command in ("train", "compare", "path", "demo"):
        assert "Exit code: 0" in text


@pytest.mark.parametrize("command", COMMANDS[:-1])
def test_examples_have_options_that_exist(run, command):
    text = run(command, "--help").stdout
    example = re.search(r"Example: smoothperf (.*?)\n\s*\n", text, re.DOTALL)[1]
    words = shlex.split(example)
    assert words[0] == command
    for option in (word for word in words if word.startswith("-")):
        assert re.search(rf"[ │]{option}\b", text), option


def test_usage_errors_are_one_line(run):
    assert "Did you mean 'train'? See 'smoothperf --help'." in run("trian", code=2).stderr
    assert run("train", code=2).stderr == "smoothperf train: Missing argument 'DATA'. See 'smoothperf train --help'.\n"


def test_no_arguments_show_help(run):
    from typer.testing import CliRunner

    from smoothperf.cli import app

    result = CliRunner().invoke(app, [])
    assert "Usage" in result.output
