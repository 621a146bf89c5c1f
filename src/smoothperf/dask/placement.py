"""Where the rows are: blocks in groups, each served by a worker; and what happens when one of them dies.

Blocks are cut into as many groups of neighbours as there are workers, by their number alone. So the same blocks on the
same number of workers make the same groups, whichever worker has which, and sums come out the same. The groups stay as
they are when workers come and go. The group of a worker that dies is loaded again, by a worker without a group if there
is one, and otherwise by the one with the fewest; Dask computes again what was lost, and files are read again.
"""

from __future__ import annotations

import itertools
import secrets
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from distributed import CancelledError, Client, Future, wait

from . import server, wire
from .inputs import Source
from .remote import RemoteBlocks, RemoteDesign, Servers
from .rows import Summary

#: Times that a group may lose its worker in one fit; it is probably too large for any of them then.
MOST_LOSSES = 5
#: Seconds between two looks at the cluster while blocks are loaded.
LOOK = 0.5


class RowsLostError(RuntimeError):
    """Rows were on a worker that is gone, and cannot be had again."""


class Placement:
    """Blocks of rows on the workers of a cluster.

    Parameters
    ----------
    client : Client
        Of the cluster.
    sources : list of Source
        The blocks.
    n_threads : int or None
        For each worker; as many as it has for tasks if None.
    patience : float
        Seconds to wait for workers when there are none.

    Attributes
    ----------
    summaries : list of Summary
        What the workers said about the blocks.
    servers : Servers
        The workers that have rows, in the order of these.
    """

    def __init__(self, client: Client, sources: Sequence[Source], *, n_threads: int | None, patience: float):
        self._client = client
        self._sources = list(sources)
        self._n_threads = n_threads
        self._patience = patience
        self._keys: dict[int, bytes] = {}  # of each group, so that no worker knows that of another
        self._losses: Counter[int] = Counter()
        self._unusable: set[str] = set()
        self._homes: dict[int, str] = {}
        self._shapes: list[server.Shape] = []
        self._settings: server.Settings | None = None
        count = min(len(self._workers()), len(self._sources))
        bounds = [len(self._sources) * group // count for group in range(count + 1)]
        self._groups = [range(*each) for each in itertools.pairwise(bounds)]
        links, summaries = self._load(list(range(count)))
        self.summaries = [summary for group in range(count) for summary in summaries[group]]
        # A group without a row has nothing to say.
        self._served = [group for group in range(count) if any(summary.n_rows for summary in summaries[group])]
        for group in set(links) - set(self._served):
            links.pop(group).close()
        self.servers = Servers([links[group] for group in self._served], [self._homes[group] for group in self._served])

    @property
    def losses(self) -> int:
        """How often a group was loaded again because its worker was gone."""
        return self._losses.total()

    def begin(self, settings: server.Settings) -> tuple[RemoteDesign, RemoteBlocks]:
        """Design and risk of all rows, for a run; those of an earlier one are of no use any more."""
        self._settings = settings
        shapes = self.servers.ask("rows", "begin", settings)
        if self._shapes and shapes != self._shapes:
            changed = [
                group for group, *both in zip(self._served, self._shapes, shapes, strict=True) if both[0] != both[1]
            ]
            raise RowsLostError(
                f"{self._named(changed[0])} came out differently when they were made again after a worker was gone; "
                "what makes them must give the same numbers every time."
            )
        self._shapes = shapes
        design = RemoteDesign(self.servers, shapes)
        return design, RemoteBlocks(self.servers, design.vectors)

    def is_ready_for(self, settings: server.Settings) -> bool:
        """Whether it was these settings that design and risk were made with last."""
        return self._settings is settings

    def contents(self) -> int:
        """What tells the entries of all rows from others: :mod:`smoothperf.design.contents`."""
        first_rows = itertools.accumulate((shape.n_rows for shape in self._shapes[:-1]), initial=0)
        parts = self.servers.ask_each("rows", "contents", [(first_row,) for first_row in first_rows])
        return int(sum(parts) % 2**64)

    def mend(self) -> None:
        """Load again what workers had that are gone; the others have done what they were told."""
        gone = self.servers.gone()
        for place in gone:
            self._lose(self._served[place])
        links, summaries = self._load([self._served[place] for place in gone])
        for place in gone:
            group = self._served[place]
            self.servers.replace(place, links[group], self._homes[group])
            before = self.summaries[self._groups[group].start : self._groups[group].stop]
            if [each.digest for each in before] != [each.digest for each in summaries[group]]:
                raise RowsLostError(
                    f"{self._named(group)} had other labels when they were made again after a worker was gone; what "
                    "makes them must give the same every time."
                )

    def close(self) -> None:
        """Let the workers go."""
        self.servers.close()

    def _load(self, groups: list[int]) -> tuple[dict[int, wire.Link], dict[int, list[Summary]]]:
        """Have workers load groups of blocks, again and again if these die, and connect to them."""
        links: dict[int, wire.Link] = {}
        summaries: dict[int, list[Summary]] = {}
        loading: dict[Future, int] = {}
        try:
            while groups or loading:
                for group in groups:
                    loading[self._submit(group)] = group
                groups = []
                with self._client.as_current(), suppress(TimeoutError, CancelledError):  # looked at below
                    wait(list(loading), timeout=LOOK, return_when="FIRST_COMPLETED")
                workers = self._client.nthreads()
                for future, group in list(loading.items()):
                    if future.status == "finished":
                        del loading[future]
                        try:
                            summaries[group], link = self._connect(group, future.result())
                            if link is not None:
                                links[group] = link
                        except (OSError, CancelledError):
                            groups.append(group)
                    elif future.status == "error":
                        future.result()
                    elif self._homes[group] not in workers or future.status in ("lost", "cancelled"):
                        del loading[future]
                        future.cancel()
                        groups.append(group)
                    else:
                        self._check_sources(group)
                for group in groups:
                    self._lose(group)
            self._report_problems(summaries)
        except BaseException:
            for future in loading:
                future.cancel()
            for link in links.values():
                link.close()
            raise
        return links, summaries

    def _submit(self, group: int) -> Future:
        workers = self._workers()
        load = Counter(self._homes.values())
        home = self._homes[group] = min(workers, key=lambda address: (load[address], address))
        blocks = [self._sources[number].near(self._client, home) for number in self._groups[group]]
        key = self._keys[group] = secrets.token_bytes(32)
        return self._client.submit(
            server.host, key, self._n_threads, *blocks, workers=[home], allow_other_workers=False, pure=False
        )

    def _workers(self) -> list[str]:
        """Addresses of the workers; waits for one if there is none."""
        deadline = time.monotonic() + self._patience
        while True:
            known = set(self._client.nthreads())
            self._unusable &= known  # one that comes back is a new one
            if known - self._unusable:
                return sorted(known - self._unusable)
            if time.monotonic() > deadline:
                raise RowsLostError(
                    f"the cluster at {self._client.scheduler.address} has had no worker for {self._patience:g} s; "
                    "start some, or raise patience."
                )
            time.sleep(0.1)

    def _connect(self, group: int, hosted: server.Hosted) -> tuple[list[Summary], wire.Link | None]:
        if any(summary.problem is not None for summary in hosted.summaries):
            return hosted.summaries, None
        home = self._homes[group]
        context = None
        if home.startswith("tls://"):
            context = self._client.security.get_connection_args("client")["ssl_context"]
        connection = wire.connect(hosted.address, self._keys[group], context, seconds=server.PATIENCE)
        return hosted.summaries, wire.Link(connection, is_alive=lambda: home in self._client.nthreads())

    def _lose(self, group: int) -> None:
        """Take note that the worker of a group is gone."""
        self._unusable.add(self._homes.pop(group))
        self._losses[group] += 1
        if self._losses[group] > MOST_LOSSES:
            raise RowsLostError(
                f"{self._named(group)} have lost their worker {MOST_LOSSES + 1} times; if workers run out of memory, "
                "use more of them, or give them more."
            )
        self._check_sources(group)

    def _check_sources(self, group: int) -> None:
        for number in self._groups[group]:
            if self._sources[number].lost():
                raise RowsLostError(
                    f"block {number} was on a worker that is gone, and Dask does not know how to make it again: a "
                    "future of client.scatter has no recipe. Pass delayed objects, dask collections or paths, or "
                    "scatter with broadcast=True."
                )

    def _report_problems(self, summaries: dict[int, list[Summary]]) -> None:
        for group, told in sorted(summaries.items()):
            for number, summary in zip(self._groups[group], told, strict=True):
                if summary.problem is not None:
                    raise ValueError(f"block {number} of {len(self._sources)}: {summary.problem}.")

    def _named(self, group: int) -> str:
        numbers = self._groups[group]
        return f"blocks {numbers.start} to {numbers.stop - 1}"
