"""``smoothperf demo``: from a table and a goal to a model, and three solvers side by side, within a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", readable=False, help="Where tables, model, figure and report go.")
    ] = Path("demo"),
    quick: Annotated[bool, typer.Option("--quick", help="Less data, for a first look.")] = False,
) -> None:
    """Choose whom to call, of a table of customers; then compare three solvers.

    The table is generated. The model is shown with what it promises and what
    new customers then show, beside logistic regression and boosted trees.
    Tables, model, figure and a report on the model, FOLDER/report.html, are
    written; its address comes last.

    Exit code: 0 if every run is certified to be within the tolerance,
    1 if one is not, 2 if the demo could not run.
    """
    from ._showcase import show

    if not show(output, quick=quick):
        raise typer.Exit(1)
