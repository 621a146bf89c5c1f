"""Console output: results to standard output, progress and notes to standard error, and JSON alone if asked for."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from ._options import AsJson, Options, Quiet
from ._visible import visible, visible_json, visible_lines

#: No table needs more columns of characters.
WIDEST = 10_000


class Screen(Options):
    """The console output of a command, which has its arguments, but for ``side``, as options.

    Parameters
    ----------
    as_json : bool
        Standard output holds one JSON document and nothing else.
    quiet : bool
        No information on the side and no progress: results and errors only.
    side : bool
        Information on the side goes to standard error, because standard output is for the result.
    """

    def __init__(self, *, as_json: AsJson = False, quiet: Quiet = False, side: bool = False):
        self.as_json = as_json
        self.quiet = quiet
        self._out = Console(highlight=False)
        self.progress = Console(stderr=True, highlight=False, quiet=quiet)
        self._information = self.progress if side else self._out

    def aside(self) -> Screen:
        """Return the same with information on the side on standard error."""
        return Screen(as_json=self.as_json, quiet=self.quiet, side=True)

    def say(self, text: str = "", *, wrap: bool = False) -> None:
        """Information that accompanies a result; prose may ``wrap``, lines with paths stay in one piece."""
        if not (self.as_json or self.quiet):
            self._information.print(escape(visible_lines(text)), soft_wrap=not wrap)

    def result(self, *parts: str | Table) -> None:
        """The result that a command is for: tables, and prose that wraps."""
        if not self.as_json:
            for part in parts:
                if isinstance(part, str):
                    self._out.print(escape(visible_lines(part)))
                else:
                    # On a narrow screen words wrap; where that is not enough, lines are too long, but nothing is cut.
                    whole = Measurement.get(self._out, self._out.options.update(max_width=WIDEST), part)
                    part.width = whole.minimum if whole.minimum > self._out.width else None
                    self._out.print(part, crop=False)

    def note(self, text: str) -> None:
        """Something to know that is not a result, on standard error."""
        self.progress.print(f"Note: {escape(visible(' '.join(text.split())))}", soft_wrap=True)

    def document(self, content: dict[str, Any]) -> None:
        """The result for machines."""
        if self.as_json:
            typer.echo(to_json(content))


def to_json(content: Any) -> str:
    """Return JSON text; what is not finite becomes null, which every parser accepts.

    Examples
    --------
    >>> print(to_json({"gap": float("nan"), "scores": [1.5, 2]}))
    {
      "gap": null,
      "scores": [
        1.5,
        2
      ]
    }
    """
    return visible_json(json.dumps(_plain(content), indent=2, allow_nan=False, ensure_ascii=False))


def _plain(value: Any) -> Any:
    """Python's own types in place of NumPy's and of paths."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> Table:
    """Return a plain table whose first ``words`` columns are text and the others numbers.

    Cells are shown as they are, square brackets included. Where there is little room, words wrap; numbers never do.
    """
    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    heads, cells = [*map(visible_lines, headers)], [[*map(visible, row)] for row in rows]
    for place, (head, *column) in enumerate(zip(heads, *cells, strict=True)):
        if place < words:
            made.add_column(escape(head), overflow="fold")
        else:
            width = max(map(cell_len, [*head.split("\n"), *column]))
            made.add_column(escape(head), no_wrap=True, justify="right", min_width=width)
    for row in cells:
        made.add_row(*map(escape, row))
    return made


def number(value: float) -> str:
    """Return a measure as text, a dash for what is not defined."""
    return f"{value:.4f}" if math.isfinite(value) else "-"
