"""``smoothperf export``: a model as other programs read it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .. import load
from .._files import written_whole
from . import _options as options
from ._files import check_writable
from ._screen import Screen

#: What models become, and the options that each has beside the names of columns.
FORMATS: dict[str, tuple[str, ...]] = {
    "sql": ("predict", "dialect"),
    "python": (),
    "scorecard": ("base_score", "base_odds", "points_to_double"),
    "onnx": (),
    "opensearch": ("name",),
    "solr": ("name",),
    "vespa": (),
}


def export(
    model: options.ModelFile,
    *,
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help=f"What to make of it: {', '.join(FORMATS)}.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write here instead of standard output.")
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(
            "--names",
            metavar="FILE",
            help="Names of the model's columns where it goes, one to a line, in their order; their own by default.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", show_default=False, help="Name of the model in a search engine; that of its file."
        ),
    ] = None,
    predict: Annotated[
        str | None,
        typer.Option(
            "--predict",
            metavar="WHAT",
            show_default=False,
            help="What an expression of SQL is: score (the default), above 0 where the positive label is predicted, or "
            "label.",
        ),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect",
            metavar="NAME",
            show_default=False,
            help="How SQL takes dates apart: sqlite (the default) or postgresql.",
        ),
    ] = None,
    base_score: Annotated[
        float | None,
        typer.Option("--base-score", metavar="POINTS", show_default=False, help="Points at the base odds; 600."),
    ] = None,
    base_odds: Annotated[
        float | None,
        typer.Option("--base-odds", metavar="NUMBER", show_default=False, help="Odds of the positive label to 1; 1."),
    ] = None,
    points_to_double: Annotated[
        float | None,
        typer.Option(
            "--points-to-double", metavar="POINTS", show_default=False, help="So many more double the odds; 20."
        ),
    ] = None,
    screen: Screen,
) -> None:
    """Write a model as other programs read it.

    Example: smoothperf export search.model --to solr -o model.json

    sql, python: one expression for a score or a label, of lines, curves,
    words and dates, with missing values and the threshold in it; it needs
    nothing else. scorecard: points for bins of each column, as Markdown, or
    as CSV if FILE ends so. onnx: a graph of lines, curves or kernel features
    (needs onnx). opensearch, solr: a linear model with its normalisers, as
    JSON for the learning-to-rank plugins of OpenSearch, Elasticsearch and
    Solr. vespa: an expression for a rank profile, of lines and curves.
    """
    from .. import export as room
    from .._validation import choice
    from ..estimators.multilabel import MultilabelModel

    choice("--to", to, tuple(FORMATS))
    if output is not None:
        check_writable(output)
    screen = screen.aside()
    fitted = load(model)
    if isinstance(fitted, MultilabelModel):
        raise ValueError(f"{model} answers {fitted.classes_.size} labels, and other programs read models of one.")
    given: dict[str, Any] = {
        "name": name,
        "predict": predict,
        "dialect": dialect,
        "base_score": base_score,
        "base_odds": base_odds,
        "points_to_double": points_to_double,
    }
    for option, value in given.items():
        if value is not None and option not in FORMATS[to]:
            raise ValueError(f"--{option.replace('_', '-')} is not for --to {to}: leave it out.")
    settings = {option: value for option, value in given.items() if value is not None}
    if "name" in FORMATS[to]:
        settings.setdefault("name", model.stem)
    if to == "scorecard" and output is not None and output.suffix == ".csv":
        settings["format"] = "csv"
    columns = None if names is None else names.read_text(encoding="utf-8").splitlines()
    if to == "onnx" and output is None:
        raise ValueError("--to onnx makes a file that is no text: say where it goes with --output FILE.")
    made = getattr(room, f"to_{to}")(fitted, names=columns, **settings)
    text = made if isinstance(made, str) else None
    if output is not None:
        with written_whole(output) as file:
            file.write(made.SerializeToString() if text is None else f"{text}\n".encode())
        screen.say(f"Saved: {output}")
    elif not screen.as_json:
        typer.echo(text)
    screen.document({"command": "export", "model": model, "to": to, "output": output, "text": text})
