"""Groups of threads that run the same program on rows of their own, as processes on several machines would."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from smoothperf.dask.versions import version_for
from smoothperf.measures.examples import Examples
from smoothperf.optimise import certificate as certificate_module
from smoothperf.optimise import lbfgs as lbfgs_module
from smoothperf.optimise import objective as objective_module
from smoothperf.optimise import space as space_module

#: Seconds after which a member that waits for the others fails instead of hanging.
PATIENCE = 60.0


class _Meeting:
    """A meeting of members: each leaves an array, and sees those of all.

    There are two tables, which take turns: who has come to the next round has read that of the last one.
    """

    def __init__(self, size: int):
        self.barrier = threading.Barrier(size, timeout=PATIENCE)
        self.left: tuple[list[Any], list[Any]] = ([None] * size, [None] * size)


class ThreadCommunicator:
    """A member of a group of threads. It counts rounds, and the numbers of the largest array that it gave."""

    def __init__(self, rank: int, size: int, meeting: _Meeting):
        self.rank, self.size = rank, size
        self._meeting = meeting
        self._turn = 0
        self.rounds: list[str] = []
        self.largest = 0

    def allreduce(self, values):
        first, *others = self._exchange("allreduce", values)
        result = first.copy()
        for other in others:
            assert other.shape == first.shape
            result += other
        return result

    def allgather(self, values):
        return [each.copy() for each in self._exchange("allgather", values)]

    def broadcast(self, values, out=None):
        first, *others = self._exchange("broadcast", values)
        assert all(other.shape == first.shape for other in others)
        if self.rank == 0:
            return values
        result = np.empty_like(first) if out is None else out
        result[...] = first
        return result

    def reduce(self, values):
        every = self._exchange("reduce", values)
        return sum(every[1:], every[0]) if self.rank == 0 else values

    def gather(self, values):
        every = self._exchange("gather", values)
        return [each.copy() for each in every] if self.rank == 0 else []

    def version(self, algorithm):
        return version_for(self, algorithm)

    def _exchange(self, kind, values):
        values = np.asarray(values)
        self.rounds.append(kind)
        self.largest = max(self.largest, values.size)
        meeting = self._meeting
        self._turn = 1 - self._turn
        table = meeting.left[self._turn]
        table[self.rank] = (kind, values.copy())
        meeting.barrier.wait()
        found = list(table)
        assert {each[0] for each in found} == {kind}, "members have parted ways"
        return [each[1] for each in found]


def run_group(size: int, program: Callable[[ThreadCommunicator], Any]) -> list[Any]:
    """Run a program on every member, and return the results by rank. One that fails ends all."""
    meeting = _Meeting(size)

    def member(rank: int) -> Any:
        try:
            return program(ThreadCommunicator(rank, size, meeting))
        except BaseException:
            meeting.barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(member, rank) for rank in range(size)]
        errors = [future.exception() for future in futures]
    real = [error for error in errors if error is not None and not isinstance(error, threading.BrokenBarrierError)]
    for error in real or [error for error in errors if error is not None]:
        raise error
    return [future.result() for future in futures]


def parts(n: int, lengths) -> list[slice]:
    """Slices of given lengths, which sum to n; some may be empty."""
    ends = np.cumsum(lengths)
    assert ends[-1] == n
    return [slice(int(end - length), int(end)) for end, length in zip(ends, lengths, strict=True)]


def examples_of(y, weights, part: slice, communicator) -> Examples:
    """Those of one member."""
    positive = np.asarray(y) > 0
    return Examples(
        positive[part].copy(), None if weights is None else np.asarray(weights, float)[part].copy(), communicator
    )


def check_alike(results):
    """All members have the same bits."""
    first = results[0]
    for other in results[1:]:
        np.testing.assert_array_equal(other.coef, first.coef)
        for name in ("objective", "lower_bound", "gap", "n_iter", "status", "smoothing", "stationarity_gap"):
            a, b = getattr(other, name), getattr(first, name)
            assert a == b or (a != a and b != b), name


def perturb(monkeypatch, module, name, *, outputs=(), by=2.0**-52):
    """Change what a function returns, and the arrays it fills, in the last bit or by more; in one thread only."""
    original = getattr(module, name)

    def nudged(*arguments):
        result = original(*arguments)
        if getattr(threading.current_thread(), "perturbed", False):
            for place in outputs:
                if arguments[place] is not None:
                    arguments[place][:] *= 1.0 + by
            if isinstance(result, tuple):
                result = tuple(value * (1.0 + by) for value in result)
            elif isinstance(result, np.ndarray | float):
                result = result * (1.0 + by)
        return result

    monkeypatch.setattr(module, name, nudged)


def perturb_solvers(monkeypatch):
    """Change the results of what solvers do between two rounds in the last bit; in one thread only."""
    perturb(monkeypatch, objective_module, "inner_products")
    perturb(monkeypatch, objective_module, "along", outputs=(3,))
    perturb(monkeypatch, space_module, "along", outputs=(3,))
    perturb(monkeypatch, space_module, "sum_and_squares", outputs=(5,))
    perturb(monkeypatch, lbfgs_module, "differences", outputs=(6, 7))
    perturb(monkeypatch, lbfgs_module, "two_loop", outputs=(7,))
    perturb(monkeypatch, certificate_module, "maximise_on_simplex")
