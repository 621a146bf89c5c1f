"""``smoothperf demo``: three solvers, two measures, two data sets, side by side in less than a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._errors import one_line_errors


@one_line_errors
def demo(
    output: Annotated[Path, typer.Option(metavar="FOLDER", readable=False, help="Where the figure goes.")] = Path(
        "demo"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="A small generated problem, for a first look.")] = False,
) -> None:
    """Train for two measures on two data sets with three solvers, and compare them.

    Prints one table and writes FOLDER/convergence.png.

    Exit code: 0 if every run is certified to be within the tolerance,
    1 if one is not, 2 if the demo could not run.
    """
    from ._showcase import show

    if not show(output, quick=quick):
        raise typer.Exit(1)
