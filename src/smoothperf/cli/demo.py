"""``smoothperf demo``: three solvers side by side, and what training for a measure is worth, in about a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", readable=False, help="Where the figure, the model and the report go.")
    ] = Path("demo"),
    quick: Annotated[bool, typer.Option("--quick", help="A small generated problem, for a first look.")] = False,
) -> None:
    """Compare three solvers, then judge a model against logistic regression.

    Prints two tables, writes FOLDER/convergence.png, the model and a report
    on it, FOLDER/report.html, and ends with its address.

    Exit code: 0 if every run is certified to be within the tolerance,
    1 if one is not, 2 if the demo could not run.
    """
    from ._showcase import show

    if not show(output, quick=quick):
        raise typer.Exit(1)
