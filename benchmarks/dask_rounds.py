"""How long a round between a client and two Dask workers takes, by four ways of sending messages.

A round sends 1,000 doubles to each of two workers, which are processes of this machine, and waits for both answers:
one number, or 100,000 doubles. ``smoothperf.dask.wire`` is what :class:`smoothperf.dask.MeasureClassifier` uses.

    python -m benchmarks.dask_rounds
"""

from __future__ import annotations

import asyncio
import secrets
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import connection
from typing import Any

import numpy as np
from distributed import Client, LocalCluster
from distributed.comm import connect, listen
from distributed.protocol import to_serialize

from smoothperf.dask import wire
from smoothperf.dask.server import AWAKE

from .common import arguments, write_csv

ROUNDS = 300
ANSWERS = {"one number": "number", "100,000 doubles": "vector"}


class Answers:
    """What a worker can be asked."""

    def __init__(self) -> None:
        self._vector = np.ones(100_000)

    def number(self, question: Any) -> float:
        """One number."""
        return 1.0

    def vector(self, question: Any) -> Any:
        """Many numbers."""
        return self._vector


def serve(receive: Callable[[], Any], send: Callable[[Any], None]) -> None:
    """Answer until the other end is gone."""
    answers = Answers()
    while True:
        try:
            what, question = receive()
            send(getattr(answers, what)(question))
        except (EOFError, ConnectionError):
            return


def begin_pipe(key: bytes) -> Any:
    """Listen as multiprocessing does."""
    listener = connection.Listener(("127.0.0.1", 0), authkey=key)

    def run() -> None:
        with listener, listener.accept() as pipe:
            serve(pipe.recv, pipe.send)

    threading.Thread(target=run, daemon=True).start()
    return listener.address


def begin_link(key: bytes) -> Any:
    """Listen as smoothperf does."""
    listener = wire.listening("127.0.0.1")

    def run() -> None:
        link = wire.Link(wire.accept(listener, key, None, seconds=60.0), awake=AWAKE)
        serve(link.receive, link.send)
        link.close()

    threading.Thread(target=run, daemon=True).start()
    return listener.getsockname()


async def begin_comm(dask_worker: Any) -> Any:
    """Listen as Dask does, and compute beside the event loop, which has other things to do."""
    answers = Answers()

    async def handle(comm: Any) -> None:
        while True:
            try:
                what, question = await comm.read()
                answer = await asyncio.to_thread(getattr(answers, what), question)
                await comm.write([to_serialize(answer)])
            except OSError:
                return

    dask_worker.listener_of_benchmark = await listen("tcp://127.0.0.1:0", handle)
    return dask_worker.listener_of_benchmark.contact_address


def ways(client: Client) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """Yield the name of each way, and a function that makes a round."""
    workers = sorted(client.nthreads())
    question = np.ones(1_000)
    key = secrets.token_bytes(32)

    actors = [client.submit(Answers, actor=True, workers=[worker], pure=False).result() for worker in workers]

    def round_of_actors(what: str) -> Any:
        futures = [getattr(actor, what)(question) for actor in actors]
        return [future.result() for future in futures]

    yield "Dask actors", round_of_actors

    comms = [client.sync(connect, client.run(begin_comm, workers=[worker])[worker]) for worker in workers]

    async def exchange(what: str) -> Any:
        for comm in comms:
            await comm.write([what, to_serialize(question)])
        return [await comm.read() for comm in comms]

    yield "distributed.comm", lambda what: client.sync(exchange, what)

    def addresses(begin: Callable[[bytes], Any]) -> list[Any]:
        return [client.submit(begin, key, workers=[worker], pure=False).result() for worker in workers]

    pipes = [connection.Client(address, authkey=key) for address in addresses(begin_pipe)]

    def round_of_pipes(what: str) -> Any:
        for pipe in pipes:
            pipe.send((what, question))
        return [pipe.recv() for pipe in pipes]

    yield "multiprocessing.connection", round_of_pipes

    links = [wire.Link(wire.connect(address, key, None, seconds=60.0)) for address in addresses(begin_link)]

    def round_of_links(what: str) -> Any:
        for link in links:
            link.send((what, question))
        return [link.receive() for link in links]

    yield "smoothperf.dask.wire", round_of_links


def main() -> int:
    """Time all ways, print, write dask_rounds.csv."""
    options = arguments(__doc__, needs_data=False)
    rows = []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        for name, make_round in ways(client):
            for answer, what in ANSWERS.items():
                seconds = []
                for _ in range(ROUNDS + 20):
                    begin = time.perf_counter()
                    make_round(what)
                    seconds.append(time.perf_counter() - begin)
                median, slow = statistics.median(seconds[20:]), float(np.quantile(seconds[20:], 0.9))
                print(
                    f"{name:28} {answer:16} median {1e3 * median:7.3f} ms, one in ten over {1e3 * slow:7.3f} ms",
                    flush=True,
                )
                rows.append(
                    {"way": name, "answer": answer, "milliseconds": f"{1e3 * median:.3f}", "slow": f"{1e3 * slow:.3f}"}
                )
    write_csv(options.output / "dask_rounds.csv", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
