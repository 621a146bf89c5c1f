"""``smoothperf predict``: labels or scores of new examples, one to a line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import _options as options
from ._errors import one_line_errors
from ._files import check_writable, column_texts, csv_lines, read_for_model, read_model
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
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COLUMN", help="For CSV and Parquet: write a CSV table with this column of DATA in it."
        ),
    ] = None,
    label: options.Label = None,
    format: options.Format = None,
    zero_based: options.ZeroBased = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict the labels of new examples, one to a line.

    Example: smoothperf predict mails.model new.svm -o labels.txt

    DATA needs no labels, and those that it has are not looked at. In an
    svmlight file the format asks for some: write 0. Columns of a table are
    found by their names, in any order; others are not looked at, but --id
    COLUMN takes one along, to tell the rows apart. Control characters, such as
    ends of lines, are written as Python writes them: a row is a line.
    """
    screen = Screen(as_json=as_json, quiet=quiet, side=True)
    if output is not None:
        check_writable(output)
    fitted = read_model(model)
    ids = None if id_column is None else column_texts(data, id_column, format)
    examples = read_for_model(
        screen, fitted, data, label=label, format=format, zero_based=zero_based, labelled=False, stored=True
    )
    values = (fitted.positive_scores(examples.X) if scores else fitted.predict(examples.X)).tolist()
    what = "score" if scores else "label"
    if as_json:
        known = {} if ids is None else {"ids": ids}
        screen.document({"command": "predict", "model": model, **known, f"{what}s": values})
        if output is None:
            return
    if ids is None:
        lines = "".join(f"{visible(value)}\n" for value in values)
    else:
        lines = csv_lines([(id_column, what), *zip(ids, values, strict=True)])
    if output is None:
        typer.echo(lines, nl=False)
    else:
        from .._files import written_whole

        with written_whole(output) as file:
            file.write(lines.encode())
        screen.say(f"Saved: {output}")
