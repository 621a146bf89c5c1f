"""Files that commands read and write, with a look before the work begins."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import fail
from ._features import encoder_of, note_unseen
from ._options import ColumnOptions, Form
from ._visible import visible

if TYPE_CHECKING:
    from ..estimators.classifier import MeasureClassifier
    from ..estimators.ranker import MeasureRanker
    from ..features import TableEncoder
    from ..io import Dataset
    from ..io.named import Named
    from ._screen import Screen


@dataclass(frozen=True)
class Likeness:
    """Features and labels that other rows have to agree with, and the positive label if it is the smaller one.

    ``several`` says that rows may have any number of labels, ``named`` which columns of a table were no features.
    """

    n_features: int
    feature_names: list[str] | None
    encoder: TableEncoder | None
    labels: tuple[Any, ...] | None
    positive: str | None = None
    several: bool = False
    named: Named | None = None

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
        from ..io.named import Named

        encoder = encoder_of(model)
        names = model.__dict__.pop("feature_names_in_", None) if encoder is None else None
        classes = getattr(model, "classes_", None)  # which rankers do not have
        return cls(
            model.n_features_in_,
            None if names is None else list(names),
            encoder,
            None if classes is None else tuple(classes.tolist()),
            None if getattr(model, "_sign", 1.0) > 0.0 else str(model.label_pair[1]),
            getattr(model, "label_kind_", "") == "sets",
            Named.remembered(getattr(model, "origin_", {})),
        )


def read_rows(
    screen: Screen,
    path: Path,
    form: Form,
    *,
    like: Likeness | None = None,
    labelled: bool = True,
    columns: ColumnOptions | None = None,
) -> Dataset:
    """Read a file; of a table to learn from, say what its columns are taken for."""
    with screen.progress.status(reading(path)):
        data = _read(path, form, like, labelled=labelled, columns=columns or ColumnOptions())
    from ..io.columns import TABLES

    if labelled and data.sample_weight is not None:
        fail(f"{path}: its rows have weights, which commands do not look at; in Python fit(path) does.")
    if labelled and like is not None and like.named is not None and data.format in TABLES and not form.names_labels:
        screen.say(f"Labels: column {visible(like.named.of_labels)}, as in training")
    if data.encoder is not None and like is not None:
        note_unseen(screen, data.encoder, data)
    return data


def _read(path: Path, form: Form, like: Likeness | None, *, labelled: bool, columns: ColumnOptions) -> Dataset:
    """Read examples in the form that they have, or that others had; of a table, learn what its columns are."""
    from ..features import TableEncoder
    from ..io import Dataset, read_data
    from ..io.read import read_file
    from ..io.store import is_store

    options = {**asdict(form), "labelled": labelled}
    if like is not None and like.several:
        options["labels"] = options.get("labels") or True
    zero_based = options.pop("zero_based")  # which tables and stores have not
    if is_store(path, form.format):
        stored = with_encoder(read_data(path, **options))
        encoder = None if like is None else like.encoder
        return _columns_as(stored, like) if encoder is None else _as_numbers(stored, encoder)
    options["zero_based"] = zero_based
    if like is not None and like.named is not None and labelled:
        options["usual"] = like.named
    if like is None:
        encoder = TableEncoder(**columns.settings())
        found = read_file(path, **options, **encoder.reading)
        if isinstance(found, Dataset):
            if columns != ColumnOptions():
                fail(f"{path}: a file of the {found.format} format has no columns that options could be about.")
            return found
        with warnings.catch_warnings(action="ignore"):  # what is dropped is said, of all rows once
            return replace(found.with_encoder(encoder), X=encoder.fit(found).parsed(found))
    if like.encoder is not None:
        found = read_file(path, **options, **like.encoder.reading)
        if isinstance(found, Dataset):
            return _as_numbers(found, like.encoder)
        return found.with_encoder(like.encoder)
    found = read_file(path, **options, n_features=like.n_features, only=like.feature_names)
    if not isinstance(found, Dataset):
        names = like.feature_names or list(found.columns)
        found = replace(found, columns={name: found.columns[name] for name in names}).plain()
    return _columns_as(found, like)


def with_encoder(stored: Dataset) -> Dataset:
    """Rows of a store with what has made them of a table, if anything."""
    from .. import features  # noqa: F401  (which files may hold)
    from ..io.model_file import load_transformer
    from ..io.store.layout import ENCODER

    path = Path(stored.path, ENCODER)
    return replace(stored, made_by=load_transformer(path)) if path.is_file() else stored


def _as_numbers(data: Dataset, encoder: TableEncoder) -> Dataset:
    """Take columns of numbers for those of a table of training, by name or, if these were all numbers, by place."""
    import numpy as np

    from ..io.dataset import data_error
    from ..io.frames import table_of

    if data.made_by is not None:
        fail(
            f"{data.path}: its rows are features already, which MODEL makes of the columns of a table: give the table."
        )
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    names = data.feature_names
    if names is None:
        if any(column.kind != "number" for column in encoder.columns_):
            raise data_error(
                data.path, f"a file of the {data.format} format has no named columns; CSV and Parquet have"
            )
        names = encoder.feature_names_in_.tolist()
        if X.shape[1] > len(names):
            raise data_error(data.path, f"it has {X.shape[1]} features where {len(names)} are expected")
        X = np.pad(X, ((0, 0), (0, len(names) - X.shape[1])))
    return replace(data, X=table_of(dict(zip(names, X.T, strict=True))), encoder=encoder)


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


def remember_data(model: MeasureClassifier | MeasureRanker, examples: Dataset, form: Form) -> None:
    """Keep in a model what files for it have to agree with."""
    import numpy as np

    from ..io import open_store
    from ..io.named import Named

    if examples.made_by is not None:
        _take_tables(model, examples.made_by)
    elif examples.feature_names is not None:
        model.feature_names_in_ = np.array(examples.feature_names, dtype=object)
    if examples.zero_based is not None:
        model.zero_based_ = examples.zero_based
    named = Named.to_remember(asdict(form) if examples.made_by is None else open_store(examples.path).source)
    model.origin_ = {**getattr(model, "origin_", {}), "data": Path(examples.path).name, **named}


def _take_tables(model: Any, encoder: TableEncoder) -> None:
    """Have a model of features that an encoder has made take what that takes."""
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    own = getattr(model, "features_", None)
    whole = encoder if own is None else Pipeline([("table", encoder), ("features", own)])
    model._keep_transformer(whole, encoder.n_features_in_)
    model.set_params(features=clone(whole))


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
