"""Arguments of fit as a list of blocks that Dask can bring to a worker, and bring again if it dies.

=============================  =======================================================================================
X                              blocks
=============================  =======================================================================================
dask array                     its chunks of rows, dense or SciPy's sparse matrices; y and weights are arrays, too
dask data frame                its partitions; y and weights are series or arrays with the same partitions
delayed object, future         one block ``(X, y)``, ``(X, y, weights)`` or ``(X, y, weights, base_scores)``, where
                               weights may be None; or X alone, and y beside it; other kinds of rows have other tuples
path                           one file: a store, .npz or text in svmlight format, read on the worker
list of these                  one block each
=============================  =======================================================================================
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask import is_dask_collection
from dask.delayed import Delayed
from distributed import Client, Future

from .blocks import LABELS, RowKind

WHAT_X_MAY_BE = "a dask array or data frame, a delayed object, a future, a path, or a list of the last three"


@dataclass(frozen=True)
class Source:
    """Source of a block: one thing that is the block, or its X, y, weights and offset.

    Attributes
    ----------
    parts : tuple
        Each a future, a delayed object, a path, or the thing itself.
    """

    parts: tuple[Any, ...]

    def near(self, client: Client, address: str) -> Any:
        """Argument for a task on a worker, which Dask moves there, or computes there if it can."""
        if len(self.parts) == 1:
            return _near(self.parts[0], client, address)
        return tuple(_near(part, client, address) for part in self.parts)

    def lost(self) -> bool:
        """Whether a part was on a worker that is gone, and nobody knows how to make it again."""
        return any(isinstance(part, Future) and part.status in ("lost", "cancelled") for part in self.parts)


def _near(part: Any, client: Client, address: str) -> Any:
    if isinstance(part, Future) or part is None:
        return part
    if isinstance(part, Delayed):
        return client.compute(part, workers=[address], allow_other_workers=True)
    if isinstance(part, (str, os.PathLike)):
        return os.fspath(part)
    return client.scatter(part, workers=[address], hash=False)


def sources(X: Any, *given: Any, kind: RowKind = LABELS) -> list[Source]:
    """The blocks of what a user passes to fit: X, and what is beside it, in the order of the kind of rows."""
    beside = dict.fromkeys(kind.beside) | dict(zip(kind.beside, given, strict=False))
    if isinstance(X, (list, tuple)):
        return _listed(kind, list(X), beside)
    if isinstance(X, (Future, Delayed, str, os.PathLike)):
        return _listed(kind, [X], {name: None if values is None else [values] for name, values in beside.items()})
    if not is_dask_collection(X) or not hasattr(X, "to_delayed"):
        raise TypeError(
            f"X must be {WHAT_X_MAY_BE}; got a {type(X).__name__}. For data in memory use "
            "the estimator of smoothperf itself, or dask.array.from_array."
        )
    if beside["y"] is None:
        raise ValueError("y is None: labels are needed unless the blocks of X bring them.")
    chunks = None
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"X must be two-dimensional (examples by features), got shape {X.shape}.")
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        chunks = X.chunks[0]
    columns: list[Sequence[Any]] = [_partitions("X", X, None)]
    for name in _given(beside):
        values = beside[name]
        columns.append([None] * len(columns[0]) if values is None else _partitions(name, values, chunks))
        if len(columns[-1]) != len(columns[0]):
            raise ValueError(
                f"X has {len(columns[0])} blocks but {name} has {len(columns[-1])}; they must match: use rechunk "
                "or repartition."
            )
    return [Source(parts) for parts in zip(*columns, strict=True)]


def _given(beside: dict[str, Any]) -> list[str]:
    """Names of what is beside X, up to the last that is given: in tuples, others keep their places with None."""
    names = list(beside)
    while beside[names[-1]] is None:
        names.pop()
    return names


def _partitions(name: str, values: Any, chunks: tuple[Any, ...] | None) -> list[Any]:
    """The pieces of a collection, each a delayed object."""
    known = chunks is not None and not any(np.isnan(length) for length in chunks)
    if not is_dask_collection(values) and not known:
        raise TypeError(f"{name} must be a dask collection with the blocks of X, got a {type(values).__name__}.")
    if known and not hasattr(values, "dtypes") and not hasattr(values, "divisions"):
        assert chunks is not None
        array = values if isinstance(values, da.Array) else da.from_array(np.asarray(values), chunks=-1)
        if array.shape[0] != sum(chunks):
            raise ValueError(f"X has {sum(chunks)} rows but {name} has {array.shape[0]} entries; they must match.")
        values = array.rechunk({0: chunks})
    return list(np.ravel(values.to_delayed()))


def _listed(kind: RowKind, X: list[Any], beside: dict[str, Any]) -> list[Source]:
    y = beside["y"]
    if not X:
        raise ValueError("X is an empty list: at least one block is needed.")
    for number, item in enumerate(X):
        if not isinstance(item, (Future, Delayed, str, os.PathLike, tuple)) and y is None:
            raise TypeError(
                f"X must be {WHAT_X_MAY_BE}; got a list with a {type(item).__name__} at position {number}. "
                f"A block is {kind.tuples}."
            )
    if y is None:
        for name, values in beside.items():
            if values is not None:
                raise ValueError(f"{name} comes with y; blocks that bring their labels are {kind.tuples}.")
        return [Source(item if isinstance(item, tuple) else (item,)) for item in X]
    columns: list[Sequence[Any]] = [X]
    for name in _given(beside):
        values = [None] * len(X) if beside[name] is None else beside[name]
        if not isinstance(values, (list, tuple)) or len(values) != len(X):
            got = f"{len(values)} items" if isinstance(values, (list, tuple)) else f"a {type(values).__name__}"
            raise ValueError(f"{name} must be a list with an item for each of the {len(X)} blocks of X, got {got}.")
        columns.append(values)
    if any(isinstance(item, (str, os.PathLike)) for item in X):
        raise ValueError("y is given for paths, which have their labels in the files; leave it out.")
    return [Source(parts) for parts in zip(*columns, strict=True)]
