"""Rounding ends a run: it says so, soon, and does not smooth less than can be seen."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from problems import gaussians, problem
from smoothperf import LBFGS, PRBEP, ErrorRate, FBeta, Fixed, Nesterov, Newton, PartialROCArea, ROCArea, Status
from smoothperf.measures import Measure


@dataclass(frozen=True)
class Hasty:
    """Shrinks mu at every iteration."""

    def first(self, risk):
        return 0.1 / risk.diameter

    def following(self, mu, *, slack, gap):
        return 1e-3 * mu


@pytest.mark.parametrize(
    ("measure", "solver"),
    [
        (PRBEP(), Newton),  # the others have no second derivatives
        *product([PRBEP(), ROCArea(), PartialROCArea(0.3), ErrorRate(), FBeta(2.0)], [LBFGS, Nesterov]),
    ],
    ids=lambda value: value.name if isinstance(value, Measure) else value.__name__,
)
def test_nobody_smooths_less_than_can_be_seen(measure, solver):
    X, y = gaussians(3, 4, 5)
    J = problem(measure, X, y, 1e-3)
    result = solver(tol=1e-18, max_iter=30, smoothing=Hasty()).run(J)
    assert 1e-16 <= J.risk.diameter * result.smoothing <= 1e-4
    assert result.status in (Status.PRECISION_LIMIT, Status.ITERATION_LIMIT)


@pytest.mark.parametrize("seed", [2, 17, 20])
def test_a_run_that_rounding_has_stopped_ends(seed):
    """J and the gap stay the same to the last digit while the line search follows rounding, iteration by iteration."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([1, -1], (k := int(rng.integers(1, 7)), 7 - k)))
    X = rng.normal(size=(7, 59)) * 10.0 ** rng.uniform(-2, 2)
    J = problem(FBeta(2.0), X, y, 10.0 ** rng.uniform(-12, -2))
    result = LBFGS(tol=1e-13, max_iter=300).run(J)
    assert result.status is Status.PRECISION_LIMIT
    assert result.n_iter < 300


def test_a_solved_problem_with_an_open_gap_says_what_keeps_it_open():
    X, y = gaussians(3, 4, 5)
    assert LBFGS(smoothing=Fixed(deviation=0.1)).run(problem(ROCArea(), X, y, 1e-1)).status is Status.SMOOTHING_LIMIT
    assert LBFGS(tol=1e-18).run(problem(ROCArea(), X, y, 1e-1)).status is Status.PRECISION_LIMIT


@pytest.mark.parametrize(("measure", "seed"), [(ErrorRate(), 32), (ROCArea(), 36)], ids=["error_rate", "roc_area"])
def test_a_tiny_alpha_in_row_space(measure, seed):
    """Squares of lengths are sums of terms of both signs there, and may come out as zero or less."""
    X = np.random.default_rng(seed).normal(size=(4, 9))
    result = LBFGS(tol=1e-16, max_iter=150).run(problem(measure, X, np.array([1, -1, 1, -1]), 1e-12))
    assert result.status in (Status.PRECISION_LIMIT, Status.ITERATION_LIMIT)
    assert result.objective >= result.lower_bound
