"""``smoothperf compare``: whether training for the measure pays on given data."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _options as options
from ._errors import MISSED_TOLERANCE, one_line_errors
from ._files import Form, as_examples, check_training, check_writable, label_named, read_others, read_rows, summary
from ._screen import Screen, table

if TYPE_CHECKING:
    from ..comparison import Line
    from ..comparison.table import Kind
    from ..io import Dataset

DEFAULT_MEASURES = ("prbep", "roc_area")


@one_line_errors
def compare(
    data: options.Data,
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
    bootstrap: options.Resamples = 1000,
    seed: options.Seed = 0,
    figure: Annotated[
        Path | None,
        typer.Option("--figure", metavar="FILE", help="Draw it too, as .png, .pdf or .svg (needs matplotlib)."),
    ] = None,
    tol: options.Tolerance = 1e-3,
    max_iter: options.MaxIter = 1000,
    threads: options.Threads = None,
    pos_label: options.PosLabel = None,
    label: options.Label = None,
    query: options.Query = None,
    format: options.Format = None,
    zero_based: options.ZeroBased = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
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
    screen = Screen(as_json=as_json, quiet=quiet)
    measures = list(dict.fromkeys(measure or []))
    solvers = list(dict.fromkeys(solver or ["lbfgs"]))
    check_training(measures, solvers, query=query, tol=tol, max_iter=max_iter)
    solvers = list(dict.fromkeys(map(options.solver_for_classes, solvers)))  # a choice among rankers has no other
    scaling = options.kind_of_scaling(scale)
    if figure is not None:
        from .. import plots

        plots.require_matplotlib()
        check_writable(figure)
    form = Form(label, format, zero_based, query)
    rows = read_rows(screen, data, form)

    from .. import comparison
    from .ranking.documents import is_ranking, refuse_for_rankings

    if is_ranking(screen, rows, measures):
        refuse_for_rankings(pos_label=pos_label)
        kind, train, others, trees, about = _of_rankings(screen, rows, test, form, measures)
    else:
        kind, train, others, trees, about = _of_labels(screen, rows, test, form, measures, folds, pos_label)
    splits = _splits(kind, train, others, folds=folds, seed=seed, scaling=scaling)
    methods = kind.methods(solvers, trees=trees, bound=bound, tol=tol, max_iter=max_iter, n_threads=threads)
    times = f", {len(splits)} times" if len(splits) > 1 else ""
    screen.say(f"Training {len(methods)} kinds of models on {splits[0][0].size_words()}{times}")
    # No warnings: missed tolerances are counted, and the table says the rest.
    with warnings.catch_warnings(action="ignore"), screen.progress.status("Training"):
        lines = comparison.compare(
            splits,
            methods,
            kind,
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
        screen.note(f"{missed} of our models stopped before the certified gap was {tol:g}; raise --max-iter.")
    screen.document(
        {
            "command": "compare",
            **about,
            "splits": len(splits),
            "seed": seed,
            "scale": scaling,
            "bound": bound,
            "tol": tol,
            "bootstrap": bootstrap,
            "models": [_document(line, marks, at) for at, line in enumerate(lines)],
            "verdicts": verdicts,
            "trees_ahead": trees_ahead,
        }
    )
    if missed:
        raise typer.Exit(MISSED_TOLERANCE)


def _of_labels(
    screen: Screen, rows: Dataset, test: Path | None, form: Form, measures: list[str], folds: int, pos_label: str | None
) -> tuple[Kind[Any], Any, Any, bool, dict[str, Any]]:
    """Return columns and lines; rows, and others to judge on if there are any; whether trees can be trained; JSON."""
    from ..comparison import Labels
    from ..comparison.table import suits_trees
    from ..estimators.problem import encode_labels
    from ..estimators.scores import known_labels
    from ..tasks.labels import LabelRows

    examples = as_examples(screen, rows, form, pos_label=pos_label)
    others = None if test is None else read_others(screen, test, examples, form)
    pair, positive = encode_labels(examples.y, label_named(examples, pos_label))
    kind, train, judging = Labels(measures or DEFAULT_MEASURES), LabelRows(examples.X, pair, positive), None
    if others is None:
        kind.check(train, folds)
    else:
        judging = LabelRows(others.X, pair, known_labels(others.y, pair, length=others.X.shape[0]))
    if not (trees := suits_trees(examples.X)):
        screen.note("there are no trees in the table, which would take too long with so many rows and features.")
    about = {"data": summary(examples), "test": None if others is None else summary(others)}
    return kind, train, judging, trees, about


def _of_rankings(
    screen: Screen, rows: Dataset, test: Path | None, form: Form, measures: list[str]
) -> tuple[Kind[Any], Any, Any, bool, dict[str, Any]]:
    """Return the same for documents to rank."""
    from ..comparison import Rankings
    from ..comparison.rankings import rows_of, suits_lambdarank
    from .ranking.documents import DEFAULT_MEASURE, as_documents, read_other_documents, summary

    measures = measures or [DEFAULT_MEASURE]
    documents = as_documents(screen, rows, measures)
    others = None if test is None else read_other_documents(screen, test, documents, form, measures)
    train, judging = (None if part is None else rows_of(part) for part in (documents, others))
    kind = Rankings(measures, [part.known for part in (train, judging) if part is not None])
    about = {"data": summary(documents), "test": None if others is None else summary(others)}
    return kind, train, judging, suits_lambdarank(documents.y), about


def _splits(kind: Kind[Any], rows: Any, others: Any, *, folds: int, seed: int, scaling: str) -> list[tuple[Any, Any]]:
    """Return rows to train on and rows to judge on, scaled as the former ask for."""
    from ..design.scaling import Scaling

    pairs = [(rows, others)]
    if others is None:
        pairs = [(rows.part(train), rows.part(test)) for train, test in kind.splits(rows, folds, seed)]
    for train, test in pairs:
        found = Scaling.of(scaling, train.X)
        train.X, test.X = found.apply(train.X), found.apply(test.X)
    return pairs


def _tell(screen: Screen, lines: list[Line], marks: dict[str, list[bool]], words: list[str], how: str) -> None:
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


def _draw(lines: list[Line], path: Path, screen: Screen) -> None:
    """Draw the values with their own intervals, which say less than those of differences."""
    from .. import plots
    from ..evaluation import interval, title_of

    models = {
        line.name: {title_of(name): (value, *interval(line.samples[name])) for name, value in line.values.items()}
        for line in lines
    }
    plots.save(plots.comparison(models, title="with 95 % intervals"), path)
    screen.say(f"Saved: {path}")


def _document(line: Line, marks: dict[str, list[bool]], at: int) -> dict[str, Any]:
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


def _counted(line: Line) -> str:
    """Say what was chosen, and in how many splits if not always the same."""
    from collections import Counter

    # What is trained with; the alpha that follows differs a little from split to split.
    chosen = Counter(strength.rpartition(", alpha")[0] for strength in line.strengths[line.trained_for or ""])
    if len(chosen) == 1:
        return f"{next(iter(chosen))}."
    return "; ".join(f"{name} ({count} times)" for name, count in chosen.most_common()) + "."
