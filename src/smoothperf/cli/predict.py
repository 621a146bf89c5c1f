"""``smoothperf predict``: labels or scores of new examples, one to a line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import _options as options
from ._errors import one_line_errors
from ._files import check_writable, read_for_model, read_model
from ._screen import Screen
from ._visible import visible


@one_line_errors
def predict(
    model: options.ModelFile,
    data: options.NewData,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write here instead of standard output."),
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Scores instead of labels; above 0 is predicted positive.")
    ] = False,
    label: options.Label = None,
    format: options.Format = None,
    zero_based: options.ZeroBased = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict the labels of new examples, one to a line.

    Example: smoothperf predict mails.model new.svm -o labels.txt

    DATA needs no labels, and those that it has are not looked at. A table may
    have a column of them: name it with --label. In an svmlight file the format
    asks for some: write 0. Control characters in labels, such as ends of lines,
    are written as Python writes them: a row is a line, whatever its label.
    """
    screen = Screen(as_json=as_json, quiet=quiet, side=True)
    if output is not None:
        check_writable(output)
    fitted = read_model(model)
    examples = read_for_model(
        screen, fitted, data, label=label, format=format, zero_based=zero_based, labelled=False, stored=True
    )
    values = (fitted.positive_scores(examples.X) if scores else fitted.predict(examples.X)).tolist()
    if as_json:
        screen.document({"command": "predict", "model": model, "scores" if scores else "labels": values})
        if output is None:
            return
    lines = "".join(f"{visible(value)}\n" for value in values)
    if output is None:
        typer.echo(lines, nl=False)
    else:
        from .._files import written_whole

        with written_whole(output) as file:
            file.write(lines.encode())
        screen.say(f"Saved: {output}")
