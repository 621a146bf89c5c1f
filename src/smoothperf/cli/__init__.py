"""The command line, ``smoothperf``: one file per subcommand."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from . import demo

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command()(demo.demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"smoothperf {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Train linear models for the performance measure itself, with certified gaps."""


def main() -> None:
    """Run the command line."""
    app(prog_name="smoothperf")
