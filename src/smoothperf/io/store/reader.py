"""Opening a store: its arrays are mapped into memory, and what can be told without reading them is checked."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import __version__
from ...design.sparse import CompressedRows
from ...threads import cached_property
from ..annotated import check_attributes
from ..streams import explain
from .former import begins_as_former_store
from .layout import ARRAYS, FORMAT, INDEX, VERSION, store_error

#: Bytes that are read together for a checksum.
PIECE = 1 << 24


def open_store(path: str | os.PathLike[str]) -> Store:
    """Open a store: looks at names, types and sizes of its files, and maps them into memory.

    Parameters
    ----------
    path : path-like
        A folder that :func:`~smoothperf.io.convert` or :class:`~smoothperf.io.StoreWriter` has written.

    Returns
    -------
    Store
        The store; its arrays are maps of the files.

    Raises
    ------
    StoreError
        If there is no such store, a file of it is missing, of another size or kind, or it is of another version.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from smoothperf.io import StoreWriter
    >>> path = Path(tempfile.mkdtemp(), "made.store")
    >>> with StoreWriter(path) as writer:
    ...     writer.add([[0.0, 1.0], [2.0, 0.0]], [0, 1])
    >>> store = open_store(path)
    >>> store.X, store.y
    (array([[0., 1.],
           [2., 0.]]), array([0, 1]))
    """
    return Store(path)


class Store:
    """A folder of labelled rows, as arrays that are mapped into memory and cannot be written to.

    Parameters
    ----------
    path : path-like
        The folder.

    Attributes
    ----------
    path : Path
        The folder.
    shape : tuple of int
        Rows and columns.
    feature_names : list of str or None
        Names of the columns.
    zero_based : bool or None
        The first index, 0 or 1, of the svmlight file that it was made from.
    source : dict
        Name and format of the file that it was made from.

    Examples
    --------
    >>> import tempfile
    >>> import scipy.sparse as sp
    >>> from smoothperf.io import StoreWriter
    >>> path = Path(tempfile.mkdtemp(), "two.store")
    >>> with StoreWriter(path) as writer:
    ...     writer.add(sp.eye(2, format="csr"), ["ham", "spam"])
    >>> store = Store(path)
    >>> store.shape, store.y, store.qid
    ((2, 2), array(['ham', 'spam'], dtype='<U4'), None)
    >>> store.X.toarray()
    array([[1., 0.],
           [0., 1.]])
    """

    path: Path
    shape: tuple[int, int]
    feature_names: list[str] | None
    zero_based: bool | None
    source: dict[str, str]
    _crc32: dict[str, int]
    _words: dict[str, list[str]]

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        index = _read_index(self.path)
        try:
            n, d = index["shape"]
            self.shape, told = (n, d), index["arrays"]
            self._crc32 = {name: told[name]["crc32"] for name in told}
            self._words, self.feature_names = index["words"], index["feature_names"]
            self.zero_based, self.source = index["zero_based"], index["source"]
            check_attributes(self)
            self._check(n, d, told)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise store_error(self.path / INDEX, f"it is damaged: {error!r}") from error
        self._arrays = {name: self._mapped(name, told[name]) for name in told}

    def _check(self, n: int, d: int, told: dict[str, dict[str, Any]]) -> None:
        """Raise an error if what the index says is no store."""
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("labels", "queries", "weights"), (n,))
        if "rows" in told:
            shapes["rows"] = (n, d)
        else:
            entries = tuple(told["values"]["shape"])
            shapes |= {"indptr": (n + 1,), "indices": entries, "values": entries}
            if len(entries) != 1 or told["indptr"]["type"] != told["indices"]["type"]:
                raise ValueError("its arrays do not fit together")
        needed = shapes.keys() - {"queries", "weights"}
        if n < 1 or d < 1 or not needed <= told.keys() <= shapes.keys():
            raise ValueError("it has not the arrays of a matrix with labels")
        for name in told:
            if tuple(told[name]["shape"]) != shapes[name] or told[name]["type"] not in ARRAYS[name]:
                raise ValueError(f"{name} are of another shape or type")
        for name in ("labels", "queries"):
            if name in told and (told[name]["type"] == "<i4") != (name in self._words):
                raise ValueError(f"the words of {name} are missing")
        if self.feature_names is not None and len(self.feature_names) != d:
            raise ValueError(f"it names {len(self.feature_names)} of {d} columns")

    def _mapped(self, name: str, told: dict[str, Any]) -> np.memmap[Any, Any]:
        """An array in its file, which must be as large as it has to be."""
        file = self.path / f"{name}.npy"
        try:
            array: np.memmap[Any, Any] = np.lib.format.open_memmap(file, mode="r")
            size = file.stat().st_size
        except OSError as error:
            raise store_error(file, f"cannot be read: {explain(error)}") from error
        except (ValueError, TypeError) as error:
            raise store_error(file, f"truncated or damaged: {error}") from error
        fits = array.shape == tuple(told["shape"]) and array.dtype.str == told["type"] and array.flags.c_contiguous
        if not fits or size != array.offset + array.nbytes:
            raise store_error(file, "truncated or damaged: its type or size is not what the store says")
        return array

    @cached_property
    def X(self) -> Any:
        """The features: an array or a CSR matrix, whose numbers are read from the files as they are needed.

        Column indices are looked at when it is first asked for, as loops that use them trust them.
        """
        if "rows" in self._arrays:
            return np.asarray(self._arrays["rows"])
        starts, indices, values = (self._arrays[name] for name in ("indptr", "indices", "values"))
        rows = CompressedRows(starts, indices, values, self.shape[1])
        if not rows.are_sound() or starts[-1] != indices.size:
            raise store_error(self.path / "indices.npy", "it is damaged: not the columns of a sound matrix")
        return sp.csr_matrix((values, indices, starts), shape=self.shape)

    @property
    def y(self) -> NDArray[Any]:
        """Labels of all rows."""
        return self._column("labels")

    @property
    def has_queries(self) -> bool:
        """Whether rows are documents of queries."""
        return "queries" in self._arrays

    @property
    def qid(self) -> NDArray[Any] | None:
        """The query of each row; None if there are none."""
        return self._column("queries") if self.has_queries else None

    @property
    def sample_weight(self) -> NDArray[np.float64] | None:
        """The weight of each row; None if there are none."""
        return self._column("weights") if "weights" in self._arrays else None

    def _column(self, name: str) -> NDArray[Any]:
        """A number or a word for each row, in memory."""
        numbers = np.array(self._arrays[name])
        if name not in self._words:
            return numbers
        words = np.array(self._words[name])
        if not 0 <= numbers.min() <= numbers.max() < words.size:
            raise store_error(self.path / f"{name}.npy", "it is damaged: there are no words for its numbers")
        found: NDArray[Any] = words[numbers]
        return found

    @property
    def n_bytes(self) -> int:
        """Size of its files."""
        return sum(file.stat().st_size for file in (self.path / INDEX, *self._files()))

    def verify(self, progress: Callable[[float], None] | None = None) -> None:
        """Read all files, and raise an error that names the first one whose checksum is wrong.

        Parameters
        ----------
        progress : callable, optional
            Called with the share that has been read.
        """
        whole, done = sum(array.nbytes for array in self._arrays.values()), 0
        for file, (name, array) in zip(self._files(), self._arrays.items(), strict=True):
            crc32 = 0
            try:
                with open(file, "rb", buffering=0) as stream:
                    stream.seek(array.offset)
                    while piece := stream.read(PIECE):
                        crc32 = zlib.crc32(piece, crc32)
                        done += len(piece)
                        if progress is not None:
                            progress(done / whole)
            except OSError as error:
                raise store_error(file, f"cannot be read: {explain(error)}") from error
            if crc32 != self._crc32[name]:
                raise store_error(file, "it is damaged: the checksum is wrong; convert the data again")

    def _files(self) -> list[Path]:
        return [self.path / f"{name}.npy" for name in self._arrays]


def _read_index(path: Path) -> dict[str, Any]:
    """The description of the arrays of a store."""
    if begins_as_former_store(path):
        raise store_error(
            path,
            f"a store of an earlier version, which was a single file; make a folder of it: smoothperf convert {path} "
            "NEW",
        )
    try:
        index = json.loads((path / INDEX).read_bytes())
    except OSError as error:
        missing = path.exists()
        reason = "not a store of smoothperf; make one with 'smoothperf convert'" if missing else "cannot be read"
        raise store_error(path, f"{reason}: {explain(error)}") from error
    except (ValueError, RecursionError) as error:
        raise store_error(path / INDEX, f"it is damaged: {error}") from error
    if not isinstance(index, dict) or index.get("format") != FORMAT or not isinstance(index.get("version"), int):
        raise store_error(path / INDEX, "not that of a store of smoothperf")
    if index["version"] != VERSION:
        version = index["version"]
        raise store_error(path, f"of version {version} of the format; smoothperf {__version__} reads version {VERSION}")
    return index
