"""The trace of several runs that follow one another, as that of one."""

from __future__ import annotations

import time
from dataclasses import replace

from ..objective import RegularizedRisk
from .monitor import Callback
from .result import Result, Trace, TraceRow


class Story:
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
