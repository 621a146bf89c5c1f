"""How subcommands end when they cannot go on."""

from __future__ import annotations

from typing import NoReturn

import typer

#: Exit code for "could not run"; 1 means "ran, but the outcome is not what was asked for".
CANNOT_RUN = 2


def fail(message: object) -> NoReturn:
    """Say in one line on standard error what is wrong, and exit."""
    typer.echo(f"smoothperf: {' '.join(str(message).split())}", err=True)
    raise typer.Exit(CANNOT_RUN)
