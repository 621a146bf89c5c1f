"""``smoothperf evaluate``: all measures of a model on a file of examples, with bootstrap intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import load
from . import _options as options
from ._costs import show_costs, total_costs
from ._progress import shown_progress
from ._screen import Screen, number, table
from .kinds import kind_of_model

if TYPE_CHECKING:
    from numpy.typing import NDArray


def evaluate(
    model: options.ModelFile,
    data: options.Data,
    *,
    bootstrap: options.Resamples = 1000,
    seed: options.Seed = 0,
    cost: Annotated[
        str | None,
        typer.Option(
            "--cost",
            metavar="COLUMN",
            show_default=False,
            help="Column of a table with the cost of calling the row wrong; the total is shown.",
        ),
    ] = None,
    form: options.LabelForm,
    screen: Screen,
) -> None:
    """Judge a model by all measures, with 95 % intervals.

    Example: smoothperf evaluate mails.model test.svm

    The measure that the model was trained for is among them.

    The intervals say how much the figures could differ had other rows of the
    same kind been drawn. They come from a bootstrap with a fixed seed, so the
    same command prints the same numbers. For a ranker it is queries that are
    drawn. For many labels there are the F1 of all, and a line for each label.
    """
    fitted = load(model)
    kind = kind_of_model(screen, fitted, form)
    kind.refuse(cost=cost)
    examples = kind.read_for(fitted, data)
    costs = None if cost is None else _costs(data, cost, form)

    from ..evaluation import drawn_interval, is_constant

    scores = kind.scores(fitted, examples.X)
    if is_constant(scores):
        screen.note("this model is constant: it has the same score for all rows.")
    worth = kind.worth(fitted, examples, scores)
    values = worth.measures(None)
    drawn = list(map(worth.measures, shown_progress(screen, "Bootstrap", worth.draws(bootstrap, seed), bootstrap)))
    found: dict[str, dict[str, float]] = {}
    for name, value in values.items():
        low, high = drawn_interval([draw[name] for draw in drawn])
        counted = {kind.unit: worth.counts[name]} if worth.counts else {}
        found[name] = {"value": value, "low": low, "high": high, **counted}
    screen.say()
    for place, (heading, titles) in enumerate(worth.tables.items()):
        rows = [[title, *map(_cell, found[name].values())] for name, title in titles.items()]
        headers = [heading, "value", "95 % from", "to", *([kind.unit] if worth.counts else [])]
        screen.result(*([""] if place else []), table(headers, rows))
    if worth.each:
        _show_each(screen, worth.each)
    totals = None
    if cost is not None and costs is not None:
        positive, drawn_again = examples.y == fitted.label_pair[1], worth.draws(bootstrap, seed)
        totals = total_costs(costs, positive, scores > 0.0, shown_progress(screen, "Costs", drawn_again, bootstrap))
        show_costs(screen, cost, totals)
    screen.say(f"\n{worth.footnote}")
    screen.document(
        {
            "command": "evaluate",
            "model": model,
            "data": kind.summary(examples),
            "bootstrap": bootstrap,
            "seed": seed,
            "measures": found,
            **({"labels": worth.each} if worth.each else {}),
            **({} if totals is None else {"costs": {"column": cost, **totals}}),
        }
    )


def _costs(data: Path, column: str, form: options.Form) -> NDArray[Any]:
    from ..io.ids import read_costs

    return read_costs(data, column, format=form.format, encoding=form.encoding)


def _show_each(screen: Screen, each: list[dict[str, Any]]) -> None:
    """Print what decisions are worth for each label."""
    headers = list(each[0])
    rows = [[str(row["label"]), *(_cell(value) for value in list(row.values())[1:])] for row in each]
    screen.result("", table(["F1" if name == "f1" else name for name in headers], rows))


def _cell(value: float) -> str:
    """Return a measure, or a count, as text."""
    return f"{value:,}" if isinstance(value, int) else number(value)
