"""Solvers on several members: the same program on rows of their own ends with the same weights, everywhere."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

from groups import check_alike, examples_of, parts, perturb, perturb_solvers, run_group
from problems import gaussians, thorough
from promises import hold_tight
from smoothperf import (
    BMRM,
    LBFGS,
    PRBEP,
    ErrorRate,
    FBeta,
    LogLoss,
    MeasureClassifier,
    Nesterov,
    PartialROCArea,
    PrecisionAtK,
    ROCArea,
    Status,
)
from smoothperf.dask.design import SharedDesign
from smoothperf.design import BiasedDesign, as_design
from smoothperf.measures import partial_roc
from smoothperf.optimise import Retargeting
from smoothperf.optimise.objective import RegularizedRisk

MEASURES = [PRBEP(), PrecisionAtK(0.1), ROCArea(), PartialROCArea(0.2), FBeta(), ErrorRate(), LogLoss()]
#: Rows of the members: the first has none, as a client that has no rows itself.
LENGTHS = [0, 50, 230, 20]
ALPHA = 1e-2
SIZE = 60, 240, 6


def name_of(thing):
    return getattr(thing, "name", type(thing).__name__)


def design_of(measure, X):
    return BiasedDesign(as_design(X), 1.0) if measure.fits_bias else as_design(X)


def minimise(solver, measure, X, y, weights=None, lengths=LENGTHS, start=None, **options):
    """The results of all members, and the objective of all rows in one place."""

    def member(communicator):
        part = parts(len(y), lengths)[communicator.rank]
        design = SharedDesign(design_of(measure, X[part]), communicator)
        risk = measure.risk(examples_of(y, weights, part, communicator))
        return solver.run(RegularizedRisk(design, risk, ALPHA), start, **options)

    whole = RegularizedRisk(design_of(measure, X), measure.bind(y, weights), ALPHA)
    return run_group(len(lengths), member), whole


@pytest.mark.parametrize("measure", MEASURES, ids=name_of)
@pytest.mark.parametrize(
    "solver", [LBFGS(tol=1e-4), Nesterov(tol=1e-2), BMRM(tol=1e-2)], ids=lambda s: type(s).__name__
)
def test_the_certified_optimum_is_that_of_all_rows(solver, measure):
    X, y = gaussians(*SIZE)
    # Every solver and every measure with weights and without.
    weighted = (MEASURES.index(measure) + isinstance(solver, Nesterov)) % 2 == 1
    weights = np.random.default_rng(1).integers(1, 4, size=y.size).astype(float) if weighted else None
    results, whole = minimise(solver, measure, X, y, weights)
    check_alike(results)
    result = results[0]
    assert result.status is Status.CONVERGED
    reference = LBFGS(tol=1e-6).run(whole)
    assert whole.exact(result.coef) == pytest.approx(result.objective, rel=1e-9)
    assert result.lower_bound <= reference.objective
    assert result.objective <= reference.objective + solver.tol


@pytest.mark.parametrize("measure", [PRBEP(), PartialROCArea(0.2), FBeta(), ErrorRate()], ids=name_of)
def test_the_tight_bound(measure):
    X, y = gaussians(*SIZE)
    start = np.ones(X.shape[1] + measure.fits_bias)
    results, whole = minimise(Retargeting(tol=1e-3), measure, X, y, start=start)
    check_alike(results)
    hold_tight(results[0], whole, start)


@pytest.mark.parametrize(
    ("measure", "solver"),
    [
        *((measure, LBFGS(tol=1e-5)) for measure in MEASURES),
        *((PRBEP(), solver) for solver in (Nesterov(tol=1e-2), BMRM(tol=1e-2))),
        *thorough(*itertools.product(MEASURES, [Nesterov(tol=1e-2), BMRM(tol=1e-2)])),
    ],
    ids=name_of,
)
def test_a_member_that_rounds_differently_stays_with_the_others(solver, measure, monkeypatch):
    """Else members would part ways: one is in another round than the others, or ends at another point."""
    perturb_solvers(monkeypatch)
    perturb(monkeypatch, partial_roc, "huber_sums", outputs=(4,))
    X, y = gaussians(*SIZE, seed=3)

    def member(communicator):
        threading.current_thread().perturbed = communicator.rank == 2
        part = parts(len(y), LENGTHS)[communicator.rank]
        design = SharedDesign(design_of(measure, X[part]), communicator)
        risk = measure.risk(examples_of(y, None, part, communicator))
        return solver.run(RegularizedRisk(design, risk, ALPHA))

    results = run_group(len(LENGTHS), member)
    check_alike(results)
    assert results[0].status is Status.CONVERGED
    expected = LBFGS(tol=1e-6).run(RegularizedRisk(design_of(measure, X), measure.bind(y), ALPHA))
    assert results[0].lower_bound <= expected.objective
    assert results[0].objective <= expected.objective + solver.tol


def test_a_callback_of_the_first_member_stops_all():
    X, y = gaussians(*SIZE)

    def member(communicator):
        part = parts(len(y), LENGTHS)[communicator.rank]
        risk = ROCArea().risk(examples_of(y, None, part, communicator))
        callback = (lambda row: row.iteration >= 2) if communicator.rank == 0 else None
        objective = RegularizedRisk(SharedDesign(as_design(X[part]), communicator), risk, 1e-4)
        return LBFGS(tol=1e-9).run(objective, callback=callback)

    results = run_group(len(LENGTHS), member)
    check_alike(results)
    assert results[0].status is Status.STOPPED
    assert results[0].n_iter == 2


def test_rounds_of_an_iteration_are_few():
    X, y = gaussians(570, 2430, 6)
    rounds = []

    def member(communicator):
        part = parts(len(y), [0, 1500, 1500])[communicator.rank]
        risk = measure.risk(examples_of(y, None, part, communicator))
        result = LBFGS(tol=1e-4).run(RegularizedRisk(SharedDesign(as_design(X[part]), communicator), risk, 1e-3))
        rounds.append(len(communicator.rounds) / result.n_iter)

    for measure, most in ((ROCArea(), 14), (PRBEP(), 14), (LogLoss(), 10)):
        run_group(3, member)
        assert max(rounds) <= most, measure
        rounds.clear()


def test_members_fit_what_one_process_fits():
    X, y = gaussians(*SIZE)
    model = MeasureClassifier("prbep", alpha=ALPHA, tol=1e-4).fit(X, y)
    results, _ = minimise(LBFGS(tol=1e-4), PRBEP(), X, y)
    assert results[0].objective == pytest.approx(model.objective_, abs=2e-4)
