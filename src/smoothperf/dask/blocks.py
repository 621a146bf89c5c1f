"""A block of a user's data on a worker, checked.

A dense block stays dense if more than a quarter of its numbers differ from zero, and becomes CSR otherwise, which takes
less memory then (12 bytes a number that is not 0, instead of 8 for each) and less time. Rows of a store stay in their
files, from which each worker maps them into memory.

A :class:`RowKind` says what blocks have beside X. Rows may have keys: those with the same one must be with one member.

What is wrong with a block is told, not raised, so that of several problems the client reports the first in the order
of the blocks.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._arrays import Array
from .._validation import vector
from ..design import DenseDesign, Design, as_design
from ..design.sparse import RowBlocks
from ..io import DataError, Dataset, read_data
from ..io.labels import problem_of

#: Share of numbers that are not 0 up to which a dense block becomes CSR.
SPARSE = 0.25
#: Most distinct labels that a block reports; there should be no more than two.
SHOWN = 3


@dataclass(frozen=True)
class Summary:
    """Facts about a block that the client needs.

    Attributes
    ----------
    n_rows, n_features : int
        Its shape.
    kinds, counts : ndarray
        The first different labels in sorted order, and how often each occurs; or what else says what labels there are.
    weighted : ndarray or None
        The weight of each of these; None if the block came without weights.
    feature_names : list of str or None
        Names of the columns.
    zero_based : bool or None
        The first index, 0 or 1, of a part in svmlight format; such a part need not have all columns.
    digest : str
        Of labels and weights.
    size : tuple of int and float
        Entries of X, and the root of the sum of their squares.
    problem : str or None
        Why the block cannot be used; all else is of no meaning then.
    keys : ndarray or None
        The different keys of its rows in sorted order, if they have any.
    based : bool
        Whether it has an offset.
    """

    n_rows: int = 0
    n_features: int = 0
    kinds: NDArray[Any] | None = None
    counts: NDArray[np.int64] | None = None
    weighted: Array | None = None
    feature_names: list[str] | None = None
    zero_based: bool | None = None
    digest: str = ""
    size: tuple[int, float] = (0, 0.0)
    problem: str | None = None
    keys: NDArray[Any] | None = None
    based: bool = False


@dataclass
class Block:
    """Rows with labels and, perhaps, weights, keys and an offset, as a user gave them."""

    X: Any  # a Design, or a CSR matrix whose number of columns is not settled
    y: NDArray[Any]
    weights: Array | None
    summary: Summary
    keys: NDArray[Any] | None = None
    offset: Array | None = None


class RowKind(ABC):
    """A kind of rows: what blocks have beside X, and what must be true of it.

    Attributes
    ----------
    beside : tuple of str
        Names of what is beside X, in the order of a tuple.
    fewest : int
        Fewest of these that a tuple has.
    key : str or None
        The one that is a key of each row.
    tuples : str
        Blocks that are tuples, in words.
    """

    beside: ClassVar[tuple[str, ...]]
    fewest: ClassVar[int]
    key: ClassVar[str | None] = None
    tuples: ClassVar[str]

    def keys_in(self, path: str | os.PathLike[str], data: Dataset) -> NDArray[Any] | None:
        """The keys of the rows of a file."""
        return None

    @abstractmethod
    def checked(
        self, y: NDArray[Any], keys: NDArray[Any] | None, weights: Array | None, offset: Array | None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Labels or grades to train on, and facts about it that the client needs; all as in :class:`Summary`."""


class LabelKind(RowKind):
    """Rows with labels, and an offset, perhaps."""

    beside = ("y", "sample_weight", "base_scores")
    fewest = 1
    tuples = "(X, y), (X, y, weights) or (X, y, weights, base_scores)"

    def checked(
        self, y: NDArray[Any], keys: NDArray[Any] | None, weights: Array | None, offset: Array | None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """The labels, with how many there are of each."""
        return y, _told_of_labels(y, weights, offset) | {"based": offset is not None}


LABELS = LabelKind()


def load(source: Any, kind: RowKind = LABELS) -> Block | Summary:
    """Make a block of a tuple or of a file; or a summary with the problem."""
    try:
        if isinstance(source, (str, os.PathLike)):
            return _from_file(kind, source)
        fewest, most = 1 + kind.fewest, 1 + len(kind.beside)
        if not isinstance(source, (tuple, list)) or not fewest <= len(source) <= most:
            raise ValueError(f"a block must be {kind.tuples}, got {_described(source)}")
        X, *beside = source
        return _from_memory(kind, X, dict(zip(kind.beside, beside, strict=False)))
    except (ValueError, TypeError) as error:
        return Summary(problem=f"{error}".rstrip("."))


def _described(thing: Any) -> str:
    size = f" of {len(thing)}" if isinstance(thing, (tuple, list)) else ""
    return f"a {type(thing).__name__}{size}"


def _from_file(kind: RowKind, path: str | os.PathLike[str]) -> Block:
    try:
        data = read_data(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read on the worker: {error.strerror or error}") from error
    keys = kind.keys_in(path, data)
    if data.format == "svmlight":
        # Where there is no index, none is 0.
        zero_based = data.zero_based and data.X.indices.size > 0
        return _checked(kind, data.X, data.y, keys, None, None, zero_based)
    # Rows of a store are used where they are, also if they are dense and have many zeros.
    X = as_design(data.X) if data.format == "store" else _design(data.X)
    return _checked(kind, X, data.y, keys, data.sample_weight, data.feature_names)


def _from_memory(kind: RowKind, X: Any, beside: dict[str, Any]) -> Block:
    names = None
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        names = [str(name) for name in X.columns] if all(isinstance(name, str) for name in X.columns) else None
        X = _numbers_of(X)
    labels = _column(beside["y"], "labels")
    rows = int(X.shape[0]) if hasattr(X, "shape") and len(X.shape) else len(X)
    if labels.ndim == 1 and labels.shape[0] != rows:
        raise ValueError(f"X has {rows} rows but y has {labels.shape[0]} labels; they must match")
    keys = None if kind.key is None else _column(beside[kind.key], kind.key)
    weights, offset = beside.get("sample_weight"), beside.get("base_scores")
    return _checked(kind, _design(X), labels, keys, weights, names, offset=offset)


def _column(values: Any, name: str) -> NDArray[Any]:
    """Column of a user as a vector of numbers, truth values or text."""
    column = np.asarray(values)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    return _plain(column, name) if column.dtype.kind == "O" else aligned(column)


def _numbers_of(frame: Any) -> NDArray[Any]:
    """The columns of a data frame as an array."""
    strange = [str(name) for name, kind in zip(frame.columns, frame.dtypes, strict=True) if not _is_number(kind)]
    if strange:
        raise ValueError(f"the columns {', '.join(strange[:5])} hold no numbers; encode them first")
    kind = np.float32 if all(kind == np.float32 for kind in frame.dtypes) else np.float64
    numbers: NDArray[Any] = frame.to_numpy(dtype=kind)
    return numbers


def _is_number(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "biuf"


def _plain(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Values of unknown type as those of one of the types that there are."""
    found = {type(value) for value in values.tolist()}
    if found <= {str} or found <= {bool} or found <= {int, float}:
        return np.array(values.tolist())
    kinds = ", ".join(sorted(kind.__name__ for kind in found))
    raise ValueError(f"its {name} are of the types {kinds}; use numbers, truth values or text")


def _design(X: Any) -> Design:
    if sp.issparse(X):
        compressed: Any = X
        matrix = compressed.tocsr()
        arrays = aligned(matrix.data), aligned(matrix.indices), aligned(matrix.indptr)
        return as_design(sp.csr_array(arrays, shape=matrix.shape))
    X = aligned(np.asarray(X))
    if X.ndim == 2 and X.dtype.kind in "biuf" and np.count_nonzero(X) <= SPARSE * X.size:
        return as_design(sp.csr_array(X))
    return as_design(X)


def aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that begins where its numbers should; a copy only if it does not.

    Arrays that Dask has sent to a worker begin anywhere, with which products take several times as long.
    """
    return np.require(array, requirements="A")


def _checked(
    kind: RowKind,
    X: Any,
    y: NDArray[Any],
    keys: NDArray[Any] | None,
    weights: Any,
    names: list[str] | None,
    zero_based: bool | None = None,
    offset: Any = None,
) -> Block:
    n, d = X.shape
    problem = problem_of(y, n)
    if problem is not None:
        raise ValueError(problem)
    weights = None if weights is None else aligned(vector("sample_weight", weights, length=n))
    if weights is not None and n and weights.min() < 0.0:
        at = int(weights.argmin())
        raise ValueError(f"sample_weight must not be negative, got {weights[at]} at position {at}")
    base = None if offset is None else aligned(vector("base_scores", offset, length=n))
    y, told = kind.checked(y, keys, weights, base)
    summary = Summary(
        n_rows=int(n),
        n_features=int(d),
        feature_names=names,
        zero_based=zero_based,
        size=(X.n_entries, X.frobenius_norm) if isinstance(X, Design) else (X.nnz, float(np.linalg.norm(X.data))),
        keys=None if keys is None else np.unique(keys),
        **told,
    )
    return Block(X, y, weights, summary, keys, base)


def _told_of_labels(y: NDArray[Any], weights: Array | None, offset: Array | None) -> dict[str, Any]:
    """Facts about labels that the client needs."""
    kinds, members, counts = np.unique(y, return_inverse=True, return_counts=True)
    by_kind: Array | None = None if weights is None else weight_of_kinds(members, weights, kinds.size)
    digest = hashlib.sha256(members.astype(np.uint8).tobytes())
    for numbers in (weights, offset):
        if numbers is not None:
            digest.update(numbers.tobytes())
    return {
        "kinds": kinds[:SHOWN],
        "counts": counts[:SHOWN],
        "weighted": None if by_kind is None else by_kind[:SHOWN],
        "digest": digest.hexdigest(),
    }


def weight_of_kinds(members: NDArray[np.intp], weights: Array, n_kinds: int) -> Array:
    """Weight of each kind of members."""
    return np.bincount(members, weights=weights, minlength=n_kinds).astype(np.float64, copy=False)


def lent(block: Block, chosen: NDArray[np.bool_], *, with_features: bool = True) -> Block:
    """A copy of some rows of a block, to be sent to another worker; they become a block there with :func:`borrowed`."""
    part = replace(block.summary, n_rows=int(np.count_nonzero(chosen)))
    weights = None if block.weights is None else block.weights[chosen]
    keys = None if block.keys is None else block.keys[chosen]
    return Block(_matrix(block.X, chosen) if with_features else None, block.y[chosen], weights, part, keys)


def borrowed(block: Block) -> Block:
    """Rows that another worker has sent, to be used here."""
    return (
        block if sp.issparse(block.X) and block.summary.zero_based is not None else replace(block, X=_design(block.X))
    )


def _matrix(X: Any, chosen: NDArray[np.bool_]) -> Any:
    """Some rows as a matrix."""
    if isinstance(X, DenseDesign):
        return X._matrix[chosen]
    if not isinstance(X, RowBlocks):
        return X[chosen]
    pieces = []
    for rows, block in X._blocks():
        arrays = block.data, block.indices.astype(block.indptr.dtype), block.indptr
        pieces.append(sp.csr_array(arrays, shape=(block.n_rows, block.n_columns))[chosen[rows]])
    return sp.vstack(pieces, format="csr")
