"""``smoothperf report`` for rankings: a page on a ranker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._options import Form
from .._screen import Screen
from ..kinds.queries import Rankings, queries_of, query_names

if TYPE_CHECKING:
    from ...estimators.ranker import MeasureRanker


def ranking_page(
    screen: Screen, model: Path, fitted: MeasureRanker, data: Path, form: Form, bootstrap: int, seed: int
) -> tuple[str, dict[str, Any]]:
    """Return the page as text, and the data for machines."""
    documents = Rankings(screen, form).read_for(fitted, data)

    from ...report import gather_ranking, render_ranking_report

    queries = queries_of(documents)
    with screen.progress.status("Writing the report"):
        contents = gather_ranking(
            fitted,
            documents.X,
            queries,
            query_names=[str(name) for name in query_names(documents, queries)],
            feature_names=documents.feature_names,
            model_name=model.name,
            data_name=data.name,
            n_resamples=bootstrap,
            seed=seed,
        )
        return render_ranking_report(contents), Rankings(screen, form).summary(documents)
