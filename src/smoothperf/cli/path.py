"""``smoothperf path``: models over falling alphas, as a table and a figure."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _options as options
from ._bends import Bends
from ._errors import INTERRUPTED, MISSED_TOLERANCE
from ._features import features_for
from ._files import check_figure, read_rows
from ._progress import Watch
from ._screen import Screen, table
from ._visible import visible
from .kinds import check_training, kind_of_rows

if TYPE_CHECKING:
    from ..estimators.path import RegularizationPath
    from ..io import Dataset


def path(
    data: options.Data,
    *,
    measure: options.MeasureName = None,
    bound: Annotated[
        str,
        typer.Option(
            "--bound",
            metavar="KIND",
            help="Which risk of the measure to train with, 'convex' or 'tight'; for classes 'auto' is tight where the "
            "convex one is least at w = 0 for every alpha, and for rankings what suits the measure.",
        ),
    ] = "auto",
    figure: options.Figure = None,
    validation: Annotated[
        Path | None, typer.Option("--validation", metavar="FILE", help="Judge on this file, train on all of DATA.")
    ] = None,
    holdout: Annotated[
        float,
        typer.Option("--holdout", metavar="SHARE", min=0.0, max=0.9, help="Share of DATA to judge on; 0 for none."),
    ] = 0.25,
    n_alphas: Annotated[int, typer.Option("--n-alphas", metavar="N", min=2, help="How many alphas.")] = 20,
    alpha_ratio: Annotated[
        float | None,
        typer.Option(
            "--alpha-ratio",
            metavar="RATIO",
            show_default=False,
            help="Smallest alpha, as a share of the largest; 1e-6 by default, 1e-3 with --l1-ratio.",
        ),
    ] = None,
    l1_ratio: Annotated[
        float,
        typer.Option(
            "--l1-ratio",
            metavar="SHARE",
            min=0.0,
            max=1.0,
            help="Share of absolute values in the penalty; above 0, the figure shows how features come in.",
        ),
    ] = 0.0,
    nonnegative: options.Nonnegative = False,
    scale: options.Scale = None,
    features: Annotated[
        str | None,
        typer.Option("--features", metavar="KIND", show_default="linear", help="linear, additive (curves) or leaves."),
    ] = None,
    columns: options.ColumnOptions,
    effort: options.Effort,
    solver: options.SolverName = "auto",
    seed: options.Seed = 0,
    pos_label: options.PosLabel = None,
    form: options.Form,
    screen: Screen,
) -> None:
    """Show what regularisation does: train over a range of alphas.

    Example: smoothperf path mails.svm --measure prbep --figure path.png

    The largest alpha is the one at which w = 0 is best already. Rows that are
    held out judge; a star marks the alpha that they like best. It is one for
    'smoothperf train --alpha', with the same --scale and --bound. If rows have
    queries, rankers are trained, and whole queries are held out.

    Exit code: 0 if every alpha reached the tolerance, 1 if one did not, 2 if
    the path could not be trained, 130 after Ctrl-C.
    """
    from .._validation import choice

    check_figure(figure)
    choice("--bound", bound, ("auto", "convex", "tight"))
    check_training([measure], [solver], form, tol=effort.tol, max_iter=effort.max_iter)
    scaled = options.kind_of_scaling(scale)
    bends = Bends(features).checked(alone=True)
    rows = read_rows(screen, data, form, columns=columns)

    from .. import regularization_path

    watch = Watch(screen)
    with warnings.catch_warnings(action="ignore"):  # the table says all that they would
        kind = kind_of_rows(screen, rows, [measure], form)
        kind.refuse(pos_label=pos_label, l1_ratio=l1_ratio or None, nonnegative=nonnegative)
        measure = measure or kind.default_measure
        examples = kind.checked(rows, [measure], pos_label=pos_label)
        for_labels = {"l1_ratio": l1_ratio, "positive": nonnegative, "pos_label": pos_label}
        shared = {"measure": measure, "bound": bound, "solver": solver, **effort.settings()}
        shared |= {"n_alphas": n_alphas, "alpha_ratio": alpha_ratio}
        settings = kind.settings(examples, shared, for_labels)
        train, judged = examples, None
        if validation is not None:
            judged = kind.others(validation, examples, [measure])
        elif holdout > 0.0:
            train, judged = (kind.part(examples, part) for part in kind.split(examples, measure, holdout, seed))
        X, judged_X, names = train.X, None if judged is None else judged.X, rows.feature_names
        if (made := bends.made(examples, features_for(examples, scaled))) is not None:
            X = made.fit_transform(X, train.y)
            judged_X = None if judged is None else made.transform(judged_X)
            names = list(made.get_feature_names_out()) if examples.encoder is not None or bends.asked else names
        others = None if judged is None else (judged_X, *kind.known(judged).values())
        with watch:
            found = regularization_path(X, **kind.known(train), **settings, validation=others, callback=watch)
    name, sparse = kind.title(measure), l1_ratio > 0.0
    held_out = "" if judged is None else f"{kind.count(judged):,} {kind.unit}"
    if bound == "auto" and not kind.ranks and not found.certified:
        screen.note("the convex bound is least at w = 0 for every alpha, so this is the path of the tight one.")
    _tell(screen, found, name, held_out, sparse=sparse)
    if figure is not None:
        _draw(found, figure, name, _about(train, held_out), names, sparse=sparse)
        screen.say(f"Saved: {figure}")
    missed = int((found.reached > effort.tol).sum())
    if watch.interrupted:
        screen.note(f"interrupted: the path ends at alpha {found.alphas[-1]:.3g} instead of going on.")
    elif missed:
        tol = effort.tol
        ended = f"the certified gap was {tol:g}" if found.certified else f"a step could gain no more than {tol:g}"
        screen.note(f"{missed} of {n_alphas} alphas stopped before {ended}.")
    screen.document(
        {
            "command": "path",
            "data": kind.summary(examples),
            "measure": measure,
            "bound": "convex" if found.certified else "tight",
            "scale": scaled,
            "features": features or "linear",
            "solver": settings["solver"],
            "tol": effort.tol,
            **_document(found),
            "interrupted": watch.interrupted,
            "figure": figure,
        }
    )
    if watch.interrupted:
        raise typer.Exit(INTERRUPTED)
    if missed:
        raise typer.Exit(MISSED_TOLERANCE)


def _best(found: RegularizationPath) -> int | None:
    """Return which alpha the rows held out like best; those to train on, if none are; None if w = 0 is best for all."""
    scores = found.validation_scores
    return None if found.zero_is_best.all() else int((found.train_scores if scores is None else scores).argmax())


def _tell(screen: Screen, found: RegularizationPath, name: str, held_out: str, *, sparse: bool) -> None:
    """Show a path as a table; of sparse models with the number of features."""
    columns: dict[str, list[str]] = {
        "alpha": [f"{alpha:.3g}" for alpha in found.alphas],
        "objective": [f"{value:.5f}" for value in found.objectives],
        "certified gap" if found.certified else "a step gains": [f"{gap:.1e}" for gap in found.reached],
        **({"features": [f"{count:,}" for count in found.n_features_in_model]} if sparse else {}),
        "passes": [f"{count:,}" for count in found.n_passes],
        "seconds": [f"{value:.2f}" for value in found.seconds],
        "training": [f"{value:.4f}" for value in found.train_scores],
    }
    scores, best = found.validation_scores, _best(found)
    if scores is not None:
        columns["held out"] = [f"{value:.4f}{'*' if at == best else ' '}" for at, value in enumerate(scores)]
    screen.say()
    screen.result(table(list(columns), list(zip(*columns.values(), strict=True)), words=0))
    if best is None:
        screen.note("at every alpha w = 0 is as good as any weights: no alpha is better than another.")
    elif scores is not None:
        screen.say(f"\n* best {name} on the {held_out} held out")


def _draw(
    found: RegularizationPath, file: Path, name: str, data: str, feature_names: list[str] | None, *, sparse: bool
) -> None:
    """Draw a path to a file."""
    from .. import plots

    drawn = plots.path(
        found,
        measure=name,
        title=f"{name} over the strength of the regulariser",
        data=data,
        weights=sparse,
        feature_names=feature_names,
    )
    plots.save(drawn, file)


def _about(train: Dataset, held_out: str) -> str:
    """Say in a line what the path was trained on and judged by."""
    rows, columns = train.X.shape
    judged = f", {held_out} held out" if held_out else ""
    return f"{visible(Path(train.path).name)}: {rows:,} rows x {columns:,} features{judged}"


def _document(found: RegularizationPath) -> dict[str, Any]:
    """Return it for machines."""
    return {
        "alphas": found.alphas,
        "objectives": found.objectives,
        "lower_bounds": found.lower_bounds,
        "gaps": found.gaps,
        "stationarity_gaps": found.stationarity_gaps,
        "features_in_model": found.n_features_in_model,
        "passes": found.n_passes,
        "seconds": found.seconds,
        "train_scores": found.train_scores,
        "validation_scores": found.validation_scores,
        "best_alpha": None if (best := _best(found)) is None else found.alphas[best],
    }
