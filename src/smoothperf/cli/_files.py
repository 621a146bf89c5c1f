"""Files that commands read and write, with a look before the work begins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import fail
from ._visible import visible

if TYPE_CHECKING:
    from ..estimators.classifier import MeasureClassifier
    from ..io import Dataset
    from ..store import Store
    from ._screen import Screen


def read_examples(
    screen: Screen,
    path: Path,
    *,
    label: str | None,
    format: str | None,
    zero_based: bool | None,
    n_features: int | None = None,
    labelled: bool = True,
    stored: bool = False,
    pos_label: str | None = None,
) -> Dataset:
    """Read examples and say their shape and, if they have labels, the balance of their classes.

    With ``stored`` a store is opened only: ``X`` is the store then.
    """
    from ..io import read_data
    from ..io.dataset import data_error

    with screen.progress.status(reading(path)):
        if stored and label is None and is_store(path, format):
            from ..store import open_store

            data = as_dataset(open_store(path))
            if n_features is not None and data.X.shape[1] != n_features:
                raise data_error(path, f"it has {data.X.shape[1]} features where {n_features} are expected")
        else:
            data = read_data(
                path, label=label, labelled=labelled, format=format, n_features=n_features, zero_based=zero_based
            )
    for line in summary_lines(data, label_named(data, pos_label)):
        screen.say(line)
    return data


def reading(path: Path) -> str:
    """Say that a file is being read, for a line that moves."""
    from rich.markup import escape

    return f"Reading {escape(visible(path))}"


def as_dataset(store: Store) -> Dataset:
    """Return a store as a data set whose rows are still in the file."""
    from ..io import Dataset

    return Dataset(store, store.labels(), "store", store.feature_names, store.path, store.zero_based)


def is_store(path: Path, format: str | None) -> bool:
    """Whether a file is a store, or said to be one."""
    if format is not None:
        return format == "store"
    from ..store.layout import MAGIC

    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False  # read_data says it better


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

    rows, columns = data.X.shape
    entries = getattr(data.X, "nnz", getattr(data.X, "n_entries", None))
    stored = "" if entries is None else f", {entries:,} stored values"
    lines = [f"{visible(data.path)}: {data.format}, {rows:,} rows x {columns:,} features{stored}"]
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


def read_model(path: Path) -> MeasureClassifier:
    """Load a model."""
    from ..model_file import load_model

    model: MeasureClassifier = load_model(path)
    return model


def read_others(
    screen: Screen, path: Path, examples: Dataset, *, label: str | None, format: str | None, zero_based: bool | None
) -> Dataset:
    """Read labelled examples of the same kind as those to train on: as many features, indices that count alike."""
    base = zero_based if examples.zero_based is None else examples.zero_based
    return read_examples(screen, path, label=label, format=format, zero_based=base, n_features=examples.X.shape[1])


def remember_data(model: MeasureClassifier, examples: Dataset) -> None:
    """Keep in a model what files for it have to agree with."""
    import numpy as np

    if examples.feature_names is not None:
        model.feature_names_in_ = np.array(examples.feature_names, dtype=object)
    if examples.zero_based is not None:
        model.zero_based_ = examples.zero_based


def read_for_model(
    screen: Screen,
    model: MeasureClassifier,
    path: Path,
    *,
    label: str | None,
    format: str | None,
    zero_based: bool | None,
    labelled: bool = True,
    stored: bool = False,
) -> Dataset:
    """Read examples that fit a model: as many features and, if labelled, the same labels, both of them.

    Indices of an svmlight file count as they did in training, unless the user says how they do.
    """
    import numpy as np

    data = read_examples(
        screen,
        path,
        label=label,
        format=format,
        zero_based=getattr(model, "zero_based_", None) if zero_based is None else zero_based,
        n_features=model.coef_.shape[1],
        labelled=labelled,
        stored=stored,
        pos_label=None if model._sign > 0.0 else str(model.label_pair[1]),
    )
    _check_feature_names(model, data)
    if not labelled:
        return data
    known, found = set(model.classes_.tolist()), set(np.unique(data.y).tolist())
    if found != known:
        fail(
            f"{path}: the model knows the labels {_listed(known)}, but these data have {_listed(found)}; "
            "both classes are needed, under the names they were trained with."
        )
    return data


def _check_feature_names(model: MeasureClassifier, data: Dataset) -> None:
    """Fail if both sides have names of features and they differ.

    The model forgets them then: they have served, and scikit-learn would miss them in the arrays that follow.
    """
    trained = model.__dict__.pop("feature_names_in_", None)
    if trained is None or data.feature_names is None or list(trained) == data.feature_names:
        return
    at = next(i for i, (one, other) in enumerate(zip(trained, data.feature_names, strict=True)) if one != other)
    fail(
        f"{data.path}: feature {at + 1} is {data.feature_names[at]!r}, but {trained[at]!r} in training; "
        "bring the columns into the order of training."
    )


def _listed(labels: set[Any]) -> str:
    shown = sorted(map(repr, labels))
    return ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "")


def check_measure(measure: str) -> None:
    """Fail before a large file is read if there is no such measure."""
    from ..measures import get_measure

    get_measure(measure)


def check_solver(solver: str, *, tol: float, max_iter: int) -> None:
    """Fail before a large file is read if there is no such solver, or a setting makes no sense."""
    from ..estimators.inputs import make_solver

    make_solver(solver, tol=tol, max_iter=max_iter, smoothing="adaptive")


def check_writable(path: Path) -> None:
    """Fail now rather than after all the work if a file cannot be written."""
    folder = path.parent
    if path.is_dir():
        fail(f"{path} is a folder; name a file.")
    if not folder.is_dir():
        fail(f"there is no folder {folder} to write {path.name} to.")
    if not os.access(folder, os.W_OK):
        fail(f"cannot write to the folder {folder}.")
