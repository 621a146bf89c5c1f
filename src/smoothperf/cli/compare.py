"""``smoothperf compare``: whether training for the measure pays on given data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _options as options
from ._errors import MISSED_TOLERANCE, one_line_errors
from ._files import Form, as_examples, check_training, label_named, read_others, read_rows, summary
from ._screen import Screen, table

if TYPE_CHECKING:
    from ..evaluation.comparison import Outcome
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
    scikit-learn's LogisticRegression and LinearSVC beside them, and judges
    every model by every measure. These choose, for each measure, their
    regularisation and their threshold on rows held out, as ours do; other rows
    judge. Differences that chance in those rows could explain are called ties.
    If rows have queries, rankers compete with pairs, Ridge on grades,
    LogisticRegression on grade > 0 and, if it is installed, LightGBM.

    Exit code: 0 if all our models reached the tolerance, 1 if one did not,
    2 if the comparison could not run.
    """
    screen = Screen(as_json=as_json, quiet=quiet)
    measures = list(dict.fromkeys(measure or []))
    solvers = list(dict.fromkeys(solver or ["lbfgs"]))
    check_training(measures, solvers, query=query, tol=tol, max_iter=max_iter)
    solvers = list(dict.fromkeys(map(options.solver_for_classes, solvers)))  # a choice among rankers has no other
    kind = options.kind_of_scaling(scale)
    form = Form(label, format, zero_based, query)
    rows = read_rows(screen, data, form)

    from ..evaluation import comparison
    from .ranking.compare import ranking_outcomes
    from .ranking.documents import is_ranking, refuse_for_rankings

    settings = {"bound": bound, "tol": tol, "max_iter": max_iter, "n_threads": threads}
    how: dict[str, Any] = {"folds": folds, "kind": kind, "bootstrap": bootstrap, "seed": seed}
    if is_ranking(screen, rows, measures):
        refuse_for_rankings(pos_label=pos_label)
        lines, about = ranking_outcomes(screen, rows, test, form, measures, solvers, settings, **how)
    else:
        lines, about = _outcomes(screen, rows, test, form, measures, solvers, settings, **how, pos_label=pos_label)
    marks = {column: comparison.best_or_tied(lines, column) for column in lines[0].values}
    verdicts = [comparison.verdict(lines, column) for column in marks]
    _tell(screen, lines, marks, verdicts, f"Mean of {folds} folds" if test is None else f"On {test}")
    missed = sum(line.missed for line in lines)
    if missed:
        screen.note(f"{missed} of our models stopped before the certified gap was {tol:g}; raise --max-iter.")
    screen.document(
        {
            "command": "compare",
            **about,
            "seed": seed,
            "scale": kind,
            "bound": bound,
            "tol": tol,
            "bootstrap": bootstrap,
            "models": [_document(line, marks, at) for at, line in enumerate(lines)],
            "verdicts": verdicts,
        }
    )
    if missed:
        raise typer.Exit(MISSED_TOLERANCE)


def _outcomes(
    screen: Screen,
    rows: Dataset,
    test: Path | None,
    form: Form,
    measures: list[str],
    solvers: list[str],
    settings: dict[str, Any],
    *,
    folds: int,
    kind: str,
    bootstrap: int,
    seed: int,
    pos_label: str | None,
) -> tuple[list[Outcome], dict[str, Any]]:
    """Let all train, and judge them; return the lines of the table, and the data for machines."""
    import warnings

    from ..estimators.contenders import contenders
    from ..estimators.problem import encode_labels, known_labels
    from ..evaluation import comparison

    examples = as_examples(screen, rows, form, pos_label=pos_label)
    others = None if test is None else read_others(screen, test, examples, form)
    classes, positive = encode_labels(examples.y, label_named(examples, pos_label))
    players = contenders(measures or DEFAULT_MEASURES, solvers, **settings)
    if others is None:
        splits = list(comparison.cross_validation_splits(examples.X, positive, folds=folds, seed=seed, scale=kind))
    else:
        judge = known_labels(others.y, classes, length=others.X.shape[0])
        splits = [comparison.held_out_split(examples.X, positive, others.X, judge, scale=kind)]
    times = f", {len(splits)} times" if len(splits) > 1 else ""
    screen.say(f"Training {len(players)} kinds of models on {len(splits[0].train[1]):,} rows{times}")
    # No warnings: missed tolerances are counted, and the table says the rest.
    with warnings.catch_warnings(action="ignore"), screen.progress.status("Training"):
        lines = comparison.compare(
            splits,
            players,
            n_resamples=bootstrap,
            seed=seed,
            tell=lambda text: screen.progress.print(text, soft_wrap=True),
        )
    data = {"data": summary(examples), "test": None if others is None else summary(others), "splits": len(splits)}
    return lines, data


def _tell(screen: Screen, lines: list[Outcome], marks: dict[str, list[bool]], verdicts: list[str], how: str) -> None:
    """Show the table, the verdicts, and what was chosen."""
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
    screen.result(table(headers, rows), f"\n{how}; * best, or within noise of the best\n", *verdicts)
    screen.say()
    for line in lines:
        if line.trained_for is not None:
            screen.say(f"{line.name[0].upper()}{line.name[1:]}, chosen: {_counted(line)}", wrap=True)


def _document(line: Outcome, marks: dict[str, list[bool]], at: int) -> dict[str, Any]:
    """Return a line of the table for machines."""
    import numpy as np

    return {
        "name": line.name,
        "trained_for": line.trained_for,
        "seconds": line.seconds,
        "missed_tolerance": line.missed,
        "measures": {
            column: {
                "value": line.values[column],
                "low": float(np.quantile(line.samples[column], 0.025)),
                "high": float(np.quantile(line.samples[column], 0.975)),
                "best_or_tied": best[at],
                "chosen": line.strengths[column],
            }
            for column, best in marks.items()
        },
    }


def _counted(line: Outcome) -> str:
    """Say what was chosen, and in how many splits if not always the same."""
    from collections import Counter

    # What is trained with; the alpha that follows differs a little from split to split.
    chosen = Counter(strength.rpartition(", alpha")[0] for strength in line.strengths[line.trained_for or ""])
    if len(chosen) == 1:
        return f"{next(iter(chosen))}."
    return "; ".join(f"{name} ({count} times)" for name, count in chosen.most_common()) + "."
