"""Columns beside features and labels: identifiers of rows, or the comments of an svmlight file, and costs of errors."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np

from .._arrays import Array
from .columns import TABLES, open_source
from .dataset import check_column, data_error
from .labels import is_number, numbers_from_text
from .named import NONE
from .parquet import Parquet
from .read import format_of
from .streams import uncompressed

#: The name of the comments in svmlight files: what follows a ``#``.
COMMENT = "comment"
#: Rows that are read at a time.
ROWS = 1 << 16


def read_ids(
    path: str | os.PathLike[str], name: str, *, format: str | None = None, encoding: str | None = None
) -> list[str]:
    r"""Return a column of a CSV or Parquet file as it is written there, or the comments of an svmlight file.

    Parameters
    ----------
    path : path-like
        The file.
    name : str
        Name of the column; "comment" for svmlight files.
    format, encoding : str, optional
        As for :func:`~smoothperf.io.read_data`.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mails.svm")
    >>> written = file.write_text("1 3:0.5 # first mail\n\n0 1:2\n")
    >>> read_ids(file, "comment")
    ['first mail', '']
    """
    path = Path(path)
    with uncompressed(path) as file:
        found = format_of(file, path, format, NONE)
        if found == "svmlight":
            if name != COMMENT:
                raise data_error(path, f"an svmlight file has no column {name!r}; {COMMENT!r} is what follows a #")
            return _comments(file)
        if found not in TABLES:
            raise data_error(path, f"a file of the {found} format has no named columns; CSV and Parquet have")
        with open_source(file, path, found, [name], encoding) as source:
            check_column(name, source.names, path)
            if isinstance(source, Parquet):
                return source.texts(name)
            return [text for columns, _ in source.parts([name], [name], ROWS) for text in columns[name].tolist()]


def read_costs(
    path: str | os.PathLike[str], name: str, *, format: str | None = None, encoding: str | None = None
) -> Array:
    r"""Return a column of a CSV or Parquet file that has a cost, 0 or more, in every row.

    Parameters
    ----------
    path : path-like
        The file.
    name : str
        Name of the column.
    format, encoding : str, optional
        As for :func:`~smoothperf.io.read_data`.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "loans.csv")
    >>> written = file.write_text("amount,defaulted\n100,no\n2.5,yes\n")
    >>> read_costs(file, "amount")
    array([100. ,   2.5])
    """
    texts = read_ids(path, name, format=format, encoding=encoding)
    costs = numbers_from_text(texts)
    if costs is None:  # there are words; those are the wrong ones
        costs = np.array([float(text) if is_number(text) else np.nan for text in texts])
    wrong = np.flatnonzero(~((costs >= 0.0) & np.isfinite(costs)))
    if wrong.size:
        row = int(wrong[0])
        raise data_error(Path(path), f"row {row + 1}: the cost, column {name!r}, must be 0 or more, got {texts[row]!r}")
    return costs


def _comments(file: io.BufferedReader) -> list[str]:
    """The text after the first ``#`` of each row; a line without a label is none."""
    lines = (line.partition(b"#") for line in file)
    return [comment.strip().decode("utf-8", "replace") for row, _, comment in lines if row.strip()]
