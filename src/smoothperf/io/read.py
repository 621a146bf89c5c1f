"""One door for all data files: finds out the format, and reads."""

from __future__ import annotations

import io
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from .._validation import choice, whole_number
from .columns import TABLES, read_columns
from .dataset import Dataset, Table, data_error
from .delimited import DELIMITERS
from .label_sets import SEPARATOR
from .named import Named
from .npz import read_npz
from .store import is_store, open_store
from .streams import COMPRESSED_SUFFIXES, uncompressed
from .svmlight import read_svmlight

FORMATS = ("svmlight", "npz", "csv", "parquet", "xlsx", "store")
MAGIC = {b"PK\x03\x04": "npz", b"PK\x05\x06": "npz", b"PAR1": "parquet"}
SUFFIXES = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".csv": "csv",
    ".tsv": "csv",
    ".xlsx": "xlsx",
}


def read_data(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    labels: str | Sequence[str] | bool | None = None,
    separator: str = SEPARATOR,
    query: str | None = None,
    labelled: bool = True,
    format: str | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
    encoding: str | None = None,
) -> Dataset:
    r"""Read features and labels from a file.

    ========  =========================================================================================================
    format    what it is
    ========  =========================================================================================================
    svmlight  Text, ``label index:value index:value ...``, also known as libsvm; ``label qid:7 index:value ...`` for
              rankings.
    npz       What :func:`write_npz` writes: the arrays of ``scipy.sparse.save_npz``, or a dense array ``X``, with the
              labels as an array ``y`` in the same file, or beside NAME.npz in NAME.y.npy.
    csv       Text with the names of the columns in the first line and commas, semicolons or tabs between the fields.
              All columns but ``label`` and ``query`` must be numbers or truth values, none missing.
    parquet   The same as a Parquet file; needs pyarrow (``pip install 'smoothperf[parquet]'``).
    xlsx      The same as the first sheet of an Excel file; needs openpyxl (``pip install 'smoothperf[excel]'``).
    store     What :func:`smoothperf.io.convert` writes: a folder, whose arrays are mapped into memory.
    ========  =========================================================================================================

    Files that are compressed with gzip, bzip2 or xz are read as they are.

    Parameters
    ----------
    path : path-like
        The file.
    label : str, optional
        Name of the column with the labels; CSV and Parquet need it, or ``labels``.
    labels : str, list of str or True, optional
        Where rows have any number of labels: the column of a table that lists them ("oil;gas"), or several columns of
        0 and 1, whose names are the labels. Svmlight files say it by a comma ("3,17 1:0.5"), or True does.
    separator : str, default=";"
        Between the labels of a cell.
    query : str, optional
        Name of the column that says which query a row belongs to, for rankings from CSV and Parquet: numbers or words.
    labelled : bool, default=True
        False for new examples: no labels are needed, and those that are there are not looked at, so that ``y`` is None.
        A column ``label`` is left out if the table has it; all others are features.
    format : {"svmlight", "npz", "csv", "parquet", "xlsx", "store"}, optional
        By default the first bytes and the suffix decide, and the first line where those say nothing.
    n_features : int, optional
        Number of features that are expected. An svmlight file with fewer gets empty columns, as it cannot say
        how many there are; anything else is an error.
    zero_based : bool, optional
        Whether the indices of an svmlight file count from 0. By default they do if index 0 occurs, which fails for a
        part of a zero-based set in which the first feature never occurs: then say so, for example by the
        ``zero_based`` of the training data. Other formats do not look at it.
    encoding : str, optional
        Of the text of a CSV file: UTF-8 by default, often "cp1252" or "latin-1" where it comes from Windows.

    Returns
    -------
    Dataset
        With ``X``, ``y``, ``format``, ``feature_names``, ``path``, ``zero_based`` and ``qid``.

    Raises
    ------
    DataError
        If the file cannot be read or has anything in it that is not right: one line with file, line and reason.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp(), "train.csv")
    >>> _ = file.write_text("age,income,bought\n31,2.5,yes\n47,1.0,no\n")
    >>> data = read_data(file, label="bought")
    >>> data.X, data.y, data.feature_names
    (array([[31. ,  2.5],
           [47. ,  1. ]]), array(['yes', 'no'], dtype='<U3'), ['age', 'income'])
    """
    if n_features is not None:
        whole_number("n_features", n_features, at_least=1)
    found = read_file(
        path,
        label=label,
        labels=labels,
        separator=separator,
        query=query,
        labelled=labelled,
        format=format,
        n_features=n_features,
        zero_based=zero_based,
        encoding=encoding,
    )
    if isinstance(found, Dataset):
        return found
    unnamed = not labelled and label is None
    data = found.plain(", or say so if it holds the labels" if unnamed else "")
    hint = "" if labelled else "; if a column holds the labels, say which"
    _check_width(found.path, data.X.shape[1], n_features, hint)
    return data


def read_table(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    labels: str | Sequence[str] | bool | None = None,
    separator: str = SEPARATOR,
    query: str | None = None,
    labelled: bool = True,
    format: str | None = None,
    encoding: str | None = None,
    only: list[str] | None = None,
    text: Collection[str] | None = (),
) -> Table:
    r"""Read a CSV, Parquet or Excel file with columns of any kind.

    Parameters
    ----------
    path : path-like
        The file.
    label, query : str, optional
        Names of the columns of labels and of queries.
    labels, separator
        As for :func:`read_data`.
    labelled : bool, default=True
        Whether there are labels.
    format, encoding : str, optional
        As for :func:`read_data`.
    only : list of str, optional
        The columns to read; all by default.
    text : collection of str or None
        Columns that are text, as they are written, even if they look like numbers; None for all.

    Returns
    -------
    Table
        The columns, the labels and the queries.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "people.csv")
    >>> _ = file.write_text("age,town,bought\n31,Rome,yes\n,Oslo,no\n47,Rome,no\n")
    >>> table = read_table(file, label="bought")
    >>> table.y.tolist(), table.columns["age"]
    (['yes', 'no', 'no'], array([31., nan, 47.]))
    """
    found = read_file(
        path,
        label=label,
        labels=labels,
        separator=separator,
        query=query,
        labelled=labelled,
        format=format,
        encoding=encoding,
        only=only,
        text=text,
    )
    if isinstance(found, Dataset):
        raise data_error(path, f"a file of the {found.format} format has no named columns; CSV and Parquet have")
    return found


def read_file(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    labels: str | Sequence[str] | bool | None = None,
    separator: str = SEPARATOR,
    query: str | None = None,
    labelled: bool = True,
    format: str | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
    encoding: str | None = None,
    only: list[str] | None = None,
    text: Collection[str] | None = (),
    usual: Named = Named(),  # noqa: B008 (a tuple)
) -> Dataset | Table:
    """Read a file as :func:`read_data` does, but CSV, Parquet and Excel as a table, with columns of any kind.

    Of a table, ``only`` some columns are read, if they are given, and those of ``text``, all for None, as they are
    written; ``n_features`` is not for them. Where no columns are named, labels and queries are the ``usual`` ones.
    """
    path, named = Path(path), Named.of(label, query, labels, separator)
    if is_store(path, format):
        return _of_store(path, named, n_features, labelled=labelled)
    with uncompressed(path) as file:
        format = format_of(file, path, format, named)
        if format in TABLES:
            named = named.with_usual(usual)
            return read_columns(file, path, format, named, labelled=labelled, encoding=encoding, only=only, text=text)
        if format == "svmlight":
            X, y, zero_based, qid = read_svmlight(
                file, path, n_features=n_features, zero_based=zero_based, several=labels is True
            )
            return Dataset(X, y if labelled else None, format, None, path, zero_based, qid=qid)
        X, known, names = read_npz(file, path, labelled=labelled)
    _check_width(path, X.shape[1], n_features)
    return Dataset(X, known, format, names, path)


def _of_store(path: Path, named: Named, n_features: int | None, *, labelled: bool) -> Dataset:
    refuse_columns("store", path, named)
    store = open_store(path)
    _check_width(path, store.shape[1], n_features)
    return Dataset(
        store.X,
        store.y if labelled else None,
        "store",
        store.feature_names,
        path,
        store.zero_based,
        qid=store.qid,
        sample_weight=store.sample_weight,
    )


def _check_width(path: Path, found: int, n_features: int | None, hint: str = "") -> None:
    """Refuse another number of features than is expected; the hint is for more."""
    if n_features is not None and found != n_features:
        more = hint if found > n_features else ""
        raise data_error(path, f"it has {found} features where {n_features} are expected{more}")


def format_of(file: io.BufferedReader, path: Path, format: str | None, named: Named) -> str:
    """The format of a file that has been opened: the one that was named, or what it looks like."""
    if format is not None:
        choice("format", format, FORMATS)
    head = file.peek()
    if not head:
        raise data_error(path, "it is empty")
    found = format or _detect(head, path)
    refuse_columns(found, path, named)
    return found


def refuse_columns(found: str, path: Path, named: Named) -> None:
    """Refuse names of columns where the format has none."""
    for option, column in {"label": named.label, "query": named.query, "labels": ", ".join(named.labels)}.items():
        if column and found in ("svmlight", "npz", "store"):
            reason = f"a file of the {found} format has no named columns, so {option}={column!r} means nothing"
            raise data_error(path, f"{reason}; leave out {option}= or --{option}")


def _detect(head: bytes, path: Path) -> str:
    """Decide by the first bytes, then the suffix, then the first line that says something."""
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED_SUFFIXES else path
    by_suffix = SUFFIXES.get(plain.suffix.lower())
    for magic, found in MAGIC.items():
        if head.startswith(magic):
            return "xlsx" if (found, by_suffix) == ("npz", "xlsx") else found  # which are archives, too
    if by_suffix is not None:
        return by_suffix
    if b"\0" not in head:
        lines = (line.partition(b"#")[0].split() for line in head.splitlines())
        first = next((line for line in lines if line), [])
        several = len(first) > 1 and all(map(_is_number, first[:1] and first[0].split(b",")))
        if first and (several or _is_number(first[0])) and all(b":" in pair for pair in first[1:]):
            return "svmlight"
        if any(delimiter.encode() in head.splitlines()[0] for delimiter in DELIMITERS):
            return "csv"
    raise data_error(
        path, f"its format is not known: none of {', '.join(FORMATS)} begins like this; name the format if it is one"
    )


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
