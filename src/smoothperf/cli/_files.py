"""Files that commands read and write, with a look before the work begins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import fail
from ._visible import visible

if TYPE_CHECKING:
    from ..estimators.classifier import MeasureClassifier
    from ..estimators.ranker import MeasureRanker
    from ..io import Dataset
    from ..io.tables import TableEncoder
    from ._screen import Screen

#: More different labels than this are no classes.
MOST_LABELS = 100


@dataclass(frozen=True)
class Form:
    """How to read a file, as far as the user says so."""

    label: str | None = None
    format: str | None = None
    zero_based: bool | None = None
    query: str | None = None


@dataclass(frozen=True)
class Likeness:
    """What examples have to agree with: those that a model was trained on."""

    n_features: int
    feature_names: list[str] | None
    encoder: TableEncoder | None
    labels: tuple[Any, Any] | None

    @classmethod
    def of_data(cls, data: Dataset) -> Likeness:
        """To training data."""
        import numpy as np

        found = np.unique(data.y)
        labels = tuple(found.tolist()) if found.size == 2 else None
        return cls(data.X.shape[1], data.feature_names, data.encoder, labels)

    @classmethod
    def of_model(cls, model: MeasureClassifier | MeasureRanker) -> Likeness:
        """To what a model was trained on.

        The names of features are taken from the model: files are compared with them here, and scikit-learn would warn
        that the arrays that follow have none.
        """
        names = model.__dict__.pop("feature_names_in_", None)
        classes = getattr(model, "classes_", None)  # which rankers do not have
        return cls(
            model.n_features_in_,
            None if names is None else list(names),
            getattr(model, "table_encoder_", None),
            None if classes is None else tuple(classes.tolist()),
        )


def read_examples(
    screen: Screen,
    path: Path,
    form: Form,
    *,
    like: Likeness | None = None,
    labelled: bool = True,
    pos_label: str | None = None,
) -> Dataset:
    """Read examples, as :func:`read_rows` does, and say what they are, as :func:`as_examples` does."""
    data = read_rows(screen, path, form, like=like, labelled=labelled)
    return as_examples(screen, data, form, like=like, pos_label=pos_label)


def read_rows(
    screen: Screen,
    path: Path,
    form: Form,
    *,
    like: Likeness | None = None,
    labelled: bool = True,
) -> Dataset:
    """Read a file."""
    with screen.progress.status(reading(path)):
        data = _read(path, form, like, labelled=labelled)
    if labelled and data.sample_weight is not None:
        fail(f"{path}: its rows have weights, which commands do not look at; in Python fit(path) does.")
    if like is None:
        for name in data.encoder.left_out if data.encoder is not None else ():
            screen.note(f"column {name!r} is left out: it has no value, or another word in every row.")
    return data


def as_examples(
    screen: Screen, data: Dataset, form: Form, *, like: Likeness | None = None, pos_label: str | None = None
) -> Dataset:
    """Say the shape of examples and, if they have labels, the balance of their classes.

    Of three labels or more, that which ``pos_label`` names is held against the rest.
    """
    if like is None:
        data = _one_against_the_rest(data, pos_label, form.label)
    elif data.y is not None and like.labels is not None:
        data = _labels_as(data, like.labels)
    for line in summary_lines(data, label_named(data, pos_label)):
        screen.say(line)
    return data


def _read(path: Path, form: Form, like: Likeness | None, *, labelled: bool) -> Dataset:
    """Read examples in the form that they have, or that others had."""
    from ..io import read_data
    from ..io.dataset import NotNumbersError
    from ..io.store import is_store
    from ..io.tables import TableEncoder, is_table, read_table

    label, format = form.label, form.format
    if is_store(path, format):
        found = read_data(path, label=label, query=form.query, labelled=labelled, format=format)
        return _columns_as(found, like)
    by_name = like is not None and like.feature_names is not None and is_table(path, format)
    if like is not None and like.encoder is not None:
        only = [column.name for column in like.encoder.columns]
        table = read_table(path, label=label, query=form.query, labelled=labelled, format=format, only=only)
        return table.encoded(like.encoder)
    try:
        data = read_data(
            path,
            label=label,
            query=form.query,
            labelled=labelled,
            format=format,
            n_features=None if like is None or by_name else like.n_features,
            zero_based=form.zero_based,
        )
    except NotNumbersError:
        if like is not None and not by_name:
            raise
        if like is None:
            table = read_table(path, label=label, query=form.query, labelled=labelled, format=format)
            return table.encoded(TableEncoder.fit(table))
        # The words may be in columns that training did not have, which are left out.
        names = like.feature_names or []
        table = read_table(path, label=label, query=form.query, labelled=labelled, format=format, only=names)
        return replace(table.encoded(TableEncoder.of_numbers(names)), encoder=None)
    return _columns_as(data, like)


def _columns_as(data: Dataset, like: Likeness | None) -> Dataset:
    """Bring columns that have names into the order of training; those that it did not have are left out."""
    from ..io.dataset import data_error
    from ..io.tables import check_names

    if like is None:
        return data
    names, found = like.feature_names, data.feature_names
    if names is not None and found is not None and names != found:
        check_names(names, found, data.path)
        places = {name: place for place, name in enumerate(found)}
        return replace(data, X=data.X[:, [places[name] for name in names]], feature_names=names)
    if data.X.shape[1] != like.n_features:
        raise data_error(data.path, f"it has {data.X.shape[1]} features where {like.n_features} are expected")
    return data


def _one_against_the_rest(data: Dataset, pos_label: str | None, label: str | None) -> Dataset:
    """Make two labels of more, one of which was named; say how to name it otherwise."""
    import numpy as np

    labels = np.unique(data.y) if data.y is not None else np.zeros(0)
    if not 2 < labels.size <= MOST_LABELS:
        return data
    if pos_label is None:
        first, *others = map(str, labels.tolist())
        column = "" if label is None else f" --label {label}"
        fail(
            f"{data.path}: there are {labels.size} labels where a measure needs two; train for one against the rest, "
            f"first smoothperf train {data.path}{column} --pos-label {first} -o {first}.model and then the same for "
            f"{', '.join(others)}."
        )
    positive = label_named(data, pos_label)
    return replace(data, y=np.where(data.y == positive, str(positive), rest_of(positive)))


def rest_of(label: Any) -> str:
    """Return the label of all examples that have another one."""
    return f"not {label}"


def _labels_as(data: Dataset, labels: tuple[Any, Any]) -> Dataset:
    """Tell one label from the rest where training did."""
    import numpy as np

    for positive, rest in (labels, labels[::-1]):
        if rest == rest_of(positive) and rest not in data.y:
            return replace(data, y=np.where(data.y.astype(str) == positive, positive, rest))
    return data


def reading(path: Path) -> str:
    """Say that a file is being read, for a line that moves."""
    from rich.markup import escape

    return f"Reading {escape(visible(path))}"


def label_named(data: Dataset, text: str | None) -> Any:
    """Return the label that is written so, None for None; fail if there is none."""
    import numpy as np

    if text is None or data.y is None:
        return None
    labels = np.unique(data.y).tolist()
    for known in labels:
        if str(known) == text or (not isinstance(known, (str, bool)) and _as_number(text) == known):
            return known
    fail(f"{data.path}: --pos-label {text} is not among the labels {_listed(set(labels))}.")


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def summary_lines(data: Dataset, positive_label: Any = None) -> list[str]:
    """Return shape and, with labels, class balance as lines; the larger label is positive by default."""
    import numpy as np

    rows = data.X.shape[0]
    lines = [shape_line(data)]
    if data.y is None:
        return lines
    labels, counts = np.unique(data.y, return_counts=True)
    if labels.size == 2:
        if positive_label is not None and labels[0] == positive_label:
            labels, counts = labels[::-1], counts[::-1]
        (negative, positive), (n_negative, n_positive) = labels, counts
        lines.append(
            f"Positive: {n_positive:,} ({n_positive / rows:.2%}) labelled {visible(positive)}; "
            f"negative: {n_negative:,} labelled {visible(negative)}"
        )
    else:
        shown = ", ".join(
            f"{visible(label)} ({count:,})" for label, count in list(zip(labels, counts, strict=True))[:5]
        )
        lines.append(f"Labels: {shown}{', ...' if labels.size > 5 else ''}")
    return lines


def shape_line(data: Dataset) -> str:
    """Return name, format and shape of a file as a line."""
    rows, columns = data.X.shape
    entries = getattr(data.X, "nnz", None)
    stored = "" if entries is None else f", {entries:,} stored values"
    return f"{visible(data.path)}: {data.format}, {rows:,} rows x {columns:,} features{stored}"


def summary(data: Dataset) -> dict[str, Any]:
    """Return shape and class balance for machines."""
    import numpy as np

    labels, counts = np.unique(data.y, return_counts=True)
    return {
        "path": data.path,
        "format": data.format,
        "rows": data.X.shape[0],
        "features": data.X.shape[1],
        "classes": [{"label": label, "rows": count} for label, count in zip(labels.tolist(), counts, strict=True)],
    }


def read_others(screen: Screen, path: Path, examples: Dataset, form: Form) -> Dataset:
    """Read labelled examples of the same kind as those to train on: the same features, indices that count alike."""
    return read_examples(screen, path, form_as(form, examples), like=Likeness.of_data(examples))


def form_as(form: Form, examples: Dataset) -> Form:
    """Let indices count as they do in other examples."""
    return form if examples.zero_based is None else replace(form, zero_based=examples.zero_based)


def remember_data(model: MeasureClassifier | MeasureRanker, examples: Dataset) -> None:
    """Keep in a model what files for it have to agree with."""
    import numpy as np

    if examples.feature_names is not None:
        model.feature_names_in_ = np.array(examples.feature_names, dtype=object)
    if examples.zero_based is not None:
        model.zero_based_ = examples.zero_based
    if examples.encoder is not None:
        model.table_encoder_ = examples.encoder
    model.origin_ = {**model.origin_, "data": Path(examples.path).name}


def read_for_model(
    screen: Screen,
    model: MeasureClassifier,
    path: Path,
    form: Form,
    *,
    labelled: bool = True,
) -> Dataset:
    """Read examples that fit a model: the same features and, if labelled, the same labels, both of them.

    Columns of tables are found by their names, in any order; those that training did not have are not looked at.

    Indices of an svmlight file count as they did in training, unless the user says how they do.
    """
    import numpy as np

    if form.query is not None:
        fail(f"--query {form.query} is for models that rank, and this one tells classes apart: leave it out.")
    if getattr(model, "has_base_scores_", False):
        fail(
            "this model is added to base_scores, which commands have no way to take: use it in Python, with "
            "smoothperf.load(MODEL) and predict(X, base_scores=...)."
        )
    form = form_for(model, form)
    data = read_examples(
        screen,
        path,
        form,
        like=Likeness.of_model(model),
        labelled=labelled,
        pos_label=None if model._sign > 0.0 else str(model.label_pair[1]),
    )
    if not labelled:
        return data
    known, found = set(model.classes_.tolist()), set(np.unique(data.y).tolist())
    if found != known:
        fail(
            f"{path}: the model knows the labels {_listed(known)}, but these data have {_listed(found)}; "
            "both classes are needed, under the names they were trained with."
        )
    return data


def form_for(model: MeasureClassifier | MeasureRanker, form: Form) -> Form:
    """Let indices count as they did in training, unless the user says how they do."""
    return form if form.zero_based is not None else replace(form, zero_based=getattr(model, "zero_based_", None))


def _listed(labels: set[Any]) -> str:
    shown = sorted(map(repr, labels))
    return ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "")


def csv_lines(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as lines of CSV, each of them one line whatever is in it."""
    import csv
    import io

    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows([visible(value) for value in row] for row in rows)
    return lines.getvalue()


def check_training(
    measures: Sequence[str | None], solvers: Iterable[str], *, query: str | None, tol: float, max_iter: int
) -> None:
    """Fail before a large file is read if there is no such measure or solver, or a setting makes no sense.

    Measures may be those of labels or of rankings; which they are is seen when the file is read, unless a column of
    queries is named.
    """
    from .._validation import choice
    from ..estimators.problem import SOLVERS, make_solver
    from ._options import solver_for_classes
    from .ranking.documents import check_measure

    for measure in measures:
        if measure is not None:
            check_measure(measure, query)
    for solver in solvers:
        choice("solver", solver, ("auto", *SOLVERS))
        make_solver(solver_for_classes(solver), tol=tol, max_iter=max_iter, smoothing="adaptive")


def check_writable(path: Path, *, folder: bool = False) -> None:
    """Fail now rather than after all the work if a file, or a folder, cannot be written."""
    if path.is_dir() and not folder:
        fail(f"{path} is a folder; name a file.")
    if not path.parent.is_dir():
        fail(f"there is no folder {path.parent} to write {path.name} to.")
    if not os.access(path.parent, os.W_OK):
        fail(f"cannot write to the folder {path.parent}.")
