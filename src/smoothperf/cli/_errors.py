"""The end of commands that cannot go on: one line on standard error, never a traceback."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn, ParamSpec

import typer
from typer.core import TyperGroup

from ._visible import visible

P = ParamSpec("P")

#: Exit codes: 1 means "ran, but the certified gap is above the tolerance", or "the model is constant";
#: 2 "could not run".
MISSED_TOLERANCE = 1
CONSTANT_MODEL = 1
CANNOT_RUN = 2
#: The code that shells report for a program that Ctrl-C ended.
INTERRUPTED = 130
#: Set to anything to see where an unexpected error comes from.
TRACEBACK = "SMOOTHPERF_TRACEBACK"


def complain(message: object) -> None:
    """Say in one line on standard error what is wrong, also with ``--quiet`` and ``--json``."""
    typer.echo(f"smoothperf: {visible(' '.join(str(message).split()))}", err=True)


def fail(message: object) -> NoReturn:
    """Complain, and exit."""
    complain(message)
    raise typer.Exit(CANNOT_RUN)


def one_line_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Make every error of a command one line.

    Errors about what the user gave (ValueError, which readers of data and of models raise too, a missing optional
    library, files that cannot be opened) speak for themselves. Others are mistakes of this program, and say how to get
    the traceback.
    """

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            typer.echo("smoothperf: interrupted; nothing was written.", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # as of 'smoothperf predict ... | head'
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (Python flushes it at exit)
            raise typer.Exit(0) from None
        except Exception as error:
            if os.environ.get(TRACEBACK):
                raise
            fail(_explain(error))

    return run


def _explain(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return f"not enough memory. {error}"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}." if error.filename is not None else str(error)
    if isinstance(error, (ValueError, ImportError)):
        return str(error)
    kind = type(error).__name__
    return f"unexpected {kind}: {error} (a mistake of this program; set {TRACEBACK}=1 to see where it happens)"


class OneLineUsageErrors(TyperGroup):
    """Commands whose usage errors are one line too, where typer would draw a box."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run, and exit unless ``standalone_mode`` is off."""
        standalone_mode = options.pop("standalone_mode", True)
        run = functools.partial(super().main, *args, **{**options, "standalone_mode": False})
        if not standalone_mode:
            return run()
        try:
            code = run()
        except typer.Abort:
            code = INTERRUPTED
        except Exception as error:
            # Usage errors of click, which typer brings along under a name of its own.
            if not hasattr(error, "format_message"):
                raise
            code = _report_usage(error)
        sys.exit(code if isinstance(code, int) else 0)


def _report_usage(error: Any) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return CANNOT_RUN
    message = visible(" ".join(error.format_message().split()))
    path = context.command_path if context is not None else "smoothperf"
    typer.echo(f"{path}: {message}{'' if message.endswith(('.', '?')) else '.'} See '{path} --help'.", err=True)
    return CANNOT_RUN
