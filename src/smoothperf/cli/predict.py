"""``smoothperf predict``: labels or scores of new examples, one to a line."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import load
from .._files import written_whole
from . import _options as options
from ._errors import fail
from ._files import check_writable, csv_lines
from ._point import operating_point
from ._screen import Screen
from ._visible import visible
from .kinds import kind_of_model


def predict(
    model: options.ModelFile,
    data: options.NewData,
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write here instead of standard output."),
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Scores instead of labels; above 0 is predicted positive.")
    ] = False,
    proba: Annotated[
        bool,
        typer.Option("--proba", help="Probabilities of the positive label, of a model that is calibrated."),
    ] = False,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TARGET",
            show_default=False,
            help="Predict positive the rows with the highest scores, no more than k=500 or rate=5%, instead of those "
            "that the model says.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold", metavar="NUMBER", show_default=False, help="Predict positive above this score instead of 0."
        ),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Write a CSV table with this column of DATA in it, to tell the rows apart; of an svmlight file "
            "'comment', which is what follows a #.",
        ),
    ] = None,
    ranks: Annotated[
        bool,
        typer.Option("--ranks", help="Of a ranker: write a CSV table with the query, the score and the rank in it."),
    ] = False,
    form: options.LabelForm,
    screen: Screen,
) -> None:
    """Predict the labels of new examples, a row to a line; scores, if MODEL ranks.

    Example: smoothperf predict mails.model new.svm -o labels.txt

    DATA needs no labels, and those that it has are not looked at. In an
    svmlight file the format asks for some: write 0. Columns of a table are
    found by their names, in any order; others are not looked at, but --id
    COLUMN takes one along, to tell the rows apart; of an svmlight file --id
    comment takes what follows a #. Control characters, such as ends of lines,
    are written as Python writes them: a row is a line. If MODEL is for many
    labels, there are semicolons (--separator) between those of a row, and
    --scores is a CSV table.
    """
    if proba and (scores or at is not None or threshold is not None):
        fail("--proba prints probabilities: leave out --scores, --at and --threshold, or --proba.")
    point = _point(at, threshold, scores=scores)
    screen = screen.aside()
    if output is not None:
        check_writable(output)
    fitted = load(model)
    ids = None if id_column is None else _ids(data, id_column, form)
    kind = kind_of_model(screen, fitted, form)
    kind.refuse(at=at, threshold=threshold, proba=proba)
    if proba and not hasattr(fitted, "predict_proba"):
        fail(f"{model} has no probabilities: train it with --calibration sigmoid, or leave out --proba.")
    if ranks and not kind.ranks:
        fail(f"--ranks is for models that rank, and {model} tells classes apart: leave it out.")
    rows = kind.read_for(fitted, data, labelled=False)
    if point is not None and point.get("k", 0) > (n := rows.X.shape[0]):
        screen.note(f"--at {at} of {n:,} rows: all are predicted positive.")
        point["k"] = n
    cut = partial(_cut, threshold=threshold, point=point)
    what = "probability" if proba else "score" if scores else "label"
    columns = kind.predictions(fitted, rows, what=what, with_ranks=ranks, cut=cut)
    if screen.as_json:
        known = {} if ids is None else {"ids": ids}
        screen.document({"command": "predict", "model": model, **known, **kind.predicted(columns)})
        if output is None:
            return
    if ids is None and len(columns) == 1:
        [values] = columns.values()
        lines = "".join(f"{visible(value)}\n" for value in values)
    else:
        columns = columns if ids is None else {str(id_column): ids, **columns}
        lines = csv_lines([tuple(columns), *zip(*columns.values(), strict=True)])
    if output is None:
        typer.echo(lines, nl=False)
    else:
        with written_whole(output) as file:
            file.write(lines.encode())
        screen.say(f"Saved: {output}")


def _ids(data: Path, column: str, form: options.Form) -> list[str]:
    from ..io.ids import read_ids

    return read_ids(data, column, format=form.format, encoding=form.encoding)


def _cut(scores: Any, *, threshold: float | None, point: dict[str, Any] | None) -> float:
    """Return the score above which rows are predicted positive."""
    if point is None:
        return threshold or 0.0

    import numpy as np

    from ..cuts.targets import threshold_for_target

    unknown = np.zeros(scores.shape[0], dtype=bool)  # a number of predictions does not depend on labels
    return threshold_for_target(unknown, scores, **point)


def _point(at: str | None, threshold: float | None, *, scores: bool) -> dict[str, Any] | None:
    """Read ``--at``, for rows without labels."""
    point = operating_point(at)
    if point is not None and threshold is not None:
        fail("--at and --threshold both say where to cut; give one of them.")
    if scores and (point is not None or threshold is not None):
        fail("--scores prints scores, which no threshold changes: leave out --at and --threshold, or --scores.")
    if threshold is not None and not math.isfinite(threshold):
        fail(f"--threshold must be a finite number, got {threshold}.")
    if point is not None and not point.keys() <= {"k", "rate"}:
        fail(
            f"--at {at} needs labels, which rows to predict have not: 'smoothperf train --at {at}' makes a model that "
            "keeps it; here k=500 or rate=5% will do."
        )
    return point
