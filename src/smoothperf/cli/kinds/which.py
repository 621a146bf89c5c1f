"""The kind that rows, measures and models are of: labels, many labels or queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .._errors import fail
from .._options import Form, LabelForm
from .._screen import Screen
from .base import Kind, SingleKind
from .labels import Labels, solver_for_classes
from .many import ManyLabels
from .rankings import Rankings, check_measure, refuse_measure

if TYPE_CHECKING:
    from ...io import Dataset


def kind_of_model(screen: Screen, model: Any, form: LabelForm) -> Kind:
    """Return the kind of rows that a model is for, of which a file in a form can be."""
    from ...estimators.multilabel import MultilabelModel
    from ...estimators.ranker import MeasureRanker

    if isinstance(model, MeasureRanker):
        return Rankings(screen, form)
    if form.has_groups:
        fail("--query is for models that rank, and this one tells classes apart: leave it out.")
    return ManyLabels(screen, form) if isinstance(model, MultilabelModel) else Labels(screen, form)


def kind_of_rows(screen: Screen, rows: Dataset, measures: Sequence[str | None], form: Form) -> SingleKind:
    """Return the kind of rows to train on: of queries, if there are some, and the measures are those of rankings.

    Names such as precision@10, which classifiers and rankers know, are meant within queries if there are queries. Rows
    with any number of labels are refused.
    """
    from ...io.label_sets import are_sets

    if are_sets(rows.y):
        fail(f"{rows.path}: its rows have any number of labels, and this command is for one label.")
    names = [name for name in measures if name is not None]
    if not Rankings.has(rows):
        for name in names:
            if not Labels.knows(name):
                Rankings.check_rows(rows, f"{name} is a measure of rankings, and ")
        return Labels(screen, form)
    only_labels = [name for name in names if not Rankings.knows(name)]
    if not only_labels:
        return Rankings(screen, form)
    if len(only_labels) < len(names):
        refuse_measure(only_labels[0])
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
            check_measure(measure, ranks=form.has_groups)
    for solver in solvers:
        choice("solver", solver, ("auto", *SOLVERS))
        make_solver(solver_for_classes(solver), tol=tol, max_iter=max_iter, smoothing="adaptive")
