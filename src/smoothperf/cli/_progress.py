"""Progress: a line that changes on a terminal, plain lines when piped; Ctrl-C stops a fit, and nothing is lost."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from ..estimators.choice import Step
    from ..optimise import TraceRow
    from ._screen import Screen

#: Seconds between two plain lines, and between two changes on a terminal.
LINES_EVERY = 1.0
CHANGES_EVERY = 0.1

Item = TypeVar("Item")


def shown_progress(screen: Screen, what: str, items: Iterable[Item], count: int) -> Iterator[Item]:
    """Yield items, with a bar on a terminal that vanishes at the end."""
    from rich.progress import track

    silent = screen.quiet or not screen.progress.is_terminal
    return iter(track(items, what, count, console=screen.progress, transient=True, disable=silent))


class Watch:
    """A solver's callback that shows each iteration, and asks for a stop after Ctrl-C.

    Inside the ``with`` block the first Ctrl-C sets :attr:`interrupted`, which ends a fit after its iteration, with the
    best model so far; a second one raises KeyboardInterrupt as usual. So does the first while a choice is made
    (:meth:`choosing`): there is no model yet.

    Parameters
    ----------
    screen : Screen
        The console it is shown on.
    """

    def __init__(self, screen: Screen):
        self.interrupted = False
        self._acknowledged = False
        self._choosing_since: float | None = None
        self._console = screen.progress
        self._live = self._console.is_terminal and not screen.quiet
        self._shown_at = -float("inf")
        self._last: TraceRow | None = None
        self._last_shown: TraceRow | None = None
        self._status: Any = None
        self._previous: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._on_interrupt)
        if self._live:
            self._status = self._console.status("starting")
            self._status.start()
        return self

    def __exit__(self, *failure: object) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
        self._acknowledge()
        if self._last is not None and self._last is not self._last_shown:
            self._show_row(self._last)

    def __call__(self, row: TraceRow) -> bool:
        """Show an iteration; true if the fit should stop."""
        self._last = row
        self._choosing_since = None
        if self._is_time():
            self._show_row(row)
        self._acknowledge()
        return self.interrupted

    def choosing(self, step: Step | str) -> None:
        """Show what a choice will train next, unless it was interrupted."""
        if self.interrupted:
            raise KeyboardInterrupt
        if self._choosing_since is None:
            self._choosing_since = time.monotonic()
        if self._is_time():
            self._show(f"{step}  {time.monotonic() - self._choosing_since:6.1f} s")

    def _is_time(self) -> bool:
        """Whether to show something again."""
        now = time.monotonic()  # several fits may share this, each with a clock of its own
        if now - self._shown_at < (CHANGES_EVERY if self._live else LINES_EVERY):
            return False
        self._shown_at = now
        return True

    def _show_row(self, row: TraceRow) -> None:
        self._show(
            f"iteration {row.iteration:5d}  objective {row.objective:.6f}  gap {row.gap:.2e}  {row.seconds:6.1f} s"
        )
        if self._status is None:
            self._last_shown = row

    def _show(self, text: str) -> None:
        if self._status is not None:
            self._status.update(text)
        else:
            self._console.print(text, soft_wrap=True)

    def _acknowledge(self) -> None:
        """Say once that Ctrl-C was noticed."""
        if self.interrupted and not self._acknowledged:
            self._acknowledged = True
            self._console.print("Ctrl-C: stopping after this iteration; once more to leave at once.", soft_wrap=True)

    def _on_interrupt(self, signal_number: int, frame: FrameType | None) -> None:
        leave = self.interrupted
        if self._choosing_since is not None:
            # An exception is lost where Python runs a finaliser: the next step of the choice raises it again.
            leave = self.interrupted = self._acknowledged = True
        if leave:
            raise KeyboardInterrupt
        # No word about it here: the signal may have come in the middle of a line, and streams are not reentrant.
        self.interrupted = True
