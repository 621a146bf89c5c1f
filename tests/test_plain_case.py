"""The plain case is plain: which modules a fit to arrays in memory goes through; benchmarks/house.py counts them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import smoothperf
from smoothperf import MeasureClassifier

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


def test_a_fit_to_arrays_in_memory_goes_through_the_modules_of_the_tour():
    rng = np.random.default_rng(0)
    X = sp.csr_array(sp.random(400, 30, density=0.2, random_state=rng))
    y = np.where(X @ rng.normal(size=30) + 0.1 * rng.normal(size=400) > 0, 1, 0)
    model = MeasureClassifier("roc_area", alpha=1e-3)
    model.fit(X, y)  # what happens only once in a process does not count
    entered = modules_entered(lambda: model.fit(X, y))
    assert "optimise/objective.py" in entered
    for rare in ("dask", "report", "cli"):
        assert not any(name.startswith(rare) for name in entered)
    tour = CONTRIBUTING.read_text("utf-8").partition("\n## One fit, from door to door\n")[2].partition("\n## ")[0]
    assert [module for module in sorted(entered) if not is_named(module, tour)] == []
