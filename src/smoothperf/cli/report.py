"""``smoothperf report``: a page on a model, with a threshold to move."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .. import load
from . import _options as options
from ._errors import one_line_errors
from ._files import check_writable
from ._options import Form
from ._screen import Screen
from .kinds import kind_of_model
from .kinds.labels import Labels


@one_line_errors
def report(
    model: options.ModelFile,
    data: options.Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the page goes.")] = Path(
        "report.html"
    ),
    bootstrap: options.Resamples = 200,
    seed: options.Seed = 0,
    label: options.Label = None,
    query: options.Query = None,
    format: options.Format = None,
    zero_based: options.ZeroBased = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write an HTML page on a model, with a threshold to move.

    Example: smoothperf report mails.model test.svm -o report.html

    A threshold to move or to set by a goal, precision/recall and ROC curves,
    what the features weigh, the certificate and how training went. For a
    ranker, how NDCG is spread over queries, and which are the worst. It is one
    file that opens in any browser without a network.
    """
    screen = Screen(as_json=as_json, quiet=quiet)
    check_writable(output)
    fitted = load(model)
    form = Form(label, query, format, zero_based)

    from .._files import written_whole
    from .ranking.report import ranking_page

    make = ranking_page if kind_of_model(screen, fitted, form).ranks else _classifier_page
    text, about = make(screen, model, fitted, data, form, bootstrap, seed)
    page = text.encode()
    with written_whole(output) as file:
        file.write(page)
    screen.say(f"Saved: {output} ({len(page) / 1000:.0f} kB); open it in a browser")
    screen.document({"command": "report", "model": model, "data": about, "report": output, "bytes": len(page)})


def _classifier_page(
    screen: Screen, model: Path, fitted: Any, data: Path, form: Form, bootstrap: int, seed: int
) -> tuple[str, dict[str, Any]]:
    """Return the page as text, and the data for machines."""
    names = getattr(fitted, "feature_names_in_", None)  # which reading takes from it
    examples = Labels(screen, form).read_for(fitted, data)

    from ..report import gather, render_report

    with screen.progress.status("Writing the report"):
        contents = gather(
            fitted,
            examples.X,
            examples.y,
            model_name=model.name,
            data_name=data.name,
            feature_names=names,
            n_resamples=bootstrap,
            seed=seed,
        )
        return render_report(contents), Labels(screen, form).summary(examples)
