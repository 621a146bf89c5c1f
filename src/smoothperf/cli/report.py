"""``smoothperf report``: a page on a model, with a threshold to move."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .. import load
from . import _options as options
from ._files import check_writable
from ._screen import Screen
from .kinds import ManyLabels, kind_of_model


def report(
    model: options.ModelFile,
    data: options.Data,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the page goes.")] = Path(
        "report.html"
    ),
    bootstrap: options.Resamples = 200,
    seed: options.Seed = 0,
    form: options.LabelForm,
    screen: Screen,
) -> None:
    """Write an HTML page on a model, with a threshold to move.

    Example: smoothperf report mails.model test.svm -o report.html

    A threshold to move or to set by a goal, precision/recall and ROC curves,
    what the features weigh, the certificate and how training went. For a
    ranker, how NDCG is spread over queries, and which are the worst; for many
    labels a table of them, the worst first, and each by itself. It is one file
    that opens in any browser without a network.
    """
    check_writable(output)
    fitted = load(model)

    from .._files import written_whole
    from ..report import gather, gather_many, gather_ranking, render_report

    kind = kind_of_model(screen, fitted, form)
    # Reading may take names of columns from the model.
    names = fitted.feature_names if kind.ranks else getattr(fitted, "feature_names_in_", None)
    rows = kind.read_for(fitted, data)
    with screen.progress.status("Writing the report"):
        gathering: Any = gather_ranking if kind.ranks else gather_many if isinstance(kind, ManyLabels) else gather
        gathered = gathering(
            fitted,
            rows.X,
            **kind.known(rows),
            model_name=model.name,
            data_name=data.name,
            feature_names=names,
            n_resamples=bootstrap,
            seed=seed,
        )
        page = render_report(gathered).encode()
    with written_whole(output) as file:
        file.write(page)
    screen.say(f"Saved: {output} ({len(page) / 1000:.0f} kB); open it in a browser")
    screen.document(
        {"command": "report", "model": model, "data": kind.summary(rows), "report": output, "bytes": len(page)}
    )
