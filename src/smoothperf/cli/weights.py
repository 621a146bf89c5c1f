"""``smoothperf weights``: the weights of a model's features, as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import load
from .._files import written_whole
from . import _options as options
from ._files import check_writable, csv_lines
from ._screen import Screen, table

if TYPE_CHECKING:
    from ..estimators.linear import CertifiedModel


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
            help="The N largest only; 20 by default on the screen, all in a file.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write a CSV table here instead.")
    ] = None,
    screen: Screen,
) -> None:
    """Show what the features of a model weigh, the largest weight first.

    Example: smoothperf weights mails.model --top 50

    A weight above 0 speaks for the positive label. Weights are for features
    as they are in the data, also where they were scaled for training, so they
    depend on the units; 'smoothperf report' multiplies them by the spread of
    each feature. Those that are exactly 0 are left out.
    """
    if output is not None:
        check_writable(output)
    fitted = load(model)

    from ..estimators.weights import most_important, names_of, weights_for_positive

    all_weights = weights_for_positive(fitted)
    used, d = int((all_weights != 0.0).sum()), all_weights.shape[0]
    whole = output is not None or screen.as_json
    count = top if top is not None else d if whole else 20
    places = most_important(all_weights, count)
    names, values = names_of(fitted, places.tolist()), all_weights[places].tolist()
    screen.say(_summary(fitted, used, d), wrap=True)
    if output is not None:
        intercept = [] if getattr(fitted, "label_pair", None) is None else [("(intercept)", _intercept(fitted))]
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
            "intercept": _intercept(fitted),
            "weights": [{"feature": n, "weight": v} for n, v in zip(names, values, strict=True)],
            "output": output,
        }
    )


def _summary(model: CertifiedModel, used: int, d: int) -> str:
    """Say how many weights there are, and what they refer to."""
    of_all = f"{used:,} of {d:,} features in the model" if used < d else f"{d:,} features"
    pair = getattr(model, "label_pair", None)
    for_what = "a better place" if pair is None else f"{pair[1]}, the positive label"
    return f"{of_all}; weights above 0 speak for {for_what}. They are for features as they are in the data, not scaled."


def _intercept(model: CertifiedModel) -> float:
    import numpy as np

    return float(getattr(model, "_sign", 1.0)) * float(np.ravel(model.intercept_)[0])
