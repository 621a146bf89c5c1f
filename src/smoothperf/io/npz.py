"""NumPy archives: a sparse matrix as SciPy writes it, or a dense array ``X``, and the labels ``y``.

``scipy.sparse.save_npz`` has no place for labels. An array ``y`` in the same archive is that place; SciPy's own
``load_npz`` still reads such a file. Labels may also lie beside NAME.npz in NAME.y.npy. Nothing is unpickled.
"""

from __future__ import annotations

import io
import os
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from .._files import written_whole
from . import labels
from .dataset import damage_as_data_error, data_error

#: The message for an archive that cannot be read.
DAMAGED = "it is damaged or not a NumPy archive of this kind"


def read_npz(
    file: io.BufferedReader, path: Path, *, labelled: bool
) -> tuple[Any, NDArray[Any] | None, list[str] | None]:
    """Read features, labels and, if there is an array ``feature_names``, the names of the features."""
    with damage_as_data_error(path, DAMAGED):
        with zipfile.ZipFile(file) as archive:
            found = {name.removesuffix(".npy") for name in archive.namelist()}
            if not found & {"X", "format"}:
                inside = ", ".join(sorted(found)) or "nothing"
                raise data_error(path, f"it has neither a sparse matrix nor an array X, but {inside}")
            y = None
            if labelled:
                y = read_member(archive, "y") if "y" in found else labels_beside(path)
            names = feature_names(archive) if "feature_names" in found else None
            X: Any = read_member(archive, "X") if "X" in found else None
        if X is None:
            file.seek(0)
            X = _sparse(sp.load_npz(file))
    if X.ndim != 2:
        raise data_error(path, f"X has the shape {X.shape}; rows and columns are needed")
    check_columns(X.shape, names, path)
    check_numbers(X, path)
    return as_floats(X), None if y is None else checked_labels(y, X.shape[0], path), names


def read_array(stream: IO[bytes]) -> NDArray[Any]:
    """Read an array that NumPy has written; nothing is unpickled, and text has no characters that there are not."""
    array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    if array.dtype.kind == "U" and array.nbytes:
        characters = np.frombuffer(array.tobytes(), np.dtype("u4").newbyteorder(array.dtype.byteorder))
        if characters.max() > sys.maxunicode:
            raise ValueError(f"text with a character {characters.max():#x}, which is none")
    return array


def read_member(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Read an array of an archive."""
    with archive.open(f"{name}.npy") as stream:
        return read_array(stream)


def feature_names(archive: zipfile.ZipFile) -> list[str]:
    """Read the names of the features."""
    return [str(name) for name in read_member(archive, "feature_names")]


def check_columns(shape: tuple[int, int], names: list[str] | None, path: Path) -> None:
    """Refuse a matrix without rows or columns, or with another number of columns than names."""
    if 0 in shape:
        raise data_error(path, f"X has the shape {shape}; rows and columns are needed")
    if names is not None and len(names) != shape[1]:
        raise data_error(path, f"it names {len(names)} features but X has {shape[1]}")


def check_numbers(X: Any, path: Path) -> None:
    """Refuse what is not a real number, or not finite, and name the row then."""
    if X.dtype.kind not in "biuf":
        raise data_error(path, f"X holds {X.dtype} values; real numbers are needed")
    starts: Any = getattr(X, "indptr", None)
    values: Any = X if starts is None else X.data
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values).ravel())[0])
        row = at // X.shape[1] if starts is None else int(np.searchsorted(starts, at, side="right")) - 1
        raise data_error(path, f"row {row + 1} of X holds a value that is not finite; remove or replace it")


def as_floats(X: Any) -> Any:
    """Return X in float32 or float64, as it is if it is one of them."""
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def checked_labels(y: NDArray[Any], n_rows: int, path: Path) -> NDArray[Any]:
    """Labels in one of the four types, one for each row."""
    if y.dtype.kind == "S":
        y = np.char.decode(y, "utf-8", "backslashreplace")
    problem = labels.problem_of(y, n_rows)
    if problem is not None:
        raise data_error(path, problem)
    return labels.tidy(y)


def write_npz(
    path: str | os.PathLike[str], X: Any, y: ArrayLike, *, feature_names: Sequence[str] | None = None
) -> Path:
    """Write features and labels to a compressed .npz file, which keeps every bit, text as labels, and names.

    Parameters
    ----------
    path : path-like
        The file; ends in ".npz".
    X : {sparse matrix, array-like} of shape (n, d)
        The features. Sparse ones can also be read by ``scipy.sparse.load_npz``.
    y : array-like of shape (n,)
        The labels.
    feature_names : sequence of str, optional
        Names of the columns of X.

    Returns
    -------
    Path
        The path written.

    Examples
    --------
    >>> import tempfile
    >>> from smoothperf.io import read_data
    >>> file = write_npz(Path(tempfile.mkdtemp(), "train.npz"), sp.eye(2, format="csr"), ["ham", "spam"])
    >>> read_data(file).y
    array(['ham', 'spam'], dtype='<U4')
    """
    target = Path(path)
    if target.suffix != ".npz":
        raise ValueError(f"path must end in .npz, got {str(path)!r}.")
    if sp.issparse(X):
        matrix: Any = sp.csr_matrix(cast(Any, X))
        arrays = {
            "format": np.array(b"csr"),
            "shape": np.array(matrix.shape),
            "data": matrix.data,
            "indices": matrix.indices,
            "indptr": matrix.indptr,
        }
    else:
        matrix = np.asarray(X)
        arrays = {"X": matrix}
    classes = np.asarray(y)
    if classes.dtype.kind == "O":  # as strings come from pandas; NumPy would pickle them
        classes = np.array(classes.tolist())
    problem = labels.problem_of(classes, matrix.shape[0])
    if problem is not None:
        raise ValueError(f"y cannot be written: {problem}.")
    if feature_names is not None:
        arrays["feature_names"] = np.array([str(name) for name in feature_names])
    with written_whole(target) as file:
        np.savez_compressed(file, y=classes, **arrays)
    return target


def labels_beside(path: Path) -> NDArray[Any]:
    """Labels of NAME.npz in NAME.y.npy."""
    beside = path.with_name(f"{path.stem}.y.npy")
    if not beside.exists():
        raise data_error(path, f"no labels: neither an array y in it nor a file {beside.name} beside it")
    with beside.open("rb") as file:
        return read_array(file)


def _sparse(loaded: Any) -> sp.csr_matrix:
    # The kernels trust their indices: a file must not be able to send them outside the matrix.
    if hasattr(loaded, "check_format"):
        loaded.check_format(full_check=True)
    return sp.csr_matrix(loaded)
