"""Writing a store, some rows at a time, to a folder that takes its name when all is there."""

from __future__ import annotations

import io
import json
import os
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ... import __version__
from ..._files import folder_written_whole
from ..._validation import choice, vector, whole_number
from ..dataset import Chunk, Dataset
from ..model_file import save_transformer
from ..streams import explain
from .columns import Column
from .former import begins_as_former_store
from .layout import ENCODER, FILES, FORMAT, INDEX, VERSION, StoreError, store_error

LARGEST_INT32 = (1 << 31) - 1
#: Numbers that are changed together in a file.
PIECE = 1 << 20


class _Appended:
    """An array in a .npy file that grows at its end.

    The file begins with the header of an empty array. NumPy leaves room in it for any length, so the last header takes
    its place.
    """

    def __init__(self, path: Path, kind: Any, width: int | None = None):
        self._path, self.kind, self._width = path, np.dtype(kind).newbyteorder("<"), width
        # Without a buffer: nothing is left to write, and to fail, when the file is closed after an error.
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115 (closed by finish, or close)
        self._size, self._crc32 = 0, 0

    def begin(self) -> None:
        """Write the header of an empty array."""
        self._write(self._header())

    def append(self, numbers: NDArray[Any]) -> None:
        """Write numbers, or rows of them, at the end."""
        content = np.ascontiguousarray(numbers, dtype=self.kind)
        self._crc32 = zlib.crc32(content.data, self._crc32)
        self._size += content.size
        self._write(content.data)

    def change(self, function: Callable[[NDArray[Any]], NDArray[Any]], kind: Any = None) -> _Appended:
        """Write the array anew, with a function of its numbers, and return it."""
        self._file.close()
        old = self._path.rename(self._path.with_suffix(".old"))
        new = _Appended(self._path, self.kind if kind is None else kind, self._width)
        new.begin()
        with open(old, "rb") as file:
            file.seek(len(self._header()))
            while content := file.read(PIECE * self.kind.itemsize):
                new.append(function(np.frombuffer(content, dtype=self.kind)))
        old.unlink()
        return new

    def finish(self) -> dict[str, Any]:
        """Complete the file, and return what the index says of it."""
        self._file.seek(0)
        self._write(self._header())
        os.fsync(self._file.fileno())
        self._file.close()
        return {"type": self.kind.str, "shape": self._shape(), "crc32": self._crc32}

    def close(self) -> None:
        """Leave the file as it is."""
        self._file.close()

    def _shape(self) -> tuple[int, ...]:
        return (self._size,) if self._width is None else (self._size // self._width, self._width)

    def _header(self) -> bytes:
        header = io.BytesIO()
        told = {"descr": self.kind.str, "fortran_order": False, "shape": self._shape()}
        np.lib.format.write_array_header_1_0(header, told)
        return header.getvalue()

    def _write(self, content: bytes | memoryview) -> None:
        rest = memoryview(content).cast("B") if len(content) else memoryview(b"")
        while rest:
            rest = rest[self._file.write(rest) :]


class StoreWriter:
    """Writes a store, whole or not at all; to be used in a ``with`` statement.

    Parameters
    ----------
    path : path-like
        The folder; it appears under this name when all is written. A store of this name is replaced then;
        anything else of this name is an error.
    dtype : {"float64", "float32"}, default="float64"
        Type of the values.

    Examples
    --------
    >>> import tempfile
    >>> from smoothperf.io import open_store
    >>> path = Path(tempfile.mkdtemp(), "two.store")
    >>> with StoreWriter(path) as writer:
    ...     writer.add([[1.0, 0.0], [0.0, 2.0]], ["ham", "spam"])
    ...     writer.add([[3.0, 4.0]], ["ham"])
    >>> open_store(path).shape
    (3, 2)
    """

    def __init__(self, path: str | os.PathLike[str], *, dtype: str = "float64"):
        self._path = Path(path)
        choice("dtype", dtype, ("float64", "float32"))
        self._type = np.dtype(dtype)
        self._arrays: dict[str, _Appended] = {}
        self._n_rows = self._n_entries = self._width = 0
        self._weights: list[NDArray[np.float64]] = []
        self.labels, self.queries = Column("label", "labels"), Column("query", "queries")
        self._has: set[str] | None = None
        self._is_sparse: bool | None = None
        self._is_broken = False
        #: Facts that only the source of the data knows.
        self.n_features: int | None = None
        self.feature_names: list[str] | None = None
        self.zero_based: bool | None = None
        self.source: dict[str, str] = {}
        #: The transformer that has made the features of a table, for models of them to predict tables.
        self.encoder: Any = None

    def __enter__(self) -> Self:
        _check_target(self._path)
        try:
            with ExitStack() as stack:
                self._folder = stack.enter_context(folder_written_whole(self._path))
                stack.push(self._finish)
                self._ending = stack.pop_all()
        except OSError as error:
            raise self._cannot_write(error) from error
        return self

    def __exit__(self, *failure: Any) -> None:
        try:
            self._ending.__exit__(*failure)
        except OSError as error:
            raise self._cannot_write(error) from error

    def add(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> None:
        """Append rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, d)
            Features, finite numbers. The first rows decide whether those of the store are dense or sparse.
        y : array-like of shape (m,)
            Their labels: numbers, truth values or text.
        qid : array-like of shape (m,), optional
            The query of each, for rankings, whose labels are grades: numbers or words. For all rows or for none.
        sample_weight : array-like of shape (m,), optional
            Their weights, 0 or more. For all rows or for none.
        """
        self._is_broken = True  # until all is there: some of it would not go together
        given: Any = X if sp.issparse(X) else np.asarray(X)
        if given.ndim != 2:
            raise store_error(self._path, f"rows have the shape {given.shape}; two dimensions are needed")
        if self._is_sparse is None:
            self._is_sparse = bool(sp.issparse(X))
        if self._is_sparse:
            rows: Any = sp.csr_matrix(given)
            starts, values = rows.indptr, rows.data[: rows.indptr[-1]]
        else:
            rows = values = given.toarray() if sp.issparse(X) else given
            starts = rows.shape[1] * np.arange(rows.shape[0] + 1)
        values = self._finite(values, starts)
        n, width = (int(length) for length in rows.shape)
        try:
            self._add_columns(n, y, qid, sample_weight)
        except ValueError as error:
            raise store_error(self._path, f"rows from {self._n_rows + 1} on: {error}") from error
        try:
            if self._is_sparse:
                self._append_sparse(rows, values)
            else:
                self._append_dense(values)
        except OSError as error:
            raise self._cannot_write(error) from error
        self._n_rows += n
        self._width = max(self._width, width)
        self._is_broken = False

    def add_rows(self, rows: Dataset | Chunk) -> None:
        """Append rows of a file, with what is known of them.

        Parameters
        ----------
        rows : Dataset or Chunk
            The rows.
        """
        self.add(rows.X, rows.y, rows.qid, rows.sample_weight)

    def move_columns(self) -> None:
        """Move the columns of all rows so far by one to the right, in the file as well."""
        if self._is_sparse:
            self._arrays["indices"] = self._arrays["indices"].change(lambda indices: indices + 1)
            self._width += 1

    def _finite(self, values: NDArray[Any], starts: NDArray[Any]) -> NDArray[Any]:
        """The values of rows that begin where it is said, of the type of the store; all must be finite."""
        with np.errstate(over="ignore"):  # what overflows is not finite, and noticed
            found: NDArray[Any] = values.astype(self._type, copy=False)
        if not np.isfinite(found).all():
            at = int(np.flatnonzero(~np.isfinite(found).ravel())[0])
            wrong = f"row {self._n_rows + int(np.searchsorted(starts, at, side='right'))} holds {values.ravel()[at]!s}"
            raise store_error(self._path, f"{wrong}, which is not a finite number as {self._type}")
        return found

    def _add_columns(self, n: int, y: Any, qid: Any, sample_weight: Any) -> None:
        """Append what there is beside the features."""
        given = {name for name, values in (("queries", qid), ("weights", sample_weight)) if values is not None}
        self._has = given if self._has is None else self._has
        if given != self._has:
            name = min(given ^ self._has)
            raise ValueError(f"some rows have {name} and others have none; give them for all, or for none")
        self.labels.add(np.asarray(y), n, self._n_rows + 1)
        if qid is not None:
            self.queries.add(np.asarray(qid), n, self._n_rows + 1)
        if sample_weight is not None:
            weights = vector("sample_weight", sample_weight, length=n)
            if n and weights.min() < 0.0:
                raise ValueError(f"sample_weight must not be negative, got {weights.min()}")
            self._weights.append(weights)

    def _append_sparse(self, rows: Any, values: NDArray[Any]) -> None:
        if not self._arrays:
            for name, kind in (("indptr", np.int32), ("indices", np.int32), ("values", self._type)):
                self._new(name, kind)
            self._arrays["indptr"].append(np.zeros(1))
        starts = rows.indptr - rows.indptr[0] + np.int64(self._n_entries)
        self._n_entries = int(starts[-1])
        self._widen(*rows.shape)
        self._arrays["indptr"].append(starts[1:])
        self._arrays["indices"].append(rows.indices[: values.size])
        self._arrays["values"].append(values)

    def _append_dense(self, values: NDArray[Any]) -> None:
        if not self._arrays:
            self._new("rows", self._type, values.shape[1])
            self._width = values.shape[1]
        if values.shape[1] != self._width:
            raise store_error(self._path, f"rows have {self._width} features and then {values.shape[1]}")
        self._arrays["rows"].append(values)

    def _widen(self, n_rows: int, width: int) -> None:
        """Count in 64 bits from where 32 do not do; SciPy wants both arrays alike."""
        if max(self._n_entries, self._n_rows + n_rows, width) > LARGEST_INT32:
            for name in ("indptr", "indices"):
                if self._arrays[name].kind.itemsize == 4:
                    self._arrays[name] = self._arrays[name].change(lambda numbers: numbers, np.int64)

    def _finish(self, kind: type[BaseException] | None, *_: Any) -> None:
        """Complete the store, unless something has failed."""
        try:
            if kind is None:
                self._complete()
        finally:
            for array in self._arrays.values():
                array.close()

    def _complete(self) -> None:
        """Complete the files and write the index."""
        if self._is_broken:
            raise store_error(self._path, "not written, as some rows could not be added")
        if not self._n_rows:
            raise store_error(self._path, "there are no examples to write")
        n_features = self._width if self.n_features is None else whole_number("n_features", self.n_features, at_least=1)
        if self._width > n_features or (not self._is_sparse and self._width < n_features):
            raise store_error(self._path, f"there are rows of {self._width} features where {n_features} are expected")
        if self._is_sparse:
            self._widen(0, n_features)
        words: dict[str, list[str]] = {}
        for name, column in (("labels", self.labels), ("queries", self.queries)):
            if name == "labels" or (self._has and name in self._has):
                try:
                    numbers, found = column.finish()
                except ValueError as error:
                    raise store_error(self._path, str(error)) from error
                self._append_whole(name, numbers)
                if found is not None:
                    words[name] = found
        if self.encoder is not None:
            save_transformer(self.encoder, self._folder / ENCODER)
        if self._weights:
            self._append_whole("weights", np.concatenate(self._weights))
        index = {
            "format": FORMAT,
            "version": VERSION,
            "smoothperf": __version__,
            "shape": [self._n_rows, n_features],
            "arrays": {name: array.finish() for name, array in self._arrays.items()},
            "words": words,
            "feature_names": self.feature_names,
            "zero_based": self.zero_based,
            "source": self.source,
        }
        with open(self._folder / INDEX, "w", encoding="utf-8") as file:
            json.dump(index, file, allow_nan=False)
            file.flush()
            os.fsync(file.fileno())

    def _append_whole(self, name: str, numbers: NDArray[Any]) -> None:
        self._new(name, numbers.dtype)
        self._arrays[name].append(numbers)

    def _new(self, name: str, kind: Any, width: int | None = None) -> None:
        self._arrays[name] = _Appended(self._folder / f"{name}.npy", kind, width)
        self._arrays[name].begin()

    def _cannot_write(self, error: OSError) -> StoreError:
        before = "; the store that was there is as it was" if self._path.exists() else ""
        return store_error(self._path, f"cannot be written: {explain(error)}{before}")


def _check_target(path: Path) -> None:
    """Refuse to take the place of anything but a store."""
    if not os.path.lexists(path) or begins_as_former_store(path):
        return
    names = {entry.name for entry in path.iterdir()} if path.is_dir() else set()
    if INDEX not in names:
        what = "folder" if path.is_dir() else "file"
        raise store_error(path, f"there is a {what} of this name that is no store; remove it, or name another")
    if not names <= FILES:
        more = min(names - FILES)
        raise store_error(path, f"the store of this name has something else in it, {more}; remove it, or name another")
