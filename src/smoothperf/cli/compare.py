"""``smoothperf compare``: whether training for the measure pays on given data."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _options as options
from ._bends import Bends
from ._errors import MISSED_TOLERANCE
from ._features import features_for
from ._files import check_figure, read_rows
from ._screen import Screen, table
from .kinds import check_training, kind_of_rows
from .kinds.labels import solver_for_classes

if TYPE_CHECKING:
    from ..comparison import TableLine
    from ..comparison.table import Compared


def compare(
    data: options.Data,
    *,
    test: Annotated[
        Path | None,
        typer.Option("--test", metavar="FILE", help="Judge on this file instead of cross-validation."),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="NAME",
            help="Train for this; again for more. By default prbep and roc_area, or ndcg@10 if rows have queries.",
        ),
    ] = None,
    solver: Annotated[
        list[str] | None,
        typer.Option("--solver", metavar="NAME", help="Train with this; again for more. Only lbfgs by default."),
    ] = None,
    folds: Annotated[int, typer.Option("--folds", metavar="N", min=2, help="Folds of the cross-validation.")] = 5,
    bound: options.Bound = "auto",
    scale: options.Scale = None,
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="KIND",
            show_default="linear",
            help="Of our models, as in 'smoothperf train': linear, additive, kernel, leaves or auto.",
        ),
    ] = None,
    bootstrap: options.Resamples = 1000,
    seed: options.Seed = 0,
    figure: options.Figure = None,
    columns: options.ColumnOptions,
    effort: options.Effort,
    pos_label: options.PosLabel = None,
    form: options.Form,
    screen: Screen,
) -> None:
    """Answer "does training for my measure pay?" on your data.

    Example: smoothperf compare mails.svm --test more-mails.svm

    Trains as 'smoothperf train' does, for several measures, with
    scikit-learn's LogisticRegression, LinearSVC and
    HistGradientBoostingClassifier beside them, and judges every model by every
    measure. These choose, for each measure, their regularisation and their
    threshold on rows held out, as ours do; other rows judge. Differences that
    chance in those rows could explain are called ties. If rows have queries,
    there are pairs, Ridge on grades, LogisticRegression on grade > 0 and, if it
    is installed, LightGBM beside our rankers.

    Exit code: 0 if all our models reached the tolerance, 1 if one did not,
    2 if the comparison could not run.
    """
    measures = list(dict.fromkeys(measure or []))
    solvers = list(dict.fromkeys(solver or ["lbfgs"]))
    check_training(measures, solvers, form, tol=effort.tol, max_iter=effort.max_iter)
    solvers = list(dict.fromkeys(map(solver_for_classes, solvers)))  # a choice among rankers has no other
    scaling = options.kind_of_scaling(scale)
    bends = Bends(features).checked(alone=False)
    check_figure(figure)
    rows = read_rows(screen, data, form, columns=columns)

    from .. import comparison

    kind = kind_of_rows(screen, rows, measures, form)
    kind.refuse(pos_label=pos_label)
    measures = measures or list(kind.compared_by_default)
    examples = kind.checked(rows, measures, pos_label=pos_label)
    others = None if test is None else kind.others(test, examples, measures)
    compared, train, judging, trees = kind.compared(examples, others, measures, folds, pos_label)
    plain = features_for(examples, scaling)
    splits = _splits(compared, train, judging, folds=folds, seed=seed, features=plain)
    ours = {"features": bends.made(examples, plain)} if bends.asked else {}
    methods = compared.methods(solvers, trees=trees, bound=bound, **ours, **effort.settings())
    times = f", {len(splits)} times" if len(splits) > 1 else ""
    screen.say(f"Training {len(methods)} kinds of models on {splits[0][0].size_words()}{times}")
    # No warnings: missed tolerances are counted, and the table says the rest.
    with warnings.catch_warnings(action="ignore"), screen.progress.status("Training"):
        lines = comparison.compare(
            splits,
            methods,
            compared,
            n_resamples=bootstrap,
            seed=seed,
            tell=lambda text: screen.progress.print(text, soft_wrap=True),
        )
    marks = {column: comparison.best_or_tied(lines, column) for column in lines[0].values}
    verdicts = [comparison.verdict(lines, column) for column in marks]
    trees_ahead = comparison.trees_ahead(lines)
    _tell(
        screen,
        lines,
        marks,
        [*verdicts, *filter(None, [trees_ahead])],
        f"Mean of {folds} folds" if test is None else f"On {test}",
    )
    if figure is not None:
        _draw(lines, figure, screen)
    missed = sum(line.missed for line in lines)
    if missed:
        screen.note(f"{missed} of our models stopped before the certified gap was {effort.tol:g}; raise --max-iter.")
    screen.document(
        {
            "command": "compare",
            "data": kind.summary(examples),
            "test": None if others is None else kind.summary(others),
            "splits": len(splits),
            "seed": seed,
            "scale": scaling,
            "features": features or "linear",
            "bound": bound,
            "tol": effort.tol,
            "bootstrap": bootstrap,
            "models": [_document(line, marks, at) for at, line in enumerate(lines)],
            "verdicts": verdicts,
            "trees_ahead": trees_ahead,
        }
    )
    if missed:
        raise typer.Exit(MISSED_TOLERANCE)


def _splits(
    kind: Compared[Any], rows: Any, others: Any, *, folds: int, seed: int, features: Any
) -> list[tuple[Any, Any]]:
    """Return rows to train on, whose features are learnt wherever models are, and rows to judge on."""
    from ..tasks.features import with_transformer

    rows = with_transformer(rows, features)
    if others is not None:
        return [(rows, others)]
    return [(rows.part(train), rows.part(test)) for train, test in kind.splits(rows, folds, seed)]


def _tell(screen: Screen, lines: list[TableLine], marks: dict[str, list[bool]], words: list[str], how: str) -> None:
    """Show the table, the verdicts and all choices."""
    from ..evaluation import title_of

    rows = [
        [
            line.name,
            *(f"{line.values[column]:.4f}{'*' if best[at] else ' '}" for column, best in marks.items()),
            f"{line.seconds:.1f}",
        ]
        for at, line in enumerate(lines)
    ]
    screen.say()
    headers = ["model", *(title_of(column).replace(" ", "\n") for column in marks), "seconds"]
    screen.result(table(headers, rows), f"\n{how}; * best, or within noise of the best\n", *words)
    screen.say()
    for line in lines:
        if line.trained_for is not None:
            screen.say(f"{line.name[0].upper()}{line.name[1:]}, chosen: {_counted(line)}", wrap=True)


def _draw(lines: list[TableLine], path: Path, screen: Screen) -> None:
    """Draw the values with their own intervals, which say less than those of differences."""
    from .. import plots
    from ..evaluation import interval, title_of

    models = {
        line.name: {title_of(name): (value, *interval(line.samples[name])) for name, value in line.values.items()}
        for line in lines
    }
    plots.save(plots.comparison(models, title="with 95 % intervals"), path)
    screen.say(f"Saved: {path}")


def _document(line: TableLine, marks: dict[str, list[bool]], at: int) -> dict[str, Any]:
    """Return a line of the table for machines."""
    from ..evaluation import interval

    return {
        "name": line.name,
        "trained_for": line.trained_for,
        "seconds": line.seconds,
        "missed_tolerance": line.missed,
        "measures": {
            column: {
                "value": line.values[column],
                **dict(zip(("low", "high"), interval(line.samples[column]), strict=True)),
                "best_or_tied": best[at],
                "chosen": line.strengths[column],
            }
            for column, best in marks.items()
        },
    }


def _counted(line: TableLine) -> str:
    """Say what was chosen, and in how many splits if not always the same."""
    from collections import Counter

    # What is trained with; the alpha that follows differs a little from split to split.
    chosen = Counter(strength.rpartition(", alpha")[0] for strength in line.strengths[line.trained_for or ""])
    if len(chosen) == 1:
        return f"{next(iter(chosen))}."
    return "; ".join(f"{name} ({count} times)" for name, count in chosen.most_common()) + "."
