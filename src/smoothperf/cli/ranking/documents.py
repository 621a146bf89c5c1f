"""Documents of queries: whether a file has them, whether they make sense, and what there is to say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from .._errors import fail
from .._files import Form, Likeness, form_as, form_for, read_rows, shape_line
from .._screen import Screen
from .._visible import visible

if TYPE_CHECKING:
    from ...estimators.ranker import MeasureRanker
    from ...io import Dataset
    from ...measures import Queries

#: What a ranker is trained for if nothing is said.
DEFAULT_MEASURE = "ndcg@10"
#: Most grades to list.
LISTED = 6
#: Formats whose columns have names.
TABLES = ("csv", "parquet")


def check_measure(name: str, query: str | None) -> None:
    """Fail if there is no such measure, neither of labels nor of rankings; with queries, of rankings."""
    from ...measures import get_measure, get_query_measure
    from ...measures.queries.names import QUERY_MEASURE_WORDS, similar_query_measure

    if query is not None:
        if is_label_measure(name) and not is_query_measure(name):
            _refuse_measure(name)
        get_query_measure(name)
        return
    try:
        get_measure(name)
    except ValueError as error:
        try:
            get_query_measure(name)
        except ValueError as other:
            if "cannot be read" in str(other) and "cannot be read" not in str(error):  # of rankings, written wrongly
                raise other from None
            near = similar_query_measure(name)
            hint = f" Did you mean {near!r}?" if near and "Did you mean" not in str(error) else ""
            raise ValueError(f"{error} Of rankings there are {QUERY_MEASURE_WORDS}.{hint}") from None


def is_query_measure(name: str) -> bool:
    """Whether a measure is one of rankings; it may be one of labels, too."""
    from ...measures import get_query_measure

    return _is_known(get_query_measure, name)


def is_label_measure(name: str) -> bool:
    """Whether a measure is one of labels; it may be one of rankings, too."""
    from ...measures import get_measure

    return _is_known(get_measure, name)


def _is_known(get: Any, name: str) -> bool:
    try:
        get(name)
    except ValueError:
        return False
    return True


def is_ranking(screen: Screen, rows: Dataset, measures: Sequence[str | None]) -> bool:
    """Decide whether to rank: there are queries, and the measures are those of rankings.

    Names such as precision@10, which classifiers and rankers know, are meant within queries if there are queries.
    """
    names = [name for name in measures if name is not None]
    if rows.qid is None:
        only_ranks = [name for name in names if not is_label_measure(name)]
        if only_ranks:
            fail(
                f"{only_ranks[0]} is a measure of rankings, and {rows.path} does not say which rows belong to the same "
                "query: name the column with --query (CSV, Parquet), or write qid:number after each label (svmlight)."
            )
        return False
    only_labels = [name for name in names if not is_query_measure(name)]
    if not only_labels:
        return True
    if len(only_labels) < len(names):
        _refuse_measure(only_labels[0])
    screen.note(f"the queries of {rows.path} are not looked at, as {only_labels[0]} is a measure of labels.")
    return False


def _refuse_measure(name: str) -> NoReturn:
    fail(f"{name} is not a measure of rankings; take one that is, such as ndcg@10, pairs or map.")


def refuse_for_rankings(**options: Any) -> None:
    """Fail if an option is given that only makes sense for classifiers."""
    for name, value in options.items():
        if value not in (None, False):
            fail(f"--{name.replace('_', '-')} is for classes, and these rows are documents to rank: leave it out.")


def is_ranker(model: Any) -> bool:
    """Whether a model that was loaded ranks."""
    from ...estimators.ranker import MeasureRanker

    return isinstance(model, MeasureRanker)


def ranking_title(measure: Any) -> str:
    """Return what people call the score of a measure of rankings; said in full where classifiers have it, too."""
    from ...evaluation import title_of
    from ...measures import get_query_measure

    found = get_query_measure(measure)
    return title_of(found.full_name) + (" within queries" if is_label_measure(found.name) else "")


def as_documents(screen: Screen, rows: Dataset, measures: Sequence[Any]) -> Dataset:
    """Check the grades, for some measures, make them numbers, and say how many queries and grades there are."""
    documents = replace(rows, y=_grades(rows, measures))
    for line in summary_lines(documents):
        screen.say(line)
    return documents


def read_other_documents(
    screen: Screen, path: Path, documents: Dataset, form: Form, measures: Sequence[Any]
) -> Dataset:
    """Read documents of the same kind as those to train on."""
    like = replace(Likeness.of_data(documents), labels=None)
    return as_documents(screen, _with_queries(read_rows(screen, path, form_as(form, documents), like=like)), measures)


def read_documents_for(screen: Screen, model: MeasureRanker, path: Path, form: Form) -> Dataset:
    """Read graded documents that fit a model: the same features."""
    rows = read_rows(screen, path, form_for(model, form), like=Likeness.of_model(model))
    return as_documents(screen, _with_queries(rows), [model.measure])


def _with_queries(rows: Dataset) -> Dataset:
    if rows.qid is None:
        fail(
            f"{rows.path} does not say which rows belong to the same query: name the column with --query (CSV, "
            "Parquet), or write qid:number after each label (svmlight)."
        )
    return rows


def queries_of(documents: Dataset) -> Queries:
    """Return the documents by query."""
    from ...measures import Queries

    return Queries.of(documents.y, documents.qid)


def query_names(documents: Dataset, queries: Queries) -> list[Any]:
    """Return what each query is called in the file."""
    first = queries.starts[:-1] if queries.rows is None else queries.rows[queries.starts[:-1]]
    names: list[Any] = documents.qid[first].tolist()
    return names


def summary_lines(documents: Dataset) -> list[str]:
    """Return shape, queries and grades as lines."""
    import numpy as np

    queries = queries_of(documents)
    lowest, highest = (queries.reduced(extreme, queries.grades) for extreme in (np.minimum, np.maximum))
    grades, counts = np.unique(documents.y, return_counts=True)
    shown = ", ".join(f"{grade:g} ({count:,})" for grade, count in list(zip(grades, counts, strict=True))[:LISTED])
    return [
        shape_line(documents),
        f"Queries: {queries.sizes.size:,} with {queries.sizes.min():,} to {queries.sizes.max():,} documents, "
        f"{int((highest > lowest).sum()):,} of them with different grades",
        f"Grades: {shown}{', ...' if grades.size > LISTED else ''}",
    ]


def summary(documents: Dataset) -> dict[str, Any]:
    """Return the same for machines."""
    import numpy as np

    grades, counts = np.unique(documents.y, return_counts=True)
    return {
        "path": documents.path,
        "format": documents.format,
        "rows": documents.X.shape[0],
        "features": documents.X.shape[1],
        "queries": int(np.unique(documents.qid).size),
        "grades": [{"grade": grade, "rows": count} for grade, count in zip(grades, counts, strict=True)],
    }


def stacked(documents: Dataset, others: Dataset) -> tuple[Any, Any, Any, list[tuple[Any, Any]]]:
    """Return the rows of two files one below the other, grades, queries, and the split between them.

    Queries are those of their file: the same number in both does not make one of two.
    """
    import numpy as np
    from scipy.sparse import issparse, vstack

    n, more = documents.X.shape[0], others.X.shape[0]
    pair = (documents.X, others.X)
    X = vstack(pair, format="csr") if issparse(pair[0]) or issparse(pair[1]) else np.vstack(pair)
    first, second = (np.unique(part.qid, return_inverse=True)[1] for part in (documents, others))
    qid = np.concatenate([first, first.max() + 1 + second])
    return X, np.concatenate([documents.y, others.y]), qid, [(np.arange(n), np.arange(n, n + more))]


def _grades(rows: Dataset, measures: Sequence[Any]) -> Any:
    """Return the grades of relevance as numbers, if they can be: 0 or more, and of two kinds in some query."""
    import numpy as np

    from ...io.dataset import data_error
    from ...measures import Queries, get_query_measure
    from ...measures.queries.gains import HIGHEST_GRADE

    if rows.y.dtype.kind not in "biuf":
        wrong = next((at, text) for at, text in enumerate(rows.y.tolist()) if not _is_number(text))
        raise data_error(rows.path, f"grades are numbers, 0 or more, but row {wrong[0] + 1} has {wrong[1]!r}")
    grades = rows.y.astype(np.float64)
    if grades.min() < 0.0:
        at = int(grades.argmin())
        raise data_error(rows.path, f"grades are numbers, 0 or more, but row {at + 1} has {grades[at]:g}")
    if not all(get_query_measure(measure).takes(grades) for measure in measures):
        at = int(grades.argmax())
        reason = f"row {at + 1} has the grade {grades[at]:g}, so that its gain, 2^grade - 1, is too large"
        remedy = "or a measure that does not look at their size, such as pairs"
        raise data_error(rows.path, f"{reason}; use grades up to {int(HIGHEST_GRADE)}, {remedy}")
    try:
        Queries.of(grades, rows.qid)
    except ValueError as error:
        reason = visible(error).partition(" Check y,")[0]
        columns = "the columns of --label and --query" if rows.format in TABLES else "the labels and what follows qid:"
        raise data_error(rows.path, f"{reason} Check {columns}.") from error
    return grades


def _is_number(text: str) -> bool:
    import math

    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
