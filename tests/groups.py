"""Groups of threads that run the same program on rows of their own, as processes on several machines would."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from smoothperf.measures.examples import Examples

#: Seconds after which a member that waits for the others fails instead of hanging.
PATIENCE = 60.0


class _Meeting:
    """Where members meet: each leaves an array, and sees those of all."""

    def __init__(self, size: int):
        self.barrier = threading.Barrier(size, timeout=PATIENCE)
        self.left: list[Any] = [None] * size


class ThreadCollective:
    """A member of a group of threads. It counts rounds, and the numbers of the largest array that it gave."""

    def __init__(self, rank: int, size: int, meeting: _Meeting):
        self.rank, self.size = rank, size
        self._meeting = meeting
        self.rounds: list[str] = []
        self.largest = 0

    def sum(self, values):
        first, *others = self._exchange("sum", values)
        result = first.copy()
        for other in others:
            assert other.shape == first.shape
            result += other
        return result

    def gather(self, values):
        return [each.copy() for each in self._exchange("gather", values)]

    def first(self, values):
        first, *others = self._exchange("first", values)
        assert all(other.shape == first.shape for other in others)
        return first.copy()

    def _exchange(self, kind, values):
        values = np.asarray(values)
        self.rounds.append(kind)
        self.largest = max(self.largest, values.size)
        meeting = self._meeting
        meeting.left[self.rank] = (kind, values.copy())
        meeting.barrier.wait()
        found = list(meeting.left)
        meeting.barrier.wait()
        assert {each[0] for each in found} == {kind}, "members have parted ways"
        return [each[1] for each in found]


def run_group(size: int, program: Callable[[ThreadCollective], Any]) -> list[Any]:
    """Run a program on every member, and return the results by rank. One that fails ends all."""
    meeting = _Meeting(size)

    def member(rank: int) -> Any:
        try:
            return program(ThreadCollective(rank, size, meeting))
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


def examples_of(y, weights, part: slice, together) -> Examples:
    """Those of one member."""
    positive = np.asarray(y) > 0
    return Examples(
        positive[part].copy(), None if weights is None else np.asarray(weights, float)[part].copy(), together
    )
