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
    """What runs on a worker; workers, which have no tests, are sent its code."""

    def run_member(name, rank, program):
        secede()
        with member_here(name, rank) as together:
            return program(together)

    return run_member


run_member = task_of_member()


def start(client, program, size):
    """Member 0 of a group, and the tasks of the others."""
    open_doors(client)
    workers = sorted(client.nthreads())
    addresses = [workers[rank % len(workers)] for rank in range(size - 1)]
    together = lead(client, addresses, seconds=PATIENCE)
    tasks = [
        client.submit(run_member, together.name, rank, program, workers=[addresses[rank - 1]], pure=False)
        for rank in range(1, size)
    ]
    return together, tasks


def run(client, program, size):
    """What a program returns on every member."""
    together, tasks = start(client, program, size)
    with together:
        first = program(together)
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

    def program(together):
        own = values[together.rank]
        part = own[: together.rank]
        return (
            together.sum(own),
            together.gather(part),
            together.first(own),
            own,
            together.to_first(part),
            together.sum_to_first(own),
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
    def program(together):
        own = np.full((2, 3), float(together.rank))
        total, first = together.sum(own), together.first(own.copy())
        for result in (total, first, *together.gather(own[0])):
            result += 1.0 + together.rank  # which nobody else sees
        return own, total, first

    for rank, (own, total, first) in enumerate(run(client, program, 3)):
        np.testing.assert_array_equal(own, np.full((2, 3), float(rank)))
        np.testing.assert_array_equal(total, np.full((2, 3), 4.0 + rank))
        np.testing.assert_array_equal(first, np.full((2, 3), 1.0 + rank))


def test_long_arrays_are_aligned_however_they_came(client):
    """Compiled loops rely on it; what comes before them in a message has any number of bytes."""

    def program(together):
        found = []
        for before in range(4):
            for count in range(before):
                together.first(np.zeros(count + 1))
            long = np.full(10_000, float(together.rank))
            found += [together.first(long), together.sum(long), *together.gather(long), *together.to_first(long)]
        return [each.flags.aligned for each in found]

    for aligned in run(client, program, 3):
        assert all(aligned)


def test_two_groups_at_once(client):
    """Each has a task on both workers, of one thread each."""
    barrier = threading.Barrier(2, timeout=PATIENCE)
    results = {}

    def program(together):
        for _ in range(20):
            total = together.sum(np.ones(3))
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
    def program(together):
        if together.rank == 3:
            raise KeyError("as it should")
        return together.sum(np.zeros(1))

    together, tasks = start(client, program, 5)
    with pytest.raises(GroupBrokenError), together:
        program(together)
    assert errors_of(tasks) == [GroupBrokenError, GroupBrokenError, KeyError, GroupBrokenError]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_client_that_leaves_leaves_nothing_behind(client, error):
    def program(together):
        return together.sum(np.zeros(1))

    together, tasks = start(client, program, 4)
    with pytest.raises(error), together:
        raise error
    assert errors_of(tasks) == [GroupBrokenError] * 3
    eventually(lambda: not group._here)


def test_members_leave_when_the_work_is_done(client):
    run(client, lambda together: together.first(np.zeros(2)).sum(), 4)
    eventually(lambda: not group._here)
    with pytest.raises(GroupBrokenError, match="has ended before"):
        member_here("long ago", 1)


def test_members_that_part_ways_are_an_error(client):
    def program(together):
        return together.sum(np.zeros(1 + together.rank))

    together, tasks = start(client, program, 3)
    with pytest.raises(RuntimeError, match="parted ways: 1 and 2 numbers"), together:
        program(together)

    def another(together):
        return (together.gather if together.rank else together.sum)(np.zeros(1))

    together, _ = start(client, another, 2)
    with pytest.raises(RuntimeError, match=r"parted ways: sum was due, and gather"), together:
        another(together)
    assert errors_of(tasks) == [GroupBrokenError] * 2


@pytest.mark.parametrize("who", [0, 1])
def test_members_that_wait_for_one_another_are_an_error(client, who, monkeypatch):
    """One of them for a sum, the other for what the first one says."""
    monkeypatch.setattr(connection, "PATIENCE", 0.2)

    def program(together):
        time.sleep(0.5 * together.rank)  # a wait that is none
        together.sum(np.zeros(1))
        return (together.sum if together.rank == who else together.first)(np.zeros(1))

    together, tasks = start(client, program, 2)
    with pytest.raises(RuntimeError) as caught, together:
        program(together)
    # Who finds out first says so, and the other one may only see that it is gone.
    assert "parted ways" in f"{caught.value} {tasks[0].exception(timeout=PATIENCE)}"


def test_short_arrays_of_the_first_travel_together(client):
    def program(together):
        said = [together.first(np.full(3, number + together.rank)) for number in range(4)]
        said.append(together.first(np.full(1000, 4.0)))
        said += [together.first(np.full((2, 1), 5.0))]
        together.sum_to_first(np.ones(2))
        said += [together.first(np.full(1, 6.0))]
        return [each[0] for each in said], together.traffic()

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
    def program(together):
        together.first(np.zeros(1000))
        together.sum(np.zeros(10))
        return get_worker().address if together.rank else together.traffic()

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
        assert run(client, lambda together: together.sum(np.ones(2))[0], 4) == [4.0] * 4
