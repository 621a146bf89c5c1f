"""The kind that rows, measures and models are of: labels or queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from .._errors import fail
from .._options import Form
from .._screen import Screen
from .base import Kind
from .labels import Labels, solver_for_classes
from .queries import Rankings, no_queries

if TYPE_CHECKING:
    from ...io import Dataset


def kind_of_model(screen: Screen, model: Any, form: Form) -> Kind:
    """Return the kind of rows that a model is for, of which a file in a form can be."""
    from ...estimators.ranker import MeasureRanker

    if isinstance(model, MeasureRanker):
        return Rankings(screen, form)
    if form.has_groups:
        fail(f"--query {form.query} is for models that rank, and this one tells classes apart: leave it out.")
    return Labels(screen, form)


def kind_of_rows(screen: Screen, rows: Dataset, measures: Sequence[str | None], form: Form) -> Kind:
    """Return the kind of rows to train on: of queries, if there are some, and the measures are those of rankings.

    Names such as precision@10, which classifiers and rankers know, are meant within queries if there are queries.
    """
    names = [name for name in measures if name is not None]
    if rows.qid is None:
        only_ranks = [name for name in names if not is_label_measure(name)]
        if only_ranks:
            fail(f"{only_ranks[0]} is a measure of rankings, and {rows.path} {no_queries()}")
        return Labels(screen, form)
    only_labels = [name for name in names if not is_query_measure(name)]
    if not only_labels:
        return Rankings(screen, form)
    if len(only_labels) < len(names):
        _refuse_measure(only_labels[0])
    screen.note(f"the queries of {rows.path} are not looked at, as {only_labels[0]} is a measure of labels.")
    return Labels(screen, form)


def check_training(
    measures: Sequence[str | None], solvers: Iterable[str], form: Form, *, tol: float, max_iter: int
) -> None:
    """Fail before a large file is read if there is no such measure or solver, or a setting makes no sense.

    Measures may be those of labels or of rankings; which they are is seen when the file is read, unless a column of
    queries is named.
    """
    from ..._validation import choice
    from ...estimators.problem import SOLVERS, make_solver

    for measure in measures:
        if measure is not None:
            _check_measure(measure, rankings=form.has_groups)
    for solver in solvers:
        choice("solver", solver, ("auto", *SOLVERS))
        make_solver(solver_for_classes(solver), tol=tol, max_iter=max_iter, smoothing="adaptive")


def _check_measure(name: str, *, rankings: bool) -> None:
    """Fail if there is no such measure, neither of labels nor of rankings; with queries, of rankings."""
    from ...measures import get_measure, get_query_measure
    from ...measures.queries.names import QUERY_MEASURE_WORDS, similar_query_measure

    if rankings:
        if is_label_measure(name) and not is_query_measure(name):
            _refuse_measure(name)
        get_query_measure(name)
        return
    try:
        get_measure(name)
    except ValueError as error:
        if "cannot be read" in str(error):  # of labels, written wrongly
            raise
        try:
            get_query_measure(name)
        except ValueError as other:
            if "cannot be read" in str(other):  # of rankings
                raise other from None
            near = similar_query_measure(name)
            hint = f" Did you mean {near!r}?" if near and "Did you mean" not in str(error) else ""
            raise ValueError(f"{error} Of rankings there are {QUERY_MEASURE_WORDS}.{hint}") from None


def is_query_measure(name: str) -> bool:
    """Tell whether a measure is one of rankings; it may be one of labels, too."""
    from ...measures import get_query_measure

    return _is_known(get_query_measure, name)


def is_label_measure(name: str) -> bool:
    """Tell whether a measure is one of labels; it may be one of rankings, too."""
    from ...measures import get_measure

    return _is_known(get_measure, name)


def _is_known(get: Callable[[str], Any], name: str) -> bool:
    try:
        get(name)
    except ValueError:
        return False
    return True


def _refuse_measure(name: str) -> NoReturn:
    fail(f"{name} is not a measure of rankings; take one that is, such as ndcg@10, pairs or map.")
