"""Scores, labels and measures of blocks: lazily where the data are lazy, and where the data are."""

from __future__ import annotations

from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask import is_dask_collection
from dask.delayed import Delayed
from distributed import Client
from numpy.typing import NDArray

from .._arrays import Array
from ..estimators.classifier import MeasureClassifier
from ..estimators.ranker import MeasureRanker
from ..estimators.scores import known_labels
from ..measures import get_measure
from .blocks import Block, load, weight_of_kinds
from .inputs import Source, sources
from .placement import known_workers
from .rows import settle


def is_lazy(X: Any) -> bool:
    """Whether X is something of Dask's that is computed later."""
    return bool(is_dask_collection(X))


def lazily(model: MeasureClassifier | MeasureRanker, method: str, X: Any, offset: Any = None) -> Any:
    """``model.method(X)`` as a collection of the same kind: a vector, a series or a delayed object.

    The model, with its weights, is one task of the graph that all blocks share.
    """
    if isinstance(model, MeasureClassifier):
        model._check_offset(offset)
    shared = dask.delayed(model)
    sample = _none(model, method)
    if isinstance(X, Delayed):
        return dask.delayed(_of_block)(X, shared, method, offset)
    if isinstance(X, da.Array):
        if X.ndim != 2 or X.shape[1] != model.n_features_in_:
            raise ValueError(f"X has the shape {X.shape}, but the model expects {model.n_features_in_} features.")
        rows = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        as_vector: dict[str, Any] = {"dtype": sample.dtype, "drop_axis": 1, "meta": sample}
        if offset is None:
            return rows.map_blocks(_of_block, shared, method, **as_vector)
        return da.map_blocks(_of_block_and_scores, rows, _beside(rows, offset), shared, method, **as_vector)
    if offset is None:
        return X.map_partitions(_of_frame, shared, method, meta=(method, sample.dtype))
    if not hasattr(offset, "divisions") or offset.npartitions != X.npartitions:
        raise ValueError("base_scores must be a dask series with the partitions of X.")
    return X.map_partitions(_of_frame_and_scores, offset, shared, method, meta=(method, sample.dtype))


def _beside(rows: da.Array, offset: Any) -> da.Array:
    """A vector as a column in the blocks of some rows."""
    known = not any(np.isnan(length) for length in rows.chunks[0])
    if known:
        column = da.asarray(offset)
        if column.shape != rows.shape[:1]:
            raise ValueError(f"X has {rows.shape[0]} rows but base_scores has shape {column.shape}; they must match.")
        column = column.rechunk({0: rows.chunks[0]})
    elif isinstance(offset, da.Array) and offset.numblocks == rows.numblocks[:1]:
        column = offset
    else:
        raise ValueError("base_scores must be a dask array with the blocks of X, whose lengths are not known.")
    return column[:, None]


def _none(model: MeasureClassifier | MeasureRanker, method: str) -> NDArray[Any]:
    """Result of a method for no rows: labels, or scores."""
    labels = method == "predict" and isinstance(model, MeasureClassifier)
    return model.classes_[:0] if labels else np.zeros(0)


def _of_block(X: Any, model: MeasureClassifier | MeasureRanker, method: str, offset: Any = None) -> NDArray[Any]:
    if X.shape[0] == 0:
        return _none(model, method)
    beside = {} if offset is None else {"base_scores": offset}
    result: NDArray[Any] = getattr(model, method)(X, **beside)
    return result


def _of_block_and_scores(X: Any, column: Array, model: MeasureClassifier, method: str) -> NDArray[Any]:
    return _of_block(X, model, method, column[:, 0])


def _of_frame(frame: Any, model: MeasureClassifier | MeasureRanker, method: str) -> Any:
    return type(frame.iloc[:, 0])(_of_block(frame, model, method), index=frame.index)


def _of_frame_and_scores(frame: Any, series: Any, model: MeasureClassifier, method: str) -> Any:
    return type(frame.iloc[:, 0])(_of_block(frame, model, method, series), index=frame.index)


def score(client: Client, model: MeasureClassifier, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> float:
    """The measure on blocks of rows.

    For measures of decisions (``Measure.judges_decisions``) each block replies with four numbers. The others depend on
    the scores of all rows, so scores and labels are gathered: 9 bytes a row, or 17 with weights.
    """
    measure = get_measure(model.measure)
    judge = partial(_judge, only_decisions=measure.judges_decisions)
    scores, positive, weights = gathered(client, model, judge, sources(X, y, sample_weight, offset))
    counted = weights > 0.0
    return measure.score(positive[counted], scores[counted], weights[counted])


def gathered(client: Client, model: Any, judge: Any, blocks: list[Source]) -> list[NDArray[Any]]:
    """Results of a function of the model and a block, of all blocks one below the other."""
    homes = known_workers(client)
    if not homes:
        raise ValueError(f"the cluster at {client.scheduler.address} has no worker; start some.")
    shared = client.scatter(model, hash=False)
    judged = [
        client.submit(judge, shared, block.near(client, homes[i * len(homes) // len(blocks)]), pure=False)
        for i, block in enumerate(blocks)
    ]
    parts = []
    for number, part in enumerate(client.gather(judged)):
        if isinstance(part, str):
            raise ValueError(f"block {number} of {len(blocks)}: {part}.")
        if part[0].size:
            parts.append(part)
    if not parts:
        raise ValueError("no block has a row: there is nothing to score.")
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def _judge(
    model: MeasureClassifier, source: Any, *, only_decisions: bool
) -> tuple[Array, NDArray[np.bool_], Array] | str:
    """Scores, labels and weights of a block, or of four examples that stand for it; or what is wrong with it."""
    block = load(source)
    if not isinstance(block, Block):
        assert block.problem is not None
        return block.problem
    try:
        positive = known_labels(block.y, model.label_pair, length=block.summary.n_rows)
        model._check_offset(block.offset)
        scores = products(block, model.n_features_in_, model.coef_[0]) + model.intercept_[0]
        scores = scores if block.offset is None else scores + block.offset
        if model.label_pair[1] != model.classes_[1]:
            scores = -scores
    except ValueError as error:
        return f"{error}".rstrip(".")
    weights = np.ones(scores.size) if block.weights is None else block.weights
    if not only_decisions:
        return scores, positive, weights
    kinds = 2 * positive + (scores > 0.0)
    sums = weight_of_kinds(kinds, weights, 4)
    return np.array([-1.0, 1.0, -1.0, 1.0]), np.array([False, False, True, True]), sums


def products(block: Block, n_features: int, coef: Array) -> Array:
    """``X w`` for the rows of a block."""
    design = settle(block, n_features, None)
    if design.shape[1] != n_features:
        raise ValueError(f"it has {design.shape[1]} features, but the model expects {n_features}")
    return design.matvec(coef)
