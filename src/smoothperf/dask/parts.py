"""Parts of members of a group: rows with labels, made of the blocks on its worker.

Rows with the same key must be with one member. Where blocks that are with different members have such rows, they go to
the member that has the first of them: copies of these rows are sent, and those who gave them leave them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from ..communicator import Communicator
from ..design import Design, as_design
from ..measures import Examples
from ..measures.examples import Supervision
from .blocks import LABELS, Block, RowKind, Summary, lent, load
from .rows import settle, stacked


class Part(Protocol):
    """The rows of one member of a group."""

    @property
    def design(self) -> Design:
        """Their features."""

    @property
    def offset(self) -> Array | None:
        """The offset of the scores, higher for the positive label, if there is one."""

    def examples(self, communicator: Communicator) -> Supervision:
        """Labels or grades of the rows, shared with a group."""


@dataclass(frozen=True)
class LabelPart:
    """Rows with which are positive, and weights and an offset if there are any."""

    design: Design
    positive: NDArray[np.bool_]
    weights: Array | None
    offset: Array | None = None

    def examples(self, communicator: Communicator) -> Examples:
        """Labels and weights."""
        return Examples(self.positive, self.weights, communicator)


class Settings(Protocol):
    """Facts that the client has learnt from all blocks, and decisions."""

    @property
    def weighted(self) -> bool:
        """Whether any block has weights."""

    @property
    def n_features(self) -> int:
        """Columns of all blocks."""

    @property
    def zero_based(self) -> bool:
        """Whether indices in parts of svmlight format count from 0."""

    def part(self, blocks: Sequence[Block], given: Sequence[NDArray[Any]], guests: Sequence[Block]) -> Part:
        """The part that blocks make, without rows whose keys were given away, and with the guests of others."""

    def no_rows(self) -> Part:
        """The part of a member without rows: the client."""


@dataclass(frozen=True)
class LabelSettings:
    """Of rows with labels.

    Attributes
    ----------
    classes : ndarray of shape (2,)
        The labels; the second is positive.
    class_weights : tuple of float or None
        Of the two classes.
    weighted, n_features, zero_based
        As in :class:`Settings`.
    based : bool
        Whether all blocks have an offset.
    """

    classes: NDArray[Any]
    class_weights: tuple[float, float] | None
    weighted: bool
    n_features: int
    zero_based: bool
    based: bool = False

    def part(self, blocks: Sequence[Block], given: Sequence[NDArray[Any]], guests: Sequence[Block]) -> LabelPart:
        """All rows, one below the other; rows with labels have no keys."""
        positive = np.concatenate([block.y == self.classes[1] for block in blocks])
        weights = given_weights(blocks) if self.weighted else None
        if self.class_weights is not None:
            by_class = np.where(positive, self.class_weights[1], self.class_weights[0])
            weights = by_class if weights is None else weights * by_class
        base = None
        if self.based:
            base = np.concatenate([block.offset for block in blocks if block.offset is not None])
            base = base if self.classes[0] < self.classes[1] else -base  # given for the second in sorted order
        return LabelPart(design_of(blocks, self), positive, weights, base)

    def no_rows(self) -> LabelPart:
        """The client's part."""
        weighted = self.weighted or self.class_weights is not None
        none, nothing = np.empty(0, bool), np.empty(0)
        return LabelPart(empty(self.n_features), none, nothing if weighted else None, nothing if self.based else None)


def design_of(blocks: Sequence[Block], settings: Settings) -> Design:
    """Features of blocks, one below the other."""
    return stacked([settle(block, settings.n_features, settings.zero_based) for block in blocks])


def given_weights(blocks: Sequence[Block]) -> Array:
    """Weights of the rows of blocks, 1 for those that came without."""
    return np.concatenate([np.ones(block.y.size) if block.weights is None else block.weights for block in blocks])


def empty(n_features: int) -> Design:
    """No rows."""
    return as_design(np.empty((0, n_features)))


def among(block: Block, keys: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
    """Flags of the rows of a block that have one of some keys."""
    assert block.keys is not None
    return np.isin(block.keys, np.concatenate(keys)) if keys else np.zeros(block.y.size, bool)


class Move(NamedTuple):
    """Keys whose rows go from one group of blocks to another."""

    origin: int
    target: int
    keys: NDArray[Any]


def moves_of(groups: Sequence[Sequence[Summary]]) -> list[Move]:
    """Moves that bring the rows of every key to one group of blocks: the first that has it.

    Examples
    --------
    >>> first, second, third = (Summary(keys=np.array(ids)) for ids in ([1, 2], [2, 3], [2, 3, 4]))
    >>> [(origin, target, ids.tolist()) for origin, target, ids in moves_of([[first], [second], [third]])]
    [(1, 0, [2]), (2, 0, [2]), (2, 1, [3])]
    """
    found = [[each.keys for each in group if each.keys is not None and each.keys.size] for group in groups]
    known = [(number, np.unique(np.concatenate(ids))) for number, ids in enumerate(found) if ids]
    if len(known) < 2:
        return []
    here = np.repeat([number for number, _ in known], [ids.size for _, ids in known])
    every = np.concatenate([ids for _, ids in known])
    _, first, inverse = np.unique(every, return_index=True, return_inverse=True)
    home = here[first][inverse]  # of equal entries the first is found, and groups are in order
    moved = np.flatnonzero(home != here)
    ways, which = np.unique(np.column_stack([here[moved], home[moved]]), axis=0, return_inverse=True)
    ordered = moved[np.argsort(which.ravel(), kind="stable")]
    pieces = np.split(ordered, np.cumsum(np.bincount(which.ravel()))[:-1]) if moved.size else []
    return [Move(origin, target, every[piece]) for (origin, target), piece in zip(ways.tolist(), pieces, strict=True)]


class PlacedRows:
    """Blocks on a worker. They stay there, as the result of a task, as long as the client needs them.

    Parameters
    ----------
    sources : sequence
        Sources of blocks; see :func:`~smoothperf.dask.blocks.load`.
    kind : RowKind
        What they have beside X.

    Attributes
    ----------
    summaries : list of Summary
        Facts of each that the client needs.
    """

    def __init__(self, sources: Sequence[Any], kind: RowKind = LABELS):
        loaded = [load(source, kind) for source in sources]
        self.summaries = [block.summary if isinstance(block, Block) else block for block in loaded]
        self._blocks = [block for block in loaded if isinstance(block, Block) and block.summary.n_rows]
        self._part: Part | None = None

    def lend(self, keys: NDArray[Any]) -> list[Block]:
        """The rows with some keys, for another worker."""
        chosen = [(block, among(block, [keys])) for block in self._blocks]
        return [lent(block, rows) for block, rows in chosen if rows.any()]

    def part(self, settings: Settings, given: Sequence[NDArray[Any]] = (), guests: Sequence[Block] = ()) -> Part:
        """All rows, one below the other, but for those given away, and with those of guests; made once."""
        if self._part is None:
            self._part = settings.part(self._blocks, given, guests)
        return self._part
