"""``smoothperf predict`` for rankings: scores of new documents, and their ranks within queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import fail
from .._files import Form, Likeness, form_for, read_rows, shape_line
from .._screen import Screen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...estimators.ranker import MeasureRanker


def predicted(
    screen: Screen, fitted: MeasureRanker, data: Path, form: Form, *, with_ranks: bool
) -> dict[str, list[Any]]:
    """Return the columns of the answer: scores, or queries, scores and ranks."""
    rows = read_rows(screen, data, form_for(fitted, form), like=Likeness.of_model(fitted), labelled=False)
    screen.say(shape_line(rows))
    scores = fitted.predict(rows.X)
    if not with_ranks:
        return {"score": scores.tolist()}
    if rows.qid is None:
        fail(
            f"--ranks needs queries, and {data} has none: name the column with --query (CSV, Parquet), or write "
            "qid:number after each label (svmlight)."
        )
    return {"query": rows.qid.tolist(), "score": scores.tolist(), "rank": ranks_within(rows.qid, scores).tolist()}


def ranks_within(qid: NDArray[Any], scores: NDArray[Any]) -> NDArray[Any]:
    """Return the rank of each row in its query: one more than there are rows with a higher score.

    Examples
    --------
    >>> import numpy as np
    >>> ranks_within(np.array(["a", "b", "a", "a"]), np.array([1.0, 5.0, 3.0, 1.0]))
    array([2, 1, 1, 2])
    """
    import numpy as np

    queries = np.unique(qid, return_inverse=True)[1]
    order = np.lexsort((-scores, queries))
    first_of_query = np.searchsorted(queries[order], queries[order])
    fresh = np.ones(order.size, dtype=bool)
    fresh[1:] = (np.diff(queries[order]) != 0) | (np.diff(scores[order]) != 0.0)
    first_of_tie = np.maximum.accumulate(np.where(fresh, np.arange(order.size), 0))
    ranks = np.empty(order.size, dtype=np.int64)
    ranks[order] = 1 + first_of_tie - first_of_query
    return ranks
