"""How long a round of a group takes: the client and worker processes of this machine sum up arrays.

A round of :mod:`smoothperf.dask.group` goes up a tree of the members and down again; Dask actors, which are asked one
by one for their arrays, are beside it.

    python -m benchmarks.dask_rounds
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from distributed import Client, LocalCluster, secede

from smoothperf.dask.group import Member, lead, member_here, open_door

from .common import arguments, write_csv

ROUNDS = 300
WARM_UP = 20
WORKERS = (2, 4)
LENGTHS = (8, 1_000, 100_000)


def seconds_of_sums(communicator: Member, length: int) -> list[float]:
    """The time of each of some sums; every member calls it."""
    values = np.ones(length)
    return timed(lambda: communicator.allreduce(values))


def timed(action: Callable[[], Any]) -> list[float]:
    """The time of each of some rounds."""
    taken = []
    for _ in range(WARM_UP + ROUNDS):
        begin = time.perf_counter()
        action()
        taken.append(time.perf_counter() - begin)
    return taken[WARM_UP:]


def run_member(name: str, rank: int, lengths: tuple[int, ...]) -> None:
    """A task: a member of the group."""
    secede()
    with member_here(name, rank) as communicator:
        for length in lengths:
            seconds_of_sums(communicator, length)


def by_group(client: Client, workers: list[str]) -> dict[int, list[float]]:
    """Times by the length of the arrays."""
    client.run(lambda dask_worker: open_door(dask_worker))
    with lead(client, workers) as communicator:
        tasks = [
            client.submit(run_member, communicator.name, rank, LENGTHS, workers=[worker], pure=False)
            for rank, worker in enumerate(workers, start=1)
        ]
        found = {length: seconds_of_sums(communicator, length) for length in LENGTHS}
    client.gather(tasks)
    return found


class Adder:
    """An actor: has an array, and is told the sum."""

    def __init__(self, length: int):
        self._values = np.ones(length)

    def values(self) -> Any:
        """Its array."""
        return self._values

    def learn(self, total: Any) -> None:
        """Take note of the sum."""
        self._values = total * 0.0 + 1.0


def by_actors(client: Client, workers: list[str]) -> dict[int, list[float]]:
    """The same by Dask's actors."""
    found = {}
    for length in LENGTHS:
        actors = [client.submit(Adder, length, actor=True, workers=[each], pure=False).result() for each in workers]

        def meet(actors: list[Any] = actors) -> None:
            parts = [each.result() for each in [actor.values() for actor in actors]]
            total = np.sum(parts, axis=0)
            for each in [actor.learn(total) for actor in actors]:
                each.result()

        found[length] = timed(meet)
    return found


def main() -> int:
    """Time both ways, print, write dask_rounds.csv."""
    options = arguments(__doc__, needs_data=False)
    rows = []
    with (
        LocalCluster(n_workers=max(WORKERS), threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        for count in WORKERS:
            workers = sorted(client.nthreads())[:count]
            for way, measured in (("group", by_group), ("actors", by_actors)):
                for length, seconds in measured(client, workers).items():
                    median, slow = statistics.median(seconds), float(np.quantile(seconds, 0.9))
                    print(
                        f"{way:7} {count} workers, {length:7} numbers: median {1e3 * median:7.3f} ms, one in ten over "
                        f"{1e3 * slow:7.3f} ms",
                        flush=True,
                    )
                    rows.append(
                        {
                            "way": way,
                            "workers": count,
                            "numbers": length,
                            "milliseconds": f"{1e3 * median:.3f}",
                            "slow": f"{1e3 * slow:.3f}",
                        }
                    )
    write_csv(options.output / "dask_rounds.csv", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
