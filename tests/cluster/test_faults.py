"""Workers that are lost in the middle of a fit: it ends with the same optimum, or with an error that says why."""

import gc
import threading
import time

import dask
import numpy as np
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster

import smoothperf
from problems import thorough
from promises import hold_tight_fit
from smoothperf.dask import MeasureClassifier, RowsLostError, WorkerError, group
from smoothperf.dask.connection import Connection
from smoothperf.dask.parts import PlacedRows
from smoothperf.io import write_npz

ALPHA, TOL = 1e-3, 1e-4


def recipe():
    """A function that makes a block, the same wherever it is made; workers, which have no tests, are sent its code."""

    def make_block(number):
        rng = np.random.default_rng(number)
        X = sp.random(300, 30, density=0.2, format="csr", random_state=rng, data_rvs=rng.standard_normal)
        scores = X @ np.sin(np.arange(30.0)) + 0.5 * rng.standard_normal(300)
        return X, scores > np.quantile(scores, 0.8)

    return make_block


make_block = recipe()


def optimum():
    """By the rows of four blocks in memory."""
    blocks = [make_block(number) for number in range(4)]
    X, y = sp.vstack([X for X, _ in blocks], format="csr"), np.concatenate([y for _, y in blocks])
    return smoothperf.MeasureClassifier("prbep", ALPHA, tol=TOL).fit(X, y)


@pytest.fixture(scope="module")
def expected():
    return optimum()


def assert_same_optimum(fit, expected):
    assert fit.gap_ <= TOL
    assert fit.result_.status is smoothperf.Status.CONVERGED
    assert fit.lower_bound_ <= expected.objective_
    assert expected.lower_bound_ <= fit.objective_


@pytest.fixture
def cluster():
    """Two workers in this process that may be closed."""
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def mortal(cluster):
    with Client(cluster, set_as_default=False) as client:
        yield client


class Closer:
    """A callback that closes a worker after some iterations, once, without a word to anybody."""

    def __init__(self, cluster, *, at, all_of_them=False):
        self._cluster = cluster
        self._at = at
        self._all = all_of_them

    def __call__(self, row):
        if row.iteration == self._at:
            for worker in list(self._cluster.workers.values()) if self._all else [self._cluster.workers[0]]:
                self._cluster.sync(worker.close, nanny=False, executor_wait=False)


class BreakingConnection:
    """A connection that breaks when a number of messages have gone through; or every one, from then on."""

    def __init__(self, monkeypatch, after, *, again_and_again=False):
        self.left = after
        receive = Connection.receive

        async def breaking(connection, kind):
            self.left -= 1
            if self.left == 0 or (again_and_again and self.left < 0):
                connection._comm.abort()
            return await receive(connection, kind)

        monkeypatch.setattr(Connection, "receive", breaking)


def test_files_are_read_again(mortal, cluster, expected, tmp_path):
    paths = []
    for number in range(4):
        paths.append(tmp_path / f"{number}.npz")
        write_npz(paths[-1], *make_block(number))
    clf = MeasureClassifier("prbep", ALPHA, tol=TOL, client=mortal, callback=Closer(cluster, at=10)).fit(paths)
    assert_same_optimum(clf, expected)
    assert clf.n_losses_ == 1


def test_what_only_the_lost_worker_had_and_nobody_can_make_again(mortal, cluster):
    victim = cluster.workers[0].address
    blocks = [mortal.scatter(make_block(number), workers=[victim], hash=False) for number in range(4)]
    clf = MeasureClassifier("prbep", ALPHA, tol=TOL, client=mortal, callback=Closer(cluster, at=10))
    with pytest.raises(RowsLostError, match=r"block \d was on a worker that is gone, .*client.scatter has no recipe"):
        clf.fit(blocks)


@pytest.mark.parametrize("at", [*thorough(0), 3, 30])
def test_a_tight_fit_goes_on_after_a_loss(mortal, cluster, monkeypatch, at):
    """In the start, or in the steps."""
    blocks = [make_block(number) for number in range(4)]
    X, y = sp.vstack([X for X, _ in blocks], format="csr"), np.concatenate([y for _, y in blocks])
    options = {"alpha": 1e-3, "bound": "tight", "tol": 1e-3}
    monkeypatch.setattr("smoothperf.dask.program.SECONDS", 0.0)
    clf = MeasureClassifier("prbep", client=mortal, callback=Closer(cluster, at=at), **options)
    clf.fit([dask.delayed(make_block)(i) for i in range(4)])
    assert clf.n_losses_ == 1
    hold_tight_fit(clf, X, y, given=(blocks,))
    rows = clf.result_.trace.rows
    assert [row.iteration for row in rows] == list(range(clf.n_iter_ + 1))
    assert np.all(np.diff(clf.result_.trace["passes"]) >= 0)


@pytest.mark.parametrize("after", [1, *thorough(2), 3, *thorough(10), 101])
def test_a_connection_may_break_at_any_time(client, expected, monkeypatch, caplog, after):
    """The rows are where they were; nothing is loaded again."""
    line = BreakingConnection(monkeypatch, after)
    clf = MeasureClassifier("prbep", ALPHA, tol=TOL, client=client, patience=5.0)
    clf.fit([dask.delayed(make_block)(number) for number in range(4)])
    assert line.left <= 0
    assert_same_optimum(clf, expected)
    assert clf.n_losses_ == 0
    assert "the fit goes on" in caplog.text


def test_results_do_not_depend_on_which_worker_has_which_rows(mortal, cluster, client):
    """After a loss one worker has both groups: they are summed as before."""
    blocks = [dask.delayed(make_block)(number) for number in range(4)]
    options = {"measure": "prbep", "alpha": ALPHA, "tol": TOL}
    whole = MeasureClassifier(client=client, **options).fit(blocks)
    clf = MeasureClassifier(client=mortal, callback=Closer(cluster, at=0), **options).fit(blocks)
    assert clf.n_losses_ == 1
    assert len(mortal.nthreads()) == 1
    # It has begun again from the beginning, as nothing but that was known.
    np.testing.assert_array_equal(clf.result_.trace["objective"][1:], whole.result_.trace["objective"])
    assert clf.coef_.tobytes() == whole.coef_.tobytes()


@pytest.mark.parametrize(
    ("what", "reason"),
    [("rows", r"blocks (\d) to \1 came out differently"), ("labels", r"blocks (\d) to \1 had other labels")],
)
def test_a_block_that_comes_out_differently_is_an_error(mortal, cluster, tmp_path, what, reason):
    def of_chance(number):
        X, y = make_block(number)
        made = tmp_path / f"{number}"
        if made.exists():
            return (2.0 * X, y) if what == "rows" else (X, ~y)
        made.touch()
        return X, y

    clf = MeasureClassifier("prbep", ALPHA, tol=TOL, client=mortal, patience=5.0, callback=Closer(cluster, at=3))
    with pytest.raises(RowsLostError, match=reason):
        clf.fit([dask.delayed(of_chance, pure=False)(number) for number in range(2)])


def test_when_no_worker_is_left(mortal, cluster):
    closer = Closer(cluster, at=3, all_of_them=True)
    clf = MeasureClassifier("prbep", ALPHA, tol=TOL, client=mortal, patience=0.3, callback=closer)
    with pytest.raises(RowsLostError, match=r"has had no worker for 0\.3 s"):
        clf.fit([dask.delayed(make_block)(number) for number in range(4)])


def test_a_worker_that_is_lost_while_it_loads(mortal, cluster, expected, tmp_path):
    def slow(number):
        made = tmp_path / f"{number}"
        if not made.exists():
            made.touch()
            time.sleep(0.5)
        return make_block(number)

    def close_one():
        while not list(tmp_path.iterdir()):
            time.sleep(0.01)
        cluster.sync(cluster.workers[0].close, nanny=False, executor_wait=False)

    closing = threading.Thread(target=close_one)
    closing.start()
    clf = MeasureClassifier("prbep", ALPHA, tol=TOL, client=mortal)
    clf.fit([dask.delayed(slow, pure=False)(number) for number in range(4)])
    closing.join()
    assert_same_optimum(clf, expected)
    assert clf.n_losses_ == 1


def test_rows_that_lose_one_worker_after_another(mortal, cluster, monkeypatch):
    monkeypatch.setattr("smoothperf.dask.placement.MOST_LOSSES", 0)
    clf = MeasureClassifier("prbep", ALPHA, tol=TOL, client=mortal, callback=Closer(cluster, at=3))
    with pytest.raises(RowsLostError, match=r"blocks \d to \d have lost their worker 1 times; if workers run"):
        clf.fit([dask.delayed(make_block)(number) for number in range(4)])


def test_connections_that_never_hold(client, monkeypatch):
    BreakingConnection(monkeypatch, 20, again_and_again=True)
    clf = MeasureClassifier("prbep", ALPHA, tol=TOL, client=client, patience=5.0)
    with pytest.raises(WorkerError, match="have broken 6 times, though no worker is gone"):
        clf.fit([dask.delayed(make_block)(number) for number in range(4)])


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_fit_that_is_interrupted_leaves_nothing_behind(client, error):
    def interrupt(row):
        if row.iteration == 3:
            raise error

    def on_workers():
        return {key for keys in [*client.processing().values(), *client.has_what().values()] for key in keys}

    threads, before = threading.active_count(), on_workers()
    with pytest.raises(error):
        MeasureClassifier("prbep", ALPHA, tol=TOL, client=client, callback=interrupt).fit(
            [dask.delayed(make_block)(number) for number in range(4)]
        )
    deadline = time.monotonic() + 20.0
    while group._here or on_workers() - before:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert threading.active_count() <= threads + 2  # a thread that has seceded makes room for another


@pytest.mark.parametrize("fate", ["whole", "broken", "interrupted"])
def test_nothing_waits_for_the_collector(client, monkeypatch, fate):
    """Neither the rows on the workers nor what the frames of the caller hold."""

    def interrupt(row):
        if row.iteration == 3:
            raise InterruptedError

    def fit():
        blocks = [client.submit(make_block, number, pure=False) for number in range(4)]
        clf = MeasureClassifier("prbep", ALPHA, tol=TOL, client=client)
        if fate == "interrupted":
            with pytest.raises(InterruptedError):
                clf.set_params(callback=interrupt).fit(blocks)
        else:
            clf.fit(blocks)

    def there():
        rows = {id(thing) for thing in gc.get_objects() if isinstance(thing, PlacedRows)}
        return rows | client.run_on_scheduler(lambda dask_scheduler: set(dask_scheduler.tasks))

    if fate == "broken":
        BreakingConnection(monkeypatch, 101)
    gc.collect()
    gc.disable()
    try:
        before = there()
        fit()
        deadline = time.monotonic() + 20.0
        while there() - before:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        gc.enable()


def test_an_error_on_a_worker_has_its_traceback(client, monkeypatch):
    cut = smoothperf.PRBEP.cut

    def broken(self, examples, scores):
        if examples.communicator.rank == 2:
            raise ArithmeticError("as it should")
        return cut(self, examples, scores)

    monkeypatch.setattr(smoothperf.PRBEP, "cut", broken)
    with pytest.raises(WorkerError, match=r"(?s)failed on the worker inproc.*in broken.*ArithmeticError: as it should"):
        MeasureClassifier("prbep", 1e-2, client=client).fit([make_block(number) for number in range(4)])
