"""``smoothperf report``: a page on a model, with a threshold to move."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .. import load
from . import _options as options
from ._errors import one_line_errors
from ._files import Form, check_writable, read_for_model, summary
from ._screen import Screen


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
    form = Form(label, format, zero_based, query)

    from .._files import written_whole
    from ..report import gather, gather_ranking, render_report
    from .ranking.documents import is_ranker, read_documents_for
    from .ranking.documents import summary as summary_of_documents

    names = getattr(fitted, "feature_names_in_", None)  # which reading takes from it
    given: dict[str, Any] = {"model_name": model.name, "data_name": data.name, "n_resamples": bootstrap, "seed": seed}
    if ranks := is_ranker(fitted):
        rows = read_documents_for(screen, fitted, data, form)
        about, given["feature_names"] = summary_of_documents(rows), rows.feature_names
    else:
        rows = read_for_model(screen, fitted, data, form)
        about, given["feature_names"] = summary(rows), names
    with screen.progress.status("Writing the report"):
        gathered = (
            gather_ranking(fitted, rows.X, rows.y, rows.qid, **given)
            if ranks
            else gather(fitted, rows.X, rows.y, **given)
        )
        page = render_report(gathered).encode()
    with written_whole(output) as file:
        file.write(page)
    screen.say(f"Saved: {output} ({len(page) / 1000:.0f} kB); open it in a browser")
    screen.document({"command": "report", "model": model, "data": about, "report": output, "bytes": len(page)})
