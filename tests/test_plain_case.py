"""The plain case is plain: which modules a fit to arrays in memory goes through; benchmarks/house.py counts them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

import smoothperf
from smoothperf import MeasureClassifier, MeasureClassifierCV
from smoothperf.cli import app

HERE = Path(smoothperf.__file__).parent
CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"


def modules_entered(work) -> set[str]:
    """Python modules of ours in which a function is called."""
    entered = set()

    def look(frame, event, argument):
        if event == "call":
            path = Path(frame.f_code.co_filename)
            if HERE in path.parents:
                entered.add(str(path.relative_to(HERE)))

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(before)
    return entered


def is_named(module: str, text: str) -> bool:
    """Whether a text has the path of a module, or its name alone."""
    _, _, name = module.rpartition("/")
    return any(re.search(rf"(?<![\w/]){re.escape(each)}", text) for each in (module, name))


def not_named(entered, *sections) -> list[str]:
    """Modules that none of some sections of CONTRIBUTING.md names."""
    text = CONTRIBUTING.read_text("utf-8")
    tours = [text.partition(f"\n## {section}\n")[2].partition("\n## ")[0] for section in sections]
    return [module for module in sorted(entered) if not any(is_named(module, tour) for tour in tours)]


def problem():
    rng = np.random.default_rng(0)
    X = sp.csr_array(sp.random(400, 30, density=0.2, random_state=rng))
    return X, np.where(X @ rng.normal(size=30) + 0.1 * rng.normal(size=400) > 0, 1, 0)


def test_a_fit_to_arrays_in_memory_goes_through_the_modules_of_the_tour():
    X, y = problem()
    model = MeasureClassifier("roc_area", alpha=1e-3)
    model.fit(X, y)  # what happens only once in a process does not count
    entered = modules_entered(lambda: model.fit(X, y))
    assert "optimise/objective.py" in entered
    for rare in ("dask", "report", "cli"):
        assert not any(name.startswith(rare) for name in entered)
    assert not_named(entered, "One fit, from door to door") == []


def test_a_choice_and_a_command_go_through_the_modules_of_their_tours(tmp_path):
    X, y = (rows[:200] for rows in problem())
    dump_svmlight_file(X, y, str(tmp_path / "train.svm"))
    command = ["train", str(tmp_path / "train.svm"), "-m", "prbep", "-a", "1e-3", "-o", str(tmp_path / "prbep.model")]
    model = MeasureClassifierCV("prbep", cv=2, n_alphas=4)
    model.fit(X, y)
    assert CliRunner().invoke(app, command, catch_exceptions=False).exit_code == 0
    choice = modules_entered(lambda: model.fit(X, y))
    assert not_named(choice, "One fit, from door to door", "One choice") == []
    entered = modules_entered(lambda: CliRunner().invoke(app, command, catch_exceptions=False))
    # Options of single commands are in files of their own, which need not be in the picture.
    around = {name for name in entered if name.startswith(("cli/", "io/")) and not name.startswith("cli/_")}
    assert not_named(around, "One command") == []
