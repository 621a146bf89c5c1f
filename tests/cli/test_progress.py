"""The display during a training."""

import signal
from types import SimpleNamespace

from smoothperf.cli._progress import Watch
from smoothperf.optimise import TraceRow


class Console:
    """Writes to a list; like a stream, it cannot be written to while it is being written to."""

    is_terminal = False

    def __init__(self):
        self.lines = []
        self.during = None
        self._busy = False

    def print(self, line, **_):
        assert not self._busy, "reentrant call"
        self._busy = True
        if self.during is not None:
            self.during()
        self._busy = False
        self.lines.append(line)


def test_ctrl_c_in_the_middle_of_a_line():
    console = Console()
    row = TraceRow(0, 0.0, 1, 1.0, 0.9, 0.0, 1.0, 0.1)
    with Watch(SimpleNamespace(progress=console, quiet=False)) as watch:
        console.during = lambda: watch.interrupted or signal.raise_signal(signal.SIGINT)
        assert watch(row)
    assert [line.split()[0] for line in console.lines] == ["iteration", "Ctrl-C:"]
