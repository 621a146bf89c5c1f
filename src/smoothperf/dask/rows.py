"""Rows on a worker: blocks of a user's data, checked, one below the other as one design matrix with labels.

Little is copied. Blocks of CSR rows are used where they are, but for their indices, of which there is a copy of half
the size if columns are few: workers of one machine share its memory, and wait for it. A dense block stays dense if
more than a quarter of its numbers differ from zero, and becomes CSR otherwise, which takes less memory then (12 bytes
a number that is not 0, instead of 8 for each) and less time. A store is trained from out of core, as in memory.

What is wrong with a block is told, not raised, so that of several problems the client reports the first in the order
of the blocks.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._validation import vector
from ..design import CSRDesign, Design, as_design
from ..design.base import Array
from ..design.contents import contents
from ..design.sparse import CompressedRows, RowBlocks
from ..io import DataError, read_data
from ..io.labels import problem_of
from ..io.store import open_store
from ..io.store.layout import MAGIC

#: Share of numbers that are not 0 up to which a dense block becomes CSR.
SPARSE = 0.25
#: Kinds of labels of a block that are told; there should be no more than two.
SHOWN = 3


@dataclass(frozen=True)
class Summary:
    """What the client needs to know of a block.

    Attributes
    ----------
    n_rows, n_features : int
        Its shape.
    kinds, counts : ndarray
        The first different labels in sorted order, and how often each occurs.
    weighted : ndarray or None
        The weight of each of these; None if the block came without weights.
    feature_names : list of str or None
        Names of the columns.
    zero_based : bool or None
        How the indices count, of a part in svmlight format; such a part need not have all columns.
    digest : str
        Of labels and weights.
    size : tuple of int and float
        Entries of X, and the root of the sum of their squares.
    problem : str or None
        Why the block cannot be used; all else is of no meaning then.
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


@dataclass(frozen=True)
class Settings:
    """What the client has learnt from all blocks, and decided.

    Attributes
    ----------
    classes : ndarray of shape (2,)
        The labels; the second is positive.
    class_weights : tuple of float or None
        Of the two classes.
    weighted : bool
        Whether any block has weights.
    n_features : int
        Columns of all blocks.
    zero_based : bool
        Whether indices in parts of svmlight format count from 0.
    """

    classes: NDArray[Any]
    class_weights: tuple[float, float] | None
    weighted: bool
    n_features: int
    zero_based: bool


@dataclass
class Block:
    """Rows with labels and, perhaps, weights, as a user gave them."""

    X: Any  # a Design, or a CSR matrix whose number of columns is not settled
    y: NDArray[Any]
    weights: Array | None
    summary: Summary


def load(source: Any) -> Block | Summary:
    """Make a block of a tuple ``(X, y)`` or ``(X, y, weights)`` or of a file; or a summary with the problem."""
    try:
        if isinstance(source, (str, os.PathLike)):
            return _from_file(source)
        if not isinstance(source, (tuple, list)) or len(source) not in (2, 3):
            raise ValueError(f"a block must be (X, y) or (X, y, weights), got {_described(source)}")
        return _from_memory(*source)
    except (ValueError, TypeError) as error:
        return Summary(problem=f"{error}".rstrip("."))


def _described(thing: Any) -> str:
    size = f" of {len(thing)}" if isinstance(thing, (tuple, list)) else ""
    return f"a {type(thing).__name__}{size}"


def _from_file(path: str | os.PathLike[str]) -> Block:
    try:
        with open(path, "rb") as file:
            is_store = file.read(len(MAGIC)) == MAGIC
        if is_store:
            store = open_store(path)
            return _checked(store.design(), store.labels(), None, store.feature_names)
        data = read_data(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read on the worker: {error.strerror or error}") from error
    if data.zero_based is not None:
        # Where there is no index, none is 0.
        return _checked(data.X, data.y, None, None, data.zero_based and data.X.indices.size > 0)
    return _checked(_design(data.X), data.y, None, data.feature_names)


def _from_memory(X: Any, y: Any, weights: Any = None) -> Block:
    names = None
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        names = [str(name) for name in X.columns] if all(isinstance(name, str) for name in X.columns) else None
        X = _numbers_of(X)
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.dtype.kind == "O":
        labels = _plain(labels)
    rows = int(X.shape[0]) if hasattr(X, "shape") and len(X.shape) else len(X)
    if labels.ndim == 1 and labels.shape[0] != rows:
        raise ValueError(f"X has {rows} rows but y has {labels.shape[0]} labels; they must match")
    return _checked(_design(X), labels, weights, names)


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


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels of unknown type as those of one of the types that there are."""
    found = {type(label) for label in labels.tolist()}
    if found <= {str} or found <= {bool} or found <= {int, float}:
        return np.array(labels.tolist())
    kinds = ", ".join(sorted(kind.__name__ for kind in found))
    raise ValueError(f"its labels are of the types {kinds}; use numbers, truth values or text")


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


def _checked(X: Any, y: NDArray[Any], weights: Any, names: list[str] | None, zero_based: bool | None = None) -> Block:
    n, d = X.shape
    problem = problem_of(y, n)
    if problem is not None:
        raise ValueError(problem)
    weights = None if weights is None else aligned(vector("sample_weight", weights, length=n))
    if weights is not None and n and weights.min() < 0.0:
        at = int(weights.argmin())
        raise ValueError(f"sample_weight must not be negative, got {weights[at]} at position {at}")
    kinds, members, counts = np.unique(y, return_inverse=True, return_counts=True)
    by_kind: Array | None = None if weights is None else weight_of_kinds(members, weights, kinds.size)
    digest = hashlib.sha256(members.astype(np.uint8).tobytes())
    if weights is not None:
        digest.update(weights.tobytes())
    summary = Summary(
        n_rows=int(n),
        n_features=int(d),
        kinds=kinds[:SHOWN],
        counts=counts[:SHOWN],
        weighted=None if by_kind is None else by_kind[:SHOWN],
        feature_names=names,
        zero_based=zero_based,
        digest=digest.hexdigest(),
        size=(X.n_entries, X.frobenius_norm) if isinstance(X, Design) else (X.nnz, float(np.linalg.norm(X.data))),
    )
    return Block(X, y, weights, summary)


def weight_of_kinds(members: NDArray[np.intp], weights: Array, n_kinds: int) -> Array:
    """Weight of each kind of members."""
    return np.bincount(members, weights=weights, minlength=n_kinds).astype(np.float64, copy=False)


class StackedRows(RowBlocks):
    """CSR matrices one below the other, each where it is."""

    def __init__(self, parts: Sequence[CSRDesign]):
        super().__init__()
        self._parts = [(part, part._rows) for part in parts]
        self.shape = (sum(part.shape[0] for part in parts), parts[0].shape[1])
        self.n_entries, self.row_norm, self.frobenius_norm = _totals(parts)

    def _blocks(
        self, needed: NDArray[Any] | None = None, *, backwards: bool = False
    ) -> Iterator[tuple[slice, CompressedRows]]:
        begin = 0
        for part, rows in self._parts:
            yield slice(begin, begin + part.shape[0]), rows
            begin += part.shape[0]


class StackedDesigns(Design):
    """Designs of any kind one below the other."""

    def __init__(self, parts: Sequence[Design]):
        super().__init__()
        self._parts = list(parts)
        self.wants_blas_threads = any(part.wants_blas_threads for part in parts)
        self.shape = (sum(part.shape[0] for part in parts), parts[0].shape[1])
        self.n_entries, self.row_norm, self.frobenius_norm = _totals(parts)
        self._scratch = np.empty(self.shape[1])

    def matvec(self, w: Array, out: Array | None = None) -> Array:
        """``X w``."""
        result = np.empty(self.shape[0]) if out is None else out
        for rows, part in self._with_rows():
            part.matvec(w, out=result[rows])
        return result

    def rmatvec(self, g: Array, out: Array | None = None) -> Array:
        """``X^T g``; designs are added in their order."""
        result = np.zeros(self.shape[1]) if out is None else out
        if out is not None:
            result[:] = 0.0
        for rows, part in self._with_rows():
            result += part.rmatvec(g[rows], out=self._scratch)
        return result

    def gram(self, rows: NDArray[np.intp], weights: Array) -> Array:
        """``sum_i weights_i x_i x_i^T`` over some rows."""
        result = np.zeros((self.shape[1], self.shape[1]))
        for inside, part in self._with_rows():
            here = (rows >= inside.start) & (rows < inside.stop)
            result += part.gram(rows[here] - inside.start, weights[here])
        return result

    def dense(self, rows: NDArray[np.intp]) -> Array:
        """Some rows."""
        result = np.empty((rows.size, self.shape[1]))
        for inside, part in self._with_rows():
            here = (rows >= inside.start) & (rows < inside.stop)
            result[here] = part.dense(rows[here] - inside.start)
        return result

    def _with_rows(self) -> Iterator[tuple[slice, Design]]:
        begin = 0
        for part in self._parts:
            yield slice(begin, begin + part.shape[0]), part
            begin += part.shape[0]


@contents.register
def _(design: StackedDesigns, first_row: int = 0) -> int:
    return sum(contents(part, first_row + rows.start) for rows, part in design._with_rows()) % 2**64


def _totals(parts: Sequence[Design]) -> tuple[int, float, float]:
    """Entries, largest row and norm of designs one below the other."""
    return (
        sum(part.n_entries for part in parts),
        max(part.row_norm for part in parts),
        float(np.linalg.norm([part.frobenius_norm for part in parts])),
    )


def stacked(parts: Sequence[Design]) -> Design:
    """One design of several, without copying them: neighbours in CSR form go through one loop.

    Examples
    --------
    >>> X = stacked([as_design(np.eye(2)), as_design(sp.csr_array(2.0 * np.eye(2)))])
    >>> X.matvec(np.array([1.0, 3.0]))
    array([1., 3., 2., 6.])
    """
    merged: list[Design] = []
    for are_compressed, run in groupby(parts, lambda part: isinstance(part, CSRDesign)):
        found = list(run)
        if are_compressed and len(found) > 1:
            merged.append(StackedRows([part for part in found if isinstance(part, CSRDesign)]))
        else:
            merged += found
    return merged[0] if len(merged) == 1 else StackedDesigns(merged)


def settle(block: Block, n_features: int, zero_based: bool | None) -> Design:
    """The design of a block, with the columns that all blocks together have."""
    if isinstance(block.X, CSRDesign):
        return block.X.with_short_indices()
    if isinstance(block.X, Design):
        return block.X
    matrix = block.X
    # Indices of a part without index 0 were taken to count from 1.
    indices = matrix.indices + 1 if zero_based and not block.summary.zero_based else matrix.indices
    whole = sp.csr_array((matrix.data, indices, matrix.indptr), shape=(matrix.shape[0], n_features))
    return CSRDesign(whole).with_short_indices()


@dataclass(frozen=True)
class Part:
    """The rows of one member of a group, with which are positive, and weights if there are any."""

    design: Design
    positive: NDArray[np.bool_]
    weights: Array | None


def no_rows(settings: Settings) -> Part:
    """The part of a member without rows: the client."""
    weighted = settings.weighted or settings.class_weights is not None
    return Part(as_design(np.empty((0, settings.n_features))), np.empty(0, bool), np.empty(0) if weighted else None)


class Rows:
    """Blocks on a worker. They stay there, as the result of a task, as long as the client needs them.

    Parameters
    ----------
    sources : sequence
        What blocks are loaded from; see :func:`load`.

    Attributes
    ----------
    summaries : list of Summary
        What the client needs to know of each.
    """

    def __init__(self, sources: Sequence[Any]):
        loaded = [load(source) for source in sources]
        self.summaries = [block.summary if isinstance(block, Block) else block for block in loaded]
        self._blocks = [block for block in loaded if isinstance(block, Block) and block.summary.n_rows]
        self._part: Part | None = None

    def part(self, settings: Settings) -> Part:
        """All rows, one below the other; made once."""
        if self._part is None:
            design = stacked([settle(block, settings.n_features, settings.zero_based) for block in self._blocks])
            positive = np.concatenate([block.y == settings.classes[1] for block in self._blocks])
            self._part = Part(design, positive, self._weights(settings, positive))
        return self._part

    def _weights(self, settings: Settings, positive: NDArray[np.bool_]) -> Array | None:
        weights: Array | None = None
        if settings.weighted:
            weights = np.concatenate(
                [np.ones(block.y.size) if block.weights is None else block.weights for block in self._blocks]
            )
        if settings.class_weights is not None:
            by_class = np.where(positive, settings.class_weights[1], settings.class_weights[0])
            weights = by_class if weights is None else weights * by_class
        return weights
