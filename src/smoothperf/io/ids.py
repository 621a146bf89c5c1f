"""What tells the rows of a file apart and is no feature: a column of a table, or the comments of an svmlight file."""

from __future__ import annotations

import io
import os
from pathlib import Path

from .dataset import check_column, data_error
from .parquet import texts_of
from .read import format_of
from .streams import uncompressed
from .tables import read_table

#: The name of the comments in svmlight files: what follows a ``#``.
COMMENT = "comment"


def read_ids(path: str | os.PathLike[str], name: str, *, format: str | None = None) -> list[str]:
    r"""Return a column of a CSV or Parquet file as it is written there, or the comments of an svmlight file.

    Parameters
    ----------
    path : path-like
        The file.
    name : str
        Name of the column; "comment" for svmlight files.
    format : str, optional
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
        found = format_of(file, path, format, None)
        if found == "parquet":
            return texts_of(file, path, name)
        if found == "svmlight":
            if name != COMMENT:
                raise data_error(path, f"an svmlight file has no column {name!r}; {COMMENT!r} is what follows a #")
            return _comments(file)
    table = read_table(path, labelled=False, format=format)
    check_column(name, list(table.columns), path)
    texts: list[str] = table.texts(name).tolist()
    return texts


def _comments(file: io.BufferedReader) -> list[str]:
    """What follows the first ``#`` of each row; a line without a label is none."""
    lines = (line.partition(b"#") for line in file)
    return [comment.strip().decode("utf-8", "replace") for row, _, comment in lines if row.strip()]
