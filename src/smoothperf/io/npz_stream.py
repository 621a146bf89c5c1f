"""NumPy archives some rows at a time: the members of the archive are read side by side, as streams.

A CSR matrix and an array in C order are stored row after row, so that only what belongs to n rows or d columns is kept
(starts of rows, labels, names). Other matrices are stored in another order: they are read whole.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .dataset import Chunk, damage_as_data_error, data_error
from .npz import (
    DAMAGED,
    as_floats,
    check_columns,
    check_numbers,
    checked_labels,
    feature_names,
    labels_beside,
    read_member,
    read_npz,
)


@dataclass
class _Member:
    """An array in the archive that is read from its beginning to its end."""

    stream: IO[bytes]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_rows: bool

    def read(self, count: int) -> NDArray[Any]:
        """Return the next numbers."""
        content = self.stream.read(count * self.dtype.itemsize)
        return np.frombuffer(content, dtype=self.dtype, count=count)


def npz_chunks(file: io.BufferedReader, path: Path, n_entries: int) -> Iterator[Chunk]:
    """Yield the rows of an archive, about so many entries at a time; see :func:`~smoothperf.io.npz.read_npz`."""
    with damage_as_data_error(path, DAMAGED), zipfile.ZipFile(file) as archive:
        found = {name.removesuffix(".npy") for name in archive.namelist()}
        dense = _open(archive, "X") if "X" in found else None
        is_csr = dense is None and "format" in found and _format(archive) == "csr"
        if not is_csr and (dense is None or not dense.by_rows or len(dense.shape) != 2):
            file.seek(0)
            X, y, names = read_npz(file, path, labelled=True)
            yield Chunk(X, y, 1.0, names)
            return
        names = feature_names(archive) if "feature_names" in found else None
        n, d = dense.shape if dense is not None else (int(length) for length in read_member(archive, "shape"))
        check_columns((n, d), names, path)
        y = checked_labels(read_member(archive, "y") if "y" in found else labels_beside(path), n, path)
        done = 0
        for X in _sparse(archive, path, n, d, n_entries) if dense is None else _dense(dense, n_entries):
            check_numbers(X, path, first_row=done + 1)
            rows = slice(done, done + X.shape[0])
            done = rows.stop
            yield Chunk(as_floats(X), y[rows], done / n, names)


def _dense(member: _Member, n_entries: int) -> Iterator[NDArray[Any]]:
    n, d = member.shape
    step = max(1, n_entries // d)
    for start in range(0, n, step):
        rows = min(step, n - start)
        yield member.read(rows * d).reshape(rows, d)


def _sparse(archive: zipfile.ZipFile, path: Path, n: int, d: int, n_entries: int) -> Iterator[sp.csr_matrix]:
    indptr = read_member(archive, "indptr").astype(np.int64)
    indices, data = _open(archive, "indices"), _open(archive, "data")
    if (
        indptr.shape != (n + 1,)
        or indptr[0] != 0
        or np.any(indptr[1:] < indptr[:-1])
        or not (indices.shape == data.shape == (indptr[-1],))
        or indices.dtype.kind not in "iu"
    ):
        raise data_error(path, "the arrays of its sparse matrix do not fit together")
    start = 0
    while start < n:
        stop = max(start + 1, int(np.searchsorted(indptr, indptr[start] + n_entries, side="right")) - 1)
        stop = min(stop, start + n_entries, n)
        count = int(indptr[stop] - indptr[start])
        columns = indices.read(count)
        if count and not (columns.min() >= 0 and columns.max() < d):
            raise data_error(path, f"it has column indices outside 0..{d - 1}")
        starts = indptr[start : stop + 1] - indptr[start]
        yield sp.csr_matrix((data.read(count), columns, starts), shape=(stop - start, d))
        start = stop


def _open(archive: zipfile.ZipFile, name: str) -> _Member:
    stream = archive.open(f"{name}.npy")
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran_order, dtype = read_header(stream)
    return _Member(stream, shape, dtype, by_rows=not fortran_order)


def _format(archive: zipfile.ZipFile) -> str:
    name = read_member(archive, "format").item()
    return name.decode("latin-1") if isinstance(name, bytes) else str(name)
