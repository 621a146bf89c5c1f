"""Placement of rows: blocks in groups, each on a worker; and what happens when one of them dies.

Blocks are cut into as many groups of neighbours as there are workers, by their number alone. So the same blocks on the
same number of workers make the same groups, whichever worker has which, and sums come out the same. The groups stay as
they are when workers come and go. Loaded rows are the result of a task, which stays on its worker; a program that all
members run (:mod:`smoothperf.dask.program`) is a task beside each of them. When the group of these breaks, what
was on workers that are gone is loaded again, by a worker without a group if there is one, and otherwise by the one with
the fewest; Dask computes again what was lost, and files are read again. Then the program begins again.

Rows with a key that several groups have are sent to one of them (:mod:`smoothperf.dask.parts`), by a task beside the
rows, each time the program begins.
"""

from __future__ import annotations

import itertools
import logging
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from distributed import CancelledError, Client, Future, get_worker, secede, wait

from ..threads import use_threads
from .blocks import LABELS, Block, RowKind, Summary
from .connection import GroupBrokenError, Traffic
from .group import Member, lead, member_here, open_door
from .inputs import Source
from .parts import Move, PlacedRows, Settings

logger = logging.getLogger("smoothperf.dask")

#: Times that a group may lose its worker in one fit; it is probably too large for any of them then.
MOST_LOSSES = 5
#: Seconds between two looks at the cluster while blocks are loaded.
LOOK = 0.5
#: Seconds in which the members of a group must have connected, which needs no free thread of a worker.
JOINING = 60.0

#: Seconds that the scheduler has for its first answer, and the client to connect to it again if it has lost it; Dask
#: itself would try for half a minute.
ANSWER, RECONNECTING = 2.0, 3.0

T = TypeVar("T")
#: A program of a member for its rows, a :class:`~smoothperf.dask.parts.Part`.
Program = Callable[[Any, Member], Any]


class RowsLostError(RuntimeError):
    """Rows were on a worker that is gone, and cannot be had again; or the scheduler is gone, and with it all rows.

    Examples
    --------
    >>> def fit_or_say_why(model, blocks):
    ...     try:
    ...         return model.fit(blocks)
    ...     except RowsLostError as error:   # the only worker that had them is gone, and there is no recipe for them
    ...         print(f"scatter the blocks again: {error}")
    """


class WorkerError(RuntimeError):
    """Something failed on a worker; the message has its traceback.

    Examples
    --------
    >>> def fit_or_say_why(model, blocks):
    ...     try:
    ...         return model.fit(blocks)
    ...     except WorkerError as error:
    ...         print(error)   # what went wrong on the worker, with its traceback
    """


def known_workers(client: Client) -> list[str]:
    """Addresses of the workers that the scheduler knows, in order."""
    answer, deadline = ANSWER, time.monotonic() + RECONNECTING
    while client.status in ("running", "connecting"):
        try:
            return sorted(client.nthreads(callback_timeout=answer))
        except OSError:  # as TimeoutErrors are
            if client.status == "running":  # it is there, but slow
                answer, deadline = 2.0 * answer, time.monotonic() + RECONNECTING
            elif time.monotonic() > deadline:
                break
            time.sleep(0.1)
    at = "" if client.scheduler is None else f" at {client.scheduler.address}"
    raise RowsLostError(
        f"the client has lost its scheduler{at}, and with it all rows on workers; make a client of a cluster that "
        "runs, and fit again."
    )


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
    kind : RowKind
        What rows have beside X.

    Attributes
    ----------
    summaries : list of Summary
        Facts about the blocks, from the workers.
    traffic : Traffic
        Bytes and messages over the connections of the client.
    """

    def __init__(
        self,
        client: Client,
        sources: Sequence[Source],
        *,
        n_threads: int | None,
        patience: float,
        kind: RowKind = LABELS,
    ):
        self._client = client
        self._kind = kind
        self._sources = list(sources)
        self._n_threads = n_threads
        self._patience = patience
        self._losses: Counter[int] = Counter()
        self._breaks = 0
        self._homes: dict[int, str] = {}
        self._rows: dict[int, Future] = {}
        self._tasks: list[Future] = []
        self._lent: list[Future] = []
        self.traffic = Traffic()
        count = min(len(self._workers()), len(self._sources))
        bounds = [len(self._sources) * group // count for group in range(count + 1)]
        self._groups = [range(*each) for each in itertools.pairwise(bounds)]
        summaries = self._load(list(range(count)))
        self.summaries = [summary for group in range(count) for summary in summaries[group]]
        # A group of blocks without a row gets no member.
        self._served = [group for group in range(count) if any(summary.n_rows for summary in summaries[group])]

    @property
    def losses(self) -> int:
        """Number of times that a group was loaded again because its worker was gone."""
        return self._losses.total()

    @property
    def homes(self) -> list[str]:
        """Addresses of the workers of members 1, 2, ..."""
        return [self._homes[group] for group in self._served]

    @property
    def summaries_by_group(self) -> list[list[Summary]]:
        """Those of the blocks that are on the same worker."""
        return [self.summaries[group.start : group.stop] for group in self._groups]

    def run(
        self, settings: Settings, program: Program, here: Callable[[Any, Member], T], moves: Sequence[Move] = ()
    ) -> T:
        """Have all members run a program, and this process, member 0, its own form of it; again if the group breaks.

        Rows move before, as far as they must.
        """
        while True:
            try:
                with lead(self._client, self.homes, seconds=JOINING) as communicator:
                    try:
                        self._begin(communicator, settings, program, moves)
                        return here(settings.no_rows(), communicator)
                    finally:
                        self.traffic += communicator.traffic()
            except GroupBrokenError as error:
                self._mend(error)

    def close(self) -> None:
        """Release the rows on the workers, even while a kept exception refers to this object."""
        self._rows.clear()
        self._tasks.clear()
        self._lent.clear()

    def _begin(self, communicator: Member, settings: Settings, program: Program, moves: Sequence[Move]) -> None:
        given: defaultdict[int, list[Any]] = defaultdict(list)
        guests: defaultdict[int, list[Future]] = defaultdict(list)
        for origin, target, keys in moves:
            given[origin].append(keys)
            there: dict[str, Any] = {"workers": [self._homes[origin]], "allow_other_workers": False, "pure": False}
            guests[target].append(self._client.submit(_lend, self._rows[origin], keys, **there))
        self._lent = [future for futures in guests.values() for future in futures]
        self._tasks = [
            self._client.submit(
                _run_member,
                (communicator.name, rank),
                self._rows[group],
                settings,
                program,
                self._n_threads,
                given[group],
                guests[group],
                workers=[self._homes[group]],
                allow_other_workers=False,
                pure=False,
            )
            for rank, group in enumerate(self._served, start=1)
        ]

    def _mend(self, error: GroupBrokenError) -> None:
        """After a group has broken: load the rows of workers that are gone again."""
        for future in self._lent:
            if future.status != "finished":  # else the member's task would wait for it forever
                future.cancel()
        self._await_tasks()
        workers = known_workers(self._client)
        gone = [
            group
            for group in self._served
            if self._homes[group] not in workers or self._rows[group].status != "finished"
        ]
        if not gone:
            self._breaks += 1
            if self._breaks > MOST_LOSSES:
                raise WorkerError(
                    f"connections between workers have broken {self._breaks} times, though no worker is gone: {error}."
                ) from error
            # As text: an error has frames, and who keeps what was logged would keep their rows.
            logger.warning("%s, though its worker is not; the fit goes on.", str(error))
        for group in gone:
            logger.warning("the worker %s is gone; its rows are loaded again, and the fit goes on.", self._homes[group])
            self._lose(group)
        for group, found in self._load(gone).items():
            self._check_same(group, found)

    def _await_tasks(self) -> None:
        """Wait until the tasks of a broken group have ended, but for those on workers that are gone."""
        tasks = list(zip(self.homes, self._tasks, strict=True)) if self._tasks else []
        self._tasks = []
        while True:
            workers = known_workers(self._client)
            running = [task for home, task in tasks if task.status == "pending" and home in workers]
            if not running:
                break
            self._wait(running)
        for home, task in tasks:
            error = task.exception() if task.status == "error" else None
            if error is not None:
                where = "".join(traceback.format_tb(task.traceback()))
                raise WorkerError(f"the fit failed on the worker {home}:\n{where}{type(error).__name__}: {error}")

    def _check_same(self, group: int, found: list[Summary]) -> None:
        numbers = self._groups[group]
        before = self.summaries[numbers.start : numbers.stop]
        if [each.digest for each in before] != [each.digest for each in found]:
            raise RowsLostError(
                f"{self._named(group)} had other labels when they were made again after a worker was gone; what "
                "makes them must give the same every time."
            )
        if [(each.n_features, each.size) for each in before] != [(each.n_features, each.size) for each in found]:
            raise RowsLostError(
                f"{self._named(group)} came out differently when they were made again after a worker was gone; "
                "what makes them must give the same numbers every time."
            )

    def _load(self, groups: list[int]) -> dict[int, list[Summary]]:
        """Have workers load groups of blocks, again and again if these die; returns what they say about them."""
        summaries: dict[int, list[Summary]] = {}
        loading: dict[Future, int] = {}
        try:
            while groups or loading:
                for group in groups:
                    loading[self._submit(group)] = group
                groups = []
                self._wait(list(loading))
                workers = known_workers(self._client)
                for future, group in list(loading.items()):
                    if future.status == "finished":
                        del loading[future]
                        try:
                            summaries[group] = future.result()
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
            self.close()
            raise
        return summaries

    def _submit(self, group: int) -> Future:
        """Have a worker load a group of blocks, and say what they are like."""
        workers = self._workers()
        load = Counter(self._homes.values())
        home = self._homes[group] = min(workers, key=lambda address: (load[address], address))
        blocks = [self._sources[number].near(self._client, home) for number in self._groups[group]]
        there: dict[str, Any] = {"workers": [home], "allow_other_workers": False, "pure": False}
        self._rows[group] = self._client.submit(_load_rows, self._kind, *blocks, **there)
        return self._client.submit(_summaries, self._rows[group], **there)

    def _wait(self, futures: list[Future]) -> None:
        """Wait until one of them is done, but no longer than a moment."""
        with self._client.as_current(), suppress(TimeoutError, CancelledError):  # the caller looks at each
            wait(futures, timeout=LOOK, return_when="FIRST_COMPLETED")

    def _workers(self) -> list[str]:
        """Addresses of the workers; waits for one if there is none."""
        deadline = time.monotonic() + self._patience
        while not (known := known_workers(self._client)):
            if time.monotonic() > deadline:
                raise RowsLostError(
                    f"the cluster at {self._client.scheduler.address} has had no worker for {self._patience:g} s; "
                    "start some, or raise patience."
                )
            time.sleep(0.1)
        return known

    def _lose(self, group: int) -> None:
        """Take note that the worker of a group is gone."""
        del self._homes[group], self._rows[group]
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


def _load_rows(kind: RowKind, *sources: Any) -> PlacedRows:
    """Load blocks on the worker that this runs on, which may become a member of a group from now on."""
    open_door(get_worker())
    return PlacedRows(sources, kind)


def _lend(rows: PlacedRows, keys: Any) -> list[Block]:
    return rows.lend(keys)


def _summaries(rows: PlacedRows) -> list[Summary]:
    return rows.summaries


def _run_member(
    member: tuple[str, int],
    rows: PlacedRows,
    settings: Settings,
    program: Program,
    n_threads: int | None,
    given: list[Any],
    guests: list[list[Block]],
) -> None:
    """A task: run a program as a member of a group, beside its rows."""
    secede()  # so that a task of another group can begin, whose members may wait for it
    threads = get_worker().state.nthreads if n_threads is None else n_threads
    # A group that has broken is mended by the client.
    with suppress(GroupBrokenError), use_threads(threads), member_here(*member) as communicator:
        program(rows.part(settings, given, [block for blocks in guests for block in blocks]), communicator)
