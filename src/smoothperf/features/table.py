"""Tables as people have them, as features: numbers, words, dates, texts, missing values, columns in any order.

    numbers     standardised; a missing one becomes the median of the column, and where some were missing in training, a
                feature "NAME missing" says so by a 1
    words       a feature "NAME=word" of 0 and 1 for each word, not scaled, "NAME missing" for no word; rare words share
                "NAME=other", where words that training did not have go, too
    dates       year, month, weekday (Monday is 0) and days since the first one, as numbers
    texts       a feature "NAME: word" for each word of two texts or more, TF-IDF; a missing text has no words

All of it is learnt by ``fit``, from the rows that it is given and from no others. Columns are found by their names;
those that training did not have are not looked at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import choice, whole_number
from .._warnings import warn
from ..design.scaling import KINDS, Scaling
from ..io.columns import check_names
from ..io.dataset import INDEX, Table, data_error, listed
from ..io.frames import table_of
from ..io.model_file import PARTS, kept_in_files
from ..io.read import read_table
from .base import Transformer
from .cells import bad_date, bad_number, dates_in, numbers_in
from .column import DAY, EncodedColumn, numbers_of, places_of
from .text import HINT, are_texts, learnt_text, remedy_for, settings_for, weighed

#: A column in which so large a share of the words occurs once tells rows apart, and nothing else.
NEARLY_ALL = 0.9
#: So large a share of entries that are not 0 is a dense matrix, which takes no more than twice as much memory then.
DENSE = 0.25
#: A column with more words than this, and than this share of the rows, is named in a note.
MANY, MANY_SHARE = 20, 0.1


class DroppedColumnWarning(UserWarning):
    """A column of words is of no use as one: nearly every row has its own.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from smoothperf.features import TableEncoder
    >>> frame = pd.DataFrame({"name": [f"customer {i}" for i in range(100)], "age": range(100)})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     encoder = TableEncoder().fit(frame)
    >>> caught[0].category.__name__
    'DroppedColumnWarning'
    """


@kept_in_files
class TableEncoder(Transformer):
    r"""Encoder of the columns of a table as features: numbers, words, dates, missing values.

    Parameters
    ----------
    scale : {"standard", "maxabs", "none"}, default="standard"
        What is done to numbers: mean 0 and spread 1, largest absolute value 1, or nothing. Words are not scaled.
    min_count : int, default=10
        Words in fewer rows share one feature, "NAME=other".
    missing : sequence of str
        Cells that stand for a missing value, beside the empty one, NA, N/A, NaN, NULL, None, <NA> and ?.
    decimal, thousands : str
        Decimal point, and what separates thousands, in numbers that are text.
    words : sequence of str
        Columns that are words even if they look like numbers or dates, such as postal codes.
    text : sequence of str, or dict
        Columns of texts, whose words become features; a dict has settings of scikit-learn's TfidfVectorizer for each:
        ``{"body": {"ngram_range": (1, 2)}}``.
    drop : sequence of str
        Columns to leave out.
    id_column : str, optional
        Column that tells rows apart; it is left out, too.
    sparse_output : bool, default=True
        Whether features may be a sparse matrix, which they are where most of them are 0.

    Attributes
    ----------
    columns_ : list of EncodedColumn
        What became of each column.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    sklearn.compose.ColumnTransformer : Any treatment of any column.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, None, 47], "town": ["Rome", "Oslo", "Rome"]})
    >>> encoder = TableEncoder(scale="none", min_count=1).fit(people)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'age missing', 'town=Oslo', 'town=Rome']
    >>> encoder.transform(people)
    array([[31.,  0.,  0.,  1.],
           [39.,  1.,  1.,  0.],
           [47.,  0.,  0.,  1.]])
    >>> [(column.name, column.kind) for column in encoder.columns_]
    [('age', 'number'), ('town', 'words')]
    """

    columns_: list[EncodedColumn]
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        *,
        scale: str = "standard",
        min_count: int = 10,
        missing: Sequence[str] = (),
        decimal: str = ".",
        thousands: str | None = None,
        words: Sequence[str] = (),
        text: Sequence[str] | Mapping[str, Mapping[str, Any]] = (),
        drop: Sequence[str] = (),
        id_column: str | None = None,
        sparse_output: bool = True,
    ):
        self.scale = scale
        self.min_count = min_count
        self.missing = missing
        self.decimal = decimal
        self.thousands = thousands
        self.words = words
        self.text = text
        self.drop = drop
        self.id_column = id_column
        self.sparse_output = sparse_output

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what columns hold.

        Parameters
        ----------
        X : data frame, path of a CSV or Parquet file, or array-like of shape (n, d)
            The table. All columns of a file are taken for features: ``drop`` that of the labels.
        y : None
            Not looked at.

        Returns
        -------
        self
        """
        choice("scale", self.scale, KINDS)
        whole_number("min_count", self.min_count, at_least=1)
        if self.decimal not in (".", ",") or self.thousands == self.decimal:
            raise ValueError(
                f"decimal must be '.' or ',', and not thousands, got {self.decimal!r}, {self.thousands!r}."
            )
        table = self._table(X, reset=True)
        names = list(table.columns)
        for what, given in (
            ("drop", self.drop),
            ("words", self.words),
            ("text", self.text),
            ("id_column", [self.id_column]),
        ):
            if isinstance(given, str):
                raise ValueError(f"{what} must be a list of columns, got {given!r}.")
            unknown = [name for name in given if name is not None and name not in names]
            if unknown:
                raise data_error(
                    table.path, f"there is no column {unknown[0]!r} for {what}=; there are {listed(names)}"
                )
        self.columns_ = [self._learnt(table, name) for name in names]
        if not any(column.feature_names for column in self.columns_):
            texts = [column.reason for column in self.columns_ if HINT in column.reason]
            hint = f": {texts[0]}" if texts else ""
            raise data_error(table.path, f"no column has values that occur in more than one row{hint}")
        return self

    def transform(self, X: Any) -> Any:
        """Return the features of a table.

        Parameters
        ----------
        X : data frame, path of a CSV or Parquet file, or array-like of shape (n, d)
            A table with the columns of training, in any order; others are not looked at.

        Returns
        -------
        sparse matrix or ndarray of shape (n, n_features_out)
            Sparse where most of it is 0, unless ``sparse_output`` is False.
        """
        check_is_fitted(self)
        table = self._table(X, reset=False)
        parts = [self._features(table, column) for column in self.columns_ if column.feature_names]
        if self.sparse_output and self.makes_sparse:
            return sp.csr_matrix(sp.hstack(parts, format="csr"))
        return np.hstack([_dense(part) for part in parts])

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn what columns hold, and return their features; texts are taken apart once for both.

        Parameters
        ----------
        X, y
            As for :meth:`fit`.

        Returns
        -------
        sparse matrix or ndarray of shape (n, n_features_out)
            As of :meth:`transform`.
        """
        self._made = dict[str, Any]()  # features of texts
        try:
            return self.fit(X, y).transform(X)
        finally:
            del self._made

    @property
    def makes_sparse(self) -> bool:
        """Whether most of the features are 0."""
        used = [column for column in self.columns_ if column.feature_names]
        if any(column.kind == "text" for column in used):
            return True
        entries = sum(max(column.n_numbers, 1) for column in used)
        return entries < DENSE * sum(len(column.feature_names) for column in used)

    def unseen(self, X: Any) -> dict[str, dict[str, int]]:
        """Count words that training did not have.

        Parameters
        ----------
        X : data frame, path of a CSV or Parquet file, or array-like of shape (n, d)
            A table.

        Returns
        -------
        dict
            By column, such words and the number of rows that they are in.

        Examples
        --------
        >>> import pandas as pd
        >>> encoder = TableEncoder(min_count=1).fit(pd.DataFrame({"town": ["Rome", "Oslo", "Rome"]}))
        >>> encoder.unseen(pd.DataFrame({"town": ["Rome", "Bonn"]}))
        {'town': {'Bonn': 1}}
        """
        check_is_fitted(self)
        table, found = self._table(X, reset=False), dict[str, dict[str, int]]()
        for column in self.columns_:
            if column.kind == "words":
                words, counts = np.unique(self._words(table, column.name).astype(str), return_counts=True)
                seen = {"", *(column.words or []), *column.rare}
                new = {word: int(n) for word, n in zip(words.tolist(), counts, strict=True) if word not in seen}
                found |= {column.name: new} if new else {}
        return found

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return names: "age", "age missing", "town=Rome", "town=other", "signed year", ..."""
        names = super().get_feature_names_out(input_features)
        columns = [replace(column, name=name) for column, name in zip(self.columns_, names, strict=True)]
        return np.array([name for column in columns for name in column.feature_names], dtype=object)

    @property
    def reading(self) -> dict[str, Any]:
        """The columns that :func:`smoothperf.io.read.read_table` is to read of a file, and those that are text."""
        columns = [column for column in getattr(self, "columns_", []) if column.feature_names]
        written = (column.name for column in columns if column.kind in ("words", "text"))
        words = {*self.words, *self.text, *written}
        as_written = self.decimal != "." or self.thousands is not None
        return {"only": [column.name for column in columns] or None, "text": None if as_written else words}

    def parsed(self, X: Any) -> Table:
        """Return a table whose numbers are such, and no longer text; what is learnt of it is the same.

        Parameters
        ----------
        X : data frame, path of a CSV or Parquet file, or array-like of shape (n, d)
            A table.

        Returns
        -------
        Table
            The table.
        """
        check_is_fitted(self)
        table = self._table(X, reset=False)
        numbers = {column.name: self._values(table, column) for column in self.columns_ if column.kind == "number"}
        return replace(table, columns={**table.columns, **numbers})

    @property
    def scaling_(self) -> Scaling:
        """Shifts and scales of the features: what is subtracted, and what they are divided by then."""
        check_is_fitted(self)
        shift, scale = [], []
        for column in self.columns_:
            others = [0.0] * (len(column.feature_names) - column.n_numbers)
            shift += [*(column.shift or [0.0] * column.n_numbers), *others]
            scale += [*(column.scale or [1.0] * column.n_numbers), *(1.0 for _ in others)]
        return Scaling(np.array(scale), np.array(shift))

    def _table(self, X: Any, *, reset: bool) -> Table:
        """The table that X is, with names that are checked, or remembered."""
        if isinstance(X, (str, os.PathLike)):
            X = read_table(X, labelled=False, **self.reading)
        if not isinstance(X, Table) and not (hasattr(X, "columns") and (reset or hasattr(self, "feature_names_in_"))):
            X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
            names = getattr(self, "feature_names_in_", [f"x{place}" for place in range(X.shape[1])])
            return table_of(dict(zip(names, X.T, strict=True)))
        table = X if isinstance(X, Table) else table_of({str(name): X[name] for name in X.columns})
        if reset:
            self.feature_names_in_ = np.array(list(table.columns), dtype=object)
            self.n_features_in_ = len(table.columns)
        else:
            needed = [column.name for column in self.columns_ if column.feature_names]
            check_names(needed, list(table.columns), table.path, [column.name for column in self.columns_])
        return table

    def _cells(self, table: Table, name: str) -> NDArray[Any]:
        """A column without what stands for missing values."""
        values = table.columns[name]
        if values.dtype.kind == "O":
            return np.where(np.isin(values.astype(str), list(self.missing)), "", values) if self.missing else values
        if values.dtype.kind == "M" or not self.missing:
            return values
        return np.where(np.isin(values, numbers_in(np.array(self.missing, dtype=object))[0]), np.nan, values)

    def _words(self, table: Table, name: str) -> NDArray[Any]:
        return replace(table, columns={name: self._cells(table, name)}).words(name)

    def _learnt(self, table: Table, name: str) -> EncodedColumn:
        """Encoding of a column of the training table."""
        cells = self._cells(table, name)
        if name == self.id_column:
            return EncodedColumn(name, "id")
        if name in self.drop:
            return EncodedColumn(name, "dropped", "as you say")
        if name in self.text:
            given = self.text[name] if isinstance(self.text, Mapping) else {}
            column, made = learnt_text(name, self._words(table, name), settings_for(name, given))
            if hasattr(self, "_made"):
                self._made[name] = made
            return column
        if name in self.words:
            return self._learnt_words(self._words(table, name), name)
        if cells.dtype.kind == "M":
            return self._learnt_numbers(name, "date", cells)
        if cells.dtype.kind == "f":
            return self._learnt_numbers(name, "number", table.finite(name, cells))
        if not np.any(cells != ""):
            return EncodedColumn(name, "dropped", "it has no value")
        numbers, meant = numbers_in(cells, self.decimal, self.thousands)
        if meant:
            self._check(table, name, np.isnan(numbers), cells, bad_number)
            return self._learnt_numbers(name, "number", table.finite(name, numbers))
        dates, form, meant = dates_in(cells)
        if meant:
            self._check(table, name, np.isnat(dates), cells, bad_date)
            return replace(self._learnt_numbers(name, "date", dates), form=form)
        return self._learnt_words(self._words(table, name), name)

    def _learnt_numbers(self, name: str, kind: str, values: NDArray[Any]) -> EncodedColumn:
        missing = np.isnat(values) if kind == "date" else np.isnan(values)
        known = values[~missing]
        if not known.size:
            return EncodedColumn(name, "dropped", "it has no value")
        if name == INDEX and kind == "number" and bool(np.all((known == np.rint(known)) & (known >= 0.0))):
            return EncodedColumn(name, "dropped", "it has no name and numbers the rows")
        first = None
        if kind == "date":
            begin = known.min().astype("datetime64[s]")
            first, known = str(begin), (known - begin) / DAY
        median = float(np.median(known)) + 0.0
        column = EncodedColumn(name, kind, median=median, has_missing=bool(missing.any()), first=first)
        scaling = Scaling.of(self.scale, numbers_of(column, values)[:, : column.n_numbers])
        if scaling.scale is None:
            return column
        shift = [] if scaling.shift is None else scaling.shift.tolist()
        return replace(column, shift=shift, scale=scaling.scale.tolist())

    def _learnt_words(self, cells: NDArray[Any], name: str) -> EncodedColumn:
        words, counts = np.unique(cells.astype(str), return_counts=True)
        count = dict(zip(words.tolist(), counts.tolist(), strict=True))
        n_missing = count.pop("", 0)
        n, rows = len(count), cells.size - n_missing
        if not n:
            return EncodedColumn(name, "dropped", "it has no value")
        texts, remedy = are_texts(list(count)), remedy_for(name)
        if n > 1 and n >= NEARLY_ALL * rows:
            what = "texts" if texts else "words"
            warn(
                f"column {name!r} is dropped: it has {n:,} {what} in {rows:,} rows, nearly every row its own"
                + (f"; {remedy}" if texts else ""),
                DroppedColumnWarning,
            )
            reason = f"its cells are texts; {remedy}" if texts else "nearly every row has a word of its own"
            return EncodedColumn(name, "dropped", reason)
        often = [word for word, times in count.items() if times >= self.min_count]
        rare = [word for word in count if count[word] < self.min_count]
        if rare and "other" in often:
            often.remove("other")
            rare.append("other")
        reason = f"has {n:,} words in {rows:,} rows" if n > MANY and n > MANY_SHARE * rows else ""
        if reason and texts:
            reason = f"has {n:,} texts in {rows:,} rows, and {remedy}"
        return EncodedColumn(name, "words", reason, words=sorted(often), rare=sorted(rare), has_missing=n_missing > 0)

    def _values(self, table: Table, column: EncodedColumn) -> NDArray[Any]:
        """Numbers, dates or words of a column, as in training; a cell that cannot be read is an error."""
        name, cells = column.name, self._cells(table, column.name)
        if column.kind in ("words", "text"):
            return self._words(table, name)
        if column.kind == "number":
            if cells.dtype.kind == "f":
                return table.finite(name, cells)
            numbers, _ = numbers_in(table.words(name), self.decimal, self.thousands)
            self._check(table, name, np.isnan(numbers), cells, bad_number)
            return table.finite(name, numbers)
        if cells.dtype.kind == "M":
            return cells
        dates, *_ = dates_in(table.words(name), column.form or "ISO8601")
        self._check(table, name, np.isnat(dates), cells, bad_date)
        return dates

    def _check(
        self, table: Table, name: str, unknown: NDArray[np.bool_], cells: NDArray[Any], error: Callable[..., Exception]
    ) -> None:
        wrong = unknown & (cells != "")
        if wrong.any():
            raise error(table, name, int(wrong.argmax()), cells)

    def _features(self, table: Table, column: EncodedColumn) -> Any:
        """The features that a column becomes."""
        if column.name in getattr(self, "_made", {}):
            return self._made[column.name]
        values = self._values(table, column)
        if column.kind == "words":
            places, width = places_of(column, values), len(column.feature_names)
            rows = np.flatnonzero(places >= 0)
            return sp.csr_matrix((np.ones(rows.size), (rows, places[rows])), shape=(places.size, width))
        if column.kind == "text":
            return weighed(column, values)
        numbers, n = numbers_of(column, values), column.n_numbers
        if column.shift:
            numbers[:, :n] -= column.shift
        if column.scale:
            numbers[:, :n] /= column.scale
        return numbers

    def row_without_values(self) -> Table:
        """Return a row in which all values are missing.

        Returns
        -------
        Table
            The row.
        """
        return table_of({name: np.array([""], dtype=object) for name in self.feature_names_in_.tolist()})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def _dense(part: Any) -> Any:
    return part.toarray() if hasattr(part, "toarray") else part


def _former_column(
    name: str, median: float | None = None, words: list[str] | None = None, has_missing: bool = False
) -> EncodedColumn:
    """A column of an encoder of 0.1.0."""
    if words is None:
        return EncodedColumn(name, "number", median=0.0 if median is None else median, has_missing=has_missing)
    return EncodedColumn(name, "words", words=words, has_missing=has_missing)


def _former_encoder(columns: list[EncodedColumn], left_out: list[str]) -> TableEncoder:
    """An encoder of 0.1.0, which did not scale, and knew no dates and no rare words."""
    encoder = TableEncoder(scale="none", min_count=1, drop=left_out)
    encoder.columns_ = [*columns, *(EncodedColumn(name, "dropped") for name in left_out)]
    encoder.feature_names_in_ = np.array([column.name for column in encoder.columns_], dtype=object)
    encoder.n_features_in_ = len(encoder.columns_)
    return encoder


#: What model files of 0.1.0 hold in place of a transformer.
PARTS |= {"TableColumn": _former_column, "TableEncoder": _former_encoder}
