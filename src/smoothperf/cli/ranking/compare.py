"""``smoothperf compare`` for rankings: whether training for a measure of rankings pays on given data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._files import Form
from .._screen import Screen
from .documents import DEFAULT_MEASURE, as_documents, read_other_documents, summary

if TYPE_CHECKING:
    from ...evaluation.comparison import Outcome
    from ...io import Dataset


def ranking_outcomes(
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
) -> tuple[list[Outcome], dict[str, Any]]:
    """Let all train, and judge them; return the lines of the table, and the data for machines."""
    import warnings

    from ...estimators.ranking_contenders import ranking_contenders, suits_trees
    from ...evaluation.ranking_comparison import COLUMNS, compare_rankings
    from ...measures import get_query_measure

    measures = measures or [DEFAULT_MEASURE]
    documents = as_documents(screen, rows, measures)
    others = None if test is None else read_other_documents(screen, test, documents, form, measures)
    splits = _splits(documents, others, folds, kind, seed)
    players = ranking_contenders(measures, solvers, **settings, trees=suits_trees(documents.y))
    columns = {measure.name: measure for measure in map(get_query_measure, [*measures, *COLUMNS])}
    columns = {
        name: measure
        for name, measure in columns.items()
        if all(measure.takes(part.y) for part in (documents, others) if part is not None)
    }
    times = f", {len(splits)} times" if len(splits) > 1 else ""
    number = splits[0][0].queries.sizes.size
    screen.say(f"Training {len(players)} kinds of models on {number:,} queries{times}")
    # No warnings: missed tolerances are counted, and the table says the rest.
    with warnings.catch_warnings(action="ignore"), screen.progress.status("Training"):
        lines = compare_rankings(
            splits,
            players,
            list(columns.values()),
            n_resamples=bootstrap,
            seed=seed,
            tell=lambda text: screen.progress.print(text, soft_wrap=True),
        )
    data = {"data": summary(documents), "test": None if others is None else summary(others), "splits": len(splits)}
    return lines, data


def _splits(documents: Dataset, others: Dataset | None, folds: int, kind: str, seed: int) -> list[tuple[Any, Any]]:
    """Return documents to train on and documents to judge on, scaled as the former ask for."""
    from ...design.scaling import Scaling
    from ...evaluation.ranking_comparison import Documents

    rows = Documents(documents.X, documents.y, documents.qid)
    if others is None:
        pairs = [(rows[train], rows[judge]) for train, judge in rows.folds(folds, seed)]
    else:
        pairs = [(rows, Documents(others.X, others.y, others.qid))]
    splits = []
    for train, judge in pairs:
        scaling = Scaling.of(kind, train.X)
        scaled = [Documents(scaling.apply(part.X), part.grades, part.qid) for part in (train, judge)]
        splits.append((scaled[0], scaled[1]))
    return splits
