"""Documents of queries on a cluster: blocks of them, parts of members, what all blocks agree on, and scores.

The query of a document is the key of its row, so all documents of a query are with one member.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client
from numpy.typing import NDArray

from .._arrays import Array
from ..communicator import Communicator
from ..design import Design
from ..estimators.ranker import MeasureRanker
from ..io import DataError, Dataset
from ..measures import Queries, get_query_measure
from ..measures.queries.queries import grouped, query_weights
from .agreement import common_columns
from .blocks import Block, RowKind, Summary, borrowed, lent, load
from .inputs import Source, sources
from .parts import among, design_of, empty, given_weights
from .prediction import gathered, products
from .rows import SomeRows, settle, stacked


class DocumentKind(RowKind):
    """Rows with grades and queries; ``kinds`` of their summary are the lowest and the highest grade."""

    beside = ("y", "qid", "sample_weight")
    fewest = 2
    key = "qid"
    tuples = "(X, y, qid) or (X, y, qid, weights)"

    def keys_in(self, path: str | os.PathLike[str], data: Dataset) -> NDArray[Any]:
        """The queries of the rows of a file."""
        if data.qid is None:
            raise DataError(f"{os.fspath(path)}: it does not say which query a row belongs to")
        qid: NDArray[Any] = data.qid
        return qid

    def checked(
        self, y: NDArray[Any], keys: NDArray[Any] | None, weights: Array | None, offset: Array | None
    ) -> tuple[Array, dict[str, Any]]:
        """Grades as numbers, if these are grades and there is a query for each."""
        assert keys is not None
        grades = _checked_grades(y, keys, weights)
        digest = hashlib.sha256(grades.tobytes())
        digest.update(keys.tobytes())
        if weights is not None:
            digest.update(weights.tobytes())
        return grades, {
            "kinds": grades[[grades.argmin(), grades.argmax()]] if grades.size else grades,
            "weighted": None if weights is None else np.array([weights.sum()]),
            "digest": digest.hexdigest(),
        }


DOCUMENTS = DocumentKind()


def _checked_grades(y: NDArray[Any], qid: NDArray[Any], weights: Array | None) -> Array:
    """Grades of documents as numbers, if these are grades and there is a query for each."""
    if y.dtype.kind == "U":
        raise ValueError("its labels are text; grades of relevance are numbers")
    grades = y.astype(np.float64)
    if grades.size and grades.min() < 0.0:
        at = int(grades.argmin())
        raise ValueError(f"y must hold grades of relevance, 0 or more; got {grades[at]:g} at position {at}")
    if qid.ndim == 1 and qid.dtype.kind not in "iufU":
        raise ValueError(f"qid is of the type {qid.dtype}; use numbers or text")
    rows, starts = grouped(qid, grades.shape[0])
    if weights is not None:
        query_weights(weights, grades.shape[0], rows, starts)
    return grades


def ranked_sources(X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> list[Source]:
    """The blocks of documents that a user passes to fit."""
    if (y is None) != (qid is None):
        given, missing = ("qid", "y") if y is None else ("y", "qid")
        raise ValueError(f"{given} is given but {missing} is None: both are needed, or blocks that bring both.")
    return sources(X, y, qid, sample_weight, kind=DOCUMENTS)


# --- parts ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class QueryPart:
    """Rows with grades, the query of each, and weights if there are any."""

    design: Design
    grades: Array
    qid: NDArray[Any]
    weights: Array | None

    @property
    def offset(self) -> None:
        """None: what ranks begins with nothing."""

    def examples(self, communicator: Communicator) -> Queries:
        """Grades, queries and weights."""
        return Queries.of(self.grades, self.qid, self.weights, communicator)


@dataclass(frozen=True)
class QuerySettings:
    """Of rows with grades; attributes as in :class:`~smoothperf.dask.parts.Settings`."""

    weighted: bool
    n_features: int
    zero_based: bool

    def part(self, blocks: Sequence[Block], given: Sequence[NDArray[Any]], guests: Sequence[Block]) -> QueryPart:
        """All rows but those of queries that were given away, and those of guests below."""
        design = design_of(blocks, self)
        away = np.concatenate([among(block, given) for block in blocks])
        if away.any():
            design = SomeRows(design, ~away)
        here = [lent(block, ~among(block, given), with_features=False) for block in blocks]
        if guests:
            arrived = [borrowed(guest) for guest in guests]
            design = stacked([design, *(settle(guest, self.n_features, self.zero_based) for guest in arrived)])
            here += arrived
        return QueryPart(
            design,
            np.concatenate([block.y for block in here]),
            np.concatenate([block.keys for block in here if block.keys is not None]),
            given_weights(here) if self.weighted else None,
        )

    def no_rows(self) -> QueryPart:
        """The client's part."""
        weights = np.empty(0) if self.weighted else None
        return QueryPart(empty(self.n_features), np.empty(0), np.empty(0, int), weights)


def agree_on_queries(summaries: list[Summary]) -> QuerySettings:
    """Make blocks of documents one data set."""
    n_features, zero_based = common_columns(summaries)
    found = [(number, each.keys) for number, each in enumerate(summaries) if each.keys is not None and each.n_rows]
    if not found:
        raise ValueError("no block has a row: documents of two different grades are needed.")
    kinds = {_kind(qid): number for number, qid in reversed(found)}
    if len(kinds) > 1:
        told = " and ".join(
            f"{kind} in block {number}" for kind, number in sorted(kinds.items(), key=lambda each: each[1])
        )
        raise ValueError(f"qid must be of one type in all blocks, but there are {told}; convert them.")
    return QuerySettings(any(each.weighted is not None for each in summaries), n_features, zero_based)


def _kind(qid: NDArray[Any]) -> str:
    return {"U": "words", "f": "numbers with a fraction"}.get(qid.dtype.kind, "whole numbers")


def extreme_grades(summaries: list[Summary]) -> Array:
    """The lowest and the highest grade of all blocks."""
    grades = np.concatenate([each.kinds for each in summaries if each.kinds is not None])
    return np.array([grades.min(), grades.max()])


# --- scores ---------------------------------------------------------------------------------------------------------


def ranked_score(client: Client, model: MeasureRanker, X: Any, y: Any, qid: Any, sample_weight: Any) -> float:
    """The measure of queries, whose rows may be in several blocks: all are gathered, 32 bytes a row."""
    blocks = ranked_sources(X, y, qid, sample_weight)
    scores, grades, ids, weights = gathered(client, model, _judge_documents, blocks)
    return get_query_measure(model.measure).score(grades, scores, ids, weights)


def _judge_documents(model: MeasureRanker, source: Any) -> tuple[Array, Array, NDArray[Any], Array] | str:
    """Scores, grades, queries and weights of a block; or what is wrong with it."""
    block = load(source, DOCUMENTS)
    if not isinstance(block, Block):
        assert block.problem is not None
        return block.problem
    assert block.keys is not None
    try:
        scores = products(block, model.n_features_in_, model.coef_)
    except ValueError as error:
        return f"{error}"
    return scores, block.y, block.keys, np.ones(scores.size) if block.weights is None else block.weights
