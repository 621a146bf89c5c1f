"""Files that commands read and write, with a look before the work begins."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import fail
from ._options import Form
from ._visible import visible

if TYPE_CHECKING:
    from ..estimators.classifier import MeasureClassifier
    from ..estimators.ranker import MeasureRanker
    from ..io import Dataset
    from ..io.tables import TableEncoder
    from ._screen import Screen


@dataclass(frozen=True)
class Likeness:
    """Features and labels that other rows have to agree with, and the positive label if it is the smaller one."""

    n_features: int
    feature_names: list[str] | None
    encoder: TableEncoder | None
    labels: tuple[Any, Any] | None
    positive: str | None = None

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
            None if getattr(model, "_sign", 1.0) > 0.0 else str(model.label_pair[1]),
        )


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


def _read(path: Path, form: Form, like: Likeness | None, *, labelled: bool) -> Dataset:
    """Read examples in the form that they have, or that others had."""
    from ..io import Dataset, read_data
    from ..io.read import read_file, read_table
    from ..io.store import is_store
    from ..io.tables import TableEncoder

    options = {**asdict(form), "labelled": labelled}
    zero_based = options.pop("zero_based")  # which tables and stores have not
    if is_store(path, form.format):
        return _columns_as(read_data(path, **options), like)
    if like is not None and like.encoder is not None:
        return read_table(path, encoder=like.encoder, **options).encoded(like.encoder)
    options |= {"n_features": None if like is None else like.n_features, "zero_based": zero_based}
    if like is not None and like.feature_names is None:
        return _columns_as(read_data(path, **options), like)
    numbers = None if like is None else TableEncoder.of_numbers(like.feature_names or ())
    found = read_file(path, encoder=numbers, **options)
    if isinstance(found, Dataset):
        return _columns_as(found, like)
    if numbers is not None:
        return replace(found.encoded(numbers), encoder=None)
    return found.plain() if found.is_plain else found.encoded(TableEncoder.fit(found))


def _columns_as(data: Dataset, like: Likeness | None) -> Dataset:
    """Bring columns that have names into the order of training; those that it did not have are left out."""
    from ..io.columns import check_names
    from ..io.dataset import data_error

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


def reading(path: Path) -> str:
    """Say that a file is being read, for a line that moves."""
    from rich.markup import escape

    return f"Reading {escape(visible(path))}"


def shape_line(data: Dataset) -> str:
    """Return name, format and shape of a file as a line."""
    rows, columns = data.X.shape
    entries = getattr(data.X, "nnz", None)
    stored = "" if entries is None else f", {entries:,} stored values"
    return f"{visible(data.path)}: {data.format}, {rows:,} rows x {columns:,} features{stored}"


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


def form_for(model: MeasureClassifier | MeasureRanker, form: Form) -> Form:
    """Let indices count as they did in training, unless the user says how they do."""
    return form if form.zero_based is not None else replace(form, zero_based=getattr(model, "zero_based_", None))


def csv_lines(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as lines of CSV, each of them one line whatever is in it."""
    import csv
    import io

    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows([visible(value) for value in row] for row in rows)
    return lines.getvalue()


def check_writable(path: Path, *, folder: bool = False) -> None:
    """Fail now rather than after all the work if a file, or a folder, cannot be written."""
    if path.is_dir() and not folder:
        fail(f"{path} is a folder; name a file.")
    if not path.parent.is_dir():
        fail(f"there is no folder {path.parent} to write {path.name} to.")
    if not os.access(path.parent, os.W_OK):
        fail(f"cannot write to the folder {path.parent}.")


def check_figure(path: Path | None) -> None:
    """Fail now if a figure is wanted and cannot be drawn or written."""
    if path is not None:
        from .. import plots

        plots.require_matplotlib()
        check_writable(path)
