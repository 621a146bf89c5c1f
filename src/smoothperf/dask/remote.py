"""Rows on workers as the solvers see them: blocks, vectors and a design matrix that are somewhere else.

Every method is a message to all workers at once. Those whose result stays with the rows are told, without waiting;
the others are a round, whose replies are put together in the order of the blocks, so that sums are always the same.
Nothing here has a number for each row.

A round is long where little is computed. So workers are told of a product ``X w`` when it is known, and begin; and a
gradient is multiplied with the transpose of X before anybody asks for that, if somebody will, as it seems, and it does
not take long: mostly a solver evaluates a step and takes it.
"""

from __future__ import annotations

import math
import secrets
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..blocks import Blocks, Vectors
from ..design import Design
from ..design.base import Array
from .server import Shape
from .wire import Link, LinkClosedError, WorkerError, encode


@dataclass(frozen=True)
class Traffic:
    """What went over the network, of all workers together.

    Attributes
    ----------
    sent, received : int
        Bytes from the client to workers, and from them.
    rounds : int
        Times that the client waited for replies.
    largest_reply : int
        Bytes of the largest reply of a worker.
    iterations : int
        Of the solver.

    Examples
    --------
    >>> print(Traffic(sent=4_000_000, received=2_000_000, rounds=500, largest_reply=8_100, iterations=100))
    an iteration: 40.0 kB sent, 20.0 kB received, 5.0 rounds
    """

    sent: int = 0
    received: int = 0
    rounds: int = 0
    largest_reply: int = 0
    iterations: int = 0

    @property
    def bytes_per_iteration(self) -> float:
        """Both ways."""
        return (self.sent + self.received) / max(1, self.iterations)

    def __str__(self) -> str:
        n = max(1, self.iterations)
        return (
            f"an iteration: {self.sent / n / 1e3:.1f} kB sent, {self.received / n / 1e3:.1f} kB received, "
            f"{self.rounds / n:.1f} rounds"
        )


#: Seconds up to which a product may take, with its round, that is begun before it is asked for. A round takes a third
#: of a millisecond, and about three of four such products are wanted (measured on five data sets for three measures).
SHORT_PRODUCT = 1.5e-3


class WorkerLostError(ConnectionError):
    """A worker is gone in the middle of a round."""


class RemoteVector:
    """Stands for a vector whose parts are on the workers.

    Attributes
    ----------
    number : int
        What the workers know it by.
    squared_norm : float or None
        Its inner product with itself, where that has come along with something else.
    product : list or None
        The parts of its product with the transpose of X, the same.
    """

    __slots__ = ("_unneeded", "number", "product", "squared_norm")

    def __init__(self, number: int, unneeded: deque[int]):
        self.number = number
        self._unneeded = unneeded
        self.forget()

    def forget(self) -> None:
        """Know nothing of what it holds, which may be something else now."""
        self.squared_norm: float | None = None
        self.product: list[Any] | None = None

    def __del__(self) -> None:
        self._unneeded.append(self.number)  # the workers are told with the next message


class Servers:
    """The workers of a fit, in the order of their rows.

    Parameters
    ----------
    links : sequence of Link
        To each of them.
    addresses : sequence of str
        Their names in errors.

    Attributes
    ----------
    rounds : int
        Times that replies were waited for.
    """

    def __init__(self, links: Sequence[Link], addresses: Sequence[str]):
        self.links = list(links)
        self.addresses = list(addresses)
        self.rounds = 0
        self._before = Traffic()  # of links that were replaced
        self._count = 0
        self._unneeded: deque[int] = deque()
        # Of the gradients since the last product: how many came before the last one, and that one's number.
        self._earlier = 0
        self._last_gradient: int | None = None
        # Whether the product was wanted when there were so many before, the last time.
        self._wanted: dict[int, bool] = {}
        self._product_seconds = math.inf

    def new_vector(self) -> RemoteVector:
        """Return a vector that holds anything."""
        self._count += 1
        return RemoteVector(self._count, self._unneeded)

    def tell(self, target: str, method: str, *arguments: Any, at_once: bool = False) -> None:
        """Have all of them do something before they are asked next, or at once, and do not wait."""
        self._post(target, method, [arguments], answer=False, later=not at_once)

    def ask(self, target: str, method: str, *arguments: Any) -> list[Any]:
        """Have all of them do something, and return what they answer, in their order."""
        return self.ask_each(target, method, [arguments])

    def ask_each(self, target: str, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """``ask`` with arguments for each of them; or once, for all."""
        self.rounds += 1
        self._post(target, method, arguments, answer=True)
        replies = []
        for link, address in zip(self.links, self.addresses, strict=True):
            try:
                replies.append(link.receive())
            except LinkClosedError as error:
                _lost(address, error)
        for address, (failure, _) in zip(self.addresses, replies, strict=True):
            if failure is not None:
                raise WorkerError(f"{method} failed on the worker {address}:\n{failure}")
        return [result for _, result in replies]

    def complete(self, method: str, *arguments: Any) -> list[Any]:
        """``ask`` for something of the risk, where the last argument is a gradient that comes out of it.

        If its product will be wanted, as it seems, and takes little time, it comes along. It seems so if that of the
        last gradient was that came after as many others. (Where a line search has tried two steps, it mostly takes the
        second.)
        """
        gradient: RemoteVector = arguments[-1]
        if self._last_gradient is not None:
            self._wanted[self._earlier] = False
            self._earlier += 1
        self._last_gradient = gradient.number
        if not self._wanted.get(self._earlier, False) or self._product_seconds > SHORT_PRODUCT:
            return self.ask("risk", method, *arguments)
        answers, products = zip(*self.ask("rows", "complete", method, *arguments), strict=True)
        gradient.product = list(products)
        return list(answers)

    def product(self, g: RemoteVector) -> list[Any]:
        """Parts of ``X^T g``, and of ``<g, g>``; a round, unless they are known."""
        if self._last_gradient is not None:
            self._wanted[self._earlier] = g.number == self._last_gradient
        self._earlier, self._last_gradient = 0, None
        if g.product is not None:
            known, g.product = g.product, None  # nobody asks twice, and d numbers of each worker are many
            return known
        begin = time.perf_counter()
        answers = self.ask("rows", "rmatvec", g)
        self._product_seconds = time.perf_counter() - begin
        return answers

    def gone(self) -> list[int]:
        """Places of those that do not answer any more; the others have done everything that they were told."""
        gone = []
        for place, link in enumerate(self.links):
            token = secrets.token_hex(8)
            message: tuple[Any, ...] = ("rows", "echo", [token], [], True, [])
            try:
                link.send(message)
                while (reply := link.receive())[1] != token:
                    if reply[0] is not None:  # of something before, in place of what followed it
                        link.send(message)
            except LinkClosedError:
                gone.append(place)
        return gone

    def replace(self, place: int, link: Link, address: str) -> None:
        """Have another worker in a place."""
        self._before = self.traffic(0)
        self.links[place].close()
        for old in self.links:
            old.sent = old.received = 0
        self.links[place], self.addresses[place] = link, address

    def traffic(self, iterations: int) -> Traffic:
        """What has gone over the network so far."""
        return Traffic(
            self._before.sent + sum(link.sent for link in self.links),
            self._before.received + sum(link.received for link in self.links),
            self.rounds,
            max([self._before.largest_reply, *(link.largest for link in self.links)]),
            iterations,
        )

    def close(self) -> None:
        """Let the workers go."""
        for link in self.links:
            link.close()

    def _post(
        self, target: str, method: str, arguments: Sequence[tuple[Any, ...]], *, answer: bool, later: bool = False
    ) -> None:
        unneeded = []
        while self._unneeded:  # vectors may become unneeded meanwhile, in any thread
            unneeded.append(self._unneeded.popleft())
        encoded = [encode((target, method, *_by_number(own), answer, unneeded)) for own in arguments]
        if len(encoded) == 1:
            encoded *= len(self.links)
        for link, address, parts in zip(self.links, self.addresses, encoded, strict=True):
            try:
                link.send_parts(parts, later=later)
            except LinkClosedError as error:
                _lost(address, error)


def _by_number(arguments: tuple[Any, ...]) -> tuple[list[Any], list[int]]:
    """Arguments as they travel: vectors by their number; and which of them are vectors."""
    vectors = [place for place, argument in enumerate(arguments) if type(argument) is RemoteVector]
    travelling = list(arguments)
    for place in vectors:
        travelling[place] = arguments[place].number
    return travelling, vectors


def _lost(address: str, error: Exception) -> NoReturn:
    raise WorkerLostError(f"the worker {address} is gone: {error}") from error


class RemoteVectors(Vectors):
    """Vectors whose parts are on the workers."""

    def __init__(self, servers: Servers, length: int):
        self.length = length
        self._servers = servers

    def take(self) -> RemoteVector:
        """Return a vector that holds anything; the workers hear of it when it is used."""
        return self._servers.new_vector()

    def constant(self, value: float) -> RemoteVector:
        """Return a vector of equal numbers."""
        result = self.take()
        self._servers.tell("rows", "constant", value, result)
        return result

    def along(self, start: RemoteVector, step: float, direction: RemoteVector) -> RemoteVector:
        """``start + step * direction``."""
        result = self.take()
        self._servers.tell("rows", "along", start, step, direction, result)
        return result

    def inner(self, u: RemoteVector, v: RemoteVector) -> float:
        """``<u, v>``; a round, unless it is known."""
        if u is v and u.squared_norm is not None:
            return u.squared_norm
        return math.fsum(self._servers.ask("rows", "inner", u, v))


class RemoteBlocks(Blocks):
    """The parts of a risk on the workers, each with its rows."""

    far = True

    def __init__(self, servers: Servers, vectors: RemoteVectors):
        self.vectors = vectors
        self._servers = servers

    def each(self, method: str, /, *arguments: Any) -> list[Any]:
        """Call a method of every block, and wait for what they return."""
        _forget(arguments)
        return self._servers.ask("risk", method, *arguments)

    def complete(self, method: str, /, *arguments: Any) -> list[Any]:
        """``each``; the gradient is multiplied as well if the last one was, too."""
        _forget(arguments)
        return self._servers.complete(method, *arguments)

    def tell(self, method: str, /, *arguments: Any) -> None:
        """Call a method of every block; an error shows when a reply is waited for."""
        _forget(arguments)
        self._servers.tell("risk", method, *arguments)


def _forget(arguments: tuple[Any, ...]) -> None:
    """A block may write to the vectors that it is given."""
    for argument in arguments:
        if type(argument) is RemoteVector:
            argument.forget()


class RemoteDesign(Design):
    """The rows of all workers, one below the other, as an operator.

    Parameters
    ----------
    servers : Servers
        Who has the rows.
    shapes : list of Shape
        What they said about them.

    Attributes
    ----------
    servers : Servers
        The same.
    """

    wants_blas_threads = False

    def __init__(self, servers: Servers, shapes: Sequence[Shape]):
        self.servers = servers
        self.shape = (sum(shape.n_rows for shape in shapes), shapes[0].n_features)
        self.n_entries = sum(shape.n_entries for shape in shapes)
        self.row_norm = max(shape.row_norm for shape in shapes)
        self.frobenius_norm = float(np.linalg.norm([shape.frobenius_norm for shape in shapes]))

    @cached_property
    def vectors(self) -> RemoteVectors:
        """The vectors, which are with the rows."""
        return RemoteVectors(self.servers, self.shape[0])

    def matvec(self, w: Array, out: RemoteVector | None = None) -> RemoteVector:
        """``X w``, which stays with the rows; they are at it while the client goes on."""
        scores = self.vectors.take() if out is None else out
        scores.forget()
        self.servers.tell("rows", "matvec", w, scores, at_once=True)
        return scores

    def rmatvec(self, g: RemoteVector, out: Array | None = None) -> Array:
        """``X^T g``: the workers' parts, added in their order. The norm of g comes along."""
        replies = self.servers.product(g)
        g.squared_norm = math.fsum(square for _, square in replies)
        result = np.empty(self.shape[1]) if out is None else out
        result[:] = replies[0][0]
        for part, _ in replies[1:]:
            result += part
        return result

    def gram(self, rows: NDArray[np.intp], weights: Array) -> Array:
        """Not for rows that are far away."""
        raise NotImplementedError("second derivatives need all rows in memory; use the solver lbfgs.")
