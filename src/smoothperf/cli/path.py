"""``smoothperf path``: what regularisation does, as a table and a figure over alpha."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _options as options
from ._errors import INTERRUPTED, MISSED_TOLERANCE, fail, one_line_errors
from ._files import Form, as_examples, check_training, check_writable, label_named, read_others, read_rows, summary
from ._progress import Watch
from ._screen import Screen, table
from ._trained import title
from ._visible import visible

if TYPE_CHECKING:
    from ..estimators.path import RegularizationPath
    from ..io import Dataset

DEFAULT_MEASURE = "roc_area"


@one_line_errors
def path(
    data: options.Data,
    measure: options.MeasureName = None,
    bound: Annotated[
        str,
        typer.Option(
            "--bound",
            metavar="KIND",
            help="Which risk of the measure to train with, 'convex' or 'tight'; 'auto' is convex for classes, and for "
            "rankings what suits the measure.",
        ),
    ] = "auto",
    figure: Annotated[
        Path | None,
        typer.Option("--figure", metavar="FILE", help="Draw it too, as .png, .pdf or .svg (needs matplotlib)."),
    ] = None,
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
    tol: options.Tolerance = 1e-3,
    max_iter: options.MaxIter = 1000,
    threads: options.Threads = None,
    solver: options.SolverName = "auto",
    seed: options.Seed = 0,
    pos_label: options.PosLabel = None,
    label: options.Label = None,
    query: options.Query = None,
    format: options.Format = None,
    zero_based: options.ZeroBased = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
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

    screen = Screen(as_json=as_json, quiet=quiet)
    if figure is not None:
        from .. import plots

        plots.require_matplotlib()
        check_writable(figure)
    choice("--bound", bound, ("auto", "convex", "tight"))
    check_training([measure], [solver], query=query, tol=tol, max_iter=max_iter)
    kind = options.kind_of_scaling(scale)
    form = Form(label, format, zero_based, query)
    rows = read_rows(screen, data, form)

    import warnings

    from .ranking.documents import is_ranking, refuse_for_rankings
    from .ranking.path import rankers

    settings = {
        "measure": measure,
        "bound": bound,
        "n_alphas": n_alphas,
        "alpha_ratio": alpha_ratio,
        "tol": tol,
        "max_iter": max_iter,
        "solver": solver,
        "n_threads": threads,
    }
    how: dict[str, Any] = {"kind": kind, "validation": validation, "holdout": holdout, "seed": seed, "form": form}
    watch = Watch(screen)
    with warnings.catch_warnings(action="ignore"):  # the table says all that they would
        if is_ranking(screen, rows, [measure]):
            refuse_for_rankings(pos_label=pos_label, l1_ratio=l1_ratio or None, nonnegative=nonnegative)
            found, name, size, held_out, about = rankers(screen, rows, settings, **how, watch=watch)
        else:
            how |= {"pos_label": pos_label}
            settings |= {"l1_ratio": l1_ratio, "positive": nonnegative, "solver": options.solver_for_classes(solver)}
            found, name, size, held_out, about = _classifiers(screen, rows, settings, **how, watch=watch)
    _tell(screen, found, name, held_out, sparse=l1_ratio > 0.0)
    if figure is not None:
        _draw(found, figure, name, _about(rows, size, held_out), rows.feature_names, sparse=l1_ratio > 0.0)
        screen.say(f"Saved: {figure}")
    kind_of_bound = "convex" if found.certified else "tight"
    about |= {"bound": kind_of_bound, "scale": kind, "solver": settings["solver"], "tol": tol}
    ending = {"interrupted": watch.interrupted, "figure": figure}
    missed = int((found.reached > tol).sum())
    if watch.interrupted:
        screen.note(f"interrupted: the path ends at alpha {found.alphas[-1]:.3g} instead of going on.")
    elif missed:
        ended = f"the certified gap was {tol:g}" if found.certified else f"a step could gain no more than {tol:g}"
        screen.note(f"{missed} of {n_alphas} alphas stopped before {ended}.")
    screen.document({"command": "path", **about, **_document(found), **ending})
    _exit(interrupted=watch.interrupted, missed=missed > 0)


def _classifiers(
    screen: Screen,
    rows: Dataset,
    settings: dict[str, Any],
    *,
    kind: str,
    validation: Path | None,
    holdout: float,
    seed: int,
    form: Form,
    watch: Watch,
    pos_label: str | None,
) -> tuple[RegularizationPath, str, tuple[int, int], str, dict[str, Any]]:
    """Train the path; return it, the title of its measure, the size of X, what was held out, and data for machines."""
    from .. import regularization_path
    from ..design.scaling import Scaling

    examples = as_examples(screen, rows, form, pos_label=pos_label)
    X, y, held_out = _split(screen, examples, validation, holdout, seed, form)
    scaling = Scaling.of(kind, X)
    if held_out is not None:
        held_out = scaling.apply(held_out[0]), held_out[1]
    settings = {**settings, "measure": settings["measure"] or DEFAULT_MEASURE}
    with watch:
        found = regularization_path(
            scaling.apply(X),
            y,
            validation=held_out,
            pos_label=label_named(examples, pos_label),
            callback=watch,
            **settings,
        )
    number = "" if held_out is None else f"{held_out[1].shape[0]:,} rows"
    about = {"data": summary(examples), "measure": settings["measure"]}
    return found, title(settings["measure"]), X.shape, number, about


def _best(found: RegularizationPath) -> int:
    """Return which alpha the rows held out like best; those to train on, if none are."""
    scores = found.validation_scores
    return int((found.train_scores if scores is None else scores).argmax())


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
    if scores is not None:
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


def _exit(*, interrupted: bool, missed: bool) -> None:
    """End with the code of what went wrong, if anything did."""
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if missed:
        raise typer.Exit(MISSED_TOLERANCE)


def _about(rows: Dataset, size: tuple[int, int], held_out: str) -> str:
    """Say in a line what the path was trained on and judged by."""
    judged = f", {held_out} held out" if held_out else ""
    return f"{visible(Path(rows.path).name)}: {size[0]:,} rows x {size[1]:,} features{judged}"


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
        "best_alpha": found.alphas[_best(found)],
    }


def _split(
    screen: Screen, examples: Dataset, validation: Path | None, holdout: float, seed: int, form: Form
) -> tuple[Any, Any, Any]:
    """Return features and labels to train on, and a pair of them to judge on, or None."""
    if validation is not None:
        others = read_others(screen, validation, examples, form)
        return examples.X, examples.y, (others.X, others.y)
    if holdout == 0.0:
        return examples.X, examples.y, None

    import numpy as np
    from sklearn.model_selection import train_test_split

    if np.unique(examples.y, return_counts=True)[1].min() < 2:
        fail(f"{examples.path}: a class has one example only, so none can be held out; use --holdout 0.")
    X, X_held, y, y_held = train_test_split(
        examples.X, examples.y, test_size=holdout, stratify=examples.y, random_state=seed
    )
    return X, y, (X_held, y_held)
