"""A worker's part of a fit: its rows, the risk's part that belongs to them, and its parts of all vectors.

The client sends messages over a :class:`~smoothperf.dask.wire.Link`, and a thread of the worker carries them out in
their order. A message says whose method to call, which one, with which arguments, which of these are vectors, whether
to answer, and which vectors are no longer needed. A vector travels as a number, which the worker turns into an array
of its own: one that it has, or a new one. If a message that wants no answer fails,
what follows is left out, and the next answer says so.

The thread ends with the connection, and the rows are free then: a client that is gone leaves nothing behind.
"""

from __future__ import annotations

import os
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import get_worker
from distributed.comm.addressing import get_address_host
from distributed.protocol.pickle import loads

from .. import kernels
from ..design import BiasedDesign, Design
from ..design.base import Array
from ..design.contents import contents
from ..measures import Measure
from ..recycling import Recycler
from ..threads import use_threads
from . import rows, wire

#: Seconds that a worker waits for the client to connect.
PATIENCE = 120.0
#: Seconds for which a worker waits for a message awake. Between two rounds of an iteration it is mostly less. (Measured
#: with two workers on two cores of a virtual machine: an iteration of 6 ms takes 8 to 12% less.)
AWAKE = 2e-3


@dataclass(frozen=True)
class Settings:
    """What the client has learnt from all blocks, and decided.

    Attributes
    ----------
    measure : bytes
        What is trained for, pickled as Dask does: it may be of a class that only the client's own script knows.
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
    height : float or None
        Value of the constant feature; None if there is none.
    """

    measure: bytes
    classes: Any
    class_weights: tuple[float, float] | None
    weighted: bool
    n_features: int
    zero_based: bool
    height: float | None


@dataclass(frozen=True)
class Shape:
    """What the client knows of a worker's design matrix."""

    n_rows: int
    n_features: int
    n_entries: int
    row_norm: float
    frobenius_norm: float


class RowServer:
    """Some of the rows of a fit.

    Parameters
    ----------
    blocks : list of Block
        The rows.
    """

    def __init__(self, blocks: list[rows.Block]):
        self._blocks = [block for block in blocks if block.summary.n_rows]
        self._vectors: dict[int, Array] = {}

    def begin(self, settings: Settings) -> Shape:
        """Make design and risk; what there was of an earlier run is forgotten."""
        designs = [rows.settle(block, settings.n_features, settings.zero_based) for block in self._blocks]
        design: Design = rows.stacked(designs)
        if settings.height is not None:
            design = BiasedDesign(design, settings.height)
        positive = np.concatenate([block.y == settings.classes[1] for block in self._blocks])
        weights = None
        if settings.weighted:
            weights = np.concatenate(
                [np.ones(block.y.size) if block.weights is None else block.weights for block in self._blocks]
            )
        if settings.class_weights is not None:
            by_class = np.where(positive, settings.class_weights[1], settings.class_weights[0])
            weights = by_class if weights is None else weights * by_class
        self._design = design
        measure: Measure = loads(settings.measure)
        self._risk = measure.block(positive, weights)
        self._vectors.clear()
        self._memory = Recycler(design.shape[0])
        return Shape(*design.shape, design.n_entries, design.row_norm, design.frobenius_norm)

    def echo(self, number: int) -> int:
        """Return what came, after everything before it."""
        return number

    def n_vectors(self) -> int:
        """How many vectors there is memory for, those of the risk not counted."""
        return len(self._memory)

    def constant(self, value: float, out: Array) -> None:
        """Fill a vector."""
        out[:] = value

    def along(self, start: Array, step: float, direction: Array, out: Array) -> None:
        """``start + step * direction``."""
        kernels.along(start, step, direction, out)

    def inner(self, u: Array, v: Array) -> float:
        """``<u, v>`` of these rows."""
        return float(u @ v)

    def matvec(self, w: Array, out: Array) -> None:
        """``X w``."""
        self._design.matvec(w, out=out)

    def rmatvec(self, g: Array) -> tuple[Array, float]:
        """``X^T g`` of these rows, and ``<g, g>``."""
        return self._design.rmatvec(g), float(g @ g)

    def complete(self, method: str, *arguments: Any) -> tuple[Any, tuple[Array, float]]:
        """Return what a method of the risk does, and ``rmatvec`` of its last argument, a gradient that it fills in."""
        return getattr(self._risk, method)(*arguments), self.rmatvec(arguments[-1])

    def contents(self, first_row: int) -> int:
        """What tells the entries of these rows from others; rows are counted from the first of all."""
        return contents(self._design, first_row)

    def serve(self, link: wire.Link) -> None:
        """Do what the client says until it is gone."""
        failure: str | None = None
        while True:
            try:
                target, method, arguments, vectors, answer, unneeded = link.receive()
                for number in unneeded:
                    self._vectors.pop(number, None)
                result = None
                if failure is None:
                    try:
                        for place in vectors:
                            arguments[place] = self._vector(arguments[place])
                        result = getattr(self if target == "rows" else self._risk, method)(*arguments)
                    except Exception:
                        failure = traceback.format_exc()
                del arguments  # vectors are used again when nobody refers to them
                if answer:
                    link.send_parts(_reply(failure, result))
                    failure = None
            except wire.LinkClosedError:
                return

    def _vector(self, number: int) -> Array:
        """The array that is this worker's part of a vector."""
        found = self._vectors.get(number)
        if found is None:
            found = self._vectors[number] = self._memory.take()
        return found


def _reply(failure: str | None, result: Any) -> list[memoryview]:
    try:
        return wire.encode((failure, result))
    except Exception:
        return wire.encode((traceback.format_exc(), None))


def _let_others_go_first() -> None:
    """Have this thread never take a processor from another one at the moment that it is woken.

    Where client and workers share a machine, a worker that is given something to do otherwise often stops the client
    there and then, which has yet to tell the other workers. (Measured: sending took the client 2 ms an iteration, and
    0.6 ms with this.)
    """
    if hasattr(os, "SCHED_BATCH"):
        with suppress(OSError):  # not allowed here
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


@dataclass(frozen=True)
class Hosted:
    """Where a server is, and what it has."""

    address: tuple[str, int]
    summaries: list[rows.Summary]


def host(key: bytes, n_threads: int | None, *sources: Any) -> Hosted:
    """Load blocks on the worker that this runs on, and serve them to the client that has the key."""
    loaded = [rows.load(source) for source in sources]
    summaries = [block.summary if isinstance(block, rows.Block) else block for block in loaded]
    worker = get_worker()
    name = get_address_host(worker.address)
    if any(summary.problem is not None for summary in summaries):
        return Hosted((name, 0), summaries)
    server = RowServer([block for block in loaded if isinstance(block, rows.Block)])
    listener = wire.listening(name)
    encrypted = worker.address.startswith("tls://")
    context = worker.security.get_listen_args("worker")["ssl_context"] if encrypted else None
    threads = worker.state.nthreads if n_threads is None else n_threads

    def run() -> None:
        _let_others_go_first()
        try:
            connection = wire.accept(listener, key, context, seconds=PATIENCE)
        except TimeoutError:
            return
        link = wire.Link(connection, awake=AWAKE)
        try:
            with use_threads(threads):
                server.serve(link)
        finally:
            link.close()

    threading.Thread(target=run, name="smoothperf-rows", daemon=True).start()
    return Hosted((name, listener.getsockname()[1]), summaries)
