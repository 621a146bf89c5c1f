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

from .dataset import Chunk, DataError, data_error
from .npz import check_finite, checked_labels, labels_beside, read_npz


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


class NpzChunks:
    """The rows of an archive, some at a time.

    Parameters
    ----------
    file, path
        As in :func:`~smoothperf.io.npz.read_npz`.
    n_entries : int
        Entries in a chunk, about.

    Attributes
    ----------
    n_features : int
        Known with the first chunk.
    feature_names : list of str or None
        Likewise.
    """

    n_features: int

    def __init__(self, file: io.BufferedReader, path: Path, *, n_entries: int):
        self._file = file
        self._path = path
        self._n_entries = n_entries
        self.feature_names: list[str] | None = None

    def __iter__(self) -> Iterator[Chunk]:
        try:
            with zipfile.ZipFile(self._file) as archive:
                yield from self._chunks(archive)
        except DataError:
            raise
        except Exception as error:  # a damaged archive fails in more ways than zipfile, zlib and NumPy tell
            raise data_error(self._path, f"it is damaged or not a NumPy archive of this kind: {error}") from error

    def _chunks(self, archive: zipfile.ZipFile) -> Iterator[Chunk]:
        found = {name.removesuffix(".npy") for name in archive.namelist()}
        dense = _open(archive, "X") if "X" in found else None
        is_csr = dense is None and "format" in found and _format(archive) == "csr"
        if not is_csr and (dense is None or not dense.by_rows or len(dense.shape) != 2):
            yield from self._at_once()
            return
        if "feature_names" in found:
            self.feature_names = [str(name) for name in _read(archive, "feature_names")]
        n, self.n_features = dense.shape if dense is not None else (int(length) for length in _read(archive, "shape"))
        if 0 in (n, self.n_features):
            raise data_error(self._path, f"X has the shape {(n, self.n_features)}; rows and columns are needed")
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise data_error(self._path, f"it names {len(self.feature_names)} features but X has {self.n_features}")
        y = checked_labels(_read(archive, "y") if "y" in found else labels_beside(self._path), n, self._path)
        done = 0
        for X in self._sparse(archive, n) if dense is None else self._dense(dense):
            if X.dtype.kind not in "biuf":
                raise data_error(self._path, f"X holds {X.dtype} values; real numbers are needed")
            check_finite(X, self._path, first_row=done + 1)
            rows = slice(done, done + X.shape[0])
            done = rows.stop
            yield Chunk(X, y[rows], done / n)

    def _dense(self, member: _Member) -> Iterator[NDArray[Any]]:
        n, d = member.shape
        step = max(1, self._n_entries // d)
        for start in range(0, n, step):
            rows = min(step, n - start)
            yield member.read(rows * d).reshape(rows, d)

    def _sparse(self, archive: zipfile.ZipFile, n: int) -> Iterator[sp.csr_matrix]:
        indptr = _read(archive, "indptr").astype(np.int64)
        indices, data = _open(archive, "indices"), _open(archive, "data")
        if (
            indptr.shape != (n + 1,)
            or indptr[0] != 0
            or np.any(indptr[1:] < indptr[:-1])
            or not (indices.shape == data.shape == (indptr[-1],))
            or indices.dtype.kind not in "iu"
        ):
            raise data_error(self._path, "the arrays of its sparse matrix do not fit together")
        start = 0
        while start < n:
            stop = max(start + 1, int(np.searchsorted(indptr, indptr[start] + self._n_entries, side="right")) - 1)
            stop = min(stop, start + self._n_entries, n)
            count = int(indptr[stop] - indptr[start])
            columns = indices.read(count)
            if count and not (columns.min() >= 0 and columns.max() < self.n_features):
                raise data_error(self._path, f"it has column indices outside 0..{self.n_features - 1}")
            starts = indptr[start : stop + 1] - indptr[start]
            yield sp.csr_matrix((data.read(count), columns, starts), shape=(stop - start, self.n_features))
            start = stop

    def _at_once(self) -> Iterator[Chunk]:
        self._file.seek(0)
        X, y, self.feature_names = read_npz(self._file, self._path, labelled=True)
        self.n_features = X.shape[1]
        yield Chunk(X, y, 1.0)


def _open(archive: zipfile.ZipFile, name: str) -> _Member:
    stream = archive.open(f"{name}.npy")
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran_order, dtype = read_header(stream)
    return _Member(stream, shape, dtype, by_rows=not fortran_order)


def _read(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with archive.open(f"{name}.npy") as stream:
        found: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        return found


def _format(archive: zipfile.ZipFile) -> str:
    name = _read(archive, "format").item()
    return name.decode("latin-1") if isinstance(name, bytes) else str(name)
