"""The command line, ``smoothperf``: one file per subcommand.

What a command needs beyond its options is imported when it runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from . import compare, convert, demo, evaluate, export, path, predict, report, train, weights
from ._errors import OneLineUsageErrors, one_line_errors
from ._options import with_groups

app = typer.Typer(cls=OneLineUsageErrors, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
for _command in (
    train.train,
    convert.convert,
    predict.predict,
    evaluate.evaluate,
    report.report,
    weights.weights,
    export.export,
    compare.compare,
    path.path,
    demo.demo,
):
    app.command()(one_line_errors(with_groups(_command)))


def _show_version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"smoothperf {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Train linear models for the performance measure itself, with certified gaps.

    First steps: smoothperf train DATA -o MODEL,
    then smoothperf evaluate MODEL TEST and smoothperf report MODEL TEST.
    """


def main() -> None:
    """Run the command line."""
    app(prog_name="smoothperf")
