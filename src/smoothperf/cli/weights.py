"""``smoothperf weights``: the weights of a model's features, as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import load
from .._files import written_whole
from . import _options as options
from ._errors import fail
from ._files import check_figure, check_writable, csv_lines
from ._screen import Screen, table

if TYPE_CHECKING:
    from ..estimators.linear import CertifiedModel
    from ..estimators.multilabel import MultilabelModel


def weights(
    model: options.ModelFile,
    *,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            metavar="N",
            min=1,
            show_default=False,
            help="The N largest only; by default 20 on the screen, or 5 of each of many labels, all in a file.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write a CSV table here instead.")
    ] = None,
    figure: options.Figure = None,
    screen: Screen,
) -> None:
    """Show what the features of a model weigh, the largest weight first.

    Example: smoothperf weights mails.model --top 50

    A weight above 0 speaks for the positive label. Weights are for features
    as they are in the data, also where they were scaled for training, so they
    depend on the units; 'smoothperf report' multiplies them by the spread of
    each feature. Those that are exactly 0 are left out. Of a model with curves,
    what bins of each column add to the score, and --figure draws it; of one for
    many labels the top features of each.
    """
    if output is not None:
        check_writable(output)
    check_figure(figure)
    fitted = load(model)

    from ..estimators.multilabel import MultilabelModel

    if isinstance(fitted, MultilabelModel):
        if figure is not None:
            fail("--figure draws what columns add to the score of one label: leave it out.")
        _show_labels(fitted, model, top, output, screen)
        return
    if figure is not None:
        _draw(fitted, figure)
    if getattr(fitted, "features_", None) is not None:
        from ..estimators.effects import bends

        if bends(fitted):
            _show_effects(fitted, model, top, output, screen)
            return

    from ..estimators.weights import most_important, names_of, unscaled_intercept, unscaled_weights

    all_weights = unscaled_weights(fitted)
    used, d = int((all_weights != 0.0).sum()), all_weights.shape[0]
    whole = output is not None or screen.as_json
    count = top if top is not None else d if whole else 20
    places = most_important(all_weights, count)
    known = None if getattr(fitted, "features_", None) is None else fitted.feature_names
    names, values = names_of(fitted, places.tolist(), known), all_weights[places].tolist()
    screen.say(_summary(fitted, used, d), wrap=True)
    if output is not None:
        intercept = [] if getattr(fitted, "label_pair", None) is None else [("(intercept)", unscaled_intercept(fitted))]
        lines = csv_lines([("feature", "weight"), *zip(names, values, strict=True), *intercept])
        with written_whole(output) as file:
            file.write(lines.encode())
        screen.say(f"Saved: {output}, {len(names):,} of {used:,} weights")
    else:
        screen.say()
        screen.result(table(["feature", "weight"], [[n, f"{v:.6g}"] for n, v in zip(names, values, strict=True)]))
        if len(names) < used:
            screen.say(f"\nand {used - len(names):,} smaller ones; --top {used} shows all")
    screen.document(
        {
            "command": "weights",
            "model": model,
            "features": d,
            "in_the_model": used,
            "intercept": unscaled_intercept(fitted),
            "weights": [{"feature": n, "weight": v} for n, v in zip(names, values, strict=True)],
            "output": output,
        }
    )


def _show_labels(model: MultilabelModel, path: Path, top: int | None, output: Path | None, screen: Screen) -> None:
    """Print what features weigh for each of many labels."""
    from ..estimators.weights import most_important, names_of, scaling_of

    weights = scaling_of(model).unscaled(model.coef_)
    count = top or (weights.shape[1] if output is not None or screen.as_json else 5)
    known = None if getattr(model, "features_", None) is None else model.feature_names
    rows: list[tuple[str, str, float]] = []
    for label, own in zip(model.classes_[-len(weights) :].tolist(), weights, strict=True):
        places = most_important(own, count)
        names = names_of(model, places.tolist(), known)
        rows += [(str(label), *one) for one in zip(names, own[places].tolist(), strict=True)]
    labels = f"{len(weights):,} labels, {weights.shape[1]:,} features; weights above 0 speak for the label."
    screen.say(f"{labels} They are for features as they are in the data, not scaled.", wrap=True)
    if output is not None:
        with written_whole(output) as file:
            file.write(csv_lines([("label", "feature", "weight"), *rows]).encode())
        screen.say(f"Saved: {output}, {len(rows):,} weights")
    else:
        shown = [[label, name, f"{weight:.6g}"] for label, name, weight in rows]
        screen.say()
        screen.result(table(["label", "feature", "weight"], shown, words=2))
    screen.document(
        {
            "command": "weights",
            "model": path,
            "features": weights.shape[1],
            "weights": [{"label": label, "feature": name, "weight": weight} for label, name, weight in rows],
            "output": output,
        }
    )


def _draw(model: CertifiedModel, path: Path) -> None:
    from .. import plots

    plots.save(plots.shapes(model), path)


def _show_effects(model: CertifiedModel, path: Path, top: int | None, output: Path | None, screen: Screen) -> None:
    """Print what bins of columns add to the score."""
    from ..export.scorecard import effects_table

    bins, base = effects_table(model)
    names = list(dict.fromkeys(one.column for one in bins))
    shown = set(names[: top or (len(names) if output is not None or screen.as_json else 20)])
    rows = [(one.column, one.value, one.points) for one in bins if one.column in shown]
    pair = getattr(model, "label_pair", None)
    for_what = "a better place" if pair is None else f"{pair[1]}, the positive label"
    screen.say(
        f"{len(names):,} columns; the score is {base:.6g} and what each of them adds, which speaks for {for_what}. "
        "The least of every column is 0; bins of curves have their mean.",
        wrap=True,
    )
    if output is not None:
        with written_whole(output) as file:
            file.write(csv_lines([("column", "value", "adds"), *rows, ("(base)", "", base)]).encode())
        screen.say(f"Saved: {output}, {len(shown):,} of {len(names):,} columns")
    else:
        screen.say()
        screen.result(table(["column", "value", "adds"], [[a, b, f"{c:.6g}"] for a, b, c in rows], words=2))
        if len(shown) < len(names):
            screen.say(f"\nand {len(names) - len(shown):,} columns that move it less; --top {len(names)} shows all")
    screen.document(
        {
            "command": "weights",
            "model": path,
            "base": base,
            "effects": [{"column": a, "value": b, "adds": c} for a, b, c in rows],
            "output": output,
        }
    )


def _summary(model: CertifiedModel, used: int, d: int) -> str:
    """Say how many weights there are, and what they refer to."""
    of_all = f"{used:,} of {d:,} features in the model" if used < d else f"{d:,} features"
    pair = getattr(model, "label_pair", None)
    for_what = "a better place" if pair is None else f"{pair[1]}, the positive label"
    made = _made_of_columns(model)
    of = f"features that {made} makes of the columns" if made else "features as they are in the data, not scaled"
    return f"{of_all}; weights above 0 speak for {for_what}. They are for {of}."


def _made_of_columns(model: CertifiedModel) -> str:
    """Name what makes features of several columns each; empty if weights are for columns."""
    features: Any = getattr(model, "features_", None)
    if features is None:
        return ""
    from ..features import TableEncoder

    last = features[-1] if hasattr(features, "steps") else features
    return "" if isinstance(last, TableEncoder) else type(last).__name__
