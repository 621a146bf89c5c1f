"""Groups over Dask's connections: sums of NumPy's, and an end for all when one of them ends."""

import threading
import time

import numpy as np
import pytest
from distributed import Client, LocalCluster, get_worker, secede
from distributed.security import Security

from smoothperf.dask import connection, group
from smoothperf.dask.connection import GroupBrokenError, Traffic
from smoothperf.dask.group import lead, member_here, open_door

PATIENCE = 20.0


def open_doors(client):
    client.run(lambda dask_worker: open_door(dask_worker))


def task_of_member():
    """A program for a worker; workers, which have no tests, are sent its code."""

    def run_member(name, rank, program):
        secede()
        with member_here(name, rank) as communicator:
            return program(communicator)

    return run_member


run_member = task_of_member()


def start(client, program, size):
    """Member 0 of a group, and the tasks of the others."""
    open_doors(client)
    workers = sorted(client.nthreads())
    addresses = [workers[rank % len(workers)] for rank in range(size - 1)]
    communicator = lead(client, addresses, seconds=PATIENCE)
    tasks = [
        client.submit(run_member, communicator.name, rank, program, workers=[addresses[rank - 1]], pure=False)
        for rank in range(1, size)
    ]
    return communicator, tasks


def run(client, program, size):
    """The results of a program on all members."""
    communicator, tasks = start(client, program, size)
    with communicator:
        first = program(communicator)
    return [first, *client.gather(tasks)]


def errors_of(tasks):
    return [type(task.exception(timeout=PATIENCE)) for task in tasks]


def eventually(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("length", [0, 1, 7, 100_000])
def test_rounds_are_those_of_numpy(client, size, length):
    values = np.random.default_rng(0).normal(size=(size, length))

    def program(communicator):
        own = values[communicator.rank]
        part = own[: communicator.rank]
        return (
            communicator.allreduce(own),
            communicator.allgather(part),
            communicator.broadcast(own),
            own,
            communicator.gather(part),
            communicator.reduce(own),
        )

    results = run(client, program, size)
    for rank, (_, every, _, own, *at_first) in enumerate(results):
        to_first, sum_to_first = at_first
        assert [each.tobytes() for each in to_first] == ([] if rank else [each.tobytes() for each in every])
        assert sum_to_first.tobytes() == (own if rank else results[0][0]).tobytes()
    for total, every, first, own, *_ in results:
        np.testing.assert_allclose(total, values.sum(axis=0), rtol=1e-12, atol=1e-12)
        assert total.tobytes() == results[0][0].tobytes()
        assert [each.tobytes() for each in every] == [values[rank, :rank].tobytes() for rank in range(size)]
        assert first.tobytes() == values[0].tobytes()
        assert own.tobytes() in [each.tobytes() for each in values]  # nothing of the members was written to


def test_shapes_are_kept_and_results_are_ones_own(client):
    def program(communicator):
        own = np.full((2, 3), float(communicator.rank))
        total, first = communicator.allreduce(own), communicator.broadcast(own.copy())
        for result in (total, first, *communicator.allgather(own[0])):
            result += 1.0 + communicator.rank  # which nobody else sees
        return own, total, first

    for rank, (own, total, first) in enumerate(run(client, program, 3)):
        np.testing.assert_array_equal(own, np.full((2, 3), float(rank)))
        np.testing.assert_array_equal(total, np.full((2, 3), 4.0 + rank))
        np.testing.assert_array_equal(first, np.full((2, 3), 1.0 + rank))


def test_long_arrays_are_aligned_however_they_came(client):
    """Compiled loops rely on it; what comes before them in a message has any number of bytes."""

    def program(communicator):
        found = []
        for before in range(4):
            for count in range(before):
                communicator.broadcast(np.zeros(count + 1))
            long = np.full(10_000, float(communicator.rank))
            found += [
                communicator.broadcast(long),
                communicator.allreduce(long),
                *communicator.allgather(long),
                *communicator.gather(long),
            ]
        return [each.flags.aligned for each in found]

    for aligned in run(client, program, 3):
        assert all(aligned)


def test_two_groups_at_once(client):
    """Each has a task on both workers, of one thread each."""
    barrier = threading.Barrier(2, timeout=PATIENCE)
    results = {}

    def program(communicator):
        for _ in range(20):
            total = communicator.allreduce(np.ones(3))
        return total[0]

    def fit(number):
        barrier.wait()
        results[number] = run(client, program, 3)

    threads = [threading.Thread(target=fit, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert results == {0: [3.0] * 3, 1: [3.0] * 3}


def test_an_error_of_a_member_ends_all(client):
    def program(communicator):
        if communicator.rank == 3:
            raise KeyError("as it should")
        return communicator.allreduce(np.zeros(1))

    communicator, tasks = start(client, program, 5)
    with pytest.raises(GroupBrokenError), communicator:
        program(communicator)
    assert errors_of(tasks) == [GroupBrokenError, GroupBrokenError, KeyError, GroupBrokenError]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_client_that_leaves_leaves_nothing_behind(client, error):
    def program(communicator):
        return communicator.allreduce(np.zeros(1))

    communicator, tasks = start(client, program, 4)
    with pytest.raises(error), communicator:
        raise error
    assert errors_of(tasks) == [GroupBrokenError] * 3
    eventually(lambda: not group._here)


def test_members_leave_when_the_work_is_done(client):
    run(client, lambda communicator: communicator.broadcast(np.zeros(2)).sum(), 4)
    eventually(lambda: not group._here)
    with pytest.raises(GroupBrokenError, match="has ended before"):
        member_here("long ago", 1)


def test_members_that_part_ways_are_an_error(client):
    def program(communicator):
        return communicator.allreduce(np.zeros(1 + communicator.rank))

    communicator, tasks = start(client, program, 3)
    with pytest.raises(RuntimeError, match="parted ways: 1 and 2 numbers"), communicator:
        program(communicator)

    def another(communicator):
        return (communicator.allgather if communicator.rank else communicator.allreduce)(np.zeros(1))

    communicator, _ = start(client, another, 2)
    with pytest.raises(RuntimeError, match=r"parted ways: allreduce was due, and allgather"), communicator:
        another(communicator)
    assert errors_of(tasks) == [GroupBrokenError] * 2


@pytest.mark.parametrize("who", [0, 1])
def test_members_that_wait_for_one_another_are_an_error(client, who, monkeypatch):
    """One of them for a sum, the other for what the first one says."""
    monkeypatch.setattr(connection, "PATIENCE", 0.2)

    def program(communicator):
        time.sleep(0.5 * communicator.rank)  # a wait that is none
        communicator.allreduce(np.zeros(1))
        return (communicator.allreduce if communicator.rank == who else communicator.broadcast)(np.zeros(1))

    communicator, tasks = start(client, program, 2)
    with pytest.raises(RuntimeError) as caught, communicator:
        program(communicator)
    # Who finds out first says so, and the other one may only see that it is gone.
    assert "parted ways" in f"{caught.value} {tasks[0].exception(timeout=PATIENCE)}"


def test_short_arrays_of_the_first_travel_together(client):
    def program(communicator):
        said = [communicator.broadcast(np.full(3, number + communicator.rank)) for number in range(4)]
        said.append(communicator.broadcast(np.full(1000, 4.0)))
        said += [communicator.broadcast(np.full((2, 1), 5.0))]
        communicator.reduce(np.ones(2))
        said += [communicator.broadcast(np.full(1, 6.0))]
        return [each[0] for each in said], communicator.traffic()

    results = run(client, program, 4)
    assert [[float(np.ravel(each)[0]) for each in said] for said, _ in results] == [[0, 1, 2, 3, 4, 5, 6]] * 4
    assert results[0][1].rounds == 3  # the last one waits


def test_workers_that_cannot_be_reached(client):
    with pytest.raises(GroupBrokenError, match="cannot be reached"):
        lead(client, ["tcp://127.0.0.1:1"], seconds=0.5)
    client.run(lambda dask_worker: dask_worker.handlers.pop(group.OPERATION, None))
    with pytest.raises(GroupBrokenError, match="is no member of a group"):
        lead(client, sorted(client.nthreads()), seconds=5.0)
    # A member further down that is not there.
    open_doors(client)
    with pytest.raises(GroupBrokenError):
        lead(client, [*sorted(client.nthreads()), "tcp://127.0.0.1:1"], seconds=0.5)
    eventually(lambda: not group._here)


def test_traffic_is_counted(client):
    def program(communicator):
        communicator.broadcast(np.zeros(1000))
        communicator.allreduce(np.zeros(10))
        return get_worker().address if communicator.rank else communicator.traffic()

    traffic, *_ = run(client, program, 4)
    assert (traffic.sent, traffic.received) == (2 * 8 * 1010, 2 * 8 * 10)
    assert (traffic.rounds, traffic.largest) == (2, 8000)
    whole = traffic + traffic + Traffic(largest=9000, iterations=4)
    assert whole.bytes_per_iteration == 8 * 1020
    assert (whole.rounds, whole.largest) == (4, 9000)


def test_an_encrypted_group():
    pytest.importorskip("cryptography", reason="makes the certificates of the test")
    security = Security.temporary()
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            dashboard_address=":0",
            protocol="tls://",
            security=security,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        assert all(address.startswith("tls://") for address in client.nthreads())
        assert run(client, lambda communicator: communicator.allreduce(np.ones(2))[0], 4) == [4.0] * 4
