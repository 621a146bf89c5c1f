"""The benchmark in benchmarks/benchopt: its risks are ours, and so are the optima of solvers for others' benchmarks."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from smoothperf.measures import get_measure

FOLDER = Path(__file__).parent.parent / "benchmarks/benchopt"


def module(name):
    spec = importlib.util.spec_from_file_location(Path(name).stem, FOLDER / name)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize("measure", ["roc_area", "prbep"])
@pytest.mark.parametrize("positives", [1, 7, 19])
def test_risks_are_ours_and_subgradients_lie_below(measure, positives):
    rng = np.random.default_rng(positives)
    y = np.where(rng.permutation(20) < positives, 1, -1)
    risk, ours = module("benchmark_utils/risks.py").RISKS[measure], get_measure(measure).bind(y)
    for f in (np.zeros(20), *3.0 * rng.normal(size=(5, 20))):
        value, g = risk(f, y > 0)
        assert value == pytest.approx(ours.exact_value(f), abs=1e-12)
        for other in rng.normal(size=(5, 20)):
            assert ours.exact_value(other) >= value + g @ (other - f) - 1e-12


@pytest.mark.parametrize(("name", "C"), [("logreg_l2", 0.7), ("svm_no_intercept", 0.01)])
def test_solvers_for_other_benchmarks_reach_their_optimum(name, C):
    pytest.importorskip("benchopt")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0, 1, -1)
    solver = module(f"elsewhere/{name}.py").Solver.get_instance()
    if name == "logreg_l2":
        known = {"lmbd": 1.0 / C, "fit_intercept": False}
        assert [solver.skip(X, y, **known)[0], solver.skip(X, y, 1.0, True)[0]] == [False, True]
        theirs = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=1000)
    else:
        known, theirs = {"C": C}, LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=100_000)
    solver.set_objective(X=X, y=y, **known)
    solver.run(1e-8)

    def value(b):
        margins = y * (X @ b)
        losses = np.log1p(np.exp(-margins)) if name == "logreg_l2" else np.maximum(0.0, 1.0 - margins)
        return C * losses.sum() + 0.5 * b @ b

    assert value(solver.get_result()["beta"]) == pytest.approx(value(theirs.fit(X, y).coef_.ravel()), rel=1e-6)
