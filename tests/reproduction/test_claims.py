"""Verdicts follow from the figures, by rules that can be checked by hand."""

import math

import numpy as np
import pytest

from reproduction import claims
from reproduction.claims import FAILS, HOLDS, PARTLY, UNKNOWN, Verdict
from reproduction.entropy import EntropyCount
from reproduction.results import Comparison, Curve, Results
from reproduction.runs import METHODS, Run
from reproduction.settings import EPS


def curve(method, seconds, best, scores=None, end="converged"):
    run = Run("set", "the paper's set", "prbep", method, 1e-3, 0.0, end, seconds[-1], 9, 18, best[-1], 0.5, math.nan)
    scores = np.full(len(seconds), 0.9) if scores is None else np.array(scores)
    return Curve(run, np.array(seconds), np.array(best), scores)


def comparison(**changes):
    """Smoothing ten times as fast as BMRM, 100 times mu like mu, 1000 times mu fast and bad."""
    curves = {
        "mu x 1": curve("mu x 1", [0.01, 0.1, 0.2], [1.0, 0.6, 0.5]),
        "mu x 100": curve("mu x 100", [0.01, 0.1, 0.2], [1.0, 0.6, 0.5]),
        "mu x 1000": curve("mu x 1000", [0.01, 0.05, 0.06], [1.0, 0.61, 0.6]),
        "adaptive": curve("adaptive", [0.01, 0.1], [1.0, 0.5]),
        "nesterov": curve("nesterov", [0.01, 1.0], [1.0, 0.5]),
        "bmrm": curve("bmrm", [0.01, 1.0, 3.0], [1.0, 0.6, 0.5]),
    }
    curves.update({name.replace("_", " "): value for name, value in changes.items()})
    assert set(curves) == set(METHODS)
    return Comparison("set", "the paper's set", "prbep", 1e-3, curves)


def judge(claim, **changes):
    found = claims.RULES[claim](comparison(**changes))
    assert len(found) == 2
    return found


def test_curves_answer_when():
    own = curve("bmrm", [1.0, 2.0, 3.0, 4.0], [1.0, 0.7, 0.7, 0.5], scores=[0.9, 0.1, 0.8, 0.8])
    assert own.time_to(0.7) == 2.0
    assert math.isnan(own.time_to(0.4))
    assert own.settled(0.8) == 3.0
    assert own.settled(0.05) == 1.0
    assert math.isnan(own.settled(0.85))


def test_reference_is_the_best_of_all():
    assert comparison().reference == 0.5
    assert comparison(adaptive=curve("adaptive", [0.1], [0.4])).reference == 0.4


def test_faster():
    assert judge("faster") == (HOLDS, "15 x, 15 x, 17 x")
    slow = curve("mu x 1", [0.01, 6.0], [1.0, 0.5])
    assert judge("faster", mu_x_1=slow) == (PARTLY, "0.5 x, 15 x, 17 x")
    fast = curve("bmrm", [0.01, 0.02], [1.0, 0.5])
    assert judge("faster", bmrm=fast)[0] == FAILS


def test_faster_than_a_bmrm_that_was_stopped():
    stopped = curve("bmrm", [0.01, 2.0], [1.0, 0.8], end="stopped at the time limit")
    assert judge("faster", bmrm=stopped) == (HOLDS, ">10 x, >10 x, >33 x")


def test_within_eps():
    assert judge("within eps") == (HOLDS, "0.0e+00, 0.0e+00")
    near = curve("mu x 100", [0.01, 0.1], [1.0, 0.5 + 0.9 * EPS])
    far = curve("mu x 100", [0.01, 0.1], [1.0, 0.5 + 1.1 * EPS])
    assert judge("within eps", mu_x_100=near)[0] == HOLDS
    assert judge("within eps", mu_x_100=far) == (PARTLY, "0.0e+00, 1.1e-03")
    assert judge("within eps", mu_x_100=far, mu_x_1=far)[0] == FAILS


def test_same_path():
    assert judge("same path") == (HOLDS, "1 x")
    twice = curve("mu x 100", [0.005, 0.05, 0.1], [1.0, 0.6, 0.5])
    assert judge("same path", mu_x_100=twice) == (FAILS, "2 x")
    trivial = curve("mu x 1", [0.01, 0.1], [0.5 + EPS, 0.5])
    assert judge("same path", mu_x_1=trivial)[0] == UNKNOWN


def test_faster_but_worse():
    assert judge("faster but worse") == (HOLDS, "3.3 x (1.7 x), 1.0e-01")
    good = curve("mu x 1000", [0.01, 0.06], [1.0, 0.5])
    assert judge("faster but worse", mu_x_1000=good)[0] == PARTLY
    slow = curve("mu x 1000", [0.01, 0.5], [1.0, 0.5])
    assert judge("faster but worse", mu_x_1000=slow)[0] == FAILS


def test_test_measure():
    early = curve("mu x 100", [0.01, 0.1], [1.0, 0.5], scores=[0.9, 0.9])
    late = curve("bmrm", [0.01, 1.0, 3.0], [1.0, 0.6, 0.5], scores=[0.2, 0.3, 0.9])
    assert judge("test measure", mu_x_100=early, bmrm=late) == (HOLDS, "300 x, 0.9000 / 0.9000")
    sooner = curve("bmrm", [0.01, 0.05], [1.0, 0.5], scores=[0.2, 0.9])
    assert judge("test measure", mu_x_100=early, bmrm=sooner)[0] == PARTLY
    first = curve("bmrm", [0.001, 0.05], [1.0, 0.5], scores=[0.9, 0.9])
    assert judge("test measure", mu_x_100=early, bmrm=first)[0] == FAILS
    worse = curve("mu x 100", [0.01, 0.1], [1.0, 0.5], scores=[0.2, 0.8])
    assert judge("test measure", mu_x_100=worse, bmrm=late)[0] == FAILS


def test_entropy():
    rows = [
        EntropyCount(n, n // 4, "entropy", step, iterations, True, 1.0, 1.0)
        for step, counts in (("theorem", (100, 200)), ("backtracking", (50, 50)))
        for n, iterations in zip((40, 160), counts, strict=True)
    ]
    results = Results([], {"prbep": [comparison()]}, {}, [], [], [], rows, {})
    found = claims.judge(results)
    assert [verdict for verdict in found if verdict.claim == "entropy"] == [
        Verdict("entropy", "step of the theorem", "prbep", HOLDS, "100 iterations at n = 40, 200 at n = 160"),
        Verdict("entropy", "step by backtracking", "prbep", FAILS, "50 iterations at n = 40, 50 at n = 160"),
    ]
    assert {verdict.claim for verdict in found} == set(claims.CLAIMS)


def test_ratio_to_eps():
    assert claims.ratio_to_eps(comparison(), "adaptive") == (0.1, 3.0, pytest.approx(30.0), False)
    assert math.isnan(claims.ratio_to_eps(comparison(), "mu x 1000")[0])
