"""Runs: the paper's mu, exact objectives, a clock that stands still while looking, and honest ends."""

import dataclasses
import time

import numpy as np
import pytest
import scipy.sparse as sp

from reproduction import runs
from reproduction.datasets import Part
from reproduction.runs import METHODS, Problem, Stopwatch, paper_mu, solver_of, train
from reproduction.settings import EPS, MEASURES, TOL
from smoothperf import Fixed
from smoothperf.design import as_design
from smoothperf.optimise.objective import RegularizedRisk


def part(n, seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, 1, -1)
    X = rng.standard_normal((n, 10))
    X[:, 0] += 1.5 * (y > 0)
    return Part(sp.csr_matrix(X), y)


@pytest.fixture(params=sorted(MEASURES))
def problem(request):
    return Problem("set", "the paper's set", part(300, 0), part(100, 1), MEASURES[request.param], 1e-3)


def test_the_papers_mu():
    y = np.array([1] * 3 + [-1] * 7)
    assert paper_mu("prbep", y, 100.0) == pytest.approx(100 * EPS / 5)
    assert paper_mu("roc_area", y, 1.0) == pytest.approx(EPS / 10.5)
    # Ours for ROC area is the same, for PRBEP it is n / (2 min(n+, n-)) times as large.
    for name, factor in (("prbep", 10 / 6), ("roc_area", 1.0)):
        risk = MEASURES[name].bind(y)
        assert Fixed(deviation=EPS).first(risk) == pytest.approx(factor * paper_mu(name, y, 1.0))


def test_solvers_are_those_of_the_paper():
    y = np.array([1, -1, -1, -1])
    for method, factor in runs.FACTORS.items():
        solver = solver_of(method, "prbep", y)
        assert solver.memory == 6
        assert solver.smoothing == Fixed(mu=factor * EPS / 2)
    assert {type(solver_of(method, "prbep", y)).__name__ for method in METHODS} == {"LBFGS", "Nesterov", "BMRM"}


@pytest.mark.parametrize("method", METHODS)
def test_a_run_has_exact_objectives_and_test_scores(problem, method):
    run, snapshots = train(problem, method, limit=10.0)
    assert run.end in ("converged", "solved for its mu", runs.STALLED)
    best = [snapshot.best for snapshot in snapshots]
    assert best == sorted(best, reverse=True)
    assert best[0] == pytest.approx(1.0)  # w = 0
    assert best[-1] == pytest.approx(run.objective, abs=1e-9)
    assert run.lower_bound <= run.objective
    seconds = [snapshot.cpu_seconds for snapshot in snapshots]
    assert seconds == sorted(seconds)
    assert seconds[-1] == run.cpu_seconds
    assert snapshots[0].iteration == 0
    assert snapshots[-1].iteration == run.iterations
    assert 0.5 < snapshots[-1].score <= 1.0
    if method in ("adaptive", "bmrm", "nesterov"):
        assert run.objective - run.lower_bound <= TOL
        assert 0.0 < run.certified_seconds <= run.cpu_seconds


def test_scores_and_objectives_are_those_of_the_weights(problem):
    seen = []

    class Spy(runs.Recorder):
        def take(self, iteration, seconds, weights):
            super().take(iteration, seconds, weights)
            seen.append(weights.copy())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "Recorder", Spy)
        _, snapshots = runs.train_once(problem, "mu x 1", limit=10.0)
    J = RegularizedRisk(as_design(problem.train.X), problem.measure.bind(problem.train.y), problem.alpha)
    for weights, snapshot in zip(seen, snapshots, strict=True):
        assert snapshot.score == problem.measure.score(problem.test.y, problem.test.X @ weights)
        assert snapshot.best <= J.exact(weights) + 1e-12
    assert min(J.exact(weights) for weights in seen) == pytest.approx(snapshots[-1].best, abs=1e-9)


@pytest.fixture
def clock(monkeypatch):
    """CPU time that passes when the test says so."""

    class Clock:
        now = 5.0

        def __call__(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(time, "process_time", clock)
    return clock


def test_the_clock_stands_still_during_pauses(clock):
    watch = Stopwatch()
    clock.now += 1.0
    watch.pause()
    clock.now += 10.0
    watch.resume()
    clock.now += 2.0
    assert watch.seconds == 3.0


def test_looking_is_not_part_of_the_time(problem, clock, monkeypatch):
    take = runs.Recorder.take

    def slow(self, *args):
        clock.now += 100.0
        take(self, *args)

    monkeypatch.setattr(runs.Recorder, "take", slow)
    run, snapshots = train(problem, "adaptive", limit=10.0)
    assert clock.now > 100.0
    assert run.end == "converged"
    assert run.cpu_seconds == 0.0
    assert all(snapshot.cpu_seconds == 0.0 for snapshot in snapshots)


def test_the_time_limit_is_shown_as_such(problem):
    run, snapshots = train(problem, "bmrm", limit=-1.0)
    assert run.end == runs.STOPPED
    assert run.iterations == 0
    assert snapshots[-1].best == pytest.approx(run.objective)


def test_stalled_runs_end(problem, monkeypatch):
    monkeypatch.setattr(runs, "PROGRESS", 10.0)  # nothing is progress
    run, _ = train(problem, "mu x 1", limit=10.0)
    assert run.end == runs.STALLED or run.iterations < runs.PATIENCE
    assert run.iterations <= runs.PATIENCE
    # Others have a certificate to wait for.
    assert train(problem, "adaptive", limit=10.0)[0].end == "converged"


def test_short_runs_are_repeated_and_the_fastest_counts(problem, monkeypatch):
    took = iter([0.3, 0.1, 0.2, 2.0])

    def pretend(problem, method, *, limit):
        run, snapshots = once(problem, method, limit=limit)
        return dataclasses.replace(run, cpu_seconds=next(took)), snapshots

    once = runs.train_once
    monkeypatch.setattr(runs, "train_once", pretend)
    assert train(problem, "adaptive", limit=10.0)[0].cpu_seconds == 0.1
    assert train(problem, "adaptive", limit=10.0)[0].cpu_seconds == 2.0
