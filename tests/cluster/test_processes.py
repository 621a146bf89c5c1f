"""Workers that are processes, which take a while to start, so all tests that need them are here: some are killed."""

import asyncio
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster, Scheduler, Worker
from distributed.utils import get_mp_context

from smoothperf.dask import MeasureClassifier, RowsLostError
from smoothperf.dask.connection import GroupBrokenError
from smoothperf.dask.placement import known_workers

from .test_faults import ALPHA, TOL, assert_same_optimum, make_block, optimum
from .test_group import errors_of, run, start


@pytest.fixture(scope="module")
def _three_processes():
    # Imports take seconds: one process has done them, and workers are its children.
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context()  # which has a list of its own
        multiprocessing.get_context("forkserver").set_forkserver_preload(["distributed", "smoothperf.dask"])
        with (
            LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client


@pytest.fixture
def processes(_three_processes):
    """Three workers that are processes; a nanny starts those again that die."""
    _three_processes.wait_for_workers(3, timeout=60.0)
    return _three_processes


class Killer:
    """A callback that kills the first worker after some iterations, once."""

    def __init__(self, client, *, at=10):
        pids = client.run(os.getpid)
        self._pid = pids[min(pids)]
        self._at = at
        self.rows = []

    def __call__(self, row):
        self.rows.append(row)
        if row.iteration == self._at:
            os.kill(self._pid, signal.SIGKILL)


def test_killed_workers(processes, caplog):
    client = processes
    killer = Killer(client)
    clf = MeasureClassifier("prbep", ALPHA, tol=TOL, client=client, callback=killer)
    clf.fit([dask.delayed(make_block)(number) for number in range(4)])
    assert_same_optimum(clf, optimum())
    assert clf.n_losses_ == 1
    assert "is gone" in caplog.text
    # The trace goes on where it was.
    rows = clf.result_.trace.rows
    assert [row.iteration for row in rows] == list(range(len(rows)))
    assert rows == killer.rows
    assert np.all(np.diff(clf.result_.trace["seconds"]) > 0.0)
    assert np.all(np.diff(clf.result_.trace["passes"]) > 0)
    assert clf.n_iter_ == len(rows) - 1


async def _be_scheduler(address):
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        address.send(scheduler.address)
        await scheduler.finished()


async def _be_worker(address):
    async with Worker(address, nthreads=1, host="127.0.0.1", dashboard=False) as worker:
        await worker.finished()


def _process(begin, argument):
    asyncio.run(begin(argument))


@pytest.fixture
def scheduler_and_client(_three_processes):
    """A scheduler that is a process of its own and has a worker, and a client."""
    context = multiprocessing.get_context("forkserver")
    here, there = context.Pipe()
    scheduler = context.Process(target=_process, args=(_be_scheduler, there))
    scheduler.start()
    assert here.poll(60.0)
    address = here.recv()
    worker = context.Process(target=_process, args=(_be_worker, address))
    worker.start()
    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=60.0)
        yield scheduler, client
    for process in (scheduler, worker):
        process.kill()
        process.join()


@pytest.mark.parametrize("when", ["before", "loading", "fitting"])
def test_a_scheduler_that_is_killed(scheduler_and_client, when):
    """Dask tries for half a minute to connect to it again."""
    scheduler, client = scheduler_and_client
    killed = []

    def kill(row=None):
        if row is None or row.iteration == 3:
            killed.append(time.monotonic())
            scheduler.kill()

    def slow(number):
        time.sleep(60.0)

    if when == "before":
        kill()
        scheduler.join()
    if when == "loading":
        threading.Timer(0.3, kill).start()
    clf = MeasureClassifier("prbep", ALPHA, tol=TOL, client=client, callback=kill)
    with pytest.raises(
        RowsLostError, match=r"the client has lost its scheduler at tcp://127\.0\.0\.1:\d+, and with it all"
    ):
        clf.fit([dask.delayed(slow if when == "loading" else make_block)(number) for number in range(2)])
    assert time.monotonic() - killed[0] < 20.0


def test_a_scheduler_that_is_slow(client, monkeypatch):
    """As long as the client is connected to it, it is there."""
    monkeypatch.setattr("smoothperf.dask.placement.ANSWER", 0.02)
    monkeypatch.setattr("smoothperf.dask.placement.RECONNECTING", 0.0)
    scheduler = client.cluster.scheduler

    async def slowly(workers=None):
        await asyncio.sleep(0.1)
        return scheduler.get_ncores(workers)

    monkeypatch.setitem(scheduler.handlers, "ncores", slowly)
    assert len(known_workers(client)) == 2


def test_a_client_that_dies_leaves_nothing_behind(processes, tmp_path):
    client = processes
    gc.collect()  # what other tests have left here, whose rows would stay on the workers
    script = tmp_path / "fit.py"
    script.write_text(CLIENT.format(address=client.scheduler.address))
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        process.kill()

    def members():
        # A worker that was started again, and had no work since, may not have imported it.
        return sum(client.run(lambda: len(getattr(sys.modules.get("smoothperf.dask.group"), "_here", ()))).values())

    deadline = time.monotonic() + 20.0
    while members() or any(map(len, client.processing().values())) or any(map(len, client.has_what().values())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


CLIENT = """
import numpy as np
from distributed import Client
from smoothperf.dask import MeasureClassifier

def begun(row):
    if row.iteration == 2:
        print("begun", flush=True)

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 5))
y = X[:, 0] + rng.normal(size=2000) > 0
with Client("{address}") as client:
    MeasureClassifier("error_rate", 1e-9, tol=1e-15, max_iter=10**9, callback=begun).fit([(X, y), (X, y)])
"""


def test_many_rounds_of_processes(processes):
    client = processes

    def program(communicator):
        x = np.arange(10.0) + communicator.rank
        for _ in range(50):
            x = communicator.allreduce(x) / communicator.size + communicator.broadcast(x) * 1e-3
        return x, communicator.allreduce(np.full(300_000, 0.1 * communicator.rank)).sum()

    results = run(client, program, 4)
    assert len({(x.tobytes(), total) for x, total in results}) == 1
    # A worker that is killed ends all of them, those who wait and those who ask later.
    pids = client.run(os.getpid)

    def wait_for_ever(communicator):
        if communicator.rank == 3:
            time.sleep(600.0)
        return communicator.allreduce(np.zeros(1))

    communicator, tasks = start(client, wait_for_ever, 4)
    workers = sorted(pids)
    threading.Timer(0.3, os.kill, (pids[workers[2]], signal.SIGKILL)).start()
    with pytest.raises(GroupBrokenError), communicator:
        communicator.allreduce(np.zeros(1))
    with pytest.raises(GroupBrokenError):
        communicator.allreduce(np.zeros(1))
    assert errors_of(tasks[:2]) == [GroupBrokenError, GroupBrokenError]
