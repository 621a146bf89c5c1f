"""The documents show what the commands print: every command is run again, words must agree, and measures nearly so."""

import json
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SESSION = re.compile(r"^```console\n\$ ([^\n]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?%?")


@pytest.fixture(scope="module")
def examples_folder(tmp_path_factory):
    """The files that docs/first-steps.md makes, and for rankings docs/command-line.md."""
    folder = tmp_path_factory.mktemp("documents")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("first-steps.md", "command-line.md"):
            for code in re.findall(r"^```python\n(.*?)^```$", (DOCS / name).read_text("utf-8"), re.M | re.S):
                exec(code, {})
    return folder


def skeleton(text):
    """The words: numbers, stars and the lengths of lines and gaps are taken out."""
    words = NUMBER.sub("#", text).replace("#*", "#")
    return re.sub(r"[─\s]+", " ", words).strip()


def measures(text):
    """All numbers with four decimals, as measures are printed, or six, as objectives are; but no alphas and no gaps.

    Nor what features are worth: forests differ from one version of scikit-learn to the next.
    """
    text = re.sub(r"alpha \S+|at most \S+ above|^Features: .*$", "", text, flags=re.MULTILINE)
    return [float(number) for number in re.findall(r"(?<![\d.])\d\.\d{4}(?:\d\d)?(?!\d)", text)]


@pytest.mark.parametrize("name", ["docs/first-steps.md", "docs/command-line.md"])
def test_commands_print_what_the_document_says(run, examples_folder, monkeypatch, name):
    monkeypatch.chdir(examples_folder)
    sessions = SESSION.findall((ROOT / name).read_text("utf-8"))
    assert len(sessions) >= 3
    for command, expected in sessions:
        command, _, head = command.partition(" | head -")
        program, *arguments = shlex.split(command)
        assert program == "smoothperf"
        fewer = ["--bootstrap", 20] if arguments[0] == "compare" else []  # of its output only the values are compared
        printed = run(*arguments, *fewer).stdout
        if head:
            printed = "".join(printed.splitlines(keepends=True)[: int(head)])
        if "--json" in arguments:
            assert list(json.loads(printed)) == list(json.loads(expected))
        elif arguments[0] == "compare":  # who wins may hang on a rounding error; the table may not
            table = slice(printed.index("LogisticRegression"), printed.index("LinearSVC"))
            assert measures(printed[table]) == pytest.approx(measures(expected)[10:15], abs=0.02)
        else:
            assert skeleton(printed) == skeleton(expected), command
            if arguments[0] != "weights":  # some of which have four decimals, as zeros at their end are left out
                assert measures(printed) == pytest.approx(measures(expected), abs=0.005), command


def test_every_command_is_described():
    text = (DOCS / "command-line.md").read_text("utf-8")
    for command in ("train", "predict", "evaluate", "report", "compare", "path"):
        assert f"\n## {command}\n" in text
        assert f"$ smoothperf {command} " in text
