"""The trace of several runs that follow one another, as that of one."""

from __future__ import annotations

import time
from dataclasses import replace

from .monitor import Callback
from .objective import RegularizedRisk
from .result import Result, Status, Trace, TraceRow


class JoinedRuns:
    """Puts the rows of runs together, and counts their products with X.

    Parameters
    ----------
    callback : callable, optional
        The user's; is shown every row as one of the whole.
    """

    def __init__(self, callback: Callback | None):
        self._callback = callback
        self._rows: list[TraceRow] = []
        self._products = [0, 0]
        self._objective: RegularizedRisk | None = None
        self._begin = time.perf_counter()
        self._before = TraceRow(0, 0.0, 0, 0.0, 0.0, 0.0, 0.0, 0.0)

    @property
    def iterations(self) -> int:
        """Of the runs before, with their starting points."""
        return len(self._rows)

    def count(self, n_matvec: int) -> None:
        """Products with X that were made before the next run."""
        self._products[0] += n_matvec

    def continue_with(self, objective: RegularizedRisk) -> None:
        """Begin another run, whose products this objective counts."""
        self._close()
        self._objective = objective
        self._before = replace(
            self._before,
            iteration=len(self._rows),
            seconds=time.perf_counter() - self._begin,
            passes=sum(self._products),
        )

    def add(self, row: TraceRow) -> bool | None:
        """Take a row of the present run, and show it to the user's callback."""
        before = self._before
        row = replace(
            row,
            iteration=row.iteration + before.iteration,
            seconds=row.seconds + before.seconds,
            passes=row.passes + before.passes,
        )
        self._rows.append(row)
        return None if self._callback is None else self._callback(row)

    def complete(self, result: Result) -> Result:
        """Return the result of the last run as that of all of them."""
        self._close()
        return replace(
            result,
            n_iter=max(0, len(self._rows) - 1),
            n_matvec=self._products[0],
            n_rmatvec=self._products[1],
            seconds=time.perf_counter() - self._begin,
            trace=Trace(self._rows),
        )

    def _close(self) -> None:
        if self._objective is not None:
            self._products[0] += self._objective.n_matvec
            self._products[1] += self._objective.n_rmatvec
        self._objective = None


class FollowingRun:
    """A run that follows another one, for a problem of its own: rows, counts and time go on where those ended.

    Parameters
    ----------
    first : Result
        Of the run before.
    callback : callable, optional
        The user's. Where it has stopped the first run, it stops this one too.
    """

    def __init__(self, first: Result, callback: Callback | None):
        self._first = first
        self._callback = callback

    def add(self, row: TraceRow) -> bool | None:
        """Show a row of the second run to the user's callback as one of both."""
        stop = None if self._callback is None else self._callback(self._later(row))
        return stop or self._first.status is Status.STOPPED

    def join(self, second: Result) -> Result:
        """Return the second result as that of both runs."""
        first = self._first
        return replace(
            second,
            n_iter=len(first.trace) + second.n_iter,
            n_matvec=first.n_matvec + second.n_matvec,
            n_rmatvec=first.n_rmatvec + second.n_rmatvec,
            seconds=first.seconds + second.seconds,
            trace=Trace([*first.trace, *map(self._later, second.trace)]),
        )

    def _later(self, row: TraceRow) -> TraceRow:
        first = self._first
        return replace(
            row,
            iteration=row.iteration + len(first.trace),
            seconds=row.seconds + first.seconds,
            passes=row.passes + first.n_matvec + first.n_rmatvec,
        )
