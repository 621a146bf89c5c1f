"""``smoothperf evaluate`` for rankings: all measures of a ranker on other queries, with bootstrap intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .._files import Form
from .._progress import shown_progress
from .._screen import Screen, number, table
from .documents import queries_of, read_documents_for, summary

if TYPE_CHECKING:
    from ...estimators.ranker import MeasureRanker


def evaluate_ranker(
    screen: Screen, model: Path, fitted: MeasureRanker, data: Path, form: Form, bootstrap: int, seed: int
) -> None:
    """Judge a ranker; queries are drawn again for the intervals."""
    documents = read_documents_for(screen, fitted, data, form)

    from ...evaluation import QueryScores, drawn_interval, query_columns, query_resamples, tells_nothing, title_of
    from ...measures import get_query_measure

    queries, scores = queries_of(documents), fitted.predict(documents.X)
    if tells_nothing(scores):
        screen.note("this model tells nothing: it has the same score for all rows.")
    measures = query_columns(get_query_measure(fitted.measure), queries.grades)
    found = {name: QueryScores.of(measure, queries, scores) for name, measure in measures.items()}
    own = next(iter(found))
    found = {name: worth for name, worth in found.items() if worth.count or name == own}
    draws = shown_progress(screen, "Bootstrap", query_resamples(queries.sizes.size, bootstrap, seed), bootstrap)
    drawn = [{name: worth.mean(draw) for name, worth in found.items()} for draw in draws]
    intervals = {name: drawn_interval([draw[name] for draw in drawn]) for name in found}
    lines = [
        [title_of(name), number(worth.mean()), *map(number, intervals[name]), f"{worth.count:,}"]
        for name, worth in found.items()
    ]
    screen.say()
    screen.result(table(["mean over queries", "value", "95 % from", "to", "queries"], lines))
    screen.say("\nQueries that every order suits alike are left out, and measures for which none remain.")
    screen.document(
        {
            "command": "evaluate",
            "model": model,
            "data": summary(documents),
            "bootstrap": bootstrap,
            "seed": seed,
            "measures": {
                name: {
                    "value": worth.mean(),
                    "low": intervals[name][0],
                    "high": intervals[name][1],
                    "queries": worth.count,
                }
                for name, worth in found.items()
            },
        }
    )
