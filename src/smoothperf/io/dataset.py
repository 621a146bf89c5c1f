"""Data sets as files give them, and errors of one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Dataset:
    r"""Features and labels, and where they come from.

    Attributes
    ----------
    X : csr_matrix or ndarray of shape (n, d)
        Features, finite numbers; CSR from svmlight and sparse .npz files, an array otherwise. Those of a store are
        mapped into memory.
    y : ndarray of shape (n,) or None
        Labels as they are in the file: whole numbers as int64, other numbers as float64, truth values as bool, text as
        str. None if the file was read without labels.
    format : str
        "svmlight", "npz", "csv", "parquet" or "store".
    feature_names : list of str or None
        Names of the columns of X, if the file has them.
    path : Path
        The file.
    zero_based : bool or None
        Whether the indices of an svmlight file were taken to count from 0; None for other formats.
    encoder : TableEncoder or None
        The encoder that made numbers of the columns, where not all of them were numbers.
    qid : ndarray of shape (n,) or None
        The query of each row: whole numbers as int64, other numbers as float64, anything else as str. None if the file
        has none.
    sample_weight : ndarray of shape (n,) or None
        The weight of each row; None if there are none, which only stores may have.

    Examples
    --------
    >>> import tempfile
    >>> from smoothperf.io import read_data
    >>> file = Path(tempfile.mkdtemp(), "two.svm")
    >>> _ = file.write_text("+1 1:0.5 3:2\n-1 2:1\n")
    >>> data = read_data(file)
    >>> data.X.shape, data.y, data.format
    ((2, 3), array([ 1, -1]), 'svmlight')
    """

    X: Any
    y: Any
    format: str
    feature_names: list[str] | None
    path: Path
    zero_based: bool | None = None
    encoder: Any = None
    qid: Any = None
    sample_weight: Any = None


@dataclass(frozen=True)
class Chunk:
    """Some rows of a file, in the order of the file.

    Attributes
    ----------
    X : csr_matrix or ndarray of shape (m, width)
        Features, finite numbers; of text in svmlight format as many columns as have occurred. The last chunk has all.
    y : ndarray of shape (m,)
        Labels as they were read, before :func:`~smoothperf.io.labels.tidy` or, of tables,
        :func:`~smoothperf.io.labels.typed` has seen all of them.
    share : float
        Share of the file that has been read, up to the end of this chunk.
    feature_names : list of str or None
        Names of the columns.
    zero_based : bool or None
        Whether the indices of an svmlight file count from 0, as far as is known; None for other formats.
    moved : bool
        Whether all chunks before have their columns one too far to the left: only now it is known that indices count
        from 0.
    qid : ndarray of shape (m,) or None
        The query of each row, as it was read; None if the file has none.
    sample_weight : ndarray of shape (m,) or None
        The weight of each row; None if the file has none.
    """

    X: Any
    y: Any
    share: float
    feature_names: list[str] | None = None
    zero_based: bool | None = None
    moved: bool = False
    qid: Any = None
    sample_weight: Any = None


class DataError(ValueError):
    """A data file cannot be used; one line says which file, which line of it if one is to blame, and why.

    Examples
    --------
    >>> from smoothperf.io import read_data
    >>> try:
    ...     read_data("nowhere.svm")
    ... except DataError as error:
    ...     print(error)
    nowhere.svm: it cannot be read: No such file or directory
    """


def data_error(path: str | os.PathLike[str], reason: str, *, line: int | None = None) -> DataError:
    """Make the error for a file and, where one is to blame, its line (counted from 1)."""
    where = os.fspath(path) if line is None else f"{os.fspath(path)}, line {line}"
    return DataError(f"{' '.join(where.split())}: {one_line(reason)}")


@contextmanager
def damage_as_data_error(path: Path, what: str) -> Iterator[None]:
    """Turn into one line whatever a damaged file makes a library raise that reads it, which nobody can list."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        raise data_error(path, f"{what}: {error}") from error


def one_line(text: str) -> str:
    r"""Return what a message says as one line of at most 400 characters, all of them printable.

    Messages of libraries quote files, in which anything may be.

    Examples
    --------
    >>> print(one_line("on two\nlines, with \x1b in it"))
    on two lines, with \x1b in it
    >>> len(one_line("9" * 1_000_000))
    400
    """
    shown = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in " ".join(text.split()))
    return shown if len(shown) <= 400 else f"{shown[:295]} ... {shown[-100:]}"


def check_column(name: str, found: list[str], path: Path) -> None:
    """Refuse a name that no column has."""
    if name not in found:
        raise data_error(path, f"there is no column {name!r}; there are {listed(found)}")


def listed(names: list[str]) -> str:
    """Return the first names, quoted."""
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")


def quoted(text: str | bytes, limit: int = 40) -> str:
    r"""Show text from a file in an error: quoted, printable, and not longer than a person wants to read.

    Examples
    --------
    >>> print(quoted(b"1:x" + bytes([0, 255])))
    '1:x\x00\xff'
    >>> print(quoted("9" * 1000, limit=5))
    '99999'... (1000 characters)
    """
    beginning = text[:limit]
    shown = ascii(beginning.decode("latin-1")) if isinstance(beginning, bytes) else repr(beginning)
    return shown if len(text) <= limit else f"{shown}... ({len(text)} characters)"
