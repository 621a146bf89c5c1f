"""``smoothperf paper``: the paper's experiments, run again."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from . import _options as options
from ._errors import INTERRUPTED, fail, one_line_errors
from ._progress import Watch
from ._screen import Screen, table
from ._visible import visible


class What(StrEnum):
    """What to run."""

    ALL = "all"
    TABLE1 = "table1"
    FIGURE1 = "figure1"
    FIGURE2 = "figure2"
    FIGURE3 = "figure3"
    FIGURE4 = "figure4"
    RATES = "rates"


#: Two figures show the same runs, and are made together.
MEASURES = {"prbep": (What.FIGURE1, What.FIGURE3), "roc_area": (What.FIGURE2, What.FIGURE4)}


@one_line_errors
def paper(
    what: Annotated[
        What, typer.Argument(metavar="WHAT", help="table1, figure1 to figure4, rates, or all.", show_default=False)
    ],
    data_dir: options.DataDir = None,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where CSV files, figures and page go.")] = Path(
        "paper"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="Three data sets and short runs: under 3 minutes instead of an hour.")
    ] = False,
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Run nothing: figures and page from the CSV files in FOLDER.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Run the paper's experiments again, and check its claims.

    Example: smoothperf paper all --quick --data-dir data

    Writes CSV files, figures that are made from these alone, and a page,
    README.md, that shows each beside what the paper claims. Figures 1 and 3,
    and 2 and 4, show the same runs and are made together. Data sets that are
    not there are reported as missing; see 'smoothperf datasets list'.
    """
    import time

    from .. import plots
    from ..datasets.folders import search_folders

    screen = Screen(quiet=quiet)
    plots.require_matplotlib()
    search_folders(data_dir)  # fails now, not after hours, if there is no such folder
    output.mkdir(parents=True, exist_ok=True)

    from ..paper import experiments
    from ..paper.settings import FULL, QUICK
    from ..paper.show import show

    if not redraw:
        begin = time.monotonic()
        try:
            with Watch(screen) as watch:
                bench = experiments.Bench(output, data_dir, QUICK if quick else FULL, watch, screen.say)
                if what in (What.ALL, What.TABLE1):
                    experiments.run_table1(bench)
                if what in (What.ALL, What.RATES):
                    experiments.run_rates(bench)
                for measure, figures in MEASURES.items():
                    if what in (What.ALL, *figures):
                        experiments.run_contest(bench, measure)
        except KeyboardInterrupt:
            typer.echo(f"smoothperf: interrupted; {visible(output)} has the CSV files of what was finished.", err=True)
            raise typer.Exit(INTERRUPTED) from None
        experiments.write_about(bench, time.monotonic() - begin)
    elif not any(output.glob("*.csv")):
        fail(f"there are no CSV files in {output} to draw from; leave out --redraw.")
    written = show(output)
    _summarise(screen, output)
    for path in written:
        screen.say(f"Written: {path}")


def _summarise(screen: Screen, folder: Path) -> None:
    """Show how often each claim holds, and what is missing."""
    from ..paper import claims, tables
    from ..paper.results import read

    verdicts = tables.read(folder / "claims.csv", claims.Verdict)
    kinds = (claims.HOLDS, claims.PARTLY, claims.FAILS, claims.UNKNOWN)
    rows = [
        [claim, *(str(sum(v.claim == claim and v.verdict == kind for v in verdicts)) for kind in kinds)]
        for claim in claims.CLAIMS
        if any(verdict.claim == claim for verdict in verdicts)
    ]
    if rows:
        screen.result(table(["claim of the paper", *kinds], rows))
    missing = [line.dataset for line in read(folder).lines if line.have == "missing"]
    if missing:
        screen.note(f"missing, and replaced by nothing: {', '.join(missing)}.")
