"""A matrix in a file (:mod:`smoothperf.io.store`), read block by block while products with it are computed.

Two threads read and check blocks ahead of the one that computes; all three release the GIL. Memory: three blocks,
however large the file. A store of no more blocks than that is read once. The file is not mapped into memory, so a limit
on the address space of the process can be as low as one likes, and a page that cannot be read is an error, not a
signal.

The blocks go through the code of a CSR matrix in memory, one after another in an order that never changes: a store of
one block gives the very same products, and any store gives the same products every time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .sparse import CompressedRows, RowBlocks

#: Blocks in memory: one is computed with, the others are being read.
BUFFERS = 3
READERS = BUFFERS - 1


class RowRange(Protocol):
    """Which rows are in a block."""

    @property
    def first_row(self) -> int:
        """The first of them, counted from 0."""

    @property
    def n_rows(self) -> int:
        """How many there are."""


class BlockFile(Protocol):
    """What is needed of :class:`smoothperf.io.store.Store`, which makes a design of itself."""

    shape: tuple[int, int]
    n_entries: int
    row_norm: float
    frobenius_norm: float

    @property
    def blocks(self) -> Sequence[RowRange]:
        """Its blocks, in the order of their rows."""

    def block_bytes(self, number: int) -> int:
        """How large a buffer a block needs."""

    def load(self, number: int, buffer: NDArray[np.uint8]) -> CompressedRows:
        """Read a block into a buffer, and refer to it."""


class StoredDesign(RowBlocks):
    """The rows of a store as an operator.

    Parameters
    ----------
    store : Store
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from smoothperf.io import StoreWriter, open_store
    >>> file = Path(tempfile.mkdtemp(), "made.store")
    >>> with StoreWriter(file) as writer:
    ...     writer.add([[0.0, 1.0], [2.0, 0.0]], [0, 1])
    >>> StoredDesign(open_store(file)).matvec(np.array([1.0, 10.0]))
    array([10.,  2.])
    """

    def __init__(self, store: BlockFile):
        super().__init__()
        self._store = store
        self.shape = store.shape
        self.n_entries = store.n_entries
        self.row_norm = store.row_norm
        self.frobenius_norm = store.frobenius_norm
        self._buffers: list[NDArray[np.uint8]] = []
        self._kept: list[CompressedRows] = []

    def _blocks(
        self, needed: NDArray[Any] | None = None, *, backwards: bool = False
    ) -> Iterator[tuple[slice, CompressedRows]]:
        blocks = self._store.blocks
        rows = [slice(block.first_row, block.first_row + block.n_rows) for block in blocks]
        wanted = [number for number in range(len(blocks)) if needed is None or needed[rows[number]].any()]
        if backwards:
            wanted.reverse()
        if len(blocks) <= BUFFERS:
            if not self._kept:
                loaded = (self._store.load(number, self._buffer(number)) for number in range(len(blocks)))
                self._kept = [rows.surveyed()[0] for rows in loaded]
            for number in wanted:
                yield rows[number], self._kept[number]
            return
        for number, block in zip(wanted, self._read_ahead(wanted), strict=True):
            yield rows[number], block

    def _read_ahead(self, numbers: list[int]) -> Iterator[CompressedRows]:
        """Yield blocks in the given order; the next ones are being read meanwhile."""
        if len(self._buffers) < BUFFERS:
            largest = max(range(len(self._store.blocks)), key=self._store.block_bytes)
            self._buffers = [self._buffer(largest) for _ in range(BUFFERS)]
        pool = ThreadPoolExecutor(READERS, thread_name_prefix="smoothperf-reader")
        reading: deque[Future[CompressedRows]] = deque()
        try:
            for turn, number in enumerate(numbers):
                if len(reading) == BUFFERS:
                    yield reading.popleft().result()
                # Into the buffer of the block that was computed with last, or one that has not been used.
                reading.append(pool.submit(self._store.load, number, self._buffers[turn % BUFFERS]))
            while reading:
                yield reading.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _buffer(self, number: int) -> NDArray[np.uint8]:
        return np.empty(self._store.block_bytes(number), dtype=np.uint8)
