"""``smoothperf path`` for rankings: what regularisation does to a ranker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import fail
from .._files import Form
from .._progress import Watch
from .._screen import Screen
from .documents import DEFAULT_MEASURE, as_documents, queries_of, ranking_title, read_other_documents, summary

if TYPE_CHECKING:
    from ...estimators.path import RegularizationPath
    from ...io import Dataset


def rankers(
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
) -> tuple[RegularizationPath, str, tuple[int, int], str, dict[str, Any]]:
    """Train the path; return it, the title of its measure, the size of X, what was held out, and data for machines."""
    from ... import regularization_path
    from ...design.scaling import Scaling

    settings = {**settings, "measure": settings["measure"] or DEFAULT_MEASURE}
    measure = settings["measure"]
    documents = as_documents(screen, rows, [measure])
    X, y, qid, held_out = _split(screen, documents, measure, validation, holdout, seed, form)
    scaling = Scaling.of(kind, X)
    judge = None if held_out is None else (scaling.apply(held_out[0]), *held_out[1:])
    with watch:
        found = regularization_path(scaling.apply(X), y, qid=qid, validation=judge, callback=watch, **settings)
    number = "" if held_out is None else f"{_count(held_out[2]):,} queries"
    return found, ranking_title(measure), X.shape, number, {"data": summary(documents), "measure": measure}


def _count(qid: Any) -> int:
    import numpy as np

    return int(np.unique(qid).size)


def _split(
    screen: Screen, documents: Dataset, measure: str, validation: Path | None, holdout: float, seed: int, form: Form
) -> tuple[Any, Any, Any, Any]:
    """Return features, grades and queries to train on, and the same to judge on, or None."""
    if validation is not None:
        others = read_other_documents(screen, validation, documents, form, [measure])
        return documents.X, documents.y, documents.qid, (others.X, others.y, others.qid)
    if holdout == 0.0:
        return documents.X, documents.y, documents.qid, None

    import numpy as np

    from ...measures import get_query_measure
    from ...tasks.query_choice import query_splits

    queries = queries_of(documents)
    counted = get_query_measure(measure).counted(queries)
    if counted.size < 2:
        fail(
            f"{documents.path}: the order of {'one query only' if counted.size else 'no query'} makes a difference to "
            f"{measure}, so none can be held out; use --holdout 0."
        )
    counted = np.random.default_rng(seed).permutation(counted)
    [(train, judge)] = query_splits(float(holdout), queries.numbers, counted)
    held_out = tuple(part[judge] for part in (documents.X, documents.y, documents.qid))
    return documents.X[train], documents.y[train], documents.qid[train], held_out
